//! References in prompts: what counts as one, what does not, and that a written reference is parsed back
//! the same.

use proptest::prelude::*;

use super::*;

fn found(text: &str) -> Vec<(&str, Target)> {
    references(text).into_iter().map(|found| (&text[found.at], found.target)).collect()
}

fn file(path: &str) -> Target {
    Target::File { path: path.into(), lines: None }
}

fn lines(path: &str, first: usize, last: usize) -> Target {
    Target::File { path: path.into(), lines: Lines::new(first, last) }
}

#[test]
fn references_are_found_in_a_sentence() {
    assert_eq!(
        found("Look at @src/auth.rs:40-88, then (@a.rs) and @diagnostics."),
        [
            ("@src/auth.rs:40-88", lines("src/auth.rs", 40, 88)),
            ("@a.rs", file("a.rs")),
            ("@diagnostics", Target::Named(Named::Diagnostics)),
        ]
    );
    assert_eq!(found("@a:7"), [("@a:7", lines("a", 7, 7))]);
    assert_eq!(found("@\"my notes.md\":2-3 x"), [("@\"my notes.md\":2-3", lines("my notes.md", 2, 3))]);
    assert_eq!(found("@#12:1-2"), [("@#12:1-2", Target::Numbered { buffer: 12, lines: Lines::new(1, 2) })]);
    assert_eq!(
        found("see @https://example.com/a?b=c#d."),
        [("@https://example.com/a?b=c#d", Target::Url("https://example.com/a?b=c#d".into()))]
    );
    assert_eq!(found("@app/(group)/page.tsx"), [("@app/(group)/page.tsx", file("app/(group)/page.tsx"))]);
}

#[test]
fn one_of_a_kind_is_called_by_its_name() {
    let one = |kind, name: &str| Target::One { kind, name: name.into() };
    assert_eq!(
        found("See @help:'number', (@help:nvim_buf_get_lines()) and @commit:1234567."),
        [
            ("@help:'number'", one(Kind::Help, "'number'")),
            ("@help:nvim_buf_get_lines()", one(Kind::Help, "nvim_buf_get_lines()")),
            ("@commit:1234567", one(Kind::Commit, "1234567")),
        ]
    );
    assert_eq!(found("(@commit:HEAD~2)"), [("@commit:HEAD~2", one(Kind::Commit, "HEAD~2"))]);
    assert_eq!(found("@symbol:M.new."), [("@symbol:M.new", one(Kind::Symbol, "M.new"))]);
    // A file of that name, and what git would take for an option.
    assert_eq!(found("@help:12"), [("@help:12", lines("help", 12, 12))]);
    assert_eq!(found("@commit:--all"), [("@commit:--all", file("commit:--all"))]);
    assert_eq!(found("@help:"), [("@help", file("help"))]);
}

#[test]
fn what_is_no_reference_is_left_alone() {
    for text in [
        "me@example.com",
        "@",
        "a @ b",
        "@@x",
        "`@dataclass` is code",
        "```python\n@dataclass\nclass A: pass\n```",
        "@\"\"",
        "@#x",
    ] {
        assert_eq!(found(text), [], "{text}");
    }
    // Lines that cannot be are a part of the name.
    assert_eq!(found("@a:9-3"), [("@a:9-3", file("a:9-3"))]);
    assert_eq!(found("a ` tick @x.rs"), [("@x.rs", file("x.rs"))]);
}

#[test]
fn a_person_is_told_from_a_path() {
    assert!(!file("alice").is_deliberate());
    assert!(file("src/alice").is_deliberate());
    assert!(file("alice.rs").is_deliberate());
    assert!(lines("alice", 1, 2).is_deliberate());
}

#[test]
fn what_is_nearly_a_name_is_known_by_it_and_other_words_are_not() {
    for (named, word, _) in Named::ALL {
        let letters: Vec<char> = word.chars().collect();
        let [mut missing, mut other, mut swapped] = [(); 3].map(|()| letters.clone());
        missing.remove(1);
        other[2] = 'x';
        swapped.swap(1, 2);
        for wrong in [missing, other, swapped].into_iter().filter(|wrong| wrong.len() >= 4) {
            let wrong: String = wrong.into_iter().collect();
            assert_eq!(Named::near(&wrong), Some(named), "{wrong}");
        }
        assert_eq!(Named::near(&format!("{word}s")), Some(named));
        assert_eq!(Named::near(&word.to_uppercase()), Some(named));
    }
    for word in ["nope", "alice", "param", "override", "dif", "buff", "symposium"] {
        assert_eq!(Named::near(word), None, "{word}");
    }
}

#[test]
fn lines_of_a_text_are_cut_out_exactly() {
    let cut = |text: &'static str, first, last| Lines::new(first, last).and_then(|lines| lines.of(text));
    assert_eq!(cut("a\nb\nc\n", 2, 3), Some("b\nc"));
    assert_eq!(cut("a\nb\nc", 3, 9), Some("c"));
    assert_eq!(cut("a\nb\n", 1, 1), Some("a"));
    assert_eq!(cut("a\r\nb\r\n", 1, 2), Some("a\r\nb\r"));
    assert_eq!(cut("a\n", 5, 6), None);
    assert_eq!(cut("", 1, 1), Some(""));
}

#[test]
fn what_went_along_is_named_and_not_shown() {
    let root = Path::new("/project");
    let text = |uri: String| Content::Resource { uri, mime: None, body: ResourceBody::Text("a\nb\n".into()) };
    let uri = file_uri(Path::new("/project/src/my file.rs"), Lines::new(3, 4));
    assert_eq!(uri, "file:///project/src/my%20file.rs#L3:4");
    assert_eq!(label(&text(uri), root).as_deref(), Some("src/my file.rs:3-4 (2 lines)"));
    assert_eq!(label(&text("file:///etc/x".into()), root).as_deref(), Some("/etc/x (2 lines)"));
    assert_eq!(label(&text("acp://context/git diff".into()), root).as_deref(), Some("git diff (2 lines)"));
}

#[test]
fn images_are_known_by_their_bytes() {
    assert_eq!(image_type(b"\x89PNG\r\n\x1a\n...."), Some("image/png"));
    assert_eq!(image_type(b"GIF89a"), Some("image/gif"));
    assert_eq!(image_type(b"RIFF\0\0\0\0WEBPVP8 "), Some("image/webp"));
    assert_eq!(image_type(b"\xff\xd8\xff\xe0"), Some("image/jpeg"));
    assert_eq!(image_type(b"<svg/>"), None);
    for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
        assert_eq!(base64(bytes.as_bytes()), text);
    }
}

proptest! {
    #[test]
    fn any_path_is_read_back_from_what_is_typed_for_it(path in "[^\"\\n\\r\\x00]{1,30}", first in 1usize..99, more in 0usize..9, ranged: bool) {
        prop_assume!(!path.starts_with("http") && !path.trim().is_empty());
        let target = Target::File { path, lines: if ranged { Lines::new(first, first + more) } else { None } };
        let text = format!("see {} and", target.token());
        let read = references(&text);
        prop_assert_eq!(read.len(), 1, "{}", text);
        prop_assert_eq!(&read[0].target, &target, "{}", text);
        prop_assert_eq!(&text[read[0].at.clone()], target.token());
    }

    #[test]
    fn no_text_makes_reading_fail(text in any::<String>()) {
        let mut end = 0;
        for reference in references(&text) {
            prop_assert!(reference.at.start >= end && text[reference.at.clone()].starts_with('@'));
            end = reference.at.end;
        }
    }
}
