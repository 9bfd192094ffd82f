//! The agent processes that this Neovim has started, from start to end, and which session belongs to
//! which of them. Every request for an agent goes through here, so that no session is given a process
//! that is about to end. How a session reacts is left to `session`.

use std::collections::BTreeMap;

use crate::core::ids::{AgentId, SessionKey};
use crate::core::message::{AgentInfo, Answer, AuthStatus, Command, Dialect, Event, Launch, ToolAnswer};
use crate::core::store::allowlist::{Allowed, Until};

/// How far an agent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The process is being started, or has not answered `initialize`.
    Starting,
    Ready,
    /// It was told to end, and is not gone yet.
    Ending,
    /// It is gone, or could not be started.
    Ended,
}

/// What happens to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Connected,
    /// The user wants it to end.
    ToEnd,
    Exited,
}

/// The stage after a step. What was told to end never comes back, whatever it still says.
pub fn next(stage: Stage, step: Step) -> Stage {
    match (stage, step) {
        (Stage::Ended, _) | (_, Step::Exited) => Stage::Ended,
        (Stage::Ending, _) | (_, Step::ToEnd) => Stage::Ending,
        (Stage::Starting | Stage::Ready, Step::Connected) => Stage::Ready,
    }
}

struct Agent {
    launch: Launch,
    stage: Stage,
    pid: Option<u32>,
    info: Option<AgentInfo>,
    auth: Option<AuthStatus>,
}

/// All agents of this Neovim, also those that have ended.
#[derive(Default)]
pub struct Agents {
    agents: BTreeMap<AgentId, Agent>,
    last: u32,
}

impl Agents {
    /// The number of an agent that is about to be started.
    pub fn begin(&mut self, launch: Launch) -> AgentId {
        self.last += 1;
        let id = AgentId(self.last);
        self.agents.insert(id, Agent { launch, stage: Stage::Starting, pid: None, info: None, auth: None });
        id
    }

    /// Those that have ended are not asked for again, but for these.
    pub fn forget_ended(&mut self, but: &[AgentId]) {
        self.agents.retain(|id, agent| agent.stage != Stage::Ended || but.contains(id));
    }

    pub fn started(&mut self, id: AgentId, pid: u32) {
        if let Some(agent) = self.agents.get_mut(&id).filter(|agent| agent.stage != Stage::Ended) {
            agent.pid = Some(pid);
        }
    }

    pub fn connected(&mut self, id: AgentId, info: AgentInfo) {
        self.step(id, Step::Connected);
        if let Some(agent) = self.agents.get_mut(&id).filter(|agent| agent.stage == Stage::Ready) {
            agent.info = Some(info);
        }
    }

    /// Whether the agent is still to be told to end; asked a second time it is not.
    pub fn to_end(&mut self, id: AgentId) -> bool {
        let takes = self.takes_sessions(id);
        self.step(id, Step::ToEnd);
        takes
    }

    /// The agent has shown what it speaks: the next start is in that.
    pub fn speaks(&mut self, id: AgentId, dialect: Dialect) {
        if let Some(agent) = self.agents.get_mut(&id) {
            agent.launch.dialect = Some(dialect);
        }
    }

    pub fn exited(&mut self, id: AgentId) {
        self.step(id, Step::Exited);
        if let Some(agent) = self.agents.get_mut(&id) {
            (agent.pid, agent.info, agent.auth) = (None, None, None);
        }
    }

    fn step(&mut self, id: AgentId, step: Step) {
        if let Some(agent) = self.agents.get_mut(&id) {
            agent.stage = next(agent.stage, step);
        }
    }

    /// An agent started in this way that takes sessions, and is not the one that is to be replaced.
    pub fn running(&self, launch: &Launch, replaced: Option<AgentId>) -> Option<AgentId> {
        let fits = |agent: &AgentId| self.launch(*agent) == Some(launch) && self.takes_sessions(*agent);
        self.agents.keys().copied().find(|agent| Some(*agent) != replaced && fits(agent))
    }

    /// Whether a session that is given to it has a future.
    pub fn takes_sessions(&self, id: AgentId) -> bool {
        self.agents.get(&id).is_some_and(|agent| matches!(agent.stage, Stage::Starting | Stage::Ready))
    }

    pub fn stage(&self, id: AgentId) -> Option<Stage> {
        self.agents.get(&id).map(|agent| agent.stage)
    }

    pub fn launch(&self, id: AgentId) -> Option<&Launch> {
        self.agents.get(&id).map(|agent| &agent.launch)
    }

    /// What the agent has said of itself, while it is ready.
    pub fn info(&self, id: AgentId) -> Option<&AgentInfo> {
        self.agents.get(&id).filter(|agent| agent.stage == Stage::Ready)?.info.as_ref()
    }

    pub fn auth_reported(&mut self, id: AgentId, status: AuthStatus) {
        if let Some(agent) = self.agents.get_mut(&id).filter(|agent| agent.stage != Stage::Ended) {
            agent.auth = Some(status);
        }
    }

