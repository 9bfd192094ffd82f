//! Tests of the rules: tables of lines and paths with what comes of them, and what must hold for any.

use proptest::prelude::*;

use super::danger::Danger;
use super::line::Word;
use super::page::with_pattern;
use super::pattern::{command_fit, fits, path_fits};
use super::place::normal;
use super::*;

/// One of the tables in `tests/data/rules`.
fn table(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/rules").join(name);
    std::fs::read_to_string(path).expect("a table of the project")
}

fn rule(decision: Decision, command: &str) -> Rule {
    Rule { command: Some(command.to_owned()), ..Rule::new(decision, Source::Options(1)) }
}

fn rules() -> Vec<Rule> {
    let own = [rule(Decision::Reject, "rm **"), rule(Decision::Reject, "git push **")];
    in_force(&["read-only".to_owned(), "tests".to_owned()], &own)
}

/// `/p/link` leads out of the project.
fn resolve(path: &Path) -> Option<PathBuf> {
    let path = normal(path);
    Some(match path.strip_prefix("/p/link") {
        Ok(rest) => Path::new("/etc").join(rest),
        Err(_) => path,
    })
}

fn ruled(rules: &[Rule], request: &Request) -> Ruling {
    let roots = [PathBuf::from("/p")];
    let place = Place {
        folder: Path::new("/p"),
        roots: &roots,
        home: Some(Path::new("/home/me")),
        resolve: &resolve,
    };
    Judge::new(rules, Who { agent: "demo", mode: Some("code") }, place).judge(request)
}

fn request(kind: &str, act: Act) -> Request {
    Request { kind: Some(kind.to_owned()), acts: vec![act], ..Request::default() }
}

fn of_line(rules: &[Rule], line: &str) -> Ruling {
    ruled(rules, &request("execute", Act::Line(line.to_owned())))
}

fn of_file(rules: &[Rule], path: &str, writes: bool) -> Ruling {
    let kind = if writes { "edit" } else { "read" };
    ruled(rules, &request(kind, Act::File { path: path.into(), writes }))
}

/// The letters that a table writes as escapes.
fn unescape(line: &str) -> String {
    let mut line = line.replace("\\n", "\n").replace("ls\\rrm", "ls\rrm");
    while let Some((before, rest)) = line.split_once("\\u{") {
        let (code, after) = rest.split_once('}').expect("a letter's number");
        let letter = u32::from_str_radix(code, 16).ok().and_then(char::from_u32).expect("a letter");
        line = format!("{before}{letter}{after}");
    }
    line
}

fn rows(table: &str) -> impl Iterator<Item = (&str, &str)> {
    table
        .lines()
        .filter(|row| !row.is_empty() && !row.starts_with('#'))
        .map(|row| row.split_once(' ').unwrap_or((row, "")))
}

