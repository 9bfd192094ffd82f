//! References that are added to a prompt from elsewhere, without going there: files, lines, what is called by its
//! name. What they become when the prompt is sent is left to `submit`, the choice among files to `lua/acp/pick.lua`.

use std::path::{Path, PathBuf};

use mlua::{Function, Result, Table};

use crate::core::ids::SessionKey;
use crate::core::locations::Look;
use crate::core::session::references::{Kind, Lines, Named, Target, references};
use crate::nvim::arguments::{Args, fail};
use crate::nvim::buffers::Buffers;
use crate::nvim::buffers::path_cache::canonical;
use crate::nvim::context::{self, Context};
use crate::nvim::editor::{Buf, Level};
use crate::nvim::events::EditorEvent;
use crate::nvim::prompt::Prompts;
use crate::nvim::prompt::buffers::target_of;
use crate::nvim::prompt::submit::none_of;

/// What is to be added, as far as it can be told before there is a session.
pub enum Addition {
    Buffer(Buf, Option<Lines>),
    /// Absolute.
    File(PathBuf),
    Named(Named),
    Diagnostics(PathBuf),
}

impl Prompts {
    /// Adds references to the prompt; the user stays where they are. Begins a session if there is none.
    pub fn add_command(&mut self, cx: &mut Context, args: &Args) -> Result<()> {
        if args.words == ["files"] {
            Self::pick_additions(cx);
            return Ok(());
        }
        let additions = self.additions(cx, args)?;
        if let Some(key) = cx.session_here() {
            return self.add(cx, key, &additions);
        }
        let win = cx.editor.current_win()?;
        let then = context::then(move |this: &mut Self, cx: &mut Context, key| {
            Self::stay_in(cx, win)?;
            this.add(cx, key, &additions)
        });
        cx.raise(EditorEvent::ChatNeeded(then));
        Ok(())
    }

    /// What a command means; an error where there is nothing of the kind.
    fn additions(&self, cx: &Context, args: &Args) -> Result<Vec<Addition>> {
        let lines = args.range.and_then(|range| Lines::new(range.first, range.last));
        match args.range {
            Some(range) if args.words.is_empty() => Ok(vec![Addition::Buffer(range.buf, lines)]),
            None if args.words.is_empty() => Ok(vec![Addition::Buffer(self.buffer_here(cx)?, None)]),
            _ => args.words.iter().map(|word| self.addition(cx, word, lines)).collect(),
        }
    }

    /// A word that names context counts as that; `./diff` is the file.
    fn addition(&self, cx: &Context, word: &str, lines: Option<Lines>) -> Result<Addition> {
        let here = || self.buffer_here(cx);
        Ok(match word {
            "buffer" => Addition::Buffer(here()?, lines),
            "diagnostics" => {
                let buf = here()?;
                let found: Option<String> = self.live("diagnostics", buf)?;
                match (found, Buffers::path_of(&cx.editor, buf)) {
                    (None, _) => return fail("this buffer has no diagnostics"),
                    (_, Some(path)) => Addition::Diagnostics(path),
                    (_, None) => Addition::Named(Named::Diagnostics),
                }
            }
            word => match Named::read(word) {
                Some(named @ (Named::Selection | Named::Symbol | Named::Viewport)) => {
                    let buf = here()?;
                    let found: (Option<usize>, Option<usize>) = self.live(named.word(), buf)?;
                    let Some(lines) = found.0.zip(found.1).and_then(|(first, last)| Lines::new(first, last))
                    else {
                        return fail(sentence_of(named));
                    };
                    Addition::Buffer(buf, Some(lines))
                }
                Some(Named::Quickfix) if self.live::<Option<String>>("quickfix", ())?.is_none() => {
                    return fail(sentence_of(Named::Quickfix));
                }
                Some(named) => Addition::Named(named),
                None => Addition::File(path_of(cx, word)?),
            },
        })
    }

    /// The buffer that the user is in, or was in before they came to a chat.
    fn buffer_here(&self, cx: &Context) -> Result<Buf> {
        let here = cx.editor.current_buf()?;
        let is_chat = cx.chats.values().any(|chat| chat.contains(here));
        match self.last_buffer.filter(|buf| cx.editor.buf_is_loaded(*buf)) {
            Some(last) if is_chat => Ok(last),
            None if is_chat => fail("you were in no buffer yet; :Acp add {file} adds one by its name"),
            _ => Ok(here),
        }
    }

    /// Has the user pick files, several at once where their picker can do that.
    pub fn pick_additions(cx: &mut Context) {
        let session = cx.session_here().and_then(|key| cx.sessions.get(&key));
        let root = session.map_or_else(|| cx.editor.cwd(), |session| session.place.cwd.clone());
        cx.run_effect("the picker failed", move |editor| {
            let require: Function = editor.lua.globals().get("require")?;
            let pick: Table = require.call("acp.pick")?;
            pick.get::<Function>("files")?.call::<()>(root.to_string_lossy().into_owned())
        });
    }

