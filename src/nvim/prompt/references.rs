//! References in a prompt: coloured where there is something behind them, and kept at the
//! lines that they meant while the buffer is edited. What they become when sent is left to `submit`.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use mlua::{Result, Value};

use crate::core::ids::SessionKey;
use crate::core::message::{Outcome, Work};
use crate::core::session::references::{Reference, Target, references};
use crate::nvim::context::{Context, LONG_PROMPT};
use crate::nvim::editor::Buf;
use crate::nvim::prompt::{Anchor, Prompts};
use crate::platform::paths::home_expanded;

impl Prompts {
    /// The file that a reference means.
    pub fn path_meant(cx: &Context, key: SessionKey, path: &str) -> Option<PathBuf> {
        let root = &cx.sessions.get(&key)?.place.cwd;
        Some(match path.strip_prefix("./") {
            Some(rest) => root.join(rest),
            None => root.join(home_expanded(path)),
        })
    }

    /// The buffer that holds what a reference means.
    pub fn buffer_meant(cx: &Context, key: SessionKey, target: &Target) -> Option<Buf> {
        match target {
            Target::File { path, .. } => cx.buf_of(&Self::path_meant(cx, key, path)?),
            Target::Numbered { buffer, .. } => Some(Buf(*buffer)).filter(|buf| cx.editor.buf_is_loaded(*buf)),
            _ => None,
        }
    }

    /// Colours the references of a prompt, and has those files looked for that are not known yet.
    pub fn mark_references(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        let (Some(prompt), Some(chat)) = (self.open.get(&key), cx.chats.get(&key).copied()) else {
            return Ok(());
        };
        if prompt.text.len() > LONG_PROMPT {
            return Ok(());
        }
        let (buf, text) = (chat.prompt, prompt.text.clone());
        let found = references(&text);
        self.anchor(cx, key, &found)?;
        cx.editor.clear_namespace(buf, self.references, 0, -1)?;
        let mut unknown = Vec::new();
        for Reference { at, target } in found {
            let group = match &target {
                Target::File { path, .. } => {
                    let Some(path) = Self::path_meant(cx, key, path) else { continue };
                    let held = Self::buffer_meant(cx, key, &target).is_some();
                    match self.open.get(&key).and_then(|prompt| prompt.known.get(&path)) {
                        _ if held => "AcpMention",
                        Some(true) => "AcpMention",
                        // Also a bare word, though it may be a person: nothing is sent for it.
                        Some(false) => "AcpMentionMissing",
                        None => {
                            unknown.push(path);
                            continue;
                        }
                    }
                }
                Target::Numbered { .. } if Self::buffer_meant(cx, key, &target).is_none() => {
                    "AcpMentionMissing"
                }
                _ => "AcpMention",
            };
            let row = text[..at.start].matches('\n').count();
            let begin = text[..at.start].rfind('\n').map_or(0, |at| at + 1);
            let options = cx.editor.table([
                ("end_col", Value::Integer((at.end - begin) as i64)),
                ("hl_group", cx.editor.string(group)?),
                // A script may have changed the text since it was read.
                ("strict", Value::Boolean(false)),
            ])?;
            cx.editor.set_extmark(buf, self.references, (row, at.start - begin), options)?;
        }
        if unknown.is_empty() {
            return Ok(());
        }
        let work = Work::Exists { paths: unknown.clone() };
        cx.compute(work, move |this: &mut Self, cx, outcome| match outcome {
            Outcome::Exists(there) => this.told_which_exist(cx, key, unknown, &there),
            _ => Ok(()),
        });
        Ok(())
    }

    fn told_which_exist(
        &mut self,
        cx: &mut Context,
        key: SessionKey,
        paths: Vec<PathBuf>,
        there: &[bool],
    ) -> Result<()> {
        let Some(prompt) = self.open.get_mut(&key) else { return Ok(()) };
        // Files come and go: what is known is of the prompt that is being typed.
        if prompt.known.len() > 500 {
            prompt.known.clear();
        }
        prompt.known.extend(paths.into_iter().zip(there.iter().copied()));
        self.mark_references(cx, key)
    }

    /// Watches the lines that references mean, and no longer those of references that are gone.
    fn anchor(&mut self, cx: &mut Context, key: SessionKey, found: &[Reference]) -> Result<()> {
        let ns = self.anchors;
        let meant: HashSet<&Target> = found.iter().map(|reference| &reference.target).collect();
        let Some(prompt) = self.open.get_mut(&key) else { return Ok(()) };
        let (kept, gone): (Vec<_>, Vec<_>) = std::mem::take(&mut prompt.anchors)
            .into_iter()
            .partition(|anchor| meant.contains(&anchor.target));
        prompt.anchors = kept;
        for anchor in gone {
            anchor.remove(&cx.editor, ns)?;
        }
        for target in meant {
            let Some(lines) = target.lines() else { continue };
            let known = |anchor: &Anchor| anchor.target == *target;
            if self.open.get(&key).is_some_and(|prompt| prompt.anchors.iter().any(known)) {
                continue;
            }
            let Some(buf) = Self::buffer_meant(cx, key, target) else { continue };
            if let Some(anchor) = Anchor::new(&cx.editor, ns, target.clone(), buf, lines)?
                && let Some(prompt) = self.open.get_mut(&key)
            {
                prompt.anchors.push(anchor);
            }
        }
        Ok(())
    }

    /// Writes the references of a prompt anew whose lines have moved.
    pub fn follow_anchors(&mut self, cx: &mut Context, key: SessionKey) -> Result<()> {
        let (Some(prompt), Some(chat)) = (self.open.get_mut(&key), cx.chats.get(&key).copied()) else {
            return Ok(());
        };
        let mut moved = Vec::new();
        for anchor in &mut prompt.anchors {
            let Some(lines) = anchor.lines(&cx.editor, self.anchors)? else { continue };
            if anchor.target.lines() != Some(lines) {
                let target = anchor.target.with_lines(lines);
                moved.push((std::mem::replace(&mut anchor.target, target.clone()), target));
            }
        }
        if moved.is_empty() {
            return Ok(());
        }
        if chat.has_long_prompt(&cx.editor)? {
            // Those lines are not followed.
            return Ok(());
        }
        let (buf, text) = (chat.prompt, chat.prompt_text(&cx.editor)?);
        // Bottom-up, so that what is above stays where it is.
        for Reference { at, target } in references(&text).into_iter().rev() {
            let Some((_, new)) = moved.iter().find(|(old, _)| *old == target) else { continue };
            let row = text[..at.start].matches('\n').count() as i64;
            let begin = text[..at.start].rfind('\n').map_or(0, |at| at + 1);
            let column = |at: usize| (at - begin) as i64;
            cx.editor.set_text(buf, (row, column(at.start)), (row, column(at.end)), &[new.token()])?;
        }
        self.prompt_changed(cx, key)
    }

    /// What a file is called in the messages about it: as short as its session's root makes it.
    pub fn name_in(cx: &Context, key: SessionKey, path: &Path) -> String {
        let root = cx.sessions.get(&key).map(|session| session.place.cwd.clone()).unwrap_or_default();
        let inside = path.strip_prefix(&root).unwrap_or(path);
        if inside.as_os_str().is_empty() { ".".to_owned() } else { inside.display().to_string() }
    }
}
