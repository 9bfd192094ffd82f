//! What a new session is set to right after it was opened: the mode, the model and other options that the user gave
//! for its agent, by id or by name. What the agent doesn't have is said. Sending is left to the caller.

use crate::core::ids::{Moment, SessionKey};
use crate::core::message::{Command, ConfigOption, Named, OptionKind, OptionValue, Severity};
use crate::core::session::Session;
use crate::core::session::defaults::{Preference, Unset, What, remembered};
use crate::core::session::options::{listed, models, modes};
use crate::core::store::remembered::What as Choice;

/// Why a default can't be set now.
enum Lack {
    Kind,
    Value(Vec<String>),
}

impl Preference {
    /// The request that sets it, none where it is set already.
    fn command(&self, session: &Session) -> Result<Option<Command>, Lack> {
        let key = session.key;
        match &self.what {
            What::Mode => match session.selection("mode") {
                Some(option) => self.option(key, option),
                None => {
                    let current = session.modes.as_ref().map(|modes| &modes.current);
                    let mode = self.find(modes(session))?;
                    Ok((Some(&mode) != current).then_some(Command::SetMode { session: key, mode }))
                }
            },
            What::Model => match session.selection("model") {
                Some(option) => self.option(key, option),
                None => {
                    let current = session.models.as_ref().map(|models| &models.current);
                    let model = self.find(models(session))?;
                    Ok((Some(&model) != current).then_some(Command::SetModel { session: key, model }))
                }
            },
            What::Effort => {
                let named = |name: &str| name.to_lowercase().contains("effort");
                let effort = |option: &&ConfigOption| named(&option.id) || named(&option.name);
                let found =
                    session.selection("thought_level").or_else(|| session.options.iter().find(effort));
                self.option(key, found.ok_or(Lack::Kind)?)
            }
            What::Option(wanted) => {
                let by =
                    |is: &dyn Fn(&ConfigOption) -> bool| session.options.iter().find(|option| is(option));
                let found = by(&|option| option.id == *wanted)
                    .or_else(|| by(&|option| option.name.eq_ignore_ascii_case(wanted)))
                    .or_else(|| by(&|option| option.category.as_ref() == Some(wanted)));
                self.option(key, found.ok_or(Lack::Kind)?)
            }
        }
    }

    fn option(&self, session: SessionKey, option: &ConfigOption) -> Result<Option<Command>, Lack> {
        let set = |value| Command::SetOption { session, option: option.id.clone(), value };
        match &option.kind {
            OptionKind::Select { current, groups } => {
                let values = groups.iter().flat_map(|group| &group.values);
                let pair = |value: &Named| (value.id.clone(), value.name.clone());
                let id = self.find(values.map(pair).collect())?;
                Ok((id != *current).then(|| set(OptionValue::Value(id))))
            }
            OptionKind::Toggle { current } => {
                let on = match self.value.as_str() {
                    "true" | "on" => true,
                    "false" | "off" => false,
                    _ => return Err(Lack::Value(vec!["true".into(), "false".into()])),
                };
                Ok((on != *current).then(|| set(OptionValue::Toggle(on))))
            }
        }
    }

    /// The id of the value that is meant, among ids and names.
    fn find(&self, values: Vec<(String, String)>) -> Result<String, Lack> {
        if values.is_empty() {
            return Err(Lack::Kind);
        }
        let by = |is: &dyn Fn(&(String, String)) -> bool| values.iter().find(|value| is(value));
        let found = by(&|(id, _)| *id == self.value)
            .or_else(|| by(&|(_, name)| name.eq_ignore_ascii_case(&self.value)))
            .or_else(|| by(&|(id, _)| id.eq_ignore_ascii_case(&self.value)));
        match found {
            Some((id, _)) => Ok(id.clone()),
            None => Err(Lack::Value(values.into_iter().map(|(id, _)| id).collect())),
        }
    }

    /// For the user, who wrote it: what the agent lacks, and where it was asked for.
    fn complaint(&self, agent: &str, title: &str, lack: Lack) -> String {
        let (option, what) = match &self.what {
            What::Mode => ("mode".to_owned(), "mode".to_owned()),
            What::Model => ("model".to_owned(), "model".to_owned()),
            What::Effort => ("effort".to_owned(), "effort".to_owned()),
            What::Option(id) => (format!("options[{id:?}]"), format!("option {id:?}")),
        };
        let place = match self.remembered {
            true => "remembered for this project; :Acp remembered forgets it".to_owned(),
            false => format!("agents.{agent}.{option} in your setup"),
        };
        match lack {
            Lack::Kind if self.remembered => format!("{title} offers no {what} ({place})"),
            Lack::Kind => format!("{title} offers no {what}: {place} is left out"),
            Lack::Value(values) => {
                format!("{title} has no {what} {:?} ({place}); it has {}", self.value, listed(&values))
            }
        }
    }
}

impl Session {
    /// A new session is open: the requests that set what the user wants of it.
    pub(super) fn set_defaults(&mut self, now: Moment) -> Vec<Command> {
        self.unset = Unset { begun: true, ..Unset::of(&self.defaults) };
        self.set_what_is_left(now)
    }

