//! The ready sets of rules, and what is asked about by default. The help lists them from here.

use std::sync::LazyLock;

use super::pattern::Needles;
use super::rule::{Decision, Rule, Source};

/// Rules that are turned on by their name.
pub struct Set {
    pub name: &'static str,
    pub about: &'static str,
    /// The shapes of the commands that it allows.
    pub commands: &'static [&'static str],
}

pub const SETS: &[Set] = &[
    Set {
        name: "read-only",
        about: "Commands that look at files of the project and change nothing.",
        commands: &[
            "basename **",
            "cat **",
            "cd * !-*",
            "cmp **",
            "column **",
            "cut **",
            "df **",
            "diff ** !--to-file",
            "dirname **",
            "du **",
            "echo **",
            "false",
            "fd ** !-x !-X !--exec !--exec-batch",
            "file ** !-C !--compile",
            "find ** !-delete !-exec !-execdir !-ok !-okdir !-fls !-fprint*",
            "git {branch,remote,tag}",
            "git {branch,remote} {-v,-vv,-a,-r,--list,--show-current}",
            "git {diff,log,show} ** !--output* !--ext-diff !--textconv",
            "git {blame,describe,ls-files,rev-parse,shortlog,status} ** !--output*",
            "grep **",
            "head **",
            "jq ** !-f !--from-file",
            "ls **",
            "md5sum **",
            "nl **",
            "printf ** !-v",
            "pwd **",
            "readlink **",
            "realpath **",
            "rg ** !--pre* !--hostname-bin !-z !--search-zip !-. !--hidden !-u !--unrestricted",
            "sha1sum **",
            "sha256sum **",
            "sort ** !-o !-T !--output !--compress-program !--temporary-directory !--files0-from",
            "stat **",
            "tail **",
            "test ** !-v !-R",
            "tr **",
            "tree ** !-o !-R !--output",
            "true",
            "type *",
            "uname **",
            "wc ** !--files0-from",
            "which **",
            "whoami",
        ],
    },
    Set {
        name: "tests",
        about: "Commands that build and test the project. They run the project's code.",
        commands: &[
            "cargo {build,check,clippy,doc,fmt,test} ** !--config !--*-dir* !--*-path* !--codegen* !--open !-C !-Z",
            "cargo nextest {list,run} ** !--*config* !--*-dir* !--*-path* !--archive* !--extract* !-C !-Z",
            "deno {check,lint,test} ** !*:* !-c !--config !--import-map !--preload !--require !--coverage !--junit*",
            "go {build,test,vet} ** !-*exec* !-o* !-C* !-mod* !-vettool* !-*flags* !-comp* !-pkg* !-*profile* !-trace*",
            "{mix,rake,sbt} test",
            "{npm,pnpm,yarn,bun} test",
            "{npm,pnpm,yarn,bun} run {build,check,lint,test,typecheck}",
            "pytest ** !-c !-p !-o !--*conf* !--root* !--over* !--base* !--junit* !--*log* !--pdb* !--paste* !--debug",
            "python{,3} -m pytest ** !-c !-p !-o !--*conf* !--root* !--over* !--base* !--junit* !--*log* !--pdb* !--paste* !--debug",
            "python{,3} -m unittest **",
            "tox",
            "tox {-e,run} *",
            "tox run -e *",
            "make {all,build,check,lint,test}",
        ],
    },
];

/// Files whose content is run later, or that hold secrets: they are asked about unless a rule that is more specific
/// says otherwise.
pub const RUNS_LATER: &[&str] = &[
    "**/.git/hooks/**",
    "**/.git/{config,info/attributes}",
    "**/.githooks/**",
    "**/.husky/**",
    ".gitmodules",
    ".gitconfig",
    ".pre-commit-config.yaml",
    "{.nvim.lua,.nvimrc,.exrc,.vimrc,.lvimrc}",
    ".envrc",
    "**/.vscode/{tasks,settings,launch}.json",
    "**/.cargo/config{,.toml}",
    "**/.github/workflows/**",
    "**/.circleci/**",
    ".gitlab-ci.yml",
    ".travis.yml",
    "Jenkinsfile",
    "{package.json,.npmrc,.yarnrc,.yarnrc.yml}",
    "{.bashrc,.bash_profile,.bash_login,.bash_logout,.profile,.zshrc,.zshenv,.zprofile,.zlogin,.zlogout}",
    "**/.config/{fish,nvim,systemd,autostart}/**",
    "{crontab,.xinitrc,.xprofile,.inputrc}",
];
/// Those of them that commands change all the time which install or build something.
pub const OFTEN_CHANGED: &[&str] = &["{package.json,.npmrc,.yarnrc,.yarnrc.yml,.gitmodules}"];
pub const SECRETS: &[&str] = &[
    "{.env,.env.*,.netrc,_netrc,.pgpass,.pypirc,.git-credentials}",
    "{id_rsa,id_dsa,id_ecdsa,id_ed25519,*.pem,*.p12,*.pfx,*.key,*.keystore}",
    "**/.ssh/**",
    "**/.gnupg/**",
    "**/.aws/**",
    "**/.kube/**",
    "**/.docker/config.json",
    "**/.config/gh/**",
    "{/proc/**,/sys/**}",
];

