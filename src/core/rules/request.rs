//! What an agent asks for, as rules see it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::line::base;
use super::place::normal;

/// Something that an agent does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Act {
    /// Shell code.
    Line(String),
    /// A program with its arguments.
    Words(Vec<String>),
    File {
        path: PathBuf,
        writes: bool,
    },
    Host(String),
    Mcp(String),
}

impl Act {
    /// Whether permission for this one covers the other. Agents name a command in more than one way.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File { path, writes }, Self::File { path: of, writes: does }) => {
                normal(path) == normal(of) && writes >= does
            }
            _ => self.code().is_some_and(|code| other.code() == Some(code)),
        }
    }

    /// Whether that is the file or the command of this name.
    pub fn is_named(&self, name: &str) -> bool {
        match self {
            Self::File { path, .. } => path.to_string_lossy() == name,
            _ => self.code().is_some_and(|code| code == name.trim()),
        }
    }

    /// The shell code that it comes to.
    fn code(&self) -> Option<String> {
        match self {
            Self::Line(line) => Some(line.trim().to_owned()),
            Self::Words(words) => match &words[..] {
                [shell, option, code] if is_shell(shell) && is_code_option(option) => {
                    Some(code.trim().to_owned())
                }
                words => Some(words.join(" ")),
            },
            Self::File { .. } | Self::Host(_) | Self::Mcp(_) => None,
        }
    }
}

fn is_shell(program: &str) -> bool {
    matches!(base(program), "sh" | "bash" | "zsh" | "dash" | "fish")
}

/// `-c`, or `-lc`.
fn is_code_option(option: &str) -> bool {
    option.strip_prefix('-').is_some_and(|letters| letters.ends_with('c') && !letters.starts_with('-'))
}

/// What is to be tried of what the user wrote behind `:Acp permissions`: `test` may stand before it. Before an option
/// it is the command of that name.
pub fn to_try(text: &str) -> &str {
    let behind = text.strip_prefix("test").filter(|rest| rest.starts_with(char::is_whitespace));
    behind.map(str::trim_start).filter(|rest| !rest.starts_with('-') && !rest.is_empty()).unwrap_or(text)
}

/// What a request is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// As the protocol names it.
    pub kind: Option<String>,
    pub acts: Vec<Act>,
    /// The folder that commands run in, if that is another than the session's.
    pub folder: Option<PathBuf>,
    /// It is to run outside of the agent's own sandbox.
    pub escapes: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_may_be_asked_for_by_its_name() {
        for (text, tried) in [
            ("test git push", "git push"),
            ("test  .envrc", ".envrc"),
            ("test test -f x", "test -f x"),
            ("git push", "git push"),
            ("test -f x", "test -f x"),
            ("test", "test"),
            ("testing x", "testing x"),
        ] {
            assert_eq!(to_try(text), tried, "{text}");
        }
    }
}
