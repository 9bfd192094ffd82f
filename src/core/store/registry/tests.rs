use serde_json::json;

use super::*;

fn index(agents: Value) -> Index {
    parse(&json!({ "version": "1.0.0", "agents": agents }).to_string()).expect("an index")
}

fn one(distribution: Value) -> Result<Entry, String> {
    entry(json!({ "id": "x", "name": "X", "version": "1.2.3", "distribution": distribution }))
}

fn lines(distribution: Value) -> Vec<String> {
    one(distribution).expect("an entry").plans("linux-x86_64").iter().map(Plan::line).collect()
}

#[test]
fn an_entry_that_is_broken_costs_only_itself() {
    let good = |id: &str| json!({ "id": id, "distribution": { "npx": { "package": id } } });
    let index = index(json!([
        good("one"),
        "two",
        { "id": "three", "version": 3, "distribution": { "npx": { "package": "three" } } },
        { "id": "four", "distribution": {} },
        { "id": "five", "distribution": { "npx": { "package": "five", "args": "--acp" } } },
        { "id": "../six", "distribution": { "npx": { "package": "six" } } },
        { "id": "seven", "version": "../7", "distribution": { "npx": { "package": "seven" } } },
        good("one"),
        { "name": "no id" },
        good("nine"),
    ]));
    let ids: Vec<&str> = index.entries.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids, ["one", "nine"]);
    insta::assert_snapshot!(index.problems.join("\n"), @r#"
    agent number 2: it is no object
    agent "three": invalid type: integer `3`, expected a string
    agent "four": it says no way to run it that is known here
    agent "five": invalid type: string "--acp", expected a sequence
    agent "../six": its id should be lowercase letters, digits and hyphens
    agent "seven": its version "../7" is no version
    agent "one": listed twice
    agent number 9: missing field `id`
    "#);
}

#[test]
fn fields_that_nobody_knows_and_nulls_do_no_harm() {
    let index = parse(
        r#"{"agents": [{"id": "a", "name": null, "version": null, "icon": "x", "preview": {"version": 1},
            "license_url": 5, "repository": null,
            "distribution": {"docker": {}, "npx": {"package": "a", "args": null, "env": null, "new": []}}}]}"#,
    );
    let entry = &index.expect("an index").entries[0];
    assert_eq!((entry.name.as_str(), entry.version.as_str()), ("a", ""));
    assert_eq!(entry.plans("linux-x86_64")[0].line(), "npx -y a");
}

#[test]
fn what_is_no_index_says_so() {
    for (text, why) in [
        ("<html>", "it is no JSON: expected value at line 1 column 1"),
        ("{\"agents\": [{\"id\":", "it is no JSON: EOF while parsing a value at line 1 column 18"),
        ("[]", "it has no list of agents"),
        ("{\"agents\": {}}", "it has no list of agents"),
    ] {
        assert_eq!(parse(text), Err(why.to_owned()), "{text}");
    }
}

#[test]
fn packages_are_run_by_what_fetches_them() {
    assert_eq!(
        lines(json!({ "npx": { "package": "cline@3.0.65", "args": ["--acp"] } })),
        ["npx -y cline@3.0.65 --acp"]
    );
    assert_eq!(
        lines(
            json!({ "npx": { "package": "@a/b@1", "cmd": "b-acp", "args": ["x y"], "env": { "A": "1" } } })
        ),
        ["A=1 npx -y --package @a/b@1 b-acp 'x y'"]
    );
    assert_eq!(
        lines(json!({ "uvx": { "package": "kimi-cli==1", "args": ["acp"] } })),
        ["uvx kimi-cli==1 acp"]
    );
    assert_eq!(
        lines(json!({ "uvx": { "package": "fast-agent-mcp", "cmd": "fast-agent-acp", "args": ["-x"] } })),
        ["uvx --from fast-agent-mcp fast-agent-acp -x"]
    );
}

#[test]
fn what_npx_or_uvx_would_take_for_an_option_is_no_package() {
    for package in ["", "-c", "--call", "a b"] {
        assert!(one(json!({ "npx": { "package": package } })).is_err(), "{package:?}");
        assert!(one(json!({ "uvx": { "package": "a", "cmd": package } })).is_err(), "{package:?}");
    }
}

fn binary(archive: &str, cmd: &str) -> Result<Entry, String> {
    one(json!({ "binary": { "linux-x86_64": { "archive": archive, "cmd": cmd } } }))
}

