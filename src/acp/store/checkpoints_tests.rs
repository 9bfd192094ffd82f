//! What the disk holds of checkpoints after writers, prunings and accidents.

use std::thread;

use super::*;
use crate::core::store::checkpoint::{Kind, plan};

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("acp-checkpoints-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        Self(folder)
    }

    fn turns(&self) -> (Vec<Turn>, usize) {
        list(&self.0.join(project(Path::new("/src/shop")))).expect("a list")
    }

    fn texts(&self) -> PathBuf {
        self.0.join(project(Path::new("/src/shop"))).join(TEXTS)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn head() -> Head {
    Head {
        agent: "Fake".into(),
        acp_id: "s1".into(),
        title: None,
        cwd: "/src/shop".into(),
        prompt: "fix it".into(),
        kind: Kind::Turn,
    }
}

fn writer() -> CheckpointWriter {
    CheckpointWriter::new(Mailbox::new(|_| {}), Disks::for_tests())
}

fn text(text: &str) -> Held {
    Held::text(text)
}

fn add(writer: &mut CheckpointWriter, folder: &Path, at: u64, path: &str, (before, after): (&Held, &Held)) {
    let turn = TurnKey { at, number: at };
    let path = Path::new(path);
    let adding = Adding { turn, head: &head(), at, path, call: None, before, after, saved: None };
    writer.add(folder, &adding).expect("to be kept");
}

fn bytes_below(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("a folder").filter_map(Result::ok);
    entries
        .map(|entry| match entry.metadata().expect("its facts") {
            facts if facts.is_dir() => bytes_below(&entry.path()),
            facts => facts.len(),
        })
        .sum()
}

#[test]
fn a_turn_is_told_by_its_first_text_and_its_last() {
    let folder = Folder::new("turn");
    let mut writer = writer();
    add(&mut writer, &folder.0, 1, "/a", (&text("one\n"), &text("two\n")));
    add(&mut writer, &folder.0, 1, "/a", (&text("two\n"), &text("three\nfour\n")));
    add(&mut writer, &folder.0, 1, "/new", (&Held::Absent, &text("one\n")));
    add(&mut writer, &folder.0, 2, "/big", (&text(&"x".repeat(MAX_FILE_BYTES + 1)), &Held::Absent));
    let (turns, broken) = folder.turns();
    assert_eq!((turns.len(), broken), (2, 0));
    assert_eq!(turns[0].files[0].before, Stored::Unknown, "the newest comes first");
    let file = &turns[1].files[0];
    assert_eq!((file.added, file.removed), (2, 1), "since the turn began");
    assert_eq!(held_of(&folder.texts(), &file.before), Ok(text("one\n")));
    assert_eq!(held_of(&folder.texts(), &file.after), Ok(text("three\nfour\n")));
    assert_eq!(fs::read_dir(folder.texts()).expect("texts").count(), 3, "each text is there once");
}

#[test]
fn a_record_of_before_there_were_modes_is_read_and_put_back() {
    let folder = Folder::new("old");
    create_private_folder(&folder.texts()).expect("a folder");
    let [one, two] = ["one\n", "two\n"].map(|text| {
        fs::write(folder.texts().join(name_of(text.as_bytes())), text).expect("a text");
        name_of(text.as_bytes())
    });
    let record = format!(
        r#"{{"at":7,"turn":{{"agent":"Fake","acp_id":"s1","title":null,"cwd":"/src/shop","prompt":"fix it","kind":"turn"}}}}
{{"at":8,"change":{{"path":"/a","before":{{"text":"{one}"}},"after":{{"text":"{two}"}},"added":1,"removed":1}}}}
{{"at":9,"change":{{"path":"/b","before":"absent","after":"unknown","added":0,"removed":0,"call":"Edit b","found":"absent"}}}}
"#
    );
    fs::write(folder.texts().with_file_name("0000000000007-1-1.jsonl"), record).expect("a record");
    let (turns, broken) = folder.turns();
    assert_eq!((turns.len(), broken), (1, 0));
    let told: Vec<_> = turns[0]
        .files
        .iter()
        .map(|file| (held_of(&folder.texts(), &file.before), file.after.clone()))
        .collect();
    assert_eq!(told, [(Ok(text("one\n")), Stored::Text(two)), (Ok(Held::Absent), Stored::Unknown)]);
}

#[cfg(unix)]
#[test]
fn bytes_links_and_modes_are_kept_and_come_back() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = Folder::new("kinds");
    let src = folder.0.join("src");
    fs::create_dir_all(src.join("bin")).expect("a folder");
    let [script, picture, link, created] =
        ["bin/script", "picture", "link", "new/deep/file"].map(|name| src.join(name));
    fs::write(&script, "#!/bin/sh\n").expect("a file");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o750)).expect("its mode");
    fs::write(&picture, b"\x89PNG\0\xff").expect("a file");
    symlink("bin/script", &link).expect("a link");
    let all = [&script, &picture, &link, &created];
    let disks = Disks::for_tests();
    let before = all.map(|path| in_time(&disks, path));
    // A turn makes something else of all of them.
    let since = 0;
    fs::remove_dir_all(src.join("bin")).expect("to go");
    fs::write(&picture, b"\0other").expect("another picture");
    fs::remove_file(&link).expect("to go");
    fs::write(&link, "a file now\n").expect("a file");
    fs::create_dir_all(src.join("new/deep")).expect("a folder");
    fs::write(&created, "x").expect("a file");
    let mut writer = writer();
    let head = Head { cwd: src.clone(), ..head() };
    let turn = TurnKey { at: 1, number: 1 };
    for (path, before) in all.iter().zip(&before) {
        let after = &in_time(&disks, path);
        let adding = Adding { turn, head: &head, at: 1, path, call: None, before, after, saved: None };
        writer.add(&folder.0, &adding).expect("to be kept");
    }
    let project = folder.0.join(project(&src));
    let (turns, broken) = list(&project).expect("a list");
    assert_eq!((turns[0].files.len(), broken), (4, 0));
    let files: Vec<_> = plan(&turns, &turns[0].id, 0).into_iter().map(|planned| (planned, None)).collect();
    let undoing = Undoing::new(&disks, &src, since);
    let fetched = fetch(&disks, &project.join(TEXTS), &undoing, &files);
    let folders: Vec<_> = fetched.iter().map(|file| file.folder.clone()).collect();
    assert_eq!(folders, [Some(src.join("bin")), None, None, Some(src.join("new"))]);
    for (file, before) in fetched.iter().zip(&before) {
        assert_eq!(file.expected.as_ref(), Some(&file.disk));
        assert_eq!(file.target.as_ref(), Ok(before));
        let target = file.target.as_ref().expect("it is kept");
        assert!(
            put(&disks, &undoing, &file.path, (&Held::text("other"), target)).is_err(),
            "it is looked at first"
        );
        put(&disks, &undoing, &file.path, (&file.disk, target)).expect("to be put back");
    }
    assert_eq!(all.map(|path| in_time(&disks, path)), before);
    assert!(!src.join("new").exists());
}

