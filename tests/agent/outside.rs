//! Files outside of a session's folders: the user is asked, and the answer counts for what it says.

use std::fs;
use std::path::{Path, PathBuf};

use acp_nvim::core::message::*;
use acp_nvim::core::store::allowlist::{Allowed, Rules, Until};
use serde_json::{Value, json};

use super::support::*;

fn read(id: i64, path: &Path) -> Value {
    request(id, "fs/read_text_file", &json!({"sessionId": "s1", "path": path}))
}

fn write(id: i64, path: &Path, content: &str) -> Value {
    request(id, "fs/write_text_file", &json!({"sessionId": "s1", "path": path, "content": content}))
}

fn answered(id: i64) -> Value {
    json!({ "answer": id })
}

/// A file outside of the project, and the rules that have the user asked about it.
fn outside(test: &mut Test, name: &str) -> PathBuf {
    let path = test.folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("text of {name}")).unwrap();
    test.send(Command::Outside { rules: rules(test) });
    path
}

fn rules(test: &Test) -> Rules {
    Rules { ask: true, kept: Some(test.folder.join("state/acp-allowed.json")), ..Rules::default() }
}

fn begin(test: &mut Test, steps: &[Value]) {
    let mut all = vec![expect("session/prompt")];
    all.extend_from_slice(steps);
    all.push(end_turn());
    test.open(&all);
    test.prompt("x");
}

fn say(test: &mut Test, choice: &str) -> (PathBuf, PathBuf, Access) {
    let (ask, question) = test.question();
    test.answer(ask, Answer::Selected(choice.into()));
    match question {
        Question::Outside { path, target, access, .. } => (path, target, access),
        other => panic!("an unexpected question: {other:?}"),
    }
}

fn questions(test: &mut Test) -> usize {
    test.events().iter().filter(|event| matches!(event, Event::Asked { .. })).count()
}

fn notes(test: &mut Test) -> Vec<(Severity, String)> {
    let note = |event: &Event| match event {
        Event::Noted { severity, text, .. } => Some((*severity, text.clone())),
        _ => None,
    };
    test.events().iter().filter_map(note).collect()
}

#[test]
fn what_is_allowed_once_is_asked_again_and_by_its_real_path() {
    let mut test = Test::new();
    let path = outside(&mut test, "other/a.txt");
    let link = test.path("link.txt");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    begin(
        &mut test,
        &[read(5, &path), answered(5), read(6, &link), answered(6), write(7, &path, "new"), answered(7)],
    );
    let folder = path.parent().unwrap().to_owned();
    assert_eq!(say(&mut test, "once"), (path.clone(), folder.clone(), Access::Read));
    assert_eq!(say(&mut test, "no"), (path.clone(), folder.clone(), Access::Read));
    assert_eq!(say(&mut test, "once"), (path.clone(), folder, Access::Wrote));
    test.stop_reason();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    let received = test.finish();
    assert_eq!(received.result(5), &json!({"content": "text of other/a.txt"}));
    let (code, message) = received.error(6);
    assert_eq!(code, -32602);
    assert!(message.contains("link.txt: the user did not allow it"), "{message}");
    assert_eq!(received.result(7), &json!({}));
}

