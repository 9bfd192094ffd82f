//! What a tool's raw output says, as a text to read: for agents that give a call no content. The protocol
//! leaves its form to the agent; the table holds the names that texts in it are seen to have.

use serde_json::Value;

use super::tool_input::read_json;

/// The first of these that has text is what was put out.
const TEXTS: &[&str] = &[
    "formatted_output",
    "aggregated_output",
    "output",
    "stdout",
    "result",
    "content",
    "text",
    "message",
    "file",
    "data",
];
/// These stand below it.
const ALSO: &[&str] = &["stderr", "error"];

/// Where an output has the exit code of its command.
const EXITS: &[&str] = &["exit_code", "exitCode", "exit"];

/// Where it says whether all went well.
const SUCCESS: &str = "success";

/// Where it says what did not; some have the exit code in there alone, after this.
const FAILURE: &str = "error";
const EXITED: &str = "exited with code ";

/// How agents begin what they put in the place of an output where the user said no: Claude's adapter, Claude Code itself,
/// Cline, Copilot and OpenCode.
const REJECTIONS: &[&str] = &[
    "User refused permission to run tool",
    "The user doesn't want to proceed with this tool use",
    "User rejected the tool call",
    "The user rejected this tool call",
    "The user rejected permission to use this",
];

/// Where some say it in a word, and the word.
const CODE: (&str, &str) = ("code", "rejected");

/// An output in an output in an output is no text that anyone wrote.
const DEEPEST: usize = 4;

/// The text of an output; nothing where it holds none, such as an exit code alone.
pub fn text(output: &Value) -> Option<String> {
    let text = read(output, DEEPEST)?;
    let text = text.trim_end().trim_start_matches(['\r', '\n']);
    (!text.trim().is_empty()).then(|| text.to_owned())
}

/// Whether an output says that the user rejected the call.
pub fn says_rejected(output: &Value) -> bool {
    output[CODE.0] == CODE.1 || text(output).is_some_and(|text| is_rejection(&text))
}

/// The same of a text, which may stand in a block of code.
pub fn is_rejection(text: &str) -> bool {
    let text = text.trim_start_matches(|char: char| char == '`' || char.is_whitespace());
    REJECTIONS.iter().any(|rejection| text.starts_with(rejection))
}

