//! Work on many threads, because a host's creation and removal mostly waits for the kernel.

/// Runs `work` on each item, on up to 32 threads. The results are in the order of the items.
pub(crate) fn in_parallel<T: Send, U: Send>(items: Vec<T>, work: impl Fn(T) -> U + Sync) -> Vec<U> {
    const AT_ONCE: usize = 32;
    let each = items.len().div_ceil(AT_ONCE).max(1);
    let mut items = items.into_iter();
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        while items.len() > 0 {
            let part: Vec<_> = items.by_ref().take(each).collect();
            threads.push(scope.spawn(|| part.into_iter().map(&work).collect::<Vec<_>>()));
        }
        let done = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        done.flat_map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}
