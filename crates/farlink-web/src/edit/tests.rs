use super::*;

const TEXT: &str = r#"# A path.
name = "x" # the name
seed = 7

[tcp]
variant = "sack" # as before

# The satellite.
[[links]]
name = "sat"
between = ["a", "r"]
down = { rate = "2 Mbit/s", delay = "250 ms", channel = { loss = 0.01 } } # downstream

[[links]]
between = ["r", "b"]
[links.down]
rate = "10 Mbit/s" # the LAN
delay = "1 ms"

[[flows]]
from = "a"
to = "b"
size = "1 MB"
"#;

fn edited(path: &str, value: Option<&str>) -> String {
    edit(TEXT, &[(path.to_owned(), value.map(str::to_owned))]).unwrap()
}

/// Returns the lines that one edit removed and added.
fn changes(path: &str, value: Option<&str>) -> (Vec<String>, Vec<String>) {
    let after = edited(path, value);
    let lines = |text: &str, other: &str| -> Vec<String> {
        let others: Vec<_> = other.lines().collect();
        let own = text.lines().filter(|line| !others.contains(line));
        own.map(str::to_owned).collect()
    };
    (lines(TEXT, &after), lines(&after, TEXT))
}

#[test]
fn value_is_that_of_the_text() {
    for (path, wanted) in [
        ("seed", Some("7")),
        ("tcp.variant", Some("sack")),
        ("links.0.down.delay", Some("250 ms")),
        ("links[0].down.delay", Some("250 ms")),
        ("links.sat.down.channel.loss", Some("0.01")),
        ("links.sat.down.channel", Some("{ loss = 0.01 }")),
        ("links.r-b.down.rate", Some("10 Mbit/s")),
        ("links.0.between.1", Some("r")),
        ("links.2.down.rate", None),
        ("links.0.up.rate", None),
        ("seed.x", None),
    ] {
        assert_eq!(value(TEXT, path).unwrap().as_deref(), wanted, "{path}");
    }
}

#[test]
fn edit_without_a_change_gives_the_same_text() {
    assert_eq!(edit(TEXT, &[]).unwrap(), TEXT);
    assert_eq!(edited("links.0.down.delay", Some("250 ms")), TEXT);
    assert_eq!(edited("links.0.down.jitter", None), TEXT);
}

#[test]
fn edit_changes_one_line_and_keeps_its_comment() {
    for (path, value, before, after) in [
        ("seed", "8", "seed = 7", "seed = 8"),
        (
            "name",
            "y",
            "name = \"x\" # the name",
            "name = \"y\" # the name",
        ),
        (
            "links.sat.down.channel.loss",
            "1e-3",
            "down = { rate = \"2 Mbit/s\", delay = \"250 ms\", channel = { loss = 0.01 } } # downstream",
            "down = { rate = \"2 Mbit/s\", delay = \"250 ms\", channel = { loss = 1e-3 } } # downstream",
        ),
        (
            "links.1.down.rate",
            "1 Gbit/s",
            "rate = \"10 Mbit/s\" # the LAN",
            "rate = \"1 Gbit/s\" # the LAN",
        ),
    ] {
        let (removed, added) = changes(path, Some(value));
        assert_eq!(
            (removed, added),
            (vec![before.to_owned()], vec![after.to_owned()])
        );
    }
}

#[test]
fn edit_adds_keys_and_the_tables_around_them() {
    let (removed, added) = changes("links.0.down.queue.packets", Some("30"));
    assert_eq!(removed.len(), 1);
    assert_eq!(
        added,
        [
            "down = { rate = \"2 Mbit/s\", delay = \"250 ms\", channel = { loss = 0.01 }, \
          queue = { packets = 30 } } # downstream"
        ]
    );
    let (removed, added) = changes("links.1.down.channel.gilbert.loss", Some("0.1"));
    assert_eq!(removed, [""; 0]);
    assert_eq!(added, ["channel = { gilbert = { loss = 0.1 } }"]);
    let text = edit(
        "seed = 1\n[[flows]]\n",
        &[("tcp.variant".into(), Some("cubic".into()))],
    );
    assert_eq!(
        text.unwrap(),
        "seed = 1\n[[flows]]\n\n[tcp]\nvariant = \"cubic\"\n"
    );
}

#[test]
fn edit_of_up_copies_down_first() {
    let (_, added) = changes("links.0.up.rate", Some("64 kbit/s"));
    assert_eq!(
        added,
        ["up = { rate = \"64 kbit/s\", delay = \"250 ms\", channel = { loss = 0.01 } }"]
    );
    let text = edited("links.1.up.rate", Some("64 kbit/s"));
    assert!(
        text.contains("[links.up]\nrate = \"64 kbit/s\" # the LAN\ndelay = \"1 ms\"\n"),
        "{text}"
    );
    assert_eq!(
        value(&text, "links.1.down.rate").unwrap().unwrap(),
        "10 Mbit/s"
    );
}

#[test]
fn edit_removes_keys_elements_and_empty_tables() {
    let (_, added) = changes("links.0.down.channel.loss", None);
    assert_eq!(
        added,
        ["down = { rate = \"2 Mbit/s\", delay = \"250 ms\" } # downstream"]
    );
    assert!(!edited("links.1", None).contains("the LAN"));
    assert_eq!(
        value(&edited("tcp.variant", None), "tcp.variant").unwrap(),
        None
    );
}

#[test]
fn wrong_paths_and_texts_are_refused_with_line_or_key() {
    let wrong = |text: &str, path: &str| {
        let failure = edit(text, &[(path.to_owned(), Some("1".to_owned()))]).unwrap_err();
        serde_json::to_value(&failure).unwrap()
    };
    assert_eq!(wrong(TEXT, "links.7.name")["key"], "links.7.name");
    assert_eq!(wrong(TEXT, "links..name")["key"], "links..name");
    assert_eq!(wrong("a = 1\nb = = 2\n", "a")["line"], 2);
    let deep = "a.".repeat(100) + "b";
    assert_eq!(wrong("", &deep)["kind"], "scenario");
}