#[test]
fn a_download_goes_into_a_folder_of_its_own() {
    let plan = |archive: &str| {
        let plans = binary(archive, "./bin/x").expect("an entry").plans("linux-x86_64");
        plans.into_iter().next().expect("a plan")
    };
    let first = plan("https://example.org/x.tar.gz");
    insta::assert_debug_snapshot!(first, @r#"
    Plan {
        command: [
            "bin/x",
        ],
        args: [],
        env: {},
        download: Some(
            Download {
                url: "https://example.org/x.tar.gz",
                sha256: None,
                folder: "x/1.2.3-89692e77",
                raw: None,
            },
        ),
    }
    "#);
    let again = plan("https://example.org/again/x.tar.gz");
    assert_ne!(
        first.download.map(|download| download.folder),
        again.download.map(|download| download.folder),
        "the same version, another file"
    );
}

#[test]
fn a_download_that_is_no_archive_is_the_program() {
    let raw = |archive: &str| {
        let plans = binary(archive, "./x").expect("an entry").plans("linux-x86_64");
        plans.first().map(|plan| plan.download.as_ref().expect("a download").raw.clone())
    };
    for archive in ["x.tar.gz", "x.TGZ", "x.tar.bz2", "x.tbz2", "x.zip", "x.zip?a=b.bin"] {
        assert_eq!(raw(&format!("https://example.org/{archive}")), Some(None), "{archive}");
    }
    assert_eq!(raw("https://example.org/x-linux-amd64"), Some(Some("x".to_owned())));
    assert_eq!(raw("https://example.org/x.dmg"), None, "an installer is not for us");
}

#[test]
fn a_download_is_for_its_system_only() {
    let entry = binary("https://example.org/x.zip", "x").expect("an entry");
    assert_eq!(entry.plans("linux-x86_64").len(), 1);
    assert_eq!(entry.plans("darwin-aarch64"), []);
}

#[test]
fn a_program_outside_of_the_download_is_refused() {
    for cmd in ["/bin/sh", "../sh", "a/../../sh", r"..\sh", r"C:\sh.exe", "c:sh", "", ".", "./", "a\u{7}b"] {
        assert!(binary("https://example.org/x.zip", cmd).is_err(), "{cmd:?}");
    }
    let entry = binary("https://example.org/x.zip", r"./dist\x.cmd").expect("an entry");
    assert_eq!(entry.plans("linux-x86_64")[0].command, ["dist/x.cmd"]);
}

#[test]
fn downloads_are_encrypted_or_from_this_machine() {
    for (url, may) in [
        ("https://example.org/x.zip", true),
        ("http://127.0.0.1:8000/x.zip", true),
        ("http://localhost/x.zip", true),
        ("http://[::1]:9/x.zip", true),
        ("http://example.org/x.zip", false),
        ("http://127.0.0.1.example.org/x.zip", false),
        ("http://localhost.example.org/x.zip", false),
        ("file:///etc/passwd", false),
        ("https://", false),
        ("https://a b", false),
        ("--output=/x", false),
    ] {
        assert_eq!(may_be_fetched(url), may, "{url}");
    }
}

#[test]
fn a_checksum_is_one() {
    let with = |sum: &str| {
        one(
            json!({ "binary": { "linux-x86_64": { "archive": "https://e.org/x", "cmd": "x", "sha256": sum } } }),
        )
    };
    assert!(with("abc").is_err());
    assert!(with(&"g".repeat(64)).is_err());
    let sum = "AB".repeat(32);
    let plans = with(&sum).expect("an entry").plans("linux-x86_64");
    assert_eq!(plans[0].download.as_ref().expect("a download").sha256, Some(sum.to_lowercase()));
}

#[test]
fn the_lightest_way_comes_first() {
    let ways = json!({
        "binary": { "linux-x86_64": { "archive": "https://e.org/x", "cmd": "x" } },
        "uvx": { "package": "x" },
        "npx": { "package": "x" },
    });
    assert_eq!(lines(ways), ["npx -y x", "uvx x", "x"]);
}

#[test]
fn what_a_command_hides_is_shown() {
    assert_eq!(
        lines(json!({ "npx": { "package": "x", "args": ["a\u{1b}[2Jb\nc", ""] } })),
        [r"npx -y x a\u{1b}[2Jb\nc ''".replace(r"a\u{1b}[2Jb\nc", r"'a\u{1b}[2Jb\nc'")]
    );
}
