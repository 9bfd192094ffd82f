//! Files that a session has to do with, as others change them on the disk.

use std::fs;
use std::path::{Path, PathBuf};

use acp_nvim::core::ids::*;
use acp_nvim::core::message::*;
use serde_json::{Value, json};

use super::support::*;

fn read(id: i64, path: &Path) -> Value {
    request(id, "fs/read_text_file", &json!({"sessionId": "s1", "path": path}))
}

fn write(id: i64, path: &Path, content: &str) -> Value {
    request(id, "fs/write_text_file", &json!({"sessionId": "s1", "path": path, "content": content}))
}

/// A session whose agent has sent these requests and has its answers.
fn touched(requests: &[Value]) -> impl FnOnce(&mut Test) {
    let mut steps = vec![expect("session/prompt")];
    for request in requests {
        steps.extend([request.clone(), json!({"answer": request["send"]["id"]})]);
    }
    steps.push(end_turn());
    move |test| {
        test.open(&steps);
        test.prompt("x");
        test.stop_reason();
    }
}

/// The next change of a file that a test is about.
fn change(test: &mut Test) -> (PathBuf, FileChange) {
    test.wait("FileChanged", told)
}

fn told(event: &Event) -> Option<(PathBuf, FileChange)> {
    match event {
        Event::FileChanged { path, kind, .. } if !is_last(path) => Some((path.clone(), kind.clone())),
        _ => None,
    }
}

fn is_last(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "last.txt")
}

/// What was told until now, and until a change that is made here is told.
pub fn changes_until_now(test: &mut Test) -> Vec<(PathBuf, FileChange)> {
    changes_until_told_in(test, SESSION)
}

fn changes_until_told_in(test: &mut Test, session: SessionKey) -> Vec<(PathBuf, FileChange)> {
    let last = test.file("last.txt", "");
    test.send(Command::Watch { session, path: last.clone() });
    let count = |test: &mut Test| {
        let is_told = |event: &&Event| matches!(event, Event::FileChanged { path, .. } if is_last(path));
        test.events().iter().filter(is_told).count()
    };
    let before = count(test);
    // When the background begins to watch it is not known, so it is changed until it does.
    let mut text = String::new();
    wait_for("the last change", || {
        text.push('x');
        fs::write(&last, &text).unwrap();
        count(test) > before
    });
    test.events().iter().filter_map(told).collect()
}

#[test]
fn a_file_that_was_read_is_told_of_when_another_program_changes_it() {
    let mut test = Test::new();
    let path = test.file("a.txt", "one");
    touched(&[read(5, &path)])(&mut test);
    fs::write(&path, "two").unwrap();
    assert_eq!(change(&mut test), (path.clone(), FileChange::Changed));
    // As many programs save: a new file takes the old one's name.
    let new = test.file("a.txt.new", "three");
    fs::rename(new, &path).unwrap();
    assert_eq!(change(&mut test), (path.clone(), FileChange::Changed));
    fs::remove_file(&path).unwrap();
    assert_eq!(change(&mut test), (path.clone(), FileChange::Gone));
    fs::write(&path, "four").unwrap();
    assert_eq!(change(&mut test), (path, FileChange::Changed));
}

#[test]
fn a_session_that_was_closed_watches_nothing_however_late_it_is_told() {
    let mut test = Test::new();
    let path = test.file("a.txt", "one");
    test.open(&[expect("session/prompt"), json!({"exit": 1})]);
    test.prompt("x");
    test.wait("Exited", |event| matches!(event, Event::Exited { .. }).then_some(()));
    // The editor still reads what the agent said before its end.
    test.send(Command::Watch { session: SESSION, path: path.clone() });
    assert_eq!(changes_until_told_in(&mut test, SessionKey(2)), [], "it is watched by now");
    test.send(Command::Close { session: SESSION });
    fs::write(&path, "two").unwrap();
    assert_eq!(changes_until_told_in(&mut test, SessionKey(2)), []);
}

#[test]
fn a_session_whose_agent_is_gone_watches_nothing_however_late_it_is_told() {
    let mut test = Test::new();
    let path = test.file("a.txt", "one");
    test.open(&[expect("session/prompt"), json!({"exit": 1})]);
    test.prompt("x");
    test.wait("Exited", |event| matches!(event, Event::Exited { .. }).then_some(()));
    // The editor still reads what the agent said; started again, it has another number for the session.
    test.send(Command::Watch { session: SESSION, path: path.clone() });
    changes_until_told_in(&mut test, SessionKey(2));
    fs::write(&path, "two").unwrap();
    assert_eq!(changes_until_told_in(&mut test, SessionKey(2)), []);
}

#[test]
fn what_is_written_through_the_client_is_no_news() {
    let mut test = Test::new();
    let path = test.file("a.txt", "one");
    let new = test.path("new/folder/b.txt");
    let requests = [read(5, &path), write(6, &path, "two"), write(7, &new, "x"), write(8, &path, "three")];
    touched(&requests)(&mut test);
    assert_eq!(changes_until_now(&mut test), []);
    fs::write(&new, "y").unwrap();
    assert_eq!(change(&mut test), (new, FileChange::Changed));
}

#[test]
fn a_file_that_has_its_content_still_is_not_told_of() {
    let mut test = Test::new();
    let path = test.file("a.txt", "one");
    touched(&[read(5, &path)])(&mut test);
    fs::write(&path, "one").unwrap();
    fs::File::open(&path).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let away = test.path("a.txt~");
    fs::rename(&path, &away).unwrap();
    fs::write(&path, "one").unwrap();
    test.file("neighbour.txt", "x");
    assert_eq!(changes_until_now(&mut test), []);
}

