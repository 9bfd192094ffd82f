use serde_json::{Value, json};

use super::*;
use crate::core::ids::{AgentId, AskId, Moment, SessionKey};
use crate::core::message::{
    Answer, Capabilities, Command, Ending, Exit, Failure, FailureKind, LeftCommand, Named, Opened,
    PermissionKind, PermissionOption, ResourceBody, Severity, Steering, StopReason, ToolCallPatch,
    ToolContent, ToolKind, TurnEnd, Update, WireStatus,
};
use crate::core::session::AgentRun;
use crate::core::session::entry::{Restart, Steps};
use crate::core::session::tool_call::Status;

fn session() -> Session {
    let mut session = Session::new(
        SessionKey(1),
        AgentRun { command: "acp-demo-agent", ..AgentRun::DEMO },
        Place::default(),
        Moment(0),
    );
    session.connected(AgentInfo { title: Some("Demo".into()), ..AgentInfo::default() });
    session.opened(Opened { acp_id: "s".into(), ..Opened::default() }, Moment(0));
    session
}

fn working() -> Session {
    let mut session = session();
    session.prompt(vec![Content::Text("hello there".into())], Moment(0));
    session
}

fn say(session: &mut Session, id: Option<&str>, text: &str) {
    let message = id.map(str::to_owned);
    session.apply(
        Update::Message { role: Role::Agent, message, content: Content::Text(text.into()) },
        Moment(1),
    );
}

fn messages(session: &Session) -> Vec<&str> {
    session.entries().iter().filter_map(Entry::stream).collect()
}

fn call(session: &Session) -> &ToolCall {
    session.entries().iter().rev().find_map(Entry::tool).expect("a tool call")
}

fn options() -> Vec<PermissionOption> {
    let option = |id: &str, kind| PermissionOption { id: id.into(), name: id.into(), kind };
    vec![option("yes", PermissionKind::AllowOnce), option("no", PermissionKind::RejectOnce)]
}

fn status(status: WireStatus) -> Update {
    Update::ToolCall(Box::new(ToolCallPatch { status: Some(status), ..ToolCallPatch::new("c") }))
}

fn stopped(reason: StopReason) -> TurnEnd {
    TurnEnd::Stopped { reason, usage: None }
}

#[test]
fn an_exit_code_reads_as_one_looks_it_up() {
    let text = |code| exit_text(Some(&Exit { code: Some(code), signal: None }));
    assert_eq!(text(3), "ended with exit code 3");
    assert_eq!(text(0xC000_013A), "ended with exit code 0xC000013A");
}

#[test]
fn a_mode_that_comes_as_a_message_is_a_mode() {
    let mut session = session();
    let modes =
        ["default", "autoEdit"].map(|id| Named { id: id.into(), name: id.into(), ..Named::default() });
    session.opened(
        Opened {
            modes: Some(Modes { current: "default".into(), available: modes.to_vec() }),
            ..Opened::default()
        },
        Moment(0),
    );
    session.prompt(vec![Content::Text("go".into())], Moment(0));
    for text in ["before ", "[MODE_UPDATE] autoEdit", "[MODE_UPDATE] unheard of", " after"] {
        say(&mut session, None, text);
    }
    assert_eq!(messages(&session), ["before [MODE_UPDATE] unheard of after"]);
    assert_eq!(session.modes.expect("modes").current, "autoEdit");
}

#[test]
fn a_message_begins_with_its_text() {
    let mut session = working();
    for (id, chunks) in [("1", ["\n\n ", " Now I see."]), ("2", ["\n    code", "\n"]), ("3", ["a", " b"])] {
        chunks.iter().for_each(|chunk| say(&mut session, Some(id), chunk));
    }
    assert_eq!(messages(&session), ["Now I see.", "    code\n", "a b"]);
}

#[test]
fn a_prompt_sent_before_the_session_is_open_goes_out_when_it_is() {
    let mut session = Session::new(
        SessionKey(1),
        AgentRun { command: "acp-demo-agent", ..AgentRun::DEMO },
        Place::default(),
        Moment(0),
    );
    assert_eq!(session.prompt(vec![Content::Text("early".into())], Moment(0)), []);
    let commands = session.opened(Opened::default(), Moment(5));
    assert_eq!(
        commands,
        [Command::Prompt { session: SessionKey(1), content: vec![Content::Text("early".into())] }]
    );
}

#[test]
fn what_a_call_did_was_asked_for_in_its_own_turn_however_late_it_is_told() {
    let mut session = session();
    let asked = |session: &Session, call| {
        let asked = session.asked_for(call, Moment(9));
        (asked.turn, asked.asked, asked.since.0)
    };
    assert_eq!(asked(&session, None), (0, String::new(), 9));
    session.prompt(vec![Content::Text("hello\nthere".into())], Moment(1));
    session.apply(status(WireStatus::InProgress), Moment(2));
    let first = session.entries().iter().position(|entry| entry.tool().is_some()).map(EntryId);
    assert_eq!(asked(&session, first), (1, "hello there".into(), 1));
    session.turn_ended(stopped(StopReason::EndTurn), Moment(3));
    session.prompt(vec![Content::Text("next".into())], Moment(5));
    assert_eq!(asked(&session, None), (2, "next".into(), 5));
    assert_eq!(asked(&session, first), (1, "hello there".into(), 1));
}

#[test]
fn a_second_prompt_waits_for_the_first_turn_to_end() {
    let mut session = working();
    assert_eq!(session.prompt(vec![Content::Text("next".into())], Moment(1)), []);
    assert_eq!(session.queue().len(), 1);
    let commands = session.turn_ended(stopped(StopReason::EndTurn), Moment(2));
    assert_eq!(commands.len(), 1);
    assert!(session.is_working());
}

/// A turn of an agent that can be steered, with this text sent into it.
fn steering(text: &str) -> Session {
    let mut session = working();
    let mut info = session.info.clone().expect("connected");
    info.can.steering = true;
    session.info = Some(info);
    let sent = session.steer(words(text), Moment(1));
    assert_eq!(sent, [Command::Steer { session: SessionKey(1), content: words(text) }]);
    session
}

fn words(text: &str) -> Vec<Content> {
    vec![Content::Text(text.into())]
}

fn said(session: &Session) -> Vec<&str> {
    let mut said = Vec::new();
    for entry in session.entries() {
        if let Body::User { text, .. } = &entry.body {
            said.push(&**text);
        }
    }
    said
}

#[test]
fn what_is_sent_into_a_turn_is_shown_once_the_agent_has_taken_it() {
    let mut session = steering("go left");
    assert_eq!((said(&session), session.steering()), (vec!["hello there"], 1));
    assert_eq!(session.steered(words("go left"), Steering::Injected, Moment(2)), []);
    assert_eq!((said(&session), session.steering()), (vec!["hello there", "go left"], 0));
    let echo = Update::Message { role: Role::User, message: None, content: Content::Text("go left".into()) };
    session.apply(echo, Moment(3));
    say(&mut session, None, "left it is");
    assert_eq!(said(&session).len(), 2);
    let speakers = session.entries().iter().filter(|entry| matches!(entry.body, Body::Speaker(_))).count();
    assert_eq!(speakers, 1, "the agent's name stands over what it says next");
    assert_eq!(session.steered(words("go left"), Steering::Injected, Moment(4)), [], "once is enough");
    assert_eq!(said(&session).len(), 2);
}

