//! Files in the folders of sessions, as real commands change them: what is told of them, and whose it was.

use std::path::Path;
use std::process::Command as Program;

use acp_nvim::core::message::*;
use acp_nvim::core::store::checkpoint::Held;
use serde_json::{Value, json};

use super::support::*;

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

/// A turn with a call that runs a command.
fn turn(commands: &[&str]) -> Vec<Value> {
    let mut steps = vec![expect("session/prompt")];
    for (number, command) in commands.iter().enumerate() {
        let id = format!("c{number}");
        steps.extend([call(&id, "execute", "in_progress"), run(command), ended(&id)]);
    }
    steps.push(end_turn());
    steps
}

/// What has been told until the end of a turn, a line for each file.
fn after_a_turn(test: &mut Test, steps: &[Value]) -> Vec<String> {
    test.open(steps);
    test.prompt("x");
    test.stop_reason();
    told(test)
}

/// What a command in a call has changed.
fn changed_by(test: &mut Test, command: &str) -> Vec<String> {
    after_a_turn(test, &turn(&[command]))
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

/// As "c0: a.txt: one => two", with newlines as "/".
fn line(cause: &Cause, file: &ChangedFile, project: &Path) -> String {
    let name = |path: &Path| path.strip_prefix(project).unwrap_or(path).display().to_string();
    let side = |held: &Held| match held {
        Held::Absent => "nothing".to_owned(),
        Held::Text(text, _) => text.replace('\n', "/"),
        _ => "?".to_owned(),
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
