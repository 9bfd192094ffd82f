//! Screens as texts beside the tests: where they are kept, and how they are made the same in each run
//! and in each version of Neovim. The screen itself is left to `grid`.

use regex_lite::{Captures, Regex};

/// Compares a text with `tests/screens/{name}.snap`; `INSTA_UPDATE=always` writes it anew.
#[track_caller]
pub fn assert_looks(name: &str, text: &str) {
    let (folder, name) = name.rsplit_once('/').unwrap_or(("", name));
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(format!("../screens/{folder}"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// A screen without how long things took. What stands further along in a line stays in its column.
pub fn timeless(screen: &str) -> String {
    // In seconds, or as a clock counts.
    let span = Regex::new(r"(^| )(\d[\d.]* m?s|\d+:\d\d)( *)($|[^\w:.])").expect("a pattern");
    let masked = |found: &Captures| {
        let (before, time, gap, after) = (&found[1], &found[2], &found[3], &found[4]);
        let wide = time.len() + gap.len() - "(time)".len().min(time.len() + gap.len());
        let gap = if gap.len() < 2 { gap.len() } else { wide.max(1) };
        format!("{before}(time){}{after}", " ".repeat(gap))
    };
    // Newer versions say in the status line that a buffer can't be changed.
    let lines = screen.lines().map(|line| line.replace(" [-]", "    "));
    let lines = lines.map(|line| span.replace_all(&line, masked).trim_end().to_owned());
    let spinner = Regex::new("[⣾⣽⣻⢿⡿⣟⣯⣷]").expect("a pattern");
    spinner.replace_all(&lines.collect::<Vec<_>>().join("\n"), "⣾").into_owned()
}
