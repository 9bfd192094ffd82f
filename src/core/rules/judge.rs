//! Holds a request against rules: each command of its shell lines, each file, each host. The most specific rule decides
//! about a part, the strictest of what comes of the parts about the request.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::danger::{self, Danger};
use super::line::{Certainty, Line, Run, STREAMS, Word, WordKind, base, text_of};
use super::pattern::{Fit, MOST_WORDS, alternatives, command_fit, fits, leads_to, path_fits, path_meets};
use super::place::{Place, normal};
use super::request::{Act, Request};
use super::rule::{Decision, Rule, Source, Who};
use super::ruling::{Ground, Ruling, Step};
use super::sets::may_be_guarded;
use super::shell;
use super::writers::{self, Effects};

/// The part of a request that a rule is held against.
pub enum Part<'a> {
    Run(&'a [Word]),
    File { path: &'a str, usage: Usage },
    Host(&'a str),
    Mcp(&'a str),
    Kind,
}

/// What is done to a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Usage {
    Reads,
    Writes,
    /// It is an argument of a command of which it is known what it writes, and this isn't that.
    Argument,
    /// The same of a command of which nothing is known.
    Unknown,
}

/// Where a file is, by the session's folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    Inside,
    Outside,
    /// It can't be resolved.
    Unknown,
}

impl Whereabouts {
    /// Why nothing is done there without a rule or a question.
    fn objection(self) -> Option<&'static str> {
        match self {
            Self::Inside => None,
            Self::Outside => Some("it is outside of the session's folders"),
            Self::Unknown => Some("it leads through a folder that is not there, so it may be anywhere"),
        }
    }

    fn is_outside(self) -> bool {
        self == Self::Outside
    }
}

/// Judges requests by rules.
pub struct Judge<'a> {
    pub rules: &'a [Rule],
    pub who: Who<'a>,
    pub place: Place<'a>,
    texts: OnceCell<Texts<'a>>,
}

/// The roots and the home of a place, as patterns are held against them.
type Texts<'a> = (Vec<Cow<'a, str>>, Option<Cow<'a, str>>);

