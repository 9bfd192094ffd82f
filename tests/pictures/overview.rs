//! The animated picture at the top of the README: `:AcpChat`, a prompt, the answer, an edit and its
//! permission, a command in a terminal, the review.

use serde_json::Value;

use super::agent::{
    self, COMMAND, cue, opened, permission, proposes, reads, runs, sees_the_end_of, thinks, titled, used,
    writes,
};
use super::film::Shot;
use super::stage::{Stage, Theme};
use crate::support::script::{ends, prompt, says};

pub const TITLE: &str =
    "A turn from :AcpChat to the review: a prompt, an edit and its permission, a command in a terminal";

const SIZE: (u16, u16) = (102, 29);

const OPTIONS: &str = "window = { width = 55 },
    terminal = { auto_open = 'always', auto_close = 'success', size = 8 }";

const PROMPT: &str = "Retries hide the real error, and the pauses grow without end. Fix both, with tests.";

/// The agent's answer, chunk by chunk.
const ANSWER: [&str; 9] = [
    "Two things are ",
    "wrong in `retry.lua`:\n\n",
    "1. `call` raises a text of ",
    "its own, not the last error\n",
    "2. `pause` doubles each time, ",
    "and has no limit\n\n",
    "I raise the last error, ",
    "and stop the pauses ",
    "at 5 s.\n\n",
];

/// The shots, and the number of the best one.
pub fn play(theme: Theme) -> (Vec<Shot>, usize) {
    let mut play = Play { stage: Stage::new(theme, SIZE, steps(), OPTIONS), shots: Vec::new(), sent: 0 };
    play.shot(1200);
    play.is_asked();
    play.reads_and_answers();
    let still = play.edits();
    play.runs_the_tests();
    play.is_reviewed();
    (play.shots, still)
}

fn steps() -> Vec<Value> {
    let mut steps = opened();
    steps.extend([prompt(), titled("Retry errors"), thinks("Read it first, with its tests."), cue()]);
    steps.extend(reads("r1", "src/retry.lua", 1));
    steps.push(cue());
    steps.extend(reads("r2", "tests/retry_test.lua", 1));
    for part in ANSWER {
        steps.extend([cue(), says(part)]);
    }
    steps.push(cue());
    let (fixed, extended) = (agent::retry_fixed(), agent::retry_test_extended());
    steps.extend(proposes("e1", "src/retry.lua", 6, agent::RETRY, &fixed));
    steps.extend(permission("e1"));
    steps.extend(writes("e1", "src/retry.lua", &fixed));
    steps.push(cue());
    steps.extend(proposes("e2", "tests/retry_test.lua", 22, agent::RETRY_TEST, &extended));
    steps.extend(writes("e2", "tests/retry_test.lua", &extended));
    steps.push(cue());
    steps.extend(runs("c1", COMMAND));
    steps.extend(sees_the_end_of("c1", "completed"));
    steps.extend([cue(), says("Both are fixed, "), cue(), says("and all four tests pass.\n"), cue()]);
    steps.extend([used(15_800, 0.03), ends("end_turn")]);
    steps
}

/// Takes the shots. Clocks on the screen show the film's own time.
struct Play {
    stage: Stage,
    shots: Vec<Shot>,
    /// When the prompt was sent, in the film's milliseconds.
    sent: u32,
}

impl Play {
    fn is_asked(&mut self) {
        self.types(":AcpChat", 2, 140);
        self.holds(300);
        self.presses("<CR>", &["Demo 1.0", "ask · ready", "-- INSERT --"]);
        self.shot(1100);
        self.types(PROMPT, 4, 150);
        self.holds(400);
        self.presses("<C-s>", &["▸ thinking …", "<C-c> stop"]);
        self.sent = self.now();
        self.shot(1400);
    }

    fn reads_and_answers(&mut self) {
        self.cue(&["▸ thought", "✓ read src/retry.lua"], 600);
        self.cue(&["✓ read 2 files"], 600);
        for part in ANSWER {
            self.cue(&[part.replace('`', "").trim()], 200);
        }
    }

