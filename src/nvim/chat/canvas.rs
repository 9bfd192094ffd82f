//! One chat: its two buffers, and what stands in the transcript, entry by entry. How entries get there is
//! left to `drawing`, the windows to `windows`.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::rc::Rc;

use mlua::{Result, Value};

use crate::core::ids::{EntryId, SessionKey, TerminalId};
use crate::core::session::Session;
use crate::core::transcript::groups::{Groups, Place};
use crate::core::transcript::{Hints, Tail, Tally, UNPRINTABLE};
use crate::nvim::editor::{Buf, Editor};

pub struct Chat {
    pub session: SessionKey,
    pub transcript: Buf,
    pub prompt: Buf,
    pub(super) canvas: Canvas,
}

impl Chat {
    pub fn new(editor: &Editor, session: SessionKey, title: &str) -> Result<Self> {
        let transcript = buffer(editor, "acp", &format!("acp://{title} chat"))?;
        editor.set_buf_option(transcript, "modifiable", false)?;
        editor.set_buf_option(transcript, "undolevels", -1)?;
        let prompt = buffer(editor, "acp-prompt", &format!("acp://{title} prompt"))?;
        editor.set_buf_option(prompt, "omnifunc", "v:lua.require'acp.complete'.omnifunc")?;
        let canvas = Canvas::new(editor)?;
        canvas.yank_meant(editor, transcript)?;
        Ok(Self { session, transcript, prompt, canvas })
    }

    /// Both buffers are still there; a user may have wiped one.
    pub fn is_valid(&self, editor: &Editor) -> bool {
        editor.buf_is_loaded(self.transcript) && editor.buf_is_loaded(self.prompt)
    }

    /// Tells of a buffer's 'filetype'. What all there is in Neovim and its plugins for a file type is looked
    /// for then, so this can wait until the chat is on the screen.
    pub fn announce(editor: &Editor, buf: Buf) -> Result<()> {
        match editor.buf_is_loaded(buf) {
            true => editor.command_in(buf, "execute 'doautocmd <nomodeline> FileType' &filetype"),
            false => Ok(()),
        }
    }

    /// Takes its buffers away.
    pub fn close(&self, editor: &Editor) {
        for buf in [self.prompt, self.transcript] {
            if editor.buf_is_valid(buf) {
                let force = editor.table([("force", Value::Boolean(true))]);
                // A buffer that cannot go stays; it holds nothing that works any more.
                let _ = force.and_then(|force| editor.api::<()>("nvim_buf_delete", (buf, force)));
            }
        }
    }

    /// What was known of its lines, which may be much.
    pub fn into_lines(self) -> impl Send + use<> {
        self.canvas.into_lines()
    }
}

fn buffer(editor: &Editor, filetype: &str, name: &str) -> Result<Buf> {
    let buf = editor.create_buf(false, true)?;
    editor.set_buf_option(buf, "bufhidden", "hide")?;
    editor.set_buf_option(buf, "swapfile", false)?;
    editor.set_free_name(buf, name)?;
    editor.command_in(buf, &format!("noautocmd setlocal filetype={filetype}"))?;
    Ok(buf)
}

/// What stands in the buffer, entry by entry.
pub struct Canvas {
    pub(super) marks: i64,
    pub(super) regions: i64,
    pub(super) drawn: Vec<Region>,
    /// The entries that have rows, in order.
    pub(super) shown: Vec<usize>,
    pub(super) groups: Groups,
    /// The run whose line was drawn last, and what its calls did.
    pub(super) counted: Option<(Range<usize>, Tally)>,
    /// Touched entries that no frame had time for yet.
    pub(super) waiting: BTreeSet<EntryId>,
    /// The width that was drawn for, and the keys that answer.
    pub(super) width: Option<usize>,
    pub(super) hints: Rc<Hints>,
    pub(super) icons: bool,
    /// For what stands under another entry, the outermost that it stands under: it is drawn with that.
    pub(super) homes: HashMap<EntryId, EntryId>,
}

/// What stands in the buffer for one entry.
pub(super) struct Region {
    /// The extmark at its first row; none for an entry without rows.
    pub(super) start: Option<i64>,
    /// Empty for an entry that streams: its text is only ever appended to.
    pub(super) lines: Vec<String>,
    /// How much of a stream's text is in the buffer.
    pub(super) streamed: usize,
    /// How long the line is that it ends with.
    pub(super) column: usize,
    /// Its Markdown grows, and is being coloured as it does.
    pub(super) colouring: bool,
    /// It has images, which may be drawn in place.
    pub(super) pictures: bool,
    /// The rows of what stands under the entry, from its first row, the outer before the inner.
    pub(super) inner: Vec<(Range<usize>, EntryId)>,
}

/// What the user may open or fold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fold {
    Entry(EntryId),
    Run(Range<usize>),
}

/// What there is to know of a session's terminals.
pub type Tails<'a> = &'a dyn Fn(&TerminalId) -> Option<Tail>;

impl Canvas {
    fn new(editor: &Editor) -> Result<Self> {
        Ok(Self {
            marks: editor.namespace("acp.marks")?,
            regions: editor.namespace("acp.regions")?,
            drawn: Vec::new(),
            shown: Vec::new(),
            groups: Groups::default(),
            counted: None,
            waiting: BTreeSet::new(),
            width: None,
            hints: Rc::default(),
            icons: true,
            homes: HashMap::new(),
        })
    }

    /// What stands in the margin before what the plugin says.
    pub(super) fn bar(&self) -> &'static str {
        bar(self.icons)
    }

    /// Has what is yanked be what was said, also where the buffer shows it in another way.
    fn yank_meant(&self, editor: &Editor, transcript: Buf) -> Result<()> {
        editor.helper("yank_meant", (transcript, self.marks, UNPRINTABLE))
    }

    fn into_lines(self) -> impl Send + use<> {
        (self.drawn, self.shown, self.waiting)
    }

    /// Counts the calls of the run that an entry leads. A run grows at its end, call by call, and its line
    /// is drawn in each frame in which it does: what was counted already is not counted again.
    pub(super) fn count(&mut self, session: &Session, id: EntryId) {
        let leads = self.groups.place(id.0) == Place::Leads;
        let Some(run) = self.groups.run(id.0).filter(|_| leads) else { return };
        let known = self.counted.take();
        let known = known.filter(|(counted, _)| counted.start == run.start && counted.end <= run.end);
        let (counted, mut tally) = known.unwrap_or((run.start..run.start, Tally::default()));
        let new = &session.entries()[counted.end..run.end];
        tally.extend(new.iter().filter(|entry| entry.parent.is_none()));
        self.counted = Some((run, tally));
    }
}

impl Region {
    pub(super) fn empty() -> Self {
        Self {
            start: None,
            lines: Vec::new(),
            streamed: 0,
            column: 0,
            colouring: false,
            pictures: false,
            inner: Vec::new(),
        }
    }
}

/// What draws a bar in the margin.
pub(super) fn bar(has_icons: bool) -> &'static str {
    if has_icons { "\u{258e}" } else { "|" }
}
