//! `:Acp changes`: what the session has changed, as a list to choose from or in the quickfix list.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use mlua::{Result, Value};

use crate::core::changes::review_page::left_in;
use crate::core::changes::scope::{Origin, Scope};
use crate::core::changes::unknown_change::removes_ignored;
use crate::core::ids::SessionKey;
use crate::core::session::entry::Entry;
use crate::core::session::tool_call::Status;
use crate::core::session::tool_input;
use crate::core::text::cells;
use crate::core::text::fitting::cut_middle;
use crate::core::text::visible::visible_line;
use crate::nvim::arguments::{Args, NO_SESSION, fail};
use crate::nvim::buffers::open;
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::context::Context;
use crate::nvim::editor::Level;
use crate::nvim::editor::code_window::code_window;
use crate::nvim::editor::picker::is_builtin;
use crate::nvim::review::Reviews;
use crate::nvim::review::change_stats::Changes;
use crate::nvim::review::decisions::text_of;

/// A file, how much of it was changed, and where.
type Changed = (PathBuf, String, Vec<(usize, usize)>);

impl Reviews {
    pub fn show_changes(&mut self, cx: &mut Context, args: &Args) -> Result<()> {
        let Some(key) = cx.session_here() else { return fail(NO_SESSION) };
        let in_folders = |path: &Path| {
            let place = cx.sessions.get(&key).map(|session| &session.place);
            let roots =
                place.into_iter().flat_map(|place| std::iter::once(&place.cwd).chain(&place.additional));
            roots.map(|root| canonical(root)).any(|root| path.starts_with(root))
        };
        let outside = self.stats.outside().filter(|(path, _)| in_folders(path));
        let is_listed = |path: &Path| self.stats.of(key).any(|(other, _)| other == path);
        // A renamed file is one.
        let is_old = |path: &Path| self.renamed.iter().any(|(to, from)| from == path && is_listed(to));
        let agents = self.stats.of(key).filter(|(path, _)| !is_old(path));
        let agents = agents.map(|(path, changes)| (path, changes, ""));
        let left = self.left_of(key);
        let all = agents.chain(outside.map(|(path, changes)| (path, changes, ", changed from outside")));
        let mut changed: Vec<Changed> = all
            .map(|(path, changes, whose)| {
                let times =
                    if changes.times > 1 { format!(", {} times", changes.times) } else { String::new() };
                let saved = if changes.saved { "" } else { ", not saved" };
                let old_name = self.renamed.get(path).filter(|from| is_listed(from) && changes.times == 1);
                let is_left = left.contains_key(path);
                if whose.is_empty()
                    && !(old_name.is_some() && is_left)
                    && let Some((what, ranges)) = self.state_of(path, changes, left.get(path))
                {
                    return (path.to_owned(), format!("{what}{saved}"), ranges);
                }
                let note = changes.note.as_ref().map(|note| format!(", {note}")).unwrap_or_default();
                let counts = match old_name {
                    // Its lines were neither added nor removed.
                    Some(from) => format!("renamed from {}{saved}", cx.short_name(Some(key), from)),
                    None => format!("+{} -{}{times}{saved}{note}{whose}", changes.added, changes.removed),
                };
                (path.to_owned(), counts, changes.ranges.clone())
            })
            .collect();
        let told = self.only_reported(key);
        changed.extend(told.into_iter().map(|path| (path, "as its tool calls say".to_owned(), Vec::new())));
        let name = cx.sessions.get(&key).map(|session| session.name()).unwrap_or_default();
        let mut unknown = removed_unseen(cx, key);
        unknown.extend(self.stats.outside_left_out());
        if changed.is_empty() && unknown.is_empty() {
            let earlier = match self.listed().iter().any(|(path, _)| in_folders(path)) {
                true => "; :Acp review has what is undecided from before",
                false => "",
            };
            let text = format!("{name} has changed no files in this session{earlier}");
            cx.notify(text, Level::Info);
            return Ok(());
        }
        // More than a screen would be shown page by page.
        let is_long =
            is_builtin(&cx.editor) && changed.len() + unknown.len() + 2 > usize::from(cx.editor.size().1);
        if args.bang || args.first() == Some("quickfix") || args.first().is_none() && is_long {
            return self.changes_to_quickfix(cx, &name, &changed, &unknown);
        }
        if let Some(other) = args.first() {
            return fail(format!("changes takes quickfix or nothing, not {other:?}"));
        }
        Self::pick_change(cx, (key, &name), changed, unknown);
        Ok(())
    }