impl<'a> Judge<'a> {
    pub fn new(rules: &'a [Rule], who: Who<'a>, place: Place<'a>) -> Self {
        Self { rules, who, place, texts: OnceCell::new() }
    }

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
            && self.real(folder).1 != Whereabouts::Inside
        {
            ruling.dangers.push(Danger::Outside);
            ruling.steps.push(Step::outside(
                folder.display().to_string(),
                "it is outside of the session's folders, and the command is to run there",
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
        // What a command is given is looked at from several sides.
        if ruling.steps.len() > 1 {
            let mut seen = HashSet::new();
            ruling.steps.retain(|step| seen.insert((step.what.clone(), step.decision, step.why.clone())));
        }
        // What is asked about for a reason comes before what no rule is about.
        let strictness = |step: &&Step| step.decision.map_or((1, 2), |decision| (decision as usize, 1));
        if let Some(step) = ruling.steps.iter().min_by_key(strictness) {
            (ruling.decision, ruling.why) = (step.decision, step.reason());
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
                // What may be code may as well be none.
                Some(path) if redirect.is_guess => {
                    let held = self.rules_about_writing(&path);
                    let held = held.into_iter().filter(|(_, decision)| *decision != Decision::Allow);
                    let ask = |(rule, _)| Step::ruled(&*redirect.path.text, Some((rule, Decision::Ask)));
                    ruling.steps.extend(held.filter(|_| redirect.writes).map(ask));
                }
                None if redirect.is_guess => {}
                Some(path) if redirect.writes => self.file(&path, true, Some("edit"), ruling),
                Some(_) => self.argument(redirect.folder.as_deref(), &redirect.path, Usage::Argument, ruling),
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
        let effects = writers::effects(&run.words);
        if run.certainty == Certainty::Possible {
            return self.possible(run, &effects, kind, ruling);
        }
        let found = self.rule_for(&Part::Run(&run.words), kind);
        let weighed = found.map(|(rule, decision)| {
            let is_likely = decision == Decision::Allow && run.certainty == Certainty::Likely;
            (rule, if is_likely { Decision::Ask } else { decision })
        });
        ruling.steps.push(match weighed {
            None if self.is_nearly_allowed(run, kind) => Step::open(run.text(), UNKNOWN_WORDS),
            weighed => Step::ruled(run.text(), weighed),
        });
        covers(weighed, danger::of_run(run), &run.text(), ruling);
        if let Some((Rule { source: Source::Set(_), .. }, Decision::Allow)) = weighed
            && (effects.writes_others || !effects.writes.is_empty())
        {
            ruling.steps.push(Step::doubts(run.text(), "a ready set covers no command that writes files"));
        }
        self.files_of(run, &effects, ruling);
        if effects.is_opaque {
            self.arguments_as_commands(&run.words, kind, ruling);
        }
    }

    /// A rule would allow it if what the shell puts into its words were known.
    fn is_nearly_allowed(&self, run: &Run, kind: Option<&str>) -> bool {
        let part = Part::Run(&run.words);
        let allows = |rule: &&Rule| rule.decision == Decision::Allow && rule.is_for(self.who);
        self.rules.iter().filter(allows).any(|rule| self.fit(rule, &part, kind) == Fit::Perhaps)
    }

    /// Words that may be a command, or something else: what rules forbid is asked about, and nothing else is said of them.
    fn possible(&self, run: &Run, effects: &Effects, kind: Option<&str>, ruling: &mut Ruling) {
        let mut found = Ruling::default();
        found.steps.push(Step::ruled(run.text(), self.rule_for(&Part::Run(&run.words), kind)));
        self.files_of(run, effects, &mut found);
        if effects.is_opaque {
            self.arguments_as_commands(&run.words, kind, &mut found);
        }
        let forbids = |step: &Step| step.ground == Ground::Rule && step.decision != Some(Decision::Allow);
        ruling.steps.extend(found.steps.into_iter().filter(forbids).map(Step::perhaps));
    }

    /// How the commands begin that rules ask about or reject.
    fn guarded_names(&self) -> Vec<String> {
        let guards = |rule: &&Rule| rule.decision != Decision::Allow && rule.is_for(self.who);
        let shapes = self.rules.iter().filter(guards).filter_map(|rule| rule.command.as_deref());
        let name = |shape: String| {
            let is_name = |word: &&str| !word.starts_with('!') || *word == "!";
            shape.split_whitespace().find(is_name).map(str::to_owned)
        };
        shapes.flat_map(alternatives).filter_map(name).collect()
    }

    /// The files that a command has to do with.
    fn files_of(&self, run: &Run, effects: &Effects, ruling: &mut Ruling) {
        let is_known = !effects.is_opaque && !effects.writes_others;
        let usage = if is_known { Usage::Argument } else { Usage::Unknown };
        for word in run.words.iter().skip(1) {
            self.argument(run.folder.as_deref(), word, usage, ruling);
        }
        self.effects(run, effects, ruling);
    }

    /// What an unknown program is given may be a command that it runs, as `nice` does.
    fn arguments_as_commands(&self, words: &[Word], kind: Option<&str>, ruling: &mut Ruling) {
        let names = self.guarded_names();
        for at in 1..words.len().min(MOST_WORDS) {
            let (first, rest) = (&words[at], &words[at + 1..]);
            let value = first.text.split_once('=').map(|(_, value)| value);
            let name = value.unwrap_or(&first.text);
            // Most words are no command that any rule is about, and a line may have many.
            if first.kind == WordKind::Known && !names.iter().any(|guarded| fits(guarded, base(name), true)) {
                continue;
            }
            let behind = match value {
                Some(value) => {
                    let value = Word { text: value.to_owned(), kind: first.kind };
                    Cow::Owned([value].into_iter().chain(rest.iter().cloned()).collect::<Vec<_>>())
                }
                None if first.text.starts_with('-') => continue,
                None => Cow::Borrowed(&words[at..]),
            };
            if let Some((rule, Decision::Reject | Decision::Ask)) = self.rule_for(&Part::Run(&behind), kind) {
                ruling.steps.push(Step::ruled(text_of(&behind), Some((rule, Decision::Ask))));
            }
        }
    }

    /// What a command does to files by its arguments. It may, if the command itself is allowed and no rule is about the
    /// file.
    fn effects(&self, run: &Run, effects: &Effects, ruling: &mut Ruling) {
        let folder = run.folder.as_deref();
        for word in &effects.writes {
            let Some(path) = self.path_of(word, folder) else {
                ruling.steps.push(Step::doubts(&*word.text, UNKNOWN_FILE));
                continue;
            };
            let (real, place) = self.real(&path);
            ruling.dangers.extend(danger::of_file(&real.to_string_lossy(), true, place.is_outside()));
            let found = self.rules_about_writing(&path);
            if found.is_empty()
                && let Some(why) = place.objection()
            {
                ruling.steps.push(Step::outside(&*word.text, why));
            }
            let held = found.into_iter().filter(|(_, decision)| *decision != Decision::Allow);
            ruling.steps.extend(held.map(|found| Step::ruled(&*word.text, Some(found))));
            // Which names it stands for is known only to the shell.
            if word.kind == WordKind::Glob {
                self.glob(&word.text, folder, Usage::Writes, ruling);
                let until = word.text.find(['*', '?', '[']).unwrap_or(word.text.len());
                let above = word.text[..until].rsplit_once('/').map_or(".", |(above, _)| above);
                let above = Word::known(if above.is_empty() { "/" } else { above });
                let above = self.path_of(&above, folder).map(|above| self.real(&above).0);
                self.below(&word.text, &above.unwrap_or(real), ruling);
            }
        }
        for word in &effects.below {
            if let Some(path) = self.path_of(word, folder) {
                self.below(&word.text, &self.real(&path).0, ruling);
            }
        }
        let forbids = |rule: &Rule| rule.source != Source::BuiltIn && self.guards_writes(rule);
        if effects.writes_others && self.rules.iter().any(forbids) {
            let why = "you have rules that reject or ask about files, and which ones it writes isn't known";
            ruling.steps.push(Step::doubts(run.text(), why));
        }
    }

    /// The rule that decides about writing a file as it is named, and the one about where that leads.
    fn rules_about_writing(&self, path: &Path) -> Vec<(&Rule, Decision)> {
        let names = [normal(path), self.real(path).0];
        let rule = |name: &PathBuf| {
            let part = Part::File { path: &name.to_string_lossy(), usage: Usage::Writes };
            self.rule_for(&part, Some("edit"))
        };
        names.iter().filter_map(rule).collect()
    }

    /// What a glob may stand for.
    fn glob(&self, text: &str, folder: Option<&str>, usage: Usage, ruling: &mut Ruling) {
        let Some(path) = self.path_of(&Word::known(text), folder) else { return };
        let path = normal(&path).to_string_lossy().into_owned();
        let (roots, home) = self.roots_and_home();
        let meets = |pattern: &String| path_meets(pattern, &path, roots, home);
        let holds = |rule: &&Rule| {
            let is_about = rule.decision != Decision::Allow && rule.is_for(self.who);
            is_about
                && self.best_file_fit(rule, usage, Some("edit")) != Fit::No
                && rule.path.as_ref().is_some_and(meets)
        };
        if let Some(rule) = self.rules.iter().find(holds) {
            ruling.steps.push(Step::ruled(text, Some((rule, Decision::Ask))));
        }
    }

    /// A folder in which anything may be written.
    fn below(&self, what: &str, folder: &Path, ruling: &mut Ruling) {
        let folder = folder.to_string_lossy();
        let (roots, home) = self.roots_and_home();
        let leads = |pattern: &String| leads_to(pattern, &folder, roots, home);
        let guards = |rule: &&Rule| self.guards_writes(rule) && rule.path.as_ref().is_some_and(leads);
        if let Some(rule) = self.rules.iter().find(guards) {
            ruling.steps.push(Step::ruled(what, Some((rule, Decision::Ask))));
        }
    }

    /// Whether a rule asks about files that are written, or rejects that.
    fn guards_writes(&self, rule: &Rule) -> bool {
        let is_about =
            matches!(rule.kind.as_deref(), None | Some("any" | "write" | "edit" | "delete" | "move"));
        rule.decision != Decision::Allow && rule.path.is_some() && is_about && rule.is_for(self.who)
    }

    /// A word may be the path of a file that the command uses.
    fn argument(&self, folder: Option<&str>, word: &Word, usage: Usage, ruling: &mut Ruling) {
        for text in paths_in(word) {
            if STREAMS.contains(&text) {
                continue;
            }
            let path = Word { text: text.to_owned(), kind: word.kind };
            let Some(path) = self.path_of(&path, folder) else {
                if is_path(text) {
                    ruling.steps.push(Step::doubts(text, UNKNOWN_FILE));
                }
                continue;
            };
            let (real, place) = self.real(&path);
            // A word that leads outside without saying so is a link there.
            let objection = place.objection().filter(|_| is_path(text) || place.is_outside());
            if word.kind == WordKind::Glob {
                self.glob(text, folder, usage, ruling);
            }
            let name = real.to_string_lossy();
            ruling.dangers.extend(danger::of_file(&name, false, place.is_outside()));
            match self.rule_for(&Part::File { path: &name, usage }, None) {
                Some((rule, Decision::Allow)) if objection.is_some() => {
                    ruling.steps.push(Step::ruled(text, Some((rule, Decision::Allow))));
                }
                Some((_, Decision::Allow)) => {}
                // That an unknown program writes a file that it is given is a guess of ours, which no rule asks for.
                Some((rule, _))
                    if rule.source == Source::BuiltIn && rule.kind.as_deref() == Some("write") =>
                {
                    let why =
                        format!("it may be written, and {}", rule.reason.as_deref().unwrap_or_default());
                    ruling.steps.push(Step::doubts(text, why));
                }
                Some(found) => ruling.steps.push(Step::ruled(text, Some(found))),
                None => ruling.steps.extend(objection.map(|why| Step::outside(text, why))),
            }
        }
    }

    fn file(&self, path: &Path, writes: bool, kind: Option<&str>, ruling: &mut Ruling) {
        let path = self.place.folder.join(path);
        let given = normal(&path);
        let (real, place) = self.real(&path);
        let (given, real) = (given.to_string_lossy(), real.to_string_lossy());
        let dangers = danger::of_file(&real, writes, place.is_outside());
        let usage = if writes { Usage::Writes } else { Usage::Reads };
        let rule = |path| self.rule_for(&Part::File { path, usage }, kind);
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
        ruling.steps.push(match (found, place.objection()) {
            (None, Some(why)) => Step::outside(given.to_string(), why),
            (found, _) => Step::ruled(given.to_string(), found),
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

    /// Without links, and where that is.
    pub fn real(&self, path: &Path) -> (PathBuf, Whereabouts) {
        match (self.place.resolve)(path) {
            Some(real) if self.place.roots.iter().any(|root| real.starts_with(root)) => {
                (real, Whereabouts::Inside)
            }
            Some(real) => (real, Whereabouts::Outside),
            None => (normal(path), Whereabouts::Unknown),
        }
    }

    /// The rule that decides about a part, and what it says there.
    pub fn rule_for(&self, part: &Part, kind: Option<&str>) -> Option<(&Rule, Decision)> {
        // All that is built in is about files, and about few of them.
        let is_unguarded = matches!(part, Part::File { path, .. } if !may_be_guarded(path));
        let counts =
            |rule: &&Rule| !(is_unguarded && rule.source == Source::BuiltIn) && rule.is_for(self.who);
        let fitting = self.rules.iter().filter(counts).filter_map(|rule| {
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
            Part::Run(words) => by(&rule.command, &|shape| command_fit(shape, words, allows)),
            Part::Host(host) => by(&rule.host, &|pattern| sure(fits(pattern, host, true))),
            Part::Mcp(tool) => by(&rule.mcp, &|pattern| sure(fits(pattern, tool, !allows))),
            Part::Kind => sure(named == 0),
            Part::File { path, usage } => {
                // Most rules are about something else, which costs less to see than whether a pattern fits.
                return match self.best_file_fit(rule, *usage, kind) {
                    Fit::No => Fit::No,
                    best => best.min(by(&rule.path, &|pattern| sure(self.path_fits(pattern, path, !allows)))),
                };
            }
        };
        if rule.is_about_kind(kind) { fit } else { Fit::No }
    }

    fn path_fits(&self, pattern: &str, path: &str, is_loose: bool) -> bool {
        let (roots, home) = self.roots_and_home();
        path_fits(pattern, path, roots, home, is_loose)
    }

    fn roots_and_home(&self) -> (&[Cow<'_, str>], Option<&str>) {
        let (roots, home) = self.texts.get_or_init(|| {
            let roots = self.place.roots.iter().map(|root| root.to_string_lossy());
            (roots.collect(), self.place.home.map(Path::to_string_lossy))
        });
        (roots, home.as_deref())
    }

    /// How well a rule fits at the best, whatever file it is.
    fn best_file_fit(&self, rule: &Rule, usage: Usage, kind: Option<&str>) -> Fit {
        let is_argument = matches!(usage, Usage::Argument | Usage::Unknown);
        match (rule.kind.as_deref(), usage) {
            // A rule about no path says nothing of an argument.
            _ if is_argument && rule.path.is_none() => Fit::No,
            (None | Some("any"), _) | (Some("write"), Usage::Writes) => Fit::Sure,
            // What a command is known to write is judged as that.
            (Some("write"), Usage::Reads | Usage::Argument) => Fit::No,
            _ if is_argument => Fit::Perhaps,
            _ if rule.is_about_kind(kind) => Fit::Sure,
            _ => Fit::No,
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

const UNKNOWN_WORDS: &str = "a rule allows such a command, but only the shell knows what these words become";
const UNKNOWN_FILE: &str = "which file it stands for is not known";

/// Whether a word is surely meant as a path.
fn is_path(text: &str) -> bool {
    text.contains('/') || text.starts_with('~') || text == ".."
}

/// Letters of options that may stand before a path in the same word, and colons.
const MOST_LETTERS: usize = 16;
const MOST_COLONS: usize = 4;

/// What of an argument may be a path: all of it, the value of an option, what is behind a colon.
fn paths_in(word: &Word) -> Vec<&str> {
    let text = &*word.text;
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
    // `-fpath`, behind as many letters of other options: `-rf.env`. Of what only the shell knows, one doubt is enough.
    if text.starts_with('-') && !text.starts_with("--") && word.kind != WordKind::Unknown {
        found.extend(text.char_indices().skip(2).take(MOST_LETTERS).map(|(at, _)| &text[at..]));
    }
    // `host:path`, `rev:path`, `-L:name:path`.
    let behind_colons = text.match_indices(':').map(|(at, _)| &text[at + 1..]);
    found.extend(behind_colons.take(MOST_COLONS).filter(|value| !value.starts_with("//")));
    // What is sent is in this file: `curl -d @file`.
    let at: Vec<&str> = found.iter().filter_map(|path| path.strip_prefix('@')).collect();
    found.extend(at);
    found.retain(|path| !path.is_empty() && path.len() < 4096);
    found
}