#[test]
fn a_file_that_is_renamed_is_followed() {
    let mut test = Test::new();
    let path = test.file("a.txt", "one");
    touched(&[read(5, &path)])(&mut test);
    assert_eq!(changes_until_now(&mut test), [], "it is watched by now");
    let new = test.path("b.txt");
    fs::rename(&path, &new).unwrap();
    assert_eq!(change(&mut test), (path, FileChange::Renamed(new.clone())));
    fs::write(&new, "two").unwrap();
    assert_eq!(change(&mut test), (new, FileChange::Changed));
}

#[test]
fn a_file_is_watched_before_its_folder_is_there_and_after_it_was_replaced() {
    let mut test = Test::new();
    touched(&[])(&mut test);
    let path = test.path("new/deep/a.txt");
    test.send(Command::Watch { session: SESSION, path: path.clone() });
    assert_eq!(changes_until_now(&mut test), []);
    test.file("new/deep/a.txt", "one");
    assert_eq!(change(&mut test), (path.clone(), FileChange::Changed));
    fs::remove_dir_all(test.path("new")).unwrap();
    assert_eq!(change(&mut test), (path.clone(), FileChange::Gone));
    test.file("new/deep/a.txt", "two");
    assert_eq!(change(&mut test), (path, FileChange::Changed));
}

#[test]
fn a_link_is_watched_where_it_leads_to() {
    let mut test = Test::new();
    touched(&[])(&mut test);
    let path = test.file("a.txt", "one");
    let link = test.path("link.txt");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    test.send(Command::Watch { session: SESSION, path: link.clone() });
    assert_eq!(changes_until_now(&mut test), []);
    fs::write(&link, "two").unwrap();
    assert_eq!(change(&mut test), (path.clone(), FileChange::Changed));
}

#[test]
fn with_its_last_session_a_file_is_not_watched_any_more() {
    let mut test = Test::new();
    let path = test.file("a.txt", "one");
    touched(&[read(5, &path)])(&mut test);
    test.send(Command::Close { session: SESSION });
    changes_until_told_in(&mut test, SessionKey(9));
    fs::write(&path, "two").unwrap();
    assert_eq!(changes_until_told_in(&mut test, SessionKey(9)), []);
}

/// What the disk holds, as a buffer's task is told.
fn examine(test: &mut Test, job: u64, path: &Path, half: HalfWritten) -> OnDisk {
    let (path, encoding) = (path.to_owned(), "utf-8".to_owned());
    let work = Work::Examine { path, encoding, known: None, half };
    test.send(Command::Compute { job: JobId(job), work });
    test.wait("Examined", |event| match event {
        Event::Computed { job: JobId(of), outcome: Outcome::Examined(disk) } if *of == job => {
            Some(disk.clone())
        }
        _ => None,
    })
}

fn text(disk: &OnDisk) -> Option<&str> {
    match disk {
        OnDisk::Text { text, .. } => Some(text),
        _ => None,
    }
}

/// The writer began before anybody looked at the file, and does nothing for long.
#[test]
fn less_than_the_buffer_has_is_not_whole_while_a_call_edits_the_file() {
    let mut test = Test::new();
    touched(&[])(&mut test);
    let path = test.file("a.txt", "one\n");
    let older = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    fs::File::open(&path).unwrap().set_modified(older).unwrap();
    let edits = |diffs| {
        let size = Some(8);
        Command::Edits { session: SESSION, call: 1, path: path.clone(), diffs, held: None, size }
    };
    test.send(edits(Some(Vec::new())));
    assert_eq!(examine(&mut test, 1, &path, HalfWritten::Tell), OnDisk::HalfWritten);
    fs::write(&path, "one\nTWO\n").unwrap();
    test.send(edits(None));
    assert_eq!(change(&mut test), (path.clone(), FileChange::Changed));
    assert_eq!(text(&examine(&mut test, 2, &path, HalfWritten::Tell)), Some("one\nTWO\n"));
}

#[test]
fn what_is_being_written_is_told_as_that_until_it_is_whole() {
    let mut test = Test::new();
    touched(&[])(&mut test);
    let path = test.file("a.txt", "one\ntwo\n");
    let older = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    fs::File::open(&path).unwrap().set_modified(older).unwrap();
    let edits = |diffs| Command::Edits {
        session: SESSION,
        call: 1,
        path: path.clone(),
        diffs,
        held: None,
        size: None,
    };
    test.send(edits(Some(Vec::new())));
    let disk = examine(&mut test, 1, &path, HalfWritten::Tell);
    assert_eq!(text(&disk), Some("one\ntwo\n"), "nobody has written it for long");
    fs::write(&path, "one\n").unwrap();
    assert_eq!(examine(&mut test, 2, &path, HalfWritten::Tell), OnDisk::HalfWritten);
    let disk = examine(&mut test, 3, &path, HalfWritten::Before);
    assert_eq!(text(&disk), Some("one\ntwo\n"), "what edits began with that were made meanwhile");
    let disk = examine(&mut test, 4, &path, HalfWritten::Wait);
    assert_eq!(text(&disk), Some("one\n"), "an agent does not wait for its own call");
    fs::remove_file(&path).unwrap();
    assert_eq!(examine(&mut test, 5, &path, HalfWritten::Tell), OnDisk::HalfWritten);
    fs::write(&path, "one\nTWO\n").unwrap();
    test.send(edits(None));
    assert_eq!(change(&mut test), (path.clone(), FileChange::Changed));
    let disk = examine(&mut test, 6, &path, HalfWritten::Tell);
    assert_eq!(text(&disk), Some("one\nTWO\n"));
}