    /// What the user has had remembered for the project. It is known before the session is open, unless the disk is
    /// slow; what comes late is set late.
    pub fn remembered(&mut self, choices: Vec<(Choice, String)>, now: Moment) -> Vec<Command> {
        let late = self.unset.begun && self.acp_id.is_some() && !self.is_taken_up();
        self.defaults.remembered = choices;
        if !late {
            return Vec::new();
        }
        if self.unset.left.is_empty() {
            self.unset.unanswered = 0;
        }
        self.unset.left.extend(remembered(&self.defaults.remembered));
        self.set_what_is_left(now)
    }

    /// The value that is chosen now, by its id; of a toggle `true` or `false`.
    pub fn chosen_value(&self, what: &Choice) -> Option<String> {
        let option = match what {
            Choice::Mode => self.selection("mode"),
            Choice::Model => self.selection("model"),
            Choice::Option(id) => self.options.iter().find(|option| option.id == *id),
        };
        match (option.map(|option| &option.kind), what) {
            (Some(OptionKind::Select { current, .. }), _) => Some(current.clone()),
            (Some(OptionKind::Toggle { current }), _) => Some(current.to_string()),
            (None, Choice::Mode) => self.modes.as_ref().map(|modes| modes.current.clone()),
            (None, Choice::Model) => self.models.as_ref().map(|models| models.current.clone()),
            (None, Choice::Option(_)) => None,
        }
    }

    /// A choice of the session's was taken over, or refused: what could not be set before may be there now.
    pub fn choice_answered(&mut self, now: Moment) -> Vec<Command> {
        if self.unset.left.is_empty() {
            return Vec::new();
        }
        self.unset.unanswered = self.unset.unanswered.saturating_sub(1);
        self.set_what_is_left(now)
    }

