//! The scenes with files: a read through the client, which sees what nobody saved yet, and an edit with
//! a diff that waits for permission. Which file and which change is decided by pure functions here.

use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::{
    Diff, PermissionOption, PermissionOptionKind, ReadTextFileRequest, ReadTextFileResponse, ToolCall,
    ToolCallContent, ToolCallId, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
    ToolKind, WriteTextFileRequest, WriteTextFileResponse,
};

use crate::settings::Mode;
use crate::turn::{Played, Turn, under};

/// The file of the sample project that is read and edited.
pub const GREETING: &str = "src/greeting.lua";
/// The file of the sample project that is looked at.
const TEST: &str = "tests/greeting_test.lua";
/// What is written, read and edited where there is no sample project.
const NEW_FILE: &str = "acp-tour.lua";
/// What it begins as.
const NEW_TEXT: &str = "-- Written by the demo agent for its tour; delete it when you have seen enough.\nlocal M = {}\nM.word = \"Hello\"\n\n--- The line that greets one person.\nfunction M.greet(name)\n  return M.word .. \", \" .. name .. \"!\"\nend\n\nreturn M\n";

/// The line that a user may have changed without saving.
const WATCHED_LINE: usize = 3;

const BEFORE: &str = "  return M.word .. \", \" .. name .. \"!\"\n";
const AFTER: &str = "  name = name or \"world\"\n  return (\"%s, %s!\"):format(M.word, name)\n";
const FAREWELL: &str = "--- The line that says goodbye.\nfunction M.part(name)\n  return \"Goodbye, \" .. (name or \"world\") .. \".\"\nend\n\n";
const LAST: &str = "return M\n";

/// A file as the client gave it.
pub struct Seen {
    pub path: PathBuf,
    pub text: String,
}

/// A change that the user is asked about.
#[derive(Debug, PartialEq)]
pub struct Proposal {
    pub path: PathBuf,
    /// `None` for a new file.
    pub old: Option<String>,
    pub new: String,
    /// Where the first change is, from 1.
    pub line: u32,
}

/// What became of a proposal.
#[derive(Debug, PartialEq)]
pub enum Edited {
    Written,
    Rejected,
    Failed,
    /// The client takes no writes.
    Skipped,
}

/// Reads the greeting and says what it saw: that of the sample project, or the one that was written here before. `None`
/// where there is neither.
pub fn read(turn: &mut Turn) -> Played<Option<Seen>> {
    let Some(name) = [GREETING, NEW_FILE].into_iter().find(|name| under(&turn.cwd, name).is_file()) else {
        turn.say("There is no file here that I know, so I begin with a new one.\n\n")?;
        return Ok(None);
    };
    let path = under(&turn.cwd, name);
    let line = u32::try_from(WATCHED_LINE).expect("a small constant");
    let call = start_reading(turn, &path, name, line);
    turn.pause(500)?;
    let seen = match fetch(turn, &path)? {
        Ok(text) => {
            finish_reading(turn, &call, &path, &text);
            Some(Seen { path: path.clone(), text })
        }
        Err(error) => {
            let content = vec![ToolCallContent::from(error)];
            turn.finish_call(&call, ToolCallStatus::Failed, ToolCallUpdateFields::new().content(content));
            None
        }
    };
    turn.pause(300)?;
    match &seen {
        None => turn.say(&format!("I could not read `{name}`. No harm done.\n\n"))?,
        Some(_) if !turn.client.fs.read_text_file => turn.say(
            "Your client reads no files for me (`fs.readTextFile` is off), so I took the one on the disk; \
             what you have not saved I cannot see.\n\n",
        )?,
        Some(seen) => {
            let saved = std::fs::read_to_string(&seen.path).ok();
            turn.say(&remark(&seen.text, saved.as_deref()))?;
        }
    }
    Ok(seen)
}

/// Looks at a place in another file, so that whoever follows the agent moves there.
pub fn look(turn: &mut Turn) -> Played<bool> {
    let Some(name) = [TEST, "README.md", NEW_FILE].into_iter().find(|name| under(&turn.cwd, name).is_file())
    else {
        return Ok(false);
    };
    let path = under(&turn.cwd, name);
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let line = line_of(&text, "greet(\"Ada\")").unwrap_or(1);
    let call = start_reading(turn, &path, name, line);
    turn.pause(600)?;
    match fetch(turn, &path)? {
        Ok(text) => finish_reading(turn, &call, &path, &text),
        Err(error) => {
            let content = vec![ToolCallContent::from(error)];
            turn.finish_call(&call, ToolCallStatus::Failed, ToolCallUpdateFields::new().content(content));
        }
    }
    turn.say(&format!("I also looked at `{name}`, line {line}. If you follow me, so did you.\n\n"))?;
    Ok(true)
}

