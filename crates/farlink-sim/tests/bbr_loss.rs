//! BBR under random loss, against measurements of Linux.
//!
//! The use of the link in % is the number of bits that arrived in packets, divided by the capacity
//! of the link. The queues hold a window, only data packets are lost, and receive windows do not
//! limit.

use crate::common::{expand, metric, result_of};

/// Path: rate in Mbit/s, delay in each direction in ms, queue in packets.
#[derive(Clone, Copy, Debug)]
struct Path(u32, u32, u32);

const ROWS: [&str; 2] = [
    "variant = \"bbr\"",
    "profile = \"linux\"\nvariant = \"bbr\"\nreceive_window_max = \"64 MiB\"",
];

/// Returns the use of the link in each of `runs` runs of `seconds`.
fn used(tcp: &str, path: Path, loss: f64, seconds: u32, runs: u64) -> Vec<f64> {
    let Path(rate, delay, queue) = path;
    let text = format!(
        "duration = \"{seconds} s\"\n[tcp]\n{tcp}\nreceive_window = \"64 MiB\"\nsend_buffer = \"64 MiB\"\n\
         [[links]]\nbetween = [\"a\", \"b\"]\n\
         down = {{ rate = \"{rate} Mbit/s\", delay = \"{delay} ms\", queue = {{ packets = {queue} }}, channel = {{ loss = {loss} }} }}\n\
         up = {{ rate = \"{rate} Mbit/s\", delay = \"{delay} ms\" }}\n\
         [[flows]]\nfrom = \"a\"\nto = \"b\"\napp = \"bulk\"\nduration = \"{seconds} s\"\n"
    );
    let expanded = expand(&text);
    let share = |seed| {
        let result = result_of(&expanded, seed);
        let goodput = metric(&result, "flows", 0, "goodput");
        100.0 * goodput * 1500.0 / 1448.0 / (f64::from(rate) * 1e6)
    };
    (0..runs).map(share).collect()
}

/// Linux 4.11 over Mahimahi with 100 Mbit/s, 50 ms in each direction and a queue of 1,000 packets:
/// three published series of one run of 60 s each.
#[test]
fn bbr_keeps_the_link_busy_under_random_loss() {
    for row in ROWS {
        for (loss, low, high) in [(0.001, 94.0, 95.0), (0.01, 85.0, 88.0), (0.05, 77.0, 80.0)] {
            let used = used(row, Path(100, 50, 1000), loss, 12, 1)[0];
            assert!(
                (0.9 * low..=1.1 * high).contains(&used),
                "{row} at {loss}: {used}"
            );
        }
    }
}

/// Shares of loss, each with the kernel's median use of the link in % of the packets that survive.
type Medians = &'static [(f64, f64)];

/// Linux 6.18 in the emulator, in % of the packets that survive the loss. The medians are from
/// tests/validation/kernel/results.csv.
#[test]
fn bbr_is_within_a_tenth_of_a_kernel_at_windows_of_100_and_1000() {
    let cells: [(Path, u32, u64, Medians); 3] = [
        (
            Path(12, 50, 100),
            20,
            5,
            &[(0.01, 95.9), (0.05, 92.5), (0.15, 74.1)],
        ),
        (
            Path(2, 300, 100),
            30,
            7,
            &[(0.01, 83.0), (0.05, 76.5), (0.15, 67.7)],
        ),
        (Path(20, 300, 1000), 30, 3, &[(0.15, 58.3)]),
    ];
    let mut wrong = Vec::new();
    for row in ROWS {
        for (path, seconds, runs, kernel) in cells {
            for &(loss, kernel) in kernel {
                let mut all = used(row, path, loss, seconds, runs);
                all.sort_by(f64::total_cmp);
                let median = all[all.len() / 2] / (1.0 - loss);
                if !(0.9 * kernel..=1.1 * kernel).contains(&median) {
                    wrong.push(format!(
                        "{row} {path:?} {loss}: {median} for {kernel}, {all:?}"
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
