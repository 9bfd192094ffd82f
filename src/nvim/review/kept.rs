//! What is left to decide outlives this Neovim: files whose reviews have changed are kept on the disk soon after, and
//! what Neovims that are gone have left stands again in the files as they are now. Where it is stored is left to the
//! background.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use mlua::Result;

use crate::core::changes::comments::Comment;
use crate::core::changes::review_page::count_files;
use crate::core::changes::scope::Origin;
use crate::core::changes::undecided::Undecided;
use crate::core::changes::unknown_change::UnknownChange;
use crate::core::ids::{EntryId, JobId, Moment, OriginId, SessionKey};
use crate::core::message::{Command, Outcome, PutBack, Work};
use crate::core::session::Session;
use crate::core::store::undecided::{Adopted, Fact, StoredFile, StoredOrigin, StoredUndo, UndecidedRequest};
use crate::core::text::Text;
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::context::Context;
use crate::nvim::editor::Level;
use crate::nvim::review::{Input, Reviewed, Reviews};

/// Between a change and the time that it is kept.
const PAUSE: Duration = Duration::from_millis(150);

/// So many files are looked at before the editor has its turn.
const MAX_FILES: usize = 32;

/// Of a file without lines, what it was and what it became: together they have to fit in a line of the journal.
const LARGEST_UNDO: usize = 512 << 10;

/// Larger files are kept by their lines alone.
const LARGEST_ORIGINAL: usize = 256 << 10;

impl Reviews {
    /// What is left to decide in a file is not what is kept of it.
    pub fn outdate(&mut self, path: &Path) {
        self.keeping.unsaved.insert(path.to_owned());
    }

    /// The same for the comments.
    pub fn outdate_comments(&mut self) {
        self.keeping.are_comments_unsaved = true;
    }

    /// What is found in a file is kept with this project.
    pub fn keep_in_project(&mut self, path: &Path, project: &Path) {
        self.keeping.projects.insert(path.to_owned(), project.to_owned());
    }

    /// Has all that has changed kept in a moment.
    pub fn keep_soon(&mut self, cx: &Context) {
        let is_kept = self.keeping.unsaved.is_empty() && !self.keeping.are_comments_unsaved;
        if is_kept || std::mem::replace(&mut self.keeping.is_scheduled, true) {
            return;
        }
        let soon = cx.later(PAUSE, |this: &mut Self, cx| {
            this.keeping.is_scheduled = false;
            this.keep_some(cx, MAX_FILES);
            this.keep_soon(cx);
            Ok(())
        });
        cx.editor.notify_error(soon);
    }

    /// The same now: Neovim ends.
    pub fn keep_all_now(&mut self, cx: &mut Context) {
        // Their lines may have moved since they were kept.
        self.keeping.are_comments_unsaved |= !self.comments.is_empty();
        self.keep_some(cx, usize::MAX);
    }

    fn keep_some(&mut self, cx: &mut Context, most: usize) {
        if !cx.config.diff.persist {
            self.keeping.unsaved.clear();
            self.keeping.are_comments_unsaved = false;
            return;
        }
        let mut facts: BTreeMap<PathBuf, Vec<Fact>> = BTreeMap::new();
        let some: Vec<PathBuf> = self.keeping.unsaved.iter().take(most).cloned().collect();
        // The lines that comments are on have changed, too.
        let is_commented = |path: &PathBuf| self.comments.iter().any(|comment| comment.path == *path);
        self.keeping.are_comments_unsaved |= some.iter().any(is_commented);
        for path in some {
            self.keeping.unsaved.remove(&path);
            // One that the background has comes back.
            let Some(fact) = self.fact_of(&path) else { continue };
            let project = self.project_of(cx, &path);
            facts.entry(project).or_default().push(fact);
        }
        if std::mem::take(&mut self.keeping.are_comments_unsaved) {
            self.follow_comments(cx);
            let mut comments: BTreeMap<PathBuf, Vec<Comment>> =
                std::mem::take(&mut self.keeping.commented).into_iter().map(|of| (of, Vec::new())).collect();
            for comment in &self.comments {
                comments.entry(self.project_of(cx, &comment.path)).or_default().push(comment.clone());
            }
            for (project, comments) in comments {
                if !comments.is_empty() {
                    self.keeping.commented.insert(project.clone());
                }
                facts.entry(project).or_default().push(Fact::Comments(comments));
            }
        }
        for (project, facts) in facts {
            cx.send(Command::Undecided {
                folder: self.keeping.folder(&project),
                request: UndecidedRequest::Note(facts),
            });
        }
    }

