//! `:Acp changes`: what the session has changed, and what is undecided from before, as a list to choose from or in the
//! quickfix list.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use mlua::{Result, Value};

use crate::core::changes::review_page::left_in;
use crate::core::changes::scope::{Origin, Scope};
use crate::core::changes::unknown_change::removes_ignored;
use crate::core::ids::SessionKey;
use crate::core::session::Session;
use crate::core::session::entry::Entry;
use crate::core::session::tool_call::Status;
use crate::core::session::tool_input;
use crate::core::text::cells;
use crate::core::text::fitting::cut_middle;
use crate::core::text::visible::visible_line;
use crate::nvim::arguments::{Args, NO_SESSION, fail};
use crate::nvim::buffers::open;
use crate::nvim::buffers::path_cache::{canonical, is_in_folders};
use crate::nvim::context::Context;
use crate::nvim::editor::Level;
use crate::nvim::editor::code_window::code_window;
use crate::nvim::editor::picker::is_builtin;
use crate::nvim::review::Reviews;
use crate::nvim::review::change_stats::Changes;
use crate::nvim::review::decisions::text_of;

/// A file, how much of it was changed, and where.
type Changed = (PathBuf, String, Vec<(usize, usize)>);

/// What there is to list.
struct Listing {
    key: Option<SessionKey>,
    title: String,
    changed: Vec<Changed>,
    /// What else was changed, of which nobody knows the files.
    unknown: Vec<String>,
}

impl Listing {
    fn of(reviews: &Reviews, cx: &Context, key: Option<SessionKey>) -> Self {
        let session = key.and_then(|key| cx.sessions.get(&key));
        let outside = session.map(|session| reviews.changed_in_folders(session)).unwrap_or_default();
        let from_outside = outside.len();
        let mut changed =
            session.map(|session| reviews.changed_by(cx, session.key, outside)).unwrap_or_default();
        let mut unknown = session.map(removed_unseen).unwrap_or_default();
        let has_agents = changed.len() + unknown.len() > from_outside;
        for (path, what, ranges) in reviews.undecided_from_before(cx, key) {
            match changed.iter_mut().find(|(known, ..)| *known == path) {
                // Changed again since.
                Some((_, known, all)) => {
                    known.push_str(&format!("; {what}"));
                    all.extend(ranges);
                }
                None => changed.push((path, what, ranges)),
            }
        }
        unknown.extend(session.and_then(|_| reviews.stats.outside_left_out()));
        let name = session.map(|session| session.name());
        let title = title_of(&name.unwrap_or_default(), has_agents, from_outside > 0);
        Self { key, title, changed, unknown }
    }

    fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.unknown.is_empty()
    }
}

impl Reviews {
    /// Lists what the session at hand has changed, and what is undecided of chats that are closed.
    pub fn show_changes(&mut self, cx: &mut Context, args: &Args) -> Result<()> {
        if let Some(other) = args.first().filter(|word| *word != "quickfix") {
            return fail(format!("changes takes quickfix or nothing, not {other:?}"));
        }
        let to_quickfix = args.bang || args.first().is_some();
        let key = cx.session_here();
        let listed = Listing::of(self, cx, key);
        if !listed.is_empty() {
            return Self::show_listing(cx, listed, to_quickfix);
        }
        // What is kept on the disk may not stand again yet.
        self.when_left_is_known(cx, move |this: &mut Self, cx| {
            let listed = Listing::of(this, cx, key);
            if !listed.is_empty() {
                return Self::show_listing(cx, listed, to_quickfix);
            }
            let Some(session) = key.and_then(|key| cx.sessions.get(&key)) else { return fail(NO_SESSION) };
            cx.notify(format!("{} has changed no files in this session", session.name()), Level::Info);
            Ok(())
        })
    }

    fn show_listing(cx: &mut Context, listed: Listing, to_quickfix: bool) -> Result<()> {
        let rows = listed.changed.len() + listed.unknown.len() + 2;
        // More than a screen would be shown page by page.
        if to_quickfix || is_builtin(&cx.editor) && rows > usize::from(cx.editor.size().1) {
            return Self::changes_to_quickfix(cx, &listed);
        }
        Self::pick_change(cx, listed);
        Ok(())
    }

    /// What is known of the changes of a session's, and of those that others have made in its folders.
    fn changed_by(&self, cx: &Context, key: SessionKey, outside: Vec<(&Path, &Changes)>) -> Vec<Changed> {
        let is_listed = |path: &Path| self.stats.of(key).any(|(other, _)| other == path);
        // A renamed file is one.
        let is_old = |path: &Path| self.renamed.iter().any(|(to, from)| from == path && is_listed(to));
        let agents = self.stats.of(key).filter(|(path, _)| !is_old(path));
        let agents = agents.map(|(path, changes)| (path, changes, ""));
        let left = self.left_of(key);
        let all = agents
            .chain(outside.into_iter().map(|(path, changes)| (path, changes, ", changed from outside")));
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
        changed
    }

