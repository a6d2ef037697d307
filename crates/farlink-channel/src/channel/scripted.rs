//! Losses of packets with given numbers.

use super::closed_form::{DelayDistribution, Sampling, Theory};
use super::error::ChannelError;
use super::passage::{DropCause, Passage, Verdict};
use super::process::Process;
use farlink_tcp::Instant;
use std::sync::Arc;

/// Loses the packets with the given numbers, for examples with chosen losses, such as the
/// time-sequence diagrams of a textbook. Draws no random numbers.
#[derive(Clone, Debug)]
pub struct Scripted {
    /// Numbers of packets still to lose, in order.
    lost: Arc<[u64]>,
    least: u32,
    /// Number of packets so far. `next` is the number of list entries used so far.
    count: u64,
    done: usize,
}

impl Scripted {
    /// Creates the process. `lost` are numbers from 1, in rising order. Packets below `least` bytes
    /// on the wire are not counted and pass.
    ///
    /// # Errors
    /// Fails if the list is empty, or a number is 0 or not above its predecessor.
    pub fn new(lost: &[u64], least: u32) -> Result<Self, ChannelError> {
        let rises = lost.windows(2).all(|pair| pair[0] < pair[1]);
        if lost.first().is_none_or(|&first| first == 0) || !rises {
            return Err(ChannelError::Cannot(
                "the numbers of scripted losses begin with 1 or more and rise: write [3, 7]",
            ));
        }
        Ok(Self {
            lost: lost.into(),
            least,
            count: 0,
            done: 0,
        })
    }
}

impl Process for Scripted {
    fn pass(&mut self, _: Instant, bytes: u32, passage: &mut Passage) {
        if bytes < self.least {
            return;
        }
        self.count += 1;
        if self.lost.get(self.done) == Some(&self.count) {
            self.done += 1;
            passage.verdict = Verdict::Drop(DropCause::Loss);
        }
    }

    /// Returns no mean loss, because the list of losses ends.
    fn theory(&self, _: Sampling) -> Theory {
        Theory {
            delay: Some(DelayDistribution::constant(0.0)),
            ..Theory::default()
        }
    }

    fn clone_box(&self) -> Box<dyn Process> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Channel;
    use super::*;

    fn lost(numbers: &[u64], least: u32, lengths: &[u32]) -> Vec<usize> {
        let scripted = Scripted::new(numbers, least).unwrap();
        let mut channel = Channel::new(vec![scripted.into()]);
        let dropped = |bytes: u32| {
            channel.pass(Instant::ZERO, bytes).verdict == Verdict::Drop(DropCause::Loss)
        };
        lengths
            .iter()
            .copied()
            .map(dropped)
            .enumerate()
            .filter_map(|(i, lost)| lost.then_some(i + 1))
            .collect()
    }

    #[test]
    fn only_listed_packets_are_lost() {
        assert_eq!(lost(&[1, 4, 5], 0, &[40; 9]), [1, 4, 5]);
        // The second and the third packet that are long enough are 3 and 5 of all.
        assert_eq!(lost(&[2, 3], 100, &[100, 99, 552, 40, 128, 128]), [3, 5]);
        assert_eq!(lost(&[7], 0, &[40; 6]), [0; 0]);
    }

    #[test]
    fn invalid_parameters_are_refused() {
        for numbers in [&[] as &[u64], &[0, 1], &[3, 3], &[4, 2]] {
            assert!(Scripted::new(numbers, 0).is_err(), "{numbers:?}");
        }
    }
}
