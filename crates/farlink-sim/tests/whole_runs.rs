//! Whole runs in one binary, so they are compiled and linked once and not once per file.
#![allow(missing_docs)]

mod ack_thinning;
mod adalr;
mod agents_seen;
mod agents_whole;
mod applications;
mod arq;
mod arq_disciplines;
mod autotuning;
mod balance;
mod bbr;
mod bbr_loss;
mod cake;
mod channel;
mod channels;
mod channels_radio;
mod common;
mod contention;
mod conversations;
mod delay_controls;
mod demand;
mod diffserv;
mod disciplines;
mod ecn;
mod fast_open;
mod fec;
mod fragments;
mod gro;
mod half_duplex;
mod handoff;
mod header_compression;
mod host_jitter;
mod icmp;
mod ipv6;
mod keys;
mod l4s;
mod measures;
mod multipath;
mod multipath_coupled;
mod peach;
mod positions;
mod prr;
mod quic;
mod quic_pages;
mod quic_programs;
mod rack;
mod resume;
mod routes;
mod send_buffer;
mod slow_start;
mod sojourns;
mod stp_proxy;
mod super_packets;
mod udp;
mod undo;
mod vegas;
mod westwood_hybla;
mod wireless;
mod wong1998;
mod xtp;
mod xtp_proxy;

/// With `autotests = false`, Cargo does not look for files here, so a file without a `mod` would
/// never run.
#[test]
fn every_file_of_tests_is_run() {
    let own = include_str!("whole_runs.rs");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    for entry in std::fs::read_dir(folder).expect("the folder of the tests") {
        let path = entry.expect("a file of the tests").path();
        let is_source = path.extension().is_some_and(|extension| extension == "rs");
        let name = path.file_stem().expect("a name").to_string_lossy();
        let runs_alone = ["whole_runs", "recorded"].contains(&&*name);
        assert!(
            !is_source || runs_alone || own.contains(&format!("mod {name};")),
            "{name}.rs runs nowhere: write `mod {name};` into whole_runs.rs"
        );
    }
}