#[test]
fn each_line_of_the_table_is_judged_as_it_says() {
    let rules = rules();
    let mut wrong = Vec::new();
    for (expected, line) in rows(&table("lines.txt")) {
        let ruling = of_line(&rules, &unescape(line));
        let decision = ruling.decision.map_or("ask", Decision::word);
        if decision != expected {
            wrong.push(format!("{line}: {decision}, not {expected}: {}", ruling.why));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rows(&table("lines.txt")).count() > 300);
}

/// Where each program is allowed by rules of the user's own, only what is known of its arguments holds it back.
#[test]
fn what_a_command_writes_by_its_arguments_is_judged_as_the_table_says() {
    let all = Rule { kind: Some("execute".into()), ..Rule::new(Decision::Allow, Source::Options(1)) };
    let guarded = Rule { path: Some("vendor/**".into()), ..Rule::new(Decision::Reject, Source::Options(2)) };
    let rules = in_force(&[], &[all, Rule { kind: Some("write".into()), ..guarded }]);
    let mut wrong = Vec::new();
    for (expected, line) in rows(&table("writes.txt")) {
        let ruling = of_line(&rules, line);
        let decision = ruling.decision.map_or("none", Decision::word);
        if decision != expected {
            wrong.push(format!("{line}: {decision}, not {expected}: {}", ruling.why));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rows(&table("writes.txt")).count() > 150);
}

#[test]
fn that_an_unknown_program_writes_what_it_is_given_is_a_guess_that_only_holds_back_what_rules_allow() {
    let rules = in_force(&[], &[rule(Decision::Allow, "mytool **")]);
    let of = |line: &str| of_line(&rules, line);
    let guessed = of("mytool .envrc");
    assert_eq!((guessed.decision, guessed.unasked(false)), (Some(Decision::Ask), None));
    assert_eq!(guessed.why, ".envrc may be written, and what it holds is run later");
    assert!(guessed.unasked(true).is_some(), "the user has rules that forbid");
    assert!(of("cp x .envrc").unasked(false).is_some(), "that is no guess");
}

#[test]
fn no_line_that_is_made_to_get_past_rules_is_allowed() {
    let by_sets = rules();
    let mut by_all = rules();
    by_all.push(Rule { kind: Some("execute".into()), ..Rule::new(Decision::Allow, Source::Options(9)) });
    let mut wrong = Vec::new();
    for (which, line) in rows(&table("attacks.txt")) {
        let rules: &[&[Rule]] = if which == "all" { &[&by_all, &by_sets] } else { &[&by_sets] };
        for ruling in rules.iter().map(|rules| of_line(rules, &unescape(line))) {
            if ruling.decision == Some(Decision::Allow) {
                wrong.push(format!("{which} {line}: {}", ruling.why));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rows(&table("attacks.txt")).count() > 250);
}

#[test]
fn each_path_of_the_table_is_judged_as_it_says() {
    let own = [
        Rule { path: Some("src/**".into()), ..Rule::new(Decision::Allow, Source::Options(1)) },
        Rule { path: Some("src/secret/**".into()), ..Rule::new(Decision::Reject, Source::Options(2)) },
        Rule { path: Some("~/notes/*.md".into()), ..Rule::new(Decision::Allow, Source::Options(3)) },
        Rule {
            path: Some("*.lock".into()),
            kind: Some("write".into()),
            ..Rule::new(Decision::Ask, Source::Options(4))
        },
    ];
    let rules = in_force(&[], &own);
    let mut wrong = Vec::new();
    for (expected, row) in rows(&table("paths.txt")) {
        let (verb, path) = row.split_once(' ').expect("a verb and a path");
        let ruling = of_file(&rules, path, verb == "write");
        let decision = ruling.decision.map_or("none", Decision::word);
        if decision != expected {
            wrong.push(format!("{verb} {path}: {decision}, not {expected}: {}", ruling.why));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rows(&table("paths.txt")).count() >= 60);
}

#[test]
fn the_most_specific_rule_decides_and_of_two_alike_the_stricter() {
    let decided = |own: &[Rule], line: &str| of_line(own, line).decision;
    let own = [rule(Decision::Reject, "rm **"), rule(Decision::Allow, "rm -rf target")];
    assert_eq!(decided(&own, "rm -rf target"), Some(Decision::Allow));
    assert_eq!(decided(&own, "rm -rf target x"), Some(Decision::Reject));
    let own = [rule(Decision::Allow, "make **"), rule(Decision::Ask, "make **")];
    assert_eq!(decided(&own, "make x"), Some(Decision::Ask));
    let own = [rule(Decision::Allow, "make **"), rule(Decision::Reject, "make **")];
    assert_eq!(decided(&own, "make x"), Some(Decision::Reject));
    assert_eq!(decided(&[], "make x"), None);
}

#[test]
fn a_rule_for_an_agent_or_a_mode_counts_for_no_other() {
    let allow = rule(Decision::Allow, "make **");
    let of = |agent: Option<&str>, mode: Option<&str>| {
        let (agent, mode) = (agent.map(str::to_owned), mode.map(str::to_owned));
        of_line(&[Rule { agent, mode, ..allow.clone() }], "make x").decision
    };
    assert_eq!(of(Some("demo"), None), Some(Decision::Allow));
    assert_eq!(of(Some("demo"), Some("code")), Some(Decision::Allow));
    assert_eq!(of(Some("other"), None), None);
    assert_eq!(of(None, Some("plan")), None);
}

#[test]
fn hosts_and_tools_of_servers_have_rules_of_their_own() {
    let own = [
        Rule { host: Some("docs.rs".into()), ..Rule::new(Decision::Allow, Source::Options(1)) },
        Rule { mcp: Some("github.get_*".into()), ..Rule::new(Decision::Allow, Source::Options(2)) },
        Rule { mcp: Some("github.*".into()), ..Rule::new(Decision::Reject, Source::Options(3)) },
    ];
    let of = |act: Act| ruled(&own, &request("fetch", act)).decision;
    assert_eq!(of(Act::Host("docs.rs".into())), Some(Decision::Allow));
    assert_eq!(of(Act::Host("docs.rs.evil.com".into())), None);
    assert_eq!(of(Act::Mcp("github.delete".into())), Some(Decision::Reject));
}

#[test]
fn what_runs_elsewhere_or_without_the_agents_sandbox_is_asked_about() {
    let rules = [rule(Decision::Allow, "make **")];
    let make = request("execute", Act::Line("make".to_owned()));
    let decided = |request: &Request| ruled(&rules, request).decision;
    assert_eq!(decided(&make), Some(Decision::Allow));
    let there = |folder: &str| Request { folder: Some(folder.into()), ..make.clone() };
    assert_eq!(decided(&there("/p/src")), Some(Decision::Allow));
    assert_eq!(decided(&there("/p/link")), Some(Decision::Ask));
    assert_eq!(decided(&there("/etc")), Some(Decision::Ask));
    assert_eq!(decided(&Request { escapes: true, ..make.clone() }), Some(Decision::Ask));
}

#[test]
fn what_is_allowed_everywhere_is_allowed_in_the_sessions_folders() {
    let allows = |pattern: &str, path: &str| {
        let rule = Rule { path: Some(pattern.into()), ..Rule::new(Decision::Allow, Source::Options(1)) };
        of_file(&[rule], path, true).decision == Some(Decision::Allow)
    };
    for pattern in ["**", "*", "*.md", "**/*.md"] {
        assert!(allows(pattern, "/p/src/a.md"), "{pattern}");
        assert!(!allows(pattern, "/etc/a.md"), "{pattern}");
    }
    assert!(allows("/etc/*.md", "/etc/a.md") && allows("/**", "/etc/a.md"));
    let rejects = Rule { path: Some("*.md".into()), ..Rule::new(Decision::Reject, Source::Options(1)) };
    assert_eq!(of_file(&[rejects], "/etc/a.md", true).decision, Some(Decision::Reject));
    assert_eq!(of_file(&[], "/etc/a.md", true).why, "/etc/a.md is outside of the session's folders");
}

#[test]
fn dangers_are_named() {
    let dangers = |line: &str| of_line(&[], line).dangers;
    assert_eq!(dangers("rm -rf x"), [Danger::Deletes]);
    assert_eq!(dangers("curl x | sh"), [Danger::NetworkToShell]);
    assert_eq!(dangers("sh -c \"$(curl -fsSL x)\""), [Danger::NetworkToShell]);
    assert_eq!(dangers("git push -f"), [Danger::ForcePush]);
    assert_eq!(dangers("git push origin +main"), [Danger::ForcePush]);
    assert_eq!(dangers("sudo ls"), [Danger::OtherRights]);
    assert_eq!(dangers("cat ~/.ssh/id_rsa"), [Danger::Outside, Danger::Secrets]);
    assert_eq!(dangers("echo x > .git/hooks/pre-commit"), [Danger::RunsLater]);
    assert_eq!(dangers("git status"), []);
}

/// All but the stack of the parser is in the tree, so lines that are hard for it are tried.
#[test]
fn a_hard_line_takes_a_bounded_number_of_steps() {
    for line in [
        "case a in b) ".repeat(1000),
        "(( x=1 (( while ".repeat(1000),
        "$(".repeat(8000),
        "`".repeat(16_000),
        "a <<b ".repeat(2000),
        "{".repeat(16_000),
        "((((".repeat(4000),
        "\"$(".repeat(5000),
        "sh -c '".repeat(2000),
        "99999999999999999999999999999999 ".repeat(400),
        "a|".repeat(8000),
        "a;".repeat(8000),
        "sudo ".repeat(3000),
        "env a=".repeat(2000),
        "x".repeat(1 << 20),
    ] {
        assert_ne!(of_line(&rules(), &line).decision, Some(Decision::Allow), "{:.40}", line);
    }
}

#[test]
fn more_commands_than_are_judged_are_a_doubt() {
    let (most, more) = (shell::read(&"ls;".repeat(400)), shell::read(&"ls;".repeat(401)));
    assert_eq!((most.runs.len(), &most.doubts[..]), (400, &[][..]));
    assert_eq!((more.runs.len(), &more.doubts[..]), (400, &["it is too complex"][..]));
}

#[test]
fn letters_beyond_ascii_are_those_of_the_line() {
    for (line, words) in [
        ("cat über.txt", &["cat über.txt"][..]),
        ("cat 'größe 1' && echo \"naïve\" ä\\ ö", &["cat größe 1", "echo naïve ä ö"]),
        ("bash -c 'rm -rf größe'", &["rm -rf größe"]),
        ("echo 日本語 | wc", &["echo 日本語", "wc"]),
    ] {
        let read = shell::read(line);
        let shown: Vec<String> = read.runs.iter().map(line::Run::text).collect();
        assert_eq!(shown, words, "{line}");
        assert!(read.doubts.contains(&"it has letters beyond ASCII"), "{line}");
    }
    let rules = in_force(&["read-only".to_owned()], &[rule(Decision::Reject, "rm größe")]);
    assert_eq!(of_line(&rules, "rm größe").decision, Some(Decision::Reject));
    assert_eq!(of_line(&rules, "cat größe").decision, Some(Decision::Ask), "nothing of it is allowed");
}

/// The scanner of the grammar reads beyond a table of C's for these.
#[test]
fn letters_beyond_ascii_crash_no_parser() {
    for letter in ['\u{e9}', '\u{440}', '\u{eb46a}', '\u{10ffff}'] {
        for before in ["{", "{1..", "ls {", "$", "<<", "[["] {
            let line = format!("{before}{letter}");
            assert_ne!(of_line(&rules(), &line).decision, Some(Decision::Allow), "{line}");
        }
    }
}

#[test]
fn what_stands_after_a_keyword_is_judged() {
    for line in ["time CI=1 rm x", "time for f in a b; do rm x; done", "time if true; then rm x; fi"] {
        let mut rules = rules();
        rules.push(Rule { kind: Some("execute".into()), ..Rule::new(Decision::Allow, Source::Options(9)) });
        assert_ne!(of_line(&rules, line).decision, Some(Decision::Allow), "{line}");
    }
}

/// What may stand before and behind a command.
const AROUND: &[(&str, &str)] = &[
    ("", "; ls"),
    ("ls; ", ""),
    ("ls && ", ""),
    ("", " || true"),
    ("ls | ", ""),
    ("", " | cat"),
    ("(", ")"),
    ("{ ", "; }"),
    ("if true; then ", "; fi"),
    ("while true; do ", "; done"),
    ("echo $(", ")"),
    ("echo \"$(", ")\""),
    ("cat <(", ")"),
    ("time ", ""),
    ("nohup ", ""),
    ("! ", ""),
    ("timeout 5 ", ""),
    ("sudo ", ""),
    ("env A=1 ", ""),
    ("xargs ", ""),
    ("command ", ""),
    ("for f in a b; do ", "; done"),
    ("find . -exec ", " \\;"),
    ("ls\n", ""),
    ("", " # x"),
    ("", " > /dev/null"),
    ("CI=1 ", ""),
    ("", " &"),
    ("f() { ", "; }; f"),
    ("case a in a) ", ";; esac"),
    ("eval ", ""),
    ("ssh h ", ""),
    ("watch ", ""),
    ("nice -n 5 ", ""),
    ("ionice -c 3 ", ""),
    ("chrt -f 10 ", ""),
    ("taskset -c 0 ", ""),
    ("stdbuf -oL ", ""),
    ("setsid ", ""),
    ("builtin ", ""),
    ("exec ", ""),
    ("busybox ", ""),
    ("doas ", ""),
    ("flock lock ", ""),
    ("unshare ", ""),
    ("strace -f ", ""),
    ("gdb --args ", ""),
    ("parallel ", ""),
    ("entr ", ""),
    // Programs of which nothing is known.
    ("unheard ", ""),
    ("unheard -x 1 --flag=2 ", ""),
    ("unheard of this ", " --at all"),
    ("npm exec -- ", ""),
    ("uv run ", ""),
    ("cargo run -- ", ""),
    ("python3 run.py ", ""),
    ("bash run.sh ", ""),
    ("./run ", ""),
    ("git bisect run ", ""),
    ("git submodule foreach ", ""),
    ("git rebase --exec ", ""),
];
/// What takes a line of code as one word.
const BEFORE_CODE: &[&str] = &[
    "sh -c ",
    "bash -lc ",
    "eval ",
    "sudo sh -c ",
    "ssh h ",
    "su -c ",
    "script -c ",
    "flock lock -c ",
    "watch ",
    "parallel ",
    "env -S ",
    "unheard ",
    "unheard -c ",
    "unheard --run=",
    "git bisect run sh -c ",
    "tar xf a --to-command=",
    "find . -exec sh -c ",
];

/// A rejected command within other things.
fn wrapped() -> impl Strategy<Value = String> {
    let leaf =
        prop::sample::select(vec!["rm x", "rm -rf /", "'rm' x", "r\\m x", "/bin/rm -f a b", "git push"]);
    leaf.prop_map(str::to_owned).prop_recursive(6, 24, 2, |inner| {
        let around = prop::sample::select(AROUND);
        let plain =
            (around, inner.clone()).prop_map(|((before, after), line)| format!("{before}{line}{after}"));
        let quoted = (prop::sample::select(BEFORE_CODE), inner)
            .prop_map(|(shell, line)| format!("{shell}'{}'", line.replace('\'', "'\\''")));
        prop_oneof![3 => plain, 1 => quoted]
    })
}

proptest! {
    #[test]
    fn a_line_that_holds_a_rejected_command_is_never_allowed(line in wrapped()) {
        let mut rules = rules();
        // Whatever else is allowed.
        rules.push(Rule { kind: Some("execute".into()), ..Rule::new(Decision::Allow, Source::Options(9)) });
        let ruling = of_line(&rules, &line);
        prop_assert_ne!(ruling.decision, Some(Decision::Allow), "{:?}", ruling);
    }

    #[test]
    fn any_text_is_judged_without_a_panic(line in "(.|\n|[$`'\"(){};|&<>\\\\ ]|rm |sh -c |<<E|[a-z]=|\\$\\(){0,200}") {
        of_line(&rules(), &line);
    }

    #[test]
    fn patterns_take_any_text(pattern in ".{0,60}", text in ".{0,200}") {
        fits(&pattern, &text, true);
        let words = [Word::known(&*text)];
        command_fit(&pattern, &words, true);
        path_fits(&pattern, &text, &["/p".to_owned()], None, true);
    }
    #[test]
    fn letters_and_paths_fit_where_some_way_to_split_them_does(
        pattern in "[aAé*]{0,5}",
        text in "[aAé]{0,6}",
        shape in "(\\*\\*/|/|a|A|\\*|é){0,7}",
        path in "(/|a|é){0,8}",
        is_loose: bool,
    ) {
        let letters = |text: &str| text.chars().collect::<Vec<_>>();
        let same = |one: &char, two: &char| one == two || is_loose && one.eq_ignore_ascii_case(two);
        let split = |pattern: &str, text: &str| splits(&letters(pattern), &letters(text), &'*', &same);
        prop_assert_eq!(fits(&pattern, &text, is_loose), split(&pattern, &text));

        let parts = |path: &str| path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let (wanted, parts): (Vec<String>, Vec<String>) = (parts(&shape), parts(&path));
        let fit = splits(&wanted, &parts, &"**".to_owned(), &|one, two| split(one, two));
        prop_assert_eq!(path_fits(&format!("/{shape}"), &path, &[""; 0], None, is_loose), fit);
    }
}

/// Whether parts fit others of which `any` stands for any number, found by trying.
fn splits<T: PartialEq>(wanted: &[T], parts: &[T], any: &T, same: &impl Fn(&T, &T) -> bool) -> bool {
    match wanted.split_first() {
        None => parts.is_empty(),
        Some((first, rest)) if first == any => {
            (0..=parts.len()).any(|at| splits(rest, &parts[at..], any, same))
        }
        Some((first, rest)) => parts
            .split_first()
            .is_some_and(|(part, parts)| same(first, part) && splits(rest, parts, any, same)),
    }
}

#[test]
fn a_shape_that_could_never_fit_is_refused() {
    for (decision, shape, why) in [
        (Decision::Allow, "npm 'a b'", "has quotes"),
        (Decision::Reject, "git \"push\"", "has quotes"),
        (Decision::Allow, "npm install \u{e9}", "beyond ASCII"),
    ] {
        assert!(rule(decision, shape).checked().expect_err(shape).contains(why), "{shape}");
    }
    assert!(rule(Decision::Reject, "npm install \u{e9}").checked().is_ok(), "that is rejected all the same");
    let kept = Rule { source: Source::Kept, ..rule(Decision::Allow, "npm 'a b'") };
    assert!(with_pattern(&kept, "npm 'c d'").is_err(), "nor can it be made of another one");
    assert!(kept.checked().is_ok(), "one that was made before does not take the others with it");
}

#[test]
fn why_something_is_asked_is_said_as_it_is() {
    let rules = rules();
    let steps = |line: &str| -> Vec<String> {
        of_line(&rules, line).steps.iter().map(|step| format!("{}: {}", step.what, step.why)).collect()
    };
    let why = |line: &str, part: &str| {
        assert!(steps(line).iter().any(|step| step.contains(part)), "{line}: {:#?}", steps(line));
    };
    why("echo $HOME", "only the shell knows what these words become");
    why("mytool x", "no rule is about it");
    why("eval 'git push'", "it may be what a rule is about: reject command git push");
    why("date -s x", "run or set something else");
    let doubts = steps("cat -I$HOME/include").into_iter().filter(|step| step.contains("is not known"));
    assert_eq!(doubts.count(), 1, "a word has one doubt, not one for each of its letters");
    for line in ["sudo -u bob git push", "cp x ../y", "sed -i s/a/b/ .envrc"] {
        let all = steps(line);
        assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), all.len(), "{all:#?}");
    }
}
