//! Captures while packets cross: a file per host and one of what was lost, written
//! by a thread of its own so that no disk delays a packet.

use crate::EmuError;
use farlink_net::pcapng::CapturePoint;
use farlink_sim::Live;
use farlink_tcp::{Instant, Interval};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

/// What is handed to the disk at once, in bytes.
const PIECE: usize = 1 << 18;
/// Pieces that may wait for the disk: 64 MiB. What comes beyond is not captured.
const WAITING: usize = 256;
/// Time after which what there is of a file is written.
const SOON: Interval = Interval::from_millis(500);
/// Name of the file of the packets that were lost.
const LOST: &str = "lost";

/// Open captures.
#[derive(Debug)]
pub(crate) struct Captures {
    /// A host each; the last is of what was lost.
    points: Vec<CapturePoint>,
    written: Instant,
    missed: u64,
    disk: Option<SyncSender<(usize, Vec<u8>)>>,
    writer: Option<JoinHandle<io::Result<()>>>,
}

impl Captures {
    /// Makes HOST.pcapng of each host and lost.pcapng. Of each packet the first
    /// `snaplen` bytes are kept, 0 for all.
    pub(crate) fn create<'a>(
        directory: &Path,
        hosts: impl Iterator<Item = &'a str>,
        comment: &str,
        snaplen: u32,
    ) -> Result<Self, EmuError> {
        let mut points = Vec::new();
        let mut out = Vec::new();
        for name in hosts.chain([LOST]) {
            let path = directory.join(format!("{name}.pcapng"));
            let file = File::create(&path)
                .map_err(|e| EmuError::system(format!("write {}", path.display()), e))?;
            out.push(file);
            points.push(CapturePoint::new(name, comment, snaplen));
        }
        let (disk, pieces) = sync_channel::<(usize, Vec<u8>)>(WAITING);
        let writer = std::thread::spawn(move || {
            for (point, piece) in pieces {
                out[point].write_all(&piece)?;
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

    /// A host sent or got a packet.
    pub(crate) fn packet(&mut self, host: usize, now: Instant, bytes: &[u8]) {
        self.add(host, now, bytes, "");
    }

    /// What the network lost since the last call.
    pub(crate) fn lost(&mut self, live: &mut Live) {
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

    /// Hands what there is of a file to the disk, if that can take it.
    fn write(&mut self, point: usize) -> bool {
        let Some(disk) = &self.disk else {
            return false;
        };
        if self.points[point].pending() == 0 {
            return true;
        }
        match disk.try_send((point, self.points[point].take())) {
            Ok(()) => true,
            Err(TrySendError::Full((_, piece)) | TrySendError::Disconnected((_, piece))) => {
                self.points[point].untake(piece);
                false
            }
        }
    }

    /// Writes what is left; returns how many packets are not in the files because
    /// the disk could not keep up.
    pub(crate) fn finish(&mut self) -> Result<u64, EmuError> {
        let failed = |e| EmuError::system("write a capture", e);
        if let Some(disk) = self.disk.take() {
            for (number, point) in self.points.iter_mut().enumerate() {
                if point.pending() > 0 {
                    // Fails only if the writer has, which it tells below.
                    let _ = disk.send((number, point.take()));
                }
            }
        }
        if let Some(writer) = self.writer.take() {
            writer
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("its thread panicked")))
                .map_err(failed)?;
        }
        Ok(self.missed)
    }
}