#[test]
fn what_the_agent_did_not_take_waits_in_line() {
    let failure = Failure { kind: FailureKind::Agent, message: "no".into(), details: None };
    for outcome in [Steering::NotTaken(None), Steering::NotTaken(Some(failure))] {
        let mut session = steering("go left");
        assert_eq!(session.steered(words("go left"), outcome, Moment(2)), []);
        assert_eq!((session.queue().len(), said(&session).len()), (1, 1));
        let commands = session.turn_ended(stopped(StopReason::EndTurn), Moment(3));
        assert_eq!(commands, [Command::Prompt { session: SessionKey(1), content: words("go left") }]);
    }
}

#[test]
fn what_came_too_late_for_the_turn_is_the_next_prompt() {
    let mut session = steering("go left");
    session.turn_ended(stopped(StopReason::EndTurn), Moment(2));
    let commands = session.steered(words("go left"), Steering::NotTaken(None), Moment(3));
    assert_eq!(commands, [Command::Prompt { session: SessionKey(1), content: words("go left") }]);
}

#[test]
fn what_the_agent_took_into_a_turn_of_its_own_is_not_sent_twice_and_can_be_stopped() {
    let mut session = steering("go left");
    session.turn_ended(stopped(StopReason::EndTurn), Moment(2));
    assert_eq!(session.steered(words("go left"), Steering::StartedNewTurn, Moment(3)), []);
    assert_eq!((said(&session).len(), session.queue().len()), (2, 0));
    assert_eq!(session.cancel(Moment(4)), [Command::Cancel { session: SessionKey(1) }]);
    assert_eq!(session.cancel(Moment(5)), [], "once is enough");
}

#[test]
fn where_nothing_can_be_steered_it_is_a_prompt() {
    let mut session = working();
    assert_eq!(session.steer(words("go left"), Moment(1)), []);
    assert_eq!(session.queue().len(), 1);
    let mut session = steering("x");
    session.turn_ended(stopped(StopReason::EndTurn), Moment(2));
    assert_eq!(
        session.steer(words("go left"), Moment(3)),
        [Command::Prompt { session: SessionKey(1), content: words("go left") }]
    );
}

#[test]
fn what_was_sent_into_a_turn_outlives_the_agent() {
    let mut session = steering("go left");
    let ending = Ending { failure: None, exit: None, stderr: Vec::new(), expected: false };
    session.exited(ending, Moment(2));
    let gone = Failure { kind: FailureKind::Disconnected, message: "gone".into(), details: None };
    assert_eq!(session.steered(words("go left"), Steering::NotTaken(Some(gone)), Moment(3)), []);
    assert_eq!(session.queue().len(), 1);
}

#[test]
fn what_is_to_be_heard_at_once_is_next_where_nothing_can_be_steered() {
    let mut session = working();
    assert!(session.keeps_prompts_waiting() && !steering("one").keeps_prompts_waiting());
    session.prompt(words("later"), Moment(1));
    session.prompt(words("now"), Moment(2));
    session.hurry_last();
    let texts: Vec<_> = session.queue().iter().map(|queued| queued.text().to_string()).collect();
    assert_eq!(texts, ["now", "later"]);
    session.turn_ended(stopped(StopReason::EndTurn), Moment(3));
    assert_eq!(session.queue().len(), 1, "it has been sent");
}

#[test]
fn chunks_join_by_message_id_even_around_a_tool_call() {
    let mut session = working();
    say(&mut session, Some("m1"), "one ");
    session.apply(status(WireStatus::InProgress), Moment(1));
    say(&mut session, Some("m1"), "two");
    say(&mut session, Some("m2"), "three");
    assert_eq!(messages(&session), ["one two", "three"]);
}

#[test]
fn chunks_without_an_id_join_until_something_else_comes() {
    let mut session = working();
    say(&mut session, None, "a");
    say(&mut session, None, "b");
    session.apply(status(WireStatus::Pending), Moment(1));
    say(&mut session, None, "c");
    assert_eq!(messages(&session), ["ab", "c"]);
}

#[test]
fn an_echo_of_the_prompt_is_not_shown_twice() {
    let mut session = working();
    let echo =
        Update::Message { role: Role::User, message: None, content: Content::Text("hello there".into()) };
    session.apply(echo, Moment(1));
    let users = session.entries().iter().filter(|entry| matches!(entry.body, Body::User { .. })).count();
    assert_eq!(users, 1);
}

#[test]
fn a_tool_call_may_begin_with_an_update_or_with_a_question() {
    let mut session = working();
    session.apply(status(WireStatus::InProgress), Moment(1));
    let patch =
        ToolCallPatch { title: Some("Late".into()), kind: Some(ToolKind::Edit), ..ToolCallPatch::new("c") };
    session.apply(Update::ToolCall(Box::new(patch)), Moment(2));
    assert_eq!(session.entries().iter().filter_map(Entry::tool).count(), 1);
    assert_eq!((call(&session).title.as_str(), call(&session).status), ("Late", Status::Running));
}

#[test]
fn a_tool_call_id_used_again_in_the_next_turn_is_another_call() {
    let mut session = working();
    session.apply(status(WireStatus::Completed), Moment(1));
    session.turn_ended(stopped(StopReason::EndTurn), Moment(2));
    session.prompt(vec![Content::Text("again".into())], Moment(3));
    session.apply(status(WireStatus::Pending), Moment(4));
    assert_eq!(session.entries().iter().filter_map(Entry::tool).count(), 2);
}

#[test]
fn cancelling_answers_every_open_question_and_marks_open_calls_at_once() {
    let mut session = working();
    session.asked(AskId(7), ToolCallPatch::new("c"), options(), Moment(1));
    session.asked(AskId(8), ToolCallPatch::new("d"), options(), Moment(1));
    let commands = session.cancel(Moment(2));
    assert_eq!(
        commands,
        [
            Command::Answer { ask: AskId(7), answer: Answer::Cancelled },
            Command::Answer { ask: AskId(8), answer: Answer::Cancelled },
            Command::Cancel { session: SessionKey(1) },
        ]
    );
    assert_eq!(call(&session).status, Status::Cancelled);
    assert!(session.is_working(), "the turn ends when the agent says so");
    assert_eq!(session.cancel(Moment(3)), [], "once is enough");
}

#[test]
fn a_late_completion_replaces_the_cancelled_mark() {
    let mut session = working();
    session.apply(status(WireStatus::InProgress), Moment(1));
    session.cancel(Moment(2));
    session.turn_ended(stopped(StopReason::Cancelled), Moment(3));
    session.apply(status(WireStatus::InProgress), Moment(3));
    assert_eq!(call(&session).status, Status::Cancelled);
    session.apply(status(WireStatus::Completed), Moment(4));
    assert_eq!(call(&session).status, Status::Done);
}

#[test]
fn a_call_of_a_stopped_turn_is_not_called_cancelled_before_its_agent_had_its_say() {
    let stopping = |said: Option<WireStatus>| {
        let mut session = working();
        session.apply(status(WireStatus::InProgress), Moment(1));
        session.cancel(Moment(2));
        assert_eq!(call(&session).status, Status::Stopping);
        session.apply(status(WireStatus::InProgress), Moment(3));
        assert_eq!(call(&session).status, Status::Stopping);
        said.into_iter().for_each(|said| session.apply(status(said), Moment(4)));
        session.turn_ended(stopped(StopReason::Cancelled), Moment(5));
        (call(&session).status, session.open_calls().count())
    };
    assert_eq!(stopping(None), (Status::Cancelled, 0));
    assert_eq!(stopping(Some(WireStatus::Failed)), (Status::Cancelled, 0));
    assert_eq!(stopping(Some(WireStatus::Completed)), (Status::Done, 0));
}