#[test]
fn neovims_that_write_at_once_lose_nothing() {
    let folder = Folder::new("many");
    create_private_folder(&folder.0).expect("a folder");
    thread::scope(|scope| {
        for who in 0..4 {
            let folder = &folder.0;
            scope.spawn(move || {
                let mut writer = writer();
                for number in 0..20 {
                    let at = 1_000 + who * 100 + number;
                    let after = text(&format!("{number}"));
                    add(&mut writer, folder, at, "/a", (&text("same"), &after));
                    if number == 10 {
                        let limits = Limits { age: 10_000, bytes: 1 << 20 };
                        prune(folder, limits, 2_000).expect("to prune");
                    }
                }
            });
        }
    });
    let (turns, broken) = folder.turns();
    assert_eq!((turns.len(), broken), (80, 0));
    for file in turns.iter().flat_map(|turn| &turn.files) {
        assert_eq!(held_of(&folder.texts(), &file.before), Ok(text("same")));
        assert!(matches!(held_of(&folder.texts(), &file.after), Ok(Held::Text(..))));
    }
}

#[test]
fn what_is_old_or_too_much_goes_with_the_texts_that_only_it_names() {
    let folder = Folder::new("prune");
    let mut writer = writer();
    for at in 1..=20 {
        let unlike = format!("{at}").repeat(500);
        add(&mut writer, &folder.0, at * 100, "/a", (&text("shared"), &text(&unlike)));
    }
    prune(&folder.0, Limits { age: 1000, bytes: 1 << 20 }, 2000).expect("to prune");
    let (turns, _) = folder.turns();
    assert_eq!(turns.iter().map(|turn| turn.at).min(), Some(1000));
    prune(&folder.0, Limits { age: 1000, bytes: 5000 }, 2000).expect("to prune");
    let (turns, broken) = folder.turns();
    assert_eq!((turns[0].at, broken), (2000, 0), "the newest stay");
    assert!(turns.len() > 1 && turns.len() < 10, "{}", turns.len());
    assert!(bytes_below(&folder.0) <= 5000);
    assert_eq!(held_of(&folder.texts(), &turns[0].files[0].before), Ok(text("shared")));
    // A turn whose record was taken away while it ran is whole again with its next change.
    prune(&folder.0, Limits { age: 1, bytes: 5000 }, 9000).expect("to prune");
    add(&mut writer, &folder.0, 2000, "/a", (&text("x"), &text("y")));
    let (turns, _) = folder.turns();
    assert_eq!(held_of(&folder.texts(), &turns[0].files[0].before), Ok(text("shared")));
}

