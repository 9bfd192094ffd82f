//! Memory that was freed and that the allocator keeps for itself.

/// From now on no more than this that is free is kept at the end of each part of the heap, and larger pieces are mapped by
/// themselves. glibc has a part for each thread, up to eight for each core, and never gives back what is free at the end of
/// any but the first: not by `malloc_trim` either. How much that may be follows the largest piece that was ever freed, up to
/// 64 MB for each, and agents send large pieces.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MOST_KEPT: libc::c_int = 1 << 20;

/// Has the allocator keep little of what is freed. Who has set it up stays right.
pub fn keep_little() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let is_set = |name: &str| std::env::var_os(name).is_some();
        let tuned = std::env::var("GLIBC_TUNABLES").is_ok_and(|all| all.contains("glibc.malloc."));
        if tuned || is_set("MALLOC_TRIM_THRESHOLD_") || is_set("MALLOC_MMAP_THRESHOLD_") {
            return;
        }
        // SAFETY: both take numbers, and may be called from any thread at any time.
        unsafe {
            // Without them more is kept, and that is all.
            libc::mallopt(libc::M_TRIM_THRESHOLD, MOST_KEPT);
            libc::mallopt(libc::M_MMAP_THRESHOLD, MOST_KEPT);
        }
    }
}

/// Gives freed memory back to the system. May take some milliseconds; not for the editor's thread.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: takes no pointer, and may be called from any thread at any time.
    unsafe {
        // Whether there was any does not matter.
        libc::malloc_trim(0);
    }
}
