//! The user's rules where waiting for a disk is allowed: those of a project are read from its file, and requests are
//! judged with paths as the disk has them. What rules say is `core::rules`.

mod held;

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::files::disk;
use super::mutex::lock;
use super::store::{audit_log, list_file};
use crate::core::audit::Line;
use crate::core::audit::filter::Filter;
use crate::core::ids::SessionKey;
use crate::core::maps::FastMap;
use crate::core::message::{Place, RulesNews};
use crate::core::rules::danger::{Danger, is_run_unseen};
use crate::core::rules::kept::{self, Change};
use crate::core::rules::likeness;
use crate::core::rules::project::{FILE, FolderRules, MOST_BYTES, ProjectRules, Trust, read, trusted};
use crate::core::rules::retrial::{Judged, Retrial, retrial};
use crate::core::rules::unasked::{Unasked, UnaskedAction, UnaskedActions};
use crate::core::rules::{Act, Case, Decision, Judgement, Request, Rule, RuleFiles, Ruling};
use crate::core::store::allowlist::Choice;
use crate::fingerprint;
use crate::platform::paths::Resolver;

/// What comes of a request, by all rules that count for it.
pub fn judge(mut case: Case) -> Ruling {
    let problem = complete(&mut case);
    let resolve = |path: &Path| disk::resolve(path).ok();
    let ruling = case.judge(&resolve);
    let offers = case.offers(&ruling, &resolve);
    let likeness = likeness::of(&case.request, &ruling);
    Ruling { problem, offers, likeness, ..ruling }
}

/// Adds what only the background knows; says what the user should know of rules that don't count.
fn complete(case: &mut Case) -> Option<String> {
    case.home = std::env::home_dir();
    let found = of_folder(&case.cwd, &case.files);
    let problem = found.problem();
    if let ProjectRules::Trusted(rules) = found.project {
        case.rules.extend(rules);
    }
    case.rules.extend(found.held);
    case.rules.extend(found.kept.unwrap_or_default());
    problem
}

/// The rules that count in a folder besides those of the options.
pub fn of_folder(cwd: &Path, files: &RuleFiles) -> FolderRules {
    let kept = files.kept.as_deref().map_or(Ok(Vec::new()), |file| {
        let rules = list_file::load(file, KEPT).and_then(|all| kept::of_project(all, &project(cwd)));
        rules.map_err(|why| {
            format!("the rules that you made by answers don't count: {}: {why}", file.display())
        })
    });
    let (project, held) = held::hold(&project(cwd), of_project(cwd, files.trust.as_deref()));
    FolderRules { project, held, kept }
}

/// As many lines of the record are looked at.
const MOST_LINES: usize = 20_000;

/// What today's rules would have made of what agents asked for in the folder of a case. The error says why the record
/// can't be read.
pub fn retry(record: &Path, mut case: Case) -> Result<Box<Retrial>, String> {
    let read = audit_log::read(record, &Filter::default(), MOST_LINES)
        .map_err(|why| format!("couldn't read the record in {}: {why}", record.display()))?;
    let here = project(&case.cwd);
    complete(&mut case);
    let of_project = |line: &Line| project(Path::new(&line.project)) == here;
    let mut known: HashMap<String, bool> = HashMap::new();
    let lines = read.lines.into_iter();
    let lines: Vec<Line> =
        lines.filter(|line| *known.entry(line.project.clone()).or_insert_with(|| of_project(line))).collect();
    let forbids = case.forbids_commands();
    let resolve = |path: &Path| disk::resolve(path).ok();
    Ok(Box::new(retrial(&lines, |request, agent| {
        let case = Case { request, agent: agent.to_owned(), mode: None, ..case.clone() };
        let ruling = case.judge(&resolve);
        let offers = case.offers(&ruling, &resolve);
        Judged { ruling: Ruling { offers, ..ruling }, forbids }
    })))
}

/// What the list is called in the file of the rules that were made by answers.
const KEPT: &str = "rules";