#[test]
fn what_waits_when_the_user_stops_the_turn_waits_for_the_user() {
    let mut session = working();
    session.prompt(words("one"), Moment(1));
    session.prompt(words("two"), Moment(1));
    session.hold_queue();
    session.cancel(Moment(2));
    assert_eq!(session.turn_ended(stopped(StopReason::Cancelled), Moment(3)), []);
    assert_eq!((phase(&session), session.held()), ("idle", 2));
    // What is sent now goes now, and what is sent in its turn goes after it.
    let sent = |text: &str| [Command::Prompt { session: SessionKey(1), content: words(text) }];
    assert_eq!(session.prompt(words("three"), Moment(4)), sent("three"));
    session.prompt(words("four"), Moment(5));
    assert_eq!(session.turn_ended(stopped(StopReason::EndTurn), Moment(6)), sent("four"));
    assert_eq!(session.turn_ended(stopped(StopReason::EndTurn), Moment(7)), []);
    assert_eq!(session.release_queue(Moment(8)), sent("one"));
    assert_eq!(session.turn_ended(stopped(StopReason::EndTurn), Moment(9)), sent("two"));
    assert_eq!(session.held(), 0);
    // Where nothing runs nothing is stopped.
    let mut session = session_that_starts();
    session.prompt(words("early"), Moment(0));
    session.hold_queue();
    assert_eq!(session.held(), 0);
}

fn session_that_starts() -> Session {
    Session::new(
        SessionKey(1),
        AgentRun { command: "acp-demo-agent", ..AgentRun::DEMO },
        Place::default(),
        Moment(0),
    )
}

#[test]
fn a_call_that_a_turn_ends_without_has_no_result_and_is_not_said_to_run() {
    let mut session = working();
    session.apply(status(WireStatus::InProgress), Moment(1));
    session.turn_ended(stopped(StopReason::EndTurn), Moment(9000));
    assert_eq!((call(&session).status, call(&session).ended), (Status::Unreported, None));
    assert_eq!(session.open_calls().count(), 0);
    // Some agents say it late; then it is known.
    session.apply(status(WireStatus::Completed), Moment(9500));
    assert_eq!((call(&session).status, call(&session).ended), (Status::Done, Some(Moment(9500))));
}

#[test]
fn a_question_that_a_turn_leaves_open_can_still_be_answered() {
    let mut session = working();
    session.asked(AskId(7), ToolCallPatch::new("c"), options(), Moment(1));
    session.turn_ended(stopped(StopReason::EndTurn), Moment(2));
    assert_eq!(call(&session).status, Status::Waiting);
    let answer = Command::Answer { ask: AskId(7), answer: Answer::Selected("yes".into()) };
    assert_eq!(session.answer(AskId(7), "yes", Moment(3)), [answer]);
}

#[test]
fn calls_told_again_of_an_earlier_time_are_over_once_the_session_is_open() {
    let mut session = Session::new(
        SessionKey(1),
        AgentRun { command: "acp-demo-agent", ..AgentRun::DEMO },
        Place::default(),
        Moment(0),
    );
    session.apply(status(WireStatus::InProgress), Moment(1));
    session.opened(Opened::default(), Moment(2));
    assert_eq!(call(&session).status, Status::Unreported);
}

#[test]
fn an_error_after_cancel_counts_as_cancelled() {
    let mut session = working();
    session.cancel(Moment(1));
    let failure = Failure { kind: FailureKind::Agent, message: "aborted".into(), details: None };
    session.turn_ended(TurnEnd::Failed(failure), Moment(2));
    assert!(matches!(
        session.entries().last().map(|entry| &entry.body),
        Some(Body::Stop { reason: StopReason::Cancelled, .. })
    ));
}

#[test]
fn a_question_is_answered_once_and_only_with_an_offered_option() {
    let mut session = working();
    session.asked(AskId(7), ToolCallPatch::new("c"), options(), Moment(1));
    assert_eq!(session.answer(AskId(7), "maybe", Moment(2)), []);
    assert_eq!(
        session.answer(AskId(7), "no", Moment(2)),
        [Command::Answer { ask: AskId(7), answer: Answer::Selected("no".into()) }]
    );
    assert_eq!(session.answer(AskId(7), "yes", Moment(3)), []);
    assert_eq!(call(&session).status, Status::Rejected);
}

#[test]
fn a_question_without_options_is_answered_as_cancelled_and_said() {
    let mut session = working();
    let commands = session.asked(AskId(7), ToolCallPatch::new("c"), Vec::new(), Moment(1));
    assert_eq!(commands, [Command::Answer { ask: AskId(7), answer: Answer::Cancelled }]);
    assert!(matches!(session.entries().last().map(|entry| &entry.body), Some(Body::Notice { .. })));
}

#[test]
fn a_plan_is_replaced_in_place() {
    let mut session = working();
    let item = |content: &str| crate::core::message::PlanItem {
        content: content.into(),
        priority: crate::core::message::Priority::Medium,
        status: crate::core::message::PlanStatus::Pending,
    };
    session.apply(Update::Plan(vec![item("a"), item("b"), item("c")]), Moment(1));
    say(&mut session, None, "text");
    session.apply(Update::Plan(vec![item("d")]), Moment(2));
    let plans: Vec<_> = session
        .entries()
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Plan(items) => Some(items.len()),
            _ => None,
        })
        .collect();
    assert_eq!(plans, [1]);
}

#[test]
fn an_agent_that_dies_ends_its_turn_and_keeps_the_transcript() {
    let mut session = working();
    say(&mut session, None, "half a sen");
    session.apply(status(WireStatus::InProgress), Moment(1));
    let ending = Ending {
        failure: None,
        exit: Some(Exit { code: Some(3), signal: None }),
        stderr: vec!["boom".into()],
        expected: false,
    };
    session.exited(ending, Moment(2));
    assert_eq!(session.phase, Phase::Gone);
    assert_eq!(call(&session).status, Status::Cancelled);
    assert_eq!(messages(&session), ["half a sen"]);
    assert!(matches!(
        session.entries().last().map(|entry| &entry.body),
        Some(Body::Greeting(Greeting::Gone { what, .. })) if what == "ended with exit code 3"
    ));
}

#[test]
fn an_unknown_update_is_counted_and_harms_nothing() {
    let mut session = working();
    session.apply(Update::Unknown { kind: "future_thing".into() }, Moment(1));
    session.apply(Update::Unknown { kind: "future_thing".into() }, Moment(1));
    assert_eq!(session.unknown.get("future_thing"), Some(&2));
}

/// The transcript's entries by their kinds.
fn kinds(session: &Session) -> Vec<&'static str> {
    let kind = |entry: &Entry| match &entry.body {
        Body::Greeting(_) => "greeting",
        Body::User { .. } => "user",
        Body::Speaker(_) => "speaker",
        Body::Message { .. } => "message",
        Body::Thought { .. } => "thought",
        Body::Tool(_) => "call",
        Body::Plan(_) => "plan",
        Body::Notice { .. } => "notice",
        Body::Stop { .. } => "stop",
        _ => "other",
    };
    session.entries().iter().map(kind).collect()
}

#[test]
fn a_chunk_that_holds_nothing_adds_nothing() {
    let mut session = working();
    let before = kinds(&session);
    for (id, text) in [(None, ""), (Some("m"), ""), (None, "\n\n"), (Some("m"), " \n")] {
        say(&mut session, id, text);
    }
    assert_eq!(kinds(&session), before);
    session.turn_ended(stopped(StopReason::EndTurn), Moment(2));
    assert!(matches!(
        session.entries().last().map(|entry| &entry.body),
        Some(Body::Stop { silent: true, .. })
    ));

    let mut session = working();
    say(&mut session, None, "a");
    session.apply(status(WireStatus::InProgress), Moment(1));
    say(&mut session, None, "");
    session.apply(status(WireStatus::Completed), Moment(1));
    assert_eq!(kinds(&session), ["greeting", "user", "speaker", "message", "call"]);
}

