//! Editing in the review's buffer: `:write` puts what was made of the added lines into the files, each in one
//! step of undo, and refuses where a file is not as it was shown. Reading the lines is `core::changes::review_edits`'s part.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mlua::{Function, Result};

use crate::core::changes::diff::Hunk;
use crate::core::changes::review::Splice;
use crate::core::changes::review_edits;
use crate::core::changes::text_edits::TextEdit;
use crate::nvim::actions::fail;
use crate::nvim::app::App;
use crate::nvim::buffers::saving;
use crate::nvim::editor::first_line;
use crate::nvim::editor::{Buf, Level};
use crate::nvim::{follow, later, run};

/// A hunk as it was shown, and what its added lines are to be.
type Edits = Vec<(Hunk, Vec<String>)>;

impl App {
    /// What runs when the review's buffer is written.
    pub fn page_written(&self, buf: Buf) -> Result<Function> {
        self.cx.editor.lua.create_function(move |_, ()| {
            run(move |app| {
                let Err(error) = app.write_panel(buf) else { return Ok(()) };
                // Not within the autocommand, which would have Neovim say more, and wait for a key.
                let why = first_line(&error);
                later(&app.cx.editor.lua, Duration::ZERO, move |app| {
                    app.cx.editor.notify(&why, Level::Error);
                    Ok(())
                })
            });
            Ok(())
        })
    }

    /// What runs when it is read again.
    pub fn page_read(&self) -> Result<Function> {
        self.cx.editor.lua.create_function(|_, ()| {
            run(|app| {
                let Some(mut panel) = app.reviews.panel.take() else { return Ok(()) };
                let drawn = panel.draw_anew(&app.cx.editor, &app.reviews, &app.cx.config.keys);
                app.reviews.panel = Some(panel);
                drawn
            });
            Ok(())
        })
    }

    fn write_panel(&mut self, buf: Buf) -> Result<()> {
        let Some(panel) = self.reviews.panel.as_ref().filter(|panel| panel.buf == buf) else { return Ok(()) };
        let lines = self.cx.editor.lines(buf, 0, -1)?;
        let edits = match review_edits::read(&panel.page.parts, &lines) {
            Ok(edits) => edits,
            Err(why) => return fail(format!("couldn't write: {why}")),
        };
        let mut by_file: BTreeMap<PathBuf, Edits> = BTreeMap::new();
        for (number, lines) in edits {
            let Some((path, hunk)) = panel.page.hunks.get(number) else { continue };
            by_file.entry(path.clone()).or_default().push((hunk.clone(), lines));
        }
        // All of it or nothing.
        for (path, edits) in &by_file {
            if let Some(buf) = self.reviews.files.get(path).and_then(|reviewed| reviewed.buf) {
                self.review_stale(buf)?;
            }
            if let Err(why) = self.find_edited(path, edits) {
                return fail(format!("couldn't write: {}{why}", self.name_in_project(path)));
            }
        }
        let count: usize = by_file.values().map(Vec::len).sum();
        for (path, edits) in by_file {
            self.apply_edits(&path, &edits)?;
        }
        self.cx.editor.set_buf_option(buf, "modified", false)?;
        self.draw_reviews()?;
        if count > 0 {
            let text = format!("changed {count} {}", if count == 1 { "hunk" } else { "hunks" });
            self.cx.advise(text, Level::Info);
        }
        Ok(())
    }

    /// Where the hunks stand that were edited, or why they can't be.
    fn find_edited(&self, path: &Path, edits: &Edits) -> std::result::Result<Vec<usize>, String> {
        let Some(file) = self.reviews.files.get(path).and_then(|reviewed| reviewed.file.as_deref()) else {
            return Err(" is being compared; write again in a moment".to_owned());
        };
        if !file.is_there {
            return Err(" is gone; x on it brings it back".to_owned());
        }
        let hunks = file.hunks();
        let find = |hunk: &Hunk| {
            if hunk.added.iter().any(|line| line.contains(['\n', '\r'])) {
                return Err(format!(":{} holds line breaks; change it in the file", hunk.row + 1));
            }
            let place = hunks.iter().position(|other| other == hunk);
            place.ok_or_else(|| format!(":{} has changed since; :edit! reloads it", hunk.row + 1))
        };
        edits.iter().map(|(hunk, _)| find(hunk)).collect()
    }

    fn apply_edits(&mut self, path: &Path, edits: &Edits) -> Result<()> {
        let editor = self.cx.editor.clone();
        let buf = match self.reviews.files.get(path).and_then(|reviewed| reviewed.buf) {
            Some(buf) if editor.buf_is_loaded(buf) => buf,
            _ => {
                let buf = follow::load(&editor, path)?;
                self.buffer_loaded(buf)?;
                buf
            }
        };
        // Reading the file may have shown that it is another one.
        if let Err(why) = self.find_edited(path, edits) {
            return fail(format!("couldn't write: {}{why}", self.name_in_project(path)));
        }
        if !editor.buf_option::<bool>(buf, "modifiable")? {
            return fail(format!(
                "couldn't change {}: its buffer is not 'modifiable'",
                self.cx.short_name(None, path)
            ));
        }
        let mut splices: Vec<Splice> = edits
            .iter()
            .map(|(hunk, lines)| Splice { rows: hunk.row..hunk.row + hunk.added.len(), lines: lines.clone() })
            .collect();
        splices.sort_by_key(|splice| std::cmp::Reverse(splice.rows.start));
        let texts: Vec<TextEdit> = splices.iter().cloned().map(TextEdit::from).collect();
        // A step of its own for `u`.
        editor.command_in(buf, "let &g:undolevels = &g:undolevels")?;
        let content = saving::Content { ends_with_newline: editor.buf_option(buf, "endofline")? };
        let done = saving::write(&editor, buf, &texts, &content);
        if let Some(reviewed) = self.reviews.files.get_mut(path)
            && let Some(file) = &mut reviewed.file
        {
            splices.into_iter().for_each(|splice| file.user_spliced(splice));
            reviewed.touched = true;
        }
        self.set_reviewed_tick(path, buf)?;
        match done {
            Ok(()) => Ok(()),
            Err(why) => {
                self.review_again(path, buf)?;
                fail(format!("couldn't change {}: {why}", self.cx.short_name(None, path)))
            }
        }
    }
}