    /// Puts references at the end of a prompt, but for those that stand in it already.
    pub fn add(&mut self, cx: &mut Context, key: SessionKey, additions: &[Addition]) -> Result<()> {
        let Some(chat) = cx.chats.get(&key).copied() else { return Ok(()) };
        let targets = additions.iter().map(|addition| target(cx, key, addition));
        let targets: Vec<Target> = targets.collect::<Result<_>>()?;
        let mut added: Vec<String> = Vec::new();
        let tokens = |targets: &[Target], there: &[Target]| -> Vec<String> {
            let new = targets.iter().filter(|target| !there.contains(target));
            new.map(Target::token).collect()
        };
        if !cx.editor.buf_is_loaded(chat.prompt) {
            // The buffer was wiped; the text is put into the next one.
            let Some(prompt) = self.open.get_mut(&key) else { return Ok(()) };
            added = tokens(&targets, &targets_in(&prompt.text));
            prompt.text = with_tokens(&prompt.text, &added).into();
        } else if chat.has_long_prompt(&cx.editor)? {
            added.extend(tokens(&targets, &[]));
            self.append_to_prompt(cx, key, &format!(" {} ", added.join(" ")))?;
        } else {
            let before = chat.prompt_text(&cx.editor)?;
            added.extend(tokens(&targets, &targets_in(&before)));
            if !added.is_empty() {
                self.set_prompt(cx, key, &with_tokens(&before, &added).into())?;
            }
        }
        if chat.prompt_window(&cx.editor).is_none() || added.is_empty() {
            cx.notify(say_added(&targets, &added), Level::Info);
        }
        for addition in additions {
            let Addition::File(path) = addition else { continue };
            let named = path.clone();
            cx.look_first(path, move |_: &mut Self, cx, look| {
                if look == Look::Missing {
                    let name = cx.short_name(Some(key), &named);
                    cx.notify(format!("there is no file {name}: it goes as text"), Level::Warn);
                }
                Ok(())
            });
        }
        Ok(())
    }
}

fn targets_in(text: &str) -> Vec<Target> {
    references(text).into_iter().map(|reference| reference.target).collect()
}

/// A text with references at its end, and a blank to go on behind them.
fn with_tokens(text: &str, tokens: &[String]) -> String {
    let before = text.trim_end_matches([' ', '\t']);
    let space = if before.is_empty() || before.ends_with('\n') { "" } else { " " };
    format!("{before}{space}{} ", tokens.join(" "))
}

fn say_added(targets: &[Target], added: &[String]) -> String {
    match (added, targets) {
        ([], [only]) => format!("{} is in the prompt already", only.token()),
        ([], _) => "all of it is in the prompt already".to_owned(),
        ([only], _) => format!("added {only} to the prompt"),
        ([first, rest @ ..], _) => format!("added {first} and {} more to the prompt", rest.len()),
    }
}

/// How an error says that there is nothing of the kind.
fn sentence_of(named: Named) -> String {
    let text = none_of(named);
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// A file by its name as it is typed, with `%` and `~`.
fn path_of(cx: &Context, word: &str) -> Result<PathBuf> {
    let word: String = match word.starts_with(['%', '#', '~']) {
        true => cx.editor.func("expand", word)?,
        false => word.to_owned(),
    };
    Ok(cx.editor.cwd().join(word))
}

fn target(cx: &Context, key: SessionKey, addition: &Addition) -> Result<Target> {
    Ok(match addition {
        Addition::Buffer(buf, Some(lines)) => match target_of(cx, key, *buf, *lines) {
            Some(target) => target,
            None => return fail("the session is gone"),
        },
        Addition::Buffer(buf, None) => match Buffers::path_of(&cx.editor, *buf) {
            Some(path) => file(cx, key, &path),
            None => Target::Numbered { buffer: buf.0, lines: None },
        },
        Addition::File(path) => file(cx, key, path),
        Addition::Named(named) => Target::Named(*named),
        Addition::Diagnostics(path) => {
            let Target::File { path: name, .. } = file(cx, key, path) else { return fail("no file") };
            let one = Target::One { kind: Kind::Diagnostics, name };
            match &targets_in(&one.token())[..] {
                [same] if *same == one => one,
                // A name with blanks can't be a part of one.
                _ => Target::Named(Named::Diagnostics),
            }
        }
    })
}

/// A file as short as the session's root makes its name.
fn file(cx: &Context, key: SessionKey, path: &Path) -> Target {
    let root = cx.sessions.get(&key).map(|session| session.place.cwd.clone()).unwrap_or_default();
    let inside = path.strip_prefix(&root).or_else(|_| path.strip_prefix(canonical(&root)));
    let inside = inside.ok().filter(|inside| *inside != Path::new(""));
    let mut name = inside.unwrap_or(path).to_string_lossy().into_owned();
    // By its slash a folder is told from a word.
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") && !name.ends_with('/') {
        name.push('/');
    }
    Target::File { path: name, lines: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_stand_at_the_end_with_one_blank_between() {
        let tokens = ["@a".to_owned(), "@b".to_owned()];
        assert_eq!(with_tokens("", &tokens), "@a @b ");
        assert_eq!(with_tokens("see  ", &tokens), "see @a @b ");
        assert_eq!(with_tokens("see\n", &tokens), "see\n@a @b ");
    }
}
