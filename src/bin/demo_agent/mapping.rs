//! What is called otherwise in a replay than in the recording: folders, sessions and terminals. Maps
//! whole messages both ways; which names belong together is for `replay` to find out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Names in the recording, each with the name in this replay.
#[derive(Clone, Debug, Default)]
pub struct Mapping {
    folders: Vec<(String, String)>,
    ids: BTreeMap<String, String>,
}

#[derive(Clone, Copy)]
enum Way {
    ToReal,
    ToRecorded,
}

/// Fields that hold an id of the client's making, or one that the client may know by another name.
const ID_FIELDS: [&str; 2] = ["sessionId", "terminalId"];

impl Mapping {
    /// The first mapping of a folder holds.
    pub fn add_folder(&mut self, recorded: &str, real: &str) {
        if !self.folders.iter().any(|(known, _)| known == recorded) {
            self.folders.push((recorded.to_owned(), real.to_owned()));
            // The longest first, so that a folder within another one has its own name.
            self.folders.sort_by_key(|(known, _)| std::cmp::Reverse(known.len()));
        }
    }

    pub fn add_id(&mut self, recorded: &str, real: &str) {
        self.ids.insert(recorded.to_owned(), real.to_owned());
    }

    pub fn to_real(&self, message: &Value) -> Value {
        self.map(message, Way::ToReal)
    }

    pub fn to_recorded(&self, message: &Value) -> Value {
        self.map(message, Way::ToRecorded)
    }

    /// A path of a mapped message as one on this disk; only within the mapped folders. Some agents send
    /// paths relative to the working folder, of which the deepest mapped one is taken.
    pub fn on_disk(&self, path: &str) -> Option<PathBuf> {
        let path = Path::new(path);
        let path = if path.is_absolute() {
            path.to_path_buf()
        } else {
            Path::new(&self.folders.first()?.1).join(path)
        };
        let climbs = path.components().any(|part| part == std::path::Component::ParentDir);
        let is_within = self.folders.iter().any(|(_, real)| path.starts_with(real));
        (is_within && !climbs).then_some(path)
    }

    fn map(&self, value: &Value, way: Way) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text, way)),
            Value::Array(items) => items.iter().map(|item| self.map(item, way)).collect(),
            Value::Object(fields) => {
                let field = |(key, field): (&String, &Value)| {
                    let mapped = match field {
                        Value::String(id) if ID_FIELDS.contains(&key.as_str()) => self.id(id, way),
                        field => self.map(field, way),
                    };
                    (self.text(key, way), mapped)
                };
                Value::Object(fields.iter().map(field).collect())
            }
            other => other.clone(),
        }
    }

    fn id(&self, id: &str, way: Way) -> Value {
        let mapped = match way {
            Way::ToReal => self.ids.get(id),
            Way::ToRecorded => self.ids.iter().find(|(_, real)| *real == id).map(|(recorded, _)| recorded),
        };
        Value::from(mapped.map_or(id, String::as_str))
    }

    fn text(&self, text: &str, way: Way) -> String {
        // JSON within a string has its paths escaped once more.
        if text.starts_with(['{', '['])
            && self.folders.iter().any(|(recorded, real)| needs_escape(recorded) || needs_escape(real))
            && let Ok(inner) = serde_json::from_str::<Value>(text)
        {
            return self.map(&inner, way).to_string();
        }
        self.folders.iter().fold(text.to_owned(), |text, (recorded, real)| match way {
            Way::ToReal => replace(&text, recorded, real),
            Way::ToRecorded => replace(&text, real, recorded),
        })
    }
}

fn needs_escape(text: &str) -> bool {
    text.contains(|character: char| matches!(character, '"' | '\\') || character.is_control())
}

/// Replaces a folder where it stands as a path of its own, and in `file:` addresses.
fn replace(text: &str, from: &str, to: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    let (from_address, to_address) = (address(from), address(to));
    while let Some((before, matched, after, is_address)) = find(rest, from, &from_address) {
        replaced.push_str(before);
        let before = &text[..text.len() - rest.len() + before.len()];
        if !stands_alone(before, after) {
            replaced.push_str(matched);
        } else if is_address {
            replaced.push_str(&to_address);
        } else {
            replaced.push_str(to);
        }
        rest = after;
    }
    replaced + rest
}

