use super::*;
use crate::core::ids::{AgentId, AskId, SessionKey};
use crate::core::message::{
    AgentInfo, Capabilities, Exit, Opened, Place, Role, Severity, StopReason, ToolCallPatch, TurnEnd,
};
use crate::core::session::AgentRun;
use crate::core::session::recovery::Recovery;

const BUSY: FailureKind = FailureKind::RateLimited(Some(7_000));

fn failed(kind: FailureKind) -> Failure {
    Failure { kind, message: "no session".into(), details: None }
}

fn text(text: &str) -> Vec<Content> {
    vec![Content::Text(text.into())]
}

fn idle() -> Session {
    let mut session = Session::new(
        SessionKey(1),
        AgentRun { command: "acp-demo-agent", ..AgentRun::DEMO },
        Place::default(),
        Moment(0),
    );
    let can = Capabilities { resume: true, ..Capabilities::default() };
    session.connected(AgentInfo { can, ..AgentInfo::default() });
    session.opened(Opened { acp_id: "s".into(), ..Opened::default() }, Moment(0));
    session
}

/// A session whose first prompt was answered like this after a second.
fn answered(kind: FailureKind) -> (Session, Vec<Command>) {
    let mut session = idle();
    session.prompt(text("hello"), Moment(0));
    let sent = session.turn_ended(TurnEnd::Failed(failed(kind)), Moment(1000));
    (session, sent)
}

fn then(session: &Session) -> Option<Then> {
    session.entries().iter().rev().find_map(|entry| match entry.body {
        Body::TurnFailed(_, then) => Some(then),
        _ => None,
    })
}

fn prompts(commands: &[Command]) -> Vec<&str> {
    fn prompt(command: &Command) -> Option<&str> {
        match command {
            Command::Prompt { content, .. } => match content.first() {
                Some(Content::Text(text)) => Some(text),
                _ => None,
            },
            _ => None,
        }
    }
    commands.iter().filter_map(prompt).collect()
}

fn said(session: &Session) -> usize {
    session.entries().iter().filter(|entry| matches!(entry.body, Body::User { .. })).count()
}

#[test]
fn a_prompt_that_was_refused_for_now_is_counted_down_and_sent_again() {
    let (mut session, sent) = answered(BUSY);
    assert_eq!((sent, then(&session)), (vec![], Some(Then::Again { seconds: 7 })));
    session.take_touched();
    assert_eq!(session.ticked(Moment(1250)), []);
    assert!(!session.has_touched(), "a line is drawn when it says something else");
    assert_eq!(session.ticked(Moment(3001)), []);
    assert_eq!(then(&session), Some(Then::Again { seconds: 5 }));
    assert!(session.has_touched());
    assert_eq!(session.ticked(Moment(7_999)), []);
    assert_eq!(prompts(&session.ticked(Moment(8_000))), ["hello"]);
    assert_eq!((then(&session), said(&session)), (Some(Then::Sent), 1));
    assert!(session.is_working());
    assert_eq!(session.ticked(Moment(60_000)), [], "once");
}

#[test]
fn it_is_tried_longer_apart_and_then_left_to_the_user() {
    let mut session = idle();
    session.prompt(text("hello"), Moment(0));
    let mut waits = Vec::new();
    let mut now = 0;
    for _ in 0..10 {
        session.turn_ended(TurnEnd::Failed(failed(FailureKind::RateLimited(None))), Moment(now));
        let Some(Then::Again { seconds }) = then(&session) else { break };
        waits.push(seconds);
        now += seconds * 1000;
        assert_eq!(prompts(&session.ticked(Moment(now))), ["hello"]);
    }
    assert_eq!(waits, [5, 10, 20, 40, 80]);
    assert_eq!((then(&session), session.phase == Phase::Idle), (Some(Then::Nothing), true));
    session.prompt(text("other"), Moment(now));
    session.turn_ended(TurnEnd::Failed(failed(FailureKind::RateLimited(None))), Moment(now));
    assert_eq!(then(&session), Some(Then::Again { seconds: 5 }), "another prompt begins anew");
}

#[test]
fn what_the_agent_has_begun_is_not_sent_again() {
    let began = |work: &dyn Fn(&mut Session)| {
        let mut session = idle();
        session.prompt(text("hello"), Moment(0));
        work(&mut session);
        session.turn_ended(TurnEnd::Failed(failed(BUSY)), Moment(1));
        then(&session) == Some(Then::Nothing)
    };
    let said = |role| Update::Message { role, message: None, content: Content::Text("x".into()) };
    for update in [
        said(Role::Agent),
        said(Role::Thought),
        Update::ToolCall(Box::new(ToolCallPatch::new("c"))),
        Update::Plan(Vec::new()),
    ] {
        assert!(began(&|session| session.apply(update.clone(), Moment(1))), "{update:?}");
    }
    assert!(began(&Session::agent_works));
    let notice = Update::Notice { severity: Severity::Info, title: "x".into(), description: None };
    for update in [said(Role::User), Update::Commands(Vec::new()), Update::Mode("m".into()), notice] {
        assert!(!began(&|session| session.apply(update.clone(), Moment(1))), "{update:?}");
    }
}

