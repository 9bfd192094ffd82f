//! Which methods beyond the protocol the user's Lua serves. The editor says so, and is asked for no
//! others.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A name that the protocol leaves to whoever wants to extend it.
pub fn is_extension(method: &str) -> bool {
    method.starts_with('_')
}

#[derive(Default)]
pub struct ExtensionMethods(Mutex<Methods>);

#[derive(Default)]
struct Methods {
    requests: HashSet<String>,
    notifications: HashSet<String>,
}

impl ExtensionMethods {
    /// From now on it is these and no others.
    pub fn set(&self, requests: Vec<String>, notifications: Vec<String>) {
        let (requests, notifications) = (requests.into_iter().collect(), notifications.into_iter().collect());
        *self.lock() = Methods { requests, notifications };
    }

    pub fn serves(&self, method: &str) -> bool {
        is_extension(method) && self.lock().requests.contains(method)
    }

    pub fn listens_to(&self, method: &str) -> bool {
        is_extension(method) && self.lock().notifications.contains(method)
    }

    fn lock(&self) -> MutexGuard<'_, Methods> {
        // No step under this lock can panic halfway.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
