//! Going where the agent goes: one code window shows the places that it is at. The window the user is in
//! keeps its cursor, the focus stays where it is, and while the user is at work in the window that follows,
//! it waits. Which place comes next is told by `core::locations`; sessions are not known here.

pub mod actions;
pub mod marks;
pub mod visits;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use mlua::{Function, Result, Value};

use crate::core::ids::{Moment, SessionKey};
use crate::core::locations::throttle::Pace;
use crate::core::locations::{History, Lines, Visit};
use crate::nvim::buffers::open;
pub use crate::nvim::buffers::open::load;
use crate::nvim::editor::code_window as window;
use crate::nvim::editor::timer::Timer;
use crate::nvim::editor::{Buf, Editor, Win};
use crate::nvim::follow::marks::Marks;
pub use crate::nvim::follow::marks::Tag;

#[derive(Default)]
pub struct Follow {
    /// Where the agents have been.
    history: History,
    /// So many entries of sessions that are told again were looked through for prompts.
    looked_through: HashMap<SessionKey, usize>,
    /// What the user said; else the options tell.
    chosen: Option<bool>,
    pace: Pace,
    /// The user's function that chooses windows.
    choose: Option<Function>,
    /// Its error has been shown.
    told: bool,
    /// The number of the look at a file that was asked for last.
    look: u64,
    /// The files that are not opened, of those that were looked at last.
    refused: Option<(PathBuf, String)>,
    /// Where the agent is, if its file is yet to come.
    missing: Option<Visit>,
    /// The turn in which it was said of each session that a file outside was not opened.
    told_outside: HashMap<SessionKey, u32>,
    /// Whether the user's steps are watched.
    watching: bool,
    marks: Marks,
    pinned: Option<Win>,
    window: Option<Win>,
    /// The code window that the user was in last.
    last: Option<Win>,
    placed: Option<Placed>,
    shown: Option<Visit>,
    /// The code window in which the user last did something, and when.
    active: Option<(Win, Moment)>,
    /// The user wants the window to follow even while they are in it.
    consent: bool,
    /// The turn for which the jump list has the place the user was at.
    left: Option<(SessionKey, u32)>,
    timer: Option<Timer>,
}

/// Where the window that follows was put.
#[derive(PartialEq)]
struct Placed {
    win: Win,
    buf: Buf,
    cursor: (usize, usize),
}

/// Why the window that follows does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// The user was at work in it; so many milliseconds are left.
    For(u64),
    /// The user is in it, and it cannot be told for how long.
    Held,
}

/// What to show.
pub struct Target {
    pub visit: Visit,
    /// The lines touched, around the visit's own line if it has one.
    pub touched: Option<Lines>,
    pub turn: u32,
    pub tag: Tag,
    /// The window that the user's function chose.
    pub win: Option<Win>,
    /// Whether a new window may be opened.
    pub may_split: bool,
}

pub struct Shown {
    pub buf: Buf,
    pub swap: Option<String>,
}

impl Follow {
    /// The user's function that chooses windows, if there is one.
    pub fn configure(&mut self, choose: Option<Function>) {
        (self.choose, self.told) = (choose, false);
    }

