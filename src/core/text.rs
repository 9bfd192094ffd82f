//! Texts that go around: one that several parts hold at once without copying it, and small facts that
//! several parts of a screen need.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Weak};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

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

/// A text on one line: each run of blanks and line breaks is one blank.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
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
    fn the_body_of_a_text_lacks_one_newline_at_most() {
        let body = |text: &str| Text::from(text).body();
        assert_eq!((&*body("a\n\n"), &*body("a"), &*body("\n"), &*body("")), ("a\n", "a", "", ""));
        assert_eq!(body("a\n"), Text::from("a"));
        assert_ne!(body("a\n"), Text::from("a\n"));
        assert_eq!(Text::from("\u{feff}a\n").without_prefix('\u{feff}').body(), "a".into());
        assert_eq!(Text::from("a").without_prefix('\u{feff}'), "a".into());
    }
}
