//! Editing in the review's buffer: `:write` puts what was made of the added lines into the files, each in one
//! step of undo, and refuses where a file is not as it was shown. What could not be written is told of as soon as it was
//! typed. Reading the lines is `core::changes::review_edits`'s part.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mlua::{Function, Result};

use crate::core::changes::diff::Hunk;
use crate::core::changes::review::Splice;
use crate::core::changes::review_edits;
use crate::core::changes::text_edits::TextEdit;
use crate::nvim::arguments::fail;
use crate::nvim::buffers::open;
use crate::nvim::buffers::saving;
use crate::nvim::context::{self, Context};
use crate::nvim::diff_view::page::paint_later;
use crate::nvim::editor::first_line;
use crate::nvim::editor::{Buf, Level};
use crate::nvim::events::EditorEvent;
use crate::nvim::review::Reviews;
use crate::nvim::review::decisions::{Decided, Decision};
use crate::nvim::review::splits::name_in_project;

/// What is left to write of what was edited in the review's buffer.
struct Writing {
    panel: Buf,
    left: BTreeMap<PathBuf, Edits>,
    /// How many hunks were edited.
    count: usize,
    decision: Decision,
}

/// A hunk as it was shown, and what its added lines are to be.
type Edits = Vec<(Hunk, Vec<String>)>;

impl Reviews {
    /// What runs when the review's buffer is written.
    pub fn page_written(&self, cx: &Context, buf: Buf) -> Result<Function> {
        cx.editor.lua.create_function(move |_, ()| {
            context::run(move |this: &mut Self, cx| {
                let written = this.write_panel(cx, buf);
                report(cx, written)
            });
            Ok(())
        })
    }

    /// What runs when it is read again.
    pub fn page_read(&self, cx: &Context) -> Result<Function> {
        cx.editor.lua.create_function(|_, ()| {
            context::run(|this: &mut Self, cx| {
                let Some(mut panel) = this.panel.take() else { return Ok(()) };
                let drawn = panel.draw_anew(&cx.editor, |panel| this.page_of(cx, panel));
                this.panel = Some(panel);
                drawn?;
                paint_later(cx, this, Self::panel_view)
            });
            Ok(())
        })
    }

    /// What runs when its text has changed.
    pub fn page_edited(&self, cx: &Context, buf: Buf) -> Result<Function> {
        cx.editor.lua.create_function(move |_, ()| {
            context::run(move |this: &mut Self, cx| this.check_edits(cx, buf));
            Ok(())
        })
    }

    /// Tells the user once of what can't be written.
    fn check_edits(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        let Some(panel) = self.panel.as_mut().filter(|panel| panel.buf == buf) else { return Ok(()) };
        let wrong = match panel.is_edited(&cx.editor) {
            true => review_edits::read(&panel.view.page.parts, &cx.editor.lines(buf, 0, -1)?).err(),
            false => None,
        };
        let known = std::mem::replace(&mut panel.told, wrong.clone());
        if let Some(why) = wrong.filter(|why| known.as_ref() != Some(why)) {
            let undo = cx.config.keys.named("review_take_back", "takes it back");
            let text = [Some(why), undo].into_iter().flatten().collect::<Vec<_>>().join("; ");
            cx.notify(text, Level::Warn);
        }
        Ok(())
    }

    fn write_panel(&mut self, cx: &mut Context, buf: Buf) -> Result<()> {
        let Some(panel) = self.panel.as_ref().filter(|panel| panel.buf == buf) else { return Ok(()) };
        let lines = cx.editor.lines(buf, 0, -1)?;
        let edits = match review_edits::read(&panel.view.page.parts, &lines) {
            Ok(edits) => edits,
            Err(why) => return fail(format!("couldn't write: {why}")),
        };
        let mut by_file: BTreeMap<PathBuf, Edits> = BTreeMap::new();
        for (number, lines) in edits {
            let Some(listed) = panel.view.page.hunks.get(number) else { continue };
            // What the page doesn't show stays.
            let lines = lines.into_iter().chain(listed.rest().iter().cloned()).collect();
            by_file.entry(listed.path.clone()).or_default().push((Hunk::clone(&listed.hunk), lines));
        }
        for buf in by_file.keys().filter_map(|path| self.files.get(path)?.buf) {
            cx.raise(EditorEvent::ReviewOutdated(buf));
        }
        cx.after_events(move |this: &mut Self, cx| {
            let written = this.write_hunks(cx, buf, by_file);
            report(cx, written)
        });
        Ok(())
    }

