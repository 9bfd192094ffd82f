//! Going from hunk to hunk, and which hunks a command means: those of lines, a file, call, turn or session. What becomes
//! of them is left to `verdicts`.

use std::path::{Path, PathBuf};

use mlua::{Function, Result, Table, Value};

use crate::config::{Keys, Pane};
use crate::core::changes::review_page::Listed;
use crate::core::changes::scope::Scope;
use crate::core::changes::stepping::step;
use crate::core::ids::{EntryId, SessionKey};
use crate::core::locations::Look;
use crate::nvim::arguments::{Args, fail};
use crate::nvim::buffers::open;
use crate::nvim::context::Context;
use crate::nvim::editor::code_window::{code_window, window_of};
use crate::nvim::editor::{Buf, Win};
use crate::nvim::events::EditorEvent;
use crate::nvim::review::Reviews;

/// A chat, and the entry that the cursor is on in it.
pub type ChatEntry = (SessionKey, Option<EntryId>);

/// What is to become of hunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Keep,
    Undo,
}

/// What `:Acp keep` and `:Acp undo` may be told.
const WORDS: &str = "keep and undo take hunk, file, turn, session or all; undo also last";

const NO_LINES: &str = "what is left to decide has no lines to go to; :Acp review lists it";

/// Why there is nothing to decide, and how to go on where there is something elsewhere.
pub fn nothing_here(reviews: &Reviews, keys: &Keys) -> String {
    let elsewhere = keys.line(&[("next_hunk", "goes to the next change")]);
    match reviews.listed().is_empty() || elsewhere.is_empty() {
        true => "no agent has changed anything here".to_owned(),
        false => format!("no agent has changed anything here; {elsewhere}"),
    }
}

impl Reviews {
    pub fn decide_hunks(
        &mut self,
        cx: &mut Context,
        verdict: Verdict,
        args: &Args,
        entry: Option<ChatEntry>,
    ) -> Result<()> {
        if args.first() == Some("last") {
            return match verdict {
                Verdict::Undo => self.take_back(cx),
                Verdict::Keep => fail(WORDS),
            };
        }
        let here = cx.editor.current_buf()?;
        let is_panel = self.panel.as_ref().is_some_and(|panel| panel.buf == here);
        if is_panel && matches!(args.first(), None | Some("hunk")) {
            let range = args.range.map(|range| range.first.saturating_sub(1)..range.last);
            return self.panel_decide(cx, verdict, range);
        }
        let scope = self.scope(cx, args, entry)?;
        if scope != Scope::All || args.bang {
            return self.decide_scope(cx, verdict, scope);
        }
        // As the keys for all do.
        self.when_reports_are_known(cx, move |this: &mut Self, cx| {
            if !this.listed().is_empty() {
                return this.decide_if_sure(cx, verdict, scope);
            }
            this.when_left_is_known(cx, move |this: &mut Self, cx| this.decide_if_sure(cx, verdict, scope))
        })
    }

    /// What a command's word, its range, or the cursor's position means. `entry` is what the cursor is on in a chat.
    pub fn scope(&self, cx: &Context, args: &Args, entry: Option<ChatEntry>) -> Result<Scope> {
        let buf = cx.editor.current_buf()?;
        let here = self.path_of(buf).map(Path::to_owned);
        let latest = self.origins.latest(cx.session_here()).or(self.origins.latest(None)).cloned();
        if let (None, Some((key, entry))) = (args.first(), entry) {
            let is_call = |entry: &EntryId| {
                let entry = cx.sessions.get(&key).and_then(|session| session.entry(*entry));
                entry.is_some_and(|entry| entry.tool().is_some())
            };
            return match entry.filter(is_call) {
                Some(entry) => Ok(Scope::Call(key, entry)),
                None => fail("no call at the cursor; say turn, session or all"),
            };
        }
        match (args.first(), here) {
            (Some("all"), _) => Ok(Scope::All),
            (Some("session"), _) => match latest {
                Some(origin) => Ok(Scope::Session(origin.session)),
                None => fail("no change of an agent's was seen yet"),
            },
            (Some("turn"), _) => match latest {
                Some(origin) => Ok(Scope::Turn(origin.session, self.origins.latest_prompt(origin.session))),
                None => fail("no change of an agent's was seen yet"),
            },
            (Some("file"), Some(path)) => Ok(Scope::File(path)),
            (None | Some("hunk"), Some(path)) => {
                if let Some(range) = args.range {
                    return Ok(Scope::Lines(path, range.first.saturating_sub(1)..range.last));
                }
                let row = cx.editor.cursor(cx.editor.current_win()?)?.0 - 1;
                Ok(Scope::Rows(path, row..row + 1))
            }
            (None | Some("file" | "hunk"), None) => fail(nothing_here(self, &cx.config.keys)),
            (Some(_), _) => fail(WORDS),
        }
    }

