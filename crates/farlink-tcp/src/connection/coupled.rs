//! Windows of subflows whose growth a connection over several paths couples
//! ([`crate::congestion::Coupled`]).

use super::Connection;
use crate::congestion::Coupled;
use std::any::Any;

impl Connection {
    /// Congestion window of the controller in bytes, without recovery's inflation.
    pub fn controller_cwnd(&self) -> u64 {
        self.tx.flight.cc.cwnd()
    }

    /// Sets the bytes of window per acknowledged byte in congestion avoidance. Has no effect on
    /// controllers other than [`Coupled`].
    pub fn couple(&mut self, gain: f64) {
        let controller: &mut dyn Any = &mut *self.tx.flight.cc;
        if let Some(coupled) = controller.downcast_mut::<Coupled>() {
            coupled.couple(gain);
        }
    }
}
