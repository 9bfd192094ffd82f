//! From an agent's request to a program that the system can start: straight, or through the user's
//! shell where an agent sent a line of shell code as the command.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::spec::{TerminalError, TerminalSpec};
use crate::core::rules::Act;
use crate::core::rules::variables::in_environment;
use crate::platform::program;

/// What Neovim itself may have of these describes Neovim's terminal, not this one.
const NOT_INHERITED: [&str; 4] = ["COLUMNS", "LINES", "TERMCAP", "COLORFGBG"];

/// A pager would wait for a key that nobody presses.
const ADDED: [(&str, &str); 4] =
    [("TERM", "xterm-256color"), ("COLORTERM", "truecolor"), ("PAGER", "cat"), ("GIT_PAGER", "cat")];

/// The program to start, in its folder and with its environment.
pub fn command(spec: &TerminalSpec) -> Result<Command, TerminalError> {
    if !spec.cwd.is_absolute() {
        return Err(TerminalError::RelativeFolder(spec.cwd.clone()));
    }
    if !spec.cwd.is_dir() {
        return Err(TerminalError::NoFolder(spec.cwd.clone()));
    }
    if let Some((name, _)) = spec.env.iter().find(|(name, _)| name.is_empty() || name.contains('=')) {
        return Err(TerminalError::Variable(name.clone()));
    }
    let mut command = program(spec)?;
    command.current_dir(&spec.cwd);
    for name in NOT_INHERITED {
        command.env_remove(name);
    }
    command.envs(ADDED).envs(spec.env.iter().map(|(name, value)| (name, value)));
    Ok(command)
}

/// The command as a user would type it, with the variables that change what it does.
pub fn line(spec: &TerminalSpec) -> String {
    match in_environment("sh", &spec.command, &spec.args, &spec.env) {
        Act::Words(words) => words.iter().map(|word| program::quoted(word)).collect::<Vec<_>>().join(" "),
        _ => spec.command.clone(),
    }
}

/// The name of the shell that lines are run in.
pub fn shell() -> String {
    let path = program::shell_program();
    path.file_stem().unwrap_or_default().to_string_lossy().to_lowercase()
}

fn program(spec: &TerminalSpec) -> Result<Command, TerminalError> {
    if spec.command.trim().is_empty() {
        return Err(TerminalError::NoCommand);
    }
    let made = match find(&spec.command, &spec.cwd, &search_path(spec)) {
        Ok(file) => program::command(file, &spec.command, &spec.args),
        Err(_) if spec.args.is_empty() && program::is_shell_code(&spec.command) => {
            Ok(program::shell(&spec.command))
        }
        Err(error) => program::built_in(&spec.command, &spec.args).ok_or(error)?,
    };
    made.map_err(|source| TerminalError::Start { command: spec.command.clone(), source })
}

/// The `PATH` that the program itself will have, as the request may change it.
fn search_path(spec: &TerminalSpec) -> OsString {
    let asked = spec.env.iter().rev().find(|(name, _)| program::is_path_variable(name));
    let asked = asked.map(|(_, value)| value.into());
    asked.or_else(|| env::var_os("PATH")).unwrap_or_else(|| program::DEFAULT_PATH.into())
}

