//! Paths of a machine on which the same files stand under other folders: the user's rules, which say what is
//! where, and what a path of either side is called on the other. Where paths stand in messages is for `acp::wire`.

use serde::{Deserialize, Serialize};

use super::uri;

/// What stands where. Of several rules that cover a path the longest counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathRules(Vec<PathRule>);

/// A folder by its two names, without a separator at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PathRule {
    there: String,
    here: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Posix,
    /// With a drive or a share: either slash separates, and the case of letters means nothing.
    Windows,
}

impl PathRules {
    /// Of pairs of absolute paths, there and here.
    pub fn new<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let rule = |(there, here)| PathRule { there: folder(there), here: folder(here) };
        Self(pairs.into_iter().map(rule).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What a path of the other machine is called here, if a rule covers it.
    pub fn to_here(&self, path: &str) -> Option<String> {
        let here = self.translate(path, |rule| (&rule.there, &rule.here))?;
        // Rules that cross may lead somewhere from which no way leads back.
        let back = self.translate(&here, |rule| (&rule.here, &rule.there))?;
        is_same(&back, path).then_some(here)
    }

    /// What a path of this machine is called on the other one, if a rule covers it.
    pub fn to_there(&self, path: &str) -> Option<String> {
        let there = self.translate(path, |rule| (&rule.here, &rule.there))?;
        let back = self.translate(&there, |rule| (&rule.there, &rule.here))?;
        is_same(&back, path).then_some(there)
    }

    fn translate(&self, path: &str, sides: impl Fn(&PathRule) -> (&String, &String)) -> Option<String> {
        // What `..` leads out of is another folder on each side.
        if path.split(['/', '\\']).any(|part| part == "..") {
            return None;
        }
        let covers = |rule| {
            let (from, to) = sides(rule);
            Some((from, to, below(from, path)?))
        };
        let (from, to, rest) = self.0.iter().filter_map(covers).max_by_key(|(from, ..)| from.len())?;
        let rest = match (style(from, rest), style(to, rest)) {
            (Style::Windows, Style::Posix) => rest.replace('\\', "/"),
            // No file of Windows has such a name.
            (Style::Posix, Style::Windows) if rest.contains('\\') => return None,
            (Style::Posix, Style::Windows) => rest.replace('/', "\\"),
            _ => rest.to_owned(),
        };
        Some(match (to.as_str(), rest.as_str()) {
            ("", "") => "/".to_owned(),
            (drive, "") if drive.ends_with(':') => format!("{drive}\\"),
            (to, rest) => format!("{to}{rest}"),
        })
    }
}

/// What of a path comes after a folder, with the separator before it; nothing where it isn't in there.
fn below<'a>(folder: &str, path: &'a str) -> Option<&'a str> {
    let (start, rest) = path.split_at_checked(folder.len())?;
    let (same, separates): (bool, &[char]) = match style(folder, path) {
        Style::Posix => (start == folder, &['/']),
        Style::Windows => (folded(start) == folded(folder), &['/', '\\']),
    };
    (same && (rest.starts_with(separates) || rest.is_empty() && !folder.is_empty())).then_some(rest)
}

/// Without a separator at the end; the root of a system is nothing.
fn folder(path: &str) -> String {
    let ends: &[char] = if is_of_windows(path) { &['/', '\\'] } else { &['/'] };
    path.trim_end_matches(ends).to_owned()
}

fn is_of_windows(path: &str) -> bool {
    uri::has_drive(path) || path.starts_with(r"\\")
}

