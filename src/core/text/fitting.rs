//! Texts that are cut to a width in cells of the screen.

use super::cells;

/// Cuts a text to `width` cells, in the middle, since both ends of a path tell most.
pub fn cut_middle(text: &str, width: usize) -> String {
    if width < 3 || taken(text) <= width {
        // There is no room for both ends.
        return cut_end(text, width);
    }
    let head = (width - 1) / 2;
    let start = fitting(text.chars(), head);
    let end: String = fitting(text.chars().rev(), width - 1 - head).chars().rev().collect();
    format!("{start}…{end}")
}

/// What of a message's line is for others: what Neovim keeps of it, and the name before the message.
pub const BESIDE_MESSAGE: usize = 12 + "acp: ".len();

/// The cells of a message that is shown whole on a screen of 80 columns.
const MESSAGE: usize = 80 - BESIDE_MESSAGE;

/// Of a name that is cut to less nobody knows what it is.
const SHORTEST_NAME: usize = 16;

/// A message that begins with a name. The middle of that gives way to what is said about it.
pub fn message_about(name: &str, said: &str) -> String {
    format!("{}{said}", cut_middle(name, MESSAGE.saturating_sub(taken(said)).max(SHORTEST_NAME)))
}

/// Cuts a text to `width` cells, at its end.
pub fn cut_end(text: &str, width: usize) -> String {
    match width {
        0 => String::new(),
        _ if taken(text) <= width => text.to_owned(),
        _ => fitting(text.chars(), width - 1) + "…",
    }
}

/// The same between words, unless little would be left then.
pub fn cut_at_word(text: &str, width: usize) -> String {
    if taken(text) <= width {
        return text.to_owned();
    }
    // The character behind says whether a word ends there.
    let start = fitting(text.chars(), width);
    match start.rfind(char::is_whitespace).map(|end| start[..end].trim_end()) {
        Some(whole) if taken(whole) * 2 > width => format!("{whole}…"),
        _ => cut_end(text, width),
    }
}

/// The same between words, in the middle: names that begin alike differ at their ends.
pub fn cut_between_words(text: &str, width: usize) -> String {
    if taken(text) <= width {
        return text.to_owned();
    }
    // A third for the end, from the beginning of a word on.
    let end: String = fitting(text.chars().rev(), width / 3).chars().rev().collect();
    let end = end.split_once(char::is_whitespace).map_or("", |(_, whole)| whole).trim_start();
    if end.is_empty() {
        return cut_at_word(text, width);
    }
    let room = width.saturating_sub(taken(end) + 2);
    let start = fitting(text.chars(), room + 1);
    let whole = start.rfind(char::is_whitespace).map(|end| start[..end].trim_end());
    let start = whole
        .filter(|whole| taken(whole) * 2 > room)
        .map_or_else(|| fitting(text.chars(), room), str::to_owned);
    format!("{}… {end}", start.trim_end())
}

/// A text in lines of a width, broken at blanks, and inside of words that are longer than a line.
pub fn filled(text: &str, width: usize) -> Vec<String> {
    let width = width.max(16);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let mut word: Vec<char> = word.chars().collect();
        if used > 0 && used + 1 + word.len() > width {
            lines.push(String::new());
            used = 0;
        } else if used > 0 {
            lines.last_mut().expect("begins with one").push(' ');
            used += 1;
        }
        while word.len() > width {
            let rest = word.split_off(break_in(&word, width));
            lines.last_mut().expect("begins with one").extend(word);
            lines.push(String::new());
            word = rest;
            used = 0;
        }
        used += word.len();
        lines.last_mut().expect("begins with one").extend(word);
    }
    lines
}

/// Where a word is broken that is longer than a line, such as a path or an address: after what parts it, if that leaves a
/// line that is half full.
fn break_in(word: &[char], width: usize) -> usize {
    let parts =
        |char: &char| matches!(char, '/' | '\\' | '-' | '_' | '.' | '@' | ':' | '=' | ',' | '&' | '?');
    let after = word[..width].iter().rposition(parts).map(|at| at + 1);
    after.filter(|at| *at >= width / 2).unwrap_or(width)
}

/// As many characters as have room in so many cells.
fn fitting(chars: impl Iterator<Item = char>, width: usize) -> String {
    let mut sum = 0;
    let has_room = |char: &char| {
        sum += taken(char.encode_utf8(&mut [0; 4]));
        sum <= width
    };
    chars.take_while(has_room).collect()
}

/// The cells of a text. What has none counts, too: a text of nothing else would have no end.
pub fn taken(text: &str) -> usize {
    text.chars().map(|char| cells(char.encode_utf8(&mut [0; 4])).max(1)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_message_says_about_a_long_name_is_whole() {
        let said = " changed on the disk, too: :Acp answer decides";
        assert_eq!(message_about("a.rs", said), format!("a.rs{said}"));
        let long = message_about("src/some/folder/of_the_file.rs", said);
        assert_eq!(long, format!("src/some…_file.rs{said}"));
        assert!(taken(&long) <= MESSAGE);
    }

    #[test]
    fn a_text_is_cut_to_cells() {
        assert_eq!(cut_middle("src/deep/down/file.rs", 11), "src/d…le.rs");
        assert_eq!(cut_middle("日本語の題名", 7), "日…名");
        assert_eq!(
            (cut_end("日本語", 4), cut_end("abc", 3), cut_end("abc", 0)),
            ("日…".into(), "abc".into(), String::new())
        );
        for width in 0..16 {
            let (middle, end) = (cut_middle("日本語 and more", width), cut_end("日本語 and more", width));
            assert!(cells(&middle) <= width && cells(&end) <= width, "{middle:?} {end:?} in {width}");
        }
    }

    #[test]
    fn a_text_is_broken_at_blanks_and_where_a_word_has_no_room() {
        assert_eq!(filled("is: takes read, write, command", 20), ["is: takes read,", "write, command"]);
        assert_eq!(filled("", 20), [""]);
        assert_eq!(filled("a 0123456789012345678 b", 16), ["a", "0123456789012345", "678 b"]);
        // Paths and addresses are broken where they have parts.
        assert_eq!(
            filled("npx -y @agents/some-adapter-for-acp", 20),
            ["npx -y", "@agents/some-", "adapter-for-acp"]
        );
    }

    #[test]
    fn a_title_is_cut_between_words_where_enough_is_left() {
        let title = "Fix the race when two sessions log in";
        assert_eq!(cut_at_word(title, 60), title);
        assert_eq!(cut_at_word(title, 20), "Fix the race when…");
        // A word that ends just there needs the room for the mark.
        assert_eq!(
            (cut_at_word(title, 17), cut_at_word(title, 18)),
            ("Fix the race…".into(), "Fix the race when…".into())
        );
        assert_eq!(cut_at_word("a supercalifragilistic word", 12), "a supercali…");
        for width in 0..40 {
            let cut = cut_at_word("日本語 の題名 and more of it", width);
            assert!(cells(&cut) <= width, "{cut:?} in {width}");
            let cut = cut_between_words("日本語 の題名 and more of it (fork)", width);
            assert!(cells(&cut) <= width, "{cut:?} in {width}");
        }
    }
}
