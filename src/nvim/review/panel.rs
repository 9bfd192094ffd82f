//! The review of all that is left to decide as one buffer. What stands in it is `core::changes::review_page`'s part,
//! how that looks `diff_view`'s, what its keys do `panel_actions`'.

use std::path::PathBuf;

use mlua::Result;

use crate::core::changes::hunk_page::Page;
use crate::core::changes::scope::Scope;
use crate::nvim::diff_view::page::PageView;
use crate::nvim::editor::{Buf, Editor};

pub struct Panel {
    pub buf: Buf,
    pub scope: Scope,
    /// Where relative paths begin.
    pub root: PathBuf,
    pub view: PageView,
    /// Why what was typed can't be written, as the user was told last.
    pub told: Option<String>,
}

impl Panel {
    pub fn new(buf: Buf, scope: Scope, root: PathBuf) -> Self {
        Self { buf, scope, root, view: PageView::default(), told: None }
    }

    /// Whether the user has edited it, and not written that yet.
    pub fn is_edited(&self, editor: &Editor) -> bool {
        editor.buf_option(self.buf, "modified").unwrap_or(false)
    }

    /// Draws the buffer anew where it has changed, unless the user is editing it.
    pub fn draw(&mut self, editor: &Editor, make: impl FnOnce(&Self) -> Page) -> Result<()> {
        if !editor.buf_is_loaded(self.buf) || self.is_edited(editor) {
            return Ok(());
        }
        let page = make(self);
        self.view.put(page, editor, self.buf)
    }

    /// Draws all of it anew, whatever the user did to it.
    pub fn draw_anew(&mut self, editor: &Editor, make: impl FnOnce(&Self) -> Page) -> Result<()> {
        self.view = PageView::default();
        editor.set_buf_option(self.buf, "modified", false)?;
        self.draw(editor, make)
    }
}