#[test]
fn the_parts_of_a_prompt_that_is_told_again_stand_apart() {
    let mut session = Session::new(
        SessionKey(1),
        AgentRun { command: "acp-demo-agent", ..AgentRun::DEMO },
        Place::default(),
        Moment(0),
    );
    session.taking_up = Some(("s".into(), Reopen::Load));
    for text in ["Look at", "[@a.rs](file:///a.rs)", " and\n", "tell me"] {
        let content = Content::Text(text.into());
        session.apply(Update::Message { role: Role::User, message: None, content }, Moment(1));
    }
    assert_eq!(said(&session), ["Look at\n[@a.rs](file:///a.rs) and\ntell me"]);
}

#[test]
fn a_call_that_was_rejected_is_so_too_when_its_session_is_told_again() {
    let outputs = [
        json!("User refused permission to run tool"),
        json!("{\"error\":\"User rejected the tool call -- NOT a tool or system failure.\"}"),
        json!({ "message": "Whatever it says.", "code": "rejected" }),
        json!({ "error": "The user rejected permission to use this specific tool call." }),
        json!("No such file: rejected.txt"),
    ];
    let told = |output: &Value, reopen: Option<Reopen>| {
        let mut session = Session::new(SessionKey(1), AgentRun::DEMO, Place::default(), Moment(0));
        session.taking_up = reopen.map(|reopen| ("s".into(), reopen));
        let patch = ToolCallPatch {
            status: Some(WireStatus::Failed),
            raw_output: Some(output.clone()),
            ..ToolCallPatch::new("1")
        };
        session.apply(Update::ToolCall(Box::new(patch)), Moment(1));
        session.entries().iter().find_map(Entry::tool).map(ToolCall::shown_status)
    };
    let (rejected, failed) = (Some(Status::Rejected), Some(Status::Failed));
    let again = outputs.each_ref().map(|output| told(output, Some(Reopen::Load)));
    assert_eq!(again, [rejected, rejected, rejected, rejected, failed]);
    // What the user said now is known; an agent may well refuse something by itself in these words.
    assert_eq!(told(&outputs[0], None), failed);
    let fenced = ToolContent::Content(Content::Text("```\nUser refused permission to run tool\n```".into()));
    let mut session = Session::new(SessionKey(1), AgentRun::DEMO, Place::default(), Moment(0));
    session.taking_up = Some(("s".into(), Reopen::Load));
    let patch = ToolCallPatch {
        status: Some(WireStatus::Failed),
        content: Some(vec![fenced]),
        ..ToolCallPatch::new("1")
    };
    session.apply(Update::ToolCall(Box::new(patch)), Moment(1));
    assert_eq!(session.entries().iter().find_map(Entry::tool).map(ToolCall::shown_status), rejected);
}

#[test]
fn what_is_unknown_in_a_turn_is_said_once_at_its_end() {
    let mut session = working();
    let unknown = |kind: &str| Update::Unknown { kind: kind.into() };
    let mut told = |kinds: &[&str]| {
        kinds.iter().for_each(|kind| session.apply(unknown(kind), Moment(1)));
        session.turn_ended(stopped(StopReason::EndTurn), Moment(2));
        session.prompt(vec![Content::Text("next".into())], Moment(3));
        let notices = session.entries().iter().filter_map(|entry| match &entry.body {
            Body::Notice { text, .. } => Some(text.clone()),
            _ => None,
        });
        notices.collect::<Vec<_>>()
    };
    let three = "3 messages of a kind this version does not know: `:Acp log`";
    assert_eq!(told(&["hologram", "hologram", "hologram"]), [three]);
    assert_eq!(told(&["_vendor/own"]), [three]);
    let one = "1 message of a kind this version does not know: `:Acp log`";
    assert_eq!(told(&["hologram"]), [three, one]);
    let two = "2 messages of kinds this version does not know: `:Acp log`";
    assert_eq!(told(&["a", "b"]), [three, one, two]);
}

#[test]
fn an_agent_is_called_what_the_user_calls_it() {
    let mut session = Session::new(
        SessionKey(1),
        AgentRun { command: "acp-demo-agent", ..AgentRun::DEMO },
        Place::default(),
        Moment(0),
    );
    session.call_agent("Mine");
    assert!(matches!(
        &session.entries()[0].body,
        Body::Greeting(Greeting::Connecting { name, .. }) if name == "Mine"
    ));
    session.connected(AgentInfo { title: Some("Demo".into()), ..AgentInfo::default() });
    session.opened(Opened::default(), Moment(0));
    session.prompt(vec![Content::Text("x".into())], Moment(0));
    say(&mut session, None, "a");
    assert_eq!(session.name(), "Mine");
    assert!(session.entries().iter().any(|entry| entry.body == Body::Speaker("Mine".into())));
}

#[test]
fn a_call_that_sets_down_things_to_do_is_a_plan() {
    let mut session = working();
    let patch = |input: serde_json::Value| ToolCallPatch {
        title: Some("todowrite".into()),
        raw_input: Some(input),
        ..ToolCallPatch::new("t")
    };
    let todos = |first: &str| serde_json::json!({"todos": [{"content": "look", "status": first}, {"content": "fix", "status": "pending"}]});
    session.apply(Update::ToolCall(Box::new(patch(serde_json::json!({})))), Moment(1));
    assert_eq!(session.present_plan(), None);
    session.apply(Update::ToolCall(Box::new(patch(todos("in_progress")))), Moment(1));
    session.apply(Update::ToolCall(Box::new(patch(todos("completed")))), Moment(1));
    let plan = session.present_plan().expect("a plan");
    assert_eq!((plan.len(), plan[0].status), (2, crate::core::message::PlanStatus::Completed));
    assert_eq!(kinds(&session).iter().filter(|kind| **kind == "plan").count(), 1);
    assert_eq!(call(&session).headline(), "update the plan");

    // Another that tells it by its result alone.
    let mut session = working();
    let list = r#"[{"content": "look", "status": "done"}]"#;
    let mut patch = ToolCallPatch { title: Some("1 todo".into()), ..ToolCallPatch::new("t") };
    patch.status = Some(WireStatus::Completed);
    patch.raw_output = Some(serde_json::json!({ "output": list }));
    session.apply(Update::ToolCall(Box::new(patch.clone())), Moment(1));
    assert_eq!(session.present_plan().map(<[_]>::len), Some(1));
    let mut session = working();
    patch.title = Some("list issues".into());
    session.apply(Update::ToolCall(Box::new(patch)), Moment(1));
    assert_eq!(session.present_plan(), None);
}

#[test]
fn a_notice_that_repeats_is_one_line_that_says_how_often() {
    let mut session = working();
    for text in ["a.txt is merged", "b.txt is merged", "a.txt is merged"] {
        session.notice(Severity::Info, text.into(), Moment(0));
        say(&mut session, None, "Going on.");
    }
    session.notice(Severity::Warning, "no".into(), Moment(0));
    say(&mut session, None, "Going on.");
    session.notice(Severity::Warning, "no".into(), Moment(0));
    let said = session.entries().iter().filter_map(|entry| match &entry.body {
        Body::Notice { text, times, .. } => Some((text.as_str(), *times)),
        _ => None,
    });
    // A warning is said again where something else was said in between.
    let expected = [("a.txt is merged", 2), ("b.txt is merged", 1), ("no", 1), ("no", 1)];
    assert_eq!(said.collect::<Vec<_>>(), expected);
}

