//! Rules that the user can make by an answer: what would spare them the same question, for just this and for what is
//! like it. One is offered only where it decides just what was asked.

use std::path::Path;

use super::judge::{Judge, Part};
use super::line::{Certainty, Run, Word, base};
use super::offer::{Offer, Scope};
use super::request::{Act, Request};
use super::rule::{Decision, Rule, Source};
use super::ruling::Ruling;
use super::shell;

/// A question that rules would make longer than it is, is answered one by one.
const MOST_RULES: usize = 4;
/// What is longer can't be read in a picker, in characters.
const LONGEST: usize = 100;

/// Programs whose first word says what they do, and the options that make something else of it.
const WITH_SUBCOMMANDS: &[(&[&str], &str)] = &[
    (&["cargo"], " !--config !-Z"),
    (&["git"], " !--output* !--exec* !--upload-pack* !--receive-pack*"),
    (&["go"], " !-exec* !-toolexec*"),
    (
        &[
            "npm",
            "pnpm",
            "yarn",
            "bun",
            "make",
            "just",
            "pip",
            "pip3",
            "poetry",
            "uv",
            "mix",
            "rake",
            "gradle",
            "mvn",
            "terraform",
            "gh",
            "brew",
            "kubectl",
            "dotnet",
            "composer",
            "bundle",
            "rails",
            "deno",
            "swift",
            "zig",
            "nix",
            "cabal",
            "stack",
            "dune",
            "helm",
            "systemctl",
            "apt",
        ],
        "",
    ),
];

/// Programs that run what their arguments say, so that only just the same can be meant.
const RUNS_ANYTHING: &[&str] = &[
    "sh",
    "bash",
    "zsh",
    "dash",
    "fish",
    "python",
    "python2",
    "python3",
    "node",
    "perl",
    "ruby",
    "lua",
    "luajit",
    "php",
    "env",
    "xargs",
    "parallel",
    "sudo",
    "doas",
    "su",
    "ssh",
    "docker",
    "podman",
    "nvim",
    "vim",
    "vi",
    "emacs",
    "awk",
    "gawk",
    "sed",
    "find",
    "fd",
    "tar",
    "rsync",
    "scp",
    "curl",
    "wget",
    "nc",
    "npx",
    "bunx",
    "uvx",
    "eval",
    "source",
    ".",
    "exec",
    "command",
    "nohup",
    "timeout",
    "nice",
    "time",
    "watch",
    "entr",
    "git-shell",
    "osascript",
    "pwsh",
    "powershell",
    "cmd",
    "wsl",
    "screen",
    "tmux",
    "script",
    "expect",
    "gdb",
    "strace",
];

/// What rules about one part of a request could be.
struct Wanted {
    /// About just the same.
    narrow: Option<Rule>,
    /// About what is like it.
    broad: Option<Rule>,
}

/// The rules to offer for a request that the user is asked about. None allows what is dangerous: that is asked each time.
pub fn offers(judge: &Judge, request: &Request, ruling: &Ruling) -> Vec<Offer> {
    let is_asked = matches!(ruling.decision, None | Some(Decision::Ask));
    if !is_asked || request.escapes || request.acts.is_empty() {
        return Vec::new();
    }
    let wanted = wanted(judge, request);
    let all = |pick: fn(&Wanted) -> Option<Rule>| {
        let rules: Option<Vec<Rule>> = wanted.iter().map(pick).collect();
        let mut rules = rules.filter(|rules| !rules.is_empty())?;
        rules.dedup();
        (rules.len() <= MOST_RULES).then_some(Offer { rules })
    };
    let (broad, narrow) = (all(|part| part.broad.clone()), all(|part| part.narrow.clone()));
    let reject = |offer: Offer| {
        // What may not be allowed with the rest is rejected with it.
        let rules = offer.rules.into_iter().map(|rule| Rule {
            decision: Decision::Reject,
            command: rule.command.as_deref().map(without_exceptions),
            ..rule
        });
        Offer { rules: rules.collect() }
    };
    let is_dangerous = !ruling.dangers.is_empty();
    // What is dangerous about a file is none of its folder's; a command's is what it is.
    let is_too_much = |offer: &Offer| offer.rules.iter().any(|rule| rule.path.is_some());
    let to_reject = [narrow.clone(), broad.clone().filter(|offer| !is_dangerous || !is_too_much(offer))];
    let rejecting = to_reject.into_iter().flatten().filter(|offer| offer.rules.len() == 1).map(reject);
    // The one that allows least comes first.
    let allowing = [narrow, broad].into_iter().flatten().filter(|_| !is_dangerous);
    let mut offers: Vec<Offer> = Vec::new();
    for offer in allowing.chain(rejecting) {
        if !offers.contains(&offer) && decides(judge, request, &offer) {
            offers.push(offer);
        }
    }
    offers
}