#[test]
fn an_answer_for_the_session_counts_for_its_folder_and_not_for_writing() {
    let mut test = Test::new();
    let path = outside(&mut test, "other/a.txt");
    let deep = outside(&mut test, "other/deep/b.txt");
    let sibling = outside(&mut test, "other2/c.txt");
    let requests =
        [read(5, &path), read(6, &deep), read(7, &sibling), write(8, &path, "x"), write(9, &path, "y")];
    let steps: Vec<Value> = (5..).zip(requests).flat_map(|(id, request)| [request, answered(id)]).collect();
    begin(&mut test, &steps);
    say(&mut test, "session");
    assert_eq!(say(&mut test, "no").0, sibling);
    assert_eq!(say(&mut test, "never"), (path.clone(), path.parent().unwrap().to_owned(), Access::Wrote));
    test.stop_reason();
    assert_eq!(questions(&mut test), 3, "the last write is refused without a question");
    let [(severity, text)] = &notes(&mut test)[..] else { panic!("one note") };
    assert_eq!(*severity, Severity::Info);
    assert!(text.contains("the user did not allow it"), "{text}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "text of other/a.txt");
    let received = test.finish();
    assert_eq!(received.result(6), &json!({"content": "text of other/deep/b.txt"}));
    for id in [7, 8, 9] {
        assert_eq!(received.error(id).0, -32602);
    }
}

#[test]
fn an_answer_for_always_counts_after_a_restart_until_it_is_taken_back() {
    let mut test = Test::new();
    let path = outside(&mut test, "other/a.txt");
    begin(&mut test, &[read(5, &path), answered(5)]);
    say(&mut test, "always");
    test.stop_reason();

    let mut later = Test::new();
    later.send(Command::Outside { rules: rules(&test) });
    begin(&mut later, &[read(5, &path), answered(5), write(6, &path, "x"), answered(6)]);
    assert_eq!(say(&mut later, "no").2, Access::Wrote);
    later.stop_reason();
    assert_eq!(later.received().result(5), &json!({"content": "text of other/a.txt"}));
    let list = |test: &mut Test| {
        test.send(Command::ListAllowed);
        test.wait("Allowed", |event| match event {
            Event::Allowed { allowed, trouble } => Some((allowed.clone(), trouble.clone())),
            _ => None,
        })
    };
    let folder = path.parent().unwrap().to_owned();
    let allowed = Allowed { path: folder, access: Access::Read, until: Until::Revoked, command: None };
    assert_eq!(list(&mut later), (vec![allowed.clone()], None));
    later.send(Command::Revoke { allowed });
    wait_for("the permission to be taken back", || list(&mut later).0.is_empty());
}

#[test]
fn while_a_question_is_open_other_files_are_served_and_its_own_keeps_its_order() {
    let mut test = Test::new();
    let path = outside(&mut test, "other/a.txt");
    let inside = test.file("b.txt", "inside");
    let steps = [
        read(5, &path),
        write(6, &path, "new"),
        read(7, &path),
        read(8, &inside),
        write(9, &inside, "changed"),
        answered(8),
        answered(9),
        notify(
            "session/update",
            &json!({"sessionId": "s1", "update": {"sessionUpdate": "agent_message_chunk",
            "content": {"type": "text", "text": "both are served"}}}),
        ),
        answered(5),
        answered(6),
        answered(7),
    ];
    begin(&mut test, &steps);
    wait_for("the files inside to be served", || {
        test.events().iter().any(|event| format!("{event:?}").contains("both are served"))
    });
    assert_eq!(questions(&mut test), 1, "one at a time");
    assert_eq!(say(&mut test, "session").2, Access::Read);
    // Reading is allowed by now, but what is to be read is what is written before.
    assert_eq!(say(&mut test, "once").2, Access::Wrote);
    test.stop_reason();
    let received = test.finish();
    assert_eq!(received.result(5), &json!({"content": "text of other/a.txt"}));
    assert_eq!(received.result(7), &json!({"content": "new"}));
}

#[test]
fn one_answer_serves_all_that_it_covers() {
    let mut test = Test::new();
    let paths: Vec<PathBuf> =
        (0..20).map(|number| outside(&mut test, &format!("other/{number}.txt"))).collect();
    let mut steps: Vec<Value> = (5..).zip(&paths).map(|(id, path)| read(id, path)).collect();
    steps.extend((5..25).map(answered));
    begin(&mut test, &steps);
    say(&mut test, "session");
    test.stop_reason();
    assert_eq!(questions(&mut test), 1);
    assert_eq!(test.finish().result(24), &json!({"content": "text of other/19.txt"}));
}

#[test]
fn what_waits_for_the_user_ends_with_its_turn() {
    let mut test = Test::new();
    let path = outside(&mut test, "other/a.txt");
    let second = outside(&mut test, "other/b.txt");
    let third = outside(&mut test, "other/c.txt");
    let steps = [
        expect("session/prompt"),
        read(5, &path),
        read(6, &second),
        expect("session/cancel"),
        answered(5),
        answered(6),
        answer_to("session/prompt", &json!({"stopReason": "cancelled"})),
        expect("session/prompt"),
        read(7, &third),
        answered(7),
        end_turn(),
    ];
    test.open(&steps);
    test.prompt("x");
    let (ask, _) = test.question();
    test.send(Command::Cancel { session: SESSION });
    test.wait("Withdrawn", |event| match event {
        Event::Withdrawn { ask: over, .. } => (*over == ask).then_some(()),
        _ => None,
    });
    test.stop_reason();
    // A late answer does nothing.
    test.answer(ask, Answer::Selected("always".into()));
    test.prompt("again");
    assert_eq!(say(&mut test, "once").0, third, "the way is free for the next");
    test.stop_reason();
    let received = test.finish();
    for id in [5, 6] {
        assert_eq!(received.error(id).0, -32800);
    }
    assert_eq!(received.result(7), &json!({"content": "text of other/c.txt"}));
}

#[test]
fn an_agent_may_take_a_request_back_that_waits() {
    let mut test = Test::new();
    let path = outside(&mut test, "other/a.txt");
    let second = outside(&mut test, "other/b.txt");
    let take_back = |id: i64| notify("$/cancel_request", &json!({ "requestId": id }));
    let third = outside(&mut test, "other/c.txt");
    let steps = [
        read(5, &path),
        read(6, &second),
        read(7, &third),
        take_back(6),
        answered(6),
        take_back(5),
        answered(5),
        answered(7),
    ];
    begin(&mut test, &steps);
    test.question();
    assert_eq!(say(&mut test, "once").0, third);
    test.stop_reason();
    let received = test.finish();
    assert_eq!((received.error(5).0, received.error(6).0), (-32800, -32800));
    assert_eq!(received.result(7), &json!({"content": "text of other/c.txt"}));
}

#[test]
fn what_waits_is_answered_when_the_agent_is_ended() {
    let mut test = Test::new();
    let path = outside(&mut test, "other/a.txt");
    let second = outside(&mut test, "other/b.txt");
    begin(&mut test, &[read(5, &path), read(6, &second), update(&chunk("asked")), answered(5), answered(6)]);
    // By then both have been read.
    test.wait("what came after them", |event| matches!(event, Event::Updated { .. }).then_some(()));
    test.send(Command::Disconnect { agent: AGENT });
    test.exited();
    let received = test.received();
    assert_eq!((received.error(5).0, received.error(6).0), (-32800, -32800));
}

#[test]
fn reads_that_are_still_queued_are_answered_when_the_agent_is_ended() {
    let mut test = Test::new();
    let large = test.file("large.txt", &"line\n".repeat(50_000));
    let first_line = |id: i64| {
        request(id, "fs/read_text_file", &json!({"sessionId": "s1", "path": large, "line": 1, "limit": 1}))
    };
    let mut steps: Vec<Value> = (5..205).map(first_line).collect();
    steps.push(update(&chunk("asked")));
    steps.extend((5..205).map(answered));
    begin(&mut test, &steps);
    // By then all have been read, and few have been served.
    test.wait("what came after them", |event| matches!(event, Event::Updated { .. }).then_some(()));
    test.send(Command::Disconnect { agent: AGENT });
    test.exited();
    let received = test.received();
    for id in 5..205 {
        assert_eq!(received.answers(&json!(id)).len(), 1, "request {id}");
    }
}

#[test]
fn the_users_options_allow_without_a_question_or_refuse_without_one() {
    let mut test = Test::new();
    let path = outside(&mut test, "other/a.txt");
    let secret = outside(&mut test, "secret.txt");
    let alias = test.folder.join("alias");
    std::os::unix::fs::symlink(path.parent().unwrap(), &alias).unwrap();
    let rules = Rules { ask: false, read: vec![alias, PathBuf::from("relative")], ..rules(&test) };
    test.send(Command::Outside { rules });
    let steps =
        [read(5, &path), answered(5), read(6, &secret), answered(6), write(7, &path, "x"), answered(7)];
    begin(&mut test, &steps);
    test.stop_reason();
    assert_eq!(questions(&mut test), 0);
    let received = test.finish();
    assert_eq!(received.result(5), &json!({"content": "text of other/a.txt"}));
    assert_eq!((received.error(6).0, received.error(7).0), (-32602, -32602));
}

#[test]
fn a_broken_file_of_what_is_allowed_allows_nothing_and_is_told_of_once() {
    let mut test = Test::new();
    let path = outside(&mut test, "other/a.txt");
    let kept = rules(&test).kept.unwrap();
    fs::create_dir_all(kept.parent().unwrap()).unwrap();
    fs::write(&kept, "{ \"version\": 1, ").unwrap();
    begin(&mut test, &[read(5, &path), answered(5), read(6, &path), answered(6)]);
    say(&mut test, "once");
    say(&mut test, "always");
    test.stop_reason();
    let texts: Vec<String> = notes(&mut test).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].contains("couldn't read what you always allow"), "{texts:?}");
    assert!(texts[1].contains("was broken") && texts[1].contains(".broken-1"), "{texts:?}");
    assert!(fs::read_to_string(&kept).unwrap().contains("\"access\": \"read\""));
    let aside = kept.with_file_name("acp-allowed.json.broken-1");
    assert_eq!(fs::read_to_string(aside).unwrap(), "{ \"version\": 1, ");
}