    fn write_hunks(&mut self, cx: &mut Context, panel: Buf, by_file: BTreeMap<PathBuf, Edits>) -> Result<()> {
        // All of it or nothing.
        for (path, edits) in &by_file {
            if let Err(why) = self.find_edited(path, edits) {
                return fail(format!("couldn't write: {}{why}", name_in_project(cx, path)));
            }
        }
        let count = by_file.values().map(Vec::len).sum();
        self.write_next(cx, Writing { panel, left: by_file, count, decision: Decision::default() })
    }

    /// Writes one file after the other. One that is only being opened is waited for.
    fn write_next(&mut self, cx: &mut Context, mut writing: Writing) -> Result<()> {
        while let Some((path, edits)) = writing.left.pop_first() {
            match self.files.get(&path).and_then(|reviewed| reviewed.buf) {
                Some(buf) if cx.editor.buf_is_loaded(buf) => {
                    let decided = self.apply_edits(cx, buf, &path, &edits)?;
                    writing.decision.files.extend(decided);
                }
                _ => {
                    let buf = open::load(&cx.editor, &path)?;
                    cx.raise(EditorEvent::BufferLoaded(buf));
                    cx.after_events(move |this: &mut Self, cx| {
                        let written = this.apply_edits(cx, buf, &path, &edits).and_then(|decided| {
                            writing.decision.files.extend(decided);
                            this.write_next(cx, writing)
                        });
                        report(cx, written)
                    });
                    return Ok(());
                }
            }
        }
        self.decisions.add(writing.decision);
        cx.editor.set_buf_option(writing.panel, "modified", false)?;
        self.draw_reviews(cx)?;
        if writing.count > 0 {
            let text =
                format!("changed {} {}", writing.count, if writing.count == 1 { "hunk" } else { "hunks" });
            cx.notify(text, Level::Info);
        }
        Ok(())
    }

    /// Where the hunks stand that were edited, or why they can't be.
    fn find_edited(&self, path: &Path, edits: &Edits) -> std::result::Result<Vec<usize>, String> {
        let Some(file) = self.files.get(path).and_then(|reviewed| reviewed.file.as_deref()) else {
            return Err(" is being compared; write again in a moment".to_owned());
        };
        if !file.is_there {
            return Err(" is gone; undo it in the review to bring it back".to_owned());
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

    fn apply_edits(
        &mut self,
        cx: &mut Context,
        buf: Buf,
        path: &Path,
        edits: &Edits,
    ) -> Result<Option<Decided>> {
        let editor = cx.editor.clone();
        // Reading the file may have shown that it is another one.
        if let Err(why) = self.find_edited(path, edits) {
            return fail(format!("couldn't write: {}{why}", name_in_project(cx, path)));
        }
        if !editor.buf_option::<bool>(buf, "modifiable")? {
            return fail(format!(
                "couldn't change {}: its buffer is not 'modifiable'",
                cx.short_name(None, path)
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
        let content = saving::Content::as_before(&editor, buf)?;
        let done = saving::write(&editor, buf, &texts, &content);
        let mut decided = None;
        if let Some(reviewed) = self.files.get_mut(path)
            && let Some(file) = &mut reviewed.file
        {
            let was = file.clone();
            splices.into_iter().for_each(|splice| file.user_spliced(splice));
            reviewed.touched = true;
            decided = Some(Decided::new(path.to_owned(), was, file.text_identity()));
        }
        self.outdate(path);
        self.set_reviewed_tick(cx, path, buf)?;
        match done {
            Ok(()) => Ok(decided),
            Err(why) => {
                self.review_again(cx, path, buf)?;
                fail(format!("couldn't change {}: {why}", cx.short_name(None, path)))
            }
        }
    }
}

/// Says why something was not written, but not within the autocommand, which would have Neovim say more, and
/// wait for a key.
fn report(cx: &Context, written: Result<()>) -> Result<()> {
    let Err(error) = written else { return Ok(()) };
    let why = first_line(&error);
    cx.later(Duration::ZERO, move |_: &mut Reviews, cx| {
        cx.editor.notify(&why, Level::Error);
        Ok(())
    })
}
