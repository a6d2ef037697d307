//! Functions that the page calls. Texts are UTF-8 in linear memory, as address and length.
#![allow(unsafe_code)] // pointers of the page; each use has its reason

use crate::engine::Engine;
use crate::panics;
use std::cell::RefCell;

thread_local! {
    static ENGINE: RefCell<Engine> = RefCell::default();
    static FAILURE: RefCell<String> = RefCell::default();
}

/// Prepares the engine. To be called once, before everything else.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn farlink_open() {
    panics::watch();
}

/// Allocates `len` bytes for a text of the page, and returns their address.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn farlink_alloc(len: usize) -> *mut u8 {
    Box::leak(vec![0; len].into_boxed_slice()).as_mut_ptr()
}

/// Takes ownership of the text of length `len` at an address from [`farlink_alloc`].
fn take(text: *mut u8, len: usize) -> String {
    // SAFETY: the page passes an address and a length of `farlink_alloc`, once.
    let bytes = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(text, len)) };
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Answers a request that needs no run. Takes ownership of the text, and returns the status.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn farlink_ask(text: *mut u8, len: usize) -> u32 {
    let text = take(text, len);
    ENGINE.with_borrow_mut(|engine| engine.ask(&text)) as u32
}

/// Starts a run. Takes ownership of the text, and returns the status; the answer is the number of
/// the job.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn farlink_start(text: *mut u8, len: usize) -> u32 {
    let text = take(text, len);
    ENGINE.with_borrow_mut(|engine| engine.start(&text)) as u32
}

/// Handles about `events` further events of a job, and returns the status.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn farlink_step(job: usize, events: u32) -> u32 {
    ENGINE.with_borrow_mut(|engine| engine.step(job, events.into())) as u32
}

/// Returns the finished share of a job, 0 to 1.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn farlink_share(job: usize) -> f64 {
    ENGINE.with_borrow_mut(|engine| engine.share(job))
}

/// Ends a job; the answer is its results.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn farlink_finish(job: usize) -> u32 {
    ENGINE.with_borrow_mut(|engine| engine.finish(job)) as u32
}

/// Drops a job with its columns.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn farlink_discard(job: usize) {
    ENGINE.with_borrow_mut(|engine| engine.discard(job));
}

/// Returns the address of the answer to the last request.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn farlink_answer() -> *const u8 {
    ENGINE.with_borrow(|engine| engine.answer().as_ptr())
}

/// Returns the length of the answer to the last request.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn farlink_answer_len() -> usize {
    ENGINE.with_borrow(|engine| engine.answer().len())
}

/// Fetches the message of the last panic, and returns its length. To be called after a trap.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn farlink_failure_len() -> usize {
    FAILURE.set(panics::message());
    FAILURE.with_borrow(String::len)
}

/// Returns the address of the message that [`farlink_failure_len`] fetched.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn farlink_failure() -> *const u8 {
    FAILURE.with_borrow(|message| message.as_ptr())
}