/// The first place of either form: what is before, the form, what is after, and whether an address.
fn find<'a>(text: &'a str, plain: &str, address: &str) -> Option<(&'a str, &'a str, &'a str, bool)> {
    let addressed = format!("file://{address}");
    let in_address = text.find(&addressed).map(|start| (start + "file://".len(), address.len(), true));
    let (start, length, is_address) = match (text.find(plain), in_address) {
        (Some(start), Some(found)) if found.0 <= start => found,
        (None, Some(found)) => found,
        (Some(start), _) => (start, plain.len(), false),
        (None, None) => return None,
    };
    Some((&text[..start], &text[start..start + length], &text[start + length..], is_address))
}

fn stands_alone(before: &str, after: &str) -> bool {
    let is_name = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-');
    let mut after = after.chars();
    let goes_on = match after.next() {
        Some('.') => after.next().is_some_and(is_name),
        Some(character) => is_name(character),
        None => false,
    };
    let is_inner = before.ends_with(|character| is_name(character) || matches!(character, '.' | '/' | '~'));
    // The last two are how a Git diff names its sides.
    !goes_on && (!is_inner || ["file://", " a", " b"].iter().any(|prefix| before.ends_with(prefix)))
}

/// The path as a `file:` address has it.
fn address(path: &str) -> String {
    let byte = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    };
    path.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn mapping(real: &str) -> Mapping {
        let mut mapping = Mapping::default();
        mapping.add_folder("/project", real);
        mapping
    }

    #[test]
    fn paths_are_mapped_both_ways_wherever_they_stand() {
        let mapping = mapping("/tmp/a b");
        let recorded = json!({
            "path": "/project/notes.txt",
            "cwd": "/project",
            "text": "see /project/a, (/project) and /project.",
            "uri": "file:///project/notes.txt",
            "diff": "diff --git a/project/n b/project/n",
            "/project/key": [1, null],
        });
        let real = json!({
            "path": "/tmp/a b/notes.txt",
            "cwd": "/tmp/a b",
            "text": "see /tmp/a b/a, (/tmp/a b) and /tmp/a b.",
            "uri": "file:///tmp/a%20b/notes.txt",
            "diff": "diff --git a/tmp/a b/n b/tmp/a b/n",
            "/tmp/a b/key": [1, null],
        });
        assert_eq!(mapping.to_real(&recorded), real);
        assert_eq!(mapping.to_recorded(&real), recorded);
    }

    #[test]
    fn what_only_looks_like_the_path_stays() {
        let same = json!(["/projects/a", "/home/project/a", "/project-2", "/project.bak", "../project"]);
        assert_eq!(mapping("/real").to_real(&same), same);
    }

    #[test]
    fn json_within_a_string_stays_json() {
        let mapped = mapping("C:\\a \"b\"").to_real(&json!("{\"path\":\"/project\"}"));
        let inner: Value = serde_json::from_str(mapped.as_str().expect("a string")).expect("JSON");
        assert_eq!(inner, json!({ "path": "C:\\a \"b\"" }));
    }

    #[test]
    fn ids_are_mapped_in_their_fields_only() {
        let mut mapping = mapping("/real");
        mapping.add_id("term_1", "7");
        let mapped = mapping.to_real(&json!({ "terminalId": "term_1", "text": "term_1" }));
        assert_eq!(mapped, json!({ "terminalId": "7", "text": "term_1" }));
        assert_eq!(mapping.to_recorded(&mapped), json!({ "terminalId": "term_1", "text": "term_1" }));
    }

    #[test]
    fn only_the_mapped_folder_is_written_to() {
        let mapping = mapping("/real");
        assert_eq!(mapping.on_disk("/real/a/b"), Some(PathBuf::from("/real/a/b")));
        assert_eq!(mapping.on_disk("a/b"), Some(PathBuf::from("/real/a/b")));
        assert_eq!(mapping.on_disk("/realm/a"), None);
        assert_eq!(mapping.on_disk("/real/../etc/a"), None);
    }
}
