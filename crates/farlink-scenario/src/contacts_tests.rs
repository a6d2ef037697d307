//! Formats of contact plans, and the messages of plans that cannot be used.

use super::*;

fn spec(data: &str, nodes: Option<[u64; 2]>) -> ContactsSpec {
    ContactsSpec {
        file: None,
        data: Some(data.to_owned()),
        from: Some("plan".to_owned()),
        nodes,
        packets: None,
    }
}

fn plan(data: &str, nodes: Option<[u64; 2]>) -> Result<Arc<ContactPlan>, String> {
    let contacts = spec(data, nodes).plan().map_err(|e| e.to_string())?;
    Ok(contacts.plan)
}

/// Returns start, end (s) and rate of each contact.
fn listed(plan: &ContactPlan) -> Vec<(f64, f64, u64)> {
    let of = |c: &Contact| (c.start.as_secs_f64(), c.end.as_secs_f64(), c.rate);
    plan.contacts().iter().map(of).collect()
}

/// Returns the delay of a short packet whose last bit leaves at `seconds`.
fn delay(plan: &ContactPlan, seconds: u64) -> Option<f64> {
    let now = Instant::ZERO + Interval::from_secs(seconds);
    plan.delay(now, 1, &mut 0).map(Interval::as_secs_f64)
}

const ION: &str = "## begin ionadmin\n1 1 node1.ionconfig\ns\nm horizon +0\n\
    a contact +0 +7200 1 2 125000\na contact +10000 +10100 1 2 250000 1.0\n\
    a contact +100 +7300 2 1 1000\n\
    a range +0 +5000 1 2 240\na range +5000 +20000 1 2 250\n";

#[test]
fn csv_has_units_in_columns_or_cells() {
    let text = "# plan\nstart (min),end (min),rate (kbit/s),delay (s),who\n1,2,8,240,dsn\n\n3,4.5,16,4,x\n";
    let read = plan(text, None).unwrap();
    assert_eq!(
        listed(&read),
        [(60.0, 120.0, 8_000), (180.0, 270.0, 16_000)]
    );
    assert_eq!(delay(&read, 100), Some(240.0));
    assert_eq!(delay(&read, 200), Some(4.0));
    assert_eq!(delay(&read, 150), None);
    let text = "rate,delay,end,start\n1 Mbit/s,20 ms,10 s,0 s\n";
    let read = plan(text, None).unwrap();
    assert_eq!(listed(&read), [(0.0, 10.0, 1_000_000)]);
    assert_eq!(delay(&read, 5), Some(0.02));
}

#[test]
fn rates_of_ion_are_bytes_and_ranges_hold_both_ways() {
    let down = plan(ION, Some([1, 2])).unwrap();
    assert_eq!(
        listed(&down),
        [(0.0, 7200.0, 1_000_000), (10_000.0, 10_100.0, 2_000_000)]
    );
    assert_eq!(delay(&down, 4999), Some(240.0));
    assert_eq!(delay(&down, 5000), Some(250.0));
    assert_eq!(delay(&down, 7201), None);
    let up = plan(ION, Some([2, 1])).unwrap();
    assert_eq!(listed(&up), [(100.0, 7300.0, 8_000)]);
    assert_eq!(delay(&up, 6000), Some(250.0));
    // Ranges of its own replace those of the other way.
    let own = format!("{ION}a range +0 +9000 2 1 7\n");
    assert_eq!(delay(&plan(&own, Some([2, 1])).unwrap(), 6000), Some(7.0));
    assert_eq!(delay(&plan(&own, Some([1, 2])).unwrap(), 6000), Some(250.0));
}

#[test]
fn lines_of_ion_may_be_in_any_order() {
    let text = "a range +0 +50 4 5 3\na contact +20 +30 4 5 10\na contact +0 +10 4 5 20\n";
    let read = plan(text, None).unwrap();
    assert_eq!(listed(&read), [(0.0, 10.0, 160), (20.0, 30.0, 80)]);
}

#[test]
fn absolute_times_count_from_the_earliest() {
    let text = "a contact 2028/02/28-23:59:00 2028/03/01-00:00:30 1 2 1\n\
        a range 2028/02/28-23:58:50 2028/12/31-00:00:00 1 2 9\n";
    let read = plan(text, None).unwrap();
    // 2028 is a leap year: 10 s, and 60 s + a day + 30 s.
    assert_eq!(listed(&read), [(10.0, 10.0 + 86_490.0, 8)]);
    let text = text
        .replace("2028/02", "2027/02")
        .replace("2028/03", "2027/03");
    assert_eq!(listed(&plan(&text, None).unwrap())[0].1, 100.0);
}