/// Whether the request would be decided by it as it says.
fn decides(judge: &Judge, request: &Request, offer: &Offer) -> bool {
    let made = offer.clone().within(Scope::Session);
    let decision = made.first().map(|rule| rule.decision);
    let rules: Vec<Rule> = judge.rules.iter().cloned().chain(made).collect();
    Judge::new(&rules, judge.who, judge.place).judge(request).decision == decision
}

fn wanted(judge: &Judge, request: &Request) -> Vec<Wanted> {
    let kind = request.kind.as_deref();
    let mut wanted = Vec::new();
    let is_allowed = |part: &Part, kind| {
        judge.rule_for(part, kind).is_some_and(|(_, decision)| decision == Decision::Allow)
    };
    for act in &request.acts {
        let line = match act {
            Act::Line(line) => shell::read(line),
            Act::Words(words) => shell::read_words(words),
            Act::File { path, writes } => {
                wanted.push(of_file(judge, path, *writes));
                continue;
            }
            Act::Host(host) => {
                let rule = rule(|rule| rule.host = Some(host.clone()));
                wanted.push(Wanted { narrow: rule.clone(), broad: rule });
                continue;
            }
            Act::Mcp(tool) => {
                let rule = rule(|rule| rule.mcp = Some(tool.clone()));
                wanted.push(Wanted { narrow: rule.clone(), broad: rule });
                continue;
            }
        };
        let runs = line.runs.iter().filter(|run| run.certainty == Certainty::Certain);
        let open = runs.filter(|run| !is_allowed(&Part::Run(&run.words), kind.or(Some("execute"))));
        wanted.extend(open.map(of_run));
        for redirect in line.redirects.iter().filter(|redirect| redirect.writes) {
            match judge.path_of(&redirect.path, redirect.folder.as_deref()) {
                Some(path) => wanted.push(of_file(judge, &path, true)),
                None => return Vec::new(),
            }
        }
    }
    wanted
}

/// A rule that allows, if it can be held against anything.
fn rule(name: impl FnOnce(&mut Rule)) -> Option<Rule> {
    let mut rule = Rule::new(Decision::Allow, Source::Session);
    name(&mut rule);
    let about = [&rule.command, &rule.path, &rule.host, &rule.mcp].into_iter().flatten();
    let is_short = about.map(|text| text.chars().count()).sum::<usize>() <= LONGEST;
    rule.checked().ok().filter(|_| is_short)
}

fn of_run(run: &Run) -> Wanted {
    let plain: Option<Vec<&str>> =
        run.words.iter().map(|word| word.plain().filter(|text| is_literal(text))).collect();
    let shape = |shape: String| rule(|rule| rule.command = Some(shape));
    Wanted { narrow: plain.and_then(|words| shape(words.join(" "))), broad: like(&run.words).and_then(shape) }
}

/// Whether a word stands for itself in a shape.
fn is_literal(text: &str) -> bool {
    let is_sign = |char: char| matches!(char, '*' | '{' | '}') || char.is_whitespace() || char.is_control();
    !text.is_empty() && !text.starts_with('!') && !text.contains(is_sign)
}

/// A shape without the options that it excludes.
fn without_exceptions(shape: &str) -> String {
    let words = shape.split(' ').filter(|word| *word == "!" || !word.starts_with('!'));
    words.collect::<Vec<_>>().join(" ")
}

