//! Where one prompt ends and the next begins when an agent tells again what was said. Those that send no ids for messages
//! send prompts that were never answered, as after a crash, one right behind the other.

/// The prompts of a session, as far as they are known from elsewhere.
#[derive(Default)]
pub struct Retold {
    /// Oldest first; of long ones the beginning.
    prompts: Vec<String>,
    /// The first that was not told yet.
    next: usize,
}

/// So much of a prompt is known at least, of long ones.
const KNOWN: usize = 1000;

impl Retold {
    pub fn new(prompts: Vec<String>) -> Self {
        Self { prompts, next: 0 }
    }

    /// Whether a prompt begins with a piece, where this much stands of another that it would go on with.
    pub fn begins(&mut self, piece: &str, before: Option<&str>) -> bool {
        let Some(before) = before.map(str::trim) else {
            let told = self.prompts.iter().skip(self.next).position(|prompt| fits(prompt, piece));
            self.next += told.map_or(0, |skipped| skipped + 1);
            return true;
        };
        if self.prompts.get(self.next).is_some_and(|prompt| fits(prompt, piece)) {
            self.next += 1;
            return true;
        }
        // The same asked twice is known once.
        let last = self.next.checked_sub(1).and_then(|last| self.prompts.get(last));
        before == piece.trim() && last.is_some_and(|last| fits(last, piece))
    }
}

/// Whether a prompt may begin with a piece: it is all of it, or its first lines, or goes on where the prompt was cut.
fn fits(prompt: &str, piece: &str) -> bool {
    let piece = piece.trim();
    let is_all = prompt == piece || prompt.len() >= KNOWN && piece.starts_with(prompt);
    let rest = prompt.strip_prefix(piece).filter(|_| !piece.is_empty());
    is_all || rest.is_some_and(|rest| rest.starts_with('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The prompts that come of pieces which follow each other.
    fn told(prompts: &[&str], pieces: &[&str]) -> Vec<String> {
        let mut retold = Retold::new(prompts.iter().map(|&prompt| prompt.to_owned()).collect());
        let mut made: Vec<String> = Vec::new();
        for piece in pieces {
            let before = made.last().cloned();
            match made.last_mut() {
                Some(last) if !retold.begins(piece, before.as_deref()) => last.push_str(piece),
                Some(_) => made.push((*piece).to_owned()),
                None => {
                    retold.begins(piece, None);
                    made.push((*piece).to_owned());
                }
            }
        }
        made
    }

    #[test]
    fn a_prompt_that_is_known_begins_anew() {
        assert_eq!(told(&["one", "two"], &["one", "two"]), ["one", "two"]);
        assert_eq!(told(&["one", "two"], &["one", " and a file", "two\n"]), ["one and a file", "two\n"]);
        // The first ones may be unknown, or not be sent.
        assert_eq!(told(&["one", "two"], &["zero", "one"]), ["zero", "one"]);
        assert_eq!(told(&["one", "two", "three"], &["two", "three"]), ["two", "three"]);
        // Of several parts, the text of the first line is enough.
        assert_eq!(told(&["one", "two\nthree"], &["one", "two", "\nthree"]), ["one", "two\nthree"]);
    }

    #[test]
    fn what_is_not_known_goes_on_with_what_stands_there() {
        assert_eq!(told(&[], &["one", "two"]), ["onetwo"]);
        assert_eq!(told(&["one"], &["one", "two"]), ["onetwo"]);
        // A part that reads like a later prompt is none.
        assert_eq!(told(&["one", "two", "a.rs"], &["one", "a.rs", "two"]), ["onea.rs", "two"]);
        assert_eq!(told(&["one", "two"], &["one", "", "tw", "o"]), ["onetwo"]);
    }

    #[test]
    fn the_same_asked_twice_is_two_prompts() {
        assert_eq!(told(&["go on"], &["go on", "go on"]), ["go on", "go on"]);
        assert_eq!(told(&["go on"], &["go on", "!", "go on"]), ["go on!go on"]);
    }

    #[test]
    fn of_a_long_prompt_the_beginning_is_known() {
        let long = "word ".repeat(1000);
        assert_eq!(told(&["one", &long[..4000]], &["one", &long]), ["one", &*long]);
        assert_eq!(told(&["one", "two"], &["one", "two thirds"]), ["onetwo thirds"]);
    }
}