    /// The project that a file is kept with: its session's, else the one that it was found in.
    pub fn project_of(&self, cx: &Context, path: &Path) -> PathBuf {
        let file = self.files.get(path);
        let origin = file.and_then(|file| file.unread.last().copied().or(file.file.as_ref()?.last()));
        let origin = origin.or_else(|| Some(self.unknown.get(path)?.origin));
        let session = origin.and_then(|origin| cx.sessions.get(&self.origins.get(origin)?.session));
        let known = || self.keeping.projects.get(path).cloned();
        let around = || {
            let mut roots = cx.sessions.values().map(|session| canonical(&session.place.cwd));
            roots.find(|root| path.starts_with(root))
        };
        session
            .map(|session| canonical(&session.place.cwd))
            .or_else(known)
            .or_else(around)
            .unwrap_or_else(|| canonical(&cx.root()))
    }

    /// What is to be kept of a file; `None` while the background has it.
    fn fact_of(&self, path: &Path) -> Option<Fact> {
        let mut stored = StoredFile {
            path: path.to_owned(),
            sides: (true, true),
            hunks: Vec::new(),
            last: None,
            origins: Vec::new(),
            original: self.originals.get(path).filter(|held| held.size() <= LARGEST_ORIGINAL).cloned(),
            renamed_from: self.renamed.get(path).cloned(),
            unknown: None,
            undo: None,
            texts: None,
        };
        match self.files.get(path) {
            Some(reviewed) if !reviewed.unread.is_empty() => {
                let (before, after) = unread_texts(reviewed)?;
                stored.sides = (before.is_some(), after.is_some());
                stored.last = reviewed.unread.last().copied();
                stored.texts = Some((before, after));
            }
            Some(Reviewed { file: None, .. }) => return None,
            Some(Reviewed { file: Some(file), .. }) => {
                stored.hunks = file.undecided_in_file();
                if stored.hunks.is_empty() && file.is_settled() {
                    return self.unknown_fact(stored);
                }
                let was_there = file.was_there && !stored.hunks.iter().any(|hunk| hunk.is_new);
                (stored.sides, stored.last) = ((was_there, file.is_there), file.last());
            }
            None => return self.unknown_fact(stored),
        }
        self.tell_origins(&mut stored);
        Some(Fact::Undecided(Box::new(stored)))
    }

    fn unknown_fact(&self, mut stored: StoredFile) -> Option<Fact> {
        let Some(change) = self.unknown.get(&stored.path) else { return Some(Fact::Settled(stored.path)) };
        (stored.sides, stored.last) = (change.sides, Some(change.origin));
        stored.undo = change.undo.as_ref().and_then(stored_undo);
        let is_too_large = change.undo.is_some() && stored.undo.is_none();
        let more = if is_too_large { ", and too large to be kept for a later Neovim to undo" } else { "" };
        stored.unknown = Some(format!("{}{more}", change.why));
        self.tell_origins(&mut stored);
        Some(Fact::Undecided(Box::new(stored)))
    }

    /// Writes down what was behind the hunks; they have the place of it from then on.
    fn tell_origins(&self, stored: &mut StoredFile) {
        let mut places: Vec<OriginId> = Vec::new();
        let mut origins = Vec::new();
        let mut place = |id: &mut Option<OriginId>| {
            let Some((known, origin)) = id.and_then(|id| Some((id, self.origins.get(id)?))) else {
                return *id = None;
            };
            let at = places.iter().position(|place| *place == known).unwrap_or_else(|| {
                places.push(known);
                origins.push(StoredOrigin {
                    agent: origin.agent.clone(),
                    turn: origin.turn,
                    asked: origin.asked.clone(),
                    title: origin.title.clone(),
                    at: origin.at.0,
                    since: origin.since.0,
                });
                places.len() - 1
            });
            *id = Some(OriginId(at as u32));
        };
        stored.hunks.iter_mut().for_each(|hunk| place(&mut hunk.origin));
        place(&mut stored.last);
        stored.origins = origins;
    }

    // What was left.