#[test]
fn a_title_is_kept_when_absent_and_cleared_by_null() {
    let mut session = session();
    let info = |title| Update::Info { title, updated_at: None };
    session.apply(info(Some(Some("Fix\nthe race".into()))), Moment(1));
    session.apply(info(None), Moment(1));
    assert_eq!(session.title.as_deref(), Some("Fix the race"));
    session.apply(info(Some(None)), Moment(1));
    assert_eq!(session.title, None);
}

#[test]
fn the_same_text_comes_out_whether_drawn_step_by_step_or_at_once() {
    let mut stepwise = working();
    let mut at_once = working();
    for part in ["# He", "ading\n\nsome *te", "xt*\n"] {
        say(&mut stepwise, None, part);
        stepwise.take_touched();
    }
    say(&mut at_once, None, "# Heading\n\nsome *text*\n");
    assert_eq!(stepwise.entries(), at_once.entries());
}

#[test]
fn a_call_that_is_told_twice_is_one_with_the_later_values() {
    let mut session = working();
    let told = |title: &str, kind| {
        let title = Some(title.to_owned());
        Update::ToolCall(Box::new(ToolCallPatch { title, kind, ..ToolCallPatch::new("c") }))
    };
    session.apply(told("Terminal", Some(ToolKind::Execute)), Moment(1));
    session.apply(status(WireStatus::InProgress), Moment(2));
    session.apply(told("ls -l", None), Moment(3));
    assert_eq!(session.entries().iter().filter_map(Entry::tool).count(), 1);
    let call = call(&session);
    assert_eq!((call.title.as_str(), call.kind, call.status), ("ls -l", ToolKind::Execute, Status::Running));
}

#[test]
fn what_was_refused_is_marked_from_its_prompt_on_and_nothing_before() {
    let mut session = working();
    say(&mut session, None, "fine");
    session.turn_ended(stopped(StopReason::EndTurn), Moment(2));
    let before = session.entries().len();
    session.prompt(vec![Content::Text("bad".into())], Moment(3));
    say(&mut session, None, "hm");
    session.turn_ended(stopped(StopReason::Refusal), Moment(4));
    let refused: Vec<bool> = session.entries().iter().map(|entry| entry.refused).collect();
    let stop = refused.len() - 1;
    assert!(refused[..before].iter().all(|refused| !refused), "{refused:?}");
    assert!(refused[before..stop].iter().all(|refused| *refused), "{refused:?}");
    assert!(!refused[stop], "that it was refused is news of this client's");
}

#[test]
fn an_agent_that_does_not_confirm_a_cancel_is_said_to_be_stuck_once() {
    let mut session = working();
    session.ticked(Moment(60_000));
    assert!(!session.is_stuck(), "a turn may take as long as it takes");
    session.cancel(Moment(100_000));
    session.ticked(Moment(109_999));
    assert!(!session.is_stuck());
    session.ticked(Moment(110_000));
    session.ticked(Moment(111_000));
    assert!(session.is_stuck());
    let notices = session.entries().iter().filter(|entry| matches!(entry.body, Body::Notice { .. }));
    assert_eq!(notices.count(), 1);
    session.turn_ended(stopped(StopReason::Cancelled), Moment(112_000));
    assert!(!session.is_stuck(), "late is better than never");
}

#[test]
fn a_plan_is_work_and_no_silence() {
    let mut session = working();
    let item = |content: &str| crate::core::message::PlanItem {
        content: content.into(),
        priority: crate::core::message::Priority::Low,
        status: crate::core::message::PlanStatus::Pending,
    };
    session.apply(Update::Plan(vec![item("look")]), Moment(1));
    session.turn_ended(stopped(StopReason::EndTurn), Moment(2));
    assert!(matches!(
        session.entries().last().map(|entry| &entry.body),
        Some(Body::Stop { silent: false, .. })
    ));
}

#[test]
fn a_command_that_the_agent_has_not_told_of_is_sent_with_a_hint() {
    let hint = |commands: &[&str], prompt: &str| {
        let mut session = session();
        let command =
            |name: &&str| SlashCommand { name: (*name).into(), description: String::new(), hint: None };
        session.apply(Update::Commands(commands.iter().map(command).collect()), Moment(0));
        session.prompt(vec![Content::Text(prompt.into())], Moment(0));
        session.entries().iter().find_map(|entry| match &entry.body {
            Body::Notice { text, .. } => Some(text.clone()),
            _ => None,
        })
    };
    let all = ["compact", "init"];
    let said = "/comp is no command that Demo has told of; /compact is; it was sent as text";
    assert_eq!(hint(&all, "/comp now").as_deref(), Some(said));
    let said = "/zap is no command that Demo has told of; it was sent as text";
    assert_eq!(hint(&all, "/zap").as_deref(), Some(said));
    for prompt in ["/compact", "/init it", "/ alone", "/src/a.rs is wrong", "no /zap", "/", "//", "/*x*/"] {
        assert_eq!(hint(&all, prompt), None, "{prompt}");
    }
    assert_eq!(hint(&[], "/zap"), None, "what there is was not told");
}

#[test]
fn a_turn_without_an_answer_says_so() {
    let mut session = working();
    session.turn_ended(stopped(StopReason::EndTurn), Moment(2));
    let last = session.entries().last().map(|entry| &entry.body);
    assert!(matches!(last, Some(Body::Stop { silent: true, .. })), "{last:?}");
}

/// A session in each phase, with the phase's name.
fn in_each_phase() -> [(&'static str, Session); 8] {
    let opening = || {
        let agent = AgentRun { command: "acp-demo-agent", ..AgentRun::DEMO };
        Session::new(SessionKey(1), agent, Place::default(), Moment(0))
    };
    let mut login = opening();
    login.open_failed(failure(FailureKind::AuthRequired));
    let mut waiting = working();
    waiting.turn_ended(TurnEnd::Failed(failure(FailureKind::RateLimited(None))), Moment(1));
    let mut cancelling = working();
    cancelling.cancel(Moment(1));
    let mut ending = working();
    ending.ending(Moment(1));
    let mut gone = session();
    gone.exited(ending_of(true), Moment(1));
    [
        ("opening", opening()),
        ("login", login),
        ("idle", session()),
        ("waiting", waiting),
        ("working", working()),
        ("cancelling", cancelling),
        ("ending", ending),
        ("gone", gone),
    ]
}

fn phase(session: &Session) -> &'static str {
    match session.phase {
        Phase::Opening { .. } => "opening",
        Phase::LoginNeeded => "login",
        Phase::Idle => "idle",
        Phase::Waiting { .. } => "waiting",
        Phase::Working { .. } => "working",
        Phase::Cancelling { .. } => "cancelling",
        Phase::Ending { .. } => "ending",
        Phase::Gone => "gone",
    }
}

fn failure(kind: FailureKind) -> Failure {
    Failure { kind, message: "no".into(), details: None }
}

fn ending_of(expected: bool) -> Ending {
    Ending { failure: None, exit: None, stderr: Vec::new(), expected }
}

