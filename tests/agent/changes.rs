//! Files in the folders of sessions, as real commands change them: what is told of them, and whose it was.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command as Program;
use std::time::{Duration, SystemTime};

use acp_nvim::core::ids::*;
use acp_nvim::core::message::*;
use acp_nvim::core::store::checkpoint::Held;
use serde_json::{Value, json};

use super::support::*;
use super::watching::changes_until_now;

/// A tool call of the session "s1".
fn call(id: &str, kind: &str, status: &str) -> Value {
    update(&json!({
        "sessionUpdate": "tool_call", "toolCallId": id, "title": id, "kind": kind, "status": status,
    }))
}

fn ended(id: &str) -> Value {
    update(&json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed"}))
}

fn run(command: &str) -> Value {
    json!({ "run": command })
}

/// A turn for each command, with a call that runs it.
fn turns(commands: &[&str]) -> Vec<Value> {
    let mut steps = Vec::new();
    for (number, command) in commands.iter().enumerate() {
        let id = format!("c{number}");
        let begin = call(&id, "execute", "in_progress");
        steps.extend([expect("session/prompt"), begin, run(command), ended(&id), end_turn()]);
    }
    steps
}

/// What has been told until the end of the turns, a line for each file.
fn after_turns(test: &mut Test, steps: &[Value]) -> Vec<String> {
    test.open(steps);
    for _ in steps.iter().filter(|step| step["expect"] == "session/prompt") {
        test.prompt("x");
        test.stop_reason();
    }
    told(test)
}

/// What a command in a call has changed.
fn changed_by(test: &mut Test, command: &str) -> Vec<String> {
    after_turns(test, &turns(&[command]))
}

fn told(test: &mut Test) -> Vec<String> {
    let project = test.project();
    let mut lines = Vec::new();
    for event in test.events() {
        if let Event::FilesChanged { cause, files } = event {
            lines.extend(files.iter().map(|file| line(&cause, file, &project)));
        }
    }
    lines
}

fn wait_told(test: &mut Test, wanted: &str) {
    let project = test.project();
    test.wait(wanted, |event| match event {
        Event::FilesChanged { cause, files } => {
            files.iter().any(|file| line(cause, file, &project) == wanted).then_some(())
        }
        _ => None,
    });
}

/// The same with the texts that are kept until they are asked for.
fn told_in_full(test: &mut Test) -> Vec<String> {
    let project = test.project();
    let mut lines = Vec::new();
    for event in test.events() {
        let Event::FilesChanged { cause, files } = event else { continue };
        for mut file in files {
            if let Some(number) = file.later {
                let texts = later_texts(test, vec![number]).pop().flatten();
                (file.before, file.after) = texts.expect("its texts are kept");
            }
            lines.push(line(&cause, &file, &project));
        }
    }
    lines
}

fn later_texts(test: &mut Test, numbers: Vec<u64>) -> Vec<Option<(Held, Held)>> {
    test.send(Command::Compute { job: JobId(9), work: Work::ChangedTexts { numbers } });
    test.wait("the texts", |event| match event {
        Event::Computed { job: JobId(9), outcome: Outcome::ChangedTexts(texts) } => Some(texts.clone()),
        _ => None,
    })
}

/// As "c0: a.txt: one => two", with newlines as "/".
fn line(cause: &Cause, file: &ChangedFile, project: &Path) -> String {
    let name = |path: &Path| path.strip_prefix(project).unwrap_or(path).display().to_string();
    let is_other_mode = !file.before.mode().matches(file.after.mode());
    let side = |held: &Held| match held {
        Held::Absent => "nothing".to_owned(),
        Held::Text(text, _) if text.len() > 1000 => format!("{} bytes of text", text.len()),
        Held::Text(text, mode) if is_other_mode => format!("{} {mode}", text.replace('\n', "/")),
        Held::Text(text, _) => text.replace('\n', "/"),
        Held::Bytes(bytes, _) => format!("{} bytes", bytes.len()),
        Held::Link(target) => format!("to {}", target.display()),
        Held::Unknown => "?".to_owned(),
    };
    let from = file.renamed_from.as_ref().map(|from| format!("{} -> ", name(from))).unwrap_or_default();
    let why = file.unknown.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    format!(
        "{}: {from}{}: {} => {}{why}",
        who(cause),
        name(&file.path),
        side(&file.before),
        side(&file.after)
    )
}

fn who(cause: &Cause) -> String {
    let one = |activity: &Activity| match (&activity.call, &activity.terminal) {
        (Some(call), None) => call.0.clone(),
        (Some(call), Some(_)) => format!("{} in a terminal", call.0),
        (None, Some(_)) => "a terminal".to_owned(),
        (None, None) => "a turn".to_owned(),
    };
    match cause {
        Cause::Outside => "outside".to_owned(),
        Cause::Session(activity) => one(activity),
        Cause::OneOf(all) => all.iter().map(one).collect::<Vec<_>>().join(" or "),
    }
}

fn git(test: &Test, command: &str) {
    let script = format!("git -c user.name=a -c user.email=a@example.org {command}");
    let status = Program::new("sh").args(["-c", &script]).current_dir(test.project()).output().unwrap();
    assert!(status.status.success(), "{script}: {status:?}");
}

/// A project with all its files in a commit.
fn repository(files: &[(&str, &str)]) -> Test {
    let test = Test::new();
    for (name, text) in files {
        test.file(name, text);
    }
    git(&test, "init -q -b main .");
    git(&test, "add -A && git -c user.name=a -c user.email=a@example.org commit -q -m one");
    test
}

#[test]
fn a_file_that_a_command_edits_is_told_of_with_its_text_before() {
    for command in [
        "sed -i s/two/TWO/ a.txt",
        "perl -pi -e s/two/TWO/ a.txt",
        "printf 'one\nTWO\n' > a.txt",
        "printf 'one\nTWO\n' | tee a.txt",
        "cat > a.txt <<EOF\none\nTWO\nEOF",
        "python3 -c 'open(\"a.txt\", \"w\").write(\"one\\nTWO\\n\")'",
    ] {
        let mut test = Test::new();
        test.file("a.txt", "one\ntwo\n");
        test.file("b.txt", "b");
        assert_eq!(changed_by(&mut test, command), ["c0: a.txt: one/two/ => one/TWO/"], "{command}");
        let mut test = repository(&[("a.txt", "one\ntwo\n"), ("b.txt", "b")]);
        assert_eq!(changed_by(&mut test, command), ["c0: a.txt: one/two/ => one/TWO/"], "{command}, in git");
    }
}

#[test]
fn files_that_are_created_removed_and_renamed_are_told_of() {
    for mut test in [Test::new(), repository(&[("z.txt", "z")])] {
        test.file("a.txt", "a\n");
        test.file("b/c.txt", "c\n");
        let commands =
            "rm a.txt; mv b/c.txt b/d.txt; mkdir -p new/deep; echo e > new/deep/e.txt; cp -r new copy";
        assert_eq!(
            changed_by(&mut test, commands),
            [
                "c0: a.txt: a/ => nothing",
                "c0: b/c.txt -> b/d.txt: c/ => c/",
                "c0: copy/deep/e.txt: nothing => e/",
                "c0: new/deep/e.txt: nothing => e/",
            ]
        );
    }
}

#[test]
fn what_git_does_to_files_is_told_of() {
    for (command, expected) in [
        ("git mv a.txt c.txt", &["c0: a.txt -> c.txt: one/ => one/"][..]),
        ("git checkout -q other", &["c0: a.txt: one/ => other/", "c0: b.txt: b => nothing"]),
        ("git checkout -q -b new && echo two > a.txt && git commit -qam x", &["c0: a.txt: one/ => two/"]),
        ("git checkout -q other && git checkout -q main", &[]),
        ("echo two > a.txt; git stash -q; git stash pop -q", &["c0: a.txt: one/ => two/"]),
        ("git rm -q b.txt", &["c0: b.txt: b => nothing"]),
        ("git status -s; git add -A; git log --oneline", &[]),
    ] {
        let mut test = repository(&[("a.txt", "one\n"), ("b.txt", "b")]);
        git(&test, "config user.name a");
        git(&test, "config user.email a@example.org");
        git(&test, "checkout -q -b other");
        test.file("a.txt", "other\n");
        git(&test, "rm -q b.txt");
        git(&test, "commit -qam two");
        git(&test, "checkout -q main");
        assert_eq!(changed_by(&mut test, command), expected, "{command}");
    }
}

#[test]
fn what_was_stashed_was_changed() {
    let mut test = repository(&[("a.txt", "one\n")]);
    git(&test, "config user.name a");
    git(&test, "config user.email a@example.org");
    test.file("a.txt", "edited\n");
    let steps = turns(&["git stash -q", "git stash pop -q"]);
    assert_eq!(after_turns(&mut test, &steps), ["c0: a.txt: edited/ => one/", "c1: a.txt: one/ => edited/"]);
}

#[test]
fn what_is_ignored_is_not_told_of() {
    for mut test in [Test::new(), repository(&[("z.txt", "z")])] {
        test.file(".gitignore", "target/\n*.o\nnode_modules\n");
        test.file("target/debug/a", "a");
        test.file("src/.gitignore", "local.txt");
        test.file("src/a.c", "a");
        let commands = "echo b > target/debug/a; mkdir -p target/new node_modules/x; echo > target/new/b; \
                        echo > node_modules/x/index.js; echo > a.o; echo > src/b.o; echo > src/local.txt; \
                        echo > src/.b.c.swp; echo c > src/c.c; mkdir -p deep/target; echo > deep/target/x";
        assert_eq!(changed_by(&mut test, commands), ["c0: src/c.c: nothing => c/"]);
    }
}

#[test]
fn a_change_of_what_is_ignored_is_that_of_one_file() {
    let mut test = Test::new();
    test.file(".gitignore", "out/\n");
    test.file("out/a.txt", "a");
    test.file("log/b.txt", "b");
    let steps = turns(&["echo log/ > .gitignore", "echo c > out/a.txt; echo d > log/b.txt"]);
    assert_eq!(after_turns(&mut test, &steps), ["c0: .gitignore: out// => log//", "c1: out/a.txt: a => c/"]);
}

#[test]
fn what_a_repository_ignores_by_its_own_file_is_known_at_once() {
    let mut test = repository(&[("a.txt", "a")]);
    test.file("tmp/b.txt", "b");
    let steps = turns(&["echo tmp/ > .git/info/exclude", "echo c > tmp/b.txt; echo d > a.txt"]);
    assert_eq!(after_turns(&mut test, &steps), ["c1: a.txt: a => d/"]);
}

#[test]
fn links_modes_and_bytes_are_told_of() {
    for mut test in [Test::new(), repository(&[("z.txt", "z")])] {
        test.file("a.sh", "a\n");
        test.file("b.bin", "b\0b");
        test.file("t.txt", "t");
        std::os::unix::fs::symlink("a.sh", test.path("link")).unwrap();
        let commands =
            "chmod +x a.sh; printf 'c\\0c' > b.bin; ln -sf b.bin link; ln -s nowhere new; touch t.txt";
        assert_eq!(
            changed_by(&mut test, commands),
            [
                "c0: a.sh: a/ 644 => a/ 755",
                "c0: b.bin: 3 bytes => 3 bytes",
                "c0: link: to a.sh => to b.bin",
                "c0: new: nothing => to nowhere",
            ]
        );
    }
}

#[test]
fn texts_are_told_byte_for_byte() {
    let mut test = repository(&[("a.txt", "\u{feff}one\r\ntwo"), (".gitattributes", "*.crlf eol=crlf\n")]);
    test.file("b.crlf", "b\r\n");
    git(&test, "add -A");
    git(&test, "commit -qm two");
    let commands = "printf 'one\\n' > a.txt; printf 'c\\r\\n' > b.crlf";
    assert_eq!(
        changed_by(&mut test, commands),
        ["c0: a.txt: \u{feff}one\r/two => one/", "c0: b.crlf: b\r/ => c\r/"]
    );
}

#[test]
fn why_a_text_is_not_known_is_said() {
    let mut test = Test::new();
    test.file("huge.txt", &"x".repeat((4 << 20) + 1));
    assert_eq!(changed_by(&mut test, "echo >> huge.txt"), ["c0: huge.txt: ? => ? (larger than 4 MB)"]);
}

#[test]
fn what_a_large_file_held_is_known_where_there_was_room_for_a_copy_of_it() {
    let mut test = Test::new();
    // All together take more than there is, and those that were changed last come first.
    for number in 0..20 {
        let path = test.file(&format!("large{number:02}.txt"), &"x".repeat(4 << 20));
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - number);
        fs::File::options().write(true).open(path).unwrap().set_modified(changed).unwrap();
    }
    test.file("small.txt", "x");
    after_turns(&mut test, &turns(&["for file in large00 large15 large16 small; do echo > $file.txt; done"]));
    assert_eq!(
        told_in_full(&mut test),
        [
            "c0: large00.txt: 4194304 bytes of text => /",
            "c0: large15.txt: ? => / (larger than 1 MB, and there was no room for a copy of it)",
            "c0: large16.txt: ? => / (larger than 1 MB, and there was no room for a copy of it)",
            "c0: small.txt: x => /",
        ]
    );
}

