//! What a line of shell code comes to: commands with their words, redirections, and doubts. How it is read is left to
//! `shell` and `wrappers`.

/// How sure it is that a command is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// It may be one of the words that something else gets.
    Possible,
    /// It is run, perhaps with other arguments or elsewhere.
    Likely,
    /// Just this.
    Certain,
}

/// A word as the command gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Without its quotes; of what only the shell knows, as it is written.
    pub text: String,
    pub kind: WordKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordKind {
    Known,
    /// Names of files take its place.
    Glob,
    /// It holds an expansion.
    Unknown,
}

/// A command with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub words: Vec<Word>,
    pub certainty: Certainty,
    /// From where its paths are meant, as far as the line says: the folders that it changes to, or nothing where
    /// that isn't known.
    pub folder: Option<String>,
}

/// A file that a redirection reads or writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    pub path: Word,
    pub writes: bool,
    /// It is in a word that may be code.
    pub is_guess: bool,
    pub folder: Option<String>,
}

/// All that a line comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    pub runs: Vec<Run>,
    pub redirects: Vec<Redirect>,
    /// Why it can't be judged in full; each fits after "because".
    pub doubts: Vec<&'static str>,
}

impl Word {
    pub fn known(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: WordKind::Known }
    }

    pub fn unknown(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: WordKind::Unknown }
    }

    /// What it says for sure.
    pub fn plain(&self) -> Option<&str> {
        (self.kind == WordKind::Known).then_some(&*self.text)
    }
}

impl Run {
    /// As it is shown.
    pub fn text(&self) -> String {
        text_of(&self.words)
    }
}

/// Words as they are shown.
pub fn text_of(words: &[Word]) -> String {
    words.iter().map(|word| &*word.text).collect::<Vec<_>>().join(" ")
}

impl Line {
    pub fn doubt(&mut self, why: &'static str) {
        if !self.doubts.contains(&why) {
            self.doubts.push(why);
        }
    }
}

/// Code comes from elsewhere.
pub const PIPED_CODE: &str = "what comes through a pipe is run as code";
pub const READ_CODE: &str = "it runs what it reads as code";
/// The shell makes a command of what other commands say.
pub const UNKNOWN_COMMAND: &str = "which command it runs is known only to the shell";
/// Its environment may make another program of a command.
pub const SETS_VARIABLES: &str = "it sets variables that change what a command does";
pub const BUILT_COMMAND: &str = "it puts a command together as it runs";

/// What takes and gives no file.
pub const STREAMS: &[&str] = &["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"];

/// The program's name without the folder that it is in.
pub fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}
