//! Scenes that ask for more than one word: a proposal of many lines, several files at once, a subagent, a command that
//! takes its time and fails, and a form. The small ones are in `scenes`.

use std::path::Path;

use agent_client_protocol_schema::v1::{
    Diff, Meta, ToolCall, ToolCallContent, ToolCallId, ToolCallLocation, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, ToolKind, WriteTextFileRequest, WriteTextFileResponse,
};
use serde_json::{Value, json};

use crate::command;
use crate::files::{self, Proposal, options};
use crate::turn::{Played, Turn, under};

/// Lines of the long proposal.
const LONG_PROPOSAL_LINES: usize = 120;
const LONG_FILE: &str = "acp-tour-long.txt";

const SEVERAL: [(&str, &str); 3] = [
    ("acp-tour-one.md", "# One\n\nThe first of three files that I want to write at once.\n"),
    ("acp-tour-two.md", "# Two\n\nThe second one. Allow it or not, whatever you say of the others.\n"),
    ("acp-tour-three.md", "# Three\n\nThe third one.\n"),
];

/// Proposes a new file of many lines, or, where it is there, to change every second one.
pub fn long(turn: &mut Turn) -> Played {
    let path = under(&turn.cwd, LONG_FILE);
    turn.say("I want to write more lines than fit on a screen. Read them all before you answer.\n\n")?;
    let old = match path.is_file() {
        true => files::fetch(turn, &path)?.ok(),
        false => None,
    };
    let new = match &old {
        Some(old) => changed(old),
        None => (1..=LONG_PROPOSAL_LINES)
            .map(|line| format!("{line:>3}  a line that wants to be read\n"))
            .collect(),
    };
    files::propose_and_write(turn, Proposal { path, old, new, line: 1 }).map(drop)
}

/// The same text with every second line in other words, or back.
fn changed(text: &str) -> String {
    let line = |(index, line): (usize, &str)| match index % 2 {
        0 => format!("{line}\n"),
        _ if line.ends_with("read") => format!("{}seen\n", line.strip_suffix("read").unwrap_or(line)),
        _ => format!("{}read\n", line.strip_suffix("seen").unwrap_or(line)),
    };
    text.lines().enumerate().map(line).collect()
}

/// Asks for three files before the first is answered.
pub fn several(turn: &mut Turn) -> Played {
    if !turn.client.fs.write_text_file {
        return turn.say("Your client writes no files for me (`fs.writeTextFile` is off).\n");
    }
    turn.say("Three files at once: I ask for all of them, and wait.\n\n")?;
    let mut proposals = Vec::new();
    for (name, text) in SEVERAL {
        let path = under(&turn.cwd, name);
        let old = match path.is_file() {
            true => files::fetch(turn, &path)?.ok(),
            false => None,
        };
        let new = match &old {
            Some(old) => format!("{old}\nAnd once more.\n"),
            None => text.to_owned(),
        };
        proposals.push((name, Proposal { path, old, new, line: 1 }));
    }
    let mut asks = Vec::new();
    let mut calls = Vec::new();
    for (name, proposal) in &proposals {
        let title = format!("Write {name}");
        let fields = fields(&title, proposal);
        let call = turn.start_call(|id| {
            ToolCall::new(id, title)
                .kind(ToolKind::Edit)
                .status(ToolCallStatus::Pending)
                .content(fields.content.clone().unwrap_or_default())
                .locations(fields.locations.clone().unwrap_or_default())
        });
        calls.push(call.clone());
        asks.push((ToolCallUpdate::new(call, fields), options()));
    }
    let settled = files::settled(turn);
    let chosen = if settled.is_some() { Vec::new() } else { turn.ask_all(asks)? };
    let mut written = 0;
    for (index, (call, (_, proposal))) in calls.iter().zip(proposals).enumerate() {
        let chosen =
            || chosen.get(index).is_some_and(|option| option.as_ref().is_some_and(files::is_allowed));
        let allowed = settled.unwrap_or_else(chosen);
        let done = allowed && write(turn, &proposal.path, proposal.new)?;
        written += usize::from(done);
        let status = if done { ToolCallStatus::Completed } else { ToolCallStatus::Failed };
        match allowed {
            true => turn.finish_call(call, status, ToolCallUpdateFields::new()),
            false => turn.reject_call(call),
        }
    }
    turn.say(&format!("{written} of {} are written.\n", SEVERAL.len()))
}

fn fields(title: &str, proposal: &Proposal) -> ToolCallUpdateFields {
    let diff = Diff::new(&proposal.path, proposal.new.clone()).old_text(proposal.old.clone());
    ToolCallUpdateFields::new()
        .title(title.to_owned())
        .kind(ToolKind::Edit)
        .status(ToolCallStatus::Pending)
        .content(vec![ToolCallContent::from(diff)])
        .locations(vec![ToolCallLocation::new(&proposal.path).line(proposal.line)])
}

