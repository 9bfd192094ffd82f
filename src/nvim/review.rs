//! What agents changed, as the editor holds it: each file's review with the buffer it is in, what is
//! still to be taken into it, and what is drawn. Whole texts of large files are compared in the
//! background, which then has the review for a while; what comes in between waits for it here.

pub mod actions;
pub mod attribution;
pub mod blame;
pub mod change_stats;
pub mod changes_list;
pub mod comment_marks;
pub mod comment_window;
pub mod comments;
pub mod decisions;
pub mod hunks;
pub mod inline_proposals;
pub mod keeping;
pub mod kept;
pub mod originals;
pub mod panel;
pub mod panel_actions;
pub mod panel_edits;
pub mod proposals;
pub mod reading;
pub mod split;
pub mod splits;
pub mod stage;
pub mod staging;
pub mod taking_back;
pub mod tracking;
pub mod verdicts;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};

use mlua::Result;

use crate::core::changes::comments::Comment;
use crate::core::changes::file_review::FileReview;
use crate::core::changes::input_queue::InputQueue;
use crate::core::changes::reported::Reported;
use crate::core::changes::review::Splice;
use crate::core::changes::review_page::Listed;
use crate::core::changes::scope::{Origins, Scope};
use crate::core::changes::undone::Undone;
use crate::core::changes::unknown_change::UnknownChange;
use crate::core::ids::{OriginId, SessionKey};
use crate::core::store::checkpoint::Held;
use crate::core::text::Text;
use crate::nvim::buffers::is_modified;
use crate::nvim::context::Context;
use crate::nvim::editor::{Buf, Editor, Win};
use crate::nvim::review::change_stats::ChangeStats;
use crate::nvim::review::comment_marks::{CommentMarks, Writing};
use crate::nvim::review::decisions::Decisions;
use crate::nvim::review::hunks::Drawn;
use crate::nvim::review::keeping::Keeping;
use crate::nvim::review::panel::Panel;
use crate::nvim::review::proposals::Proposals;
use crate::nvim::review::split::Split;
use crate::nvim::review::stage::Stage;

#[derive(Default)]
pub struct Reviews {
    pub files: BTreeMap<PathBuf, Reviewed>,
    pub origins: Origins,
    /// Files that agents changed and whose texts are not known.
    pub unknown: BTreeMap<PathBuf, UnknownChange>,
    /// What files were before the changes that are still to be decided on.
    originals: HashMap<PathBuf, Held>,
    /// What calls said they did to files that nobody has looked at yet.
    reported: Reported,
    by_buf: HashMap<Buf, PathBuf>,
    /// The buffers whose changes are listened to, and how many listeners there have been.
    pub listening: BTreeSet<Buf>,
    pub listeners: u64,
    /// How many texts of buffers were asked for.
    pub readings: u64,
    /// A redraw is on its way.
    pub drawing: bool,
    /// Windows may show a buffer that they did not: they need room for what is above its first line.
    needs_room_above: bool,
    /// The drawing of what took too long at once goes on in a moment.
    drawing_rest: bool,
    /// The page is drawn as soon as what is being done is done.
    draws_panel: bool,
    pub panel: Option<Panel>,
    /// What waits until it is known what agents did to files that were opened for it.
    pub when_known: Vec<Then>,
    /// What waits until it is known what other Neovims have left.
    when_left: Vec<Then>,
    /// What stands side by side.
    pub split: Option<Split>,
    pub comments: Vec<Comment>,
    comment_marks: CommentMarks,
    /// The comment that is being written.
    writing: Option<Writing>,
    /// What was undone since each session's agent was last told.
    pub undone: Undone,
    /// How many hunks were kept and undone since the review was opened.
    pub decided: (usize, usize),
    /// Files that were renamed: the old names by the new ones.
    pub renamed: BTreeMap<PathBuf, PathBuf>,
    /// What was decided lately, to be taken back.
    decisions: Decisions,
    /// What each session has changed.
    pub stats: ChangeStats,
    /// The diffs of open calls, as they are drawn.
    proposals: Proposals,
    /// The call that the user is asked about, on the screen, and how often one was put there.
    stage: Option<Stage>,
    stages: u64,
    /// It is seen to that the window for it is looked at again when the user is quiet.
    looks_again: bool,
    /// How many files are being looked into for what agents did to them.
    recalling: usize,
    /// What is kept on the disk of what is left to decide.
    keeping: Keeping,
}