/// The exit code of its command, where it tells one; the first that is not 0, of several commands.
pub fn exit_code(output: &Value) -> Option<u32> {
    let named = |output: &Value| -> Option<u32> {
        let number = |code: &Value| {
            code.as_u64().and_then(|code| code.try_into().ok()).or_else(|| whole(code.as_f64()?))
        };
        EXITS.iter().filter_map(|name| output.get(name)).find_map(number)
    };
    let told = |output: &Value| {
        let parts = output["contents"].as_array().into_iter().flatten();
        let code = [output, &output["metadata"]].into_iter().chain(parts).find_map(named);
        let said = || {
            output.get(FAILURE)?.as_str()?.split_once(EXITED)?.1.split(|c: char| !c.is_ascii_digit()).next()
        };
        code.or_else(|| said()?.parse().ok().filter(|_| has_failed(output)))
    };
    match output {
        Value::Array(results) => {
            let codes: Vec<u32> = results.iter().filter_map(told).collect();
            codes.iter().find(|code| **code != 0).or(codes.first()).copied()
        }
        output => told(output),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is held against what it was")]
fn whole(number: f64) -> Option<u32> {
    let code = number as u32;
    (f64::from(code) == number).then_some(code)
}

/// Whether it says that something did not go well.
pub fn has_failed(output: &Value) -> bool {
    match output {
        Value::Array(results) => !results.is_empty() && results.iter().any(|result| result[SUCCESS] == false),
        output => output[SUCCESS] == false,
    }
}

fn read(output: &Value, depth: usize) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    let found = match output {
        Value::String(text) => match read_json(text).filter(is_result) {
            Some(json) => read(&json, depth)?,
            None => text.clone(),
        },
        Value::Array(items) => {
            let parts: Vec<String> = items.iter().filter_map(|item| read(item, depth)).collect();
            parts.join("\n")
        }
        Value::Object(fields) => {
            let part = |name: &&str| Some(read(fields.get(*name)?, depth)?).filter(|text| !text.is_empty());
            let main = TEXTS.iter().find_map(part);
            let more = ALSO.iter().filter_map(part);
            let more = more.filter(|more| main.as_ref().is_none_or(|main| !main.contains(more.as_str())));
            let parts: Vec<String> = main.iter().cloned().chain(more).collect();
            match parts.is_empty() && fields.values().any(says_more) && !names_text(output) {
                true => format!("{output:#}"),
                false => parts.join("\n"),
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => return None,
    };
    (!found.is_empty()).then_some(found)
}

/// Whether JSON in a text is a tool's result, rather than JSON that the tool put out.
fn is_result(json: &Value) -> bool {
    match json {
        Value::Object(fields) => fields.contains_key("success") || fields.contains_key("error"),
        Value::Array(items) => !items.is_empty() && items.iter().all(is_result),
        _ => false,
    }
}

/// Whether it has a place for text, which is empty.
fn names_text(output: &Value) -> bool {
    TEXTS.iter().chain(ALSO).any(|name| output[*name].is_string())
}

fn says_more(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_output_is_read_as_text_in_the_forms_that_are_seen() {
        for (output, expected) in [
            (json!("plain\n"), Some("plain")),
            (json!("{\"a\": 1}"), Some("{\"a\": 1}")),
            (json!("{\"query\":\"n\",\"result\":\"1 | a\",\"success\":true}"), Some("1 | a")),
            (json!({"error": "The user rejected it"}), Some("The user rejected it")),
            (json!({"query": "edit:a", "result": "Edited a", "success": true}), Some("Edited a")),
            (
                json!([{"query": "ls", "result": "", "error": "Command failed", "success": false}]),
                Some("Command failed"),
            ),
            (json!({"output": "hi\n", "metadata": {"exit": 0}}), Some("hi")),
            (json!({"stdout": "out", "stderr": "err", "exit_code": 1}), Some("out\nerr")),
            (json!({"content": "c", "detailedContent": "d"}), Some("c")),
            (json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), Some("a\nb")),
            (json!({"exit_code": 0}), None),
            (json!({"output": "", "metadata": {"exit": 0}}), None),
            (json!({"stdout": "", "stderr": "", "call_id": "1"}), None),
            (json!(null), None),
            (json!([]), None),
            (json!({"rows": [1]}), Some("{\n  \"rows\": [\n    1\n  ]\n}")),
        ] {
            assert_eq!(text(&output).as_deref(), expected, "{output}");
        }
    }

    #[test]
    fn an_output_says_how_its_command_ended_in_the_forms_that_are_seen() {
        let error = "Command exited with code 3";
        for (output, code, failed) in [
            (json!({"exit_code": 1}), Some(1), false),
            (json!({"exitCode": 1.0}), Some(1), false),
            (json!({"output": "no", "metadata": {"exit": 2}}), Some(2), false),
            (json!({"contents": [{"text": "no"}, {"exitCode": 3}]}), Some(3), false),
            (json!({"exit": "now", "metadata": {"exit": null}}), None, false),
            (json!({"exitCode": 0}), Some(0), false),
            (json!([{"query": "ls", "error": error, "success": false}]), Some(3), true),
            (json!([{"query": "ls", "success": true}, {"error": error, "success": false}]), Some(3), true),
            (json!([{"query": "ls", "error": "no such tool", "success": false}]), None, true),
            (json!([{"query": "ls", "result": error, "success": true}]), None, false),
            (json!({"error": error}), None, false),
            (json!([]), None, false),
            (json!("exited with code 3"), None, false),
            (json!(null), None, false),
        ] {
            assert_eq!((exit_code(&output), has_failed(&output)), (code, failed), "{output}");
        }
    }
}
