//! What recordings of real agents ask for, decided by the ready sets.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::acp::wire::from_acp::{self, AgentRequest, Fact};
use crate::core::ids::{Moment, SessionKey, ToolCallId};
use crate::core::message::{Place, RulesNews, Update};
use crate::core::rules::unasked::{UnaskedAction, UnaskedActions};
use crate::core::rules::{Act, Case, Request, RuleFiles, in_force};
use crate::core::session::tool_call::ToolCall;
use crate::core::store::allowlist::Choice;

#[test]
fn what_real_agents_asked_for_is_decided_by_the_ready_sets() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let files = std::fs::read_dir(folder).expect("the recordings").flatten().map(|file| file.path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|it| it == "jsonl")).collect();
    files.sort();
    let mut told = String::new();
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for line in decisions(&std::fs::read_to_string(&file).expect("a recording")) {
            writeln!(told, "{name}: {line}").expect("a String takes all");
        }
    }
    insta::assert_snapshot!(told);
}

/// A line for each thing that is asked for.
fn decisions(recording: &str) -> Vec<String> {
    let mut cwd = PathBuf::from("/");
    let mut calls: BTreeMap<ToolCallId, ToolCall> = BTreeMap::new();
    let mut told = Vec::new();
    let messages = recording.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    for message in messages.map(|line| line["msg"].clone()) {
        let (Some(method), params) = (message["method"].as_str(), &message["params"]) else { continue };
        if let Some(folder) = params["cwd"].as_str().filter(|_| method.starts_with("session/")) {
            cwd = folder.into();
        }
        if method == "session/update" {
            for fact in from_acp::update(&params["update"]) {
                if let Fact::Update(Update::ToolCall(patch)) = fact {
                    let new = || ToolCall::new(patch.id.clone(), Moment(0));
                    calls.entry(patch.id.clone()).or_insert_with(new).patch(*patch, Moment(0));
                }
            }
        }
        let request = match from_acp::request(method, params) {
            Ok(AgentRequest::Permission { call, .. }) => {
                let new = || ToolCall::new(call.id.clone(), Moment(0));
                let known = calls.entry(call.id.clone()).or_insert_with(new);
                known.patch(*call, Moment(0));
                known.requested(&cwd)
            }
            Ok(AgentRequest::TerminalCreate { command, args, .. }) if args.is_empty() => Request {
                kind: Some("execute".to_owned()),
                acts: vec![Act::Line(command)],
                ..Request::default()
            },
            _ => continue,
        };
        told.push(decided(request, &cwd));
    }
    told
}

fn decided(request: Request, cwd: &Path) -> String {
    let acts: Vec<String> = request.acts.iter().map(|act| format!("{act:?}")).collect();
    let about = format!("{} {}", request.kind.as_deref().unwrap_or("-"), acts.join(" "));
    let case = Case {
        request,
        agent: "any".to_owned(),
        cwd: cwd.to_owned(),
        folders: vec![cwd.to_owned()],
        home: Some("/home/user".into()),
        rules: in_force(&["read-only".to_owned(), "tests".to_owned()], &[]),
        ..Case::default()
    };
    let ruling = case.judge(&|path: &Path| Some(path.to_owned()));
    let decision = ruling.decision.map_or("left to the agent", |decision| decision.word());
    let dangers: Vec<&str> = ruling.dangers.iter().map(|danger| danger.words()).collect();
    format!("{about}\n    {decision}: {} {dangers:?}", ruling.why)
}