/// Shows a diff, asks unless that was settled before, and writes through the client.
pub fn edit(turn: &mut Turn, seen: Option<Seen>) -> Played<Edited> {
    if !turn.client.fs.write_text_file {
        turn.say(
            "Your client writes no files for me (`fs.writeTextFile` is off), so I leave the edit out.\n\n",
        )?;
        return Ok(Edited::Skipped);
    }
    let proposal = propose(&turn.cwd, seen);
    propose_and_write(turn, proposal)
}

/// Shows a proposal, asks unless that was settled before, and writes through the client.
pub fn propose_and_write(turn: &mut Turn, proposal: Proposal) -> Played<Edited> {
    if !turn.client.fs.write_text_file {
        turn.say("Your client writes no files for me (`fs.writeTextFile` is off).\n\n")?;
        return Ok(Edited::Skipped);
    }
    let name = proposal.path.strip_prefix(&turn.cwd).unwrap_or(&proposal.path).display().to_string();
    let diff: ToolCallContent =
        Diff::new(&proposal.path, proposal.new.clone()).old_text(proposal.old.clone()).into();
    let location = ToolCallLocation::new(&proposal.path).line(proposal.line);
    let title = format!("Edit {name}");
    let call = turn.start_call(|id| {
        ToolCall::new(id, title.clone())
            .kind(ToolKind::Edit)
            .status(ToolCallStatus::Pending)
            .content(vec![diff.clone()])
            .locations(vec![location.clone()])
    });
    turn.pause(400)?;
    if !allowed(turn, &call, &title, diff, location)? {
        turn.reject_call(&call);
        turn.say(&format!("You said no, so `{name}` stays as it is. On we go.\n\n"))?;
        return Ok(Edited::Rejected);
    }
    turn.update_call(&call, ToolCallUpdateFields::new().status(ToolCallStatus::InProgress));
    let request = WriteTextFileRequest::new(turn.session.clone(), &proposal.path, proposal.new);
    match turn.call::<WriteTextFileResponse>("fs/write_text_file", request)? {
        Ok(_) => {
            turn.finish_call(&call, ToolCallStatus::Completed, ToolCallUpdateFields::new());
            turn.say(&format!("`{name}` is changed. `:Acp undo` on the change takes it back.\n\n"))?;
            Ok(Edited::Written)
        }
        Err(error) => {
            turn.finish_call(&call, ToolCallStatus::Failed, ToolCallUpdateFields::new());
            turn.say(&format!("Your client would not write `{name}`: {error}\n\n"))?;
            Ok(Edited::Failed)
        }
    }
}

fn allowed(
    turn: &mut Turn,
    call: &ToolCallId,
    title: &str,
    diff: ToolCallContent,
    location: ToolCallLocation,
) -> Played<bool> {
    if let Some(allowed) = settled(turn) {
        return Ok(allowed);
    }
    let fields = ToolCallUpdateFields::new()
        .title(title.to_owned())
        .kind(ToolKind::Edit)
        .status(ToolCallStatus::Pending)
        .content(vec![diff])
        .locations(vec![location]);
    let chosen = turn.ask(ToolCallUpdate::new(call.clone(), fields), options())?;
    Ok(chosen.as_ref().is_some_and(is_allowed))
}

/// Whether files are changed without a question, or left alone without one.
pub fn settled(turn: &Turn) -> Option<bool> {
    match turn.settings.mode {
        Mode::Auto => Some(true),
        Mode::Ask => turn.settled(ToolKind::Edit),
    }
}

/// The answers to a question about a file.
pub fn options() -> Vec<PermissionOption> {
    vec![
        PermissionOption::new("allow", "Allow", PermissionOptionKind::AllowOnce),
        PermissionOption::new("allow-always", "Allow for this session", PermissionOptionKind::AllowAlways),
        PermissionOption::new("reject", "Reject", PermissionOptionKind::RejectOnce),
    ]
}

pub fn is_allowed(option: &PermissionOption) -> bool {
    matches!(option.kind, PermissionOptionKind::AllowOnce | PermissionOptionKind::AllowAlways)
}

fn start_reading(turn: &mut Turn, path: &Path, name: &str, line: u32) -> ToolCallId {
    turn.start_call(|id| {
        ToolCall::new(id, format!("Read {name}"))
            .kind(ToolKind::Read)
            .status(ToolCallStatus::InProgress)
            .locations(vec![ToolCallLocation::new(path).line(line)])
    })
}

fn finish_reading(turn: &mut Turn, call: &ToolCallId, path: &Path, text: &str) {
    let content = vec![ToolCallContent::from(excerpt(path, text))];
    turn.finish_call(call, ToolCallStatus::Completed, ToolCallUpdateFields::new().content(content));
}

