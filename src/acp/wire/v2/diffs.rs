//! Changes of files: the second version lists the files and has a patch as git writes it, the first has the old text
//! and the new one. Each hunk becomes a change of the lines that it shows.

use serde_json::{Value, json};

/// What an agent may show of one change; more is not read.
const MOST_FILES: usize = 1000;

/// One file of a patch.
#[derive(Debug, Default, PartialEq)]
struct File<'a> {
    /// The names that the patch has for it.
    names: Vec<&'a str>,
    hunks: Vec<Hunk>,
    is_binary: bool,
}

#[derive(Debug, Default, PartialEq)]
struct Hunk {
    old: String,
    new: String,
}

/// The parts of a call that show a change.
pub fn parts(diff: &Value) -> Vec<Value> {
    let patch = diff["patch"]["text"].as_str().filter(|_| diff["patch"]["format"] == "git_patch");
    let mut files = patch.map(files).unwrap_or_default();
    let changes = diff["changes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let in_order = files.len() == changes.len();
    let mut parts = Vec::new();
    for (at, change) in changes.iter().take(MOST_FILES).enumerate() {
        let path = change["path"].as_str().unwrap_or_default();
        let named = files.iter().position(|file| file.names.iter().any(|name| is_of(name, path)));
        let file = named.or(Some(at).filter(|_| in_order)).and_then(|at| files.get_mut(at));
        let file = file.map(std::mem::take).unwrap_or_default();
        parts.extend(change_of(change, path, file));
    }
    parts
}

fn change_of(change: &Value, path: &str, file: File<'_>) -> Vec<Value> {
    let operation = change["operation"].as_str().unwrap_or_default();
    let mut parts = Vec::new();
    match (operation, change["oldPath"].as_str()) {
        ("move", Some(old)) => parts.push(words(&format!("Moved {old} to {path}"))),
        ("copy", Some(old)) => parts.push(words(&format!("Copied {old} to {path}"))),
        _ if file.hunks.is_empty() => {
            let what = match operation {
                "add" => "Added",
                "delete" => "Deleted",
                _ => "Changed",
            };
            let kind = match change["fileType"].as_str() {
                Some(kind @ ("binary" | "directory" | "symlink")) => format!(" ({kind})"),
                _ if file.is_binary => " (binary)".to_owned(),
                _ => String::new(),
            };
            parts.push(words(&format!("{what} {path}{kind}")));
        }
        _ => {}
    }
    let is_new = operation == "add";
    parts.extend(file.hunks.into_iter().map(|hunk| {
        let old = if is_new && hunk.old.is_empty() { Value::Null } else { hunk.old.into() };
        json!({ "type": "diff", "path": path, "oldText": old, "newText": hunk.new })
    }));
    parts
}

fn words(text: &str) -> Value {
    json!({ "type": "content", "content": { "type": "text", "text": text } })
}

/// Whether a name in a patch, with the letter that git puts before it, is that of a file.
fn is_of(name: &str, path: &str) -> bool {
    let short = name.strip_prefix("a/").or_else(|| name.strip_prefix("b/")).unwrap_or(name);
    [name, short].iter().any(|name| {
        !name.is_empty()
            && path.strip_suffix(name).is_some_and(|rest| {
                rest.is_empty() || rest.ends_with(['/', '\\']) || name.starts_with(['/', '\\'])
            })
    })
}

fn files(patch: &str) -> Vec<File<'_>> {
    let mut files: Vec<File<'_>> = Vec::new();
    // How many lines of the hunk are still to come, on either side.
    let (mut old_left, mut new_left) = (0, 0);
    let mut last = ' ';
    for line in patch.split_inclusive('\n') {
        let bare = line.trim_end_matches(['\n', '\r']);
        if old_left == 0 && new_left == 0 {
            if let Some(rest) = bare.strip_prefix("diff --git ") {
                if files.len() == MOST_FILES {
                    break;
                }
                // With blanks in the names these are not to be told apart; the lines below have them once more.
                files.push(File { names: rest.split(' ').collect(), ..File::default() });
            } else if let Some(name) = bare.strip_prefix("--- ").or_else(|| bare.strip_prefix("+++ ")) {
                if bare.starts_with("--- ") && files.last().is_none_or(|file| !file.hunks.is_empty()) {
                    files.push(File::default());
                }
                let name = name.split('\t').next().unwrap_or_default();
                files.last_mut().into_iter().for_each(|file| file.names.push(name));
            } else if bare.starts_with("Binary files ") || bare.starts_with("GIT binary patch") {
                files.last_mut().into_iter().for_each(|file| file.is_binary = true);
            } else if let Some((old, new)) = counts(bare)
                && let Some(file) = files.last_mut()
            {
                (old_left, new_left) = (old, new);
                file.hunks.push(Hunk::default());
            } else if bare.starts_with("\\ ") {
                without_line_end(&mut files, last);
            }
            continue;
        }
        let Some(hunk) = files.last_mut().and_then(|file| file.hunks.last_mut()) else { continue };
        let sign = line.chars().next().unwrap_or(' ');
        match sign {
            '\\' => {
                without_line_end(&mut files, last);
                continue;
            }
            '+' => {
                hunk.new.push_str(&line[1..]);
                new_left = new_left.saturating_sub(1);
            }
            '-' => {
                hunk.old.push_str(&line[1..]);
                old_left = old_left.saturating_sub(1);
            }
            // Some tools leave the blank of an empty line out.
            _ => {
                let text = line.strip_prefix(' ').unwrap_or(line);
                hunk.old.push_str(text);
                hunk.new.push_str(text);
                (old_left, new_left) = (old_left.saturating_sub(1), new_left.saturating_sub(1));
            }
        }
        last = sign;
    }
    files
}

