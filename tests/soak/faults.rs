//! The faults that the soak test draws from, which the demo agent commits when a prompt names them
//! (`src/bin/demo_agent/faults.rs`), and what has to follow each of them.

/// What has to come of a turn with this fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ending {
    /// The answer stands in the transcript.
    Answered,
    /// The turn ends with an error, which the transcript tells.
    Failed,
    /// The agent is gone, and that is told.
    Gone,
    /// The user cancels, and the turn ends.
    Cancelled,
    /// Only the end of the agent ends the turn.
    Deaf,
    /// The agent wants a login; the user gives up.
    Login,
    /// Answered or failed, as the client takes it; it ends.
    Either,
}

pub struct Fault {
    pub name: &'static str,
    pub ending: Ending,
    /// How often it is drawn, beside the others.
    pub weight: u32,
    /// Too slow for the short form.
    pub slow: bool,
}

const fn often(name: &'static str, ending: Ending) -> Fault {
    Fault { name, ending, weight: 10, slow: false }
}

const fn seldom(name: &'static str, ending: Ending) -> Fault {
    Fault { name, ending, weight: 3, slow: false }
}

const fn slow(name: &'static str, ending: Ending) -> Fault {
    Fault { name, ending, weight: 1, slow: true }
}

use Ending::{Answered, Cancelled, Deaf, Either, Failed, Gone, Login};

/// Of a prompt that asks for no fault at all.
pub const NONE: Fault = often("none", Answered);

pub const FAULTS: &[Fault] = &[
    NONE,
    // The wire.
    often("cut-line", Answered),
    often("slow-line", Answered),
    often("bad-utf8", Answered),
    often("nul", Answered),
    seldom("huge-line", Answered),
    seldom("huge-line-of-json", Answered),
    often("deep-json", Answered),
    often("batch", Answered),
    often("noise", Answered),
    often("unknown-method", Answered),
    often("no-method", Answered),
    often("duplicate-ids", Answered),
    often("odd-ids", Answered),
    often("unknown-response", Answered),
    often("answer-twice", Answered),
    slow("endless-line", Gone),
    // Messages.
    seldom("wrong-types", Answered),
    often("unknown-update", Answered),
    often("unknown-session", Answered),
    often("orphan-update", Answered),
    often("status-backwards", Answered),
    often("same-call", Answered),
    often("unfinished-call", Answered),
    slow("chunks", Answered),
    slow("chunks-of-one-line", Answered),
    seldom("broken-fence", Answered),
    seldom("long-plan", Answered),
    seldom("many-calls", Answered),
    often("control-title", Answered),
    often("not-an-image", Answered),
    often("stale-diff", Answered),
    often("changed-behind", Answered),
    often("odd-locations", Answered),
    often("turn-error", Failed),
    seldom("wants-login", Login),
    often("odd-error", Failed),
    often("odd-result", Either),
    often("null-result", Either),
    often("late-update", Answered),
    often("late-request", Answered),
    often("deaf-to-cancel", Cancelled),
    often("waits-for-cancel", Cancelled),
    seldom("never-answers", Deaf),
    // Requests.
    often("released-twice", Answered),
    often("unknown-terminal", Answered),
    often("bad-command", Answered),
    seldom("wild-terminal", Answered),
    seldom("terminal-left", Answered),
    often("write", Answered),
    often("write-open", Answered),
    often("write-odd", Answered),
    often("write-outside", Answered),
    often("read-outside", Answered),
    often("read-odd", Answered),
    often("many-reads", Answered),
    often("no-options", Answered),
    often("many-options", Answered),
    often("question", Answered),
    often("question-withdrawn", Answered),
    often("question-left-open", Answered),
    often("two-questions", Answered),
    often("bad-form", Answered),
    often("form", Answered),
    // The process.
    seldom("exit-0", Gone),
    seldom("exit-1", Gone),
    seldom("exit-after-answer", Gone),
    seldom("killed", Gone),
    seldom("crashed", Gone),
    seldom("stderr-flood", Answered),
    seldom("stdout-closed", Gone),
    seldom("stdin-unread", Answered),
    seldom("stopped", Answered),
    seldom("child-left", Answered),
];

/// How an agent may fail to start, as its `--start` has it.
pub const STARTS: &[&str] = &["crash", "refuse", "noise", "mute"];

/// What a user does meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    Close,
    Stop,
    Restart,
    Cancel,
    WipeTranscript,
    WipePrompt,
    Type,
    Undo,
    Resize,
    Tab,
    Toggle,
    Queue,
    Command,
    /// Begins with an agent that does not start.
    BadStart,
}

pub const ACTIONS: &[(Action, u32)] = &[
    (Action::Close, 2),
    (Action::Stop, 2),
    (Action::Restart, 2),
    (Action::Cancel, 4),
    (Action::WipeTranscript, 2),
    (Action::WipePrompt, 2),
    (Action::Type, 8),
    (Action::Undo, 4),
    (Action::Resize, 6),
    (Action::Tab, 4),
    (Action::Toggle, 6),
    (Action::Queue, 6),
    (Action::Command, 10),
    (Action::BadStart, 1),
];

/// Commands that a user may give at any time; whether they apply just then is another matter.
pub const COMMANDS: &[&str] = &[
    "Acp follow on",
    "Acp follow off",
    "Acp review",
    "Acp diff",
    "Acp diff close",
    "Acp keep! all",
    "Acp undo! all",
    "Acp changes quickfix",
    "Acp locations turn quickfix",
    "Acp plan",
    "Acp queue",
    "Acp export",
    "Acp blame",
    "Acp keys",
    "Acp log",
    "Acp rename soaked",
    "Acp mode",
    "Acp allow",
    "Acp reject",
    "Acp answer cancel",
    "AcpChat",
    "normal! gg",
    "normal! G",
    "normal! zR",
    "wincmd w",
    "wincmd o",
    "wincmd =",
    "checktime",
    "redraw!",
];

impl Action {
    /// Whether the turn may end in any way after it.
    pub fn ends_turn(self) -> bool {
        matches!(
            self,
            Self::Close | Self::Stop | Self::Restart | Self::Cancel | Self::WipeTranscript | Self::WipePrompt
        )
    }
}
