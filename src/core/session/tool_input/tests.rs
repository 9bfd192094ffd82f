//! The arguments that tools in the field are seen to be called with.

use serde_json::json;

use super::*;

fn read(input: Value) -> Vec<(String, Option<String>, String)> {
    let text = |diff: FileDiff| {
        let old = diff.old_text.map(|text| text.to_string());
        (diff.path.display().to_string(), old, diff.new_text.to_string())
    };
    edits(&input, ToolKind::Edit).into_iter().map(text).collect()
}

fn diff(path: &str, old: Option<&str>, new: &str) -> (String, Option<String>, String) {
    (path.into(), old.map(str::to_owned), new.into())
}

#[test]
fn an_edit_is_read_whatever_its_arguments_are_called() {
    for input in [
        json!({"path": "n", "old_text": "a", "new_text": "b"}),
        json!({"file_path": "n", "old_string": "a", "new_string": "b", "replace_all": false}),
        json!({"filePath": "n", "oldString": "a", "newString": "b"}),
        json!({"path": "n", "old_str": "a", "new_str": "b"}),
        json!({"target_file": "n", "oldText": "a", "newText": "b"}),
        json!({"path": "n", "old_content": "a", "new_content": "b"}),
        json!({"path": "n", "find": "a", "replace": "b"}),
        json!({"path": "n", "old": "a", "new": "b"}),
        json!({"path": "n", "original": "a", "updated": "b"}),
        json!({"file_path": "n", "edits": [{"old_string": "a", "new_string": "b"}]}),
        json!({"edits": [{"path": "n", "oldText": "a", "newText": "b"}]}),
        json!("{\"path\": \"n\", \"old_text\": \"a\", \"new_text\": \"b\"}"),
        json!({"tool": "edit", "arguments": {"path": "n", "old_text": "a", "new_text": "b"}}),
    ] {
        assert_eq!(read(input.clone()), [diff("n", Some("a"), "b")], "{input}");
    }
    for input in [
        json!({"filepath": "n", "diff": "--- n\n+++ n\n@@ -1,1 +1,1 @@\n-a\n+b\n"}),
        json!({"changes": {"n": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-a\n+b\n", "move_path": null}}}),
        json!({"path": "n", "diff": "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE"}),
        json!({"patchText": "*** Begin Patch\n*** Update File: n\n@@\n-a\n+b\n*** End Patch"}),
    ] {
        assert_eq!(read(input.clone()), [diff("n", Some("a\n"), "b\n")], "{input}");
    }
}

#[test]
fn a_text_without_an_older_one_is_a_new_file() {
    for input in [
        json!({"path": "n", "new_text": "b"}),
        json!({"file_path": "n", "content": "b"}),
        json!({"path": "n", "file_text": "b"}),
        json!({"changes": {"n": {"type": "add", "content": "b"}}}),
    ] {
        assert_eq!(read(input.clone()), [diff("n", None, "b")], "{input}");
    }
    assert_eq!(
        read(json!({"changes": {"n": {"type": "delete", "content": "b"}}})),
        [diff("n", Some("b"), "")]
    );
    // Only a part of it is known.
    assert_eq!(read(json!({"path": "n", "insert_line": 3, "new_text": "b"})), []);
    assert_eq!(read(json!({"path": "n", "old_string": "a"})), []);
}

#[test]
fn what_is_no_edit_makes_no_diff() {
    let noted = json!({"path": "n", "content": "b"});
    assert_eq!(edits(&noted, ToolKind::Other), []);
    assert_eq!(edits(&json!({"path": "n", "before": "a", "after": "b"}), ToolKind::Other), []);
    assert_eq!(edits(&json!({"path": "n", "old_text": "a", "new_text": "b"}), ToolKind::Search), []);
    for input in
        [json!(null), json!(5), json!([]), json!("text"), json!({}), json!({"path": 5, "old_text": []})]
    {
        assert_eq!(read(input.clone()), [], "{input}");
        assert_eq!(locations(&input, ToolKind::Edit), [], "{input}");
    }
}

#[test]
fn the_files_of_a_call_are_found_with_their_lines() {
    let found = |input: Value, kind| -> Vec<(String, Option<u32>)> {
        let found = locations(&input, kind).into_iter();
        found.map(|location| (location.path.display().to_string(), location.line)).collect()
    };
    let file = |path: &str, line| (path.to_owned(), line);
    for (input, kind, expected) in [
        (
            json!({"files": [{"path": "a"}, {"path": "b", "start_line": 0}]}),
            ToolKind::Read,
            vec![file("a", None), file("b", Some(1))],
        ),
        (json!({"paths": ["a", "b", "a"]}), ToolKind::Read, vec![file("a", None), file("b", None)]),
        (json!({"absolute_path": "/p/a", "line": 7}), ToolKind::Read, vec![file("/p/a", Some(7))]),
        (json!({"source": "a", "destination": "b"}), ToolKind::Move, vec![file("a", None), file("b", None)]),
        (json!({"patch": "*** Begin Patch\n*** Add File: n\n+b"}), ToolKind::Edit, vec![file("n", None)]),
        (json!({"path": "src", "pattern": "x"}), ToolKind::Search, vec![]),
        (json!({"path": "src"}), ToolKind::Other, vec![]),
        (json!({"path": "a", "old_text": "x", "new_text": "y"}), ToolKind::Other, vec![file("a", None)]),
        (json!({"path": "https://example.org/a"}), ToolKind::Read, vec![]),
    ] {
        assert_eq!(found(input.clone(), kind), expected, "{input}");
    }
}

#[test]
fn a_command_is_found_in_each_of_its_forms() {
    for (input, expected) in [
        (json!({"command": "ls -l"}), Some("ls -l")),
        (json!({"cmd": "a\nb"}), Some("a\nb")),
        (json!({"command": ["ls", "-l"]}), Some("ls -l")),
        (json!({"command": ["/bin/bash", "-lc", "cat n"]}), Some("cat n")),
        (json!({"commands": ["a", "b"]}), Some("a\nb")),
        (json!({"command": "a", "commands": ["a"]}), Some("a")),
        (json!("{\"command\": \"ls\"}"), Some("ls")),
        (json!({"command": " "}), None),
        (json!({"command": [1]}), None),
        (json!("ls"), None),
    ] {
        assert_eq!(command(&input).as_deref(), expected, "{input}");
    }
}

#[test]
fn a_question_stands_with_its_answers_on_one_line() {
    for (input, expected) in [
        (json!({"question": "Which colour?", "options": ["Red", "Blue"]}), Some("Which colour? Red, Blue")),
        (
            json!({"questions": [{"question": "Which\ncolour?", "options": [{"label": "Red"}, {"label": "Blue"}]},
                                 {"question": "Why?"}]}),
            Some("Which colour? Red, Blue · Why?"),
        ),
        (json!({"question": "Why?", "options": null}), Some("Why?")),
        (json!({"questions": [5]}), None),
        (json!({"prompt": "Do it"}), None),
    ] {
        assert_eq!(question(&input).as_deref(), expected, "{input}");
    }
}

#[test]
fn a_list_of_things_to_do_is_a_plan_in_the_shapes_that_are_seen() {
    let item =
        |content: &str, status| PlanItem { content: content.into(), priority: Priority::Medium, status };
    let plan = vec![item("look", PlanStatus::Completed), item("fix", PlanStatus::InProgress)];
    for input in [
        json!({"todos": [{"content": "look", "status": "completed", "priority": "medium"},
                         {"content": "fix", "status": "in_progress"},
                         {"content": "drop", "status": "cancelled"}]}),
        json!({"explanation": "x", "plan": [{"step": "look", "status": "done"}, {"step": "fix", "status": "in-progress"}]}),
        json!({"action": "write", "todos": [{"id": "1", "content": "look", "status": "COMPLETED"},
                                            {"id": "2", "content": "fix", "status": "in progress"}]}),
    ] {
        assert_eq!(todos(&input), Some(plan.clone()), "{input}");
    }
    for input in [
        json!({"plan": "# Plan\n1. look"}),
        json!({"todos": []}),
        json!({"todos": ["look"]}),
        json!({"todos": [{"content": "look"}]}),
        json!({"items": [{"title": "an issue", "status": "open"}]}),
    ] {
        assert_eq!(todos(&input), None, "{input}");
    }
}

#[test]
fn arguments_are_told_in_words() {
    assert_eq!(
        lines(
            &json!({"max_results": 3, "url": "https://x\ny", "tags": ["a", "b"], "none": null, "deep": {"a": 1}})
        ),
        ["max results: 3", "url: https://x y", "tags: a, b", "deep: {\"a\":1}"]
    );
    assert_eq!(lines(&json!({})), [""; 0]);
}