/// Under which name the rules of a folder are kept: it may have several.
fn project(cwd: &Path) -> PathBuf {
    disk::resolve(cwd).unwrap_or_else(|_| cwd.to_owned())
}

/// Changes the rules of the project in a folder. Gives what the user should know of it: where a broken file is now, or
/// why nothing could be kept.
pub fn keep(cwd: &Path, file: &Path, change: Change) -> Option<String> {
    list_file::change(file, KEPT, |all| change.apply(&project(cwd), all))
        .unwrap_or_else(|error| Some(format!("couldn't keep this in {}: {error}", file.display())))
}

/// What the rules are, for whom, and what the user has said to what they asked: for what agents do without asking.
#[derive(Default)]
pub struct RuleBook(Mutex<State>);

#[derive(Default)]
struct State {
    rules: Vec<Rule>,
    files: RuleFiles,
    sessions: HashMap<SessionKey, Of>,
}

/// What there is of a session.
#[derive(Default)]
struct Of {
    agent: String,
    mode: Option<String>,
    /// Those that the user has made for it by answers.
    rules: Vec<Rule>,
    /// What the user allowed in this turn, when the agent asked.
    granted: Vec<Request>,
    /// What rules had something to say of when the agent was about to do it, in this turn and in the one before.
    judged: Vec<(Act, Decision)>,
    judged_before: Vec<(Act, Decision)>,
    /// What the user said for the session, by file or command.
    answers: HashMap<String, bool>,
}

/// How something that an agent does without asking stands with the rules.
pub struct Weighed {
    /// What they want of it, unless nothing: a question, or that it does not happen; and which rule that is.
    pub rule: Option<(Decision, String)>,
    /// All that they say of it.
    pub judgement: Judgement,
    /// One of them allows it, or the user did when the agent asked.
    pub is_allowed: bool,
}

impl RuleBook {
    pub fn take(&self, news: RulesNews) {
        let mut state = lock(&self.0);
        match news {
            RulesNews::Are { rules, files } => (state.rules, state.files) = (rules, files),
            RulesNews::OfSession { session, rules } => {
                state.sessions.entry(session).or_default().rules = rules;
            }
            RulesNews::Who { session, agent, mode } => {
                let of = state.sessions.entry(session).or_default();
                (of.agent, of.mode) = (agent, mode);
            }
            // What waits hears of it from `Policy`.
            RulesNews::Holds { .. } | RulesNews::Counted { .. } => {}
            RulesNews::Granted { session, request } => {
                state.sessions.entry(session).or_default().granted.push(request);
            }
        }
    }

    pub fn turn_began(&self, session: SessionKey) {
        if let Some(of) = lock(&self.0).sessions.get_mut(&session) {
            let granted = std::mem::take(&mut of.granted)
                .into_iter()
                .flat_map(|request| request.acts)
                .map(|act| (act, Decision::Ask));
            of.judged_before = std::mem::take(&mut of.judged);
            of.judged_before.extend(granted);
        }
    }

    /// Its agent and mode stay known: it may be opened again.
    pub fn ended(&self, session: SessionKey) {
        if let Some(of) = lock(&self.0).sessions.get_mut(&session) {
            of.granted.clear();
            of.judged.clear();
            of.judged_before.clear();
            of.answers.clear();
        }
    }

    /// The user's answer about a file or a command.
    pub fn say(&self, session: SessionKey, subject: String, choice: Choice) {
        if !choice.allows()
            && let Some(of) = lock(&self.0).sessions.get_mut(&session)
        {
            let named = of.judged.iter_mut().filter(|(act, _)| act.is_named(&subject));
            named.for_each(|(_, decision)| *decision = Decision::Reject);
        }
        let lasts = matches!(choice, Choice::Session | Choice::Always | Choice::Never);
        if lasts {
            lock(&self.0).sessions.entry(session).or_default().answers.insert(subject, choice.allows());
        }
    }

    /// What the user said about it for the session.
    pub fn answered(&self, session: SessionKey, subject: &str) -> Option<bool> {
        lock(&self.0).sessions.get(&session)?.answers.get(subject).copied()
    }