#[test]
fn a_damaged_record_is_told_of_and_costs_no_more_than_itself() {
    let folder = Folder::new("broken");
    let mut writer = writer();
    add(&mut writer, &folder.0, 1, "/a", (&text("one"), &text("two")));
    add(&mut writer, &folder.0, 2, "/a", (&text("two"), &text("three")));
    let project = folder.texts().parent().expect("the project's").to_owned();
    fs::write(project.join("0000000000003-1-1.jsonl"), "{\"at\":3,\"tu").expect("half a line");
    let (turns, broken) = folder.turns();
    assert_eq!((turns.len(), broken), (2, 1));
    let name = turns[0].files[0].before.name().expect("a text");
    fs::write(folder.texts().join(name), "").expect("a damaged text");
    let error = held_of(&folder.texts(), &turns[0].files[0].before).expect_err("damaged");
    assert!(error.ends_with("is damaged"), "{error}");
    add(&mut writer, &folder.0, 3, "/b", (&text("two"), &text("four")));
    assert_eq!(held_of(&folder.texts(), &turns[0].files[0].before), Ok(text("two")), "it is mended");
}

#[cfg(unix)]
#[test]
fn only_the_user_can_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new("private");
    add(&mut writer(), &folder.0, 1, "/a", (&text("one"), &text("two")));
    let mode = |path: &Path| fs::metadata(path).expect("its facts").permissions().mode() & 0o777;
    assert_eq!(mode(&folder.0), 0o700);
    for entry in fs::read_dir(folder.texts()).expect("texts").filter_map(Result::ok) {
        assert_eq!(mode(&entry.path()), 0o600);
    }
}

#[test]
fn texts_are_held_no_longer_than_their_turn_and_their_call() {
    let folder = Folder::new("held");
    let mut writer = writer();
    fs::create_dir_all(&folder.0).expect("a folder");
    let path = folder.0.join("looked-at");
    fs::write(&path, "one\n").expect("a file");
    let limits = Limits { age: 10_000, bytes: 1 << 20 };
    let [turn, other] = [1, 2].map(|at| TurnKey { at, number: at });
    let handle = |writer: &mut CheckpointWriter, request| writer.handle(&folder.0, limits, request);
    for (turn, entry) in [(turn, 1), (turn, 2), (turn, 1), (other, 3)] {
        handle(&mut writer, Request::Look { turn, path: path.clone(), entry });
    }
    handle(&mut writer, Request::Unlook { turn, path: path.clone(), entry: 1 });
    assert_eq!(writer.looked.len(), 2, "another call of the turn may still change it");
    handle(&mut writer, Request::Unlook { turn, path: path.clone(), entry: 2 });
    assert_eq!(writer.looked.keys().map(|(of, _)| *of).collect::<Vec<_>>(), [other]);
    for at in [1, 2] {
        add(&mut writer, &folder.0, at, "/a", (&text("one\n"), &text("two\n")));
    }
    handle(&mut writer, Request::Finish { turn: other });
    assert!(writer.looked.is_empty());
    assert_eq!(writer.turns.keys().map(|(of, _)| *of).collect::<Vec<_>>(), [turn]);
}

#[test]
fn a_file_is_only_read_for_a_call_that_may_have_changed_it() {
    let folder = Folder::new("read");
    let mut writer = writer();
    fs::create_dir_all(&folder.0).expect("a folder");
    let path = folder.0.join("a");
    fs::write(&path, "one\n").expect("a file");
    let limits = Limits { age: 10_000, bytes: 1 << 20 };
    let turn = TurnKey { at: 1, number: 1 };
    let mut handle = |request| {
        writer.handle(&folder.0, limits, request);
        writer.disks.begun()
    };
    let settle =
        || Request::Settle { turn, head: head(), at: 1, path: path.clone(), call: None, diffs: Vec::new() };
    assert_eq!(handle(settle()), 0, "nothing is known of a time before the call");
    assert_eq!(handle(Request::Look { turn, path: path.clone(), entry: 1 }), 1);
    assert_eq!(handle(settle()), 2);
}

#[cfg(unix)]
#[test]
fn a_path_that_is_no_text_comes_back_from_a_journal_byte_for_byte() {
    for name in [&b"/p/a.txt"[..], b"/p/caf\xe9.txt", b"/p/\xff\xfe"] {
        let told = Attributed { path: path_of_bytes(name), call: None, is_another: false };
        let line = Line { at: 1, fact: Fact::Attributed(told) };
        let text = serde_json::to_string(&line).expect("it can be written");
        assert_eq!(serde_json::from_str::<Line>(&text).expect("it can be read"), line, "{text}");
    }
}
