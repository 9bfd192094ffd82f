//! A rule: who does what to what, and what comes of that. Which of several rules decides follows from how specific
//! they are.

use serde::{Deserialize, Serialize};

use super::pattern::{command_depth, fits, path_depth};

/// What comes of a request, from the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    Reject,
    Ask,
    Allow,
}

impl Decision {
    pub fn word(self) -> &'static str {
        match self {
            Self::Reject => "reject",
            Self::Ask => "ask",
            Self::Allow => "allow",
        }
    }
}

/// Where a rule comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    BuiltIn,
    Set(String),
    /// The options; by its place there, from 1.
    Options(usize),
    /// The project's file; by its place and line there, from 1.
    Project {
        at: usize,
        line: u32,
    },
    /// An answer of the user's, for the rest of the session.
    Session,
    /// An answer of the user's, kept for the project.
    Kept,
}

/// Where a project's own rules stand, below the folder of a session.
pub const PROJECT_FILE: &str = ".acp/rules.json";

/// What a rule's `kind` may be: the protocol's kinds of tools, all that writes a file, and all there are.
pub const KINDS: [&str; 12] = [
    "read",
    "edit",
    "delete",
    "move",
    "search",
    "execute",
    "think",
    "fetch",
    "switch_mode",
    "other",
    "write",
    "any",
];

/// A rule. What is not given fits all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    pub decision: Decision,
    pub source: Source,
    pub agent: Option<String>,
    pub mode: Option<String>,
    /// A kind of tool as the protocol names it, or `write` for all that changes a file, or `any`.
    pub kind: Option<String>,
    pub path: Option<String>,
    pub command: Option<String>,
    pub host: Option<String>,
    /// `server.tool`.
    pub mcp: Option<String>,
    pub reason: Option<String>,
}

/// Who asks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Who<'a> {
    pub agent: &'a str,
    pub mode: Option<&'a str>,
}

impl Rule {
    pub fn new(decision: Decision, source: Source) -> Self {
        let (agent, mode, kind, path, command) = (None, None, None, None, None);
        Self { decision, source, agent, mode, kind, path, command, host: None, mcp: None, reason: None }
    }

    /// The rule, if it can be held against anything; else what is wrong with it.
    pub fn checked(self) -> Result<Self, String> {
        let named =
            [("path", &self.path), ("command", &self.command), ("host", &self.host), ("mcp", &self.mcp)];
        let named: Vec<&str> =
            named.into_iter().filter(|(_, value)| value.is_some()).map(|(name, _)| name).collect();
        if let Some(kind) = self.kind.as_deref().filter(|kind| !KINDS.contains(kind)) {
            let known: Vec<String> = KINDS.iter().map(|kind| format!("{kind:?}")).collect();
            return Err(format!("there is no kind {kind:?}; there are {}", known.join(", ")));
        }
        let patterns = [&self.agent, &self.mode, &self.path, &self.command, &self.host, &self.mcp];
        for pattern in patterns.into_iter().flatten() {
            if pattern.matches('{').count() != pattern.matches('}').count() {
                return Err(format!("{pattern:?} has a brace without the other one"));
            }
        }
        let signs = ["&&", "||", "|", ";", "&", ">", "<", "$(", "`"];
        let found = self.command.as_ref().and_then(|shape| signs.iter().find(|sign| shape.contains(**sign)));
        if let Some(sign) = found {
            return Err(format!(
                "a rule is about one command, so {sign:?} can't be in it: each command of a line is judged on its own"
            ));
        }
        // Those that were made before stay, though they fit nothing.
        if let Some(problem) = self.shape_problem().filter(|_| self.source != Source::Kept) {
            return Err(problem);
        }
        match named[..] {
            [] if self.kind.is_none() => {
                Err("a rule needs one of command, path, host, mcp or kind, to say what it is about"
                    .to_owned())
            }
            [_, _, ..] => Err(format!("a rule is about one thing, not both of {}", named.join(" and "))),
            _ => Ok(self),
        }
    }

    /// Why its command's shape would never fit.
    pub fn shape_problem(&self) -> Option<String> {
        let shape = self.command.as_ref()?;
        if shape.contains(['"', '\'', '\\']) {
            return Some(format!(
                "{shape:?} has quotes, which a command does not get: write its words as it gets them, and `*` for a word \
                 with blanks in it"
            ));
        }
        (self.decision == Decision::Allow && !shape.is_ascii()).then(|| {
            format!(
                "{shape:?} would never be allowed: lines with letters beyond ASCII are always asked about"
            )
        })
    }

    /// As the user is told of it: what it says, and where that stands.
    pub fn describe(&self) -> String {
        let place = match &self.source {
            Source::BuiltIn => "by default".to_owned(),
            Source::Set(name) => format!("set {name}"),
            Source::Options(at) => format!("permission.rules[{at}]"),
            Source::Project { at, .. } => format!("rule {at} of {PROJECT_FILE}"),
            Source::Session => "you said so, for this session".to_owned(),
            Source::Kept => "you said so, for this project".to_owned(),
        };
        let reason = self.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("{} {} ({place}){reason}", self.decision.word(), self.about())
    }

    /// What it is about, in words.
    pub fn about(&self) -> String {
        let fields = [
            ("agent", &self.agent),
            ("mode", &self.mode),
            ("kind", &self.kind),
            ("path", &self.path),
            ("command", &self.command),
            ("host", &self.host),
            ("mcp", &self.mcp),
        ];
        let said = fields.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value.as_ref()?)));
        said.collect::<Vec<_>>().join(", ")
    }

    /// Of how many things it speaks.
    pub fn depth(&self) -> usize {
        let command = self.command.as_deref().map_or(0, command_depth);
        let path = self.path.as_deref().map_or(0, path_depth);
        let named = [&self.agent, &self.mode, &self.kind, &self.host, &self.mcp];
        let named = named.into_iter().flatten().filter(|it| *it != "any" && *it != "*").count();
        let built_in = if self.source == Source::BuiltIn { 9 } else { 0 };
        (command + path) * 8 + named + built_in
    }

    pub fn is_for(&self, who: Who) -> bool {
        let is_loose = self.decision != Decision::Allow;
        let agent = self.agent.as_deref().is_none_or(|agent| fits(agent, who.agent, is_loose));
        let mode = |mode: &str| who.mode.is_some_and(|of| fits(mode, of, is_loose));
        agent && self.mode.as_deref().is_none_or(mode)
    }

    pub fn is_about_kind(&self, kind: Option<&str>) -> bool {
        self.kind.as_deref().is_none_or(|wanted| wanted == "any" || kind == Some(wanted))
    }
}
