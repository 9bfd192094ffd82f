//! What agents changed, as the editor holds it: each file's review with the buffer it is in, what is
//! still to be taken into it, and what is drawn. Whole texts of large files are compared in the
//! background, which then has the review for a while; what comes in between waits for it here.

pub mod hunks;
pub mod look;
pub mod marks;
pub mod page;
pub mod panel;
pub mod proposals;
pub mod split;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::path::{Path, PathBuf};

use mlua::Result;

use self::hunks::Drawn;
use self::panel::{Comment, Panel};
use self::split::Split;
use crate::core::changeset::{FileReview, OriginId};
use crate::core::entry::EntryId;
use crate::core::message::{FileDiff, SessionKey};
use crate::core::review::Splice;
use crate::core::session::Moment;
use crate::nvim::app::App;
use crate::nvim::editor::Buf;

/// What was behind a change of an agent's.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    pub session: SessionKey,
    pub agent: String,
    /// The prompt that the turn began with, and which one it was.
    pub prompt: EntryId,
    pub turn: usize,
    pub asked: String,
    pub call: Option<EntryId>,
    /// What the call was about.
    pub title: String,
    pub at: Moment,
}

#[derive(Default)]
pub struct Reviews {
    pub files: BTreeMap<PathBuf, Reviewed>,
    origins: Vec<Origin>,
    /// What calls said they did to files that nobody has looked at yet, oldest first.
    told: VecDeque<(PathBuf, OriginId, FileDiff)>,
    by_buf: HashMap<Buf, PathBuf>,
    /// The buffers whose changes are listened to, and how many listeners there have been.
    pub listening: BTreeSet<Buf>,
    pub listeners: u64,
    /// A redraw is on its way.
    pub drawing: bool,
    pub panel: Option<Panel>,
    /// What waits until it is known what agents did to files that were opened for it.
    pub when_known: Vec<Then>,
    /// What stands side by side.
    pub split: Option<Split>,
    pub comments: Vec<Comment>,
    /// What was undone since each session's agent was last told, as it will read it.
    pub undone: HashMap<SessionKey, Vec<String>>,
    /// How many hunks were kept and undone since the review was opened.
    pub decided: (usize, usize),
}

/// At most this many diffs of files without a buffer are kept.
const TOLD: usize = 500;

pub struct Reviewed {
    /// `None` while the background has it.
    pub file: Option<Box<FileReview>>,
    pub waiting: VecDeque<Input>,
    pub buf: Option<Buf>,
    /// `b:changedtick` when the review and the buffer were last known to be the same.
    pub tick: u64,
    /// Which listener's word counts: a buffer that was read again may have kept an older one.
    pub listener: u64,
    pub drawn: Drawn,
    /// What is drawn is not what it is now.
    pub touched: bool,
}

/// What is to be taken into a review, in order.
pub enum Input {
    Agent {
        before: Option<String>,
        after: Option<String>,
        origin: OriginId,
    },
    /// The user's lines.
    Splice(Splice),
    Text(String),
    Then(Then),
}

pub type Then = Box<dyn FnOnce(&mut App) -> Result<()>>;

impl Reviews {
    pub fn origin(&mut self, origin: Origin) -> OriginId {
        if let Some(at) = self.origins.iter().rposition(|known| {
            known.session == origin.session && known.prompt == origin.prompt && known.call == origin.call
        }) {
            return OriginId(at as u32);
        }
        self.origins.push(origin);
        OriginId((self.origins.len() - 1) as u32)
    }

    pub fn of(&self, id: OriginId) -> Option<&Origin> {
        self.origins.get(id.0 as usize)
    }

    /// The latest origin of a session, or of any.
    pub fn latest(&self, session: Option<SessionKey>) -> Option<&Origin> {
        self.origins.iter().rev().find(|origin| session.is_none_or(|session| origin.session == session))
    }

    pub fn path_of(&self, buf: Buf) -> Option<&Path> {
        self.by_buf.get(&buf).map(PathBuf::as_path)
    }

    pub fn of_buf(&mut self, buf: Buf) -> Option<&mut Reviewed> {
        self.files.get_mut(self.by_buf.get(&buf)?)
    }

    /// The review of a file, made when there is none.
    pub fn begin(&mut self, path: &Path, before: Option<&str>) -> &mut Reviewed {
        self.files.entry(path.to_owned()).or_insert_with(|| Reviewed {
            file: Some(Box::new(FileReview::new(before))),
            waiting: VecDeque::new(),
            buf: None,
            tick: 0,
            listener: 0,
            drawn: Drawn::default(),
            touched: true,
        })
    }

    pub fn hold(&mut self, path: &Path, buf: Buf) {
        if let Some(reviewed) = self.files.get_mut(path) {
            reviewed.buf = Some(buf);
            self.by_buf.insert(buf, path.to_owned());
        }
    }

    pub fn release(&mut self, buf: Buf) {
        if let Some(reviewed) = self.by_buf.remove(&buf).and_then(|path| self.files.get_mut(&path)) {
            reviewed.buf = None;
            reviewed.drawn = Drawn::default();
            reviewed.touched = true;
        }
        self.listening.remove(&buf);
    }

    /// A call said what it did to a file that no buffer holds.
    pub fn tell(&mut self, path: PathBuf, origin: OriginId, diff: FileDiff) {
        self.told.push_back((path, origin, diff));
        if self.told.len() > TOLD {
            self.told.pop_front();
        }
    }

    /// The files that something was told of.
    pub fn told(&self) -> BTreeSet<PathBuf> {
        self.told.iter().map(|(path, ..)| path.clone()).collect()
    }

    /// What was told of a file; it is told once.
    pub fn take_told(&mut self, path: &Path) -> Vec<(OriginId, FileDiff)> {
        let (taken, left): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.told).into_iter().partition(|(of, ..)| of == path);
        self.told = left;
        taken.into_iter().map(|(_, origin, diff)| (origin, diff)).collect()
    }

    /// The files with something to decide, in the order of their paths.
    pub fn open(&self) -> impl Iterator<Item = (&Path, &Reviewed, &FileReview)> {
        self.files.iter().filter_map(|(path, reviewed)| {
            let file = reviewed.file.as_deref()?;
            (!file.is_settled()).then_some((path.as_path(), reviewed, file))
        })
    }
}
