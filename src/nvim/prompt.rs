//! What is known of each chat's prompt beside its text: where its references point in buffers that
//! are being edited, where its user is in the history, and what was sent and waits for its files to be
//! read. What is done with it is `prompt::buffers`, `prompt::submit` and `prompt::references`.

pub mod actions;
pub mod adding;
pub mod asker;
pub mod buffers;
pub mod edit;
pub mod long;
pub mod queue;
pub mod queue_list;
pub mod references;
pub mod submit;
pub mod suggestions;
pub mod unsaved_note;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::{Path, PathBuf};

use mlua::{Function, Result, Table, Value};

use crate::core::ids::SessionKey;
use crate::core::message::{Command, Content, Draft};
use crate::core::session::Queued;
use crate::core::session::prompt_history::{Browse, History};
use crate::core::session::references::{Lines, Target};
use crate::core::text::Text;
use crate::nvim::context::Context;
use crate::nvim::editor::{Buf, Editor, Win};
use crate::nvim::events::SendMode;

/// All prompts, and what they share.
pub struct Prompts {
    /// Where this plugin keeps things.
    state: PathBuf,
    /// Where pasted images go.
    images: PathBuf,
    open: HashMap<SessionKey, Prompt>,
    /// By the project's folder in the state.
    histories: HashMap<PathBuf, History>,
    /// Of Neovims that are gone; not in a prompt yet.
    adopted: HashMap<PathBuf, Vec<Draft>>,
    /// The file, or nameless text, that the user was in last.
    last_buffer: Option<Buf>,
    notes: Notes,
    /// What goes along with the next prompt of a session: what was said before in another one.
    before: HashMap<SessionKey, Content>,
    /// The list of waiting prompts that is open.
    queue_list: Option<QueueList>,
    last_sending: u64,
    live: Table,
    // Namespaces.
    anchors: i64,
    references: i64,
    queue: i64,
    filling: i64,
}

pub struct Prompt {
    /// The project's folder in the state.
    pub folder: PathBuf,
    /// As it was last seen: its buffer may be wiped.
    pub text: Text,
    /// `b:changedtick` of a long text, which is not read at each key.
    pub read_at: Option<u64>,
    /// A long text waits for a pause to be read.
    pub reads: bool,
    /// A long text is on its way in or out.
    pub filling: bool,
    pub browse: Option<Browse>,
    /// What was not sent since it looks like a command: sent once more, it is meant.
    pub doubted: Option<Text>,
    pub anchors: Vec<Anchor>,
    /// Which files are there, as last heard.
    pub known: HashMap<PathBuf, bool>,
    pub sending: VecDeque<Sending>,
}

/// The list of waiting prompts that is open.
struct QueueList {
    session: SessionKey,
    buf: Buf,
    win: Win,
    /// The prompts that were removed in it, and where each of them stood.
    removed: Vec<(usize, Queued)>,
}

/// Notes of unsaved edits.
#[derive(Default)]
struct Notes {
    /// What each agent was told of last: the buffers' files and ticks.
    told: HashMap<SessionKey, Vec<(PathBuf, u64)>>,
    /// The prompts that wait for their notes, by number.
    held: BTreeMap<u64, Held>,
    last: u64,
}

/// A prompt that waits for its note.
struct Held {
    session: SessionKey,
    content: Vec<Content>,
    names: Vec<String>,
}

/// The lines that a reference means, where they are edited.
pub struct Anchor {
    pub target: Target,
    pub buf: Buf,
    /// The extmark over them.
    pub mark: i64,
}

/// A prompt that was sent by its user.
pub struct Sending {
    pub number: u64,
    pub text: Text,
    pub mode: SendMode,
    /// Once what it refers to was read.
    pub content: Option<Vec<Content>>,
}

impl Prompts {
    pub fn new(editor: &Editor) -> Result<Self> {
        let folder = |what: &str| -> Result<PathBuf> {
            Ok(PathBuf::from(editor.func::<String>("stdpath", what)?).join("acp"))
        };
        Ok(Self {
            state: folder("state")?,
            images: folder("cache")?.join("images"),
            open: HashMap::new(),
            histories: HashMap::new(),
            adopted: HashMap::new(),
            last_buffer: None,
            notes: Notes::default(),
            before: HashMap::new(),
            queue_list: None,
            last_sending: 0,
            live: editor.lua.load(include_str!("prompt.lua")).set_name("=acp/prompt").eval()?,
            anchors: editor.namespace("acp.anchors")?,
            references: editor.namespace("acp.chips")?,
            queue: editor.namespace("acp.queue")?,
            filling: editor.namespace("acp.filling")?,
        })
    }

    /// The background keeps the images of sessions where pasted ones are.
    pub fn keep_images(&self, cx: &mut Context) {
        cx.send(Command::KeepImages { folder: self.images.clone() });
    }

    /// Where a project's prompts are kept: readable, and never the same for two projects.
    pub fn folder_of(&self, root: &Path) -> PathBuf {
        let text = root.to_string_lossy();
        // FNV-1a: the same for ever, which the standard library's hasher does not promise.
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let name = root.file_name().unwrap_or_default().to_string_lossy();
        self.state.join("projects").join(format!("{name}-{hash:016x}"))
    }

    /// A function of `prompt.lua`.
    pub fn live<R: mlua::FromLuaMulti>(&self, name: &str, args: impl mlua::IntoLuaMulti) -> Result<R> {
        self.live.get::<Function>(name)?.call(args)
    }
}

impl Prompt {
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            text: Text::default(),
            read_at: None,
            reads: false,
            filling: false,
            browse: None,
            doubted: None,
            anchors: Vec::new(),
            known: HashMap::new(),
            sending: VecDeque::new(),
        }
    }
}

impl Anchor {
    /// Watches lines of a buffer; `None` where it has not as many.
    pub fn new(editor: &Editor, ns: i64, target: Target, buf: Buf, lines: Lines) -> Result<Option<Self>> {
        let count = editor.line_count(buf)?;
        if lines.last > count {
            return Ok(None);
        }
        let options = editor.table([
            ("end_row", Value::Integer(lines.last as i64 - 1)),
            ("end_col", Value::Integer(editor.line_len(buf, lines.last - 1)? as i64)),
            ("end_right_gravity", Value::Boolean(false)),
        ])?;
        let mark = editor.set_extmark(buf, ns, (lines.first - 1, 0), options)?;
        Ok(Some(Self { target, buf, mark }))
    }

    /// Where the lines are now; `None` once the buffer is gone.
    pub fn lines(&self, editor: &Editor, ns: i64) -> Result<Option<Lines>> {
        if !editor.buf_is_loaded(self.buf) {
            return Ok(None);
        }
        let details = editor.table([("details", Value::Boolean(true))])?;
        let position: Table = editor.api("nvim_buf_get_extmark_by_id", (self.buf, ns, self.mark, details))?;
        let Some(first) = position.get::<Option<usize>>(1)? else { return Ok(None) };
        let details: Table = position.get(3)?;
        let last = details.get::<Option<usize>>("end_row")?.unwrap_or(first);
        Ok(Lines::new(first + 1, last.max(first) + 1))
    }

    pub fn remove(&self, editor: &Editor, ns: i64) -> Result<()> {
        if editor.buf_is_valid(self.buf) {
            editor.api::<bool>("nvim_buf_del_extmark", (self.buf, ns, self.mark))?;
        }
        Ok(())
    }
}
