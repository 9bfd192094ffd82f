//! The words of a command as options, their values, and arguments: short options in clusters, long ones with `=`, before
//! the next word, or shortened, as most programs take them.

use crate::core::rules::line::Word;

pub struct Options<'a> {
    /// Each with its value, if it has one.
    given: Vec<(&'a str, Option<Word>)>,
    pub arguments: Vec<Word>,
}

impl<'a> Options<'a> {
    /// `valued` are those whose value may be the next word.
    pub fn read(words: &'a [Word], valued: &[&str]) -> Self {
        let mut options = Self { given: Vec::new(), arguments: Vec::new() };
        let mut words = words.iter().skip(1);
        while let Some(word) = words.next() {
            let text = &*word.text;
            let value = |text: &str| Word { text: text.to_owned(), kind: word.kind };
            if text == "--" {
                options.arguments.extend(words.by_ref().cloned());
            } else if text == "-" || !text.starts_with('-') {
                options.arguments.push(word.clone());
            } else if valued.contains(&text) {
                options.given.push((text, words.next().cloned()));
            } else if let Some((name, of)) = text.split_once('=').filter(|_| text.starts_with("--")) {
                options.given.push((name, Some(value(of))));
            } else if text.starts_with("--") {
                let takes = valued.iter().any(|long| long.starts_with("--") && long.starts_with(text));
                options.given.push((text, if takes { words.next().cloned() } else { None }));
            } else {
                options.cluster(text, valued, &value, &mut words);
            }
        }
        options
    }

    fn cluster(
        &mut self,
        text: &'a str,
        valued: &[&str],
        value: &dyn Fn(&str) -> Word,
        words: &mut dyn Iterator<Item = &Word>,
    ) {
        self.given.push((text, None));
        for (at, letter) in text.char_indices().skip(1) {
            let end = at + letter.len_utf8();
            let is_valued = valued.iter().any(|name| name.strip_prefix('-') == Some(&text[at..end]));
            let rest = &text[end..];
            let of = match (is_valued, rest.is_empty()) {
                (false, _) => None,
                (true, true) => words.next().cloned(),
                (true, false) => Some(value(rest.strip_prefix('=').unwrap_or(rest))),
            };
            self.given.push((&text[at..end], of));
            if is_valued {
                break;
            }
        }
    }

    pub fn has(&self, name: &str) -> bool {
        self.given.iter().any(|(given, _)| is_called(given, name))
    }

    /// The same of one that stands alone, just so: other letters in its word may say another thing.
    pub fn has_word(&self, name: &str) -> bool {
        self.given.iter().any(|(given, _)| *given == name)
    }

    /// The values of an option.
    pub fn values(&self, name: &str) -> Vec<Word> {
        let of = self.given.iter().filter(|(given, _)| is_called(given, name));
        of.filter_map(|(_, value)| value.clone()).collect()
    }
}

/// Whether an option is meant, by its letter, its name, or the beginning of that.
fn is_called(given: &str, name: &str) -> bool {
    match name.strip_prefix("--") {
        Some(_) => given.len() > 2 && given.starts_with("--") && name.starts_with(given),
        None => given == name || Some(given) == name.strip_prefix('-'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Vec<Word> {
        line.split(' ').map(Word::known).collect()
    }

    #[test]
    fn options_are_found_in_each_way_of_writing_them() {
        for line in ["sort -o x y", "sort -ox y", "sort -uo x y", "sort y --output=x", "sort --outp x y"] {
            let words = read(line);
            let options = Options::read(&words, &["-o", "--output"]);
            let values = [options.values("-o"), options.values("--output")].concat();
            assert_eq!(
                (values, options.arguments),
                (vec![Word::known("x")], vec![Word::known("y")]),
                "{line}"
            );
        }
        let words = read("sort -- -o x");
        let options = Options::read(&words, &["-o"]);
        assert_eq!((options.has("-o"), options.arguments), (false, read("-o x")));
    }
}
