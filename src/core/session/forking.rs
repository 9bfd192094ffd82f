//! A conversation that goes on twice. What was said in a session is copied into one that the agent makes of it, since no
//! agent tells it again. The agent's part, and the chat's, are left to others.

use super::titles::{fork_title, plain_title};
use super::{Phase, Session, Subagents};
use crate::core::ids::{EntryId, Moment};
use crate::core::message::{Severity, SlashCommand, SubagentPatch, SubagentState};
use crate::core::session::entry::{Body, Entry, Verdict};
use crate::core::session::tool_call::Cause;

/// What another session takes over.
pub struct Past {
    title: Option<String>,
    /// The title is the user's.
    named: bool,
    name: String,
    entries: Vec<Entry>,
    subagents: Subagents,
    plan: Option<EntryId>,
    commands: Vec<SlashCommand>,
    usage: Option<(u64, u64)>,
}

impl Session {
    /// Why there can be no fork of it now, fit for a message.
    pub fn why_not_forked(&self) -> Option<String> {
        let name = self.name();
        let can = self.info.as_ref().is_some_and(|info| info.can.fork);
        Some(match &self.phase {
            Phase::Ending { .. } | Phase::Gone => {
                format!("{name} has ended; :Acp restart starts it, then fork")
            }
            Phase::Opening { .. } => "the session isn't open yet; it can be forked once it is".to_owned(),
            _ if !can => format!("{name} can't fork a session; :AcpChat! begins another one"),
            Phase::LoginNeeded => format!("{name} wants you to log in first: :Acp login"),
            Phase::Waiting { .. } | Phase::Working { .. } | Phase::Cancelling { .. } => {
                "a turn is running; fork the session once it is over, or stop it: :Acp cancel".to_owned()
            }
            Phase::Idle => return None,
        })
    }

    /// What was said so far.
    pub fn past(&self) -> Past {
        Past {
            title: self.title.clone().or_else(|| self.first_prompt().map(plain_title)),
            named: self.was_named(),
            name: self.title.clone().unwrap_or_else(|| self.name()),
            entries: self.entries.clone(),
            // Who works there works for that session alone.
            subagents: Subagents {
                inner: self.subagents.inner.clone(),
                last: self.subagents.last,
                ..Subagents::default()
            },
            plan: self.plan,
            commands: self.commands.clone(),
            usage: self.usage,
        }
    }

    /// Begins with what was said in another session. What stands here by now comes after it.
    pub fn goes_on_from(&mut self, past: Past, now: Moment) {
        let Past { title, named, name, entries, subagents, plan, commands, usage } = past;
        let own = std::mem::replace(&mut self.entries, entries);
        self.subagents = subagents;
        self.plan = plan;
        self.title = title.as_deref().map(fork_title);
        self.named = named;
        self.commands = commands;
        self.usage = usage;
        for entry in &mut self.entries {
            entry.end(now);
        }
        self.touched = (0..self.entries.len()).map(EntryId).collect();
        let text = format!("Forked from {name:?}: what stands above was said there, and both go on apart.");
        self.add(Body::Notice { severity: Severity::Info, text, times: 1 }, now);
        for entry in own {
            self.add(entry.body, now);
        }
        self.text_stays = true;
        self.status_touched = true;
    }
}

