//! Shared texts: one that several parts hold without copying it, and small text functions that several
//! parts of a screen need.

pub mod bar;
pub mod civil_date;
pub mod elsewhere;
pub mod encoding;
pub mod file_format;
pub mod fitting;
pub mod line_range;
pub mod uri;
pub mod url_check;
pub mod visible;

use std::fmt;
use std::hash::BuildHasher as _;
use std::ops::Deref;
use std::sync::{Arc, Weak};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Tells bytes from each other. It is there for whole files, which may be long: of those the standard library's own hash
/// takes ten times as long. With a seed that nobody knows, nobody can write a file that is taken for another.
pub fn print_of_bytes(seed: u64, bytes: &[u8]) -> u64 {
    foldhash::quality::FixedState::with_seed(seed).hash_one(bytes)
}

/// A text that many may hold, in any thread. A clone costs nothing, however long the text is; nor does
/// [`Text::body`].
#[derive(Clone, Default)]
pub struct Text {
    whole: Arc<String>,
    /// Where it is in `whole`.
    start: usize,
    end: usize,
}

/// A [`Text`] that is there as long as somebody holds it.
pub struct WeakText {
    whole: Weak<String>,
    start: usize,
    end: usize,
}

impl WeakText {
    pub fn upgrade(&self) -> Option<Text> {
        let whole = self.whole.upgrade()?;
        Some(Text { whole, start: self.start, end: self.end })
    }

    pub fn is_held(&self) -> bool {
        self.whole.strong_count() > 0
    }
}

impl Text {
    pub fn downgrade(&self) -> WeakText {
        WeakText { whole: Arc::downgrade(&self.whole), start: self.start, end: self.end }
    }

    /// A file's text as lines joined by `\n`, as buffers have them.
    pub fn plain_lines(&self) -> Self {
        let text = self.without_prefix('\u{feff}');
        let lines = if text.contains('\r') { text.matches('\n').count() } else { 0 };
        match lines > 0 && text.matches("\r\n").count() == lines {
            true => Self::from(text.replace("\r\n", "\n")).body(),
            false => text.body(),
        }
    }

    /// The text without the newline that ends it, as a buffer's lines are.
    pub fn body(&self) -> Self {
        let end = if self.ends_with('\n') { self.end - 1 } else { self.end };
        Self { whole: self.whole.clone(), start: self.start, end }
    }

    /// Adds to the text. Costs what is added as long as nobody else holds it.
    pub fn push_str(&mut self, more: &str) {
        let whole_is_ours = self.start == 0 && self.end == self.whole.len();
        match Arc::get_mut(&mut self.whole).filter(|_| whole_is_ours) {
            Some(whole) => {
                whole.push_str(more);
                self.end = whole.len();
            }
            None => *self = Self::from([&**self, more].concat()),
        }
    }

    /// The text without blanks and line breaks at its end.
    pub fn trimmed_end(&self) -> Self {
        Self { whole: self.whole.clone(), start: self.start, end: self.start + self.trim_end().len() }
    }

    /// The text without what it begins with, if it does.
    pub fn without_prefix(&self, prefix: char) -> Self {
        let start = if self.starts_with(prefix) { self.start + prefix.len_utf8() } else { self.start };
        Self { whole: self.whole.clone(), start, end: self.end }
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.whole[self.start..self.end]
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        let end = text.len();
        Self { whole: Arc::new(text), start: 0, end }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        let is_same = Arc::ptr_eq(&self.whole, &other.whole) && self.start == other.start;
        is_same && self.end == other.end || **self == **other
    }
}

impl Eq for Text {}

impl From<Text> for String {
    fn from(text: Text) -> Self {
        let is_whole = text.start == 0 && text.end == text.whole.len();
        match is_whole {
            true => Arc::try_unwrap(text.whole).unwrap_or_else(|shared| shared.as_str().to_owned()),
            false => text.as_ref().to_owned(),
        }
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl std::hash::Hash for Text {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl fmt::Display for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, formatter)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, formatter)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

/// Of what is to stand on one line no more than this is read: a title or a command may be as long as an agent
/// likes, and is read whenever it is drawn.
const MOST_OF_A_LINE: usize = 16 << 10;

/// A text on one line: each run of blanks and line breaks is one blank. Only the beginning of a long one.
pub fn one_line(text: &str) -> String {
    let start = cut(text, MOST_OF_A_LINE);
    let line = start.split_whitespace().collect::<Vec<_>>().join(" ");
    if start.len() < text.len() { line + "…" } else { line }
}

/// How many cells of the screen a text takes, where nothing in it is hidden.
pub fn cells(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}

/// As a sentence begins.
pub fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}

