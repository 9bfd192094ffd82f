//! Lists of what breaks a rule since before there was one: `tests/tidy/allowed/`. They may only shrink. What is not
//! listed fails, and so does an entry that is not needed any more. `ACP_WRITE_ALLOWED=1 cargo test --test tidy` writes
//! them anew, for what was mended or has another name, and refuses to make one longer.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::{read, root};

/// How often each line stands in a list.
type Counted = BTreeMap<String, usize>;

fn counted<S: AsRef<str>>(lines: impl IntoIterator<Item = S>) -> Counted {
    let mut counted = Counted::new();
    for line in lines {
        *counted.entry(line.as_ref().to_owned()).or_default() += 1;
    }
    counted
}

/// What the first has more of than the second.
fn beyond(first: &Counted, second: &Counted) -> Vec<String> {
    let more = |(line, count): (&String, &usize)| {
        let more = count.saturating_sub(second.get(line).copied().unwrap_or_default());
        std::iter::repeat_n(line.clone(), more)
    };
    first.iter().flat_map(more).collect()
}

/// Holds what was found to the list of that name; `todo` says how to do without a new entry.
pub fn check(list: &str, found: &[String], todo: &str) {
    let file = PathBuf::from("tests/tidy/allowed").join(list);
    let text = read(&file);
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let (listed, found_now) = (counted(&lines), counted(found));
    let (new, stale) = (beyond(&found_now, &listed), beyond(&listed, &found_now));
    if new.is_empty() && stale.is_empty() {
        return;
    }
    if std::env::var_os("ACP_WRITE_ALLOWED").is_some() && found.len() <= lines.len() {
        let head: Vec<&str> = text.lines().take_while(|line| line.starts_with('#')).collect();
        let mut found = found.to_vec();
        found.sort();
        let written = format!("{}\n{}\n", head.join("\n"), found.join("\n"));
        fs::write(root().join(&file), written.replace("\n\n", "\n")).expect("the list is written");
        return;
    }
    let file = file.display();
    assert!(new.is_empty(), "{todo}; these are new, and {file} may only shrink:\n{}", new.join("\n"));
    panic!(
        "these are mended; ACP_WRITE_ALLOWED=1 cargo test --test tidy takes them out of {file}:\n{}",
        stale.join("\n")
    );
}

#[test]
fn what_a_list_has_more_than_another_is_counted() {
    let (first, second) = (counted(["a", "a", "b"]), counted(["a", "c"]));
    assert_eq!(beyond(&first, &second), ["a", "b"]);
    assert_eq!(beyond(&second, &first), ["c"]);
}
