//! Lines for cmd.exe, the shell of Windows: what it takes for its own, and how a script's arguments
//! reach the script as they are. Pure texts, so that they can be tested everywhere.
//!
//! A double quote cannot be handed through the quoting of a program's arguments: cmd.exe does not know
//! how that escapes it. So quotes go through a variable, which cmd.exe puts in before it looks at
//! anything else; a line reads to it as it was meant.

/// The variable that holds a double quote.
pub const QUOTE: (&str, &str) = ("ACP_QUOTE", "\"");

/// Commands that are no programs.
const BUILT_IN: &[&str] = &[
    "assoc", "break", "call", "cd", "chdir", "cls", "color", "copy", "date", "del", "dir", "echo",
    "endlocal", "erase", "exit", "for", "ftype", "goto", "if", "md", "mkdir", "mklink", "move", "path",
    "pause", "popd", "prompt", "pushd", "rd", "rem", "ren", "rename", "rmdir", "set", "setlocal", "shift",
    "start", "time", "title", "type", "ver", "verify", "vol",
];

/// Whether cmd.exe runs this command itself.
pub fn is_built_in(name: &str) -> bool {
    BUILT_IN.iter().any(|built_in| built_in.eq_ignore_ascii_case(name))
}

/// A line of shell code as an argument for cmd.exe. It reads one line only, so several become one.
pub fn line(code: &str) -> String {
    let lines: Vec<&str> = code.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    // A quote at the end, as the outermost, must not follow a backslash.
    format!("{} ", lines.join(" & ").replace('"', &format!("%{}%", QUOTE.0)))
}

/// The line that runs a script, or a command of cmd.exe's own, with arguments that reach it as they are;
/// `None` where cmd.exe has no way to hand one through.
pub fn call(program: &str, args: &[String]) -> Option<String> {
    let unfit = |text: &str| text.contains(['\r', '\n', '\0']);
    if unfit(program) || program.contains('"') || args.iter().any(|arg| unfit(arg)) {
        return None;
    }
    let mut code = match is_plain(program) {
        true => program.to_owned(),
        false => format!("\"{}\"", program.replace('%', LITERAL_PERCENT)),
    };
    for arg in args {
        code.push(' ');
        code.push_str(&argument(arg));
    }
    Some(line(&code))
}

/// A percent sign, followed by a variable that is always empty: so no name of a variable begins here.
const LITERAL_PERCENT: &str = "%%cd:~,%";

/// Inside of quotes nothing but quotes and percent signs means anything.
fn argument(arg: &str) -> String {
    if is_plain(arg) {
        return arg.to_owned();
    }
    let mut quoted = String::from("\"");
    let mut backslashes = 0;
    for char in arg.chars() {
        match char {
            '\\' => backslashes += 1,
            // Programs take backslashes before a quote for escapes, and two quotes for one.
            '"' => {
                quoted.push_str(&"\\".repeat(backslashes));
                quoted.push('"');
                backslashes = 0;
            }
            _ => backslashes = 0,
        }
        match char {
            '%' => quoted.push_str(LITERAL_PERCENT),
            _ => quoted.push(char),
        }
    }
    quoted.push_str(&"\\".repeat(backslashes));
    quoted.push('"');
    quoted
}

fn is_plain(word: &str) -> bool {
    !word.is_empty()
        && !word.ends_with('\\')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:\\@+#$".contains(c))
}

/// A word as one types it into cmd.exe.
pub fn shown(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:\\@+#$,=~".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("\"{}\"", word.replace('"', "\"\""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As cmd.exe does before it looks at anything else: variables go in, what is none stays.
    fn expanded(text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('%') {
            out.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let name = rest.split('%').next().filter(|name| name.len() < rest.len());
            match name {
                Some("ACP_QUOTE") => out.push('"'),
                Some("cd:~,") => {}
                _ => {
                    out.push('%');
                    continue;
                }
            }
            rest = &rest[name.map_or(0, str::len) + 1..];
        }
        out + rest
    }

    #[test]
    fn a_line_reads_to_the_shell_as_it_was_meant() {
        for code in [
            r#"echo "a b" && dir"#,
            r#"git commit -m "100%" & echo %PATH%"#,
            r#"50%"x" 20% "%""#,
            r"dir C:\",
            "echo hi",
        ] {
            let line = line(code);
            assert!(!line.contains('"'), "{line}");
            assert_eq!(expanded(&line).trim_end(), code);
        }
        assert_eq!(line("cd src\r\n\r\ncargo test\n"), "cd src & cargo test ");
    }

    #[test]
    fn a_scripts_arguments_are_quoted_so_that_nothing_in_them_is_run() {
        let call = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
            call(r"C:\Program Files\npx.cmd", &args).map(|line| expanded(&line).trim_end().to_owned())
        };
        let called = |args: &str| Some(format!(r#""C:\Program Files\npx.cmd" {args}"#));
        assert_eq!(call(&["-y", "a/b@1.0"]), called("-y a/b@1.0"));
        assert_eq!(call(&["a b", "", "x&calc"]), called(r#""a b" "" "x&calc""#));
        assert_eq!(call(&[r#"say "hi" & calc"#]), called(r#""say ""hi"" & calc""#));
        assert_eq!(call(&["%PATH%"]), called(r#""%PATH%""#));
        assert_eq!(call(&[r"C:\a b\"]), called(r#""C:\a b\\""#));
        assert_eq!(call(&["a\nb"]), None);
    }

    #[test]
    fn a_percent_sign_begins_no_variable() {
        let line = call("x.cmd", &["%USERNAME%".to_owned()]).expect("one line");
        assert_eq!(line.trim_end(), "x.cmd %ACP_QUOTE%%%cd:~,%USERNAME%%cd:~,%%ACP_QUOTE%");
    }

    #[test]
    fn commands_of_the_shells_own_are_known_in_any_case() {
        assert!(is_built_in("dir") && is_built_in("ECHO"));
        assert!(!is_built_in("git"));
    }

    #[test]
    fn a_word_is_shown_as_one_types_it() {
        assert_eq!(shown(r"src\a.rs"), r"src\a.rs");
        assert_eq!(shown("it's done"), "\"it's done\"");
        assert_eq!(shown(""), "\"\"");
    }
}
