//! How the background's threads share plain data.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks plain data, which a panic cannot leave half changed in a way that matters.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