#[test]
fn what_a_large_file_held_is_known_from_its_last_change() {
    let mut test = Test::new();
    // There is room for sixteen of them, and this is not one of those.
    for number in 0..16 {
        test.file(&format!("other{number}.txt"), &"x".repeat(4 << 20));
    }
    let path = test.file("large.txt", &"x".repeat((1 << 20) + 1));
    fs::File::options().write(true).open(path).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    let steps = turns(&["echo >> large.txt", "echo >> large.txt", "mv large.txt b.txt", "rm b.txt"]);
    after_turns(&mut test, &steps);
    assert_eq!(
        told_in_full(&mut test),
        [
            "c0: large.txt: ? => 1048578 bytes of text (larger than 1 MB, and there was no room for a copy of it)",
            "c1: large.txt: 1048578 bytes of text => 1048579 bytes of text",
            "c2: large.txt -> b.txt: 1048579 bytes of text => 1048579 bytes of text",
            "c3: b.txt: 1048579 bytes of text => nothing",
        ]
    );
}

#[test]
fn what_a_large_file_held_is_known_from_who_wrote_it_here() {
    let mut test = Test::new();
    test.file("large.txt", "x");
    let mut steps = vec![
        expect("session/prompt"),
        call("w", "edit", "in_progress"),
        request(
            7,
            "fs/write_text_file",
            &json!({"sessionId": "s1", "path": test.path("large.txt"), "content": "y".repeat((1 << 20) + 1)}),
        ),
        json!({"answer": 7}),
        ended("w"),
        end_turn(),
    ];
    steps.extend(turns(&["echo > large.txt"]));
    after_turns(&mut test, &steps);
    assert_eq!(told_in_full(&mut test), ["c0: large.txt: 1048577 bytes of text => /"]);
}

