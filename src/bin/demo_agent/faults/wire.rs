//! Faults of the framing and the envelope: lines that are cut, too long, no text or no message, and ids
//! and answers that do not go together. What stands inside of a message is left to `messages`.

use std::time::Duration;

use serde_json::{Value, json};

use super::{After, Agent};

impl Agent {
    #[expect(clippy::too_many_lines, reason = "a flat match")]
    pub(super) fn on_the_wire(&mut self, name: &str, seed: u64, prompt: &Value) -> Option<After> {
        match name {
            "cut-line" => {
                let line = self.chunk_line("this line is cut");
                let at = 1 + seed as usize % (line.len() - 1);
                self.output.bytes(&line.as_bytes()[..at]);
                self.output.bytes(b"\n");
            }
            "slow-line" => {
                // One byte at a time, and two messages in one write.
                let line = format!("{}\n", self.chunk_line("byte by byte"));
                for byte in line.as_bytes() {
                    self.output.bytes(&[*byte]);
                }
                self.output.bytes(line.repeat(2).as_bytes());
            }
            "bad-utf8" => {
                let line = self.chunk_line("broken: @@ end");
                let broken: Vec<u8> =
                    line.bytes().map(|byte| if byte == b'@' { 0x80 | (seed as u8) } else { byte }).collect();
                self.output.bytes(&broken);
                self.output.bytes(b"\n\xff\xfe\xc0\n");
            }
            "nul" => {
                self.output.bytes(b"\0\0\0\n");
                let line = self.chunk_line("a nul: @ end").replace('@', "\\u0000");
                self.output.bytes(format!("{line}\n").as_bytes());
                let line = self.chunk_line("a nul: @ end").replace('@', "\0");
                self.output.bytes(format!("{line}\n").as_bytes());
            }
            "huge-line" => {
                let size = [1 << 16, 1 << 19, 2 << 20][seed as usize % 3];
                let text = "word ".repeat(size / 5);
                self.say(&text);
            }
            "huge-line-of-json" => {
                let list: Vec<u32> = (0..200_000).collect();
                self.update(json!({ "sessionUpdate": "tool_call", "toolCallId": format!("huge-{seed}"),
                    "title": "huge", "kind": "other", "status": "completed", "rawInput": list }));
            }
            "deep-json" => {
                let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
                let line = self.chunk_line("deep").replace("\"text\":\"deep\"", &format!("\"text\":{deep}"));
                self.output.bytes(format!("{line}\n").as_bytes());
            }
            "batch" => {
                let line = self.chunk_line("in a batch");
                self.output.bytes(format!("[{line},{line}]\n[]\n[1]\n").as_bytes());
            }
            "noise" => {
                self.output.bytes(b"Welcome!\n[info] ready\n{\"level\":30}\n42\n\x1b[31mred\x1b[0m\n\n\r\n");
                self.output.bytes(b"Content-Length: 20\r\n\r\n");
            }
            "unknown-method" => {
                self.ask("session/fly", json!({}));
                self.ask("_private/thing", json!([1, 2]));
                self.ask("", Value::Null);
                for method in ["session/sing", "$/progress", "_x", "notifications/x"] {
                    self.output.send(&json!({ "jsonrpc": "2.0", "method": method, "params": { "a": 1 } }));
                }
            }
            "no-method" => {
                // It has an id, so it wants an answer.
                self.last_id += 1;
                let id = json!(self.last_id);
                self.open.insert(id.to_string(), 1);
                self.note(&json!({ "asked": id, "method": "(a number)" }));
                self.output.send(&json!({ "jsonrpc": "2.0", "id": id, "method": 5, "params": {} }));
            }
            "duplicate-ids" => {
                let path = self.file("a.txt");
                for _ in 0..3 {
                    self.ask_as(&json!("twice"), "fs/read_text_file", json!({ "path": path }));
                }
            }
            "odd-ids" => {
                let path = self.file("a.txt");
                for id in [json!(-1), json!(1.5), json!(""), json!(u64::MAX), json!([1]), json!("\u{202e}")] {
                    self.ask_as(&id, "fs/read_text_file", json!({ "path": path }));
                }
            }
            "unknown-response" => {
                for id in [json!(99_999), json!("x"), Value::Null, json!({}), json!(-1)] {
                    self.reply(&id, &json!({ "stopReason": "end_turn" }));
                    self.refuse(&id, "a stray error");
                }
            }
            "answer-twice" => {
                self.say(&format!("\n\ndone-{seed}\n"));
                for reason in ["end_turn", "refusal", "cancelled"] {
                    self.reply(prompt, &json!({ "stopReason": reason }));
                }
                self.refuse(prompt, "too late");
                return Some(After::Nothing);
            }
            "endless-line" => {
                // Beyond what one message may have: the client ends the conversation.
                let piece = vec![b'x'; 1 << 20];
                self.output.bytes(b"{\"method\":\"");
                for _ in 0..40 {
                    self.output.bytes(&piece);
                }
                self.listen(60_000);
                return Some(After::Nothing);
            }
            _ => return None,
        }
        self.settle(Duration::from_secs(20));
        Some(After::Answer)
    }

    fn chunk_line(&self, text: &str) -> String {
        let update = json!({ "sessionUpdate": "agent_message_chunk",
            "content": { "type": "text", "text": text } });
        let params = json!({ "sessionId": self.session, "update": update });
        json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }).to_string()
    }
}
