//! Rules about what agents do: who does what to what, and whether that is allowed, asked about or rejected. The
//! most specific rule decides; of two alike, one that rejects comes before one that asks, and that before one that
//! allows. A shell line is judged by every command in it. Real paths are looked up by the caller.

pub mod danger;
pub mod line;
pub mod page;
pub mod pattern;
pub mod project;
pub mod rule;
pub mod sets;
pub mod shell;
mod wrappers;

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use self::danger::Danger;
use self::line::{Certainty, Line, Run, Word, WordKind};
use self::pattern::{Fit, command_fit, fits, path_fits};
pub use self::rule::{Decision, Rule, Source, Who};

/// Something that an agent does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Act {
    /// Shell code.
    Line(String),
    /// A program with its arguments.
    Words(Vec<String>),
    File {
        path: PathBuf,
        writes: bool,
    },
    Host(String),
    Mcp(String),
}

impl Act {
    /// Whether permission for this one covers the other. Agents name a command in more than one way.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File { path, writes }, Self::File { path: of, writes: does }) => {
                normal(path) == normal(of) && writes >= does
            }
            _ => self.code().is_some_and(|code| other.code() == Some(code)),
        }
    }

    /// The shell code that it comes to.
    fn code(&self) -> Option<String> {
        match self {
            Self::Line(line) => Some(line.trim().to_owned()),
            Self::Words(words) => match &words[..] {
                [shell, option, code] if is_shell(shell) && is_code_option(option) => {
                    Some(code.trim().to_owned())
                }
                words => Some(words.join(" ")),
            },
            Self::File { .. } | Self::Host(_) | Self::Mcp(_) => None,
        }
    }
}

fn is_shell(program: &str) -> bool {
    matches!(line::base(program), "sh" | "bash" | "zsh" | "dash")
}

/// `-c`, or `-lc`.
fn is_code_option(option: &str) -> bool {
    option.strip_prefix('-').is_some_and(|letters| letters.ends_with('c') && !letters.starts_with('-'))
}

/// What a request is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// As the protocol names it.
    pub kind: Option<String>,
    pub acts: Vec<Act>,
    /// The folder that commands run in, if that is another than the session's.
    pub folder: Option<PathBuf>,
    /// It is to run outside of the agent's own sandbox.
    pub escapes: bool,
}

/// All that is needed to judge a request, but for what the disk says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    pub request: Request,
    pub agent: String,
    pub mode: Option<String>,
    /// The session's, where it works, and all of them.
    pub cwd: PathBuf,
    pub folders: Vec<PathBuf>,
    pub home: Option<PathBuf>,
    pub rules: Vec<Rule>,
    /// Neovim's list of trusted files, which says whether the rules of the project count.
    pub trust: Option<PathBuf>,
}

impl Case {
    /// Whether a rule that is not built in asks about commands or rejects them.
    pub fn forbids_commands(&self) -> bool {
        let forbids = |rule: &Rule| {
            rule.source != Source::BuiltIn && rule.command.is_some() && rule.decision != Decision::Allow
        };
        self.rules.iter().any(forbids)
    }

    /// Judges it. `resolve` gives a path without links, as far as it is there.
    pub fn judge(&self, resolve: &dyn Fn(&Path) -> Option<PathBuf>) -> Ruling {
        let real = |path: &PathBuf| resolve(path).unwrap_or_else(|| path.clone());
        let roots: Vec<PathBuf> = self.folders.iter().map(real).collect();
        let place = Place {
            folder: self.request.folder.as_ref().unwrap_or(&self.cwd),
            roots: &roots,
            home: self.home.as_deref(),
            resolve,
        };
        let who = Who { agent: &self.agent, mode: self.mode.as_deref() };
        Judge { rules: &self.rules, who, place }.judge(&self.request)
    }
}

/// Where it happens. `folder` is the request's, if it has one.
pub struct Place<'a> {
    /// From where relative paths are meant.
    pub folder: &'a Path,
    /// The folders of the session, without links.
    pub roots: &'a [PathBuf],
    pub home: Option<&'a Path>,
    /// A path without links, as far as it is there.
    pub resolve: &'a dyn Fn(&Path) -> Option<PathBuf>,
}

/// What a decision rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ground {
    Rule,
    /// It can't be known what is run or touched.
    Doubt,
    /// It is outside of the session's folders.
    Place,
    Nothing,
}

/// What was made of one part of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub what: String,
    pub decision: Option<Decision>,
    pub ground: Ground,
    /// The rule that decided, or why none did.
    pub why: String,
}