#[test]
fn what_changes_while_no_call_runs_is_from_outside() {
    let mut test = Test::new();
    test.file("a.txt", "one");
    test.open(&turns(&["echo two > b.txt", "echo three > c.txt"]));
    test.prompt("x");
    test.stop_reason();
    test.file("a.txt", "two");
    wait_told(&mut test, "outside: a.txt: one => two");
    test.file("a.txt", "three");
    test.prompt("y");
    test.stop_reason();
    wait_told(&mut test, "outside: a.txt: two => three");
    let told = told(&mut test);
    assert!(told.contains(&"c1: c.txt: nothing => three/".to_owned()), "{told:?}");
    assert_eq!(told.len(), 4, "{told:?}");
}

#[test]
fn what_changes_while_a_call_waits_for_the_user_is_from_outside() {
    let mut test = Test::new();
    test.file("a.txt", "one");
    test.open(&[
        expect("session/prompt"),
        permission(7, "c0"),
        json!({"answer": 7}),
        run("echo b > b.txt"),
        ended("c0"),
        update(&chunk("done")),
        end_turn(),
    ]);
    test.prompt("x");
    let (ask, _) = test.question();
    test.file("a.txt", "two");
    test.answer(ask, Answer::Selected("yes".into()));
    test.stop_reason();
    wait_told(&mut test, "outside: a.txt: one => two");
    let mut told = told(&mut test);
    told.sort();
    assert_eq!(told, ["c0: b.txt: nothing => b/", "outside: a.txt: one => two"]);
}

