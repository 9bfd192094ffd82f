//! A file that an agent changed and whose text is not known: it is listed with the reason, and has no hunks.

use crate::core::ids::OriginId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownChange {
    pub origin: OriginId,
    /// Such as "larger than 1 MB".
    pub why: String,
    /// Whether the file was there before, and is there now.
    pub sides: (bool, bool),
}

impl UnknownChange {
    pub fn verb(&self) -> &'static str {
        match self.sides {
            (false, true) => "new file",
            (true, false) => "deleted",
            _ => "changed",
        }
    }
}