/// The file's text from the client, or from the disk where the client has no way to give it.
pub fn fetch(turn: &mut Turn, path: &Path) -> Played<Result<String, String>> {
    if !turn.client.fs.read_text_file {
        return Ok(std::fs::read_to_string(path).map_err(|error| error.to_string()));
    }
    let request = ReadTextFileRequest::new(turn.session.clone(), path);
    let answer = turn.call::<ReadTextFileResponse>("fs/read_text_file", request)?;
    Ok(answer.map(|answer| answer.content))
}

/// The beginning of a file as a fenced block.
fn excerpt(path: &Path, text: &str) -> String {
    const LINES: usize = 12;
    let language = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let mut lines: Vec<_> = text.lines().take(LINES).collect();
    if text.lines().nth(LINES).is_some() {
        lines.push("...");
    }
    // Longer than any fence within.
    format!("`````{language}\n{}\n`````\n", lines.join("\n"))
}

/// What there is to say about the line that may hold unsaved text.
fn remark(seen: &str, saved: Option<&str>) -> String {
    let watched = |text: &str| text.lines().nth(WATCHED_LINE - 1).unwrap_or_default().trim().to_owned();
    let line = watched(seen);
    match saved.map(watched) {
        Some(saved) if saved != line => {
            format!("Your unsaved line {WATCHED_LINE} says `{line}`. The disk still says `{saved}`.\n\n")
        }
        _ => format!(
            "Line {WATCHED_LINE} says `{line}`, as it does on the disk. Change it without saving, run \
             /tour again, and I will see that.\n\n"
        ),
    }
}

/// The change to propose: one that keeps every other line as the client gave it, there and back again.
fn propose(cwd: &Path, seen: Option<Seen>) -> Proposal {
    let Some(Seen { path, text }) = seen else {
        return Proposal { path: under(cwd, NEW_FILE), old: None, new: NEW_TEXT.to_owned(), line: 1 };
    };
    let new = if text.contains(BEFORE) {
        let new = text.replacen(BEFORE, AFTER, 1);
        match new.strip_suffix(LAST) {
            Some(head) if !new.contains(FAREWELL) => format!("{head}{FAREWELL}{LAST}"),
            _ => new,
        }
    } else if text.contains(AFTER) {
        text.replacen(AFTER, BEFORE, 1).replacen(FAREWELL, "", 1)
    } else {
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        format!("{text}{end}-- The demo agent was here.\n")
    };
    let same = text.lines().zip(new.lines()).take_while(|(old, new)| old == new).count();
    let line = u32::try_from(same + 1).unwrap_or(u32::MAX);
    Proposal { path, old: Some(text), new, line }
}

fn line_of(text: &str, needle: &str) -> Option<u32> {
    let index = text.lines().position(|line| line.contains(needle))?;
    u32::try_from(index + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = include_str!("../../../demo/project/src/greeting.lua");

    fn proposal(text: &str) -> Proposal {
        let seen = Seen { path: PathBuf::from("/p/src/greeting.lua"), text: text.to_owned() };
        propose(Path::new("/p"), Some(seen))
    }

    #[test]
    fn the_proposal_keeps_the_unsaved_line() {
        let unsaved = SAMPLE.replace("M.word = \"Hello\"", "M.word = \"Good evening\"");
        let proposal = proposal(&unsaved);
        assert_eq!(proposal.new.lines().nth(2), Some("M.word = \"Good evening\""));
        assert!(proposal.new.contains(AFTER) && proposal.new.contains(FAREWELL));
        assert_eq!(unsaved.lines().nth(proposal.line as usize - 1), BEFORE.lines().next());
    }

    #[test]
    fn the_second_proposal_takes_the_first_back() {
        let first = proposal(SAMPLE);
        assert_eq!(proposal(&first.new).new, SAMPLE);
    }

    #[test]
    fn an_unknown_text_grows_by_one_line() {
        assert_eq!(proposal("one").new, "one\n-- The demo agent was here.\n");
    }

    #[test]
    fn without_the_sample_a_new_file_is_proposed() {
        let proposal = propose(Path::new("/p"), None);
        assert_eq!((&proposal.path, &proposal.old), (&PathBuf::from("/p/acp-tour.lua"), &None));
        // The same scenes go on in it.
        let seen = Seen { path: proposal.path, text: proposal.new };
        assert!(propose(Path::new("/p"), Some(seen)).new.contains(AFTER));
    }

    #[test]
    fn the_remark_tells_unsaved_from_saved() {
        assert!(remark("a\nb\nnew\n", Some("a\nb\nold\n")).contains("unsaved line 3 says `new`"));
        assert!(remark("a\nb\nold\n", Some("a\nb\nold\n")).starts_with("Line 3 says `old`"));
    }
}
