//! A message as one reads it, in a window of its own: pretty-printed, folded below its first levels, coloured as JSON.

use mlua::Result;

use crate::core::inspector::line::{bytes, clock, duration};
use crate::core::inspector::ring::Way;
use crate::core::inspector::summary::Kind;
use crate::core::text::bar::Part;
use crate::core::text::visible::{visible, visible_line};
use crate::nvim::context::Context;
use crate::nvim::editor::Win;
use crate::nvim::editor::float::{CLOSE, bind_closing};
use crate::nvim::inspector::Inspector;
use crate::nvim::inspector::page::plain_window;

const FILETYPE: &str = "acp-message";

impl Inspector {
    pub(super) fn show_message(&mut self, cx: &Context, number: u64, text: &str) -> Result<()> {
        let editor = &cx.editor;
        let buf = editor.create_buf(false, true)?;
        let lines: Vec<String> = text.split('\n').map(|line| visible(line).into_owned()).collect();
        editor.set_lines(buf, 0..1, &lines)?;
        editor.set_free_name(buf, &format!("acp://message/{number}"))?;
        editor.set_buf_option(buf, "bufhidden", "wipe")?;
        editor.set_buf_option(buf, "shiftwidth", 2)?;
        editor.set_buf_option(buf, "modifiable", false)?;
        editor.set_buf_option(buf, "filetype", FILETYPE)?;
        let kind = self.page.as_ref().and_then(|page| page.table.get(number)).map(|row| &row.summary.kind);
        if !matches!(kind, Some(Kind::Noise(_) | Kind::Text(_))) {
            editor.helper::<()>("colour_json", buf)?;
        }
        let win = self.message_window(cx)?;
        editor.set_win_buf(win, buf)?;
        plain_window(editor, win)?;
        // By indent: 'foldmethod' syntax would need a global variable that is the user's.
        editor.set_win_option(win, "foldmethod", "indent")?;
        editor.set_win_option(win, "foldlevel", 3)?;
        editor.set_win_option(win, "foldenable", true)?;
        editor.set_win_option(win, "wrap", true)?;
        self.other_bars.push((buf, self.facts(number)));
        self.fit_other_bars(editor)?;
        bind_closing(
            editor,
            buf,
            (&["q"], CLOSE),
            "q closes this message; zo, zc and zR open and close its folds",
        )
    }

    /// The window that shows a message already, or one below the page.
    fn message_window(&self, cx: &Context) -> Result<Win> {
        let editor = &cx.editor;
        let is_message = |win: &Win| {
            let of = |win| editor.buf_option::<String>(editor.win_buf(win)?, "filetype");
            of(*win).is_ok_and(|filetype| filetype == FILETYPE)
        };
        match editor.tab_wins()?.into_iter().find(is_message) {
            Some(win) => editor.set_current_win(win).map(|()| win),
            None => {
                editor.command("belowright split")?;
                editor.current_win()
            }
        }
    }

    /// What its bar says.
    fn facts(&self, number: u64) -> Vec<Part> {
        let Some(page) = &self.page else { return Vec::new() };
        let Some(row) = page.table.get(number) else { return Vec::new() };
        let what = match &row.summary.kind {
            Kind::Request { id, method } => format!("{method} #{id}"),
            Kind::Notification { method, update } => {
                format!("{method} {}", update.as_deref().unwrap_or_default())
            }
            Kind::Answer { id, .. } => format!("answer to {} #{id}", row.answers.as_deref().unwrap_or("?")),
            Kind::Noise(_) => "no message".to_owned(),
            Kind::Text(_) => "text".to_owned(),
        };
        let way = match row.summary.way {
            Way::ToAgent => "sent ",
            Way::FromAgent => "received ",
            Way::Stderr | Way::Note | Way::End => "",
        };
        let mut facts = vec![
            Part::new("AcpMeta", visible_line(what.trim_end()), 0),
            Part::new("AcpMeta", format!("{way}{}", clock(row.summary.at, page.look.offset)), 2),
            Part::new("AcpMeta", bytes(row.summary.size), 4),
        ];
        facts.extend(row.took.map(|took| Part::new("AcpMeta", format!("took {}", duration(took)), 3)));
        facts.extend(row.problem.as_ref().map(|problem| Part::new("AcpMeta", problem.text(), 1)));
        facts
    }
}