pub struct Reviewed {
    /// `None` while the background has it, and before it is made.
    pub file: Option<Box<FileReview>>,
    /// The background has it, or makes it.
    pub is_away: bool,
    pub waiting: InputQueue<Input>,
    pub buf: Option<Buf>,
    /// `b:changedtick` when the review and the buffer were last known to be the same.
    pub tick: u64,
    /// Which listener's word counts: a buffer that was read again may have kept an older one.
    pub listener: u64,
    pub drawn: Drawn,
    /// What is drawn is not what it is now.
    pub touched: bool,
    /// What was behind changes that nobody has looked at yet: they wait, and `file` is made of them by `read`.
    pub unread: Vec<OriginId>,
    /// One of many, which was never on the screen: the review does not list its hunks.
    pub is_unseen: bool,
}

/// What is to be taken into a review, in order.
pub enum Input {
    Agent {
        before: Option<Text>,
        after: Option<Text>,
        origin: OriginId,
    },
    /// The user's lines.
    Splice(Splice),
    Text(Text),
    /// The same, of a buffer that has just read the file.
    Loaded(Text),
    /// What was behind the last change of an agent's, which led from one text to the other, is another origin, or none.
    Attributed {
        before: Option<Text>,
        after: Option<Text>,
        to: Option<OriginId>,
    },
    Then(Then),
}

pub type Then = Box<dyn FnOnce(&mut Reviews, &mut Context) -> Result<()>>;

impl Reviewed {
    /// Its buffer shows what is proposed, at these rows.
    fn give_way(&mut self, editor: &Editor, buf: Buf, proposed: &[Range<usize>]) -> Result<()> {
        match &self.file {
            Some(file) => self.drawn.draw_bars(editor, buf, (file, proposed)),
            // Drawn when it is known.
            None => self.drawn.clear(editor, buf),
        }
    }

    /// A buffer's text was read at a tick, or could not be.
    pub fn has_read(&mut self, number: u64, read: Option<(u64, Input)>) {
        let (tick, input) = read.unzip();
        // Whatever was typed meanwhile is in the text.
        let was_waited_for = self.waiting.has_read(number, input, |input| matches!(input, Input::Splice(_)));
        if let Some(tick) = tick.filter(|_| was_waited_for) {
            self.tick = tick;
        }
    }
}

impl Reviews {
    /// Nothing to review yet; what is left to decide is kept below this folder.
    pub fn new(state: PathBuf) -> Self {
        Self { keeping: Keeping::new(state), ..Self::default() }
    }

    /// A session is over.
    pub fn forget(&mut self, session: SessionKey) {
        self.undone.forget(session);
        self.stats.forget(session);
    }

    /// A file that is gone by one name and new by another is decided about by both.
    pub fn with_both_names(&self, scope: Scope) -> Scope {
        let Scope::File(path) = &scope else { return scope };
        let is = |path: &Path, sides: (bool, bool)| {
            let file = self.files.get(path).and_then(|reviewed| reviewed.file.as_deref());
            file.is_some_and(|file| (file.was_there, file.is_there) == sides)
        };
        let pair = self.renamed.iter().find(|(to, from)| *to == path || *from == path);
        match pair.filter(|(to, from)| is(to, (false, true)) && is(from, (true, false))) {
            Some((to, from)) => Scope::Renamed([from.clone(), to.clone()]),
            None => scope,
        }
    }

