//! What an agent has to do with beyond its project's open buffers: files that others change on the
//! disk, and files outside of the session's folders, which the user is asked about.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use serde_json::{Value, json};

use support::script::{Scripted, ends, opened, prompt, update};

fn steps(parts: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let mut all = opened();
    all.extend(parts);
    all
}

// Changes on the disk.

#[test]
fn a_buffer_takes_what_another_program_writes_into_a_file_that_a_call_is_about() {
    let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "Look", "kind": "read",
        "status": "completed", "locations": [{ "path": "$PROJECT/a.txt" }] });
    let script = steps([prompt(), update(call), ends("end_turn")]);
    let mut chat = Scripted::new(&[("a.txt", "one\n")], script);
    let path = chat.project.file("a.txt");
    chat.nvim.command(&format!("edit {}", path.display()));
    chat.chat();
    chat.send("Look");
    chat.wait_for("Done");
    let text = "return table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('a.txt'), 0, -1, false), '\\n')";
    let mut number = 0;
    chat.nvim.wait_until(
        |nvim| {
            // When the background begins to watch it is not known.
            number += 1;
            std::fs::write(&path, format!("two {number}\n")).expect("a file");
            nvim.exec_lua(text, []).as_str().is_some_and(|text| text.starts_with("two"))
        },
        "the buffer to take the text",
    );
}
