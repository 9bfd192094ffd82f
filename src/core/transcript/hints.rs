//! The keys that lines of a transcript name, as the user has mapped them. If one is switched off, the
//! command that does the same is named, or nothing.

/// What is typed for what; empty where there is no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hints {
    pub send: String,
    pub cancel: String,
    pub help: String,
    pub restart: String,
    pub toggle: String,
    pub details: String,
    pub go_to: String,
    pub replay_next: String,
    /// For the first, second, .. answer to a question for permission.
    pub answers: Vec<String>,
}

impl Default for Hints {
    fn default() -> Self {
        let [send, cancel, help, restart, toggle, details, go_to, replay_next] =
            ["<C-s>", "<C-c>", "g?", "R", "<Tab>", "K", "<CR>", "]m"].map(str::to_owned);
        let answers = (1..=9).map(|digit| digit.to_string()).collect();
        Self { send, cancel, help, restart, toggle, details, go_to, replay_next, answers }
    }
}

impl Hints {
    pub fn restart(&self) -> &str {
        or(&self.restart, ":Acp restart")
    }

    pub fn cancel(&self) -> &str {
        or(&self.cancel, ":Acp cancel")
    }

    /// What can be typed in an empty chat, on one line.
    pub fn first_steps(&self) -> String {
        let sends = (!self.send.is_empty()).then(|| format!("{} sends", self.send));
        let stops = (!self.cancel.is_empty()).then(|| format!("{} stops", self.cancel));
        let keys = if self.help.is_empty() { ":Acp keys".to_owned() } else { format!("{} keys", self.help) };
        sends.into_iter().chain(stops).chain([keys]).collect::<Vec<_>>().join(" \u{b7} ")
    }

    /// How a recording goes on that is played message by message.
    pub fn steps_of_replay(&self) -> Vec<String> {
        let key =
            (!self.replay_next.is_empty()).then(|| format!("So does {} in this window", self.replay_next));
        [":Acp replay plays the next message".to_owned()].into_iter().chain(key).collect()
    }

    /// `, K shows all of it`, where there is a key for it.
    pub fn all_of_it(&self) -> String {
        if self.details.is_empty() { String::new() } else { format!(", {} shows all of it", self.details) }
    }

    /// How a question is read and answered that is about more than the screen shows at once.
    pub fn long_question(&self) -> String {
        let keys = if self.answers.is_empty() { "" } else { "answer here, or " };
        format!("Read it, scroll if it is long; then {keys}{}", self.with_go_to(":Acp answer"))
    }

    /// `<CR> or :Acp answer`: the key for what stands under the cursor, before the command that does it from anywhere.
    pub fn with_go_to(&self, command: &str) -> String {
        if self.go_to.is_empty() { command.to_owned() } else { format!("{} or {command}", self.go_to) }
    }

    /// `, <Tab>`: how to see more.
    pub fn open(&self) -> String {
        if self.toggle.is_empty() { String::new() } else { format!(", {}", self.toggle) }
    }

    /// `, <Tab> shows them`, of lines.
    pub fn lines(&self) -> String {
        if self.toggle.is_empty() { String::new() } else { format!(", {} shows them", self.toggle) }
    }

    pub fn terminal(&self) -> String {
        format!(", {} shows the terminal", or(&self.go_to, ":Acp terminal"))
    }
}

fn or<'t>(key: &'t str, command: &'t str) -> &'t str {
    if key.is_empty() { command } else { key }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_question_says_how_it_is_read_and_answered() {
        assert_eq!(
            Hints::default().long_question(),
            "Read it, scroll if it is long; then answer here, or <CR> or :Acp answer"
        );
        let none = Hints { answers: Vec::new(), go_to: String::new(), ..Hints::default() };
        assert_eq!(none.long_question(), "Read it, scroll if it is long; then :Acp answer");
    }

    #[test]
    fn a_key_that_is_off_is_not_named() {
        assert_eq!(Hints::default().first_steps(), "<C-s> sends \u{b7} <C-c> stops \u{b7} g? keys");
        let hints =
            Hints { send: String::new(), help: String::new(), cancel: "<Esc>".into(), ..Hints::default() };
        assert_eq!(hints.first_steps(), "<Esc> stops \u{b7} :Acp keys");
        let hints = Hints { replay_next: String::new(), ..hints };
        assert_eq!(hints.steps_of_replay(), [":Acp replay plays the next message"]);
    }
}