static NEEDLES: LazyLock<Needles> = LazyLock::new(|| Needles::of(&[RUNS_LATER, SECRETS].concat()));

/// Whether one of these patterns may fit a path. None does for nearly all files that agents touch.
pub fn may_be_guarded(path: &str) -> bool {
    NEEDLES.may_fit(path)
}

/// What counts without any option.
pub fn defaults() -> Vec<Rule> {
    let ask = |pattern: &&str, kinds: &str, reason: &str| Rule {
        path: Some((*pattern).to_owned()),
        kind: Some(kinds.to_owned()),
        reason: Some(reason.to_owned()),
        ..Rule::new(Decision::Ask, Source::BuiltIn)
    };
    let later = RUNS_LATER.iter().map(|it| ask(it, "write", "what it holds is run later"));
    let secrets = SECRETS.iter().map(|it| ask(it, "any", "it may hold secrets"));
    later.chain(secrets).collect()
}

pub fn is_known(name: &str) -> bool {
    SETS.iter().any(|set| set.name == name)
}

/// What to say of a name that no set has.
pub fn unknown(name: &str) -> String {
    let known: Vec<String> = SETS.iter().map(|set| format!("{:?}", set.name)).collect();
    format!("there is no set {name:?}; there are {}", known.join(", "))
}

/// The rules of a set.
pub fn rules_of(name: &str) -> Vec<Rule> {
    let set = SETS.iter().find(|set| set.name == name);
    let rule = |shape: &&str| Rule {
        command: Some((*shape).to_owned()),
        ..Rule::new(Decision::Allow, Source::Set(name.to_owned()))
    };
    set.map(|set| set.commands.iter().map(rule).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::core::rules::pattern::path_fits;

    #[test]
    fn what_is_built_in_is_about_nothing_but_files_that_may_be_guarded() {
        for rule in defaults() {
            let path = rule.path.as_deref().expect("it is about files");
            assert!(RUNS_LATER.contains(&path) || SECRETS.contains(&path), "{path}");
        }
        for path in [
            "/p/.env",
            "/P/.ENV.local",
            "/home/me/.ssh/known_hosts",
            "/p/A.PEM",
            "/p/Package.json",
            "/proc/1",
        ] {
            assert!(may_be_guarded(path), "{path}");
        }
        for path in ["/p/src/main.rs", "/p/README.md", "/p/environment", "/"] {
            assert!(!may_be_guarded(path), "{path}");
        }
    }

    proptest! {
        #[test]
        fn where_no_needle_is_no_pattern_fits(
            pattern in prop_oneof![
                proptest::sample::select([RUNS_LATER, SECRETS].concat()).prop_map(str::to_owned),
                "(~/|\\./|/|\\*\\*/)?([ab.*{},/]|\\*\\*){0,9}",
            ],
            path in prop_oneof![
                "(/([ab.A]{1,3}|home|\\.ssh|\\.ENV|x\\.Pem|\\.git|hooks|config|id_rsa|Package\\.json)){1,5}",
                "(/[ab.AB]{1,4}){1,4}",
            ],
            is_loose in any::<bool>(),
        ) {
            let (roots, home) = (["/a".to_owned(), "/home".to_owned()], Some("/home/b"));
            let fits = path_fits(&pattern, &path, &roots, home, is_loose);
            prop_assert!(!fits || Needles::of(&[&pattern]).may_fit(&path));
        }
    }
}
