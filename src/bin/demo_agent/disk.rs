//! Changes to files that a recorded agent made behind the client's back, made again: the diffs of its
//! tool calls, applied when the call is completed. What went through the client is left alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

use crate::mapping::Mapping;
use crate::print_error;

/// What is known of the tool calls of the running turn.
#[derive(Debug, Default)]
pub struct Disk {
    calls: BTreeMap<String, Call>,
    /// Paths, as recorded, that the agent wrote through the client since a call on them was completed: what that call
    /// tells is done already.
    through_client: BTreeSet<String>,
    /// How long to wait between the steps of a change.
    slow: Option<Duration>,
    /// The changes under way.
    writers: HashMap<PathBuf, JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Call {
    diffs: Vec<Diff>,
    replace_all: bool,
    is_done: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Diff {
    path: String,
    old: String,
    new: String,
}

impl Disk {
    pub fn new(slow: Option<Duration>) -> Self {
        Self { slow, ..Self::default() }
    }

    /// Waits until all changes are made.
    pub fn finish(&mut self) {
        for (_, writer) in self.writers.drain() {
            // It has said what went wrong.
            let _ = writer.join();
        }
    }

    fn make(&mut self, diff: &Diff, replace_all: bool, path: &Path) -> Result<(), String> {
        if let Some(writer) = self.writers.remove(path) {
            // It has said what went wrong.
            let _ = writer.join();
        }
        let text = changed(diff, replace_all, path)?;
        let Some(pause) = self.slow else { return fs::write(path, text).map_err(|error| error.to_string()) };
        let mut file = File::create(path).map_err(|error| error.to_string())?;
        let name = path.to_owned();
        let write = move || {
            for half in [&text.as_bytes()[..text.len() / 2], &text.as_bytes()[text.len() / 2..]] {
                thread::sleep(pause);
                if let Err(error) = file.write_all(half) {
                    return print_error(&format!("couldn't change {}: {error}", name.display()));
                }
            }
        };
        self.writers.insert(path.to_owned(), thread::spawn(write));
        Ok(())
    }

    /// A new turn: the ids of tool calls may begin anew.
    pub fn begin_turn(&mut self) {
        self.calls.clear();
    }

    /// Takes note of a recorded message of the agent's, and makes the change that it reports as done.
    pub fn follow(&mut self, message: &Value, mapping: &Mapping) {
        let params = &message["params"];
        let call = match message["method"].as_str() {
            Some("fs/write_text_file") => {
                self.through_client.extend(params["path"].as_str().map(str::to_owned));
                return;
            }
            Some("session/update") => &params["update"],
            Some("session/request_permission") => &params["toolCall"],
            _ => return,
        };
        let Some(id) = call["toolCallId"].as_str() else { return };
        let known = self.calls.entry(id.to_owned()).or_default();
        let mut diffs = diffs(&call["content"]);
        if diffs.is_empty() && call["kind"] == "edit" {
            diffs.extend(edit(&call["rawInput"]));
        }
        // Some agents end a call with less than they began it with.
        if !diffs.is_empty() {
            known.diffs = diffs;
        }
        known.replace_all |= call["rawInput"]["replace_all"] == true;
        if call["status"] != "completed" || std::mem::replace(&mut known.is_done, true) {
            return;
        }
        let (diffs, replace_all) = (known.diffs.clone(), known.replace_all);
        for diff in &diffs {
            if self.through_client.remove(&diff.path) {
                continue;
            }
            let Some(path) = mapping
                .to_real(&Value::from(diff.path.as_str()))
                .as_str()
                .and_then(|path| mapping.on_disk(path))
            else {
                print_error(&format!("{} is in no mapped folder, so it stays as it is", diff.path));
                continue;
            };
            if let Err(error) = self.make(diff, replace_all, &path) {
                print_error(&format!("couldn't change {}: {error}", path.display()));
            }
        }
    }
}

fn diffs(content: &Value) -> Vec<Diff> {
    let items = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let diffs = items.iter().filter(|item| item["type"] == "diff").filter_map(|item| {
        Some(Diff {
            path: item["path"].as_str()?.to_owned(),
            old: item["oldText"].as_str().unwrap_or_default().to_owned(),
            new: item["newText"].as_str()?.to_owned(),
        })
    });
    diffs.collect()
}

/// What an agent that shows no diffs (cline) tells of an edit in its call's input.
fn edit(input: &Value) -> Option<Diff> {
    Some(Diff {
        path: input["path"].as_str()?.to_owned(),
        old: input["old_text"].as_str().unwrap_or_default().to_owned(),
        new: input["new_text"].as_str()?.to_owned(),
    })
}

/// What the file is to hold. Its folder is made.
fn changed(diff: &Diff, replace_all: bool, path: &Path) -> Result<String, String> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error.to_string()),
    };
    let changed = change(&text, diff, replace_all)?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    }
    Ok(changed)
}

/// The text with the diff in it: a whole file, a fragment or a hunk with its context, agents send each.
fn change(text: &str, diff: &Diff, replace_all: bool) -> Result<String, String> {
    let Diff { old, new, .. } = diff;
    if old.is_empty() {
        Ok(new.clone())
    } else if !text.contains(old.as_str()) {
        Err("it does not hold the text to be replaced".to_owned())
    } else if replace_all {
        Ok(text.replace(old.as_str(), new))
    } else {
        Ok(text.replacen(old.as_str(), new, 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(old: &str, new: &str) -> Diff {
        Diff { path: "/p/a".to_owned(), old: old.to_owned(), new: new.to_owned() }
    }

    #[test]
    fn a_fragment_a_hunk_and_a_whole_file_lead_to_the_same_text() {
        let text = "alpha\nbeta\ngamma\ndelta\n";
        for (old, new) in [
            ("beta", "BETA\nbeta two"),
            ("alpha\nbeta\ngamma\n", "alpha\nBETA\nbeta two\ngamma\n"),
            (text, "alpha\nBETA\nbeta two\ngamma\ndelta\n"),
        ] {
            let changed = change(text, &diff(old, new), false);
            assert_eq!(changed, Ok("alpha\nBETA\nbeta two\ngamma\ndelta\n".to_owned()));
        }
    }

    #[test]
    fn an_unknown_fragment_changes_nothing() {
        assert!(change("a", &diff("b", "c"), false).is_err());
    }

    #[test]
    fn all_places_change_only_when_the_agent_said_so() {
        assert_eq!(change("a a", &diff("a", "b"), false), Ok("b a".to_owned()));
        assert_eq!(change("a a", &diff("a", "b"), true), Ok("b b".to_owned()));
    }

    #[test]
    fn no_old_text_is_a_new_file() {
        assert_eq!(change("", &diff("", "new\n"), false), Ok("new\n".to_owned()));
    }
}