    /// Shows a place in the window that follows; nothing comes of it where there is none.
    pub fn show(&mut self, editor: &Editor, target: Target) -> Result<Option<Shown>> {
        let Target { visit, touched, turn, tag, win, may_split } = target;
        let win = match win {
            Some(win) => Some(win),
            None => self.target(editor)?,
        };
        if win.is_none() && (!may_split || self.pinned.is_some()) {
            return Ok(None);
        }
        let open::Opened { buf, swap } = open::open(editor, &visit.path)?;
        let win = match win {
            Some(win) => win,
            // Without room for a window there is none that follows.
            None => match window::split(editor, buf) {
                Ok(win) => win,
                Err(_) => return Ok(None),
            },
        };
        self.window = Some(win);
        if self.left != Some((visit.session, turn)) {
            self.left = Some((visit.session, turn));
            // Where an earlier turn has left it is no place that the user was at.
            let here = Placed { win, buf: editor.win_buf(win)?, cursor: editor.cursor(win)? };
            if self.placed.as_ref() != Some(&here) {
                execute(editor, win, "normal! m'")?;
            }
        }
        if editor.win_buf(win)? != buf {
            // Neither the jump list nor the alternate file are full of what the user has not been to.
            execute(editor, win, &format!("silent keepalt keepjumps hide buffer {}", buf.0))?;
        }
        let last = editor.line_count(buf)?;
        let touched_first = touched.map(|lines| lines.first);
        // Of an edit, agents often name the lines around it.
        let line = match visit.verb.changes() {
            true => touched_first.or(visit.line()),
            false => visit.line().or(touched_first),
        };
        let line = line.map(|line| (line as usize).min(last));
        if let Some(line) = line {
            let seen: (usize, usize) = (editor.func("line", ("w0", win))?, editor.func("line", ("w$", win))?);
            editor.set_cursor(win, line, 0)?;
            // What is in sight already does not make the text jump.
            let still = line > seen.0 && line < seen.1;
            execute(editor, win, if still { "normal! zv" } else { "normal! zvzz" })?;
        }
        let cursor = editor.cursor(win)?;
        let line = u32::try_from(line.unwrap_or(cursor.0)).unwrap_or(u32::MAX);
        let lines = touched.filter(|lines| lines.first <= line && line <= lines.last);
        self.marks.put(editor, buf, lines.unwrap_or(Lines { first: line, last: line }), tag)?;
        self.placed = Some(Placed { win, buf, cursor });
        self.shown = Some(visit);
        self.refused = None;
        Ok(Some(Shown { buf, swap }))
    }

    /// The window that follows, if there is one: the pinned one, the one that did so far, or the best.
    fn target(&mut self, editor: &Editor) -> Result<Option<Win>> {
        self.pinned.take_if(|win| !editor.win_is_valid(*win));
        if let Some(win) = self.pinned {
            return Ok(window::may_be_taken(editor, win).then_some(win));
        }
        let wins = editor.tab_wins()?;
        let is_fit = |win: &Win| wins.contains(win) && window::may_be_taken(editor, *win);
        if !self.window.as_ref().is_some_and(is_fit) {
            self.window = window::pick(editor, self.last)?;
        }
        Ok(self.window)
    }

    /// Whether the window that follows has to wait for the user.
    pub fn pause(&mut self, editor: &Editor, now: Moment, quiet: Duration) -> Result<Option<Pause>> {
        let Some(win) = self.target(editor)? else { return Ok(None) };
        if win == editor.current_win()? {
            let allowed = self.consent && editor.mode().0 == "n";
            return Ok(if allowed { None } else { Some(Pause::Held) });
        }
        // The command-line window lets no other one change (E11).
        if !editor.func::<String>("getcmdwintype", ())?.is_empty() {
            return Ok(Some(Pause::Held));
        }
        let quiet = u64::try_from(quiet.as_millis()).unwrap_or(u64::MAX);
        let active = self.active.filter(|(active, _)| *active == win);
        let left = active.map_or(0, |(_, active)| quiet.saturating_sub(now.since(active)));
        Ok((left > 0).then_some(Pause::For(left)))
    }

    /// The user did something; notes it if it was in a window that may follow.
    pub fn acted(&mut self, editor: &Editor, now: Moment) -> Result<()> {
        let win = editor.current_win()?;
        let follows = self.pinned.or(self.window) == Some(win);
        if !follows && !window::is_code(editor, win) {
            return Ok(());
        }
        self.last = Some(win);
        let here = Placed { win, buf: editor.win_buf(win)?, cursor: editor.cursor(win)? };
        // The cursor may be where the agent is, and not have been moved by the user.
        if self.placed.as_ref() != Some(&here) || editor.mode().0 != "n" {
            self.active = Some((win, now));
            if follows {
                (self.consent, self.placed) = (false, None);
            }
        }
        Ok(())
    }

