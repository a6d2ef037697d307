//! Ends of a build without QUIC: there are none.

use super::seen::{Happened, Progress, Seen, Sending};
use crate::scenario::QuicSpec;
use farlink_channel::rng::Stream;
use farlink_tcp::{Instant, Stats};

/// Ends that cannot exist.
#[derive(Debug)]
pub(crate) enum Ends {}

impl Ends {
    pub(crate) fn new(_: &QuicSpec, _: bool, _: bool, _: Stream) -> Result<Self, String> {
        let message = "tcp.profile = \"quic\" needs farlink on a computer: this page has no QUIC; \
                       choose a TCP here, or export the scenario for farlink run";
        Err(message.to_owned())
    }

    pub(crate) fn open(&mut self, _: Instant) {
        match *self {}
    }

    pub(crate) fn log(&mut self) {
        match *self {}
    }

    pub(crate) fn trace(&mut self) {
        match *self {}
    }

    pub(crate) fn progress(&mut self, _: usize) -> Vec<Progress> {
        match *self {}
    }

    pub(crate) fn qlogs(&self) -> Vec<(&'static str, String)> {
        match *self {}
    }

    pub(crate) fn renew(&mut self, _: Instant) {
        match *self {}
    }

    pub(crate) fn connections(&self) -> u64 {
        match *self {}
    }

    pub(crate) fn client(&self) -> usize {
        match *self {}
    }

    pub(crate) fn write(&mut self, _: usize, _: u64) {
        match *self {}
    }

    pub(crate) fn finish(&mut self, _: usize) {
        match *self {}
    }

    pub(crate) fn is_acknowledged(&self, _: usize) -> bool {
        match *self {}
    }

    pub(crate) fn has_ended(&self, _: usize) -> bool {
        match *self {}
    }

    pub(crate) fn request(&mut self, _: usize, _: u64) {
        match *self {}
    }

    pub(crate) fn answer(&mut self, _: usize, _: u64, _: u64) {
        match *self {}
    }

    pub(crate) fn happened(&mut self, _: usize) -> Option<Happened> {
        match *self {}
    }

    pub(crate) fn close(&mut self, _: usize, _: Instant) {
        match *self {}
    }

    pub(crate) fn on_time(&mut self, _: Instant) {
        match *self {}
    }

    pub(crate) fn receive(&mut self, _: usize, _: Instant, _: u8, _: &[u8]) {
        match *self {}
    }

    pub(crate) fn transmit(&mut self, _: usize, _: Instant) -> Option<Sending> {
        match *self {}
    }

    pub(crate) fn deadline(&mut self) -> Option<Instant> {
        match *self {}
    }

    pub(crate) fn has_all(&self, _: usize) -> bool {
        match *self {}
    }

    pub(crate) fn failed(&self) -> bool {
        match *self {}
    }

    pub(crate) fn read(&self, _: usize) -> u64 {
        match *self {}
    }

    pub(crate) fn secrets(&self) -> String {
        match *self {}
    }

    pub(crate) fn seen(&self) -> Seen {
        match *self {}
    }

    pub(crate) fn stats(&self, _: usize) -> Stats {
        match *self {}
    }
}
