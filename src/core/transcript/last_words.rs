//! What an agent that has ended said last, on its stderr: the end of it, and a sentence where it is a package
//! manager's that says little in many lines.

use super::drawing::Drawing;
use super::hints::Hints;
use crate::core::text::capitalized;

/// So many lines stand in the chat; the page of details has all of them.
const SHOWN: usize = 6;

/// What npm calls its errors, and what they mean.
const NPM: [(&[&str], &str); 6] = [
    (&["E404"], "npm finds no such package"),
    (&["E401", "E403"], "npm may not fetch this package without a login to its registry"),
    (
        &["ENOTFOUND", "EAI_AGAIN", "ETIMEDOUT", "ECONNREFUSED", "ECONNRESET"],
        "npm can't reach its registry: check the network and the proxy",
    ),
    (&["EACCES", "EPERM"], "npm may not write to its folders"),
    (&["ENOSPC"], "the disk is full"),
    (&["EBADENGINE"], "this package needs another version of Node"),
];

pub fn draw(drawing: &mut Drawing, stderr: &[String], hints: &Hints) {
    if stderr.is_empty() {
        return;
    }
    if let Some(meaning) = meaning(stderr) {
        drawing.hint(format!("{meaning}."));
    }
    // One line is not hidden behind another that says so.
    let from = match stderr.len() {
        0..=7 => 0,
        count => count - SHOWN,
    };
    let before =
        if from > 0 { format!(" ({from} lines before them{})", hints.all_of_it()) } else { String::new() };
    drawing.hint(format!("Its last words{before}:"));
    for line in &stderr[from..] {
        drawing.line(format!("  {}", line.trim_end()), Some("AcpMeta"));
    }
}

/// What npm means, where it is npm that failed.
fn meaning(stderr: &[String]) -> Option<String> {
    let code = stderr.iter().find_map(|line| {
        let rest = line.strip_prefix("npm error code ").or_else(|| line.strip_prefix("npm ERR! code "))?;
        Some(rest.trim())
    })?;
    let known = NPM.iter().find(|(codes, _)| codes.contains(&code));
    let text = known.map_or_else(|| format!("npm failed with {code}"), |(_, text)| (*text).to_owned());
    Some(if text.starts_with("npm") { text } else { capitalized(&text) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(stderr: &[&str]) -> Vec<String> {
        let stderr: Vec<String> = stderr.iter().map(|&line| line.to_owned()).collect();
        let mut drawing = Drawing::default();
        draw(&mut drawing, &stderr, &Hints::default());
        drawing.lines
    }

    #[test]
    fn a_few_lines_are_all_shown_and_of_many_the_last_ones() {
        assert_eq!(shown(&["a", "b"]), ["Its last words:", "  a", "  b"]);
        let many: Vec<String> = (1..=25).map(|number| number.to_string()).collect();
        let lines = shown(&many.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(lines[0], "Its last words (19 lines before them, K shows all of it):");
        assert_eq!((lines.len(), lines[1].as_str(), lines[6].as_str()), (7, "  20", "  25"));
    }

    #[test]
    fn what_npm_says_in_many_lines_is_a_sentence() {
        let first = |code: &str| shown(&["npm warn x", code, "npm error more"]).swap_remove(0);
        assert_eq!(first("npm error code E404"), "npm finds no such package.");
        assert_eq!(
            first("npm ERR! code EAI_AGAIN"),
            "npm can't reach its registry: check the network and the proxy."
        );
        assert_eq!(first("npm error code ENOSPC"), "The disk is full.");
        assert_eq!(first("npm error code EODD"), "npm failed with EODD.");
        assert_eq!(first("Error: code E404"), "Its last words:");
    }
}