impl Step {
    fn doubts(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), decision: Some(Decision::Ask), ground: Ground::Doubt, why: why.into() }
    }

    fn outside(what: impl Into<String>, why: &str) -> Self {
        Self { ground: Ground::Place, ..Self::doubts(what, why) }
    }

    fn ruled(what: impl Into<String>, rule: Option<(&Rule, Decision)>) -> Self {
        let (decision, ground, why) = match rule {
            Some((rule, decision)) if rule.decision == decision => {
                (Some(decision), Ground::Rule, rule.describe())
            }
            Some((rule, decision)) => {
                (Some(decision), Ground::Rule, format!("it may be what a rule is about: {}", rule.describe()))
            }
            None => (None, Ground::Nothing, "no rule is about it".to_owned()),
        };
        Self { what: what.into(), decision, ground, why }
    }
}

/// What comes of a request, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ruling {
    /// Nothing if no rule is about it: then what the agent asks is asked.
    pub decision: Option<Decision>,
    pub why: String,
    pub steps: Vec<Step>,
    pub dangers: Vec<Danger>,
    /// What the user should know of rules that don't count.
    pub problem: Option<String>,
}

impl Ruling {
    /// What comes of something that an agent does without asking for it, and why: what rules say, and where nobody may
    /// know what it does, a question if the user has rules that forbid.
    pub fn unasked(&self, forbids: bool) -> Option<(Decision, String)> {
        let why = |step: &Step| match step.ground {
            Ground::Rule if step.decision != Some(Decision::Allow) => Some(step.why.clone()),
            Ground::Doubt if forbids => {
                Some(format!("you have rules that reject or ask about commands, and here {}", step.why))
            }
            _ => None,
        };
        let steps = self.steps.iter().filter_map(|step| Some((step.decision?, why(step)?)));
        steps.min_by_key(|(decision, _)| *decision)
    }
}

