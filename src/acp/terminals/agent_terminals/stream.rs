//! The output of commands that agents stream as the text of a call, all of it again each time. Here it is
//! told from the other things that such a text may be, and what is new in it from what was there. The
//! terminals that it is put into are left to the parent.

use serde_json::Value;

use crate::acp::wire::from_acp;
use crate::core::ids::ToolCallId;
use crate::core::maps::FastMap;
use crate::core::message::{Content, ToolCallPatch, ToolContent, ToolKind, WireStatus};
use crate::core::session::tool_call::{self, Cause, Status};
use crate::core::text::one_line;

/// The calls of a turn that run commands.
#[derive(Default)]
pub struct Calls(FastMap<ToolCallId, Call>);

/// What was told of a call so far.
#[derive(Default)]
pub struct Call {
    pub title: String,
    pub command: Option<String>,
    /// Where the command runs.
    pub cwd: Option<String>,
    /// What the agent calls the command in words.
    description: Option<String>,
    executes: bool,
    status: Option<Status>,
    /// What its text was last, once that was taken for output.
    said: Option<String>,
}

/// What a text of a call's is to its output.
#[derive(Debug, PartialEq, Eq)]
pub enum New<'t> {
    /// This was put out since.
    More(&'t str),
    /// All there is now; of what was shown before, nothing is left.
    Anew(&'t str),
    /// It is something else, such as a summary.
    Other,
}

impl Calls {
    /// Takes in what an update says of a call.
    pub fn note(&mut self, patch: &ToolCallPatch) {
        let call = self.0.entry(patch.id.clone()).or_default();
        if let Some(kind) = patch.kind {
            call.executes = kind == ToolKind::Execute;
        }
        if let Some(title) = &patch.title {
            call.title.clone_from(title);
        }
        if let Some(status) = &patch.status {
            let before = call.status.unwrap_or(Status::Pending);
            call.status = Some(tool_call::next(before, &Cause::Reported(status.clone())));
        }
        let Some(input) = &patch.raw_input else { return };
        call.command = from_acp::command(patch).or(call.command.take());
        let given = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
        call.cwd = given("cwd").or_else(|| given("workdir")).or(call.cwd.take());
        call.description = given("description").or(call.description.take());
    }

    /// The call whose text an update may stream.
    pub fn of(&mut self, patch: &ToolCallPatch) -> Option<&mut Call> {
        self.0.get_mut(&patch.id).filter(|call| call.executes)
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl Call {
    pub fn is_over(&self) -> bool {
        self.status.is_some_and(Status::is_over)
    }

    /// Whether its text was taken for output before.
    pub fn streams(&self) -> bool {
        self.said.is_some()
    }

    /// Whether the text that an update brings is the beginning of output. Agents also say there what the
    /// command is for, or, once it is over, what came of it.
    pub fn begins(&self, patch: &ToolCallPatch, text: &str) -> bool {
        let text = one_line(text);
        let known = [Some(&self.title), self.command.as_ref(), self.description.as_ref()];
        let describes = known.into_iter().flatten().any(|known| one_line(known) == text);
        !text.is_empty() && !describes && !self.is_over() && (self.runs() || says_only_content(patch))
    }

    fn runs(&self) -> bool {
        self.status == Some(Status::Running)
    }

    /// What of a text was not there yet.
    pub fn what_is_new<'t>(&mut self, text: &'t str) -> New<'t> {
        let text = without_epilogue(without_fence(text));
        let said = self.said.get_or_insert_default();
        let new = match continuation(said, text) {
            Some(more) => New::More(more),
            // Of a command that is over the output is known; some agents shorten it in the end.
            None if self.status.is_some_and(Status::is_over) => return New::Other,
            None => New::Anew(text),
        };
        // Blanks at the end may go and come again.
        if !(new == New::More("") && said.starts_with(text)) {
            text.clone_into(said);
        }
        new
    }
}

/// The text of a content, if text is all there is.
pub fn text(content: &[ToolContent]) -> Option<String> {
    let mut all = String::new();
    for item in content {
        match item {
            ToolContent::Content(Content::Text(text)) => all.push_str(text),
            _ => return None,
        }
    }
    (!content.is_empty()).then_some(all)
}

/// Such an update streams something: what a call is about is said along with other things.
fn says_only_content(patch: &ToolCallPatch) -> bool {
    let waits = matches!(patch.status, None | Some(WireStatus::InProgress));
    waits && patch.title.is_none() && patch.raw_input.is_none() && patch.locations.is_none()
}

/// The inside of a text that is one block of code, which need not be closed yet.
fn without_fence(text: &str) -> &str {
    let Some((fence, inside)) = text.split_once('\n').filter(|(first, _)| first.starts_with("```")) else {
        return text;
    };
    let ticks = &fence[..fence.len() - fence.trim_start_matches('`').len()];
    let closed = inside.trim_end().strip_suffix(ticks);
    closed.filter(|inside| inside.is_empty() || inside.ends_with('\n')).unwrap_or(inside)
}

/// A text without the line in which an agent says that the command is over; that is shown otherwise.
fn without_epilogue(text: &str) -> &str {
    let start = text.trim_end().rfind('\n').map_or(0, |at| at + 1);
    let last = text[start..].trim_end();
    let says_so = last.starts_with("<shellId: ") && last.contains(" completed with exit code ");
    if says_so && last.ends_with('>') { &text[..start] } else { text }
}

/// How much of the end of a text is looked for in another.
const NEEDLE: usize = 64;
/// The longest mark that stands for what was left out at the beginning of a text.
const ELLIPSIS: usize = 80;

/// What a text has beyond another one that it continues. It may end with other blanks, and lack the
/// beginning: some agents send the last so many bytes.
fn continuation<'t>(old: &str, new: &'t str) -> Option<&'t str> {
    let common = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    let common = (0..=common).rev().find(|at| new.is_char_boundary(*at) && old.is_char_boundary(*at));
    let common = common.unwrap_or_default();
    if old[common..].trim().is_empty() {
        return Some(&new[common..]);
    }
    let (old, blanks) = old.split_at(old.trim_end().len());
    let start = (old.len().saturating_sub(NEEDLE)..=old.len()).find(|at| old.is_char_boundary(*at))?;
    let needle = &old[start..];
    if needle.len() < NEEDLE / 2 {
        return None;
    }
    // The last place is the one that takes the least for new; where lines repeat, nothing tells.
    new.rmatch_indices(needle).map(|(at, _)| at + needle.len()).find_map(|end| {
        let same = old.bytes().rev().zip(new[..end].bytes().rev()).take_while(|(a, b)| a == b).count();
        let shown = blanks.bytes().zip(new[end..].bytes()).take_while(|(a, b)| a == b).count();
        (end - same <= ELLIPSIS).then(|| new.get(end + shown..).unwrap_or(&new[end..]))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::core::message::Update;

    fn patch(mut fields: Value) -> ToolCallPatch {
        fields["sessionUpdate"] = "tool_call_update".into();
        fields["toolCallId"] = "c".into();
        let facts = from_acp::update(&fields).into_iter();
        let mut patches = facts.filter_map(|fact| match fact {
            from_acp::Fact::Update(Update::ToolCall(patch)) => Some(*patch),
            _ => None,
        });
        patches.next_back().expect("an update of a call")
    }

    #[test]
    fn a_text_begins_output_only_while_the_command_may_run() {
        let mut calls = Calls::default();
        let mut begins = |fields: Value, text: &str| {
            let patch = patch(fields);
            calls.note(&patch);
            calls.of(&patch).is_some_and(|call| call.begins(&patch, text))
        };
        let input = json!({ "command": "make all", "description": "Build it" });
        assert!(!begins(json!({ "kind": "execute", "status": "pending", "rawInput": input }), "out"));
        assert!(!begins(json!({ "content": [] }), " Build it\n"), "what it is for");
        assert!(!begins(json!({ "content": [] }), "make  all"), "the command");
        assert!(!begins(json!({ "content": [] }), " \n"), "nothing yet");
        assert!(begins(json!({ "content": [] }), "cc main.c"), "nothing else was said with it");
        assert!(!begins(json!({ "title": "make" }), "cc main.c"));
        assert!(begins(json!({ "status": "in_progress", "title": "make" }), "cc main.c"));
        assert!(!begins(json!({ "status": "completed" }), "cc main.c"), "it is over");
        assert!(!begins(json!({ "content": [] }), "cc main.c"), "it was over");
        assert!(!begins(json!({ "kind": "read", "status": "in_progress" }), "cc main.c"));
    }

    #[test]
    fn what_is_new_is_told_from_what_was_there() {
        let long = "the quick brown fox jumps over the lazy dog and is never seen again\n";
        for (old, new, expected) in [
            ("", "a\n", Some("a\n")),
            ("a\n", "a\nb\n", Some("b\n")),
            ("a\n", "a", Some("")),
            ("a\n", "a\n<end>", Some("<end>")),
            ("a", "a\nb", Some("\nb")),
            ("a\nb", "a\nc", None),
            ("50%\n", "51%\n", None),
            ("\u{e9}\n", "\u{e8}\n", None),
        ] {
            assert_eq!(continuation(old, new), expected, "{old:?} {new:?}");
        }
        let old = format!("one\n{long}");
        assert_eq!(continuation(&old, &format!("...{long}two\n")), Some("two\n"));
        assert_eq!(continuation(&old, &format!("(the beginning was left out)\n{long}")), Some(""));
        assert_eq!(continuation(&old, &format!("something else\n{}{long}", "more\n".repeat(20))), None);
    }

    #[test]
    fn a_fence_and_an_agents_last_word_are_no_output() {
        let mut call = Call::default();
        assert_eq!(call.what_is_new("```sh\na\n```\n"), New::More("a\n"));
        assert_eq!(call.what_is_new("```sh\na\nb"), New::More("b"));
        assert_eq!(call.what_is_new("```sh\na\nb\n```"), New::More("\n"));
        call = Call::default();
        assert_eq!(call.what_is_new("a\n"), New::More("a\n"));
        assert_eq!(call.what_is_new("a\nb\n<shellId: 0 completed with exit code 3>"), New::More("b\n"));
    }

    #[test]
    fn an_end_that_is_another_text_takes_nothing_away() {
        let mut call = Call::default();
        assert_eq!(call.what_is_new("working: 1\n"), New::More("working: 1\n"));
        assert_eq!(call.what_is_new("working: 2\n"), New::Anew("working: 2\n"));
        call.status = Some(Status::Done);
        assert_eq!(call.what_is_new("All is well"), New::Other);
        assert_eq!(call.what_is_new("working: 2\nend\n"), New::More("end\n"));
    }

    proptest! {
        #[test]
        fn what_grows_is_put_together_again(pieces in prop::collection::vec("[a\u{e9}\n ]{0,9}", 0..20)) {
            let (mut all, mut shown) = (String::new(), String::new());
            let mut call = Call::default();
            for piece in pieces {
                all.push_str(&piece);
                match call.what_is_new(&all) {
                    New::More(more) => shown.push_str(more),
                    New::Anew(_) | New::Other => prop_assert!(false, "it only grew"),
                }
            }
            prop_assert_eq!(shown, all);
        }
    }
}
