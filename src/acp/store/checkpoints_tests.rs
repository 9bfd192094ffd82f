//! What the disk holds of checkpoints after writers, prunings and accidents.

use std::thread;

use super::*;
use crate::core::store::checkpoint::Kind;

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

fn add(writer: &mut CheckpointWriter, folder: &Path, at: u64, path: &str, before: &Held, after: &Held) {
    let turn = TurnKey { at, number: at };
    let path = Path::new(path);
    let adding = Adding { turn, head: &head(), at, path, call: None, before, after };
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
    add(&mut writer, &folder.0, 1, "/a", &text("one\n"), &text("two\n"));
    add(&mut writer, &folder.0, 1, "/a", &text("two\n"), &text("three\nfour\n"));
    add(&mut writer, &folder.0, 1, "/new", &Held::Absent, &text("one\n"));
    add(&mut writer, &folder.0, 2, "/big", &text(&"x".repeat(LARGEST + 1)), &Held::Absent);
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
                    add(&mut writer, folder, at, "/a", &text("same"), &after);
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
        add(&mut writer, &folder.0, at * 100, "/a", &text("shared"), &text(&unlike));
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
    add(&mut writer, &folder.0, 2000, "/a", &text("x"), &text("y"));
    let (turns, _) = folder.turns();
    assert_eq!(held_of(&folder.texts(), &turns[0].files[0].before), Ok(text("shared")));
}

#[test]
fn a_damaged_record_is_told_of_and_costs_no_more_than_itself() {
    let folder = Folder::new("broken");
    let mut writer = writer();
    add(&mut writer, &folder.0, 1, "/a", &text("one"), &text("two"));
    add(&mut writer, &folder.0, 2, "/a", &text("two"), &text("three"));
    let project = folder.texts().parent().expect("the project's").to_owned();
    fs::write(project.join("0000000000003-1-1.jsonl"), "{\"at\":3,\"tu").expect("half a line");
    let (turns, broken) = folder.turns();
    assert_eq!((turns.len(), broken), (2, 1));
    let name = turns[0].files[0].before.name().expect("a text");
    fs::write(folder.texts().join(name), "").expect("a damaged text");
    let error = held_of(&folder.texts(), &turns[0].files[0].before).expect_err("damaged");
    assert!(error.ends_with("is damaged"), "{error}");
    add(&mut writer, &folder.0, 3, "/b", &text("two"), &text("four"));
    assert_eq!(held_of(&folder.texts(), &turns[0].files[0].before), Ok(text("two")), "it is mended");
}

#[cfg(unix)]
#[test]
fn only_the_user_can_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new("private");
    add(&mut writer(), &folder.0, 1, "/a", &text("one"), &text("two"));
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
    let grant = |writer: &mut CheckpointWriter, wish| writer.grant(&folder.0, limits, wish);
    for (turn, entry) in [(turn, 1), (turn, 2), (turn, 1), (other, 3)] {
        grant(&mut writer, Wish::Look { turn, path: path.clone(), entry });
    }
    grant(&mut writer, Wish::Unlook { turn, path: path.clone(), entry: 1 });
    assert_eq!(writer.looked.len(), 2, "another call of the turn may still change it");
    grant(&mut writer, Wish::Unlook { turn, path: path.clone(), entry: 2 });
    assert_eq!(writer.looked.keys().map(|(of, _)| *of).collect::<Vec<_>>(), [other]);
    for at in [1, 2] {
        add(&mut writer, &folder.0, at, "/a", &text("one\n"), &text("two\n"));
    }
    grant(&mut writer, Wish::Finish { turn: other });
    assert!(writer.looked.is_empty());
    assert_eq!(writer.turns.keys().map(|(of, _)| *of).collect::<Vec<_>>(), [turn]);
}
