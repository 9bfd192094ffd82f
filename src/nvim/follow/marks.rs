//! The marks of agents in the files they are at: who is there and what they do, at the end of the line
//! and in the sign column, and the lines touched, which fade. Each session has one; several are told apart
//! by their colours and signs. When something is due next is handed back, the timer is not kept here.

use std::collections::BTreeMap;

use mlua::{Result, Value};

use crate::core::ids::{EntryId, Moment, SessionKey};
use crate::core::locations::Lines;
use crate::core::text::visible::visible_line;
use crate::nvim::editor::{Buf, Editor};

/// How long the lines stand in their full colour, and each paler one, in milliseconds.
const STANDS: u64 = 900;
const STEP: u64 = 160;

/// The colours of the lines, from full to nothing.
pub const FADES: [&str; 3] = ["AcpLocation", "AcpLocationFade1", "AcpLocationFade2"];

/// The colours by which agents are told apart.
pub const AGENTS: [&str; 6] =
    ["AcpAgentMark1", "AcpAgentMark2", "AcpAgentMark3", "AcpAgentMark4", "AcpAgentMark5", "AcpAgentMark6"];

/// The ids of a mark's two parts in its namespace.
const LINES: i64 = 1;
const TAG: i64 = 2;

#[derive(Default)]
pub struct Marks(BTreeMap<SessionKey, Mark>);

struct Mark {
    buf: Buf,
    call: Option<EntryId>,
    lines: Lines,
    shown: Moment,
    /// The colour that the lines have; past the last when they have none.
    faded: usize,
    /// Nothing is at work there any more: it goes when the lines have faded.
    over: bool,
}

/// Who is at a place, and what they do.
pub struct Tag {
    pub session: SessionKey,
    pub call: Option<EntryId>,
    pub text: String,
    /// At most two cells.
    pub sign: String,
    pub over: bool,
    pub since: Moment,
}

impl Marks {
    /// Puts the session's mark on these lines; the one it had goes.
    pub fn put(&mut self, editor: &Editor, buf: Buf, lines: Lines, tag: Tag) -> Result<()> {
        self.remove(editor, tag.session)?;
        let ns = namespace(editor, tag.session)?;
        let group = AGENTS[tag.session.0 as usize % AGENTS.len()];
        let chunk = editor.lua.create_sequence_from([
            editor.lua.create_string(visible_line(&tag.text))?,
            editor.lua.create_string(group)?,
        ])?;
        let options = editor.table([
            ("id", Value::Integer(TAG)),
            ("virt_text", Value::Table(editor.lua.create_sequence_from([chunk])?)),
            ("virt_text_pos", editor.string("eol")?),
            ("hl_mode", editor.string("combine")?),
            ("sign_text", editor.string(&tag.sign)?),
            ("sign_hl_group", editor.string(group)?),
        ])?;
        let count = editor.line_count(buf)?;
        let row = (lines.first as usize).clamp(1, count.max(1)) - 1;
        editor.set_extmark(buf, ns, (row, 0), options)?;
        define_fades(editor)?;
        let mark = Mark { buf, call: tag.call, lines, shown: tag.since, faded: 0, over: tag.over };
        mark.paint(editor, ns)?;
        self.0.insert(tag.session, mark);
        Ok(())
    }

    /// A call is over: its mark goes with the colour. Says whether it has one.
    pub fn call_over(&mut self, session: SessionKey, call: EntryId) -> bool {
        let mark = self.0.get_mut(&session).filter(|mark| mark.call == Some(call));
        mark.map(|mark| mark.over = true).is_some()
    }

    /// The turn is over.
    pub fn turn_over(&mut self, session: SessionKey) {
        if let Some(mark) = self.0.get_mut(&session) {
            mark.over = true;
        }
    }

    /// Lets the lines fade as far as it is time, and marks go that are over. Gives back how long until
    /// there is more to do, in milliseconds.
    pub fn fade(&mut self, editor: &Editor, now: Moment) -> Result<Option<u64>> {
        let mut next: Option<u64> = None;
        let mut gone = Vec::new();
        for (session, mark) in &mut self.0 {
            let age = now.since(mark.shown);
            let faded = match age.checked_sub(STANDS) {
                None => 0,
                Some(more) => (1 + usize::try_from(more / STEP).unwrap_or(FADES.len())).min(FADES.len()),
            };
            if faded != mark.faded {
                mark.faded = faded;
                mark.paint(editor, namespace(editor, *session)?)?;
            }
            if faded < FADES.len() {
                let due = STANDS + STEP * faded as u64;
                let left = due.saturating_sub(age).max(1);
                next = Some(next.map_or(left, |next| next.min(left)));
            } else if mark.over {
                gone.push(*session);
            }
        }
        gone.into_iter().try_for_each(|session| self.remove(editor, session))?;
        Ok(next)
    }