    /// Holds something that an agent does without asking against the rules. It reads the disk.
    pub fn unasked(&self, session: SessionKey, place: &Place, request: Request) -> Weighed {
        let folders = place.folders().cloned().collect();
        let (mut case, granted) = lock(&self.0).case(session, place.cwd.clone(), folders);
        case.request = request;
        complete(&mut case);
        let forbids = case.forbids_commands();
        let resolve = |path: &Path| disk::resolve(path).ok();
        let ruling = case.judge(&resolve);
        let covered = |act| granted.iter().flat_map(|request| &request.acts).any(|given| given.covers(act));
        let is_granted = case.request.acts.iter().all(covered);
        let Some((decision, why)) = ruling.unasked(forbids) else {
            let is_allowed = is_granted || ruling.decision == Some(Decision::Allow);
            return Weighed {
                rule: None,
                judgement: Judgement { request: case.request, ruling },
                is_allowed,
            };
        };
        lock(&self.0).sessions.entry(session).or_default().note_judged(&case.request, decision);
        // Who was asked once about the same is not asked again.
        let is_allowed = decision == Decision::Ask && is_granted;
        let offers = case.offers(&ruling, &resolve);
        let judgement = Judgement { request: case.request, ruling: Ruling { offers, ..ruling } };
        Weighed { rule: (!is_allowed).then_some((decision, why)), judgement, is_allowed }
    }

    /// Of what a session has done the rules that would have asked or rejected, where none was held against it before.
    /// It reads the disk.
    pub fn judge_done(&self, session: SessionKey, actions: UnaskedActions) -> Vec<Option<Unasked>> {
        let resolver = RefCell::new(Resolver::default());
        let find = |path: &Path| resolver.borrow_mut().find(path);
        self.judge_each(session, actions, |path| find(path).or_else(|| disk::resolve(path).ok()))
    }

    fn judge_each(
        &self,
        session: SessionKey,
        actions: UnaskedActions,
        resolve: impl Fn(&Path) -> Option<PathBuf>,
    ) -> Vec<Option<Unasked>> {
        let UnaskedActions { cwd, folders, done } = actions;
        let (known, (mut case, granted)) = {
            let state = lock(&self.0);
            let judged = state.sessions.get(&session).map(|of| [&of.judged[..], &of.judged_before].concat());
            (judged.unwrap_or_default(), state.case(session, cwd, folders))
        };
        complete(&mut case);
        let resolve = once_each(resolve);
        let granted = granted.into_iter().flat_map(|request| request.acts).map(|act| (act, Decision::Ask));
        let known: Vec<(Act, Decision)> = known.into_iter().chain(granted).collect();
        // What was rejected may be told of as a call that has failed; but a file that has changed was changed.
        let was_judged = |act: &Act, is_found: bool| {
            known.iter().any(|(known, decision)| {
                let counts = *decision != Decision::Reject || !is_found;
                counts && (known.covers(act) || is_same_file(known, act, &resolve))
            })
        };
        let forbids = case.forbids_commands();
        let judge = |mut action: UnaskedAction| {
            let acts = &mut action.request.acts;
            let had_acts = !acts.is_empty();
            acts.retain(|act| !was_judged(act, action.is_found));
            if had_acts && acts.is_empty() {
                return None;
            }
            let is_known = |whole: &Request| whole.acts.iter().any(|act| was_judged(act, true));
            if action.of_asked.is_some() || action.part_of.as_ref().is_some_and(is_known) {
                // To allow a command is not to allow what it leaves behind to be run later, unless that was said.
                let runs_later = |act: &Act| match act {
                    Act::File { path, .. } if is_run_unseen(path) => Some(path.clone()),
                    _ => None,
                };
                let file = acts.iter().find_map(runs_later).filter(|_| action.is_found)?;
                case.request = action.part_of.take().unwrap_or_default();
                if case.judge(&resolve).dangers.contains(&Danger::RunsLater) {
                    return None;
                }
                let named = file.strip_prefix(&case.cwd).unwrap_or(&file).to_owned();
                action.of_asked.get_or_insert(named);
            }
            case.request = action.request;
            let (decision, rule) = case.judge(&resolve).unasked(forbids)?;
            Some(Unasked { decision, rule, of_asked: action.of_asked })
        };
        done.into_iter().map(judge).collect()
    }
}