#[test]
fn a_plan_that_cannot_be_is_refused_with_its_line() {
    const HEAD: &str = "start (s),end (s),rate (bit/s),delay (s)\n";
    for (rows, message) in [
        (
            "0,10,1,1\n9,20,1,1\n",
            "line 3: the contact begins at \"9 s\", before that of line 2",
        ),
        (
            "20,30,1,1\n0,10,1,1\n",
            "line 3: the contact begins at \"0 s\"",
        ),
        (
            "10,10,1,1\n",
            "line 2: the end \"10 s\" is not after the start \"10 s\"",
        ),
        (
            "10,9,1,1\n",
            "line 2: the end \"9 s\" is not after the start \"10 s\"",
        ),
        (
            "0,10,0,1\n",
            "line 2: a rate of \"0 bit/s\" is out of range",
        ),
        (
            "0,10,1,3601\n",
            "line 2: a delay of \"3601 s\" is out of range; write at most \"1 h\"",
        ),
        ("0,10,1\n", "line 2: 3 values under 4 names"),
        ("soon,10,1,1\n", "line 2: start"),
        ("0,later,1,1\n", "line 2: end"),
        ("0,10,fast,1\n", "line 2: rate"),
        ("0,10,1,far\n", "line 2: delay"),
        ("0,400000000,1,1\n", "line 2: the end"),
        ("", "the plan has no contact"),
    ] {
        let error = plan(&format!("{HEAD}{rows}"), None).unwrap_err();
        assert!(error.contains(message), "{rows:?}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let error = plan("start,end,rate\n0,1,2\n", None).unwrap_err();
    assert!(error.contains("line 1: no column \"delay\""), "{error}");
    let error = plan(&format!("{HEAD}0,1,1,1\n"), Some([1, 2])).unwrap_err();
    assert!(error.starts_with("nodes"), "{error}");
}

#[test]
fn lines_of_ion_that_cannot_be_are_refused() {
    const RANGE: &str = "a range +0 +100 1 2 5\n";
    for (lines, message) in [
        (
            "a contract +0 +10 1 2 5\n",
            "line 2: \"a contract +0 +10 1 2 5\" is not of a contact plan",
        ),
        ("d contact +0 1 2\n", "line 2: \"d contact +0 1 2\" is not"),
        (
            "a contact +0 +10 1 2\n",
            "line 2: a contact has 4 values; write start, end, two nodes and the rate",
        ),
        (
            "a range +0 +10 1 2 3 4\n",
            "line 2: a range has 6 values; write start, end, two nodes and the delay",
        ),
        (
            "a contact +0 +10 1 2 9 0.5\n",
            "line 2: a confidence of \"0.5\" cannot be simulated",
        ),
        (
            "a contact +10 +10 1 2 9\n",
            "line 2: the end \"10 s\" is not after",
        ),
        (
            "a contact +0 +10 1 2 9\na contact +5 +20 1 2 9\n",
            "line 3: the contact begins at \"5 s\", before that of line 2",
        ),
        ("a contact 0 +10 1 2 9\n", "line 2: time \"0\" is neither"),
        (
            "a contact 2027/02/29-00:00:00 +10 1 2 9\n",
            "line 2: time \"2027/02/29-00:00:00\" is neither",
        ),
        ("a contact 2027/13/01-00:00:00 +10 1 2 9\n", "is neither"),
        ("a contact 2027/00/01-00:00:00 +10 1 2 9\n", "is neither"),
        ("a contact 2027/01/01-24:00:00 +10 1 2 9\n", "is neither"),
        (
            "a contact 2027/01/01-00:00:00 2027/01/02-00:00:00 1 2 9\n",
            "mixes times",
        ),
        (
            "a contact +0 +10 one 2 9\n",
            "line 2: node \"one\" is not a whole number",
        ),
        (
            "a contact +0 +10 1 2 0.5\n",
            "line 2: rate \"0.5\" is not a whole number",
        ),
        (
            "a contact +0 +10 1 2 0\n",
            "line 2: a rate of \"0 bit/s\" is out of range",
        ),
        (
            "a contact +0 +10 1 2 18446744073709551615\n",
            "is out of range; write \"1 bit/s\"",
        ),
        (
            "a contact +0 +101 1 2 9\n",
            "line 2: the contact has no range at \"100 s\"",
        ),
        (
            "a contact +0 +18446744073709551615 1 2 9\n",
            "line 2: the end",
        ),
        (
            "a contact +0 +9 1 2 9\na contact +0 +9 3 2 9\n",
            "has contacts of several pairs; write nodes = one of [1, 2], [3, 2]",
        ),
        ("", "the plan has no contact"),
    ] {
        let error = plan(&format!("{RANGE}{lines}"), None).unwrap_err();
        assert!(error.contains(message), "{lines:?}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let error = plan(ION, Some([1, 3])).unwrap_err();
    assert!(error.contains("its pairs are [1, 2], [2, 1]"), "{error}");
    let error = plan(
        &format!("{RANGE}a range +99 +200 1 2 6\na contact +0 +9 1 2 9\n"),
        None,
    );
    assert!(
        error
            .unwrap_err()
            .contains("line 2: the range begins at \"99 s\"")
    );
}

fn load(down: &str, link: &str) -> Result<crate::Scenario, String> {
    let text = format!(
        "[[links]]\nbetween = [\"a\", \"b\"]\n{link}\ndown = {{ {down} }}\n\
         up = {{ rate = \"1 Mbit/s\", delay = \"1 s\" }}\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 kB\"\n"
    );
    crate::load(&text, "test", &[]).map_err(|e| e.to_string())
}

#[test]
fn keys_that_a_plan_replaces_are_refused() {
    let contacts = "contacts = { data = \"a contact +0 +9 1 2 9\\na range +0 +9 1 2 9\" }";
    assert!(load(contacts, "").is_ok());
    assert!(load(&format!("{contacts}, delay = \"1 s\""), "").is_ok());
    for (more, link, message) in [
        (
            ", rate = \"1 Mbit/s\"",
            "",
            "links[0].down.rate would be ignored beside contacts",
        ),
        (
            ", rate_trace = \"1 Mbit/s\"",
            "",
            "links[0].down.rate_trace would be ignored beside contacts",
        ),
        (
            ", service_time = \"1 ms\"",
            "",
            "down.service_time does not go with contacts",
        ),
        (
            "",
            "half_duplex = true",
            "half_duplex = true does not go with down.contacts",
        ),
        ("", "arq = { protocol = \"rlp\" }", "does not go with arq"),
    ] {
        let error = load(&format!("{contacts}{more}"), link).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
}
