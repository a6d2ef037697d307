//! QUIC in place of TCP.

use super::table::{Member, Profile};

/// The QUIC of quinn. The rows only name the congestion controls: no segment of TCP is sent.
pub static QUIC: Profile = Profile {
    name: "quic",
    summary: "QUIC of quinn in place of TCP",
    source: "quinn-proto 0.11, which runs in the simulation",
    members: Some(&[
        Member {
            name: "cubic",
            row: "cubic",
        },
        Member {
            name: "newreno",
            row: "newreno",
        },
        Member {
            name: "bbr",
            row: "bbr",
        },
    ]),
    usual: "cubic",
    values: &[],
};