/// The line before had none.
fn without_line_end(files: &mut [File<'_>], sign: char) {
    let Some(hunk) = files.last_mut().and_then(|file| file.hunks.last_mut()) else { return };
    let Hunk { old, new } = hunk;
    let sides: &mut [&mut String] = match sign {
        '+' => &mut [new],
        '-' => &mut [old],
        _ => &mut [old, new],
    };
    for side in sides {
        if side.ends_with('\n') {
            side.pop();
        }
    }
}

/// How many lines a hunk has on each side: `@@ -1,4 +1,4 @@`.
fn counts(line: &str) -> Option<(usize, usize)> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let new = rest.split_once(" @@")?.0;
    let count = |range: &str| match range.split_once(',') {
        Some((_, count)) => count.parse().ok(),
        None => Some(1),
    };
    Some((count(old)?, count(new)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modified(path: &str, patch: &str) -> Vec<Value> {
        let changes = json!([{ "operation": "modify", "path": path }]);
        parts(&json!({ "changes": changes, "patch": { "format": "git_patch", "text": patch } }))
    }

    fn diff(path: &str, old: Value, new: &str) -> Value {
        json!({ "type": "diff", "path": path, "oldText": old, "newText": new })
    }

    #[test]
    fn each_hunk_is_a_change_of_the_lines_that_it_shows() {
        let patch = "diff --git a/x.txt b/x.txt\n--- a/x.txt\n+++ b/x.txt\n@@ -1,3 +1,3 @@ fn x\n a\n-b\n+B\n c\n\
                     @@ -9 +9,2 @@\n-i\n+I\n+J\n";
        assert_eq!(
            modified("/p/x.txt", patch),
            [diff("/p/x.txt", "a\nb\nc\n".into(), "a\nB\nc\n"), diff("/p/x.txt", "i\n".into(), "I\nJ\n")]
        );
    }

    #[test]
    fn a_missing_line_end_is_missing_on_its_side() {
        let patch = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n";
        assert_eq!(modified("/p/x", patch), [diff("/p/x", "a".into(), "b\n")]);
        let patch = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n\\ No newline at end of file\n";
        assert_eq!(modified("/p/x", patch), [diff("/p/x", "a\nc".into(), "b\nc")]);
    }

    #[test]
    fn lines_that_look_like_heads_are_lines_of_the_hunk() {
        let patch = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a\n+++ b\n @@ -1 +1 @@\n";
        assert_eq!(
            modified("/p/x", patch),
            [diff("/p/x", "-- a\n@@ -1 +1 @@\n".into(), "++ b\n@@ -1 +1 @@\n")]
        );
    }

    #[test]
    fn files_are_added_deleted_moved_and_copied() {
        let changes = json!([
            { "operation": "add", "path": "/p/new" },
            { "operation": "delete", "path": "/p/old" },
            { "operation": "move", "oldPath": "/p/a", "path": "/p/b" },
            { "operation": "copy", "oldPath": "/p/a", "path": "/p/c" },
            { "operation": "add", "path": "/p/image.png", "fileType": "binary" },
            { "operation": "_rotate", "path": "/p/d" },
        ]);
        let patch = "diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n+1\n+2\n\
                     diff --git a/old b/old\ndeleted file mode 100644\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";
        let parts = parts(&json!({ "changes": changes, "patch": { "format": "git_patch", "text": patch } }));
        assert_eq!(
            parts,
            [
                diff("/p/new", Value::Null, "1\n2\n"),
                diff("/p/old", "gone\n".into(), ""),
                words("Moved /p/a to /p/b"),
                words("Copied /p/a to /p/c"),
                words("Added /p/image.png (binary)"),
                words("Changed /p/d"),
            ]
        );
    }

    #[test]
    fn a_change_without_a_patch_is_named() {
        let changes = json!([{ "operation": "modify", "path": "/p/x" }]);
        assert_eq!(parts(&json!({ "changes": changes })), [words("Changed /p/x")]);
        let other = json!({ "changes": changes, "patch": { "format": "_ed", "text": "1d" } });
        assert_eq!(parts(&other), [words("Changed /p/x")]);
    }

    #[test]
    fn a_broken_patch_is_read_as_far_as_it_goes() {
        for patch in [
            "",
            "@@ -1 +1 @@\n-a\n",
            "--- a/x\n@@ -x,y +z @@\n",
            "--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-ü\n",
            "\\ \n",
        ] {
            assert_eq!(modified("/p/x", patch).len(), 1, "{patch:?}");
        }
    }
}