    /// Goes on at once, whatever the user does, until they do something in that window again.
    pub fn resume(&mut self, editor: &Editor) -> Result<()> {
        self.active = None;
        self.consent = true;
        let win = editor.current_win()?;
        if self.pinned.or(self.window) == Some(win) {
            self.placed = Some(Placed { win, buf: editor.win_buf(win)?, cursor: editor.cursor(win)? });
        }
        Ok(())
    }

    /// A turn begins. Who sends a prompt from elsewhere is not at work in that window any more.
    fn expect_user(&mut self, editor: &Editor, now: Moment) -> Result<()> {
        self.active = None;
        self.acted(editor, now)
    }

    /// The window the user is in follows from now on; gives back whether it can.
    pub fn pin(&mut self, editor: &Editor) -> Result<bool> {
        let win = editor.current_win()?;
        if !window::is_code(editor, win) {
            return Ok(false);
        }
        self.pinned = Some(win);
        Ok(true)
    }

    /// Gives back whether a window was pinned.
    pub fn unpin(&mut self) -> bool {
        self.window = self.pinned;
        self.pinned.take().is_some()
    }

    /// Whether a window of the tab page shows this place of an agent's.
    pub fn is_shown(&self, editor: &Editor, visit: &Visit) -> bool {
        let (Some(shown), Some(win)) = (&self.shown, self.window) else { return false };
        (shown.session, &shown.path, shown.line()) == (visit.session, &visit.path, visit.line())
            && editor.tab_wins().is_ok_and(|wins| wins.contains(&win))
    }

    /// A turn is over. What waits for the user to be elsewhere is of no interest any more then: the
    /// window must not move when they leave it for something else, long after.
    pub fn turn_over(
        &mut self,
        editor: &Editor,
        session: SessionKey,
        now: Moment,
        quiet: Duration,
    ) -> Result<()> {
        if self.pace.is_waiting() && self.pause(editor, now, quiet)?.is_some() {
            self.pace.drop_session(session);
        }
        self.marks.turn_over(session);
        Ok(())
    }

    /// The session is gone.
    pub fn forget(&mut self, editor: &Editor, session: SessionKey) -> Result<()> {
        self.pace.drop_session(session);
        self.told_outside.remove(&session);
        self.history.forget(session);
        self.looked_through.remove(&session);
        self.marks.remove(editor, session)
    }

    /// Lets the marks fade; gives back how long until they do again, in milliseconds.
    pub fn fade(&mut self, editor: &Editor, now: Moment) -> Result<Option<u64>> {
        self.marks.fade(editor, now)
    }

    /// Nobody is followed any more.
    pub fn stop(&mut self, editor: &Editor) -> Result<()> {
        self.pace.clear();
        (self.window, self.active, self.placed, self.shown) = (None, None, None, None);
        self.marks.clear(editor)
    }

    /// Has `due` called after so many milliseconds, or not at all.
    pub fn ring(
        &mut self,
        editor: &Editor,
        after: Option<u64>,
        due: fn(&Editor) -> Result<Timer>,
    ) -> Result<()> {
        match (&self.timer, after) {
            (None, None) => Ok(()),
            (Some(timer), None) => timer.stop(),
            (Some(timer), Some(after)) => timer.once(Duration::from_millis(after)),
            (None, Some(after)) => {
                let timer = due(editor)?;
                timer.once(Duration::from_millis(after))?;
                self.timer = Some(timer);
                Ok(())
            }
        }
    }
}

/// Runs Ex commands in a window, wherever the user is.
fn execute(editor: &Editor, win: Win, command: &str) -> Result<()> {
    editor.func::<Value>("win_execute", (win, command)).map(drop)
}