/// A text of Markdown without the backticks around code, where they pair up.
pub fn without_ticks(text: &str) -> String {
    let is_paired = text.matches('`').count().is_multiple_of(2) && !text.contains("``");
    if is_paired { text.replace('`', "") } else { text.to_owned() }
}

/// A command with its variables as one would type it into a shell; control characters are shown.
pub fn typed(env: &[(String, String)], words: &[String]) -> String {
    let env = env.iter().map(|(name, value)| match value.as_str() {
        "" => format!("{}=", quoted(name)),
        value => format!("{}={}", quoted(name), quoted(value)),
    });
    env.chain(words.iter().map(|word| quoted(word))).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let shown = |char: char| match char {
        '\'' => r"'\''".to_owned(),
        char if char.is_control() => char.escape_default().to_string(),
        char => char.into(),
    };
    let is_plain = |char: char| char.is_alphanumeric() || "-_./:=@%+,^\\".contains(char);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.chars().map(shown).collect::<String>()),
    }
}

/// The beginning of a text that may be as long as an agent likes, without a part of a character at its end.
pub fn cut(text: &str, bytes: usize) -> &str {
    match text.get(..bytes) {
        Some(start) => start,
        None if text.len() <= bytes => text,
        None => {
            let end = (0..bytes).rev().find(|end| text.is_char_boundary(*end));
            &text[..end.unwrap_or_default()]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weak_text_lasts_as_long_as_the_text() {
        let text = Text::from("a\n").body();
        let weak = text.downgrade();
        assert_eq!(weak.upgrade(), Some("a".into()));
        drop(text);
        assert!(!weak.is_held() && weak.upgrade().is_none());
    }

    #[test]
    fn one_line_is_made_of_the_beginning_of_a_long_text() {
        assert_eq!(one_line(" a\n\tb "), "a b");
        let line = one_line(&"é ".repeat(1 << 20));
        assert!(line.len() <= MOST_OF_A_LINE + 3 && line.ends_with('…'), "{} bytes", line.len());
        assert_eq!((cut("ab", 5), cut("aé", 2)), ("ab", "a"));
    }

    #[test]
    fn a_command_is_typed_so_that_a_shell_would_read_the_same_words() {
        let env = [("A".to_owned(), "x y".to_owned()), ("B".to_owned(), String::new())];
        let words = ["/opt/a", "it's", "$HOME", "", "a\nb"].map(str::to_owned);
        assert_eq!(typed(&env, &words), r"A='x y' B= /opt/a 'it'\''s' '$HOME' '' 'a\nb'");
    }

    #[test]
    fn cells_are_what_a_screen_has_for_a_text() {
        assert_eq!((cells("abc"), cells("日本"), cells("é…"), cells("e\u{301}")), (3, 4, 2, 1));
    }

    #[test]
    fn backticks_go_where_they_pair_up() {
        assert_eq!(without_ticks("run `cargo test` in `src`"), "run cargo test in src");
        for text in ["a ` b", "``a`b``", "plain"] {
            assert_eq!(without_ticks(text), text);
        }
    }

    #[test]
    fn a_text_grows_in_place_and_leaves_others_as_they_are() {
        let mut text = Text::from("a");
        text.push_str("b");
        let before = text.clone();
        text.push_str("c");
        assert_eq!((&*text, &*before), ("abc", "ab"));
        let mut body = Text::from("a\n").body();
        body.push_str("b");
        assert_eq!((&*body, String::from(body.clone()).as_str()), ("ab", "ab"));
        assert_eq!(&*Text::from("a \n").trimmed_end(), "a");
    }

    #[test]
    fn the_body_of_a_text_lacks_one_newline_at_most() {
        let body = |text: &str| Text::from(text).body();
        assert_eq!((&*body("a\n\n"), &*body("a"), &*body("\n"), &*body("")), ("a\n", "a", "", ""));
        assert_eq!(body("a\n"), Text::from("a"));
        assert_ne!(body("a\n"), Text::from("a\n"));
        assert_eq!(Text::from("\u{feff}a\n").without_prefix('\u{feff}').body(), "a");
        assert_eq!(Text::from("a").without_prefix('\u{feff}'), "a");
    }
}
