//! BBR on whole paths: what it fills, and what waits in the queue.

use farlink_sim::{Column, Monitor, Table, Trace, scenario, trace};

fn play(text: &str, set: &[(&str, &str)]) -> Trace {
    let set: Vec<_> = set
        .iter()
        .map(|&(k, v)| (k.to_owned(), v.to_owned()))
        .collect();
    let scenario = scenario::load(text, "bbr", &set)
        .and_then(|s| s.expand())
        .unwrap();
    trace(&scenario, 0, None, "", &Monitor::default()).unwrap()
}

fn table<'a>(trace: &'a Trace, name: &str) -> &'a Table {
    trace.tables.iter().find(|t| t.name == name).unwrap()
}

fn column(table: &Table, name: &str) -> Vec<f64> {
    let (_, column) = table.columns.iter().find(|(n, _)| *n == name).unwrap();
    match column {
        Column::I64(v) => v.iter().map(|&x| x as f64).collect(),
        Column::U64(v) => v.iter().map(|&x| x as f64).collect(),
        Column::U32(v) => v.iter().map(|&x| f64::from(x)).collect(),
        Column::U8(v) => v.iter().map(|&x| f64::from(x)).collect(),
    }
}

/// Bits per second delivered in order between two times in seconds.
fn goodput(trace: &Trace, from: f64, to: f64) -> f64 {
    let delivered = table(trace, "delivered");
    let (time, bytes) = (column(delivered, "time"), column(delivered, "bytes"));
    let until = |t: f64| {
        let rows = time.iter().take_while(|&&x| x <= t * 1e9).count();
        rows.checked_sub(1).map_or(0.0, |i| bytes[i])
    };
    8.0 * (until(to) - until(from)) / (to - from)
}

const GEO: &str = r#"
[tcp]
variant = "bbr"
receive_window = "1 MiB"
delayed_ack = "off"

[[links]]
name = "lan"
between = ["server", "gateway"]
down = { rate = "10 Mbit/s", delay = "10 ms", queue = "unlimited" }

[[links]]
name = "satellite"
between = ["gateway", "client"]
down = { rate = "2048 kbit/s", delay = "250 ms", queue = "unlimited" }
up = { rate = "256 kbit/s", delay = "250 ms", queue = "unlimited" }

[[flows]]
from = "server"
to = "client"
app = "bulk"
duration = "130 s"
"#;

#[test]
fn explore() {
    for margin in ["0", "0.01"] {
        for ber in ["0", "1e-6"] {
            let t = play(GEO, &[("tcp.control.bbr.pacing_margin", margin), ("links.satellite.down.channel.ber", ber), ("links.satellite.up.channel.ber", ber)]);
            println!("margin {margin} ber {ber}: 0-10 {} 10-130 {}", goodput(&t, 0.0, 10.0), goodput(&t, 10.0, 130.0));
            for s in 0..40 {
                print!(" {:.0}", goodput(&t, f64::from(s), f64::from(s)+1.0)/1e3);
            }
            println!();
            let q = table(&t, "queue");
            let (time, link, packets) = (column(q, "time"), column(q, "link"), column(q, "packets"));
            for s in 0..40 {
                let m = (0..time.len()).filter(|&i| link[i]==1.0 && time[i] >= f64::from(s)*1e9 && time[i] < f64::from(s+1)*1e9).map(|i| packets[i]).fold(0.0, f64::max);
                print!(" {m}");
            }
            println!();
            let st = table(&t, "state");
            let (time, cwnd, flight) = (column(st, "time"), column(st, "cwnd"), column(st, "flight"));
            let mut next = 0.0;
            for i in 0..time.len() { if time[i] >= next && time[i] < 30e9 { print!(" {:.1}:{:.0}/{:.0}", time[i]/1e9, cwnd[i]/1460.0, flight[i]/1460.0); next = time[i] + 0.5e9; } }
            println!();
        }
    }
}
