//! `:Acp record`: what went over the wire as a file that can be given away. Names and secrets are taken out by the
//! background; what is left stands in a buffer for the user to read, and to take out more, before any of it is written.

use mlua::{Result, Value};

use crate::core::inspector::scrub::Origin;
use crate::core::inspector::{Recorded, Request, Target};
use crate::core::message::Command;
use crate::core::text::bar::Part;
use crate::nvim::arguments::{Args, fail};
use crate::nvim::context::{self, Context};
use crate::nvim::editor::Level;
use crate::nvim::editor::autocommands::Group;
use crate::nvim::editor::float::bind_closing;
use crate::nvim::inspector::page::plain_window;
use crate::nvim::inspector::{Confirming, Inspector};

/// What is worth a look before it is given away: paths elsewhere, addresses of people and machines, long words that may
/// be keys.
const SYNTAX: &[&str] = &[
    r"syntax match AcpToolDone /\[hidden\]/",
    r"syntax match AcpToolWaiting /[A-Za-z0-9._+-]\+@[A-Za-z0-9-]\+\.[A-Za-z0-9.-]\+/",
    r"syntax match AcpToolWaiting /\%(project\|home\|opt\|usr\|tmp\|bin\|dev\)\@<!\/\%(home\|Users\|root\)\/\%(user\>\)\@![^\/\x22 ]\+/",
    r"syntax match AcpToolWaiting /\<\d\{1,3}\%(\.\d\{1,3}\)\{3}\>/",
    r"syntax match AcpToolWaiting /\<[A-Za-z0-9+_=]\{40,}\>/",
];

impl Inspector {
    /// Makes a recording of what went over the wire: of the session's agent here, else of whichever spoke last.
    /// Nothing is written before the user has seen it.
    pub fn record(&mut self, cx: &mut Context, args: &Args) -> Result<()> {
        let Some(name) = args.first() else {
            return fail("name the file to save to, as in :Acp record bug.jsonl");
        };
        let target = Target { path: cx.absolute(name), replaces: args.bang };
        let session = cx.session_here().and_then(|key| cx.sessions.get(&key));
        let agent = session.map(|session| session.agent_name.clone());
        let job = cx.next_job();
        self.recording.insert(job, target.clone());
        let origin = origin(cx)?;
        cx.send(Command::Inspect(Request::Record { job, agent, target, origin }));
        Ok(())
    }

    pub(super) fn show_recording(
        &mut self,
        cx: &mut Context,
        target: Target,
        recorded: &Recorded,
    ) -> Result<()> {
        let editor = cx.editor.clone();
        let buf = editor.create_buf(false, false)?;
        editor.set_free_name(buf, "acp://recording")?;
        for (option, value) in [("buftype", "acwrite"), ("bufhidden", "wipe"), ("filetype", "acp-recording")]
        {
            editor.set_buf_option(buf, option, value)?;
        }
        editor.set_buf_option(buf, "swapfile", false)?;
        editor.set_buf_option(buf, "undofile", false)?;
        editor.set_lines(buf, 0..1, &recorded.lines)?;
        editor.set_buf_option(buf, "modified", false)?;
        SYNTAX.iter().try_for_each(|command| editor.command_in(buf, command))?;
        editor.command("stopinsert")?;
        let (_, rows) = editor.size();
        let win = editor.split_for_page((rows * 2 / 3).max(5))?;
        editor.set_win_buf(win, buf)?;
        plain_window(&editor, win)?;
        editor.set_win_option(win, "wrap", true)?;
        let several =
            |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let messages = several(recorded.lines.len(), "message");
        let names =
            several(recorded.replaced, "name or secret").replace("name or secrets", "names and secrets");
        let mut facts = vec![
            Part::new("AcpWinbar", ":w saves", 0),
            Part::new("AcpWinbar", "q abandons", 1),
            Part::new("AcpMeta", format!("{messages} of {}", recorded.agent), 3).after("  "),
            Part::new("AcpMeta", format!("{names} taken out"), 2),
        ];
        if !recorded.is_whole {
            facts.push(Part::new("AcpMeta", "the beginning is gone", 4));
        }
        facts.push(Part::new("AcpMeta", "read it: this is all that is saved", 5));
        self.other_bars.push((buf, facts));
        self.fit_other_bars(&editor)?;
        let group = Group::new(&editor, "acp.recording")?;
        let of_buf = || vec![("buffer", Value::Integer(buf.0))];
        group.create(&["BufWriteCmd"], of_buf(), |_, _| {
            context::run(|this: &mut Self, cx| this.save(cx));
            Ok(())
        })?;
        bind_closing(&editor, buf, (&["q"], "<Cmd>bwipeout!<CR>"), ":w saves this recording, q abandons it")?;
        self.confirming = Some(Confirming { buf, target });
        Ok(())
    }

    fn save(&mut self, cx: &mut Context) -> Result<()> {
        let Some(Confirming { buf, target }) = &self.confirming else { return Ok(()) };
        let mut text = cx.editor.lines(*buf, 0, -1)?.join("\n");
        text.push('\n');
        let job = cx.next_job();
        let target = target.clone();
        self.saving.insert(job, target.clone());
        cx.send(Command::Inspect(Request::Save { job, target, text }));
        Ok(())
    }

    pub(super) fn saved(
        &mut self,
        cx: &mut Context,
        target: &Target,
        saved: std::result::Result<(), String>,
    ) -> Result<()> {
        match saved {
            Err(why) => fail(why),
            Ok(()) => {
                if let Some(confirming) = self.confirming.take_if(|confirming| confirming.target == *target)
                    && cx.editor.buf_is_valid(confirming.buf)
                {
                    cx.editor.set_buf_option(confirming.buf, "modified", false)?;
                    cx.editor.delete_buf(confirming.buf)?;
                }
                cx.notify(format!("saved {}; :Acp replay plays it", target.path.display()), Level::Info);
                Ok(())
            }
        }
    }
}

/// What says where and by whom it was recorded.
fn origin(cx: &Context) -> Result<Origin> {
    let editor = &cx.editor;
    let mut projects = vec![cx.root().to_string_lossy().into_owned()];
    projects.extend(cx.sessions.values().map(|session| session.place.cwd.to_string_lossy().into_owned()));
    let home: String = editor.func("expand", "~")?;
    let user: String = editor.func("expand", "$USER")?;
    let host: String = editor.func("hostname", ())?;
    let user = if user.starts_with('$') { String::new() } else { user };
    Ok(Origin { projects, homes: vec![home], user, host })
}
