//! Periodic samples of the kernels' TCP state, for every connection of every host.

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

/// Thread that samples all hosts until it is stopped.
#[derive(Debug)]
pub struct Sampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<io::Result<Vec<Sample>>>,
}

impl Sampler {
    /// Starts to sample every `period`.
    ///
    /// # Errors
    /// Fails if a system call fails.
    pub fn start(emulation: &Emulation, period: Duration) -> Result<Self, EmuError> {
        let sockets = open_in(emulation.hosts())?;
        let stop = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&stop);
        let remote = emulation.remote();
        let thread = std::thread::spawn(move || watch(&sockets, &remote, period, &ended));
        Ok(Self { stop, thread })
    }

    /// Stops and returns all samples.
    ///
    /// # Errors
    /// Fails if a sample could not be taken.
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
    // Sampling waits for the engine's thread, which starts the clock.
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

/// Opens a socket for queries in each host with a kernel, and returns it with the host's index.
pub(crate) fn open_in(hosts: &[Host]) -> Result<Vec<(usize, File)>, EmuError> {
    // A user-space host has no kernel.
    let kernels = hosts.iter().enumerate();
    let kernels = kernels.filter_map(|(i, host)| Some((i, host.namespace()?)));
    let opened = kernels.map(|(i, namespace)| Ok((i, namespace.inside(open)?)));
    let opened: io::Result<_> = opened.collect();
    opened.map_err(|e| EmuError::system("look at sockets", e))
}