#[test]
fn a_call_that_is_announced_when_it_is_over_has_done_what_was_done_since_the_message_before() {
    let mut test = Test::new();
    test.file("a.txt", "one");
    let steps = [
        expect("session/prompt"),
        update(&chunk("I edit it.")),
        run("echo two > a.txt"),
        call("late", "edit", "completed"),
        end_turn(),
        expect("session/prompt"),
        run("echo three > a.txt"),
        call("later", "edit", "completed"),
        end_turn(),
    ];
    assert_eq!(after_turns(&mut test, &steps), ["late: a.txt: one => two/", "later: a.txt: two/ => three/"]);
}

/// Two sessions, in each of which a call runs from the beginning of the steps on.
fn in_two_sessions(test: &mut Test, steps: &[Value]) -> Vec<String> {
    let begin = |session: &str, call: &str| {
        notify(
            "session/update",
            &json!({"sessionId": session, "update": {
                "sessionUpdate": "tool_call", "toolCallId": call, "title": call, "kind": "execute",
                "status": "in_progress",
            }}),
        )
    };
    let answer = |prompt: &str| json!({"send": {"jsonrpc": "2.0", "id": format!("${prompt}"), "result": {"stopReason": "end_turn"}}});
    // What is sent before a request has been read when it is answered.
    let path = test.path("a.txt");
    let ask = request(9, "fs/read_text_file", &json!({"sessionId": "s1", "path": path}));
    let mut all = vec![
        expect("session/new"),
        answer_to("session/new", &json!({"sessionId": "s2"})),
        json!({"expect": "session/prompt", "as": "one"}),
        json!({"expect": "session/prompt", "as": "two"}),
        begin("s1", "c1"),
        begin("s2", "c2"),
        ask,
        json!({"answer": 9}),
    ];
    all.extend_from_slice(steps);
    all.extend([answer("one"), answer("two")]);
    test.open(&all);
    test.send(test.open_command(SessionKey(2)));
    test.opened();
    test.prompt("x");
    test.send(Command::Prompt { session: SessionKey(2), content: vec![Content::Text("y".into())] });
    test.stop_reason();
    test.stop_reason();
    told(test)
}