    /// Gives the number of the shot in which permission is asked.
    fn edits(&mut self) -> usize {
        let proposed = ["3 Reject", "return math.min", "if n == attempts", "waiting for you"];
        self.cue(&proposed, 2400);
        let asked = self.shots.len() - 1;
        self.presses("<Esc><C-w>kG", &[" acp://demo chat "]);
        self.shot(700);
        self.stage.answer("2", "Allow this edit");
        self.presses("i", &["-- INSERT --"]);
        self.sees(&["✓ edit src/retry.lua", "return 100", "+  16     if n", "error(\"gave up\")", "working"]);
        self.shot(1200);
        self.cue(&["✓ edit tests/retry_test.lua", "+11 -0"], 1000);
        asked
    }

    fn runs_the_tests(&mut self) {
        let began = self.now();
        self.clock_command(began);
        self.cue(&["◐ run nvim", "running "], 500);
        for said in ["returns the result", "tries again", "raises the last", "never waits"] {
            self.stage.check();
            // In the terminal and in the chat.
            self.stage.sees_times(2, said);
            self.clock_command(began);
            self.shot(450);
        }
        self.stage.check();
        self.stage.sees_times(2, "4 passed");
        self.clock_command(began);
        self.shot(900);
        self.clock_command(began);
        self.stage.check();
        self.sees(&["exit 0", "✓ run nvim", "[The command ended"]);
        self.shot(900);
        self.stage
            .nvim
            .wait_until(|nvim| !nvim.screen().contains("exit 0"), "the terminal to close by itself");
        self.cue(&["Both are fixed,"], 250);
        self.cue(&["tests pass."], 500);
        self.stage.times.turn = format!("{} s", (self.now() - self.sent) / 1000);
        self.cue(&["Done · ", "$0.03 · ready", "<C-s> send"], 1300);
    }

    fn is_reviewed(&mut self) {
        self.presses("<Esc>", &[]);
        self.stage.nvim.wait_until(|nvim| nvim.mode().name == "n", "normal mode");
        self.types(":Acp review", 2, 120);
        self.presses("<CR>", &["Review: 2 files · 4 hunks"]);
        self.stage.sees_colored("  +   ", "return math.min");
        self.stage.sees_colored("  -   ", "error(\"gave up\")");
        self.shot(2200);
        self.presses("]c", &["Demo  8:1"]);
        self.shot(800);
        self.presses("ga", &["3 hunks · 1 kept"]);
        self.stage.sees_colored("  +   ", "return math.min");
        self.stage.sees_colored("  + check.that(\"raises the last error\", ", "function");
        self.shot(3000);
    }

    /// The film's time, in milliseconds.
    fn now(&self) -> u32 {
        self.shots.iter().map(|shot| shot.millis).sum()
    }

    fn shot(&mut self, millis: u32) {
        self.stage.times.working = format!("{} s", (self.now() - self.sent) / 1000);
        let screen = self.stage.screen();
        self.shots.push(Shot { screen, millis });
    }

    /// Shows the last shot for longer.
    fn holds(&mut self, millis: u32) {
        if let Some(last) = self.shots.last_mut() {
            last.millis += millis;
        }
    }

    fn sees(&mut self, texts: &[&str]) {
        for text in texts {
            self.stage.nvim.wait_for_screen(text);
        }
    }

    fn presses(&mut self, keys: &str, texts: &[&str]) {
        self.stage.nvim.input(keys);
        self.sees(texts);
    }

    fn cue(&mut self, texts: &[&str], millis: u32) {
        self.stage.cue();
        self.sees(texts);
        self.shot(millis);
    }

    /// Types a text, some keys per shot.
    fn types(&mut self, text: &str, keys: usize, millis: u32) {
        let letters: Vec<char> = text.chars().collect();
        for end in (0..letters.len()).step_by(keys).map(|begin| letters.len().min(begin + keys)) {
            let begin = (end - 1) / keys * keys;
            self.stage.nvim.input(&letters[begin..end].iter().collect::<String>());
            let typed: String = letters[..end].iter().collect();
            self.stage.typed(&typed);
            self.shot(millis);
        }
    }

    /// Sets the times of the command that began then.
    fn clock_command(&mut self, began: u32) {
        let took = self.now() - began;
        let command = COMMAND.join(" ");
        self.stage.times.terminals = vec![(command.clone(), format!("0:{:02}", took / 1000))];
        self.stage.times.calls = vec![(command, format!("{}.{} s", took / 1000, took % 1000 / 100))];
    }
}