    fn pick_change(
        cx: &mut Context,
        (key, name): (SessionKey, &str),
        changed: Vec<Changed>,
        unknown: Vec<String>,
    ) {
        let columns = usize::from(cx.editor.size().0);
        // Neovim's own picker wraps what is too long, after the number before it.
        let room = |counts: &str| match is_builtin(&cx.editor) {
            true => columns.saturating_sub(cells(counts) + 6).max(8),
            false => usize::MAX,
        };
        let items = changed
            .iter()
            .map(|(path, counts, _)| {
                format!("{} {counts}", cut_middle(&cx.short_name(Some(key), path), room(counts)))
            })
            .chain(unknown.iter().map(|what| cut_middle(what, room(""))))
            .collect();
        cx.offer(&format!("Changed by {name}"), "acp_changes", items, move |_: &mut Self, cx, index| {
            let Some((path, _, ranges)) = changed.get(index) else {
                if let Some(what) = unknown.get(index - changed.len()) {
                    cx.notify(what.clone(), Level::Info);
                }
                return Ok(());
            };
            let (named, line) = (path.clone(), ranges.first().map_or(1, |(first, _)| *first));
            cx.look_first(path, move |_: &mut Self, cx, look| {
                if !look.finds_file() {
                    let name = cx.short_name(Some(key), &named);
                    return fail(format!("{name} is gone; :Acp review shows what it held"));
                }
                let Some(win) = code_window(&cx.editor)? else { return Ok(()) };
                let buf = open::load(&cx.editor, &named)?;
                cx.editor.set_win_buf(win, buf)?;
                cx.editor.set_current_win(win)?;
                cx.editor.set_cursor(win, line.min(cx.editor.line_count(buf)?), 0)
            });
            Ok(())
        });
    }

    /// The hunks of a session's that are left to decide, by the file.
    fn left_of(&self, key: SessionKey) -> BTreeMap<PathBuf, Vec<usize>> {
        let scope = Scope::Session(key);
        let listed = self.listed().into_iter();
        listed
            .filter_map(|(path, file)| Some((path.to_owned(), file.meant(&scope, &self.origins, path)?)))
            .collect()
    }

    /// What is left of the changes of a file, in the review's words, and where; nothing where the review doesn't know.
    fn state_of(
        &self,
        path: &Path,
        changes: &Changes,
        left: Option<&Vec<usize>>,
    ) -> Option<(String, Vec<(usize, usize)>)> {
        let reviewed = self.files.get(path).filter(|reviewed| reviewed.unread.is_empty())?;
        let file = reviewed.file.as_deref()?;
        let Some(hunks) = left else {
            let text = text_of(file);
            let what = if changes.are_undone(text.as_deref()) { "undone" } else { "kept" };
            return Some((what.to_owned(), changes.ranges.clone()));
        };
        let all = file.hunks();
        let ranges = hunks.iter().filter_map(|at| all.get(*at)).map(|hunk| {
            let first = hunk.row + 1;
            (first, (hunk.row + hunk.added.len()).max(first))
        });
        Some((left_in(file, hunks), ranges.collect()))
    }

    /// The files that a session changed as far as its calls say, and nobody saw it on the disk.
    fn only_reported(&self, key: SessionKey) -> BTreeSet<PathBuf> {
        let scope = Scope::Session(key);
        let fits = |origin| {
            self.origins
                .get(origin)
                .is_some_and(|origin: &Origin| origin.all().any(|each| each.session == key))
        };
        let open = self.listed().into_iter().filter_map(|(path, file)| {
            file.meant(&scope, &self.origins, path).is_some().then(|| path.to_owned())
        });
        let mut all: BTreeSet<PathBuf> = self.reported.files_of(fits).into_iter().chain(open).collect();
        self.stats.of(key).for_each(|(path, _)| _ = all.remove(path));
        all
    }

    fn changes_to_quickfix(
        &mut self,
        cx: &mut Context,
        name: &str,
        changed: &[Changed],
        unknown: &[String],
    ) -> Result<()> {
        let items = cx.editor.lua.create_table()?;
        for (path, counts, ranges) in changed {
            let ranges = if ranges.is_empty() { &[(1, 1)][..] } else { ranges };
            for (first, last) in ranges {
                items.push(cx.editor.table([
                    ("filename", cx.editor.string(path.as_os_str().as_encoded_bytes())?),
                    ("module", cx.editor.name_in_list(path)?),
                    ("lnum", Value::Integer(*first as i64)),
                    ("end_lnum", Value::Integer(*last as i64)),
                    ("text", cx.editor.string(counts)?),
                ])?)?;
            }
        }
        for what in unknown {
            items.push(cx.editor.table([("text", cx.editor.string(what)?)])?)?;
        }
        let what = cx.editor.table([
            ("title", cx.editor.string(visible_line(&format!("Changed by {name}")))?),
            ("items", Value::Table(items)),
        ])?;
        let empty = cx.editor.lua.create_table()?;
        cx.editor.func::<Value>("setqflist", (empty, " ", what))?;
        cx.editor.command("botright copen")
    }
}

/// What commands of a session have removed without anyone knowing what it was.
fn removed_unseen(cx: &Context, key: SessionKey) -> Vec<String> {
    let entries = cx.sessions.get(&key).map(|session| session.entries()).unwrap_or_default();
    let mut all: Vec<String> = Vec::new();
    for call in entries.iter().filter_map(Entry::tool).filter(|call| call.status != Status::Rejected) {
        let line = call.raw_input.as_ref().and_then(tool_input::command);
        if line.is_some_and(|line| removes_ignored(&line)) {
            let command = visible_line(&call.command().unwrap_or_default());
            let what = format!("`{command}`: which ignored files it removed is not known");
            if !all.contains(&what) {
                all.push(what);
            }
        }
    }
    all
}