    /// It is known what a new file was called before.
    pub fn note_renamed(&mut self, to: &Path, from: &Path) {
        // By several steps it has had several names.
        let first = self.renamed.remove(from).unwrap_or_else(|| from.to_owned());
        self.renamed.insert(to.to_owned(), first);
    }

    pub fn path_of(&self, buf: Buf) -> Option<&Path> {
        self.by_buf.get(&buf).map(PathBuf::as_path)
    }

    pub fn of_buf(&mut self, buf: Buf) -> Option<&mut Reviewed> {
        self.files.get_mut(self.by_buf.get(&buf)?)
    }

    /// A file is under review from now on. `None` when the background still makes the review.
    pub fn begin(&mut self, path: &Path, file: Option<Box<FileReview>>) {
        let reviewed = Reviewed {
            file,
            is_away: false,
            waiting: InputQueue::default(),
            buf: None,
            tick: 0,
            listener: 0,
            drawn: Drawn::default(),
            touched: true,
            unread: Vec::new(),
            is_unseen: false,
        };
        self.files.insert(path.to_owned(), reviewed);
        self.outdate(path);
    }

    pub fn hold(&mut self, path: &Path, buf: Buf) {
        if let Some(reviewed) = self.files.get_mut(path) {
            reviewed.buf = Some(buf);
            self.by_buf.insert(buf, path.to_owned());
        }
    }

    /// A buffer was written into its file.
    pub fn saved(&mut self, cx: &Context, buf: Buf) {
        let Some(path) = self.path_of(buf).map(Path::to_owned) else { return };
        if let Some(file) = self.files.get_mut(&path).and_then(|reviewed| reviewed.file.as_mut()) {
            file.saved();
            self.outdate(&path);
            self.keep_soon(cx);
        }
    }

    pub fn buffer_unloaded(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        let path = self.path_of(buf).map(Path::to_owned);
        self.release(buf);
        if let Some(path) = path.filter(|_| !cx.editor.buf_is_loaded(buf) || is_modified(&cx.editor, buf)) {
            self.review_disk(cx, &path);
        }
        self.stage_put_away(cx, |stage| stage.shows(buf))
    }

    fn release(&mut self, buf: Buf) {
        if let Some(reviewed) = self.by_buf.remove(&buf).and_then(|path| self.files.get_mut(&path)) {
            reviewed.buf = None;
            reviewed.drawn = Drawn::default();
            reviewed.touched = true;
        }
        self.listening.remove(&buf);
        self.unmark_comments(buf);
    }

    pub fn window_closing(&mut self, cx: &Context, win: Win) -> Result<()> {
        self.check_split(cx, Some(win))?;
        self.stage_put_away(cx, |stage| stage.lent.as_ref().is_some_and(|lent| lent.win == win))
    }

    /// All files with something to decide, in the order of their paths.
    pub fn listed(&self) -> Vec<(&Path, Listed<'_>)> {
        let read = self.files.iter().filter_map(|(path, reviewed)| match &reviewed.file {
            _ if !reviewed.unread.is_empty() => Some((path.as_path(), Listed::Unread(&reviewed.unread))),
            Some(file) if !file.is_settled() || file.missing().next().is_some() => {
                let listed = if reviewed.is_unseen { Listed::Unseen } else { Listed::Read };
                Some((path.as_path(), listed(file)))
            }
            _ => None,
        });
        let unknown = self.unknown.iter().map(|(path, change)| (path.as_path(), Listed::Unknown(change)));
        let mut all: Vec<_> = read.chain(unknown).collect();
        all.sort_by_key(|(path, _)| *path);
        all
    }

    /// The files whose hunks are known and that have something to decide, in the order of their paths.
    pub fn open(&self) -> impl Iterator<Item = (&Path, &Reviewed, &FileReview)> {
        self.files.iter().filter_map(|(path, reviewed)| {
            let file = reviewed.file.as_deref()?;
            (!file.is_settled()).then_some((path.as_path(), reviewed, file))
        })
    }
}
