//! Receive-window autotuning over whole runs.

use crate::common::{metric, result};

fn goodput(receive: &str, variant: &str) -> f64 {
    let text = format!(
        "[tcp]\nvariant = \"{variant}\"\ntimestamps = true\n{receive}\n\
         [[links]]\nbetween = [\"server\", \"client\"]\n\
         down = {{ rate = \"10 Mbit/s\", delay = \"250 ms\", queue = {{ packets = 400 }} }}\n\
         up = {{ rate = \"10 Mbit/s\", delay = \"250 ms\" }}\n\
         [[flows]]\nfrom = \"server\"\nto = \"client\"\nsize = \"50 MB\"\n"
    );
    metric(&result(&text), "flows", 0, "goodput")
}

/// A fixed window of 64 KiB per round trip of half a second gives 1 Mbit/s. A growing buffer gives
/// nearly the rate of a buffer that is large from the start; the rest is lost in the round trips of
/// its growth.
#[test]
fn a_buffer_that_grows_fills_a_long_fat_link() {
    for variant in ["sack", "cubic"] {
        let fixed = goodput("receive_window = \"64 KiB\"", variant);
        let large = goodput("receive_window = \"3 MiB\"", variant);
        let grown = goodput(
            "receive_window = \"64 KiB\"\nreceive_window_max = \"3 MiB\"",
            variant,
        );
        assert!((0.95e6..1.06e6).contains(&fixed), "{variant}: {fixed}");
        assert!(large > 7e6, "{variant}: {large}");
        assert!(grown > 0.97 * large, "{variant}: {grown} against {large}");
    }
}