    pub fn remove(&mut self, editor: &Editor, session: SessionKey) -> Result<()> {
        match self.0.remove(&session) {
            Some(mark) if editor.buf_is_valid(mark.buf) => {
                editor.clear_namespace(mark.buf, namespace(editor, session)?, 0, -1)
            }
            _ => Ok(()),
        }
    }

    pub fn clear(&mut self, editor: &Editor) -> Result<()> {
        let all: Vec<SessionKey> = self.0.keys().copied().collect();
        all.into_iter().try_for_each(|session| self.remove(editor, session))
    }
}

impl Mark {
    /// Gives the lines the colour of now.
    fn paint(&self, editor: &Editor, ns: i64) -> Result<()> {
        if !editor.buf_is_loaded(self.buf) {
            return Ok(());
        }
        let Some(group) = FADES.get(self.faded) else {
            return editor.api::<bool>("nvim_buf_del_extmark", (self.buf, ns, LINES)).map(drop);
        };
        let count = editor.line_count(self.buf)?;
        // Edits may have moved the lines since.
        let known = if self.faded > 0 { editor.extmark_row(self.buf, ns, LINES)? } else { None };
        let row = known.unwrap_or((self.lines.first as usize).saturating_sub(1)).min(count.saturating_sub(1));
        let height = (self.lines.last - self.lines.first) as usize + 1;
        let options = editor.table([
            ("id", Value::Integer(LINES)),
            ("end_row", Value::Integer((row + height).min(count) as i64)),
            ("end_col", Value::Integer(0)),
            ("strict", Value::Boolean(false)),
            ("hl_group", editor.string(group)?),
            ("hl_eol", Value::Boolean(true)),
            // Below what others show, such as diagnostics and diffs.
            ("priority", Value::Integer(50)),
        ])?;
        editor.set_extmark(self.buf, ns, (row, 0), options).map(drop)
    }
}

fn namespace(editor: &Editor, session: SessionKey) -> Result<i64> {
    editor.namespace(&format!("acp.location.{}", session.0))
}

/// The paler colours, which lie between that of the lines and that of the window.
fn define_fades(editor: &Editor) -> Result<()> {
    let background = |group: &str| -> Result<Option<u32>> {
        let query = editor.table([("name", editor.string(group)?), ("link", Value::Boolean(false))])?;
        editor.api::<mlua::Table>("nvim_get_hl", (0, query))?.get("bg")
    };
    let (full, window) = (background(FADES[0])?, background("Normal")?);
    for (step, group) in FADES.iter().enumerate().skip(1) {
        // Where colours are not known there is nothing between them.
        let colour = full.zip(window);
        let colour = colour.map(|(full, window)| between(full, window, step as u32, FADES.len() as u32));
        // To define one has all that is on the screen drawn anew.
        if background(group)? != colour {
            let options =
                editor.lua.create_table_from(colour.map(|colour| ("bg", Value::Integer(colour.into()))))?;
            editor.api::<()>("nvim_set_hl", (0, *group, options))?;
        }
    }
    Ok(())
}

/// The colour `step` of `steps` on the way from one to another.
fn between(from: u32, to: u32, step: u32, steps: u32) -> u32 {
    [16, 8, 0].into_iter().fold(0, |colour, shift| {
        let (from, to) = (from >> shift & 0xff, to >> shift & 0xff);
        (colour << 8) | ((from * (steps - step) + to * step) / steps)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colour_fades_in_each_of_its_parts() {
        assert_eq!(between(0xff_00_60, 0x00_00_00, 1, 3), 0xaa_00_40);
        assert_eq!(between(0x00_00_00, 0xff_ff_ff, 2, 3), 0xaa_aa_aa);
        assert_eq!(between(0x12_34_56, 0x12_34_56, 1, 3), 0x12_34_56);
    }
}
