//! Variables of a command's environment. Only those on a list are known to leave alone what the command does: others may
//! name the program that is run, the code that it loads, or the files that it reads.

use super::request::Act;

/// Variables that only change what a program says, and how.
const HARMLESS: &[&str] = &[
    "CARGO_TERM_COLOR",
    "CARGO_TERM_PROGRESS_WHEN",
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "COLUMNS",
    "FORCE_COLOR",
    "GIT_OPTIONAL_LOCKS",
    "GIT_TERMINAL_PROMPT",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LINES",
    "NO_COLOR",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TERM",
    "TZ",
];
/// Variables that name a program to be run, with the values that keep one from being run.
const PROGRAMS: &[(&[&str], &[&str])] = &[
    (&["GH_PAGER", "GIT_PAGER", "MANPAGER", "PAGER"], &["", "cat"]),
    (&["EDITOR", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "VISUAL"], &[":", "true"]),
];

/// Whether a command does the same with this variable as without it.
pub fn is_harmless(name: &str, value: &str) -> bool {
    let keeps = |(names, values): &(&[&str], &[&str])| names.contains(&name) && values.contains(&value);
    HARMLESS.contains(&name) || PROGRAMS.iter().any(keeps)
}

/// What zsh ties to variables of the environment, and what holds its commands.
const TIED: &[&str] = &[
    "aliases",
    "cdpath",
    "commands",
    "fignore",
    "fpath",
    "functions",
    "galiases",
    "manpath",
    "module_path",
    "options",
    "path",
    "prompt",
    "saliases",
];

/// Whether a shell line may use a variable of this name for itself: nothing that it runs looks at it.
pub fn is_own(name: &str) -> bool {
    HARMLESS.contains(&name) || name.contains(|char: char| char.is_ascii_lowercase()) && !TIED.contains(&name)
}

/// Shells that read a line as bash does, as far as lines are judged.
const LIKE_BASH: &[&str] = &["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh"];

/// A program with its environment, as `env` would run it; without arguments it is a line of code for a shell, which is
/// named where it reads lines in another way. What is harmless is left out, so that the same command is the same act.
pub fn in_environment(shell: &str, command: &str, args: &[String], variables: &[(String, String)]) -> Act {
    let is_like_bash = LIKE_BASH.contains(&shell);
    let shell = if is_like_bash { "sh" } else { shell };
    let changes = variables.iter().filter(|(name, value)| !is_harmless(name, value));
    let set: Vec<String> = changes.map(|(name, value)| format!("{name}={value}")).collect();
    let program = || [command.to_owned()].into_iter().chain(args.iter().cloned());
    if set.is_empty() && args.is_empty() && is_like_bash {
        return Act::Line(command.to_owned());
    }
    let env = (!set.is_empty()).then(|| "env".to_owned());
    let code = args.is_empty().then(|| [shell, "-c"].map(str::to_owned)).into_iter().flatten();
    Act::Words(env.into_iter().chain(set).chain(code).chain(program()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::rules::shell;

    fn act(command: &str, args: &[&str], variables: &[(&str, &str)]) -> String {
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        let variables: Vec<(String, String)> =
            variables.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        match in_environment("zsh", command, &args, &variables) {
            Act::Line(line) => line,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn what_changes_nothing_is_left_out_and_the_rest_stands_before_the_command() {
        assert_eq!(act("make && ls", &[], &[("CI", "1"), ("GIT_PAGER", "cat")]), "make && ls");
        assert_eq!(act("make", &["all"], &[("TERM", "dumb")]), r#"Words(["make", "all"])"#);
        assert_eq!(act("make", &["all"], &[("PATH", "/x")]), r#"Words(["env", "PATH=/x", "make", "all"])"#);
        assert_eq!(
            act("make", &[], &[("CI", "1"), ("GIT_PAGER", "rm x")]),
            r#"Words(["env", "GIT_PAGER=rm x", "sh", "-c", "make"])"#
        );
    }

    #[test]
    fn a_line_for_another_shell_is_judged_as_that() {
        // To fish the first quote ends behind `b`, and `rm` is a command.
        let act = in_environment("fish", r"echo 'a' 'b; rm x #'", &[], &[]);
        let words = ["fish", "-c", r"echo 'a' 'b; rm x #'"].map(str::to_owned);
        assert_eq!(act, Act::Words(words.to_vec()));
        let Act::Words(words) = act else { return };
        assert!(shell::read_words(&words).doubts.contains(&"it is read by another shell"));
    }

    #[test]
    fn a_variable_that_is_not_listed_may_change_anything() {
        for (name, value) in [
            ("PATH", "/x"),
            ("Path", "/x"),
            ("LD_PRELOAD", "x.so"),
            ("LD_LIBRARY_PATH", "."),
            ("DYLD_INSERT_LIBRARIES", "x"),
            ("BASH_ENV", "x"),
            ("ENV", "x"),
            ("IFS", "x"),
            ("PROMPT_COMMAND", "rm x"),
            ("SHELL", "x"),
            ("SHELLOPTS", "xtrace"),
            ("PS4", "$(rm x)"),
            ("HOME", "/x"),
            ("PAGER", "less"),
            ("GIT_PAGER", "cat; rm x"),
            ("GIT_DIR", "/x"),
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_SSH_COMMAND", "x"),
            ("GIT_EXTERNAL_DIFF", "x"),
            ("EDITOR", "vim"),
            ("NODE_OPTIONS", "--require x"),
            ("PYTHONPATH", "x"),
            ("PYTHONSTARTUP", "x"),
            ("PERL5OPT", "-Mx"),
            ("RUBYOPT", "-rx"),
            ("RUSTC_WRAPPER", "x"),
            ("CARGO_BUILD_RUSTC", "x"),
            ("MAKEFLAGS", "--eval=x"),
            ("LESSOPEN", "|x"),
            ("RIPGREP_CONFIG_PATH", "x"),
            ("BASH_FUNC_ls%%", "() { rm x; }"),
            ("LC_ALL ", "x"),
            ("", "x"),
        ] {
            assert!(!is_harmless(name, value), "{name}={value}");
        }
    }
}
