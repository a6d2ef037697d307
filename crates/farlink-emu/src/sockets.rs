//! Samples of the kernel's TCP: every connection of every host, at a constant period.

use crate::EmuError;
use crate::drive::Emulation;
use crate::host::Host;
use crate::remote::Remote;
use crate::sock_diag::{Sample, dump, open, sample};
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Samples all hosts until it is told to stop.
#[derive(Debug)]
pub struct Sampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<io::Result<Vec<Sample>>>,
}

impl Sampler {
    /// Begins; connections are looked at every `period`.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn start(emulation: &Emulation, period: Duration) -> Result<Self, EmuError> {
        let sockets = open_in(emulation.hosts())?;
        let stop = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&stop);
        let remote = emulation.remote();
        let thread = std::thread::spawn(move || watch(&sockets, &remote, period, &ended));
        Ok(Self { stop, thread })
    }

    /// Ends; returns all samples.
    ///
    /// # Errors
    /// If the system refused one.
    pub fn finish(self) -> Result<Vec<Sample>, EmuError> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("its thread panicked")))
            .map_err(|e| EmuError::system("look at sockets", e))
    }
}

fn watch(
    sockets: &[(usize, File)],
    remote: &Remote,
    period: Duration,
    ended: &AtomicBool,
) -> io::Result<Vec<Sample>> {
    let mut samples = Vec::new();
    // The engine's clock starts with its thread.
    let (zero, began) = loop {
        if ended.load(Ordering::Relaxed) {
            return Ok(samples);
        }
        if let Some(now) = remote.call(|_, now| now) {
            break (now.as_nanos(), Instant::now());
        }
    };
    let mut buffer = vec![0; 1 << 16];
    let mut next = Instant::now();
    while !ended.load(Ordering::Relaxed) {
        for &(host, ref socket) in sockets {
            let time = zero + began.elapsed().as_nanos() as u64;
            dump(socket, &mut buffer, |message| {
                samples.extend(sample(message, time, host));
            })?;
        }
        next += period;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(samples)
}

/// Sockets to ask the kernels of the hosts with, and the number of the host of each.
pub(crate) fn open_in(hosts: &[Host]) -> Result<Vec<(usize, File)>, EmuError> {
    // A host in user space has no kernel to ask.
    let kernels = hosts.iter().enumerate();
    let kernels = kernels.filter_map(|(i, host)| Some((i, host.namespace()?)));
    let opened = kernels.map(|(i, namespace)| Ok((i, namespace.inside(open)?)));
    let opened: io::Result<_> = opened.collect();
    opened.map_err(|e| EmuError::system("look at sockets", e))
}
