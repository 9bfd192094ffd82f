//! A worker by itself: a system that watches nothing, events that were lost, and folders that are too many.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::AtomicU32;
use std::sync::mpsc;

use super::*;
use crate::acp::wire::log::WireLog;
use crate::core::ids::SessionKey;
use crate::core::message::Event;
use crate::mailbox::Mailbox;

const SESSION: SessionKey = SessionKey(1);

struct Test {
    worker: Worker,
    common: Arc<Common>,
    folder: PathBuf,
    /// What was told of folders that the system does not watch.
    unwatched: Vec<(PathBuf, String, bool)>,
}

impl Test {
    /// A worker that has walked these files.
    fn new(files: &[(&str, &str)]) -> Self {
        Self::prepared(files, |number, common, roots| Worker::new(number, common, roots, mpsc::channel().0).0)
    }

    fn prepared(files: &[(&str, &str)], make: impl FnOnce(u64, Arc<Common>, Vec<PathBuf>) -> Worker) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("acp-index-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let folder = folder.canonicalize().expect("a folder");
        let common = Arc::new(Common::new(Mailbox::new(|_| {}), WireLog::start(None)));
        lock(&common.activities).session_began(SESSION, vec![folder.clone()]);
        let worker = make(1, common.clone(), vec![folder.clone()]);
        let mut test = Self { worker, common, folder, unwatched: Vec::new() };
        files.iter().for_each(|(name, text)| test.write(name, text));
        test.worker.build();
        test
    }

