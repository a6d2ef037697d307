//! Proportional Rate Reduction in whole runs.

use crate::common;
use farlink_sim::scenario;
use serde_json::Value;

/// Runs a transfer of 20 MB over a link whose queue holds 40 packets.
fn result(keys: &str) -> Value {
    let text = format!(
        "[tcp]\nreceive_window = \"1 MiB\"\n{keys}\n\
         [[links]]\nbetween = [\"a\", \"b\"]\n\
         down = {{ rate = \"10 Mbit/s\", delay = \"25 ms\", queue = {{ packets = 40 }} }}\n\
         up = {{ rate = \"10 Mbit/s\", delay = \"25 ms\" }}\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"20 MB\"\n"
    );
    common::result(&text)
}

fn flow(result: &Value, metric: &str) -> f64 {
    result["flows"][0]["metrics"][metric].as_f64().unwrap()
}

#[test]
fn it_is_disabled_by_default() {
    for variant in ["sack", "cubic"] {
        let row = format!("variant = \"{variant}\"");
        assert_eq!(result(&row), result(&format!("{row}\nprr = false")));
        assert_ne!(result(&row), result(&format!("{row}\nprr = true")));
    }
}

/// With every bound all data arrives without a time-out, and the transfer takes at most a tenth
/// longer than with half a round trip without sending.
#[test]
fn every_bound_repairs_the_drops_of_a_queue() {
    for variant in ["sack", "cubic"] {
        let row = format!("variant = \"{variant}\"\n");
        let plain = flow(&result(&row), "duration");
        for bound in ["safe-ack", "conservative", "slow-start"] {
            let run = result(&format!("{row}prr = true\nprr_bound = \"{bound}\""));
            assert_eq!(flow(&run, "bytes_delivered"), 20e6, "{variant} {bound}");
            assert!(flow(&run, "fast_retransmits") > 0.0, "{variant} {bound}");
            assert_eq!(flow(&run, "timeouts"), 0.0, "{variant} {bound}");
            let duration = flow(&run, "duration");
            assert!(
                duration < 1.1 * plain,
                "{variant} {bound}: {duration} s, {plain} s without"
            );
        }
    }
}

#[test]
fn prr_needs_sack_and_prr_bound_needs_prr() {
    let refused = |keys: &str| {
        let text = format!(
            "[[links]]\nbetween = [\"a\", \"b\"]\ndown = {{ rate = \"1 Mbit/s\", delay = \"1 ms\" }}\n\
             [[flows]]\nfrom = \"a\"\nto = \"b\"\nsize = \"1 kB\"\ntcp = {{ {keys} }}\n"
        );
        let loaded = scenario::load(&text, "x", &[]).and_then(|s| s.expand().map(|_| ()));
        loaded.unwrap_err().to_string()
    };
    let message = refused("variant = \"reno\", prr = true");
    assert!(
        message.contains("prr would be ignored; it needs recovery = \"sack\""),
        "{message}"
    );
    let message = refused("prr_bound = \"slow-start\"");
    assert!(
        message.contains("prr_bound would be ignored; it needs prr = true"),
        "{message}"
    );
}
