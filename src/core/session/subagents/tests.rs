use super::*;
use crate::core::ids::SessionKey;
use crate::core::message::{
    Answer, Content, Ending, Opened, PermissionKind, PermissionOption, Place, ToolCallPatch, TurnEnd,
    WireStatus,
};
use crate::core::session::AgentRun;
use crate::core::session::Phase;
use crate::core::session::tool_call::Status;

fn working() -> Session {
    let mut session = Session::new(SessionKey(1), AgentRun::DEMO, Place::default(), Moment(0));
    session.opened(Opened { acp_id: "p".into(), ..Opened::default() }, Moment(0));
    session.prompt(vec![Content::Text("x".into())], Moment(0));
    session
}

fn announce(session: &mut Session, id: &str, title: &str) {
    let patch = SubagentPatch {
        title: Some(Some(title.into())),
        state: Some(Some(SubagentState::Running)),
        can_cancel: Some(true),
        ..SubagentPatch::new(id)
    };
    session.apply(Update::Subagent(Box::new(patch)), Moment(1));
}

fn branch(id: &str) -> Branch {
    Branch::Subagent(SubagentId(id.into()))
}

fn within(session: &mut Session, id: &str, update: Update) {
    session.apply(Update::Within { branch: branch(id), update: Box::new(update) }, Moment(2));
}

fn says(text: &str) -> Update {
    let content = Content::Text(text.into());
    Update::Message { role: Role::Agent, message: Some("m".into()), content }
}

fn call(id: &str, status: WireStatus) -> Update {
    let title = Some(format!("Call {}", ToolCallId(id.into()).as_told()));
    let status = Some(status);
    Update::ToolCall(Box::new(ToolCallPatch { title, status, ..ToolCallPatch::new(id) }))
}

fn idle(id: &str, reason: StopReason, error: Option<&str>) -> Update {
    let error = error.map(str::to_owned);
    let state = SubagentState::Idle { reason: Some(reason), error, usage: None };
    Update::Subagent(Box::new(SubagentPatch { state: Some(Some(state)), ..SubagentPatch::new(id) }))
}

fn the<'s>(session: &'s Session, id: &str) -> (EntryId, &'s Subagent) {
    session.subagents().find(|(_, subagent)| subagent.id.0 == id).expect("it was announced")
}

/// The tree as text.
fn tree(session: &Session) -> String {
    fn line(out: &mut String, session: &Session, id: EntryId, depth: usize) {
        let body = match &session.entry(id).expect("an entry").body {
            Body::Message { text } => format!("says {text}"),
            Body::Tool(call) => format!("{} {:?}", call.title, call.status),
            Body::Subagent(subagent) => format!("subagent {}", subagent.name()),
            Body::Relayed(relayed) => {
                let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "?".into());
                format!("{} to {}: {}", name(&relayed.from), name(&relayed.to), relayed.text)
            }
            Body::Plan(items) => format!("plan of {}", items.len()),
            Body::Stop { .. } => "stop".into(),
            _ => return,
        };
        out.push_str(&format!("{}{body}\n", "  ".repeat(depth)));
        session.inner(id).iter().for_each(|inner| line(out, session, *inner, depth + 1));
    }
    let mut out = String::new();
    for (index, entry) in session.entries().iter().enumerate() {
        if entry.parent.is_none() {
            line(&mut out, session, EntryId(index), 0);
        }
    }
    out
}