#[test]
fn of_two_sessions_at_work_it_was_one() {
    let mut test = Test::new();
    test.file("a.txt", "one");
    let told = in_two_sessions(&mut test, &[run("echo two > a.txt")]);
    assert_eq!(told, ["c1 or c2: a.txt: one => two/"]);
}

#[test]
#[cfg(target_os = "linux")]
fn of_two_sessions_at_work_it_was_the_one_whose_command_had_the_file_open() {
    let mut test = Test::new();
    test.file("a.txt", "one");
    // Each write is an occasion to see who has the file open: on a busy machine some are missed.
    let script = "import time
f = open('a.txt', 'w')
for _ in range(150):
    f.seek(0); f.write('two'); f.flush(); time.sleep(0.02)
f.close()";
    let create = request(
        11,
        "terminal/create",
        &json!({"sessionId": "s2", "command": "python3", "args": ["-c", script]}),
    );
    let wait = request(12, "terminal/wait_for_exit", &json!({"sessionId": "s2", "terminalId": "terminal-1"}));
    let steps = [create, json!({"answer": 11}), wait, json!({"answer": 12})];
    assert_eq!(in_two_sessions(&mut test, &steps), ["c2 in a terminal: a.txt: one => two"]);
}

#[test]
#[cfg(target_os = "linux")]
fn of_two_sessions_at_work_it_was_the_one_whose_commands_child_in_a_session_of_its_own_had_the_file_open() {
    commands_child_writes("; until [ -e ../done ]; do sleep 0.01; done");
}

#[test]
#[cfg(target_os = "linux")]
fn of_two_sessions_at_work_it_was_the_one_whose_command_left_a_process_behind_that_had_the_file_open() {
    commands_child_writes("");
}

#[test]
#[cfg(target_os = "linux")]
fn what_a_command_of_an_earlier_turn_left_behind_changes_is_not_another_sessions() {
    let mut test = Test::new();
    test.file("a.txt", "one");
    let [create, created, wait, waited] = leaves_a_writer(&test, "");
    let steps = [
        expect("session/new"),
        answer_to("session/new", &json!({"sessionId": "s2"})),
        expect("session/prompt"),
        create,
        created,
        wait,
        waited,
        end_turn(),
        expect("session/prompt"),
        call("c1", "execute", "in_progress"),
        run(WRITES_NOW),
        ended("c1"),
        end_turn(),
    ];
    test.open(&steps);
    test.send(test.open_command(SessionKey(2)));
    test.opened();
    test.send(Command::Prompt { session: SessionKey(2), content: vec![Content::Text("y".into())] });
    test.stop_reason();
    test.prompt("x");
    test.stop_reason();
    let told = test.events().into_iter().find_map(|event| match event {
        Event::FilesChanged { cause, .. } => Some(cause),
        _ => None,
    });
    let Some(Cause::Session(activity)) = told else { panic!("{told:?}") };
    let terminal = Some(TerminalId("terminal-1".into()));
    assert_eq!((activity.session, activity.terminal), (SessionKey(2), terminal));
}

/// Two sessions are at work, and a command of the second one's starts what leaves it and writes for a while, and then
/// does this.
#[cfg(target_os = "linux")]
fn commands_child_writes(then: &str) {
    let mut test = Test::new();
    test.file("a.txt", "one");
    let [create, created, wait, waited] = leaves_a_writer(&test, then);
    let steps = match then {
        "" => [create, created, wait, waited, run(WRITES_NOW)],
        _ => [create, created, run(WRITES_NOW), wait, waited],
    };
    assert_eq!(in_two_sessions(&mut test, &steps), ["c2 in a terminal: a.txt: one => two"]);
}

