//! The chats: for each session a transcript and a prompt under it, in windows that they share. This is
//! their state; how entries get into a transcript is left to `drawing`, when to `redraw`, the windows to
//! `windows`.

pub mod asked;
pub mod canvas;
pub mod drawing;
pub mod export;
pub mod highlight;
pub mod images;
pub mod links;
pub mod plan;
pub mod reading;
pub mod redraw;
pub mod showing;
pub mod transcript;
pub mod winbar;
pub mod window_events;
pub mod windows;

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::core::ids::{EntryId, SessionKey};
use crate::core::session::Phase;
use crate::mailbox::Mailbox;
use crate::nvim::chat::canvas::Chat;
use crate::nvim::chat::highlight::Highlight;
use crate::nvim::chat::windows::Windows;
use crate::nvim::editor::timer::Timer;
use crate::nvim::editor::{Buf, Editor};
use crate::nvim::frame_clock::Frames;

/// How often the time of a running turn moves on.
pub const TICK: Duration = Duration::from_millis(250);

pub struct Chats {
    open: BTreeMap<SessionKey, Chat>,
    windows: Windows,
    /// The session of which the user was told, as they quit, that its agent is at work.
    told_busy: Option<(SessionKey, Phase)>,
    /// The plan that stands in a window of its own.
    pinned: Option<Pinned>,
    /// The session whose plan comes back with its chat.
    hidden_plan: Option<SessionKey>,
    highlight: Highlight,
    frames: Rc<Frames>,
    /// Events that have not been taken yet hold up nothing of what is drawn.
    mailbox: Arc<Mailbox>,
    /// Moves the time of running turns on.
    tick: Timer,
    is_ticking: bool,
    /// What stands in the bars of each chat's windows.
    bars: HashMap<SessionKey, String>,
    /// The call that is open since the user is asked about it, and whether it was folded before.
    unfolded: Option<(SessionKey, EntryId)>,
    has_unfolded: bool,
    /// The line that the transcript's cursor was taken to for it, from the end.
    read_from: Option<usize>,
    /// Its page was closed by the user, and the chat does not show it yet.
    is_put_away: bool,
    /// What the user has opened and has yet to see: the first and the last entry.
    opened: Option<(SessionKey, EntryId, EntryId)>,
}

/// A plan, and the session that made it.
struct Pinned {
    session: SessionKey,
    buf: Buf,
    /// The windows beside it when it was given its height.
    arrangement: Option<String>,
}

impl Chats {
    pub fn new(editor: &Editor, frames: Rc<Frames>, tick: Timer, mailbox: Arc<Mailbox>) -> Self {
        Self {
            open: BTreeMap::new(),
            windows: Windows::default(),
            told_busy: None,
            pinned: None,
            hidden_plan: None,
            highlight: Highlight::new(editor),
            frames,
            mailbox,
            tick,
            is_ticking: false,
            bars: HashMap::new(),
            unfolded: None,
            has_unfolded: false,
            read_from: None,
            is_put_away: false,
            opened: None,
        }
    }
}