    /// The same where the system tells nothing.
    fn without_watch(files: &[(&str, &str)]) -> Self {
        let mut test = Self::new(files);
        test.worker.stop_watching();
        test
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    /// What is told at the end of something.
    fn told(&mut self) -> Vec<String> {
        self.worker.check(Some(Millis::MAX));
        let mut told = Vec::new();
        while let Some(event) = self.common.mailbox.take() {
            if let Event::FolderUnwatched { folder, why, is_looked_at } = event {
                self.unwatched.push((folder, why, is_looked_at));
                continue;
            }
            let Event::FilesChanged { cause, files } = event else { continue };
            let who = if cause == Cause::Outside { "outside" } else { "agent" };
            told.extend(files.iter().map(|file| {
                let name = file.path.strip_prefix(&self.folder).expect("inside").display();
                let text = |held: &crate::core::store::checkpoint::Held| {
                    held.as_text().map_or_else(|| "-".to_owned(), |text| text.to_string())
                };
                format!("{who} {name} {} {}", text(&file.before), text(&file.after))
            }));
        }
        told.sort();
        told
    }

    /// A turn in which an agent may say later that it has done what is done from now on.
    fn turn(&self) {
        let now = self.common.now();
        let mut activities = lock(&self.common.activities);
        activities.turn_began(SESSION, now.saturating_sub(2));
        activities.command_began(
            SESSION,
            crate::core::ids::TerminalId("t".to_owned()),
            now.saturating_sub(1),
        );
    }
}

impl Drop for Test {
    fn drop(&mut self) {
        if let Some(watch) = &self.worker.watch {
            watch.stop();
        }
        // Nothing depends on it.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn changes(test: &mut Test) {
    test.turn();
    test.write("a.txt", "A, longer");
    test.write("new/deep/c.txt", "c");
    fs::remove_file(test.folder.join("b/b.txt")).expect("a file");
    test.write("ignored/d.txt", "d");
    symlink("a.txt", test.folder.join("link")).expect("a link");
}

const FILES: &[(&str, &str)] = &[("a.txt", "a"), ("b/b.txt", "b"), (".gitignore", "ignored")];

const TOLD: &[&str] =
    &["agent a.txt a A, longer", "agent b/b.txt b -", "agent link - -", "agent new/deep/c.txt - c"];

#[test]
fn where_the_system_tells_nothing_all_files_are_looked_at() {
    let mut test = Test::without_watch(FILES);
    assert_eq!(test.told(), [""; 0]);
    changes(&mut test);
    assert_eq!(test.told(), TOLD);
    assert_eq!(test.told(), [""; 0]);
}

#[test]
fn where_the_system_has_no_more_watches_it_is_said_and_all_files_are_looked_at() {
    let mut test = Test::prepared(FILES, |number, common, roots| {
        let refused = Err(std::io::Error::from_raw_os_error(libc::EMFILE));
        Worker::with_watch(number, common, roots, (refused, Arc::default())).0
    });
    changes(&mut test);
    assert_eq!(test.told(), TOLD);
    let why = "the limit fs.inotify.max_user_instances is reached".to_owned();
    assert_eq!(test.unwatched, [(test.folder.clone(), why, true)]);
}

#[test]
#[cfg(target_os = "linux")]
fn when_no_more_folders_can_be_watched_it_is_said_and_all_files_are_looked_at() {
    let mut test = Test::new(FILES);
    // The two that there are.
    test.worker.most_folders = 2;
    changes(&mut test);
    assert_eq!(test.told(), TOLD);
    let why = "it has more than 2 folders".to_owned();
    assert_eq!(test.unwatched, [(test.folder.clone(), why, true)]);
    // The system says nothing of this one.
    test.write("new/deep/c.txt", "C, longer");
    assert_eq!(test.told(), ["agent new/deep/c.txt c C, longer"]);
    assert_eq!(test.unwatched.len(), 1, "it is said once");
}

#[test]
fn when_events_were_lost_all_files_are_looked_at() {
    let mut test = Test::new(FILES);
    changes(&mut test);
    if let Some(watch) = &test.worker.watch {
        // What was said is forgotten, as the system does when it is too much.
        drop(watch.take());
    }
    test.worker.pending.lost = true;
    assert_eq!(test.told(), TOLD);
    // New folders are watched from then on.
    test.write("new/deep/c.txt", "C, longer");
    assert_eq!(test.told(), ["agent new/deep/c.txt c C, longer"]);
}

#[test]
#[cfg(target_os = "linux")]
fn what_was_touched_is_all_that_is_looked_at() {
    let mut test = Test::new(FILES);
    changes(&mut test);
    assert_eq!(test.told(), TOLD);
    assert!(test.worker.pending.is_empty(), "nothing is left to be looked at");
    assert_eq!(test.told(), [""; 0]);
}

#[test]
fn a_change_waits_for_the_word_of_an_agent_that_may_have_done_it() {
    let mut test = Test::new(FILES);
    let now = test.common.now();
    lock(&test.common.activities).turn_began(SESSION, now.saturating_sub(2));
    test.write("a.txt", "A, longer");
    assert_eq!(test.told(), [""; 0]);
    lock(&test.common.activities).turn_ended(SESSION, test.common.now());
    let until = Instant::now() + Duration::from_secs(10);
    let mut told = test.told();
    while told.is_empty() && Instant::now() < until {
        std::thread::yield_now();
        told = test.told();
    }
    assert_eq!(told, ["outside a.txt a A, longer"]);
}

#[test]
fn a_change_that_is_heard_of_late_has_the_time_that_its_file_has() {
    let mut test = Test::without_watch(&[("a.txt", "a"), ("b.txt", "b"), ("c.txt", "c")]);
    test.turn();
    test.write("a.txt", "A, longer");
    fs::remove_file(test.folder.join("b.txt")).expect("a file");
    let user = test.common.now() + 100;
    lock(&test.common.activities).user_began(user, user);
    test.worker.is_complete.store(true, Ordering::Relaxed);
    let heard = |test: &mut Test, name: &str| {
        test.worker.pending.add(test.folder.join(name), Touched::at(user + 5));
    };
    ["a.txt", "b.txt"].iter().for_each(|name| heard(&mut test, name));
    assert_eq!(test.told(), ["agent a.txt a A, longer", "agent b.txt b -"]);

    // What the user does has its own time, too.
    let user = test.common.now().saturating_sub(COARSE);
    lock(&test.common.activities).user_began(user, user);
    test.write("c.txt", "C, longer");
    heard(&mut test, "c.txt");
    assert_eq!(test.told(), ["outside c.txt c C, longer"]);
}

#[test]
fn a_file_that_this_client_writes_is_no_news() {
    let mut test = Test::new(FILES);
    test.turn();
    let path = test.folder.join("a.txt");
    test.worker.take(Message::Writing(path.clone()));
    test.write("a.txt", "half");
    assert_eq!(test.told(), [""; 0], "while it is written");
    test.write("a.txt", "whole text");
    test.worker.take(Message::Wrote(path.clone(), Some(Written::now(&path, test.common.now()))));
    assert_eq!(test.told(), [""; 0]);
    test.write("a.txt", "another text");
    assert_eq!(test.told(), ["agent a.txt whole text another text"]);
}

#[test]
fn what_happens_to_a_file_right_after_this_client_wrote_it_is_told() {
    let mut test = Test::new(FILES);
    test.turn();
    for (name, is_new) in [("a.txt", false), ("put/back.txt", true)] {
        let path = test.folder.join(name);
        test.worker.take(Message::Writing(path.clone()));
        test.write(name, "ours");
        let written = Written::now(&path, test.common.now());
        // Before the worker has heard that it was written.
        match is_new {
            true => fs::remove_dir_all(test.folder.join("put")).expect("a folder"),
            false => fs::remove_file(&path).expect("a file"),
        }
        test.worker.take(Message::Wrote(path, Some(written)));
        assert_eq!(test.told(), [format!("agent {name} ours -")]);
    }
    let path = test.folder.join("b/b.txt");
    test.worker.take(Message::Writing(path.clone()));
    test.write("b/b.txt", "ours");
    let written = Written::now(&path, test.common.now());
    test.write("b/b.txt", "theirs");
    test.worker.take(Message::Wrote(path, Some(written)));
    assert_eq!(test.told(), ["agent b/b.txt ours theirs"]);
}

#[test]
fn what_this_client_could_not_write_is_told_as_ever() {
    let mut test = Test::new(FILES);
    test.turn();
    let path = test.folder.join("a.txt");
    test.worker.take(Message::Writing(path.clone()));
    test.write("a.txt", "theirs");
    test.worker.take(Message::Wrote(path, None));
    assert_eq!(test.told(), ["agent a.txt a theirs"]);
}

#[test]
#[cfg(target_os = "linux")]
fn who_writes_a_file_by_one_of_its_names_writes_it_by_all() {
    let mut test = Test::new(FILES);
    test.turn();
    fs::hard_link(test.folder.join("a.txt"), test.folder.join("b/other")).expect("another name");
    assert_eq!(test.told(), ["agent b/other - a"]);
    test.write("b/other", "A, longer");
    assert_eq!(test.told(), ["agent a.txt a A, longer", "agent b/other a A, longer"]);
}

/// The rules were taken in already, the file and the folder have their events still in the queue.
#[test]
#[cfg(target_os = "linux")]
fn what_comes_while_the_rules_are_read_again_is_new() {
    let mut test = Test::new(FILES);
    test.turn();
    test.write("new.txt", "");
    test.write("folder/deep.txt", "deep");
    test.worker.rules_changed(&test.folder.clone());
    test.write("new.txt", "new");
    assert_eq!(test.told(), ["agent folder/deep.txt - deep", "agent new.txt - new"]);
}

#[test]
fn of_folders_in_each_other_the_inner_ones_worker_tells() {
    let mut test = Test::new(FILES);
    lock(&test.common.roots).insert(1, vec![test.folder.clone()]);
    lock(&test.common.roots).insert(2, vec![test.folder.join("b")]);
    test.turn();
    test.write("a.txt", "A, longer");
    test.write("b/b.txt", "B, longer");
    assert_eq!(test.told(), ["agent a.txt a A, longer"]);
    lock(&test.common.roots).remove(&2);
    test.write("b/b.txt", "again another");
    assert_eq!(test.told(), ["agent b/b.txt B, longer again another"]);
}

#[test]
fn what_neovim_keeps_inside_of_a_project_is_no_change_of_it() {
    let mut test = Test::prepared(&[("a", "1"), (".state/nvim/acp/usage", "1")], |number, common, roots| {
        *lock(&common.own) = vec![roots[0].join(".state/nvim"), roots[0].clone()];
        Worker::new(number, common, roots, mpsc::channel().0).0
    });
    test.turn();
    test.write(".state/nvim/acp/usage", "2");
    test.write(".state/nvim/swap/%a.swp", "2");
    test.write(".state/other", "2");
    test.write("a", "2");
    assert_eq!(test.told(), ["agent .state/other - 2", "agent a 1 2"]);
    // A folder that comes later, and where the system tells nothing.
    fs::remove_dir_all(test.folder.join(".state/nvim")).expect("to be removed");
    test.write(".state/nvim/acp/usage", "3");
    assert_eq!(test.told(), [""; 0]);
    test.worker.is_complete.store(false, Ordering::Relaxed);
    test.write(".state/nvim/acp/usage", "4");
    assert_eq!(test.told(), [""; 0]);
}

/// What git does with its own files, and what a command does with those that something else runs later.
fn changes_of_git(test: &Test) {
    test.write(".git/hooks/pre-commit", "#!/bin/sh");
    test.write(".git/config", "[core], longer");
    test.write(".git/info/attributes", "* diff=x");
    for own in ["HEAD", "index", "objects/aa/bb", "hooks/update.sample", "config.lock", "info/exclude"] {
        test.write(&format!(".git/{own}"), "x");
    }
}

const GIT: &[(&str, &str)] = &[("a.txt", "a"), (".gitignore", "*"), (".git/config", "[core]")];

const TOLD_OF_GIT: &[&str] = &[
    "agent .git/config [core] [core], longer",
    "agent .git/hooks/pre-commit - #!/bin/sh",
    "agent .git/info/attributes - * diff=x",
];

#[test]
fn hooks_and_settings_of_git_are_told_of_and_nothing_else_of_it() {
    // Its folders may be new.
    for (more, has_watch) in [(None, true), (Some((".git/hooks/x.sample", "x")), true), (None, false)] {
        let files: Vec<_> = GIT.iter().copied().chain(more).collect();
        let mut test = if has_watch { Test::new(&files) } else { Test::without_watch(&files) };
        test.turn();
        changes_of_git(&test);
        assert_eq!(test.told(), TOLD_OF_GIT, "{more:?}, watched: {has_watch}");
        // What is ignored is something else; that changes none of them.
        test.worker.rules_changed(&test.folder.clone());
        assert_eq!(test.told(), [""; 0]);
        test.write(".git/hooks/pre-commit", "#!/bin/sh -x");
        assert_eq!(test.told(), ["agent .git/hooks/pre-commit #!/bin/sh #!/bin/sh -x"]);
        fs::remove_file(test.folder.join(".git/hooks/pre-commit")).expect("a hook");
        assert_eq!(test.told(), ["agent .git/hooks/pre-commit #!/bin/sh -x -"]);
    }
}