    /// Asks what Neovims that are gone have left in the projects at hand.
    pub fn adopt_left(&mut self, cx: &mut Context) {
        let sessions = cx.sessions.values().map(|session| canonical(&session.place.cwd));
        let projects: BTreeSet<PathBuf> = sessions.chain([canonical(&cx.root())]).collect();
        self.keeping.failure = None;
        for project in projects {
            if self.keeping.asked.values().any(|asked| *asked == project) {
                continue;
            }
            let job = cx.next_job();
            let folder = self.keeping.folder(&project);
            self.keeping.asked.insert(job, project);
            cx.send(Command::Undecided { folder, request: UndecidedRequest::Adopt { job } });
        }
    }

    /// Goes on when it is known what was left, and what was stands again.
    pub fn when_left_is_known(
        &mut self,
        cx: &mut Context,
        then: impl FnOnce(&mut Self, &mut Context) -> Result<()> + 'static,
    ) -> Result<()> {
        self.when_left.push(Box::new(then));
        self.adopt_left(cx);
        Ok(())
    }

    pub fn left_undecided(
        &mut self,
        cx: &mut Context,
        job: JobId,
        left: std::result::Result<Box<Adopted>, String>,
    ) -> Result<()> {
        let Some(project) = self.keeping.asked.remove(&job) else { return Ok(()) };
        match left {
            Ok(adopted) => {
                let Adopted { left, elsewhere } = *adopted;
                self.keeping.elsewhere.insert(project.clone(), elsewhere);
                self.adopt_comments(cx, &project, left.comments)?;
                let paths: Vec<PathBuf> = left.files.keys().cloned().collect();
                for file in left.files.into_values() {
                    self.stand_again(cx, &project, file)?;
                }
                self.when_known.push(Box::new(move |this: &mut Self, cx| this.say_left(cx, &paths)));
            }
            Err(why) => self.keeping.failure = Some(why),
        }
        // A page on which nothing is left says so as far as it is known.
        self.draw_panel_once(cx);
        if self.keeping.asked.is_empty() {
            // What was left has to stand first.
            self.when_known.append(&mut self.when_left);
        }
        self.all_known(cx)
    }

    /// Something was left to decide in a file: it stands again, as far as the file still has it.
    fn stand_again(&mut self, cx: &mut Context, project: &Path, mut file: StoredFile) -> Result<()> {
        let path = file.path.clone();
        self.keeping.projects.insert(path.clone(), project.to_owned());
        self.number_stored(&mut file);
        if let Some(from) = file.renamed_from.take() {
            self.note_renamed(&path, &from);
        }
        if let Some(why) = file.unknown {
            let origin = file.last.unwrap_or(OriginId(0));
            let change = UnknownChange { origin, why, sides: file.sides, undo: file.undo.map(put_back) };
            self.unknown.entry(path).or_insert(change);
            self.draw_panel_once(cx);
            return Ok(());
        }
        if self.files.contains_key(&path) {
            let hunks: Vec<Undecided> = file.with_hunks().hunks;
            return self.when_reviewed(cx, &path.clone(), move |this: &mut Self, cx| {
                if let Some(reviewed) = this.files.get_mut(&path)
                    && let Some(file) = &mut reviewed.file
                {
                    file.stand(hunks, true);
                    reviewed.touched = true;
                }
                this.outdate(&path);
                this.draw_reviews(cx)
            });
        }
        self.originals.extend(file.original.take().map(|held| (path.clone(), held)));
        self.begin(&path, None);
        if let Some(reviewed) = self.files.get_mut(&path) {
            reviewed.is_away = true;
        }
        if let Some(buf) = cx.buf_of(&path) {
            // What the disk has comes first.
            self.attach(cx, &path, buf)?;
            self.review_text(cx, (&path, buf), Input::Loaded)?;
        }
        self.recalling += 1;
        let work = Work::Stand { path: path.clone(), left: Box::new(file) };
        cx.compute(work, move |this: &mut Self, cx, outcome| {
            this.recalling -= 1;
            match outcome {
                Outcome::Stood(Some(file)) => this.reviewed(cx, &path, file)?,
                _ => {
                    // What is kept of it stays.
                    this.files.remove(&path);
                    let name = cx.short_name(None, &path);
                    this.keeping.failure =
                        Some(format!("couldn't read {name}, in which something is left to decide"));
                }
            }
            this.all_known(cx)
        });
        Ok(())
    }