fn find(name: &str, cwd: &Path, search_path: &OsStr) -> Result<PathBuf, TerminalError> {
    if program::names_folder(name) {
        let path = cwd.join(name);
        return match program::executable(&path) {
            Some(file) => Ok(file),
            None if path.exists() => Err(TerminalError::NotExecutable(path)),
            None => Err(TerminalError::NoFile(path)),
        };
    }
    env::split_paths(search_path)
        .find_map(|folder| program::executable(&cwd.join(folder).join(name)))
        .ok_or_else(|| TerminalError::NoProgram(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = if cfg!(windows) { r"C:\" } else { "/" };
    /// A program that each system has.
    const SOME: &str = "sort";

    fn spec(command: &str, args: &[&str]) -> TerminalSpec {
        TerminalSpec {
            command: command.into(),
            args: args.iter().map(|&arg| arg.into()).collect(),
            env: Vec::new(),
            cwd: ROOT.into(),
            output_limit: None,
            timeout: None,
        }
    }

    fn args(command: &Command) -> Vec<&str> {
        command.get_args().map(|arg| arg.to_str().expect("test arguments are text")).collect()
    }

    #[cfg(unix)]
    #[test]
    fn a_program_and_its_arguments_run_without_a_shell() {
        let command = command(&spec("echo", &["a b", "$HOME"])).unwrap();
        assert!(command.get_program().to_str().unwrap().ends_with("/echo"));
        assert_eq!(args(&command), ["a b", "$HOME"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_line_of_shell_code_runs_in_the_users_shell() {
        let command = command(&spec("echo a && echo b", &[])).unwrap();
        assert_eq!(Path::new(command.get_program()), program::shell_program());
        assert_eq!(args(&command), ["-c", "echo a && echo b"]);
    }

    #[test]
    fn a_missing_program_is_named_with_what_to_do() {
        let error = command(&spec("no-such-program", &[])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no such program \"no-such-program\"; check its name and $PATH, or give its full path"
        );
        assert!(matches!(command(&spec("echo a", &["b"])), Err(TerminalError::NoProgram(_))));
        assert!(matches!(command(&spec("/no/such", &[])), Err(TerminalError::NoFile(_))));
        assert!(matches!(command(&spec(" ", &[])), Err(TerminalError::NoCommand)));
    }

    #[cfg(unix)]
    #[test]
    fn what_may_not_be_run_is_said_to_be_so() {
        assert!(matches!(command(&spec("/etc/passwd", &[])), Err(TerminalError::NotExecutable(_))));
        assert!(matches!(command(&spec("/etc", &[])), Err(TerminalError::NotExecutable(_))));
    }

    #[cfg(windows)]
    #[test]
    fn a_program_is_found_by_its_name_without_the_extension() {
        let command = command(&spec("xcopy", &["a b", "%PATH%"])).unwrap();
        assert!(command.get_program().to_string_lossy().to_lowercase().ends_with(r"\xcopy.exe"));
        assert_eq!(args(&command), ["a b", "%PATH%"]);
        assert!(matches!(self::command(&spec(r"C:\windows", &[])), Err(TerminalError::NotExecutable(_))));
    }

    #[cfg(windows)]
    #[test]
    fn a_line_and_a_command_of_the_shells_own_run_in_the_shell() {
        for spec in [spec("echo a && echo b", &[]), spec("dir", &[]), spec("echo", &["a b"])] {
            let command = command(&spec).unwrap();
            assert_eq!(Path::new(command.get_program()), program::shell_program());
            assert_eq!(args(&command)[..5], ["/d", "/e:on", "/v:off", "/s", "/c"]);
        }
        assert!(matches!(command(&spec("echo", &["a\nb"])), Err(TerminalError::Start { .. })));
    }

    #[test]
    fn a_folder_must_be_absolute_and_there() {
        let relative = TerminalSpec { cwd: "src".into(), ..spec("echo", &[]) };
        assert!(matches!(command(&relative), Err(TerminalError::RelativeFolder(_))));
        let missing = TerminalSpec { cwd: Path::new(ROOT).join("no such"), ..spec("echo", &[]) };
        assert!(matches!(command(&missing), Err(TerminalError::NoFolder(_))));
    }

    #[test]
    fn the_requests_environment_wins_over_ours() {
        let env = vec![("PAGER".into(), "less".into()), ("X".into(), "1".into())];
        let command = command(&TerminalSpec { env, ..spec(SOME, &[]) }).unwrap();
        let value = |name: &str| command.get_envs().find(|(n, _)| *n == name).and_then(|(_, value)| value);
        assert_eq!(value("PAGER"), Some(OsStr::new("less")));
        assert_eq!(value("X"), Some(OsStr::new("1")));
        assert_eq!(value("TERM"), Some(OsStr::new("xterm-256color")));
        assert_eq!(value("COLUMNS"), None);
    }

    #[test]
    fn a_variable_without_a_name_is_refused() {
        let env = vec![("A=B".into(), "1".into())];
        let refused = command(&TerminalSpec { env, ..spec("echo", &[]) });
        assert!(matches!(refused, Err(TerminalError::Variable(name)) if name == "A=B"));
    }

    #[test]
    fn the_requests_path_decides_where_a_program_is_looked_for() {
        let env = vec![("PATH".into(), "/no/such".into())];
        let refused = command(&TerminalSpec { env, ..spec(SOME, &[]) });
        assert!(matches!(refused, Err(TerminalError::NoProgram(_))));
    }

    #[cfg(unix)]
    #[test]
    fn the_line_shows_arguments_as_one_would_type_them() {
        assert_eq!(line(&spec("make -j2 && echo ok", &[])), "make -j2 && echo ok");
        assert_eq!(
            line(&spec("git", &["commit", "-m", "it's done", ""])),
            r"git commit -m 'it'\''s done' ''"
        );
        let env = vec![("CI".into(), "1".into()), ("LD_PRELOAD".into(), "x y".into())];
        let set = TerminalSpec { env, ..spec("make all", &[]) };
        assert_eq!(line(&set), "env 'LD_PRELOAD=x y' sh -c 'make all'");
    }
}