    fn set_what_is_left(&mut self, now: Moment) -> Vec<Command> {
        let mut commands = Vec::new();
        let mut lacking = Vec::new();
        for preference in std::mem::take(&mut self.unset.left) {
            match preference.command(self) {
                Ok(command) => commands.extend(command),
                Err(lack) => lacking.push((preference, lack)),
            }
        }
        self.unset.unanswered += commands.len();
        if self.unset.unanswered > 0 {
            self.unset.left = lacking.into_iter().map(|(preference, _)| preference).collect();
            return commands;
        }
        for (preference, lack) in lacking {
            let text = preference.complaint(&self.agent_name, &self.name(), lack);
            self.notice(Severity::Warning, text, now);
        }
        commands
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::AgentId;
    use crate::core::message::{Chosen, Modes, Opened, OptionGroup, Place};
    use crate::core::session::AgentRun;
    use crate::core::session::defaults::Defaults;
    use crate::core::session::entry::Body;

    fn named(id: &str) -> Named {
        Named { id: id.into(), name: format!("The {id}"), description: None }
    }

    fn select(id: &str, category: &str, values: &[&str]) -> ConfigOption {
        let values: Vec<Named> = values.iter().map(|id| named(id)).collect();
        let kind = OptionKind::Select {
            current: values[0].id.clone(),
            groups: vec![OptionGroup { name: String::new(), values }],
        };
        let category = Some(category.to_owned());
        ConfigOption { id: id.into(), name: id.into(), description: None, category, kind }
    }

    fn open(defaults: Defaults, opened: Opened) -> (Session, Vec<Command>) {
        let mut session = Session::new(
            SessionKey(1),
            AgentRun { id: AgentId(1), name: "x", command: "x" },
            Place::default(),
            Moment(0),
        );
        session.defaults = defaults;
        let commands = session.opened(opened, Moment(0));
        (session, commands)
    }

    fn notices(session: &Session) -> Vec<&str> {
        let texts = session.entries().iter().filter_map(|entry| match &entry.body {
            Body::Notice { text, .. } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    fn set(option: &str, value: &str) -> Command {
        let value = OptionValue::Value(value.into());
        Command::SetOption { session: SessionKey(1), option: option.into(), value }
    }

    #[test]
    fn what_the_agent_offers_is_set_by_id_or_name_before_the_first_prompt() {
        let options = vec![
            select("m", "model", &["haiku", "opus"]),
            select("e", "thought_level", &["low", "high"]),
            ConfigOption { kind: OptionKind::Toggle { current: false }, ..select("web", "other", &["none"]) },
        ];
        let modes = Modes { current: "ask".into(), available: vec![named("ask"), named("plan")] };
        let defaults = Defaults {
            mode: some("the PLAN"),
            model: some("opus"),
            effort: some("low"),
            options: vec![("Web".into(), "true".into())],
            ..Defaults::default()
        };
        let (session, commands) = open(defaults, Opened { modes: Some(modes), options, ..Opened::default() });
        let key = SessionKey(1);
        let toggle = OptionValue::Toggle(true);
        assert_eq!(
            commands,
            [
                set("m", "opus"),
                Command::SetMode { session: key, mode: "plan".into() },
                Command::SetOption { session: key, option: "web".into(), value: toggle },
            ],
            "what is set already is not asked for"
        );
        assert_eq!(notices(&session), [""; 0]);
    }

    #[test]
    fn what_comes_with_the_model_is_set_when_it_is_there() {
        let defaults = Defaults { model: some("opus"), effort: some("high"), ..Defaults::default() };
        let model = select("m", "model", &["haiku", "opus"]);
        let (mut session, commands) =
            open(defaults, Opened { options: vec![model.clone()], ..Opened::default() });
        assert_eq!(commands, [set("m", "opus")]);
        assert_eq!(notices(&session), [""; 0], "it may come");
        session.chosen(Chosen::Options(vec![model, select("e", "thought_level", &["low", "high"])]));
        assert_eq!(session.choice_answered(Moment(0)), [set("e", "high")]);
        assert_eq!(session.choice_answered(Moment(0)), []);
        assert_eq!(notices(&session), [""; 0]);
    }

    #[test]
    fn what_the_agent_lacks_is_said_once_with_what_there_is() {
        let defaults = Defaults {
            model: some("gpt"),
            mode: some("plan"),
            options: vec![("sandbox".into(), "on".into())],
            ..Defaults::default()
        };
        let model = select("m", "model", &["haiku", "opus"]);
        let (mut session, commands) = open(defaults, Opened { options: vec![model], ..Opened::default() });
        assert_eq!(commands, []);
        assert_eq!(
            notices(&session),
            [
                "x has no model \"gpt\" (agents.x.model in your setup); it has haiku, opus",
                "x offers no mode: agents.x.mode in your setup is left out",
                "x offers no option \"sandbox\": agents.x.options[\"sandbox\"] in your setup is left out",
            ]
        );
        session.choice_answered(Moment(0));
        assert_eq!(notices(&session).len(), 3);
    }

    #[test]
    fn what_is_remembered_for_the_project_counts_more_than_the_setup_and_may_come_late() {
        let defaults = || Defaults {
            model: some("haiku"),
            mode: some("ask"),
            remembered: vec![(Choice::Option("fast".into()), "true".into()), (Choice::Model, "opus".into())],
            ..Defaults::default()
        };
        let fast =
            || ConfigOption { kind: OptionKind::Toggle { current: false }, ..select("fast", "x", &["-"]) };
        let offered = || {
            vec![
                select("m", "model", &["sonnet", "haiku", "opus"]),
                select("p", "mode", &["plan", "ask"]),
                fast(),
            ]
        };
        let open = |defaults: Defaults| {
            let mut session = Session::new(
                SessionKey(1),
                AgentRun { id: AgentId(1), name: "x", command: "x" },
                Place::default(),
                Moment(0),
            );
            session.defaults = defaults;
            let commands = session.opened(Opened { options: offered(), ..Opened::default() }, Moment(0));
            (session, commands)
        };
        let set =
            |option: &str, value| Command::SetOption { session: SessionKey(1), option: option.into(), value };
        let value = |id: &str| OptionValue::Value(id.into());
        let expected =
            [set("m", value("opus")), set("p", value("ask")), set("fast", OptionValue::Toggle(true))];
        assert_eq!(open(defaults()).1, expected);
        let (mut session, _) = open(Defaults { remembered: Vec::new(), ..defaults() });
        let late = session.remembered(defaults().remembered, Moment(1));
        assert_eq!(late, [set("fast", OptionValue::Toggle(true)), set("m", value("opus"))]);
        assert_eq!(session.chosen_value(&Choice::Model).as_deref(), Some("sonnet"));
        assert_eq!(session.chosen_value(&Choice::Option("fast".into())).as_deref(), Some("false"));
    }

    #[test]
    fn what_is_remembered_and_not_there_any_more_is_said_with_how_to_forget_it() {
        let mut session = Session::new(
            SessionKey(1),
            AgentRun { id: AgentId(1), name: "x", command: "x" },
            Place::default(),
            Moment(0),
        );
        session.defaults.remembered = vec![(Choice::Model, "gpt".into()), (Choice::Mode, "plan".into())];
        let options = vec![select("m", "model", &["haiku", "opus"])];
        session.opened(Opened { options, ..Opened::default() }, Moment(0));
        assert_eq!(
            notices(&session),
            [
                "x has no model \"gpt\" (remembered for this project; :Acp remembered forgets it); it has haiku, opus",
                "x offers no mode (remembered for this project; :Acp remembered forgets it)",
            ]
        );
    }

    #[test]
    fn a_session_that_is_taken_up_stays_as_it_was() {
        let mut session = Session::new(
            SessionKey(1),
            AgentRun { id: AgentId(1), name: "x", command: "x" },
            Place::default(),
            Moment(0),
        );
        session.defaults = Defaults { model: some("opus"), ..Defaults::default() };
        session.taking_up = Some(("s".into(), crate::core::message::Reopen::Resume));
        let options = vec![select("m", "model", &["haiku", "opus"])];
        assert_eq!(session.opened(Opened { options, ..Opened::default() }, Moment(0)), []);
    }
}
