//! Hosts of an emulation that report their positions.

use crate::common::{datagram, expand};
use farlink_sim::Live;
use farlink_tcp::Instant;

/// Returns how many of a hundred datagrams arrive, sent every 100 ms from second `start`.
fn carried(live: &mut Live, start: u64, host: usize, dst: u32) -> usize {
    let mut received = 0;
    for i in 0..100 {
        let now = Instant::from_nanos(start * 1_000_000_000 + i * 100_000_000);
        live.advance(now, |_, _, _| received += 1);
        live.send(now, host, datagram(host as u32, dst, &[5; 972]))
            .unwrap();
    }
    let end = Instant::from_nanos((start + 11) * 1_000_000_000);
    live.advance(end, |_, _, _| received += 1);
    received
}

const RADIO: &str = "[[links]]\nbetween = [\"a\", \"b\"]\ndown = { rate = \"250 kbit/s\", delay = \"1 \
                     ms\", channel = { radio = { band = \"2400 MHz\", distance = \"5 m\" } } }\n\
                     [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 kB\"\n";

/// Once both hosts have reported a position, a radio uses their distance, and keeps it if another
/// property of its link changes.
#[test]
fn a_radio_has_the_distance_of_its_hosts() {
    let scenario = expand(RADIO);
    let mut live = Live::new(&scenario, 0).unwrap();
    assert_eq!(carried(&mut live, 0, 0, 1), 100, "5 m");
    live.place(0, 0.0, 0.0);
    assert_eq!(carried(&mut live, 20, 0, 1), 100, "one end says nothing");
    live.place(1, 3e6, 4e6);
    assert_eq!(carried(&mut live, 40, 0, 1), 0, "5000 km");
    assert_eq!(carried(&mut live, 60, 1, 0), 0, "both ways");
    let mut changed = scenario.clone();
    changed.links[0].down.channel.clear();
    live.set(&changed).unwrap();
    live.set(&scenario).unwrap();
    assert_eq!(carried(&mut live, 80, 0, 1), 0, "a new channel");
    live.place(1, 0.0, 0.0);
    assert_eq!(carried(&mut live, 100, 0, 1), 100, "side by side");
}

/// A walking host is at its reported position, and not at that of its walk.
#[test]
fn a_walking_host_is_at_the_reported_position() {
    let text = "[[links]]\nbetween = [\"mobile\", \"north\"]\ndown = { rate = \"1 Mbit/s\", delay = \"1 \
                ms\" }\n[[links]]\nbetween = [\"mobile\", \"south\"]\ndown = { rate = \"1 Mbit/s\", \
                delay = \"1 ms\" }\n[[links]]\nbetween = [\"north\", \"fixed\"]\ndown = { rate = \"1 \
                Mbit/s\", delay = \"1 ms\" }\n[[links]]\nbetween = [\"south\", \"fixed\"]\ndown = { \
                rate = \"1 Mbit/s\", delay = \"1 ms\" }\n[[handoffs]]\nhost = \"mobile\"\nlinks = \
                [\"mobile-north\", \"mobile-south\"]\nmobility = { model = \"random-waypoint\", area = \
                [\"200 m\", \"20 m\"], speed = [\"0.001 m/s\", \"0.002 m/s\"] }\nstations = [[\"50 \
                m\", \"10 m\"], [\"150 m\", \"10 m\"]]\n[[flows]]\nfrom = \"mobile\"\nto = \
                \"fixed\"\nsize = \"1 kB\"\n";
    let mut live = Live::new(&expand(text), 0).unwrap();
    let mut now = 0;
    let mut handoffs = |live: &mut Live, x: f64| {
        live.place(0, x, 10.0);
        now += 1_000_000_000;
        live.advance(Instant::from_nanos(now), |_, _, _| {});
        live.handoffs()[0]["metrics"]["handoffs"].as_f64().unwrap()
    };
    let first = handoffs(&mut live, 10.0);
    assert_eq!(handoffs(&mut live, 190.0), first + 1.0);
    assert_eq!(handoffs(&mut live, 180.0), first + 1.0);
    assert_eq!(handoffs(&mut live, 20.0), first + 2.0);
}
