//! Message of a panic, which the page reads after the trap.

use std::panic;
use std::sync::Mutex;

static MESSAGE: Mutex<String> = Mutex::new(String::new());

/// Stores the message of each panic. A panic then ends the program by a trap.
pub(crate) fn watch() {
    panic::set_hook(Box::new(|info| {
        if let Ok(mut message) = MESSAGE.try_lock() {
            *message = info.to_string();
        }
    }));
}

/// Returns the message of the last panic; empty if there was none.
pub(crate) fn message() -> String {
    MESSAGE
        .try_lock()
        .map(|text| text.clone())
        .unwrap_or_default()
}
