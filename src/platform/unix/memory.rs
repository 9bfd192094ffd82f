//! Memory that was freed and that the allocator keeps for itself.

/// Gives freed memory back to the system. May take some milliseconds; not for the editor's thread.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: takes no pointer, and may be called from any thread at any time.
    unsafe {
        // Whether there was any does not matter.
        libc::malloc_trim(0);
    }
}
