//! Queries the kernels of all hosts for their TCP connections.

use crate::EmuError;
use crate::drive::Emulation;
use crate::flows::{End, Sender};
use crate::sock_diag::{Sample, dump, sample};
use crate::sockets::open_in;
use std::fs::File;

impl From<Sample> for End {
    fn from(sample: Sample) -> Self {
        let seconds = |micros: u32| f64::from(micros) / 1e6;
        // The kernel reports 0 or `u32::MAX` before the first measurement.
        let measured = |micros: u32| (1..u32::MAX).contains(&micros).then(|| seconds(micros));
        Self {
            local: sample.local,
            peer: sample.peer,
            acked: sample.acked,
            received: sample.received,
            sender: Sender {
                cwnd_bytes: Some(sample.cwnd),
                ssthresh_bytes: sample.ssthresh,
                flight_bytes: Some(sample.flight),
                srtt_s: measured(sample.srtt),
                min_rtt_s: measured(sample.min_rtt),
                rto_s: Some(seconds(sample.rto)),
                retransmissions: Some(sample.retransmissions.into()),
            },
        }
    }
}

/// Sockets for queries to the kernels of all hosts.
#[derive(Debug)]
pub(crate) struct Kernels {
    sockets: Vec<(usize, File)>,
    buffer: Vec<u8>,
}

impl Kernels {
    pub(crate) fn open(emulation: &Emulation) -> Result<Self, EmuError> {
        Ok(Self {
            sockets: open_in(emulation.hosts())?,
            buffer: vec![0; 1 << 16],
        })
    }

    /// Returns the state of both ends of every connection. Skips a kernel that no longer answers,
    /// because its attached namespace is ending.
    pub(crate) fn ends(&mut self) -> Vec<End> {
        let mut ends = Vec::new();
        for (host, socket) in &self.sockets {
            let _ = dump(socket, &mut self.buffer, |message| {
                ends.extend(sample(message, 0, *host).map(End::from));
            });
        }
        ends
    }
}