/// The agent asks for a command in this folder.
fn run(id: i64, folder: &Path) -> Value {
    let params = json!({ "sessionId": "s1", "command": "touch", "args": ["ran"], "cwd": folder });
    request(id, "terminal/create", &params)
}

#[test]
fn a_command_in_a_folder_outside_is_asked_about_by_its_real_path_and_only_there() {
    let mut test = Test::new();
    let other = outside(&mut test, "other/a.txt").parent().unwrap().to_owned();
    let link = test.path("link");
    std::os::unix::fs::symlink(&other, &link).unwrap();
    let inside = test.path("sub");
    fs::create_dir_all(&inside).unwrap();
    let requests = [run(5, &inside), run(6, &link), run(7, &inside.join("../../other"))];
    let steps: Vec<Value> = (5..).zip(requests).flat_map(|(id, request)| [request, answered(id)]).collect();
    begin(&mut test, &steps);
    let (ask, question) = test.question();
    let Question::Outside { path, access, command, .. } = question else { panic!("{question:?}") };
    assert_eq!((path, access, command.as_deref()), (other.clone(), Access::Wrote, Some("touch ran")));
    assert!(!other.join("ran").exists());
    test.answer(ask, Answer::Selected("no".into()));
    // What is refused once is asked again.
    assert_eq!(say(&mut test, "once").0, other);
    test.stop_reason();
    let received = test.finish();
    assert!(received.result(5)["terminalId"].is_string());
    let (code, message) = received.error(6);
    assert_eq!(code, -32602);
    assert!(message.contains("did not allow it in") && message.contains("link"), "{message}");
    assert!(received.result(7)["terminalId"].is_string());
}

