//! Holds a request against rules: each command of its shell lines, each file, each host. The most specific rule decides
//! about a part, the strictest of what comes of the parts about the request.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::danger::{self, Danger};
use super::line::{Certainty, Line, Run, Word, WordKind};
use super::pattern::{Fit, command_fit, fits, path_fits};
use super::place::{Place, normal};
use super::request::{Act, Request};
use super::rule::{Decision, Rule, Source, Who};
use super::ruling::{Ruling, Step};
use super::shell;

/// The part of a request that a rule is held against.
pub enum Part<'a> {
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
        covers(weighed, danger::of_run(run), &run.text(), ruling);
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
        let dangers = danger::of_file(&real, writes, is_outside);
        let rule = |path| self.rule_for(&Part::File { path, writes: Some(writes) }, kind);
        // The name that the agent uses may be what a rule is about, too; but a link never widens what is allowed.
        let by_path = rule(&real);
        let by_name = if given == real { by_path } else { rule(&given) };
        let by_name = by_name.filter(|(_, decision)| *decision != Decision::Allow);
        let found = match (by_path, by_name) {
            (Some(one), Some(two)) if two.1 < one.1 => Some(two),
            (one, two) => one.or(two),
        };
        covers(found, dangers.iter().copied(), &given, ruling);
        ruling.dangers.extend(dangers);
        ruling.steps.push(match found {
            None if is_outside => Step::outside(given.to_string(), OUTSIDE),
            found => Step::ruled(given.to_string(), found),
        });
    }

    /// The file that a word names.
    pub fn path_of(&self, word: &Word, folder: Option<&str>) -> Option<PathBuf> {
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
    pub fn real(&self, path: &Path) -> (PathBuf, bool) {
        match (self.place.resolve)(path) {
            Some(real) => {
                let is_inside = self.place.roots.iter().any(|root| real.starts_with(root));
                (real, !is_inside)
            }
            None => (normal(path), true),
        }
    }

    /// The rule that decides about a part, and what it says there.
    pub fn rule_for(&self, part: &Part, kind: Option<&str>) -> Option<(&Rule, Decision)> {
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
        let roots: Vec<Cow<str>> = self.place.roots.iter().map(|root| root.to_string_lossy()).collect();
        let home = self.place.home.map(Path::to_string_lossy);
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

/// What was allowed by an answer is asked about again where it is dangerous.
fn covers(
    found: Option<(&Rule, Decision)>,
    dangers: impl IntoIterator<Item = Danger>,
    what: &str,
    ruling: &mut Ruling,
) {
    let by_answer = |rule: &Rule| matches!(rule.source, Source::Session | Source::Kept);
    if found.is_some_and(|(rule, decision)| decision == Decision::Allow && by_answer(rule)) {
        let step = |danger: Danger| {
            let why =
                format!("a rule made by an answer does not cover what is dangerous ({})", danger.words());
            Step::doubts(what, why)
        };
        ruling.steps.extend(dangers.into_iter().next().map(step));
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