fn write(turn: &mut Turn, path: &Path, text: String) -> Played<bool> {
    let request = WriteTextFileRequest::new(turn.session.clone(), path, text);
    Ok(turn.call::<WriteTextFileResponse>("fs/write_text_file", request)?.is_ok())
}

/// A subagent as a client sees it that was told of none: a call, and the subagent's own calls, which name it.
pub fn subagent(turn: &mut Turn) -> Played {
    turn.say("I send somebody else to look around.\n\n")?;
    let call = turn.start_call(|id| {
        ToolCall::new(id, "Look around in this folder")
            .kind(ToolKind::Think)
            .status(ToolCallStatus::InProgress)
    });
    let mut names = Vec::new();
    let entries = std::fs::read_dir(&turn.cwd).into_iter().flatten().flatten();
    names.extend(entries.filter_map(|entry| entry.file_name().into_string().ok()));
    names.sort();
    let listed = own_call(turn, &call, "List the files", ToolKind::Search)?;
    turn.pause(700)?;
    let text = names.iter().take(20).map(String::as_str).collect::<Vec<_>>().join("\n");
    finish(turn, &listed, if text.is_empty() { "nothing" } else { &text });
    let counted = own_call(turn, &call, "Count them", ToolKind::Think)?;
    turn.pause(700)?;
    let count = match names.len() {
        1 => "1 entry".to_owned(),
        count => format!("{count} entries"),
    };
    finish(turn, &counted, &count);
    turn.pause(300)?;
    finish(turn, &call, &format!("There are {count} in this folder."));
    turn.say(&format!("The subagent says that there are {count} here.\n"))
}

fn own_call(turn: &mut Turn, parent: &ToolCallId, title: &str, kind: ToolKind) -> Played<ToolCallId> {
    // The key that Claude's adapter uses, and that clients know.
    let mut meta = Meta::new();
    meta.insert("claudeCode".to_owned(), json!({ "parentToolUseId": parent.0 }));
    Ok(turn
        .start_call(|id| ToolCall::new(id, title).kind(kind).status(ToolCallStatus::InProgress).meta(meta)))
}

fn finish(turn: &mut Turn, call: &ToolCallId, text: &str) {
    let content = vec![ToolCallContent::from(text.to_owned())];
    turn.finish_call(call, ToolCallStatus::Completed, ToolCallUpdateFields::new().content(content));
}

/// A command that prints for a while and then fails, with the place in a file.
pub fn build(turn: &mut Turn, seconds: u64) -> Played {
    turn.say("I build what cannot be built.\n\n")?;
    if !command::fail_slowly(turn, seconds)? {
        return Ok(());
    }
    turn.say("`:Acp terminal quickfix` lists the places that it names.\n")
}

/// A form with a field of each kind.
pub fn form(turn: &mut Turn) -> Played {
    let takes = turn.client.elicitation.as_ref().is_some_and(|elicitation| elicitation.form.is_some());
    if !takes {
        return turn.say("Your client has no forms for me (`elicitation.form` is off).\n");
    }
    let schema = json!({ "type": "object", "required": ["colour", "name"], "properties": {
        "name": { "type": "string", "title": "What shall I call you?", "maxLength": 40 },
        "colour": { "type": "string", "title": "Which colour?", "oneOf": [
            { "const": "green", "title": "Green" }, { "const": "blue", "title": "Blue" } ] },
        "cups": { "type": "integer", "title": "How many cups of tea?", "minimum": 0, "maximum": 9, "default": 1 },
        "again": { "type": "boolean", "title": "Shall I ask again?", "default": false },
    } });
    let params = json!({ "sessionId": turn.session, "mode": "form", "message": "A few questions",
        "requestedSchema": schema });
    match turn.call::<Value>("elicitation/create", params)? {
        Ok(answer) => match answer["action"].as_str() {
            Some("accept") => turn.say(&format!("You answered:\n\n```json\n{:#}\n```\n", answer["content"])),
            Some("decline") => turn.say("You would rather not say. That is an answer, too.\n"),
            _ => turn.say("You closed the form.\n"),
        },
        Err(error) => turn.say(&format!("The form did not work out: {error}\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_changed_and_changed_back() {
        let text: String = (1..=LONG_PROPOSAL_LINES)
            .map(|line| format!("{line:>3}  a line that wants to be read\n"))
            .collect();
        let other = changed(&text);
        assert_eq!(
            text.lines().zip(other.lines()).filter(|(one, two)| one != two).count(),
            LONG_PROPOSAL_LINES / 2
        );
        assert_eq!(changed(&other), text);
    }
}