    /// What others have changed in the folders of a session.
    fn changed_in_folders(&self, session: &Session) -> Vec<(&Path, &Changes)> {
        self.stats.outside().filter(|(path, _)| is_in_folders(&session.place, path)).collect()
    }

    /// What is undecided of chats that are closed, also since before Neovim was started, in the folders of a session, or
    /// of the project at hand.
    fn undecided_from_before(&self, cx: &Context, key: Option<SessionKey>) -> Vec<Changed> {
        let left = self.left_of_closed(cx);
        let is_old = |path: &Path| {
            self.renamed.iter().any(|(to, from)| from == path && left.contains_key(to.as_path()))
        };
        let session = key.and_then(|key| cx.sessions.get(&key));
        let is_here = |path: &Path| match session {
            Some(session) => is_in_folders(&session.place, path),
            None => path.starts_with(canonical(&cx.root())),
        };
        let here = left.iter().filter(|(path, _)| is_here(path) && !is_old(path));
        here.map(|(path, hunks)| {
            let (what, ranges) = match self.left_in_file(path, hunks) {
                Some((what, ranges)) => (format!("{what}, "), ranges),
                None => (String::new(), Vec::new()),
            };
            let renamed = self.renamed.get(path).filter(|from| left.contains_key(from.as_path()));
            let renamed = renamed.map(|from| format!("renamed from {}, ", cx.short_name(key, from)));
            let what = renamed.unwrap_or(what);
            (path.clone(), format!("{what}undecided from before"), ranges)
        })
        .collect()
    }

    fn pick_change(cx: &mut Context, listed: Listing) {
        let Listing { key, title, changed, unknown } = listed;
        let columns = usize::from(cx.editor.size().0);
        // Neovim's own picker wraps what is too long, after the number before it.
        let room = |counts: &str| match is_builtin(&cx.editor) {
            true => columns.saturating_sub(cells(counts) + 6).max(8),
            false => usize::MAX,
        };
        let items = changed
            .iter()
            .map(|(path, counts, _)| {
                format!("{} {counts}", cut_middle(&cx.short_name(key, path), room(counts)))
            })
            .chain(unknown.iter().map(|what| cut_middle(what, room(""))))
            .collect();
        cx.offer(&title, "acp_changes", items, move |_: &mut Self, cx, index| {
            let Some((path, _, ranges)) = changed.get(index) else {
                if let Some(what) = unknown.get(index - changed.len()) {
                    cx.notify(what.clone(), Level::Info);
                }
                return Ok(());
            };
            let (named, line) = (path.clone(), ranges.first().map_or(1, |(first, _)| *first));
            cx.look_first(path, move |_: &mut Self, cx, look| {
                if !look.finds_file() {
                    let name = cx.short_name(key, &named);
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

    /// The same for all sessions that are not open any more.
    fn left_of_closed(&self, cx: &Context) -> BTreeMap<PathBuf, Vec<usize>> {
        let closed = self.origins.sessions().into_iter().filter(|key| !cx.sessions.contains_key(key));
        let mut left: BTreeMap<PathBuf, Vec<usize>> = BTreeMap::new();
        for (path, hunks) in closed.flat_map(|key| self.left_of(key)) {
            let all = left.entry(path).or_default();
            all.extend(hunks);
            all.sort_unstable();
            all.dedup();
        }
        left
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
        self.left_in_file(path, hunks)
    }

    /// How much is left to decide of a file that was looked at, in the review's words, and where.
    fn left_in_file(&self, path: &Path, hunks: &[usize]) -> Option<(String, Vec<(usize, usize)>)> {
        let reviewed = self.files.get(path).filter(|reviewed| reviewed.unread.is_empty())?;
        let file = reviewed.file.as_deref()?;
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

    fn changes_to_quickfix(cx: &mut Context, listed: &Listing) -> Result<()> {
        let items = cx.editor.lua.create_table()?;
        for (path, counts, ranges) in &listed.changed {
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
        for what in &listed.unknown {
            items.push(cx.editor.table([("text", cx.editor.string(what)?)])?)?;
        }
        let what = cx.editor.table([
            ("title", cx.editor.string(visible_line(&listed.title))?),
            ("items", Value::Table(items)),
        ])?;
        let empty = cx.editor.lua.create_table()?;
        cx.editor.func::<Value>("setqflist", (empty, " ", what))?;
        cx.editor.command("botright copen")
    }
}

/// Whose changes a list is of, which is not empty.
fn title_of(name: &str, has_agents: bool, has_others: bool) -> String {
    match (has_agents, has_others) {
        (true, false) => format!("Changed by {name}"),
        (true, true) => format!("Changed by {name} and from outside"),
        (false, true) => "Changed from outside".to_owned(),
        (false, false) => "Undecided from before".to_owned(),
    }
}

/// What commands of a session have removed without anyone knowing what it was.
fn removed_unseen(session: &Session) -> Vec<String> {
    let entries = session.entries();
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