#[test]
fn a_command_runs_where_the_user_was_asked_about_or_not_at_all() {
    // The folder itself gives way to a link, or a link to it leads elsewhere then.
    for by_link in [false, true] {
        let mut test = Test::new();
        let asked = outside(&mut test, "other/a.txt").parent().unwrap().to_owned();
        let secret = outside(&mut test, "secret/a.txt").parent().unwrap().to_owned();
        let link = test.path("link");
        std::os::unix::fs::symlink(&asked, &link).unwrap();
        let params = json!({ "sessionId": "s1", "command": "touch", "args": ["ran"],
            "cwd": if by_link { &link } else { &asked } });
        begin(&mut test, &[request(5, "terminal/create", &params), answered(5)]);
        let (ask, _) = test.question();
        if by_link {
            fs::remove_file(&link).unwrap();
            std::os::unix::fs::symlink(&secret, &link).unwrap();
        } else {
            fs::rename(&asked, asked.with_file_name("kept")).unwrap();
            std::os::unix::fs::symlink(&secret, &asked).unwrap();
        }
        test.answer(ask, Answer::Selected("once".into()));
        test.stop_reason();
        let received = test.finish();
        assert!(!secret.join("ran").exists(), "by a link: {by_link}");
        if by_link {
            assert!(received.result(5)["terminalId"].is_string());
        } else {
            let (code, message) = received.error(5);
            assert_eq!(code, -32602);
            assert!(message.contains("leads elsewhere"), "{message}");
        }
    }
}

