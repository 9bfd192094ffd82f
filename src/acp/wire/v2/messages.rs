//! Messages, which the second version tells as a whole, to be replaced or added to; in the first they only grow. One
//! that is replaced by something else goes on as another message.

use std::ops::Range;

use serde_json::{Value, json};

use super::recent::Recent;

/// So many messages may be told of again.
const MAX_MESSAGES: usize = 128;

/// Of a longer one only the length is compared.
const MAX_COMPARED_BYTES: usize = 64 << 10;

#[derive(Default)]
pub struct Messages(Recent<(String, &'static str, String), Said, MAX_MESSAGES>);

/// What was told of a message so far.
#[derive(Default)]
struct Said {
    text: String,
    len: usize,
    /// How often it was replaced.
    generation: u32,
}

impl Messages {
    /// A part that is added.
    pub fn grew(&mut self, session: &str, kind: &'static str, update: &mut Value) {
        let Some(id) = update["messageId"].as_str() else { return };
        let said = self.0.of((session.to_owned(), kind, id.to_owned()));
        said.add(&update["content"]);
        if said.generation > 0 {
            update["messageId"] = format!("{id}~{}", said.generation).into();
        }
    }

    /// The message as it is now; the updates that say so in the first version.
    pub fn told(&mut self, session: &str, kind: &'static str, update: &Value) -> Vec<Value> {
        let id = update["messageId"].as_str().unwrap_or_default().to_owned();
        let said = self.0.of((session.to_owned(), kind, id.clone()));
        // Absent leaves what there is.
        let Some(content) = update.get("content") else { return Vec::new() };
        let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
        let is_text = |block: &Value| block["type"] == "text";
        let all: String = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
        let rest = if blocks.iter().all(is_text) { said.rest(&all) } else { None };
        let blocks = match rest {
            Some(rest) if rest.is_empty() => return Vec::new(),
            Some(rest) => vec![json!({ "type": "text", "text": &all[rest] })],
            None => {
                if said.len > 0 {
                    *said = Said { generation: said.generation + 1, ..Said::default() };
                }
                blocks.to_vec()
            }
        };
        let name = if said.generation > 0 { format!("{id}~{}", said.generation) } else { id };
        let chunk = |block: Value| {
            said.add(&block);
            json!({ "sessionUpdate": kind, "messageId": name, "content": block, "_meta": update["_meta"] })
        };
        blocks.into_iter().map(chunk).collect()
    }
}

impl Said {
    fn add(&mut self, block: &Value) {
        let text = block["text"].as_str().unwrap_or("\u{fffc}");
        self.len += text.len();
        match self.len <= MAX_COMPARED_BYTES {
            true => self.text.push_str(text),
            false => self.text = String::new(),
        }
    }

    /// What a text has beyond what was told; none where it is another one.
    fn rest(&self, all: &str) -> Option<Range<usize>> {
        let is_same = self.len > MAX_COMPARED_BYTES || all.starts_with(&self.text);
        (all.len() >= self.len && is_same && all.is_char_boundary(self.len)).then_some(self.len..all.len())
    }
}