    /// Whether it is logged in, and by which account, if it has told.
    pub fn auth(&self, id: AgentId) -> Option<&AuthStatus> {
        self.agents.get(&id)?.auth.as_ref()
    }

    /// Those that are ready, and what they have said of themselves.
    pub fn ready(&self) -> Vec<(AgentId, AgentInfo)> {
        self.agents.keys().filter_map(|id| Some((*id, self.info(*id)?.clone()))).collect()
    }

    /// How all of them were started, as what process they run, and who is logged in.
    pub fn all(&self) -> impl Iterator<Item = (&Launch, Option<u32>, Option<&AuthStatus>)> {
        self.agents.values().map(|agent| (&agent.launch, agent.pid, agent.auth.as_ref()))
    }

    /// How those were started that are not gone.
    pub fn living(&self) -> impl Iterator<Item = &Launch> {
        self.agents.values().filter(|agent| agent.stage != Stage::Ended).map(|agent| &agent.launch)
    }
}

/// The numbers by which the background knows sessions. A chat gets a new one whenever its session is
/// opened, so that what an earlier agent still says does not reach the session that came after it.
#[derive(Default)]
pub struct Openings {
    last: u32,
    chats: BTreeMap<SessionKey, SessionKey>,
    current: BTreeMap<SessionKey, SessionKey>,
}

/// What is to be done with an event.
#[derive(Debug, PartialEq)]
pub enum Admitted {
    /// It is for the chat that it names now.
    Event(Box<Event>),
    /// It is of an earlier opening; this is to be sent.
    Stale(Option<Command>),
}

impl Openings {
    /// The chat's session is about to be opened, perhaps not for the first time.
    pub fn open(&mut self, chat: SessionKey) {
        self.last += 1;
        let opening = SessionKey(self.last);
        self.chats.insert(opening, chat);
        self.current.insert(chat, opening);
    }

    /// A command as the background knows its session.
    pub fn outgoing(&self, mut command: Command) -> Command {
        let opening = |session: &mut SessionKey| {
            if let Some(opening) = self.current.get(session) {
                *session = *opening;
            }
        };
        if let Some(session) = command.session_mut() {
            opening(session);
        }
        if let Command::Revoke { allowed: Allowed { until: Until::SessionEnds(session), .. } } = &mut command
        {
            opening(session);
        }
        command
    }

