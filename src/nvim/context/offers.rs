//! What is needed to offer the editor's tools to sessions; offering them is left to `tools` beside it.

/// Where bridges come in, and how agents start them.
#[derive(Clone)]
pub struct Door {
    pub program: String,
    pub bridge: String,
    pub socket: String,
}

#[derive(Default)]
pub struct Offers {
    /// Made with the first session that is given tools.
    pub door: Option<Door>,
    /// The names of the user's own tools.
    pub own: Vec<String>,
}