    /// Gives what was behind the hunks numbers of this Neovim's.
    fn number_stored(&mut self, file: &mut StoredFile) {
        let numbers: Vec<OriginId> = std::mem::take(&mut file.origins)
            .into_iter()
            .map(|StoredOrigin { agent, turn, asked, title, at, since }| {
                self.origins.number_earlier(Origin {
                    session: SessionKey::EARLIER,
                    agent,
                    prompt: EntryId(0),
                    turn,
                    asked,
                    call: None,
                    title,
                    at: Moment(at),
                    since: Moment(since),
                    others: Vec::new(),
                })
            })
            .collect();
        let number = |id: &mut Option<OriginId>| *id = id.and_then(|id| numbers.get(id.0 as usize).copied());
        file.hunks.iter_mut().for_each(|hunk| number(&mut hunk.origin));
        number(&mut file.last);
    }

    /// Says in how many of these files something is still left, now that they were looked at.
    fn say_left(&mut self, cx: &mut Context, paths: &[PathBuf]) -> Result<()> {
        let open: BTreeSet<&Path> = self.listed().into_iter().map(|(path, _)| path).collect();
        let left = paths.iter().map(PathBuf::as_path).filter(|path| open.contains(path));
        let count = count_files(left, &self.renamed);
        if count == 0 {
            return self.draw_reviews(cx);
        }
        let missing: usize =
            self.files.values().filter_map(|of| Some(of.file.as_ref()?.missing().count())).sum();
        let files = if count == 1 { "1 file".to_owned() } else { format!("{count} files") };
        let gone = if missing == 0 { String::new() } else { format!(", {missing} not in their files now") };
        let text = format!("undecided changes in {files}{gone}: :Acp review");
        cx.notify(text, Level::Info);
        self.draw_reviews(cx)
    }

    /// That nothing is left to decide, as far as it is known.
    pub fn nothing_left(&self, cx: &Context) -> String {
        const NOTHING: &str = "nothing is left to decide";
        if let Some(elsewhere) = self.left_elsewhere(NOTHING) {
            return elsewhere;
        }
        let why = match self.origins.latest(None) {
            _ if cx.sessions.values().any(Session::waits_for_user) => "a question waits: :Acp answer",
            Some(_) => "agents' changes are all kept or undone",
            None => "no agent has changed a file since Neovim started",
        };
        format!("{NOTHING}; {why}")
    }

    /// The same at the top of the review's page.
    pub fn nothing_left_on_page(&self) -> String {
        const NOTHING: &str = "Nothing is left to decide";
        self.left_elsewhere(NOTHING).unwrap_or_else(|| NOTHING.to_owned())
    }

    /// What speaks against it, although this Neovim has nothing left.
    fn left_elsewhere(&self, nothing: &str) -> Option<String> {
        if let Some(why) = &self.keeping.failure {
            return Some(format!("{nothing} in this Neovim, but {why}"));
        }
        let files = match self.keeping.elsewhere.values().sum::<usize>() {
            0 => return None,
            1 => "1 file".to_owned(),
            some => format!("{some} files"),
        };
        Some(format!("{nothing} here; another Neovim has {files}"))
    }
}

/// The first text and the last one of a file that nobody has looked at.
fn unread_texts(reviewed: &Reviewed) -> Option<(Option<Text>, Option<Text>)> {
    let mut texts = reviewed.waiting.inputs().filter_map(|input| match input {
        Input::Agent { before, after, .. } => Some((before, after)),
        _ => None,
    });
    let (before, after) = texts.next()?;
    let after = texts.last().map_or(after, |(_, after)| after);
    Some((before.clone(), after.clone()))
}

/// `None` for what is too large to be kept.
fn stored_undo(undo: &PutBack) -> Option<StoredUndo> {
    match undo {
        PutBack::Held { seen, held } if seen.size() + held.size() <= LARGEST_UNDO => {
            Some(StoredUndo::Content { seen: seen.clone(), held: held.clone() })
        }
        PutBack::Mode(mode) => Some(StoredUndo::Mode(*mode)),
        _ => None,
    }
}

fn put_back(stored: StoredUndo) -> PutBack {
    match stored {
        StoredUndo::Content { seen, held } => PutBack::Held { seen, held },
        StoredUndo::Mode(mode) => PutBack::Mode(mode),
    }
}