#[test]
fn what_a_subagent_says_and_does_stands_under_it_and_ids_are_its_own() {
    let mut session = working();
    session.apply(says("I begin."), Moment(0));
    session.apply(call("c", WireStatus::InProgress), Moment(0));
    announce(&mut session, "a", "First");
    announce(&mut session, "b", "Second");
    // They work at the same time, under the same ids.
    for (id, text) in [("a", "one "), ("b", "uno "), ("a", "two"), ("b", "due")] {
        within(&mut session, id, says(text));
    }
    within(&mut session, "b", call("b\u{1f}c", WireStatus::Completed));
    session.apply(says(" I go on."), Moment(3));
    insta::assert_snapshot!(tree(&session), @r"
    says I begin. I go on.
    Call c Running
    subagent First
      says one two
    subagent Second
      says uno due
      Call c Done
    ");
    assert_eq!(session.answer_text(), "I begin. I go on.");
}

#[test]
fn a_subagent_keeps_the_place_where_it_was_announced_first() {
    let mut session = working();
    announce(&mut session, "a", "First");
    announce(&mut session, "b", "Second");
    let again = SubagentPatch { title: Some(Some("Renamed".into())), ..SubagentPatch::new("b") };
    within(&mut session, "a", Update::Subagent(Box::new(again)));
    let nested = SubagentPatch { title: Some(Some("Nested".into())), ..SubagentPatch::new("c") };
    within(&mut session, "a", Update::Subagent(Box::new(nested)));
    within(&mut session, "c", says("deep"));
    insta::assert_snapshot!(tree(&session), @r"
    subagent First
      subagent Nested
        says deep
    subagent Renamed
    ");
}

#[test]
fn a_field_that_is_left_out_stays_and_null_clears_it() {
    let mut session = working();
    announce(&mut session, "a", "First");
    let told = |session: &mut Session, patch| session.apply(Update::Subagent(Box::new(patch)), Moment(2));
    told(&mut session, idle_patch(StopReason::Cancelled));
    told(&mut session, SubagentPatch { description: Some(Some("role".into())), ..SubagentPatch::new("a") });
    let (_, subagent) = the(&session, "a");
    assert_eq!((subagent.name(), subagent.role.as_deref()), ("First", Some("role")));
    let idle = |subagent: &Subagent| matches!(subagent.state, Some(SubagentState::Idle { .. }));
    assert!(idle(subagent));
    told(
        &mut session,
        SubagentPatch {
            title: Some(None),
            description: Some(None),
            state: Some(None),
            ..SubagentPatch::new("a")
        },
    );
    let (_, subagent) = the(&session, "a");
    assert_eq!((subagent.name(), &subagent.role, &subagent.state), ("subagent", &None, &None));
}

fn idle_patch(reason: StopReason) -> SubagentPatch {
    match idle("a", reason, None) {
        Update::Subagent(patch) => *patch,
        _ => unreachable!("it is made so"),
    }
}

#[test]
fn time_counts_while_it_works_and_an_equal_word_ends_nothing_twice() {
    let mut session = working();
    let state = |session: &mut Session, state: SubagentState, at: u64| {
        let patch = SubagentPatch { state: Some(Some(state)), ..SubagentPatch::new("a") };
        session.apply(Update::Subagent(Box::new(patch)), Moment(at));
        the(session, "a").1.took
    };
    let idle = || SubagentState::Idle { reason: None, error: None, usage: None };
    assert_eq!(state(&mut session, SubagentState::Running, 1000), 0);
    assert_eq!(state(&mut session, SubagentState::RequiresAction, 2000), 1000);
    session.ticked(Moment(2500));
    assert_eq!(the(&session, "a").1.took, 1500);
    assert_eq!(state(&mut session, idle(), 3000), 2000);
    assert_eq!(state(&mut session, idle(), 9000), 2000);
    assert_eq!(state(&mut session, SubagentState::Running, 10_000), 2000);
    assert_eq!(state(&mut session, idle(), 11_000), 3000);
    assert_eq!(session.subagents().count(), 1);
}

#[test]
fn the_clock_of_a_subagent_is_drawn_once_a_second() {
    let mut session = working();
    announce(&mut session, "a", "First");
    session.take_touched();
    session.ticked(Moment(500));
    assert!(session.take_touched().0.is_empty());
    session.ticked(Moment(1200));
    assert_eq!(session.take_touched().0.len(), 1);
}

fn asks(session: &mut Session, by: Option<&Branch>, ask: u64, call: &str) -> Vec<Command> {
    let yes = PermissionOption { id: "y".into(), name: "Yes".into(), kind: PermissionKind::AllowOnce };
    session.within(by, |session| session.asked(AskId(ask), ToolCallPatch::new(call), vec![yes], Moment(3)))
}

#[test]
fn cancelling_the_turn_leaves_the_questions_of_subagents_to_the_agent() {
    let mut session = working();
    announce(&mut session, "a", "First");
    assert_eq!(asks(&mut session, Some(&branch("a")), 1, "a\u{1f}c"), []);
    assert_eq!(asks(&mut session, None, 2, "c"), []);
    let commands = session.cancel(Moment(4));
    let answered = Command::Answer { ask: AskId(2), answer: Answer::Cancelled };
    assert_eq!(commands, [answered, Command::Cancel { session: SessionKey(1) }]);
    assert_eq!(session.asks().len(), 1);
    assert_eq!(asks(&mut session, Some(&branch("a")), 3, "a\u{1f}d"), [], "it may still ask");
    assert_eq!(asks(&mut session, None, 4, "e").len(), 1);
    let statuses = |session: &Session| -> Vec<Status> {
        session.entries().iter().filter_map(Entry::tool).map(|call| call.status).collect()
    };
    assert_eq!(statuses(&session), [Status::Waiting, Status::Cancelled, Status::Waiting, Status::Pending]);
    assert!(session.withdrawn(AskId(1), Moment(5)) && session.withdrawn(AskId(3), Moment(5)));
    session.apply(idle("a", StopReason::Cancelled, None), Moment(6));
    assert_eq!(statuses(&session)[0], Status::Cancelled);
    assert_eq!(session.asks(), []);
}

#[test]
fn a_question_is_asked_and_answered_in_the_name_of_the_subagent() {
    let mut session = working();
    announce(&mut session, "a", "Edit the notes");
    asks(&mut session, Some(&branch("a")), 1, "a\u{1f}c");
    let open = session.permission().expect("it asks").clone();
    assert_eq!(session.actor(open.entry), "Edit the notes");
    assert_eq!(session.asking_subagent(AskId(1)).map(Subagent::name), Some("Edit the notes"));
    let commands = session.answer(AskId(1), "y", Moment(4));
    assert_eq!(commands, [Command::Answer { ask: AskId(1), answer: Answer::Selected("y".into()) }]);
    assert_eq!(session.open_calls().count(), 1, "it runs now");
    within(&mut session, "a", call("a\u{1f}c", WireStatus::Completed));
    assert_eq!(session.open_calls().count(), 0);
    assert_eq!(session.call_entry(&ToolCallId("a\u{1f}c".into())), Some(open.entry));
}

#[test]
fn one_is_cancelled_alone_as_long_as_that_is_offered() {
    let mut session = working();
    announce(&mut session, "a", "First");
    let entry = the(&session, "a").0;
    let subagent = SubagentId("a".into());
    let cancel = Command::CancelSubagent { session: SessionKey(1), subagent };
    let offer = |session: &mut Session, can: bool| {
        let patch = SubagentPatch { can_cancel: Some(can), ..SubagentPatch::new("a") };
        session.apply(Update::Subagent(Box::new(patch)), Moment(2));
    };
    offer(&mut session, false);
    assert_eq!(session.cancel_subagent(entry), []);
    offer(&mut session, true);
    assert_eq!(session.cancel_subagent(entry), [cancel]);
    assert_eq!(session.cancel_subagent(entry), [], "it is being done");
    assert!(matches!(session.phase, Phase::Working { .. }));
    session.apply(idle("a", StopReason::Cancelled, None), Moment(3));
    assert_eq!(session.cancel_subagent(entry), [], "it does nothing that could be stopped");
    assert!(!the(&session, "a").1.cancelling);
}

#[test]
fn the_end_of_a_turn_ends_no_subagent_and_the_end_of_the_agent_leaves_it_unknown() {
    let mut session = working();
    announce(&mut session, "a", "First");
    within(&mut session, "a", call("a\u{1f}c", WireStatus::InProgress));
    session.turn_ended(TurnEnd::Stopped { reason: StopReason::EndTurn, usage: None }, Moment(4));
    assert!(the(&session, "a").1.is_working());
    assert_eq!(session.open_calls().count(), 1);
    session.prompt(vec![Content::Text("y".into())], Moment(5));
    within(&mut session, "a", says("late"));
    assert_eq!(session.open_calls().count(), 1);
    session.exited(Ending { failure: None, exit: None, stderr: Vec::new(), expected: false }, Moment(6));
    assert_eq!(the(&session, "a").1.state, Some(SubagentState::Unknown));
    assert_eq!(session.open_calls().count(), 0);
}

#[test]
fn a_turn_in_which_only_a_subagent_worked_was_not_silent() {
    let mut session = working();
    announce(&mut session, "a", "First");
    session.turn_ended(TurnEnd::Stopped { reason: StopReason::EndTurn, usage: None }, Moment(4));
    let stop = session.entries().last().map(|entry| &entry.body);
    assert!(matches!(stop, Some(Body::Stop { silent: false, .. })), "{stop:?}");
}

fn message(id: &str, from: Option<&str>, to: Option<&str>, counterpart: Option<&str>) -> SessionMessage {
    let own = |text: &str| text.to_owned();
    SessionMessage {
        id: id.into(),
        sender: from.map(own),
        recipient: to.map(own),
        counterpart: counterpart.map(own),
        content: Some(vec![Content::Text(format!("text of {id}").into())]),
        is_piece: false,
    }
}

#[test]
fn what_sessions_say_to_each_other_stands_once_and_is_nobodys_answer() {
    let mut session = working();
    announce(&mut session, "a", "First");
    let task = message("t", Some("p"), Some("a"), Some("t"));
    session.apply(Update::SessionMessage(Box::new(task.clone())), Moment(1));
    within(&mut session, "a", Update::SessionMessage(Box::new(task)));
    within(&mut session, "a", says("working"));
    session
        .apply(Update::SessionMessage(Box::new(message("t:reply", Some("a"), Some("p"), None))), Moment(2));
    insta::assert_snapshot!(tree(&session), @r"
    subagent First
      demo to First: text of t
      says working
      First to demo: text of t:reply
    ");
    assert_eq!(session.prompts().count(), 1, "the user's own");
}

#[test]
fn pieces_of_such_a_message_may_come_before_it_is_known_between_whom_it_goes() {
    let mut session = working();
    announce(&mut session, "a", "First");
    let piece = |text: &str| SessionMessage {
        content: Some(vec![Content::Text(text.into())]),
        is_piece: true,
        ..message("t", None, None, None)
    };
    let mut tell = |message: SessionMessage| {
        within(&mut session, "a", Update::SessionMessage(Box::new(message)));
        tree(&session).lines().nth(1).map(|line| line.trim().to_owned()).unwrap_or_default()
    };
    assert_eq!(tell(piece("one ")), "? to ?: one");
    assert_eq!(tell(piece("two")), "? to ?: one two");
    let known = SessionMessage { content: None, ..message("t", Some("p"), Some("a"), None) };
    assert_eq!(tell(known), "demo to First: one two");
    assert_eq!(tell(message("t", None, None, None)), "demo to First: text of t");
    assert_eq!(
        tell(SessionMessage { content: Some(Vec::new()), ..message("t", None, None, None) }),
        "demo to First:"
    );
}

#[test]
fn the_older_form_puts_calls_under_the_call_that_started_them() {
    let mut session = working();
    session.apply(call("agent", WireStatus::InProgress), Moment(0));
    let told = |session: &mut Session, parent: &str, update| {
        let branch = Branch::Call(ToolCallId(parent.into()));
        session.apply(Update::Within { branch, update: Box::new(update) }, Moment(1));
    };
    told(&mut session, "agent", call("c", WireStatus::InProgress));
    told(&mut session, "agent", says("I read."));
    told(&mut session, "nobody", call("d", WireStatus::InProgress));
    // Not every update of the call says whose it is.
    session.apply(call("c", WireStatus::Completed), Moment(2));
    session.apply(says("I am done."), Moment(3));
    insta::assert_snapshot!(tree(&session), @r"
    Call agent Running
      Call c Done
      says I read.
    Call d Running
    says I am done.
    ");
    session.turn_ended(TurnEnd::Stopped { reason: StopReason::EndTurn, usage: None }, Moment(4));
    assert_eq!(session.open_calls().count(), 0);
}

#[test]
fn a_subagents_plan_and_context_are_not_the_sessions() {
    let mut session = working();
    announce(&mut session, "a", "First");
    session.apply(Update::Usage { used: 10, size: 100, cost: None }, Moment(1));
    within(&mut session, "a", Update::Usage { used: 77, size: 100, cost: None });
    within(&mut session, "a", Update::Mode("auto".into()));
    within(&mut session, "a", Update::Info { title: Some(Some("T".into())), updated_at: None });
    let item = crate::core::message::PlanItem {
        content: "x".into(),
        priority: crate::core::message::Priority::Low,
        status: crate::core::message::PlanStatus::Pending,
    };
    within(&mut session, "a", Update::Plan(vec![item]));
    assert_eq!((session.usage, session.plan(), &session.title), (Some((10, 100)), None, &None));
    assert!(session.modes.is_none());
    assert_eq!(the(&session, "a").1.used, Some(77));
}

#[test]
fn what_is_told_of_somebody_unknown_is_not_lost() {
    let mut session = working();
    within(&mut session, "nobody", says("hello"));
    assert_eq!(session.answer_text(), "hello");
}
