//! What `scripts/run-tests` makes of cargo's words: which failures are tried again, how all are
//! counted, and what the run ends with. A stand-in for cargo says what is needed.

#![cfg(unix)]

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

/// The first run says these lines and fails; a later one passes the tests that are called `steady`.
const CARGO: &str = r#"#!/bin/sh
case "$*" in
*--exact*)
    for name; do :; done
    case $name in
    *steady) printf 'test %s ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored;\n' "$name" ;;
    *) printf 'test %s ... FAILED\ntest result: FAILED. 0 passed; 1 failed; 0 ignored;\n' "$name"; exit 101 ;;
    esac
    echo "asked: $*"
    ;;
*) cat "$0.says"; exit 101 ;;
esac
"#;

/// What the script prints and whether it is content, where cargo says that.
fn run(says: &str) -> (String, bool) {
    let folder = tempfile::tempdir().expect("a folder");
    let cargo = folder.path().join("cargo");
    std::fs::write(&cargo, CARGO).expect("the stand-in");
    std::fs::set_permissions(&cargo, std::fs::Permissions::from_mode(0o755)).expect("to be run");
    std::fs::write(folder.path().join("cargo.says"), says).expect("its words");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("scripts/run-tests")
        .arg("--locked")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("PATH", format!("{}:{path}", folder.path().display()))
        // Any file will do; no test comes to run it.
        .env("NVIM", &cargo)
        .output()
        .expect("a shell");
    (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.success())
}

/// One binary's words, with these tests failed.
fn failed(file: &str, names: &[&str]) -> String {
    let lines: String = names.iter().map(|name| format!("test {name} ... FAILED\n")).collect();
    let failed = names.len();
    format!(
        "     Running {file} (target/x)\ntest fine ... ok\n{lines}test result: FAILED. 1 passed; {failed} failed; 2 ignored;\n"
    )
}

#[test]
fn a_test_that_passes_alone_is_named_as_unsteady_and_fails_nothing() {
    let says = failed("tests/one.rs", &["un::steady"]) + &failed("unittests src/lib.rs", &["core::unsteady"]);
    let (said, content) = run(&says);
    assert!(said.contains("asked: test --locked --test one -- --exact un::steady\n"), "{said}");
    assert!(said.contains("asked: test --locked --lib -- --exact core::unsteady\n"), "{said}");
    let end = "\nunsteady, passed only when alone:\n    --test one un::steady\n    --lib core::unsteady\n\n4 passed, 0 failed, 4 skipped\n";
    assert!(said.ends_with(end) && content, "{said}");
}

#[test]
fn a_test_that_fails_again_fails_the_run() {
    let (said, content) = run(&failed("tests/one.rs", &["unsteady", "wrong"]));
    assert!(said.ends_with("\n2 passed, 1 failed, 2 skipped\n") && !content, "{said}");
}

#[test]
fn many_failures_a_binary_that_was_killed_and_examples_in_docs_are_not_tried_again() {
    let many: Vec<String> = (0..11).map(|at| format!("unsteady{at}::steady")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let example = "   Doc-tests acp\ntest src/a.rs - unsteady ... FAILED\n\
                   test result: FAILED. 0 passed; 1 failed; 0 ignored;\n";
    let killed = "     Running tests/one.rs (target/x)\ntest unsteady ... FAILED\n";
    for (says, end) in [
        (failed("tests/one.rs", &many), "1 passed, 11 failed, 2 skipped\n"),
        (failed("tests/two.rs", &["unsteady"]) + killed, "1 passed, 2 failed, 2 skipped\n"),
        (example.to_owned(), "0 passed, 1 failed\n"),
    ] {
        let (said, content) = run(&says);
        assert!(!said.contains("asked:") && said.ends_with(end) && !content, "{said}");
    }
}