/// The same file by another name.
fn is_same_file(known: &Act, act: &Act, resolve: &dyn Fn(&Path) -> Option<PathBuf>) -> bool {
    match (known, act) {
        (Act::File { path, writes }, Act::File { path: of, writes: does }) => {
            writes >= does && resolve(path).is_some_and(|path| resolve(of) == Some(path))
        }
        _ => false,
    }
}

/// Asks about each path once: the folders of a session and what it was asked about before are the same for all that it
/// has done.
fn once_each(resolve: impl Fn(&Path) -> Option<PathBuf>) -> impl Fn(&Path) -> Option<PathBuf> {
    let known: RefCell<FastMap<PathBuf, Option<PathBuf>>> = RefCell::default();
    move |path| {
        if let Some(real) = known.borrow().get(path) {
            return real.clone();
        }
        let real = resolve(path);
        known.borrow_mut().insert(path.to_owned(), real.clone());
        real
    }
}

impl State {
    /// What is asked in a session, but for the request; and what the user has granted in it.
    fn case(&self, session: SessionKey, cwd: PathBuf, folders: Vec<PathBuf>) -> (Case, Vec<Request>) {
        let of = self.sessions.get(&session);
        let case = Case {
            request: Request::default(),
            agent: of.map(|of| of.agent.clone()).unwrap_or_default(),
            mode: of.and_then(|of| of.mode.clone()),
            cwd,
            folders,
            home: None,
            rules: self.rules.iter().chain(of.iter().flat_map(|of| &of.rules)).cloned().collect(),
            files: self.files.clone(),
        };
        (case, of.map(|of| of.granted.clone()).unwrap_or_default())
    }
}

/// As many acts of a turn are kept in mind.
const MOST_JUDGED: usize = 1000;

impl Of {
    fn note_judged(&mut self, request: &Request, decision: Decision) {
        self.judged.retain(|(act, _)| !request.acts.contains(act));
        let room = MOST_JUDGED.saturating_sub(self.judged.len());
        self.judged.extend(request.acts.iter().take(room).map(|act| (act.clone(), decision)));
    }
}

/// The rules of a project, if the user has trusted them. `trust` is Neovim's list of trusted files.
fn of_project(cwd: &Path, trust: Option<&Path>) -> ProjectRules {
    let path = cwd.join(FILE);
    // A pipe in its place would never end.
    match path.metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return ProjectRules::None,
        Err(error) => return ProjectRules::Broken(error.to_string()),
        Ok(metadata) if !metadata.is_file() => return ProjectRules::Broken("it is no file".to_owned()),
        Ok(metadata) if metadata.len() > MOST_BYTES => {
            return ProjectRules::Broken(format!("it is larger than {MOST_BYTES} bytes"));
        }
        Ok(_) => {}
    }
    let mut content = Vec::new();
    let all = std::fs::File::open(&path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut content));
    if let Err(error) = all {
        return ProjectRules::Broken(error.to_string());
    }
    // Neovim names files in its list without links.
    let Ok(real) = disk::resolve(&path) else { return ProjectRules::Untrusted };
    let list = trust.map(|list| std::fs::read(list).unwrap_or_default()).unwrap_or_default();
    let list = String::from_utf8_lossy(&list);
    match trusted(&list, &real.to_string_lossy(), &fingerprint::sha256(&content)) {
        Trust::Unknown => ProjectRules::Untrusted,
        Trust::Earlier => ProjectRules::Changed,
        Trust::Denied => ProjectRules::Denied,
        Trust::Given => match String::from_utf8(content) {
            Ok(text) => read(&text).map_or_else(ProjectRules::Broken, ProjectRules::Trusted),
            Err(_) => ProjectRules::Broken("it is not UTF-8".to_owned()),
        },
    }
}

#[cfg(test)]
mod tests;
