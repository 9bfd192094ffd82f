//! Faults inside of messages: fields of other types, ids that nobody knows, steps in the wrong order, and
//! more of everything than a screen has room for.

use serde_json::{Value, json};

use super::{After, Agent};

impl Agent {
    #[expect(clippy::too_many_lines, reason = "a flat match")]
    pub(super) fn in_messages(&mut self, name: &str, seed: u64, prompt: &Value) -> Option<After> {
        let id = format!("{name}-{seed}");
        match name {
            "none" => self.say("Nothing is wrong here.\n\n```lua\nprint(1)\n```\n"),
            "wrong-types" => self.wrong_types(seed),
            "unknown-update" => {
                self.update(json!({ "sessionUpdate": "dance", "steps": [1, 2] }));
                self.update(json!({ "sessionUpdate": 7 }));
                self.update(json!([]));
                self.update(Value::Null);
            }
            "unknown-session" => {
                let chunk = json!({ "sessionUpdate": "agent_message_chunk",
                    "content": { "type": "text", "text": "for nobody" } });
                self.update_of("nobody", chunk.clone());
                self.update_of("", chunk);
                self.output.send(&json!({ "method": "session/update" }));
            }
            "orphan-update" => {
                self.update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": id,
                    "status": "in_progress", "title": "never started" }));
                self.update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": id,
                    "status": "completed" }));
                self.update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": format!("{id}-b") }));
            }
            "status-backwards" => {
                self.start(&id, "goes back and forth");
                for status in ["completed", "pending", "in_progress", "failed", "completed", "soaring"] {
                    self.update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": id,
                        "status": status }));
                }
            }
            "same-call" => {
                for title in ["first", "second", "third"] {
                    self.start("the-same-in-every-turn", title);
                }
            }
            "unfinished-call" => self.start(&id, "never ends"),
            "chunks" => {
                let count = [1_000, 10_000, 100_000][seed as usize % 3];
                self.flood(count, |at| if at % 10 == 9 { format!("word{at}\n") } else { "word ".to_owned() });
            }
            "chunks-of-one-line" => self.flood(20_000, |_| "word ".to_owned()),
            "broken-fence" => {
                self.say("```lua\nlocal a = [[ \"'((({{{\n");
                self.flood(300, |at| format!("if {at} then (({{ \"\n"));
            }
            "long-plan" => {
                let entries: Vec<Value> = (0..10_000)
                    .map(|at| {
                        json!({ "content": format!("step {at}"), "priority": "low",
                        "status": "pending" })
                    })
                    .collect();
                self.update(json!({ "sessionUpdate": "plan", "entries": entries }));
                self.update(json!({ "sessionUpdate": "plan", "entries": [] }));
                self.update(json!({ "sessionUpdate": "plan", "entries": [{}, null, 4, { "content": [] }] }));
            }
            "many-calls" => {
                for at in 0..300 {
                    self.start(&format!("{id}-{at}"), &format!("call {at}"));
                    self.update(json!({ "sessionUpdate": "tool_call_update",
                        "toolCallId": format!("{id}-{at}"), "status": "completed" }));
                }
            }
            "control-title" => {
                for title in [
                    "\u{1b}[31mred\u{1b}[0m \u{7}\u{8}\u{0}",
                    "two\nlines\r\nand\u{2028}more",
                    "\u{202e}backwards\u{202c} \u{200b}\u{feff}",
                    "%#Error#%{system('false')} %999d",
                    "<Esc>:qa!<CR>",
                    "",
                ] {
                    self.start(&format!("{id}-{}", title.len()), title);
                    self.update(json!({ "sessionUpdate": "session_info_update", "title": title }));
                }
                self.start(&format!("{id}-long"), &"long ".repeat(20_000));
                self.update(json!({ "sessionUpdate": "session_info_update", "title": "sound again" }));
            }
            "not-an-image" => {
                for (data, kind) in [
                    ("!!!!", "image/png"),
                    ("", "image/png"),
                    ("iVBORw0KGgo=", "image/png"),
                    ("aGVsbG8=", "text/html"),
                    ("/9j/4AAQ", "../../x"),
                ] {
                    let image = json!({ "type": "image", "data": data, "mimeType": kind });
                    self.update(json!({ "sessionUpdate": "agent_message_chunk", "content": image }));
                }
                self.update(json!({ "sessionUpdate": "agent_message_chunk",
                    "content": { "type": "image", "data": 5 } }));
                self.update(json!({ "sessionUpdate": "agent_message_chunk",
                    "content": { "type": "audio", "data": "AAAA", "mimeType": "audio/x" } }));
            }
            "stale-diff" => {
                let path = self.file("b.txt");
                self.edit(&id, &path, "what was never there\n", "something else\n");
                self.edit(&id, &path, "", &"line\n".repeat(2_000));
                self.edit(&id, &path, &"line\n".repeat(2_000), "short\n");
                self.edit(&id, &self.file("no/such/file.txt"), "a\n", "b\n");
                self.edit(&id, "relative.txt", "a\n", "b\n");
                self.edit(&id, "/", "a\n", "b\n");
            }
            "changed-behind" => {
                // Written on the disk by the agent itself; the diff tells something else.
                let path = self.file("b.txt");
                if let Err(error) = std::fs::write(&path, format!("one\ntwo {seed}\nthree\n")) {
                    self.say(&format!("couldn't write {path}: {error}"));
                }
                self.edit(&id, &path, "one\ntwo\n", "one\nzwei\n");
                self.update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": id,
                    "status": "completed" }));
            }
            "odd-locations" => {
                self.start(&id, "looks around");
                let locations = json!([
                    { "path": "/dev/zero", "line": 1 }, { "path": "zipfile:a.zip::x" }, { "path": "term://sh" },
                    { "path": "scp://host/x" }, { "path": "" }, { "path": 5 }, { "line": -1 },
                    { "path": self.file("a.txt"), "line": 4_000_000_000_u32 },
                    { "path": self.file("a\nb.txt") },
                ]);
                self.update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": id,
                    "locations": locations }));
            }
            "turn-error" => {
                return Some(After::Reply(
                    json!({ "error": { "code": -32603 - (seed as i64 % 3), "message": "no more tokens" } }),
                ));
            }
            "wants-login" => {
                let error = json!({ "code": -32000, "message": "log in first" });
                return Some(After::Reply(json!({ "error": error })));
            }
            "odd-error" => return Some(After::Reply(json!({ "error": [seed] }))),
            "odd-result" => return Some(After::Reply(json!({ "result": { "stopReason": ["bored"] } }))),
            "null-result" => return Some(After::Reply(json!({ "result": null }))),
            "late-update" | "late-request" => {}
            "deaf-to-cancel" => {
                // Goes on for a while after it was cancelled, and answers then.
                self.wait_for_cancel();
                self.flood(50, |_| "still talking ".to_owned());
                self.start(&id, "begun after the cancel");
                self.listen(100);
                self.reply(prompt, &json!({ "stopReason": "end_turn" }));
                return Some(After::Nothing);
            }
            "never-answers" => {
                // Not even a cancel; only the end of stdin.
                while self.hear(None) {}
                return Some(After::Nothing);
            }
            "waits-for-cancel" => self.wait_for_cancel(),
            _ => return None,
        }
        Some(After::Answer)
    }

    /// What comes when the turn is over already.
    pub(super) fn late(&mut self, name: &str) {
        match name {
            "late-update" => {
                self.say("said too late\n");
                self.start("late", "begun too late");
                self.update(json!({ "sessionUpdate": "plan", "entries": [{ "content": "late" }] }));
            }
            "late-request" => {
                let path = self.file("a.txt");
                self.ask("fs/read_text_file", json!({ "path": path }));
                self.ask("terminal/output", json!({ "terminalId": "late" }));
            }
            _ => {}
        }
    }

    pub(super) fn start(&self, id: &str, title: &str) {
        self.update(json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": title,
            "kind": "execute", "status": "in_progress" }));
    }

    fn edit(&self, id: &str, path: &str, old: &str, new: &str) {
        self.update(json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": "edit", "kind": "edit",
            "status": "in_progress", "locations": [{ "path": path }],
            "content": [{ "type": "diff", "path": path, "oldText": old, "newText": new }] }));
    }

    /// As fast as can be, in few writes.
    fn flood(&self, count: usize, text: impl Fn(usize) -> String) {
        let mut bytes = Vec::new();
        for at in 0..count {
            let update = json!({ "sessionUpdate": "agent_message_chunk",
                "content": { "type": "text", "text": text(at) } });
            let params = json!({ "sessionId": self.session, "update": update });
            let line = json!({ "jsonrpc": "2.0", "method": "session/update", "params": params });
            bytes.extend_from_slice(line.to_string().as_bytes());
            bytes.push(b'\n');
            if bytes.len() > 1 << 16 {
                self.output.bytes(&bytes);
                bytes.clear();
            }
        }
        self.output.bytes(&bytes);
    }

    /// Each field of each kind of update in turn, with a value of another type.
    fn wrong_types(&self, seed: u64) {
        let odd = [
            Value::Null,
            json!(true),
            json!(-1),
            json!(1e300),
            json!(""),
            json!([[[]]]),
            json!({ "type": 5 }),
            json!("\u{0}"),
        ];
        for sound in sound_updates(&self.file("a.txt")) {
            for pointer in pointers(&sound, "") {
                for value in odd.iter().skip(seed as usize % 2).step_by(2) {
                    let mut update = sound.clone();
                    if let Some(field) = update.pointer_mut(&pointer) {
                        *field = value.clone();
                    }
                    self.update(update);
                }
            }
        }
    }
}

