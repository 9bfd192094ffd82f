//! What an action was given by a command, a key or the Lua API, and how it says that it can't be done. The
//! actions are their features' part.

use mlua::{Result, Table};

use crate::core::ids::SessionKey;
use crate::nvim::editor::Buf;

/// What a command was given.
#[derive(Default)]
pub struct Args {
    pub words: Vec<String>,
    pub text: String,
    pub bang: bool,
    pub range: Option<Range>,
    /// The session that is meant, whichever the user is in.
    pub session: Option<SessionKey>,
    /// Who gets what is not known at once.
    pub then: Option<mlua::Function>,
}

/// 1-based lines, the last one included.
#[derive(Clone, Copy)]
pub struct Range {
    pub buf: Buf,
    pub first: usize,
    pub last: usize,
}

impl Args {
    pub fn read(table: Option<Table>) -> Result<Self> {
        let Some(table) = table else { return Ok(Self::default()) };
        let words: Option<Vec<String>> = table.get("args")?;
        let text: Option<String> = table.get("text")?;
        let range: Option<Table> = table.get("range")?;
        let range = match range {
            Some(range) => Some(Range {
                buf: range.get("buffer")?,
                first: range.get("first")?,
                last: range.get("last")?,
            }),
            None => None,
        };
        let words = words.unwrap_or_default();
        Ok(Self {
            text: text.unwrap_or_else(|| words.join(" ")),
            words,
            bang: table.get::<Option<bool>>("bang")?.unwrap_or(false),
            range,
            session: table.get::<Option<u32>>("session")?.map(SessionKey),
            then: table.get("then")?,
        })
    }

    pub fn first(&self) -> Option<&str> {
        self.words.first().map(String::as_str).filter(|word| !word.is_empty())
    }
}

pub const NO_SESSION: &str = "there is no session yet; :AcpChat starts one";

pub fn fail<T>(text: impl std::fmt::Display) -> Result<T> {
    Err(mlua::Error::runtime(text.to_string()))
}