/// The part of a request that a rule is held against.
enum Part<'a> {
    Run(&'a Run),
    /// `writes` where that is known.
    File {
        path: &'a str,
        writes: Option<bool>,
    },
    Host(&'a str),
    Mcp(&'a str),
    Kind,
}

/// Judges requests by rules.
pub struct Judge<'a> {
    pub rules: &'a [Rule],
    pub who: Who<'a>,
    pub place: Place<'a>,
}

impl Judge<'_> {
    /// What comes of a request: the strictest of what comes of its parts.
    pub fn judge(&self, request: &Request) -> Ruling {
        let mut ruling = Ruling::default();
        let kind = request.kind.as_deref();
        for act in &request.acts {
            match act {
                Act::Line(line) => self.line(&shell::read(line), kind, &mut ruling),
                Act::Words(words) => self.line(&shell::read_words(words), kind, &mut ruling),
                Act::File { path, writes } => self.file(path, *writes, kind, &mut ruling),
                Act::Host(host) => self.part(host, &Part::Host(host), kind, &mut ruling),
                Act::Mcp(tool) => self.part(tool, &Part::Mcp(tool), kind, &mut ruling),
            }
        }
        if let Some(folder) = &request.folder
            && self.real(folder).1
        {
            ruling.dangers.push(Danger::Outside);
            ruling.steps.push(Step::outside(
                folder.display().to_string(),
                "it runs outside of the session's folders",
            ));
        }
        if request.escapes {
            ruling.dangers.push(Danger::Escapes);
            ruling.steps.push(Step::doubts("the call", "it is to run outside of the agent's own sandbox"));
        }
        if request.acts.is_empty()
            && let Some(kind) = kind
        {
            self.part(kind, &Part::Kind, Some(kind), &mut ruling);
        }
        ruling.dangers.sort_unstable();
        ruling.dangers.dedup();
        // What is asked about for a reason comes before what no rule is about.
        let strictness = |step: &&Step| step.decision.map_or((1, 2), |decision| (decision as usize, 1));
        if let Some(step) = ruling.steps.iter().min_by_key(strictness) {
            (ruling.decision, ruling.why) = (step.decision, step.why.clone());
        }
        ruling
    }

    fn part(&self, what: &str, part: &Part, kind: Option<&str>, ruling: &mut Ruling) {
        ruling.steps.push(Step::ruled(what, self.rule_for(part, kind)));
    }

    fn line(&self, line: &Line, kind: Option<&str>, ruling: &mut Ruling) {
        let kind = kind.or(Some("execute"));
        ruling.dangers.extend(danger::of_line(line));
        for run in &line.runs {
            self.run(run, kind, ruling);
        }
        for redirect in &line.redirects {
            let path = self.path_of(&redirect.path, redirect.folder.as_deref());
            match path {
                Some(path) if redirect.writes => self.file(&path, true, Some("edit"), ruling),
                Some(_) => self.argument(redirect.folder.as_deref(), &redirect.path, ruling),
                None => ruling.steps.push(Step::doubts(&*redirect.path.text, UNKNOWN_FILE)),
            }
        }
        for doubt in &line.doubts {
            ruling.steps.push(Step::doubts("the line", format!("it can't be judged: {doubt}")));
        }
        if line.runs.is_empty() && line.redirects.is_empty() && line.doubts.is_empty() {
            ruling.steps.push(Step::doubts("the line", "it holds no command"));
        }
    }

    fn run(&self, run: &Run, kind: Option<&str>, ruling: &mut Ruling) {
        let found = self.rule_for(&Part::Run(run), kind);
        if found.is_none() && run.certainty == Certainty::Possible {
            return;
        }
        let weighed = found.map(|(rule, decision)| {
            let decision = match (decision, run.certainty) {
                (Decision::Reject, Certainty::Possible) => Decision::Ask,
                (Decision::Allow, Certainty::Possible | Certainty::Likely) => Decision::Ask,
                (decision, _) => decision,
            };
            (rule, decision)
        });
        ruling.steps.push(Step::ruled(run.text(), weighed));
        for word in run.words.iter().skip(1) {
            self.argument(run.folder.as_deref(), word, ruling);
        }
    }

    /// A word may be the path of a file that the command uses.
    fn argument(&self, folder: Option<&str>, word: &Word, ruling: &mut Ruling) {
        for text in paths_in(&word.text) {
            let path = Word { text: text.to_owned(), kind: word.kind };
            let Some(path) = self.path_of(&path, folder) else {
                if is_path(text) {
                    ruling.steps.push(Step::doubts(text, UNKNOWN_FILE));
                }
                continue;
            };
            let (real, is_outside) = self.real(&path);
            let is_outside = is_outside && is_path(text);
            let name = real.to_string_lossy();
            ruling.dangers.extend(danger::of_file(&name, false, is_outside));
            match self.rule_for(&Part::File { path: &name, writes: None }, None) {
                Some((_, Decision::Allow)) => {}
                Some(found) => ruling.steps.push(Step::ruled(text, Some(found))),
                None if is_outside => {
                    ruling.steps.push(Step::outside(text, OUTSIDE));
                }
                None => {}
            }
        }
    }

    fn file(&self, path: &Path, writes: bool, kind: Option<&str>, ruling: &mut Ruling) {
        let given = normal(&self.place.folder.join(path));
        let (real, is_outside) = self.real(&self.place.folder.join(path));
        let (given, real) = (given.to_string_lossy(), real.to_string_lossy());
        ruling.dangers.extend(danger::of_file(&real, writes, is_outside));
        let rule = |path| self.rule_for(&Part::File { path, writes: Some(writes) }, kind);
        // The name that the agent uses may be what a rule is about, too; but a link never widens what is allowed.
        let by_name = rule(&given).filter(|(_, decision)| *decision != Decision::Allow);
        let found = match (rule(&real), by_name) {
            (Some(one), Some(two)) if two.1 < one.1 => Some(two),
            (one, two) => one.or(two),
        };
        ruling.steps.push(match found {
            None if is_outside => Step::outside(given.to_string(), OUTSIDE),
            found => Step::ruled(given.to_string(), found),
        });
    }

    /// The file that a word names.
    fn path_of(&self, word: &Word, folder: Option<&str>) -> Option<PathBuf> {
        let text = match word.kind {
            WordKind::Known => &*word.text,
            // The folder in which names are looked for.
            WordKind::Glob => word.text.split(['*', '?', '[']).next().unwrap_or_default(),
            WordKind::Unknown => return None,
        };
        let path = self.at_home(text)?;
        match path.is_absolute() {
            true => Some(path),
            false => Some(self.place.folder.join(self.at_home(folder?)?).join(path)),
        }
    }

    fn at_home(&self, text: &str) -> Option<PathBuf> {
        match text.strip_prefix('~') {
            None => Some(PathBuf::from(text)),
            Some("") => self.place.home.map(Path::to_owned),
            // Another user's home isn't known.
            Some(rest) => Some(self.place.home?.join(rest.strip_prefix('/')?)),
        }
    }

    /// Without links, and whether it is outside of the session's folders. What can't be resolved is.
    fn real(&self, path: &Path) -> (PathBuf, bool) {
        match (self.place.resolve)(path) {
            Some(real) => {
                let is_inside = self.place.roots.iter().any(|root| real.starts_with(root));
                (real, !is_inside)
            }
            None => (normal(path), true),
        }
    }

    /// The rule that decides about a part, and what it says there.
    fn rule_for(&self, part: &Part, kind: Option<&str>) -> Option<(&Rule, Decision)> {
        let fitting = self.rules.iter().filter(|rule| rule.is_for(self.who)).filter_map(|rule| {
            let decision = match (self.fit(rule, part, kind), rule.decision) {
                (Fit::No, _) | (Fit::Perhaps, Decision::Allow) => return None,
                (Fit::Perhaps, _) => Decision::Ask,
                (Fit::Sure, decision) => decision,
            };
            Some((rule, decision))
        });
        fitting.min_by_key(|(rule, decision)| (usize::MAX - rule.depth(), *decision))
    }

    fn fit(&self, rule: &Rule, part: &Part, kind: Option<&str>) -> Fit {
        let allows = rule.decision == Decision::Allow;
        let named = [&rule.path, &rule.command, &rule.host, &rule.mcp].into_iter().flatten().count();
        // A rule that names one thing says nothing of another; one that names none fits all of its kind.
        let by = |pattern: &Option<String>, fit: &dyn Fn(&str) -> Fit| match pattern {
            Some(pattern) if named == 1 => fit(pattern),
            None if named == 0 => Fit::Sure,
            _ => Fit::No,
        };
        let sure = |fits: bool| if fits { Fit::Sure } else { Fit::No };
        let fit = match part {
            Part::Run(run) => by(&rule.command, &|shape| command_fit(shape, &run.words, allows)),
            Part::Host(host) => by(&rule.host, &|pattern| sure(fits(pattern, host, true))),
            Part::Mcp(tool) => by(&rule.mcp, &|pattern| sure(fits(pattern, tool, !allows))),
            Part::Kind => sure(named == 0),
            Part::File { path, writes } => {
                let fit = by(&rule.path, &|pattern| sure(self.path_fits(pattern, path, !allows)));
                return self.file_fit(rule, fit, *writes, kind);
            }
        };
        if rule.is_about_kind(kind) { fit } else { Fit::No }
    }

    fn path_fits(&self, pattern: &str, path: &str, is_loose: bool) -> bool {
        let roots: Vec<String> =
            self.place.roots.iter().map(|root| root.to_string_lossy().into_owned()).collect();
        let home = self.place.home.map(|home| home.to_string_lossy().into_owned());
        path_fits(pattern, path, &roots, home.as_deref(), is_loose)
    }

    fn file_fit(&self, rule: &Rule, fit: Fit, writes: Option<bool>, kind: Option<&str>) -> Fit {
        match (rule.kind.as_deref(), writes) {
            // A rule about no path says nothing of an argument.
            (_, None) if rule.path.is_none() => Fit::No,
            (None | Some("any"), _) | (Some("write"), Some(true)) => fit,
            (Some("write"), Some(false)) => Fit::No,
            // What a command does to a file isn't known; the defaults are about writes that are.
            (Some("write"), None) if rule.source == Source::BuiltIn => Fit::No,
            (Some(_), None) => fit.min(Fit::Perhaps),
            (Some(_), Some(_)) if rule.is_about_kind(kind) => fit,
            (Some(_), Some(_)) => Fit::No,
        }
    }
}

