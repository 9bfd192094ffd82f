//! What was said and done in a session before one of its prompts, for an agent that goes on from there in a session
//! of its own: prompts and answers as they were, calls by their titles. Which prompt that is, and how it is sent, is
//! left to others.

use super::Session;
use crate::core::ids::EntryId;
use crate::core::message::{Content, ResourceBody};
use crate::core::session::entry::Body;
use crate::core::session::tool_call::Status;
use crate::core::text::{Text, one_line};

/// So many bytes go along; what came earlier than these is left out.
const MAX_CONTEXT_BYTES: usize = 200_000;

/// What the block is called in a prompt.
const URI: &str = "acp://context/what was said before";

const HEAD: &str = "This was said and done before, in another session. Go on from here with the prompt that this \
                    comes with. Files are as they are now.";

impl Session {
    /// The user's prompts that the agent knows of, with their entries.
    pub fn prompt_entries(&self) -> Vec<(EntryId, Text)> {
        let said = self.entries.iter().enumerate().filter(|(_, entry)| !entry.refused);
        said.filter_map(|(at, entry)| match &entry.body {
            Body::User { text, .. } => Some((EntryId(at), text.clone())),
            _ => None,
        })
        .collect()
    }

    /// What came before an entry, as a part of a prompt; nothing where that is nothing.
    pub fn before(&self, entry: EntryId) -> Option<Content> {
        let mut parts: Vec<String> = Vec::new();
        for entry in self.entries.get(..entry.0)?.iter().filter(|entry| !entry.refused) {
            let part = match &entry.body {
                Body::User { text, attachments } => {
                    let along: String = attachments.iter().map(|one| format!("\n+ {one}")).collect();
                    format!("## User\n\n{}{along}", text.trim_end())
                }
                Body::Message { text } => format!("## Agent\n\n{}", text.trim_end()),
                Body::Tool(call) => {
                    let became = match call.shown_status() {
                        Status::Done => "",
                        Status::Failed => " (failed)",
                        Status::Rejected => " (rejected by the user)",
                        _ => " (not finished)",
                    };
                    format!("- {}{became}", one_line(&call.headline()))
                }
                Body::Written(written) if written.files.is_empty() => continue,
                Body::Written(written) => {
                    let names: Vec<&str> = written.files.iter().map(|file| file.name.as_str()).collect();
                    format!("- wrote {}", names.join(", "))
                }
                _ => continue,
            };
            parts.push(part);
        }
        let is_said = parts.iter().any(|part| part.starts_with("## "));
        let mut left = MAX_CONTEXT_BYTES;
        let kept = parts.iter().rev().take_while(|part| {
            let fits = part.len() <= left;
            left = left.saturating_sub(part.len());
            fits
        });
        let kept = kept.count();
        let cut = (kept < parts.len()).then(|| "(The beginning was left out.)".to_owned());
        let all = [HEAD.to_owned()].into_iter().chain(cut).chain(parts.split_off(parts.len() - kept));
        let text = all.collect::<Vec<_>>().join("\n\n") + "\n";
        is_said.then(|| Content::Resource {
            uri: URI.to_owned(),
            mime: Some("text/markdown".to_owned()),
            body: ResourceBody::Text(text),
        })
    }
}

/// Whether a part of a prompt is what came before it in another session.
pub fn is_before(content: &Content) -> bool {
    matches!(content, Content::Resource { uri, .. } if uri == URI)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::{Moment, SessionKey};
    use crate::core::message::{
        Opened, Place, Role, StopReason, ToolCallPatch, ToolKind, TurnEnd, Update, WireStatus,
    };
    use crate::core::session::AgentRun;

    fn turn(session: &mut Session, prompt: &str, answer: &str, reason: StopReason) {
        session.prompt(vec![Content::Text(prompt.into())], Moment(0));
        let call = ToolCallPatch {
            title: Some(format!("Read {prompt}.rs")),
            kind: Some(ToolKind::Read),
            status: Some(WireStatus::Completed),
            ..ToolCallPatch::new(prompt)
        };
        session.apply(Update::ToolCall(Box::new(call)), Moment(0));
        let content = Content::Text(answer.into());
        session.apply(Update::Message { role: Role::Agent, message: None, content }, Moment(0));
        session.turn_ended(TurnEnd::Stopped { reason, usage: None }, Moment(0));
    }

    fn session() -> Session {
        let mut session = Session::new(SessionKey(1), AgentRun::DEMO, Place::default(), Moment(0));
        session.opened(Opened::default(), Moment(0));
        session
    }

    fn text(session: &Session, at: usize) -> Option<String> {
        match session.before(session.prompt_entries()[at].0)? {
            Content::Resource { body: ResourceBody::Text(text), .. } => Some(text),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_came_before_a_prompt_goes_along_and_what_came_after_does_not() {
        let mut session = session();
        turn(&mut session, "one", "First.", StopReason::EndTurn);
        turn(&mut session, "bad", "No.", StopReason::Refusal);
        turn(&mut session, "two", "Second.", StopReason::EndTurn);
        let prompts: Vec<Text> = session.prompt_entries().into_iter().map(|(_, text)| text).collect();
        assert_eq!(prompts, ["one", "two"], "what was refused is not known to the agent");
        assert_eq!(text(&session, 0), None);
        let before = text(&session, 1).expect("there was a turn");
        let said = "\n\n## User\n\none\n\n- Read one.rs\n\n## Agent\n\nFirst.\n";
        assert!(before.starts_with(HEAD) && before.ends_with(said), "{before}");
        assert!(is_before(&session.before(session.prompt_entries()[1].0).expect("the same")));
    }

    #[test]
    fn of_much_the_last_part_goes_along() {
        let mut session = session();
        for at in 0..5 {
            turn(&mut session, &format!("p{at}"), &"x".repeat(60_000), StopReason::EndTurn);
        }
        turn(&mut session, "last", "Done.", StopReason::EndTurn);
        let before = text(&session, 5).expect("there were turns");
        assert!(before.len() < MAX_CONTEXT_BYTES + 1000);
        assert!(before.contains("(The beginning was left out.)"));
        assert!(before.contains("## User\n\np4") && !before.contains("## User\n\np1\n"));
    }
}