#[test]
fn what_counts_for_writing_in_a_folder_counts_for_running_there_and_not_the_other_way_round() {
    let mut test = Test::new();
    let path = outside(&mut test, "other/a.txt");
    let folder = path.parent().unwrap().to_owned();
    begin(&mut test, &[write(5, &path, "new"), answered(5), run(6, &folder), answered(6)]);
    say(&mut test, "session");
    test.stop_reason();
    assert_eq!(questions(&mut test), 1);
    assert!(test.finish().result(6)["terminalId"].is_string());

    let mut test = Test::new();
    let path = outside(&mut test, "other/a.txt");
    let folder = path.parent().unwrap().to_owned();
    begin(
        &mut test,
        &[run(5, &folder), answered(5), run(6, &folder), answered(6), write(7, &path, "new"), answered(7)],
    );
    say(&mut test, "session");
    assert_eq!(say(&mut test, "session").0, path, "the command is allowed, and no more");
    test.stop_reason();
    assert_eq!(questions(&mut test), 2);
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert!(test.finish().result(6)["terminalId"].is_string());
}

#[test]
fn a_command_outside_that_waits_for_the_user_ends_with_its_turn_and_runs_nothing() {
    let mut test = Test::new();
    let path = outside(&mut test, "other/a.txt");
    let folder = path.parent().unwrap().to_owned();
    begin(&mut test, &[run(5, &folder), expect("session/cancel"), answered(5)]);
    test.question();
    test.send(Command::Cancel { session: SESSION });
    test.stop_reason();
    assert!(!folder.join("ran").exists());
    assert_eq!(test.finish().error(5).0, -32800);
}

#[test]
fn no_command_runs_outside_where_all_of_that_is_refused() {
    let mut test = Test::new();
    let path = outside(&mut test, "other/a.txt");
    test.send(Command::Outside { rules: Rules { ask: false, ..rules(&test) } });
    let folder = path.parent().unwrap().to_owned();
    begin(&mut test, &[run(5, &folder), answered(5)]);
    test.stop_reason();
    assert_eq!(questions(&mut test), 0);
    assert!(!folder.join("ran").exists());
    assert_eq!(test.finish().error(5).0, -32602);
}

#[test]
fn a_link_that_takes_the_place_of_a_folder_while_the_user_is_asked_leads_nowhere() {
    for writes in [true, false] {
        let mut test = Test::new();
        let asked = outside(&mut test, "other/a.txt");
        let secret = outside(&mut test, "secret/a.txt");
        let request = if writes { write(5, &asked, "x") } else { read(5, &asked) };
        begin(&mut test, &[request, answered(5)]);
        let (ask, _) = test.question();
        let folder = asked.parent().unwrap();
        fs::rename(folder, folder.with_file_name("kept")).unwrap();
        std::os::unix::fs::symlink(secret.parent().unwrap(), folder).unwrap();
        test.answer(ask, Answer::Selected("once".into()));
        test.stop_reason();
        assert_eq!(fs::read_to_string(&secret).unwrap(), "text of secret/a.txt");
        let received = test.finish();
        let (code, message) = received.error(5);
        assert_eq!(code, -32602);
        assert!(message.contains("leads elsewhere"), "{message}");
    }
}
