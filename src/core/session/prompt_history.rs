//! Moving through earlier prompts: which one is in the prompt now, and what the user typed or changed on
//! the way, none of which is lost. Storing prompts on disk is left to the background.

use std::collections::HashMap;

use crate::core::text::Text;

/// At most this many prompts are kept of a project.
pub const MAX_PROMPTS: usize = 1000;

/// At most this many bytes of them, without the last one.
pub const MOST_BYTES: usize = 2 << 20;

/// The prompts of a project, oldest first, each once: the last time counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    prompts: Vec<Text>,
}

impl History {
    pub fn new(prompts: impl IntoIterator<Item = Text>) -> Self {
        let mut history = Self::default();
        prompts.into_iter().for_each(|prompt| history.add(prompt));
        history
    }

    pub fn add(&mut self, prompt: Text) {
        if prompt.trim().is_empty() {
            return;
        }
        self.prompts.retain(|known| *known != prompt);
        self.prompts.push(prompt);
        let over = self.prompts.len().saturating_sub(MAX_PROMPTS);
        self.prompts.drain(..over);
        self.shorten();
    }

    /// Takes away the longest while they are too much: a log that was pasted once must not cost the
    /// hundreds of prompts that were typed. The last one stays, whatever its length.
    fn shorten(&mut self) {
        let older = |history: &Self| history.prompts.len().saturating_sub(1);
        let mut bytes: usize = self.prompts[..older(self)].iter().map(|prompt| prompt.len()).sum();
        while bytes > MOST_BYTES {
            let lengths = self.prompts[..older(self)].iter().map(|prompt| prompt.len()).enumerate();
            // Of several that are as long, the oldest.
            let Some((longest, length)) = lengths.rev().max_by_key(|(_, length)| *length) else { return };
            self.prompts.remove(longest);
            bytes -= length;
        }
    }

    pub fn prompts(&self) -> &[Text] {
        &self.prompts
    }
}

/// Where somebody is in a history.
#[derive(Clone, Debug, Default)]
pub struct Browse {
    /// The prompts as they were when it began; one that is sent meanwhile moves nothing.
    prompts: Vec<Text>,
    /// How many steps back; 0 is what is being typed.
    back: usize,
    /// What was typed at a step in place of what stood there.
    typed: HashMap<usize, Text>,
}

impl Browse {
    pub fn new(history: &History) -> Self {
        Self { prompts: history.prompts.clone(), ..Self::default() }
    }

    /// The prompt before the one that stands there now, which reads `text`.
    pub fn older(&mut self, text: &Text) -> Option<Text> {
        (self.back < self.prompts.len()).then(|| self.go(self.back + 1, text))
    }

    pub fn newer(&mut self, text: &Text) -> Option<Text> {
        self.back.checked_sub(1).map(|back| self.go(back, text))
    }

    fn go(&mut self, back: usize, text: &Text) -> Text {
        if self.at(self.back) != *text {
            self.typed.insert(self.back, text.clone());
        }
        self.back = back;
        self.at(back)
    }

    fn at(&self, back: usize) -> Text {
        let kept = || back.checked_sub(1).and_then(|step| self.prompts.iter().rev().nth(step));
        self.typed.get(&back).or_else(kept).cloned().unwrap_or_default()
    }

    /// What was typed before the history was looked at, if that is not what stands there now.
    pub fn left_behind(&self) -> Option<&Text> {
        self.typed.get(&0).filter(|text| self.back > 0 && !text.trim().is_empty())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn history() -> History {
        History::new(["one", "two", "three"].map(Text::from))
    }

    #[test]
    fn what_was_typed_comes_back() {
        let mut browse = Browse::new(&history());
        assert_eq!(browse.older(&"half a thou".into()).as_deref(), Some("three"));
        assert_eq!(browse.older(&"three".into()).as_deref(), Some("two"));
        assert_eq!(browse.left_behind(), Some(&"half a thou".into()));
        assert_eq!(browse.newer(&"two, changed".into()).as_deref(), Some("three"));
        assert_eq!(browse.newer(&"three".into()).as_deref(), Some("half a thou"));
        assert_eq!(browse.newer(&"half a thou".into()), None);
        assert_eq!(browse.older(&"half a thou".into()).as_deref(), Some("three"));
        assert_eq!(browse.older(&"three".into()).as_deref(), Some("two, changed"));
        assert_eq!(browse.older(&"two, changed".into()).as_deref(), Some("one"));
        assert_eq!(browse.older(&"one".into()), None);
    }

    #[test]
    fn a_prompt_that_is_sent_again_is_kept_once_and_last() {
        let mut history = history();
        history.add("one".into());
        history.add("  ".into());
        assert_eq!(history.prompts(), ["two", "three", "one"]);
        for number in 0..2 * MAX_PROMPTS {
            history.add(number.to_string().into());
        }
        assert_eq!(history.prompts().len(), MAX_PROMPTS);
    }

    #[test]
    fn of_too_many_bytes_the_longest_go_and_the_last_prompt_stays() {
        let mut history = history();
        let long = |letter: &str, bytes: usize| Text::from(letter.repeat(bytes));
        history.add(long("a", 2 * MOST_BYTES));
        assert_eq!(history.prompts().len(), 4, "the last one stays");
        history.add("four".into());
        assert_eq!(history.prompts(), ["one", "two", "three", "four"]);
        let third = MOST_BYTES / 3;
        for letter in ["b", "c", "d", "e"] {
            history.add(long(letter, third));
        }
        let starts = |history: &History| -> String {
            history.prompts().iter().filter_map(|prompt| prompt.chars().next()).collect()
        };
        assert_eq!(starts(&history), "ottfcde", "of those as long, the oldest goes");
        history.add("five".into());
        assert_eq!(starts(&history), "ottfdef");
    }

    proptest! {
        #[test]
        fn any_way_through_leads_back_to_every_text(steps in prop::collection::vec((any::<bool>(), "[a-c]{0,2}"), 0..40)) {
            let mut browse = Browse::new(&history());
            let mut stands = [Text::default(), "three".into(), "two".into(), "one".into()];
            let mut at = 0;
            for (older, text) in steps {
                let text = Text::from(text);
                stands[at] = text.clone();
                let (next, got) = if older { (at + 1, browse.older(&text)) } else { (at.wrapping_sub(1), browse.newer(&text)) };
                prop_assert_eq!(got.as_ref(), stands.get(next));
                if got.is_some() {
                    at = next;
                }
            }
        }
    }
}