#[test]
fn what_was_judged_before_it_was_done_is_not_marked_after_it() {
    let book = super::RuleBook::default();
    let session = SessionKey(1);
    book.take(RulesNews::Are { rules: in_force(&[], &[]), files: RuleFiles::default() });
    let place = Place { cwd: "/p".into(), ..Place::default() };
    let write = |path: &str| Request {
        kind: Some("edit".to_owned()),
        acts: vec![Act::File { path: path.into(), writes: true }],
        ..Request::default()
    };
    let line = |line: &str| Request {
        kind: Some("execute".to_owned()),
        acts: vec![Act::Line(line.to_owned())],
        ..Request::default()
    };
    let marked = |requests: &[Request]| -> Vec<bool> {
        let action = |request: &Request| UnaskedAction {
            request: request.clone(),
            is_found: true,
            ..UnaskedAction::default()
        };
        let done = requests.iter().map(action).collect();
        let actions = UnaskedActions { cwd: "/p".into(), folders: vec!["/p".into()], done };
        book.judge_done(session, actions).iter().map(Option::is_some).collect()
    };
    let all = [write("/p/.envrc"), write("/p/a.txt"), line("echo x > .envrc"), line("ls")];
    assert_eq!(marked(&all), [true, false, true, false]);
    // The user was asked when it came through the editor; the turn after that is only beginning.
    assert!(book.unasked(session, &place, write("/p/.envrc")).rule.is_some());
    assert!(!marked(&all)[0]);
    book.turn_began(session);
    assert!(!marked(&all)[0]);
    book.turn_began(session);
    assert!(marked(&all)[0]);
    // What the user did not want is not to be done in another way.
    assert!(book.unasked(session, &place, write("/p/.envrc")).rule.is_some());
    book.say(session, "/p/.envrc".to_owned(), Choice::No);
    assert!(marked(&all)[0]);
    let told = UnaskedAction { request: write("/p/.envrc"), ..UnaskedAction::default() };
    let actions = UnaskedActions { cwd: "/p".into(), folders: vec!["/p".into()], done: vec![told] };
    assert_eq!(book.judge_done(session, actions), [None], "a call that has failed for that");
    // What they have granted covers what comes of it, but not what is run later, unless that was to be seen.
    let found = |command: &str, path: &str| {
        book.take(RulesNews::Granted { session, request: line(command) });
        let action = UnaskedAction {
            request: write(path),
            is_found: true,
            part_of: Some(line(command)),
            ..UnaskedAction::default()
        };
        let actions = UnaskedActions { cwd: "/p".into(), folders: vec!["/p".into()], done: vec![action] };
        let judged = book.judge_done(session, actions);
        judged.into_iter().flatten().next().and_then(|unasked| unasked.of_asked)
    };
    assert_eq!(found("make", "/p/package.json"), None);
    assert_eq!(found("make", "/p/.git/hooks/pre-push"), Some(".git/hooks/pre-push".into()));
    assert_eq!(found("cp a .git/hooks/pre-push", "/p/.git/hooks/pre-push"), None);
}

#[test]
fn of_what_is_judged_together_each_path_is_resolved_once() {
    let book = super::RuleBook::default();
    let (session, place) = (SessionKey(1), Place { cwd: "/p".into(), ..Place::default() });
    book.take(RulesNews::Are { rules: in_force(&[], &[]), files: RuleFiles::default() });
    let act = |path: String, writes| Request {
        kind: Some("read".to_owned()),
        acts: vec![Act::File { path: path.into(), writes }],
        ..Request::default()
    };
    for number in 0..20 {
        book.unasked(session, &place, act(format!("/p/asked_{number}/.envrc"), true));
    }
    let action = |number: usize| UnaskedAction {
        request: act(format!("/p/file_{number}"), false),
        ..UnaskedAction::default()
    };
    let folders = vec!["/p".into(), "/more".into()];
    let actions = UnaskedActions { cwd: "/p".into(), folders, done: (0..200).map(action).collect() };
    let resolved = std::cell::Cell::new(0);
    let judged = book.judge_each(session, actions, |path| {
        resolved.set(resolved.get() + 1);
        Some(path.to_owned())
    });
    assert_eq!(judged, vec![None; 200]);
    assert_eq!(
        resolved.get(),
        200 + 20 + 2,
        "those that were read, those asked about before, and the folders"
    );
}