    /// Goes to the next or previous hunk; past the last of a file, to the next file that has some.
    pub fn step_hunk(&mut self, cx: &mut Context, forward: bool) -> Result<()> {
        if self.step_in_stage(cx, forward)? {
            return Ok(());
        }
        let win = cx.editor.current_win()?;
        let buf = cx.editor.current_buf()?;
        let diff: bool = cx.editor.win_option(win, "diff")?;
        let count = cx.editor.count()?;
        let key = if forward { "]c" } else { "[c" };
        if diff {
            let before = cx.editor.cursor(win)?;
            cx.editor.command(&format!("normal! {count}{key}"))?;
            return if cx.editor.cursor(win)? == before { self.step_past_split(cx, forward) } else { Ok(()) };
        }
        let row = cx.editor.cursor(win)?.0 - 1;
        let here = self.path_of(buf).map(Path::to_owned);
        // In files that show what is proposed one goes to that.
        let proposed_in = self.stage.iter().flat_map(|stage| stage.proposed_in.keys());
        let hidden: Vec<PathBuf> =
            proposed_in.filter_map(|buf| Some(self.path_of(*buf)?.to_owned())).collect();
        let mut places: Vec<(PathBuf, usize)> =
            self.stage.as_ref().map(|stage| stage.places.clone()).unwrap_or_default();
        for (path, file) in self.listed() {
            match file {
                _ if hidden.iter().any(|hidden| hidden == path) => {}
                Listed::Read(file) | Listed::Unseen(file) => {
                    let last = file.line_count() - 1;
                    places.extend(file.hunks().iter().map(|hunk| (path.to_owned(), hunk.row.min(last))));
                }
                // Its hunks are known once it is on the screen.
                Listed::Unread(_) => places.push((path.to_owned(), 0)),
                Listed::Unknown(_) => {}
            }
        }
        places.sort();
        let now = (here.unwrap_or_default(), row);
        if places.is_empty() && !hidden.is_empty() {
            return fail("this file shows what you are asked about; answer that first");
        }
        match step(&places, &now, count, forward) {
            Some((path, row)) => self.go_to_row(cx, &path, row),
            None => self.when_left_is_known(cx, move |this: &mut Self, cx| match this.listed().is_empty() {
                true => fail(this.nothing_left(cx)),
                false if this.open().next().is_none() => fail(NO_LINES),
                false => this.step_hunk(cx, forward),
            }),
        }
    }

    /// Shows a row of a file in the current window, as a jump.
    pub fn go_to_row(&mut self, cx: &mut Context, path: &Path, row: usize) -> Result<()> {
        let win = cx.editor.current_win()?;
        if self.path_of(cx.editor.win_buf(win)?) == Some(path) {
            cx.editor.command("normal! m'")?;
            return go_to_row_in(cx, win, row);
        }
        let named = path.to_owned();
        cx.look_first(path, move |this: &mut Self, cx, look| {
            match look {
                look if look.finds_file() => {}
                Look::Silent => {
                    let name = cx.short_name(None, &named);
                    return fail(format!("couldn't open {name}: its disk does not answer"));
                }
                _ => {
                    let name = cx.short_name(None, &named);
                    return fail(format!("{name} is gone; {} brings it back", this.brings_back(&named)));
                }
            }
            if cx.editor.current_win()? != win {
                return Ok(());
            }
            cx.editor.command("normal! m'")?;
            let buf = open::load(&cx.editor, &named)?;
            let shown = window_of(&cx.editor, buf)?;
            let Some(code) = shown.map_or_else(|| code_window(&cx.editor), |win| Ok(Some(win)))? else {
                return Ok(());
            };
            cx.editor.set_current_win(code)?;
            if shown.is_none() {
                cx.editor.set_win_buf(code, buf)?;
            }
            cx.raise(EditorEvent::BufferLoaded(buf));
            cx.after_events(move |_: &mut Self, cx| go_to_row_in(cx, code, row));
            Ok(())
        });
        Ok(())
    }

    /// The keys in a file that an agent changed. A buffer's own are left alone.
    pub fn bind_file_keys(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        let editor = cx.editor.clone();
        let keymap: Table = editor.module("keymap")?;
        let set: Function = keymap.get("set")?;
        let taken: Vec<Table> = editor.api("nvim_buf_get_keymap", (buf, "n"))?;
        let taken: Vec<String> = taken.iter().filter_map(|map| map.get("lhs").ok()).collect();
        for (key, lhs) in cx.config.keys.of(Pane::File) {
            if taken.iter().any(|other| other == lhs) {
                continue;
            }
            let action = crate::nvim::keys::bind::key_action(&editor.lua, key.name)?;
            let options = editor.table([
                ("buffer", Value::Integer(buf.0)),
                ("desc", editor.string(format!("acp: {}", key.about.trim_end_matches('.')))?),
            ])?;
            set.call::<()>((key.modes.to_vec(), lhs, action, options))?;
        }
        Ok(())
    }
}

fn go_to_row_in(cx: &mut Context, win: Win, row: usize) -> Result<()> {
    let last = cx.editor.line_count(cx.editor.win_buf(win)?)?;
    cx.editor.set_cursor(win, (row + 1).min(last), 0)?;
    cx.editor.command("normal! zv")
}
