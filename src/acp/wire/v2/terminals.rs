//! Commands that the agent runs. The second version tells of them by themselves, in bytes; the first has a convention
//! by which they are told within the call that shows them. What comes before such a call waits for it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::recent::Recent;

/// So many commands are known at once.
const TERMINALS: usize = 256;

/// Of what a command prints before a call shows it no more is kept.
const MOST_EARLY: usize = 256 << 10;

#[derive(Default)]
pub struct Terminals(Recent<(String, String), Terminal, TERMINALS>);

#[derive(Default)]
struct Terminal {
    /// The call that shows it.
    call: Option<String>,
    announced: bool,
    command: Option<String>,
    cwd: Option<String>,
    /// What is told when a call shows it.
    early: Vec<Value>,
    early_bytes: usize,
    /// The beginning of a character whose end is still to come.
    begun: Vec<u8>,
}

impl Terminals {
    /// What an update about a terminal is within its call; nothing as long as there is none.
    pub fn told(&mut self, session: &str, update: &Value) -> Vec<Value> {
        let Some(name) = update["terminalId"].as_str() else { return Vec::new() };
        let terminal = self.0.of((session.to_owned(), name.to_owned()));
        let mut news = Vec::new();
        for (field, known) in [("command", &mut terminal.command), ("cwd", &mut terminal.cwd)] {
            if let Some(text) = update[field].as_str() {
                *known = Some(text.to_owned());
            }
        }
        let whole = update["output"]["data"].as_str();
        if let Some(data) = whole.or_else(|| update["data"].as_str()) {
            if whole.is_some() {
                terminal.begun.clear();
            }
            let text = terminal.text(&STANDARD.decode(data).unwrap_or_default());
            let key = if whole.is_some() { "terminal_output" } else { "terminal_output_delta" };
            if !text.is_empty() {
                news.push(json!({ key: { "terminal_id": name, "data": text } }));
            }
        }
        if let Some(exit) = update.get("exitStatus").filter(|exit| exit.is_object()) {
            let (code, signal) = (&exit["exitCode"], &exit["signal"]);
            news.push(
                json!({ "terminal_exit": { "terminal_id": name, "exit_code": code, "signal": signal } }),
            );
        }
        terminal.tell(name, news)
    }

    /// A call shows these terminals: what was told of them before, and the command line of the first.
    pub fn shown(&mut self, session: &str, call: &str, content: &[Value]) -> (Vec<Value>, Option<String>) {
        let shown = content.iter().filter(|item| item["type"] == "terminal");
        let (mut updates, mut command) = (Vec::new(), None);
        for name in shown.filter_map(|item| item["terminalId"].as_str()) {
            let terminal = self.0.of((session.to_owned(), name.to_owned()));
            terminal.call.get_or_insert_with(|| call.to_owned());
            command = command.or_else(|| terminal.command.clone());
            let early = std::mem::take(&mut terminal.early);
            updates.extend(terminal.tell(name, early));
        }
        (updates, command)
    }
}

impl Terminal {
    fn tell(&mut self, name: &str, mut news: Vec<Value>) -> Vec<Value> {
        let Some(call) = &self.call else {
            for one in news {
                self.early_bytes += one.to_string().len();
                // The end of a command counts, whatever it printed.
                if self.early_bytes <= MOST_EARLY || one.get("terminal_exit").is_some() {
                    self.early.push(one);
                }
            }
            return Vec::new();
        };
        if !std::mem::replace(&mut self.announced, true) {
            let mut info = Map::from_iter([("terminal_id".to_owned(), Value::from(name))]);
            info.extend(self.cwd.iter().map(|cwd| ("cwd".to_owned(), cwd.as_str().into())));
            news.insert(0, json!({ "terminal_info": info }));
        }
        let update =
            |meta: Value| json!({ "sessionUpdate": "tool_call_update", "toolCallId": call, "_meta": meta });
        news.into_iter().map(update).collect()
    }

    /// Bytes as text, as far as they are whole characters.
    fn text(&mut self, bytes: &[u8]) -> String {
        self.begun.extend_from_slice(bytes);
        let all = std::mem::take(&mut self.begun);
        let whole = match str::from_utf8(&all) {
            Ok(_) => all.len(),
            // No error length: the end is missing, not wrong.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => all.len(),
        };
        self.begun = all[whole..].to_vec();
        String::from_utf8_lossy(&all[..whole]).into_owned()
    }
}