/// Has what [`leaves_a_writer`] has left write, and waits until it has.
#[cfg(target_os = "linux")]
const WRITES_NOW: &str = "touch ../go; until [ -e ../done ]; do sleep 0.01; done";

/// A command of the session "s2" that leaves something behind in a session of its own, which is to write a.txt for a
/// while, and that then does this; and the wait for its end.
#[cfg(target_os = "linux")]
fn leaves_a_writer(test: &Test, then: &str) -> [Value; 4] {
    // Each write is an occasion to see who has the file open.
    let writes = "import os, time
open('../began', 'w')
while not os.path.exists('../go'): time.sleep(0.01)
f = open('a.txt', 'w')
for _ in range(150):
    f.seek(0); f.write('two'); f.flush(); time.sleep(0.02)
f.close()
open('../done', 'w')";
    fs::write(test.folder.join("writes.py"), writes).unwrap();
    let begun = "until [ -e ../began ]; do sleep 0.01; done";
    let line = format!("setsid -f python3 ../writes.py; {begun}{then}");
    let command = json!({"sessionId": "s2", "command": "sh", "args": ["-c", line]});
    let wait = json!({"sessionId": "s2", "terminalId": "terminal-1"});
    [
        request(11, "terminal/create", &command),
        json!({"answer": 11}),
        request(12, "terminal/wait_for_exit", &wait),
        json!({"answer": 12}),
    ]
}

#[test]
#[cfg(target_os = "linux")]
fn of_two_agents_at_work_it_was_the_one_whose_own_child_had_the_file_open() {
    own_child_writes("");
}

#[test]
#[cfg(target_os = "linux")]
fn of_two_agents_at_work_it_was_the_one_whose_child_in_a_session_of_its_own_had_the_file_open() {
    own_child_writes("setsid -f ");
}