#[test]
fn the_user_stops_the_wait_and_nothing_typed_is_lost() {
    let (mut session, _) = answered(BUSY);
    assert_eq!(session.prompt(text("second"), Moment(2000)), [], "it waits in line");
    session.hold_queue();
    assert!(session.stop_waiting());
    assert!(!session.stop_waiting());
    assert_eq!((then(&session), session.held()), (Some(Then::Held), 2));
    assert_eq!(session.ticked(Moment(60_000)), []);
    assert_eq!(prompts(&session.release_queue(Moment(60_000))), ["hello"]);
    let end = TurnEnd::Stopped { reason: StopReason::EndTurn, usage: None };
    assert_eq!(prompts(&session.turn_ended(end, Moment(60_001))), ["second"]);
}

#[test]
fn a_session_that_is_gone_gives_its_prompt_to_a_new_one() {
    let (mut session, _) = answered(FailureKind::NotFound);
    assert_eq!((then(&session), session.is_lost()), (Some(Then::NewSession), true));
    assert_eq!(session.prompt(text("second"), Moment(2000)), []);
    session.begins_anew(Moment(3000));
    assert!(matches!(session.open_command(), Command::Open { .. }));
    let sent = session.opened(Opened { acp_id: "t".into(), ..Opened::default() }, Moment(3001));
    assert_eq!((prompts(&sent), said(&session)), (vec!["hello"], 1));
    assert!(!session.is_lost());
}

#[test]
fn a_prompt_that_waits_is_for_the_next_agent_when_this_one_ends() {
    let (mut session, _) = answered(BUSY);
    let ending = Ending { failure: None, exit: Some(Exit::default()), stderr: vec![], expected: false };
    assert_eq!(session.reconnects(&ending), None, "the user looks at what waits");
    session.exited(ending, Moment(2000));
    assert_eq!(then(&session), Some(Then::Nothing));
    session.restarted(AgentId(2), "demo", Moment(3000));
    let sent = session.opened(Opened { acp_id: "s".into(), ..Opened::default() }, Moment(3001));
    assert_eq!((prompts(&sent), said(&session)), (vec!["hello"], 1));
}

fn opening() -> Session {
    Session::new(
        SessionKey(1),
        AgentRun { command: "acp-demo-agent", ..AgentRun::DEMO },
        Place::default(),
        Moment(0),
    )
}

#[test]
fn a_session_that_was_not_to_be_had_is_asked_for_again() {
    let mut session = opening();
    assert_eq!(session.opening_failed(&failed(FailureKind::Agent), Moment(0)), None);
    assert_eq!(session.opening_failed(&failed(BUSY), Moment(0)), Some(vec![]));
    assert!(matches!(session.entries()[0].body, Body::Greeting(Greeting::Waiting { seconds: 7, .. })));
    assert_eq!(session.ticked(Moment(6_500)), []);
    assert!(matches!(session.entries()[0].body, Body::Greeting(Greeting::Waiting { seconds: 1, .. })));
    assert!(matches!(session.ticked(Moment(7_000)).as_slice(), [Command::Open { .. }]));
    assert!(matches!(session.phase, Phase::Opening { .. }));
    assert_eq!(session.opening_failed(&failed(FailureKind::Timeout), Moment(9_000)), None, "not twice");
}

#[test]
fn one_that_took_too_long_is_asked_for_once_more_at_once() {
    let mut session = opening();
    session.taking_up = Some(("s".into(), Reopen::Load));
    let again = session.opening_failed(&failed(FailureKind::Timeout), Moment(0));
    assert!(matches!(again.as_deref(), Some([Command::Load { .. }])), "{again:?}");
    assert_eq!(session.opening_failed(&failed(FailureKind::Timeout), Moment(0)), None);
}

#[test]
fn the_user_stops_the_wait_for_a_session() {
    let mut session = opening();
    session.opening_failed(&failed(BUSY), Moment(0));
    assert!(session.is_busy() && session.stop_waiting());
    assert!(matches!(
        &session.entries()[0].body,
        Body::Greeting(Greeting::Failed { failure, .. }) if failure.kind == BUSY
    ));
    assert_eq!((session.ticked(Moment(60_000)), session.phase == Phase::Gone), (vec![], true));
}

#[test]
fn an_agent_that_dies_again_and_again_is_left_to_the_user() {
    let ending = Ending { failure: None, exit: None, stderr: vec![], expected: false };
    let mut session = idle();
    let mut waits = Vec::new();
    while let Some(wait) = session.reconnects(&ending) {
        waits.push(wait);
        session.exited(ending.clone(), Moment(1));
        session.comes_back();
        session.restarted(AgentId(2), "demo", Moment(2));
        let can = Capabilities { resume: true, ..Capabilities::default() };
        session.connected(AgentInfo { can, ..AgentInfo::default() });
        session.opened(Opened { acp_id: "s".into(), ..Opened::default() }, Moment(3));
    }
    assert_eq!(waits, [0, 5_000, 30_000]);
    session.prompt(text("hello"), Moment(4));
    assert_eq!(session.reconnects(&ending), None, "a turn runs");
    session.turn_ended(TurnEnd::Stopped { reason: StopReason::EndTurn, usage: None }, Moment(5));
    assert_eq!(session.reconnects(&ending), Some(0), "it has shown that it works");
}

#[test]
fn an_agent_that_asks_something_has_begun() {
    let mut session = idle();
    session.prompt(text("hello"), Moment(0));
    session.asked(AskId(1), ToolCallPatch::new("c"), Vec::new(), Moment(1));
    session.recovery = Recovery::default();
    session.turn_ended(TurnEnd::Failed(failed(FailureKind::Internal)), Moment(2));
    assert_eq!(then(&session), Some(Then::Nothing));
}