/// The style of a folder as the rules have it; of the root, which is empty, that of what is below.
fn style(folder: &str, below: &str) -> Style {
    let is_drive = matches!(folder.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    let is_windows = is_drive || folder.starts_with(r"\\") || folder.is_empty() && is_of_windows(below);
    if is_windows { Style::Windows } else { Style::Posix }
}

fn folded(path: &str) -> String {
    path.replace('\\', "/").to_lowercase()
}

fn is_same(a: &str, b: &str) -> bool {
    let plain = |path: &str| match is_of_windows(path) {
        true => folded(path).trim_end_matches('/').to_owned(),
        false => path.trim_end_matches('/').to_owned(),
    };
    plain(a) == plain(b)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rules() -> PathRules {
        PathRules::new([
            ("/remote/src", "/home/me/src"),
            ("/remote/src/gen", "/tmp/gen"),
            ("/data/", "/mnt/d"),
        ])
    }

    #[test]
    fn the_longest_rule_counts_by_whole_components() {
        for (there, here) in [
            ("/remote/src", "/home/me/src"),
            ("/remote/src/", "/home/me/src/"),
            ("/remote/src/a b.rs", "/home/me/src/a b.rs"),
            ("/remote/src/gen", "/tmp/gen"),
            ("/remote/src/gen/x", "/tmp/gen/x"),
            ("/remote/src/generated", "/home/me/src/generated"),
            ("/data/x", "/mnt/d/x"),
        ] {
            assert_eq!(rules().to_here(there).as_deref(), Some(here));
            assert_eq!(rules().to_there(here).as_deref(), Some(there));
        }
    }

    #[test]
    fn what_no_rule_covers_is_nothing() {
        for path in
            ["/remote", "/remote/srcs", "/etc/hosts", "remote/src/a", "", "/", "/remote/src/../etc", "C:/a"]
        {
            assert_eq!(rules().to_here(path), None, "{path}");
        }
        // What another folder here stands for under that name.
        assert_eq!(rules().to_there("/home/me/src/gen/x"), None);
    }

    #[test]
    fn a_whole_machine_may_stand_in_a_folder() {
        let rules = PathRules::new([("/", "/mnt/box")]);
        assert_eq!(rules.to_here("/etc/hosts").as_deref(), Some("/mnt/box/etc/hosts"));
        assert_eq!(rules.to_here("/").as_deref(), Some("/mnt/box/"));
        assert_eq!(rules.to_there("/mnt/box").as_deref(), Some("/"));
        assert_eq!(rules.to_there("/etc/hosts"), None);
    }

    #[test]
    fn drives_are_translated_where_a_rule_names_one_and_left_alone_otherwise() {
        let rules = PathRules::new([("/src", r"C:\Users\me\src"), (r"D:\", "/mnt/d")]);
        assert_eq!(rules.to_here("/src/a/b.rs").as_deref(), Some(r"C:\Users\me\src\a\b.rs"));
        assert_eq!(rules.to_there("c:/users/me/src/a.rs").as_deref(), Some("/src/a.rs"));
        assert_eq!(rules.to_here(r"D:\x\y").as_deref(), Some("/mnt/d/x/y"));
        assert_eq!(rules.to_there("/mnt/d").as_deref(), Some(r"D:\"));
        assert_eq!(rules.to_here(r"C:\x"), None);
        assert_eq!(rules.to_here(r"/src/a\b"), None);
    }

    fn path() -> impl Strategy<Value = String> {
        prop::collection::vec("[ab]{1,2}", 0..5).prop_map(|parts| format!("/{}", parts.join("/")))
    }

    proptest! {
        #[test]
        fn there_and_back_is_the_same(
            pairs in prop::collection::vec((path(), path()), 0..4),
            path in path(),
        ) {
            let rules = PathRules::new(pairs.iter().map(|(there, here)| (there.as_str(), here.as_str())));
            if let Some(here) = rules.to_here(&path) {
                let back = rules.to_there(&here);
                prop_assert_eq!(back.as_deref().map(|back| is_same(back, &path)), Some(true));
            }
            if let Some(there) = rules.to_there(&path) {
                let back = rules.to_here(&there);
                prop_assert_eq!(back.as_deref().map(|back| is_same(back, &path)), Some(true));
            }
        }

        #[test]
        fn no_path_makes_it_fail(pairs in prop::collection::vec((".*", ".*"), 0..4), path in ".*") {
            let rules = PathRules::new(pairs.iter().map(|(there, here)| (there.as_str(), here.as_str())));
            let _ = (rules.to_here(&path), rules.to_there(&path));
        }
    }
}