/// Two agents are at work, and the second one starts a command in this way, which writes for a while.
#[cfg(target_os = "linux")]
fn own_child_writes(starts: &str) {
    let mut test = Test::new();
    test.file("a.txt", "one");
    let [go, done] = ["go", "done"].map(|name| test.folder.join(name));
    let wait = |path: &Path| format!("until [ -e {} ]; do sleep 0.01; done", path.display());
    // Each write is an occasion to see who has the file open.
    let writes = "python3 -c '
import time
f = open(\"a.txt\", \"w\")
for _ in range(150):
    f.seek(0); f.write(\"two\"); f.flush(); time.sleep(0.02)
f.close()'";
    let turn = |id: &str, command: &str| {
        [expect("session/prompt"), call(id, "execute", "in_progress"), run(command), ended(id), end_turn()]
    };
    test.open(&turn("c1", &wait(&done)));
    let script = test.folder.join("writes.sh");
    fs::write(&script, format!("{writes}; touch {}", done.display())).unwrap();
    let writer = turn("c2", &format!("{}; {starts}sh {}; {}", wait(&go), script.display(), wait(&done)));
    let other = AgentId(2);
    let answer = |method, result: Value| [expect(method), answer_to(method, &result)];
    let mut steps = answer("initialize", json!({"protocolVersion": 1})).to_vec();
    steps.extend(answer("session/new", json!({"sessionId": "s1"})));
    steps.extend(writer);
    let launch = test.launch("other", &steps);
    test.send(Command::Connect { agent: other, launch: Box::new(launch) });
    test.wait("the other agent", |event| match event {
        Event::Connected { agent, .. } if *agent == other => Some(()),
        _ => None,
    });
    test.send(Command::Open { agent: other, session: SessionKey(2), place: test.place() });
    test.opened();
    test.prompt("x");
    test.send(Command::Prompt { session: SessionKey(2), content: vec![Content::Text("y".into())] });
    for id in ["c1", "c2"] {
        test.wait(id, |event| match event {
            Event::Updated { update: Update::ToolCall(call), .. } if call.id.0 == id => Some(()),
            _ => None,
        });
    }
    fs::write(&go, "").unwrap();
    test.stop_reason();
    test.stop_reason();
    assert_eq!(told(&mut test), ["c2: a.txt: one => two"]);
}

#[test]
fn what_the_editor_saves_is_no_news() {
    let mut test = Test::new();
    let path = test.file("a.txt", "one");
    test.open(&turns(&["echo b > b.txt"]));
    test.send(Command::Watch { session: SESSION, path: path.clone() });
    test.prompt("x");
    test.stop_reason();
    // As Neovim saves: a new file takes the old one's name.
    let new = test.file("4913", "two");
    fs::rename(new, &path).unwrap();
    let saved = fs::metadata(&path).unwrap();
    let stamp = Stamp { written: (saved.mtime(), saved.mtime_nsec()), size: saved.len(), inode: saved.ino() };
    test.send(Command::Compute { job: JobId(3), work: Work::Saved { path, stamp } });
    test.file("c.txt", "c");
    wait_told(&mut test, "outside: c.txt: nothing => c");
    assert_eq!(told(&mut test), ["c0: b.txt: nothing => b/", "outside: c.txt: nothing => c"]);
    // What it holds now is known all the same.
    test.file("a.txt", "three");
    wait_told(&mut test, "outside: a.txt: two => three");
}

#[test]
fn what_is_written_through_the_client_is_told_only_as_that() {
    let mut test = Test::new();
    let path = test.file("a.txt", "one");
    let write = |id: i64, path: &Path, content: &str| {
        request(id, "fs/write_text_file", &json!({"sessionId": "s1", "path": path, "content": content}))
    };
    let steps = [
        expect("session/prompt"),
        call("c0", "edit", "in_progress"),
        write(5, &path, "two"),
        json!({"answer": 5}),
        write(6, &test.path("new/deep/b.txt"), "b"),
        json!({"answer": 6}),
        ended("c0"),
        end_turn(),
        expect("session/prompt"),
        call("c1", "execute", "in_progress"),
        run("echo three > a.txt; echo c > new/deep/b.txt"),
        ended("c1"),
        end_turn(),
    ];
    let expected = ["c1: a.txt: two => three/", "c1: new/deep/b.txt: b => c/"];
    assert_eq!(after_turns(&mut test, &steps), expected);
}

#[test]
fn thousands_of_files_are_told_of_without_their_texts_which_can_be_asked_for() {
    let mut test = Test::new();
    let script = "import os\nfor n in range(5000):\n open(f'f{n:04}', 'w').write(str(n) + 'x' * 2000)\n";
    test.file("make.py", script);
    let told = changed_by(&mut test, "python3 make.py");
    assert_eq!(told.len(), 5000);
    let mut later = Vec::new();
    for event in test.events() {
        let Event::FilesChanged { files, .. } = event else { continue };
        assert!(files.len() <= 1000);
        let texts = files.iter().map(|file| file.before.size() + file.after.size()).sum::<usize>();
        assert!(texts <= 1 << 20, "{texts}");
        later.extend(files.into_iter().filter_map(|file| Some((file.path, file.later?))));
    }
    let (path, number) = later.pop().expect("more than are told at once");
    let got = later_texts(&mut test, vec![number, 0]);
    let text = fs::read_to_string(path).unwrap();
    assert!(matches!(&got[..], [Some((Held::Absent, Held::Text(after, _))), None] if **after == *text));
}

#[test]
fn no_text_is_lost_of_many_files_that_are_changed_at_once() {
    const FILES: usize = 400;
    let mut test = Test::new();
    for number in 0..FILES {
        test.file(&format!("{number:03}"), &"old\n".repeat(25_000));
    }
    let script = format!("for n in range({FILES}):\n open(f'{{n:03}}', 'w').write('new\\n' * 25_000)\n");
    test.file("make.py", &script);
    assert_eq!(changed_by(&mut test, "python3 make.py").len(), FILES);
    let events = test.events().into_iter();
    let told = events
        .filter_map(|event| if let Event::FilesChanged { files, .. } = event { Some(files) } else { None });
    let numbers: Vec<u64> = told.flatten().filter_map(|file| file.later).collect();
    assert!(numbers.len() > FILES / 2, "{} of {FILES} are told without their texts", numbers.len());
    for numbers in numbers.chunks(16) {
        assert!(later_texts(&mut test, numbers.to_vec()).iter().all(Option::is_some));
    }
}

#[test]
fn folders_that_are_moved_and_removed_take_their_files_with_them() {
    let mut test = Test::new();
    test.file("a/b/c.txt", "c");
    test.file("d/e.txt", "e");
    let steps = turns(&[
        "mv a x; rm -r d",
        "echo f > x/b/c.txt; echo g > x/b/new.txt",
        "rm -r x; mkdir d; echo h > d/e.txt",
    ]);
    assert_eq!(
        after_turns(&mut test, &steps),
        [
            "c0: d/e.txt: e => nothing",
            "c0: a/b/c.txt -> x/b/c.txt: c => c",
            "c1: x/b/c.txt: c => f/",
            "c1: x/b/new.txt: nothing => g/",
            "c2: d/e.txt: nothing => h/",
            "c2: x/b/c.txt: f/ => nothing",
            "c2: x/b/new.txt: g/ => nothing",
        ]
    );
}

#[test]
fn a_project_that_vanishes_and_comes_again_is_looked_after() {
    let mut test = Test::new();
    test.file("a.txt", "one");
    let project = test.project();
    let (away, back) =
        (format!("mv {0} {0}-away", project.display()), format!("mv {0}-away {0}", project.display()));
    let steps = turns(&[&away, &back, &format!("echo two > {}/a.txt", project.display())]);
    assert_eq!(
        after_turns(&mut test, &steps),
        ["c0: a.txt: one => nothing", "c1: a.txt: nothing => one", "c2: a.txt: one => two/"]
    );
}

#[test]
fn a_repository_inside_of_another_is_looked_after_like_it() {
    let mut test = repository(&[("a.txt", "one\n")]);
    test.file("inner/b.txt", "b\n");
    test.file("inner/c.txt", "c\n");
    let inside = |command: &str| git(&test, &format!("-C inner {command}"));
    inside("init -q .");
    inside("add b.txt");
    inside("commit -qm one");
    let commands = "echo two > a.txt; echo B > inner/b.txt; echo C > inner/c.txt; git -C inner status";
    assert_eq!(
        changed_by(&mut test, commands),
        ["c0: a.txt: one/ => two/", "c0: inner/b.txt: b/ => B/", "c0: inner/c.txt: c/ => C/"]
    );
}

#[test]
fn a_file_that_came_to_rest_is_told_of_while_the_command_still_runs() {
    let mut test = Test::new();
    test.file("a.txt", "one");
    test.open(&[
        expect("session/prompt"),
        call("c0", "execute", "in_progress"),
        run("echo two > a.txt; while [ ! -e go ]; do sleep 0.05; done"),
        ended("c0"),
        end_turn(),
    ]);
    test.prompt("x");
    wait_told(&mut test, "c0: a.txt: one => two/");
    test.file("go", "");
    test.stop_reason();
}

#[test]
fn a_closed_sessions_folders_are_left_alone() {
    let mut test = Test::new();
    test.file("a.txt", "one");
    let other = test.folder.join("other");
    fs::create_dir(&other).unwrap();
    let mut steps = vec![expect("session/new"), answer_to("session/new", &json!({"sessionId": "s2"}))];
    steps.extend(turns(&["echo two > a.txt"]));
    test.open(&steps);
    let place = Place { cwd: other.clone(), ..Place::default() };
    test.send(Command::Open { agent: AGENT, session: SessionKey(2), place });
    test.opened();
    test.prompt("x");
    test.stop_reason();
    test.send(Command::Close { session: SESSION });
    test.file("a.txt", "three");
    // A worker needs as long for one folder as for another, so this would be told later.
    let later = other.join("b.txt");
    fs::write(&later, "b").unwrap();
    test.wait("the other folder's change", |event| match event {
        Event::FilesChanged { files, .. } => files.iter().any(|file| file.path == later).then_some(()),
        _ => None,
    });
    let told = told(&mut test);
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[0], "c0: a.txt: one => two/");
}

#[test]
fn a_watched_files_change_is_told_with_who_did_it() {
    let mut test = Test::new();
    let path = test.file("a.txt", "one");
    test.open(&[
        expect("session/prompt"),
        call("c0", "execute", "in_progress"),
        run("while [ ! -e go ]; do sleep 0.05; done; echo two > a.txt; while [ -e go ]; do sleep 0.05; done"),
        ended("c0"),
        end_turn(),
    ]);
    test.send(Command::Watch { session: SESSION, path: path.clone() });
    changes_until_now(&mut test);
    test.prompt("x");
    let go = test.file("go", "");
    let cause = |test: &mut Test| {
        let path = path.clone();
        test.wait("FileChanged", move |event| match event {
            Event::FileChanged { path: changed, cause, .. } if *changed == path => Some(who(cause)),
            _ => None,
        })
    };
    assert_eq!(cause(&mut test), "c0");
    fs::remove_file(go).unwrap();
    test.stop_reason();
    fs::write(&path, "three").unwrap();
    assert_eq!(cause(&mut test), "outside");
}