impl Entry {
    /// Nothing goes on in it.
    fn end(&mut self, now: Moment) {
        match &mut self.body {
            Body::Tool(call) => call.advance(&Cause::TurnEnded, now),
            Body::Elicitation(asked) if asked.verdict == Verdict::Open => {
                asked.verdict = Verdict::Withdrawn;
                asked.choices.clear();
            }
            Body::Thought { ended: ended @ None, .. } => *ended = Some(now),
            Body::Subagent(subagent) if subagent.is_working() => {
                let state = Some(Some(SubagentState::Unknown));
                let patch =
                    SubagentPatch { state, can_cancel: Some(false), ..SubagentPatch::new(&subagent.id.0) };
                subagent.patch(patch, now);
            }
            Body::Compaction(compaction) if compaction.status == "in_progress" => compaction.status.clear(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::{AgentId, SessionKey};
    use crate::core::message::{
        AgentInfo, Capabilities, Content, Opened, Place, Reopen, Role, ToolCallPatch, Update, WireStatus,
    };
    use crate::core::session::AgentRun;
    use crate::core::session::entry::Greeting;

    fn session(number: u32, fork: bool) -> Session {
        let mut session = Session::new(
            SessionKey(number),
            AgentRun { id: AgentId(1), name: "fake", command: "fake" },
            Place::default(),
            Moment(0),
        );
        let can = Capabilities { fork, load: true, ..Capabilities::default() };
        session.connected(AgentInfo { can, ..AgentInfo::default() });
        session
    }

    fn open(session: &mut Session, acp_id: &str) {
        drop(session.opened(Opened { acp_id: acp_id.into(), ..Opened::default() }, Moment(1)));
    }

    fn says(session: &mut Session, text: &str) {
        let content = Content::Text(text.into());
        session.apply(Update::Message { role: Role::Agent, message: None, content }, Moment(2));
    }

    fn texts(session: &Session) -> Vec<String> {
        let text = |entry: &Entry| match &entry.body {
            Body::Message { text } => Some(text.clone()),
            Body::Notice { text, .. } => Some(text.clone()),
            Body::Greeting(Greeting::Ready { .. }) => Some("ready".into()),
            Body::Greeting(Greeting::Connecting { .. }) => Some("connecting".into()),
            Body::Greeting(Greeting::Opening { .. }) => Some("opening".into()),
            _ => None,
        };
        session.entries().iter().filter_map(text).collect()
    }

    fn forked() -> (Session, Session) {
        let mut source = session(1, true);
        open(&mut source, "a");
        says(&mut source, "before");
        let status = Some(WireStatus::InProgress);
        let call = ToolCallPatch { status, ..ToolCallPatch::new("c") };
        source.apply(Update::ToolCall(Box::new(call)), Moment(3));
        source.title = Some("Colours".into());
        let mut fork = session(2, true);
        fork.taking_up = Some(("a".into(), Reopen::Fork));
        fork.goes_on_from(source.past(), Moment(4));
        (source, fork)
    }

    #[test]
    fn a_fork_begins_with_what_was_said_and_both_go_on_apart() {
        let (mut source, mut fork) = forked();
        open(&mut fork, "b");
        says(&mut fork, "in the fork");
        says(&mut source, "in the original");
        let notice = "Forked from \"Colours\": what stands above was said there, and both go on apart.";
        assert_eq!(texts(&fork), ["ready", "before", notice, "ready", "in the fork"]);
        assert_eq!(texts(&source), ["ready", "before", "in the original"]);
        assert_eq!(fork.title.as_deref(), Some("Colours (fork)"));
    }

    #[test]
    fn an_agent_that_calls_a_fork_as_its_source_takes_nothing_from_its_title() {
        let (source, mut fork) = forked();
        let told = |session: &mut Session, title: &str| {
            session.apply(Update::Info { title: Some(Some(title.into())), updated_at: None }, Moment(5));
            session.title.clone()
        };
        assert_eq!(told(&mut fork, "Colours").as_deref(), Some("Colours (fork)"));
        assert_eq!(told(&mut fork, "Shapes").as_deref(), Some("Shapes"));
        let mut named = source;
        named.rename("Mine");
        let mut fork = session(3, true);
        fork.goes_on_from(named.past(), Moment(6));
        assert_eq!(told(&mut fork, "Shapes").as_deref(), Some("Mine (fork)"));
    }

    #[test]
    fn a_call_that_ran_goes_on_in_one_of_both_only() {
        let (source, fork) = forked();
        let open = |session: &Session| {
            let calls = session.entries().iter().filter_map(Entry::tool);
            calls.filter(|call| !call.status.is_over()).count()
        };
        assert_eq!((open(&source), open(&fork)), (1, 0));
    }

    #[test]
    fn an_agent_that_is_started_again_has_no_session_to_fork() {
        let (_, mut fork) = forked();
        fork.restarted(AgentId(2), "fake", Moment(5));
        assert_eq!(fork.taking_up, None);
    }

    #[test]
    fn what_can_not_be_forked_says_what_to_do() {
        let why = |session: &Session| session.why_not_forked().unwrap_or_default();
        let mut cannot = session(1, false);
        assert!(why(&cannot).contains("once it is"), "{}", why(&cannot));
        open(&mut cannot, "a");
        assert!(why(&cannot).contains(":AcpChat!"), "{}", why(&cannot));
        let mut can = session(1, true);
        open(&mut can, "a");
        assert_eq!(why(&can), "");
        drop(can.prompt(vec![Content::Text("x".into())], Moment(2)));
        assert!(why(&can).contains(":Acp cancel"), "{}", why(&can));
        can.closed(Moment(3));
        assert!(why(&can).contains(":Acp restart"), "{}", why(&can));
    }
}
