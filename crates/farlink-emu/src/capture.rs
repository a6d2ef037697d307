//! Captures of a running emulation: one file per host, one for lost packets, and more for agents.
//! Another thread writes the files, so the disk does not delay packets.

use crate::EmuError;
use farlink_sim::Live;
use farlink_tcp::{Instant, Interval};
use farlink_wire::pcapng::CapturePoint;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

/// Size of one write to the disk, in bytes.
const PIECE: usize = 1 << 18;
/// Number of writes that may be queued (64 MiB in total). If the queue is full, packets are not
/// captured.
const WAITING: usize = 256;
/// Time after which a buffer is written even if it is not full.
const SOON: Interval = Interval::from_millis(500);
/// Name of the file of lost packets.
const LOST: &str = "lost";

/// Open captures.
#[derive(Debug)]
pub(crate) struct Captures {
    /// Captures in this order: each host, each side of each agent, lost packets.
    points: Vec<CapturePoint>,
    written: Instant,
    missed: u64,
    disk: Option<SyncSender<(usize, Vec<u8>)>>,
    /// Thread that writes the files. On failure it returns the file's path and the error.
    writer: Option<JoinHandle<Result<(), (PathBuf, io::Error)>>>,
}

impl Captures {
    /// Creates NAME.pcapng for each host and each side of an agent, and lost.pcapng. The first
    /// `snaplen` bytes of each packet are captured; 0 means all.
    pub(crate) fn create<'a>(
        directory: &Path,
        hosts: impl Iterator<Item = &'a str>,
        comment: &str,
        snaplen: u32,
    ) -> Result<Self, EmuError> {
        let hosts: Vec<_> = hosts.collect();
        if hosts.contains(&LOST) {
            return Err(EmuError::Scenario(format!(
                "a host is called {LOST:?}, as is the capture of what links lose; give that host \
                 another name, or leave the captures out"
            )));
        }
        let mut points = Vec::new();
        let mut out = Vec::new();
        for name in hosts.into_iter().chain([LOST]) {
            let path = directory.join(format!("{name}.pcapng"));
            let file = File::create(&path)
                .map_err(|e| EmuError::system(format!("write {}", path.display()), e))?;
            out.push((path, file));
            points.push(CapturePoint::new(name, comment, snaplen));
        }
        let (disk, pieces) = sync_channel::<(usize, Vec<u8>)>(WAITING);
        let writer = std::thread::spawn(move || {
            for (point, piece) in pieces {
                let (path, file) = &mut out[point];
                file.write_all(&piece).map_err(|e| (path.clone(), e))?;
            }
            Ok(())
        });
        Ok(Self {
            points,
            written: Instant::ZERO,
            missed: 0,
            disk: Some(disk),
            writer: Some(writer),
        })
    }

    /// Captures a packet that a host sent or received.
    pub(crate) fn packet(&mut self, host: usize, now: Instant, bytes: &[u8]) {
        self.add(host, now, bytes, "");
    }

    /// Captures the packets that crossed agents or were lost since the last call. `hosts` is the
    /// number of hosts.
    pub(crate) fn network(&mut self, live: &mut Live, hosts: usize) {
        live.take_crossed(|at, side, bytes| self.add(hosts + side, at, bytes, ""));
        let point = self.points.len() - 1;
        live.take_lost(|at, link, direction, cause, bytes| {
            self.add(point, at, bytes, &format!("{link} {direction}: {cause}"));
        });
    }

    fn add(&mut self, point: usize, now: Instant, bytes: &[u8], comment: &str) {
        if self.points[point].pending() >= PIECE && !self.write(point) {
            self.missed += 1;
            return;
        }
        self.points[point].raw(now, bytes, comment);
        if now.since(self.written) > SOON {
            self.written = now;
            for point in 0..self.points.len() {
                self.write(point);
            }
        }
    }

    /// Queues the buffer of a file for writing. Returns false if the queue is full.
    fn write(&mut self, point: usize) -> bool {
        let Some(disk) = &self.disk else {
            return false;
        };
        if self.points[point].pending() == 0 {
            return true;
        }
        match disk.try_send((point, self.points[point].drain())) {
            Ok(()) => true,
            Err(TrySendError::Full((_, piece)) | TrySendError::Disconnected((_, piece))) => {
                self.points[point].put_back(piece);
                false
            }
        }
    }

    /// Writes the remaining buffers. Returns the number of packets that were not captured because
    /// the disk was too slow, and the error that ended the captures, if any.
    pub(crate) fn finish(&mut self) -> (u64, Option<String>) {
        if let Some(disk) = self.disk.take() {
            for (number, point) in self.points.iter_mut().enumerate() {
                if point.pending() > 0 {
                    // Sending fails only after the writer has ended, and the writer's error is
                    // returned below.
                    let _ = disk.send((number, point.drain()));
                }
            }
        }
        let failure = match self.writer.take().map(JoinHandle::join) {
            None | Some(Ok(Ok(()))) => None,
            Some(Ok(Err((path, error)))) => Some(format!("write {}: {error}", path.display())),
            Some(Err(_)) => Some("the thread that writes them panicked".into()),
        };
        (self.missed, failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A full disk (here /dev/full) ends the captures, but not the run.
    #[test]
    fn a_full_disk_is_reported_at_the_end() {
        let directory = std::env::temp_dir().join(format!("farlink-full-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        std::os::unix::fs::symlink("/dev/full", directory.join("a.pcapng")).unwrap();
        let names = ["a", "b"].into_iter();
        let mut captures = Captures::create(&directory, names, "", 0).unwrap();
        for n in 0..3000 {
            captures.packet(n % 2, Instant::ZERO, &[0x45; 1500]);
        }
        let failure = captures.finish().1.unwrap();
        let refused = Captures::create(&directory, ["lost"].into_iter(), "", 0);
        std::fs::remove_dir_all(&directory).unwrap();
        assert!(failure.contains("a.pcapng: No space left"), "{failure}");
        assert!(refused.unwrap_err().to_string().contains("another name"));
    }
}
