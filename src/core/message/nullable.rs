//! Reads fields whose null means something else than their absence.

use serde::{Deserialize, Deserializer};

/// A field that may be null, which is something else than absent.
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(field: D) -> Result<Option<T>, D::Error> {
    T::deserialize(field).map(Some)
}
