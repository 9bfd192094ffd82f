//! The window in which the filter is typed: one line above the page's last ones, with what may be typed around it. The
//! page follows each letter.

use mlua::{Function, Result, Table, Value};

use crate::core::inspector::filter::{Filter, HELP};
use crate::core::text::bar::whole_parts;
use crate::nvim::context::{self, Context};
use crate::nvim::editor::autocommands::Group;
use crate::nvim::inspector::{Inspector, Typing};

impl Inspector {
    pub(super) fn type_filter(&mut self, cx: &mut Context) -> Result<()> {
        let editor = cx.editor.clone();
        let Some(page) = &mut self.page else { return Ok(()) };
        let above = editor.current_win()?;
        let (columns, rows) = editor.win_size(above)?;
        let buf = editor.create_buf(false, true)?;
        editor.set_buf_option(buf, "bufhidden", "wipe")?;
        editor.set_buf_option(buf, "filetype", "acp-filter")?;
        let typed = match page.filter.typed() {
            "" => String::new(),
            typed => format!("{typed} "),
        };
        editor.set_lines(buf, 0..1, &[&typed])?;
        let help = whole_parts(HELP, usize::from(columns.saturating_sub(6)));
        let config = editor.table([
            ("relative", editor.string("win")?),
            ("win", Value::Integer(above.0)),
            ("row", Value::Integer(rows.saturating_sub(3).into())),
            ("col", Value::Integer(0)),
            ("width", Value::Integer(columns.saturating_sub(2).max(1).into())),
            ("height", Value::Integer(1)),
            ("border", editor.string("rounded")?),
            ("style", editor.string("minimal")?),
            ("title", editor.string(" Filter ")?),
            ("footer", editor.string(format!(" {help} "))?),
        ])?;
        let win = editor.open_win(buf, true, config)?;
        page.note_places(&editor)?;
        page.typing = Some(Typing { buf, win });
        let group = Group::new(&editor, "acp.filter")?;
        let of_buf = || vec![("buffer", Value::Integer(buf.0))];
        group.create(&["TextChanged", "TextChangedI", "TextChangedP"], of_buf(), |_, _| {
            context::run(|this: &mut Self, cx| this.filter_typed(cx));
            Ok(())
        })?;
        group.create(&["BufLeave"], of_buf(), |_, _| {
            context::run(|this: &mut Self, cx| this.close_filter(cx, true));
            Ok(())
        })?;
        let set: Function = editor.module("keymap")?.get("set")?;
        for (modes, key, keeps) in
            [(["n", "i"], "<CR>", true), (["n", "i"], "<Esc>", true), (["n", "i"], "<C-c>", false)]
        {
            let done = editor.lua.create_function(move |_, ()| {
                context::run(move |this: &mut Self, cx| this.close_filter(cx, keeps));
                Ok(())
            })?;
            let options: Table =
                editor.table([("buffer", Value::Integer(buf.0)), ("nowait", Value::Boolean(true))])?;
            set.call::<()>((modes.to_vec(), key, done, options))?;
        }
        editor.command("startinsert!")
    }

    fn filter_typed(&mut self, cx: &mut Context) -> Result<()> {
        let Some(typing) = self.page.as_ref().and_then(|page| page.typing.as_ref()) else { return Ok(()) };
        if !cx.editor.buf_is_valid(typing.buf) {
            return Ok(());
        }
        let text = cx.editor.lines(typing.buf, 0, 1)?.pop().unwrap_or_default();
        self.set_filter(cx, Filter::read(&text))
    }

    fn close_filter(&mut self, cx: &mut Context, keeps: bool) -> Result<()> {
        self.filter_typed(cx)?;
        if !keeps {
            // Back to where it was begun.
            self.set_filter(cx, Filter::default())?;
        }
        let Some(typing) = self.page.as_mut().and_then(|page| page.typing.take()) else { return Ok(()) };
        cx.editor.command("stopinsert")?;
        if cx.editor.win_is_valid(typing.win) {
            cx.editor.close_win(typing.win)?;
        }
        Ok(())
    }
}
