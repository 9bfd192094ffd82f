//! What files are put back to: to before what a turn was asked, or to before such a restore, which is undone by it. How
//! each is said to the user and to the agent; restores of restores are said by the turn that they are about.

/// What a restore of files leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aim {
    /// Files as they were before a turn that was asked this.
    Before(String),
    /// Files as they were before they were put back to that.
    Undoes(String),
}

/// What restores are called in the list of checkpoints, before what the turn was asked.
const RESTORED: &str = "Restored to before: ";
const UNDONE: &str = "Undone: ";
const REDONE: &str = "Redone: ";

impl Aim {
    /// What undoing a restore leads to, by what that is called in the list of checkpoints.
    pub fn of_undoing(recorded: &str) -> Self {
        let (is_undone, restored) = match recorded.strip_prefix(UNDONE) {
            Some(restored) => (true, restored),
            None => (false, recorded.strip_prefix(REDONE).unwrap_or(recorded)),
        };
        let asked = restored.strip_prefix(RESTORED).unwrap_or(restored).to_owned();
        if is_undone { Self::Before(asked) } else { Self::Undoes(asked) }
    }

    /// What a restore with this aim is called in the list of checkpoints; `undone` is what it undoes, if that is a
    /// restore.
    pub fn recorded(&self, undone: Option<&str>) -> String {
        match (self, undone) {
            (Self::Before(asked), None) => format!("{RESTORED}{asked}"),
            (Self::Before(asked), Some(_)) => format!("{REDONE}{RESTORED}{asked}"),
            (Self::Undoes(asked), _) => format!("{UNDONE}{RESTORED}{asked}"),
        }
    }

    /// The turn's.
    pub fn asked(&self) -> &str {
        match self {
            Self::Before(asked) | Self::Undoes(asked) => asked,
        }
    }

    /// The same, about a turn that was asked this.
    pub fn with(&self, asked: String) -> Self {
        match self {
            Self::Before(_) => Self::Before(asked),
            Self::Undoes(_) => Self::Undoes(asked),
        }
    }

    /// At the top of the page that shows what it would change.
    pub fn title(&self) -> String {
        match self {
            Self::Before(asked) => format!("Back to before \"{asked}\""),
            Self::Undoes(asked) => format!("Undo the restore to before \"{asked}\""),
        }
    }

    /// What was done to files, up to where it says to before what.
    pub fn done(&self, files: &str) -> String {
        match self {
            Self::Before(_) => format!("restored {files}"),
            Self::Undoes(_) => format!("undid the restore of {files}"),
        }
    }

    /// What choosing it in the list of checkpoints does to it afterwards.
    pub fn takes_back(&self) -> &'static str {
        match self {
            Self::Before(_) => "undoes it",
            Self::Undoes(_) => "redoes it",
        }
    }
}
