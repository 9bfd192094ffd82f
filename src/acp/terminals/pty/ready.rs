//! What waiting for a terminal tells.

/// What may be done with a terminal without waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    pub woken: bool,
    /// There is something to read, be it the end.
    pub readable: bool,
    pub writable: bool,
}