/// The shape of commands that do the like.
fn like(words: &[Word]) -> Option<String> {
    let mut words = words.iter().map(|word| word.plain().filter(|text| is_literal(text)));
    let program = words.next()??;
    let name = base(program);
    if RUNS_ANYTHING.contains(&name) {
        return None;
    }
    let Some((_, never)) = WITH_SUBCOMMANDS.iter().find(|(names, _)| names.contains(&name)) else {
        return Some(format!("{program} **"));
    };
    let is_name =
        |text: &&str| text.starts_with(|char: char| char.is_ascii_lowercase()) && !text.contains('/');
    let first = words.next()?.filter(is_name)?;
    let second = if first == "run" { format!(" {}", words.next()?.filter(is_name)?) } else { String::new() };
    Some(format!("{program} {first}{second} **{never}"))
}

fn of_file(judge: &Judge, path: &Path, writes: bool) -> Wanted {
    let (real, _) = judge.real(&judge.place.folder.join(path));
    let inside = judge.place.roots.iter().find_map(|root| real.strip_prefix(root).ok());
    let inside = inside.and_then(|path| path.to_str()).filter(|path| is_literal(path));
    let of = |pattern: String| {
        rule(|rule| {
            rule.path = Some(pattern);
            rule.kind = Some(if writes { "write" } else { "read" }.to_owned());
        })
    };
    let Some(path) = inside else { return Wanted { narrow: None, broad: None } };
    // A name without a folder would be one anywhere.
    let narrow = if path.contains('/') { path.to_owned() } else { format!("./{path}") };
    let broad = path.rsplit_once('/').map_or("**".to_owned(), |(folder, _)| format!("{folder}/**"));
    Wanted { narrow: of(narrow), broad: of(broad) }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::core::rules::place::normal;
    use crate::core::rules::{Case, in_force};

    fn labels(request: Request, own: &[Rule]) -> Vec<String> {
        let case = case(request, own);
        let resolve = |path: &Path| Some(normal(path));
        let ruling = case.judge(&resolve);
        let offers = case.offers(&ruling, &resolve);
        offers.iter().map(|offer| offer.in_words(Scope::Session).replace(" in this session", "")).collect()
    }

    fn case(request: Request, own: &[Rule]) -> Case {
        Case {
            request,
            cwd: "/p".into(),
            folders: vec!["/p".into()],
            home: Some("/home/me".into()),
            rules: in_force(&["read-only".to_owned()], own),
            ..Case::default()
        }
    }

    fn line(text: &str) -> Request {
        Request { kind: Some("execute".into()), acts: vec![Act::Line(text.to_owned())], ..Request::default() }
    }

    fn files(kind: &str, paths: &[&str]) -> Request {
        let file = |path: &&str| Act::File { path: PathBuf::from(path), writes: kind == "edit" };
        Request { kind: Some(kind.to_owned()), acts: paths.iter().map(file).collect(), ..Request::default() }
    }

    #[test]
    fn a_command_is_offered_by_its_kind_and_just_as_it_is() {
        for (text, offered) in [
            (
                "cargo test -q",
                &[
                    "Allow `cargo test -q`",
                    "Allow `cargo test` with any arguments but --config and -Z",
                    "Reject `cargo test -q`",
                    "Reject `cargo test` with any arguments",
                ][..],
            ),
            (
                "npm run lint",
                &[
                    "Allow `npm run lint`",
                    "Allow `npm run lint` with any arguments",
                    "Reject `npm run lint`",
                    "Reject `npm run lint` with any arguments",
                ],
            ),
            (
                "git stash",
                &[
                    "Allow `git stash`",
                    "Allow `git stash` with any arguments but --output\u{2026}, --exec\u{2026}, \
                     --upload-pack\u{2026} and --receive-pack\u{2026}",
                    "Reject `git stash`",
                    "Reject `git stash` with any arguments",
                ],
            ),
            // Only what no rule allows yet needs one.
            (
                "cd src && make all | tail -5",
                &[
                    "Allow `make all`",
                    "Allow `make all` with any arguments",
                    "Reject `make all`",
                    "Reject `make all` with any arguments",
                ],
            ),
            // Two of them.
            (
                "touch a && mkdir b",
                &[
                    "Allow `touch a` and `mkdir b`",
                    "Allow `touch` with any arguments and `mkdir` with any arguments",
                ],
            ),
            // What runs anything is allowed as it is or not at all.
            ("python3 x.py", &["Allow `python3 x.py`", "Reject `python3 x.py`"]),
            ("node -e 'a b'", &[]),
            // What is written in the project by the way.
            (
                "make all > out.log",
                &[
                    "Allow `make all` and writing out.log",
                    "Allow `make all` with any arguments and writing any file",
                ],
            ),
        ] {
            assert_eq!(labels(line(text), &[]), offered, "{text}");
        }
    }

    #[test]
    fn what_is_dangerous_or_cannot_be_judged_is_not_allowed_by_an_offer() {
        for text in [
            "rm -rf build",
            "sudo make install",
            "git push --force",
            "curl x | sh",
            "make $(cat x)",
            "touch /etc/a",
            "touch ../a",
            "touch ~/a",
            "eval \"$X\"",
            "$X all",
            "cat .env",
        ] {
            let offered = labels(line(text), &[]);
            assert!(!offered.iter().any(|label| label.starts_with("Allow")), "{text}: {offered:?}");
        }
        // This one can be rejected, and all that is like it.
        assert_eq!(
            labels(line("rm -rf build"), &[]),
            ["Reject `rm -rf build`", "Reject `rm` with any arguments"]
        );
        assert!(
            labels(line("git push --force"), &[])
                .iter()
                .any(|label| label == "Reject `git push` with any arguments")
        );
    }

    #[test]
    fn a_file_is_offered_by_its_folder_and_by_its_name() {
        assert_eq!(
            labels(files("edit", &["/p/src/a.rs"]), &[]),
            [
                "Allow writing src/a.rs",
                "Allow writing any file in src",
                "Reject writing src/a.rs",
                "Reject writing any file in src"
            ]
        );
        assert_eq!(
            labels(files("edit", &["/p/a.rs"]), &[]),
            [
                "Allow writing a.rs",
                "Allow writing any file",
                "Reject writing a.rs",
                "Reject writing any file"
            ]
        );
        assert_eq!(
            labels(files("read", &["/p/src/a.rs", "/p/src/b.rs"]), &[]),
            [
                "Allow reading src/a.rs and reading src/b.rs",
                "Allow reading any file in src",
                "Reject reading any file in src"
            ]
        );
        // What is dangerous about one file is none of the others'.
        assert_eq!(labels(files("edit", &["/p/a/b/c/.envrc"]), &[]), ["Reject writing a/b/c/.envrc"]);
        for path in ["/p/.envrc", "/etc/hosts", "/p/a*b.txt", "/p/.git/hooks/x"] {
            let offered = labels(files("edit", &[path]), &[]);
            assert!(!offered.iter().any(|label| label.starts_with("Allow")), "{path}: {offered:?}");
        }
    }

    #[test]
    fn a_rule_of_an_answer_never_covers_what_is_dangerous() {
        let made = Rule { command: Some("git push **".into()), ..Rule::new(Decision::Allow, Source::Kept) };
        let decide = |text: &str, rule: &Rule| {
            let resolve = |path: &Path| Some(normal(path));
            case(line(text), std::slice::from_ref(rule)).judge(&resolve)
        };
        assert_eq!(decide("git push origin", &made).decision, Some(Decision::Allow));
        let forced = decide("git push --force origin", &made);
        assert_eq!(forced.decision, Some(Decision::Ask));
        assert!(forced.why.contains("a rule made by an answer does not cover"), "{}", forced.why);
        // One that the user has written does.
        let own = Rule { source: Source::Options(1), ..made };
        assert_eq!(decide("git push --force origin", &own).decision, Some(Decision::Allow));
    }
}