    /// An event as the editor knows its session.
    pub fn incoming(&self, mut event: Event) -> Admitted {
        if let Event::Allowed { allowed, .. } = &mut event {
            for allowed in allowed {
                if let Until::SessionEnds(session) = &mut allowed.until {
                    *session = self.chats.get(session).copied().unwrap_or(*session);
                }
            }
        }
        if let Event::FileChanged { cause, .. } | Event::FilesChanged { cause, .. } = &mut event {
            // What an earlier agent has changed is the chat's as well.
            for session in cause.sessions_mut() {
                *session = self.chats.get(session).copied().unwrap_or(*session);
            }
        }
        let Some(session) = event.session_mut() else { return Admitted::Event(Box::new(event)) };
        let opening = *session;
        let Some(chat) = self.chats.get(&opening) else { return Admitted::Event(Box::new(event)) };
        *session = *chat;
        if self.current.get(chat) == Some(&opening) || event.outlives_its_session() {
            return Admitted::Event(Box::new(event));
        }
        Admitted::Stale(match event {
            Event::Asked { ask, .. } | Event::Called { ask, .. } => {
                Some(Command::Answer { ask, answer: Answer::Cancelled })
            }
            Event::ToolCalled { run, .. } => {
                Some(Command::AnswerTool { run, answer: ToolAnswer::failure("the session is over") })
            }
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::{AskId, TerminalId};
    use crate::core::message::{Activity, Cause, Failure, FailureKind, Hold, Question, RulesNews};
    use crate::core::rules::Request;
    use std::path::PathBuf;

    const STAGES: [Stage; 4] = [Stage::Starting, Stage::Ready, Stage::Ending, Stage::Ended];

    #[test]
    fn an_agent_that_has_ended_is_known_as_long_as_a_session_needs_it() {
        let mut agents = Agents::default();
        let [needed, ended, running] = [(); 3].map(|()| agents.begin(launch("a")));
        agents.exited(needed);
        agents.exited(ended);
        agents.forget_ended(&[needed]);
        let known = [needed, ended, running].map(|agent| agents.launch(agent).is_some());
        assert_eq!(known, [true, false, true]);
    }

    #[test]
    fn each_step_leads_from_each_stage_to_one() {
        use Stage::*;
        let table = [
            (Step::Connected, [Ready, Ready, Ending, Ended]),
            (Step::ToEnd, [Ending, Ending, Ending, Ended]),
            (Step::Exited, [Ended, Ended, Ended, Ended]),
        ];
        for (step, after) in table {
            assert_eq!(STAGES.map(|stage| next(stage, step)), after, "{step:?}");
        }
    }

    fn launch(name: &str) -> Launch {
        Launch { name: name.into(), ..Launch::default() }
    }

    #[test]
    fn an_agent_that_is_to_end_takes_no_session_and_is_told_so_once() {
        let mut agents = Agents::default();
        let first = agents.begin(launch("a"));
        assert_eq!(agents.running(&launch("a"), None), Some(first), "while it starts");
        agents.connected(first, AgentInfo::default());
        assert_eq!(agents.running(&launch("a"), None), Some(first));
        assert!(agents.to_end(first));
        assert!(!agents.to_end(first));
        assert_eq!((agents.running(&launch("a"), None), agents.info(first)), (None, None));
        let second = agents.begin(launch("a"));
        agents.connected(first, AgentInfo::default());
        assert_eq!(agents.running(&launch("a"), None), Some(second));
        agents.exited(first);
        agents.started(first, 1);
        assert_eq!(agents.all().map(|(_, pid, _)| pid).collect::<Vec<_>>(), [None, None]);
        assert!(!agents.to_end(first), "it has ended already");
    }

    #[test]
    fn an_agent_that_was_never_started_is_nothing() {
        let mut agents = Agents::default();
        agents.exited(AgentId(7));
        assert!(!agents.to_end(AgentId(7)));
        assert_eq!((agents.stage(AgentId(7)), agents.launch(AgentId(7))), (None, None));
    }

    const CHAT: SessionKey = SessionKey(40);

    fn failed(session: SessionKey) -> Event {
        let failure = Failure { kind: FailureKind::Agent, message: "no".into(), details: None };
        Event::OpenFailed { session, failure }
    }

    fn sent(openings: &Openings) -> SessionKey {
        match openings.outgoing(Command::Cancel { session: CHAT }) {
            Command::Cancel { session } => session,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_told_of_rules_is_about_the_opening_that_is() {
        let mut openings = Openings::default();
        openings.open(SessionKey(9));
        openings.open(CHAT);
        openings.open(CHAT);
        let opening = sent(&openings);
        assert_ne!(opening, CHAT);
        for news in [
            RulesNews::Who { session: CHAT, agent: "a".into(), mode: None },
            RulesNews::OfSession { session: CHAT, rules: Vec::new() },
            RulesNews::Holds { session: CHAT, hold: Hold::default() },
            RulesNews::Granted { session: CHAT, request: Request::default() },
        ] {
            let Command::Rules(mut told) = openings.outgoing(Command::Rules(news)) else {
                panic!("another command")
            };
            assert_eq!(told.session_mut().copied(), Some(opening));
        }
    }

    #[test]
    fn whose_change_it_was_is_said_by_the_chat_whichever_opening_did_it() {
        let mut openings = Openings::default();
        openings.open(SessionKey(9));
        let changed = |cause| Event::FilesChanged { cause, files: Vec::new() };
        let by = |session| Activity { session, call: None, terminal: None };
        let mut known = Vec::new();
        for _ in 0..2 {
            openings.open(CHAT);
            known.push(sent(&openings));
        }
        for opening in &known {
            let event = openings.incoming(changed(Cause::Session(by(*opening))));
            assert_eq!(event, Admitted::Event(Box::new(changed(Cause::Session(by(CHAT))))));
        }
        let event = openings.incoming(changed(Cause::OneOf(vec![by(SessionKey(1)), by(known[1])])));
        let both = Cause::OneOf(vec![by(SessionKey(9)), by(CHAT)]);
        assert_eq!(event, Admitted::Event(Box::new(changed(both))));
        let outside = || changed(Cause::Outside);
        assert_eq!(openings.incoming(outside()), Admitted::Event(Box::new(outside())));
    }

    #[test]
    fn what_an_earlier_opening_says_does_not_reach_the_chat() {
        let mut openings = Openings::default();
        openings.open(CHAT);
        let first = sent(&openings);
        assert_eq!(openings.incoming(failed(first)), Admitted::Event(Box::new(failed(CHAT))));
        openings.open(CHAT);
        let second = sent(&openings);
        assert_ne!(first, second);
        assert_eq!(openings.incoming(failed(first)), Admitted::Stale(None));
        assert_eq!(openings.incoming(failed(second)), Admitted::Event(Box::new(failed(CHAT))));
    }

    #[test]
    fn what_an_earlier_opening_asks_is_answered_and_what_it_ran_is_told() {
        let mut openings = Openings::default();
        openings.open(CHAT);
        let first = sent(&openings);
        openings.open(CHAT);
        let question = Question::Read { path: PathBuf::from("/a"), line: None, limit: None };
        let asked = Event::Asked { session: first, branch: None, ask: AskId(3), question };
        let answer = Command::Answer { ask: AskId(3), answer: Answer::Cancelled };
        assert_eq!(openings.incoming(asked), Admitted::Stale(Some(answer)));
        let ended = |session| {
            let terminal = TerminalId("t".into());
            Event::TerminalEnded { session, terminal, exit: crate::core::message::Exit::default() }
        };
        assert_eq!(openings.incoming(ended(first)), Admitted::Event(Box::new(ended(CHAT))));
    }
}