const OUTSIDE: &str = "it is outside of the session's folders";
const UNKNOWN_FILE: &str = "which file it is is known only to the shell";

/// Whether a word is surely meant as a path.
fn is_path(text: &str) -> bool {
    text.contains('/') || text.starts_with('~') || text == ".."
}

/// What of an argument may be a path: all of it, or the value of an option.
fn paths_in(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    if !text.starts_with('-') {
        found.push(text);
    }
    if let Some((_, value)) = text.split_once('=') {
        found.push(value);
    }
    if text.starts_with('-')
        && let Some(at) = text.find(['/', '~']).or_else(|| text.find(".."))
    {
        found.push(&text[at..]);
    }
    // `host:path` and `rev:path`.
    if let Some((_, value)) = text.split_once(':')
        && value.starts_with(['/', '~'])
        && !value.starts_with("//")
    {
        found.push(value);
    }
    found.retain(|path| !path.is_empty() && path.len() < 4096);
    found
}

/// Without `.` and `..`, as far as that can be said without the disk.
pub fn normal(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(clean.pop()),
            other => clean.push(other),
        }
    }
    clean
}

/// All rules in force: the defaults, those of the sets that are on, and the user's own.
pub fn in_force(sets: &[String], own: &[Rule]) -> Vec<Rule> {
    let sets = sets.iter().flat_map(|name| sets::rules_of(name));
    sets::defaults().into_iter().chain(sets).chain(own.iter().cloned()).collect()
}

#[cfg(test)]
mod tests;
