//! A file that an agent changed and of which no lines can be shown: its text is not known, or it is no text, or only its
//! permissions changed. It is listed with the reason, and has no hunks.

use crate::core::ids::OriginId;
use crate::core::store::checkpoint::Mode;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownChange {
    pub origin: OriginId,
    /// Such as "larger than 1 MB".
    pub why: String,
    /// Whether the file was there before, and is there now.
    pub sides: (bool, bool),
    /// Its permissions before, where these alone are others now.
    pub mode: Option<Mode>,
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
