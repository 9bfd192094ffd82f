//! What an agent did to a file, told once to everything that shows it, keeps it, or listens for it.

use std::path::PathBuf;

use mlua::Result;
use serde_json::json;

use crate::core::ids::{EntryId, SessionKey};
use crate::core::store::checkpoint::Held;
use crate::core::text::Text;
use crate::nvim::app::App;
use crate::nvim::editor::Buf;
use crate::nvim::follow;

/// A change of a file that has come about, whoever wrote it and whereto. Texts are lines joined by
/// `\n`, without a last line break.
pub struct Change {
    pub session: SessionKey,
    /// The tool call behind it, where one can be told.
    pub call: Option<EntryId>,
    /// Absolute, links resolved.
    pub path: PathBuf,
    /// The buffer that holds the file; `None` when none does.
    pub buf: Option<Buf>,
    /// `None` for a file that was not there, or whose text nobody knows.
    pub before: Option<Text>,
    /// `None` for a file that is gone, or whose text nobody knows.
    pub after: Option<Text>,
    /// The same as the file had it, byte for byte.
    pub held: (Held, Held),
    /// The rows of the text after that were touched, from 0, the last one excluded.
    pub ranges: Vec<(usize, usize)>,
    /// How many lines the buffer had before, and has now; none where they are still to be counted.
    pub lines: Option<(usize, usize)>,
    /// It is on the disk.
    pub saved: bool,
}

/// More ranges than this are only put together for somebody: each is a table of Lua's.
const MANY: usize = 50;

impl App {
    pub fn changed(&mut self, change: Change) -> Result<()> {
        self.checkpoint(&change)?;
        self.tally.add(&change);
        self.review_change(&change)?;
        let Change { session, call, path, buf, ranges, saved, .. } = change;
        if let Some(buf) = buf.or_else(|| self.files.buf_of(&self.editor, &path)) {
            follow::list(&self.editor, buf)?;
        }
        self.refresh_diffs(session, &path)?;
        if ranges.len() > MANY && !self.has_listeners("AcpFileChanged") {
            return Ok(());
        }
        let ranges: Vec<[usize; 2]> = ranges.iter().map(|(first, end)| [*first + 1, *end]).collect();
        let call = call
            .and_then(|entry| self.sessions.get(&session)?.entry(entry)?.tool())
            .map(|call| call.id.0.clone());
        self.emit(
            "AcpFileChanged",
            session,
            json!({ "path": path, "ranges": ranges, "tool_call": call, "saved": saved }),
        );
        Ok(())
    }
}