/// What happens to a session from its agent's start to its end, by name.
type Step = (&'static str, fn(&mut Session));

const STEPS: [Step; 12] = [
    ("connected", |session| session.connected(AgentInfo::default())),
    ("opened", |session| drop(session.opened(Opened::default(), Moment(2)))),
    ("open failed", |session| session.open_failed(failure(FailureKind::Agent))),
    ("open given up", |session| session.open_failed(failure(FailureKind::Cancelled))),
    ("login wanted", |session| session.open_failed(failure(FailureKind::AuthRequired))),
    ("logged in", |session| drop(session.logged_in(Moment(2)))),
    ("prompt", |session| drop(session.prompt(words("more"), Moment(2)))),
    ("cancel", |session| drop(session.cancel(Moment(2)))),
    ("turn ended", |session| drop(session.turn_ended(stopped(StopReason::EndTurn), Moment(2)))),
    ("to end", |session| session.ending(Moment(2))),
    ("restarted", |session| session.restarted(AgentId(2), "acp-demo-agent", Moment(2))),
    ("exited", |session| session.exited(ending_of(false), Moment(2))),
];

#[test]
fn each_step_of_starting_and_ending_leads_from_each_phase_to_one() {
    #[rustfmt::skip]
    let table = [
        // from             opening    login      idle       waiting    working    cancelling   ending     gone
        ("connected",      ["opening", "login",   "idle",    "waiting", "working", "cancelling", "ending",  "gone"]),
        ("opened",         ["idle",    "idle",    "idle",    "working", "idle",    "idle",      "ending",  "gone"]),
        ("open failed",    ["gone",    "gone",    "gone",    "gone",    "gone",    "gone",      "ending",  "gone"]),
        ("open given up",  ["gone",    "gone",    "gone",    "gone",    "gone",    "gone",      "ending",  "gone"]),
        ("login wanted",   ["login",   "login",   "login",   "login",   "login",   "login",     "ending",  "gone"]),
        ("logged in",      ["opening", "opening", "idle",    "waiting", "working", "cancelling", "ending",  "gone"]),
        ("prompt",         ["opening", "login",   "working", "waiting", "working", "cancelling", "ending",  "gone"]),
        ("cancel",         ["opening", "login",   "idle",    "waiting", "cancelling", "cancelling", "ending",  "gone"]),
        ("turn ended",     ["opening", "login",   "idle",    "waiting", "idle",    "idle",      "ending",  "gone"]),
        ("to end",         ["ending",  "ending",  "ending",  "ending",  "ending",  "ending",    "ending",  "gone"]),
        ("restarted",      ["opening", "opening", "opening", "opening", "opening", "opening",   "opening", "opening"]),
        ("exited",         ["gone",    "gone",    "gone",    "gone",    "gone",    "gone",      "gone",    "gone"]),
    ];
    for ((name, after), (step, apply)) in table.into_iter().zip(STEPS) {
        assert_eq!(name, step);
        let now = in_each_phase().map(|(_, mut session)| {
            apply(&mut session);
            phase(&session)
        });
        assert_eq!(now, after, "{name}");
    }
}

#[test]
fn in_every_order_of_steps_a_restart_comes_to_a_session_that_takes_prompts() {
    for (_, first) in STEPS {
        for (_, second) in STEPS {
            for (_, third) in STEPS {
                for (name, mut session) in in_each_phase() {
                    [first, second, third].iter().for_each(|apply| apply(&mut session));
                    session.exited(ending_of(true), Moment(3));
                    assert_eq!((session.asks().len(), session.open_calls().count()), (0, 0), "{name}");
                    session.restarted(AgentId(9), "acp-demo-agent", Moment(4));
                    session.connected(AgentInfo::default());
                    session.opened(Opened::default(), Moment(5));
                    // What waited in line goes out first.
                    assert!(matches!(phase(&session), "idle" | "working"), "{name}");
                    session.prompt(words("last"), Moment(6));
                    while session.queue().iter().any(|queued| queued.text() == "last") {
                        session.turn_ended(stopped(StopReason::EndTurn), Moment(7));
                    }
                    assert_eq!(phase(&session), "working", "{name}");
                }
            }
        }
    }
}

#[test]
fn a_session_that_gets_another_agent_leaves_nothing_open() {
    let mut session = steering("go left");
    session.apply(Update::ToolCall(Box::new(ToolCallPatch::new("c"))), Moment(1));
    session.asked(AskId(1), ToolCallPatch::new("d"), options(), Moment(1));
    session.ending(Moment(2));
    assert!(session.is_in_turn());
    session.restarted(AgentId(2), "acp-demo-agent", Moment(3));
    assert_eq!((session.asks().len(), session.steering(), session.queue().len()), (0, 0, 1));
    let statuses: Vec<_> = session.entries().iter().filter_map(Entry::tool).map(|call| call.status).collect();
    assert_eq!(statuses, [Status::Cancelled, Status::Cancelled]);
}

fn left(process: i32, line: &str) -> LeftCommand {
    LeftCommand { process, start: 1, line: line.into() }
}

/// The last notice.
fn notice(session: &Session) -> &str {
    let mut notices = session.entries().iter().rev().filter_map(|entry| match &entry.body {
        Body::Notice { text, .. } => Some(text.as_str()),
        _ => None,
    });
    notices.next().expect("a notice")
}

#[test]
fn the_notice_of_what_a_stopped_turn_left_says_what_became_of_each() {
    let mut session = working();
    session.turn_ended(stopped(StopReason::Cancelled), Moment(2));
    let all = [left(1, "make"), left(2, "sleep 9"), left(3, "top")];
    assert_eq!(session.left_running(all.to_vec(), "X ends it", Moment(3)), None);
    assert_eq!(notice(&session), "The turn was stopped, but this goes on:\nmake\nsleep 9\ntop\nX ends it");
    assert_eq!(session.left_running(all[1..].to_vec(), "X ends it", Moment(4)), None);
    assert_eq!(session.end_left(), all[1..]);
    let text = "this goes on:\nmake · ended by itself\nsleep 9 · being ended\ntop · being ended";
    assert_eq!(notice(&session), format!("The turn was stopped, but {text}"), "nothing is left for the key");
    // Its parent went first.
    let child = [left(3, "top"), left(4, "child")];
    assert_eq!(session.left_running(child.to_vec(), "X ends it", Moment(5)), None);
    let told = session.left_running(Vec::new(), "X ends it", Moment(6));
    assert_eq!(told.as_deref(), Some("ended sleep 9 and 2 more"));
    let text = "make · ended by itself\nsleep 9 · ended by you\ntop · ended by you\nchild · ended by you";
    assert_eq!(notice(&session), format!("The turn was stopped, but this went on:\n{text}"));
    assert_eq!(session.left_running(vec![left(5, "next")], "X ends it", Moment(7)), None);
    assert_eq!(notice(&session), "The turn was stopped, but this goes on:\nnext\nX ends it");
}

#[test]
fn what_cannot_be_ended_is_said_to_go_on_and_what_ends_with_the_agent_not() {
    let mut session = working();
    session.turn_ended(stopped(StopReason::Cancelled), Moment(2));
    let all = [left(1, "sudo top"), left(2, "sleep 9")];
    session.left_running(all.to_vec(), "X ends it", Moment(3));
    session.end_left();
    session.left_running(all[..1].to_vec(), "X ends it", Moment(4));
    let told = session.could_not_end(&all[..1]).expect("a word");
    assert!(told.starts_with("couldn't end sudo top: ") && told.ends_with("kill -9 1"), "{told}");
    let text = "The turn was stopped, but this goes on:\nsudo top\nsleep 9 · ended by you\nX ends it";
    assert_eq!(notice(&session), text);
    session.exited(ending_of(false), Moment(5));
    assert!(notice(&session).contains("went on:\nsudo top · ended with the agent\n"), "{}", notice(&session));
    assert_eq!(session.left(), []);
}

fn shows(session: &mut Session, id: &str, content: Vec<ToolContent>) {
    let patch =
        ToolCallPatch { kind: Some(ToolKind::Execute), content: Some(content), ..ToolCallPatch::new(id) };
    session.apply(Update::ToolCall(Box::new(patch)), Moment(1));
}

fn terminal(id: &str) -> (TerminalId, ToolContent) {
    let id = TerminalId(id.into());
    (id.clone(), ToolContent::Terminal(id))
}

fn terminals_of(session: &Session, id: &str) -> Vec<String> {
    let entry = session.call_entry(&ToolCallId(id.into())).expect("a call");
    let call = session.entry(entry).and_then(Entry::tool).expect("a call");
    call.terminals().map(|terminal| terminal.0.clone()).collect()
}

fn ended(code: Option<u32>, signal: Option<&str>) -> Exit {
    Exit { code, signal: signal.map(str::to_owned) }
}

#[test]
fn a_call_keeps_its_terminal_when_its_content_is_replaced() {
    let mut session = working();
    let (id, content) = terminal("t");
    shows(&mut session, "c", vec![content]);
    shows(&mut session, "c", vec![ToolContent::Content(Content::Text("done".into()))]);
    assert_eq!(terminals_of(&session, "c"), ["t"]);
    assert_eq!(session.title_of(&id).as_deref(), Some("run"), "its bar is named after the call");
    session.command_ended(&id, &ended(Some(1), None), Moment(2));
    assert_eq!(call(&session).exit_words().as_deref(), Some("exit 1"));
}

#[test]
fn a_terminal_that_no_call_shows_belongs_to_the_open_call_that_fits_best() {
    let mut session = working();
    let run = |id: &str, kind, command: &str| {
        let input = serde_json::json!({ "command": command });
        let kind = Some(kind);
        Update::ToolCall(Box::new(ToolCallPatch { kind, raw_input: Some(input), ..ToolCallPatch::new(id) }))
    };
    session.apply(run("same", ToolKind::Execute, "make test"), Moment(1));
    session.apply(run("other", ToolKind::Execute, "ls"), Moment(1));
    session.apply(run("read", ToolKind::Read, ""), Moment(1));
    session.command_started(&TerminalId("t".into()), "make test", Moment(2));
    session.command_started(&TerminalId("u".into()), "pwd", Moment(2));
    assert_eq!(terminals_of(&session, "same"), ["t"]);
    assert_eq!(
        terminals_of(&session, "other"),
        ["u"],
        "a call that runs commands comes before one that reads"
    );
    // The agent says now whose it is.
    shows(&mut session, "late", vec![terminal("u").1]);
    assert_eq!((terminals_of(&session, "other").len(), terminals_of(&session, "late").len()), (0, 1));
}

/// The title, the status and the terminals of each call that is shown.
fn shown_calls(session: &Session) -> Vec<(String, Status, usize)> {
    let calls = session.entries().iter().filter_map(|entry| entry.tool());
    calls.map(|call| (call.headline(), call.shown_status(), call.terminals().count())).collect()
}

#[test]
fn a_command_without_a_call_is_shown_like_one() {
    let mut session = working();
    let (first, second) = (TerminalId("t".into()), TerminalId("u".into()));
    session.command_started(&first, "make all", Moment(1));
    session.command_started(&second, "ls", Moment(1));
    let running = |line: &str| (format!("run {line}"), Status::Running, 1);
    assert_eq!(shown_calls(&session), [running("make all"), running("ls")]);
    session.command_ended(&first, &ended(Some(0), None), Moment(2));
    session.command_ended(&second, &ended(Some(2), None), Moment(2));
    let calls = shown_calls(&session);
    assert_eq!((calls[0].1, calls[1].1), (Status::Done, Status::Failed));
}

#[test]
fn a_new_call_takes_the_place_of_the_command_whose_terminal_it_shows() {
    let mut session = working();
    let (id, content) = terminal("t");
    session.command_started(&id, "make", Moment(1));
    let alone = session.entries().len() - 1;
    session.call_changed(EntryId(alone), Path::new("/p/a"));
    session.command_ended(&id, &ended(Some(2), None), Moment(2));
    shows(&mut session, "c", vec![content]);
    assert_eq!(session.entries().len() - 1, alone);
    assert_eq!(call(&session).told_id(), Some("c"));
    assert_eq!(call(&session).changed_words().as_deref(), Some("changed /p/a"));
    assert_eq!(call(&session).exit_words().as_deref(), Some("exit 2"));
}

#[test]
fn a_command_of_a_call_that_was_told_before_has_no_line_of_its_own() {
    let mut session = working();
    let (id, content) = terminal("t");
    shows(&mut session, "c", Vec::new());
    session.apply(status(WireStatus::Failed), Moment(1));
    session.command_started(&id, "make", Moment(1));
    session.call_changed(EntryId(session.entries().len() - 1), Path::new("/p/a"));
    assert_eq!(shown_calls(&session).len(), 2);
    shows(&mut session, "c", vec![content]);
    assert_eq!(shown_calls(&session).len(), 1);
    assert_eq!(call(&session).changed.len(), 1);
    assert_eq!(session.open_calls().count(), 0);
}

#[test]
fn a_terminal_that_ended_before_its_call_showed_it_is_known_to_have_ended() {
    let mut session = working();
    let (id, content) = terminal("t");
    session.command_started(&id, "make", Moment(2));
    session.command_ended(&id, &ended(Some(2), None), Moment(2));
    shows(&mut session, "c", vec![content]);
    assert_eq!(call(&session).exit_words().as_deref(), Some("exit 2"));
}

#[test]
fn a_call_whose_command_the_cancel_ended_is_cancelled_though_the_agent_says_completed() {
    let completed = |code, signal| {
        let mut session = working();
        let (id, content) = terminal("t");
        shows(&mut session, "c", vec![content]);
        session.cancel(Moment(2));
        session.apply(status(WireStatus::Completed), Moment(3));
        session.command_ended(&id, &ended(code, signal), Moment(2));
        session.turn_ended(stopped(StopReason::Cancelled), Moment(4));
        call(&session).status
    };
    assert_eq!(completed(None, Some("SIGTERM")), Status::Cancelled);
    assert_eq!(completed(Some(143), None), Status::Cancelled);
    assert_eq!(completed(Some(0), None), Status::Done, "it came to its end all the same");
}

/// A session whose agent, which can do this, has died.
fn died(can: Capabilities) -> Session {
    let mut session = working();
    session.info.as_mut().expect("connected").can = can;
    say(&mut session, None, "so far");
    session.exited(Ending { failure: None, exit: None, stderr: Vec::new(), expected: false }, Moment(2));
    session
}

fn restart_told(session: &Session) -> Restart {
    match session
        .entries()
        .iter()
        .rev()
        .map(|entry| &entry.body)
        .find(|body| matches!(body, Body::Greeting(_)))
    {
        Some(Body::Greeting(Greeting::Gone { restart, .. } | Greeting::Failed { restart, .. })) => *restart,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_restart_does_what_it_says_resume_load_or_a_new_session() {
    let can = |resume, load| Capabilities { resume, load, ..Capabilities::default() };
    let table = [
        (can(true, true), Restart::Resume, Some(Reopen::Resume)),
        (can(false, true), Restart::Load, Some(Reopen::Load)),
        (can(false, false), Restart::New, None),
    ];
    for (can, told, how) in table {
        let mut session = died(can);
        assert_eq!(restart_told(&session), told);
        session.restarted(AgentId(2), "demo", Moment(3));
        assert_eq!(session.taking_up, how.map(|how| ("s".to_owned(), how)), "{told:?}");
        let is_asked_for = session.entries().iter().any(|entry| {
            matches!(&entry.body, Body::Greeting(Greeting::Gone { restart, .. }) if *restart != Restart::Done)
        });
        assert!(!is_asked_for, "it is started again");
    }
}

#[test]
fn the_first_steps_are_shown_once_however_often_the_agent_is_started() {
    let mut session = session_that_starts();
    session.open_failed(failure(FailureKind::Timeout));
    let mut shown = Vec::new();
    for number in 2..5 {
        session.restarted(AgentId(number), "demo", Moment(3));
        session.opened(Opened { acp_id: "s".into(), ..Opened::default() }, Moment(4));
        let greetings = session.entries().iter().filter(|entry| {
            matches!(entry.body, Body::Greeting(Greeting::Ready { steps: Steps::Prompt, .. }))
        });
        shown.push(greetings.count());
    }
    assert_eq!(shown, [1, 1, 1]);
}

#[test]
fn what_a_loading_agent_tells_again_after_a_restart_is_on_the_screen_already() {
    let mut session = died(Capabilities { load: true, ..Capabilities::default() });
    session.restarted(AgentId(2), "demo", Moment(3));
    say(&mut session, None, "so far");
    session.apply(status(WireStatus::Completed), Moment(3));
    session.apply(Update::Usage { used: 1, size: 2, cost: None }, Moment(3));
    assert_eq!((messages(&session), session.usage), (vec!["so far"], Some((1, 2))));
    session.opened(Opened { acp_id: "s".into(), ..Opened::default() }, Moment(4));
    session.prompt(words("and now"), Moment(5));
    say(&mut session, None, "new");
    assert_eq!(messages(&session), ["so far", "new"]);
}

#[test]
fn a_session_that_could_not_be_loaded_again_is_followed_by_a_new_one() {
    let mut session = died(Capabilities { load: true, ..Capabilities::default() });
    session.restarted(AgentId(2), "demo", Moment(3));
    session.open_failed(failure(FailureKind::NotFound));
    assert_eq!(restart_told(&session), Restart::New);
    session.restarted(AgentId(3), "demo", Moment(4));
    assert_eq!(session.taking_up, None);
}

#[test]
fn a_session_that_is_closed_ends_its_calls_and_its_questions() {
    let mut session = working();
    session.apply(status(WireStatus::InProgress), Moment(1));
    session.asked(AskId(1), ToolCallPatch::new("d"), options(), Moment(1));
    session.closed(Moment(2));
    assert_eq!((call(&session).status, session.asks().len()), (Status::Cancelled, 0));
    assert_eq!(session.open_calls().count(), 0);
}

#[test]
fn a_chunk_of_the_users_is_what_the_user_said() {
    let mut session = session();
    let chunk =
        |role, text: &str| Update::Message { role, message: None, content: Content::Text(text.into()) };
    session.apply(chunk(Role::User, "Why is the "), Moment(1));
    session.apply(chunk(Role::User, "sky blue?"), Moment(1));
    session.apply(chunk(Role::Agent, "Light."), Moment(1));
    assert_eq!(session.prompts().map(|text| &**text).collect::<Vec<_>>(), ["Why is the sky blue?"]);
    assert_eq!(session.answer_text(), "Light.");
}

#[test]
fn what_went_along_with_a_prompt_that_is_told_stands_below_it_as_when_it_was_sent() {
    let mut session = session();
    let chunk = |content| Update::Message { role: Role::User, message: None, content };
    let file = |name: &str| Content::Resource {
        uri: format!("file:///elsewhere/{name}"),
        mime: None,
        body: ResourceBody::Text("one\ntwo\n".into()),
    };
    let link = Content::Link {
        uri: "https://example.com/".into(),
        name: "example".into(),
        title: None,
        mime: None,
        size: None,
    };
    session.apply(chunk(Content::Text("Look at @a.txt".into())), Moment(1));
    session.apply(chunk(file("a.txt")), Moment(1));
    session.apply(chunk(link), Moment(1));
    let prompts = session.entries().iter().filter_map(|entry| match &entry.body {
        Body::User { text, attachments } => Some((&**text, attachments.join(", "))),
        _ => None,
    });
    let told = "/elsewhere/a.txt (2 lines), https://example.com/".to_owned();
    assert_eq!(prompts.collect::<Vec<_>>(), [("Look at @a.txt", told)]);
}

#[test]
fn a_thought_is_no_part_of_the_answer() {
    let mut session = working();
    let thought = Content::Text("Hm.".into());
    session.apply(Update::Message { role: Role::Thought, message: None, content: thought }, Moment(1));
    say(&mut session, None, "Because.");
    assert_eq!(session.answer_text(), "Because.");
    let thoughts = session.entries().iter().filter(|entry| matches!(entry.body, Body::Thought { .. }));
    assert_eq!(thoughts.count(), 1);
}

#[test]
fn what_is_told_as_a_list_takes_the_place_of_the_list_before() {
    let mut session = session();
    let command = |name: &str| SlashCommand { name: name.into(), description: String::new(), hint: None };
    session.apply(Update::Commands(vec![command("a"), command("b")]), Moment(1));
    session.apply(Update::Commands(vec![command("b")]), Moment(2));
    assert_eq!(session.commands, [command("b")]);
    let option = |id: &str| ConfigOption {
        id: id.into(),
        name: id.into(),
        description: None,
        category: None,
        kind: crate::core::message::OptionKind::Toggle { current: true },
    };
    session.apply(Update::Options(vec![option("a"), option("b")]), Moment(1));
    session.apply(Update::Options(vec![option("b")]), Moment(2));
    assert_eq!(session.options, [option("b")]);
}

#[test]
fn a_notice_is_shown_at_its_place_and_ends_no_turn() {
    let mut session = working();
    say(&mut session, None, "before");
    for severity in [Severity::Info, Severity::Warning, Severity::Error] {
        let title = format!("**{severity:?}**");
        session.apply(Update::Notice { severity, title, description: Some("why".into()) }, Moment(1));
    }
    assert!(session.is_working());
    let notices: Vec<(Severity, &str)> = session
        .entries()
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Notice { severity, text, .. } => Some((*severity, text.as_str())),
            _ => None,
        })
        .collect();
    let expected = [
        (Severity::Info, "**Info**\nwhy"),
        (Severity::Warning, "**Warning**\nwhy"),
        (Severity::Error, "**Error**\nwhy"),
    ];
    assert_eq!(notices, expected, "as plain text");
    say(&mut session, None, "after");
    assert_eq!(session.answer_text(), "before\n\nafter");
}

#[test]
fn an_unknown_update_costs_its_neighbours_nothing() {
    let mut session = working();
    say(&mut session, None, "be");
    let entries = session.entries().len();
    session.apply(Update::Unknown { kind: "future_thing".into() }, Moment(1));
    say(&mut session, None, "fore");
    assert_eq!((session.answer_text().as_str(), session.entries().len()), ("before", entries));
}

#[test]
fn a_question_without_content_does_not_hide_what_the_call_shows() {
    let mut session = working();
    let shown = vec![ToolContent::Content(Content::Text("the plan".into()))];
    let told = ToolCallPatch { content: Some(shown.clone()), ..ToolCallPatch::new("c") };
    session.apply(Update::ToolCall(Box::new(told)), Moment(1));
    let asks = ToolCallPatch { content: Some(Vec::new()), ..ToolCallPatch::new("c") };
    session.asked(AskId(1), asks, options(), Moment(2));
    assert_eq!(call(&session).content, shown);
}

#[test]
fn nothing_is_cancelled_where_no_turn_runs() {
    let mut session = session();
    assert_eq!(session.cancel(Moment(1)), []);
    session.prompt(vec![Content::Text("x".into())], Moment(2));
    session.turn_ended(stopped(StopReason::EndTurn), Moment(3));
    assert_eq!(session.cancel(Moment(4)), []);
}