/// One of each kind of update, with all its fields.
fn sound_updates(path: &str) -> Vec<Value> {
    let text = json!({ "type": "text", "text": "x", "annotations": { "audience": ["user"] } });
    let content = json!([
        { "type": "content", "content": text },
        { "type": "diff", "path": path, "oldText": "a\n", "newText": "b\n" },
        { "type": "terminal", "terminalId": "t" },
    ]);
    vec![
        json!({ "sessionUpdate": "agent_message_chunk", "content": text, "messageId": "m" }),
        json!({ "sessionUpdate": "agent_thought_chunk", "content": text }),
        json!({ "sessionUpdate": "user_message_chunk",
            "content": { "type": "resource_link", "uri": "file:///x", "name": "x", "size": 3 } }),
        json!({ "sessionUpdate": "agent_message_chunk",
            "content": { "type": "resource", "resource": { "uri": "file:///x", "text": "y" } } }),
        json!({ "sessionUpdate": "tool_call", "toolCallId": "odd", "title": "t", "kind": "edit",
            "status": "pending", "content": content, "locations": [{ "path": path, "line": 3 }],
            "rawInput": { "command": ["ls"] }, "rawOutput": "out", "_meta": { "a": 1 } }),
        json!({ "sessionUpdate": "tool_call_update", "toolCallId": "odd", "title": "t", "kind": "read",
            "status": "completed", "content": content, "locations": [{ "path": path }] }),
        json!({ "sessionUpdate": "plan",
            "entries": [{ "content": "c", "priority": "high", "status": "completed" }] }),
        json!({ "sessionUpdate": "available_commands_update",
            "availableCommands": [{ "name": "n", "description": "d", "input": { "hint": "h" } }] }),
        json!({ "sessionUpdate": "current_mode_update", "currentModeId": "m" }),
        json!({ "sessionUpdate": "config_option_update", "configOptions": [{ "id": "i", "name": "n",
            "type": "select", "currentValue": "v", "options": [{ "value": "v", "name": "n" }] }] }),
        json!({ "sessionUpdate": "usage_update", "used": 10, "size": 100,
            "cost": { "amount": 0.5, "currency": "USD" } }),
        json!({ "sessionUpdate": "session_info_update", "title": "t", "updatedAt": "2026-01-01T00:00:00Z" }),
    ]
}

/// Where each value stands in a JSON text, the whole left out.
fn pointers(value: &Value, at: &str) -> Vec<String> {
    let inside: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (format!("{at}/{name}"), value)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, value)| (format!("{at}/{index}"), value)).collect()
        }
        _ => return Vec::new(),
    };
    inside.into_iter().flat_map(|(at, value)| [vec![at.clone()], pointers(value, &at)].concat()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_has_its_pointer() {
        let value = json!({ "a": [1, { "b": 2 }], "c": {} });
        assert_eq!(pointers(&value, ""), ["/a", "/a/0", "/a/1", "/a/1/b", "/c"]);
        for update in sound_updates("/x") {
            assert!(pointers(&update, "").iter().all(|pointer| update.pointer(pointer).is_some()));
        }
    }
}
