//! The scripted tour: a thought, a plan, Markdown, a read, an edit, a command, another place, a closing
//! word. Here is the order and what is said; how a scene goes is in the files named after it.

use crate::command;
use crate::files::{self, Edited};
use crate::scenes::show_plan;
use crate::turn::{Played, Turn};

const THOUGHT: &str = "They want the tour. I have no model, so I had better be quick and honest: read a \
                       file, change it, run something, point somewhere, done.";

const PLAN: [&str; 4] =
    ["Read a file, unsaved edits included", "Change it, if allowed", "Run a command", "Look at a test"];

const MARKDOWN: &str = r#"# The tour

I am the **demo agent**. There is no model behind me and nothing leaves your machine; I only play what
an agent can do, so that you can see it arrive.

## What comes

1. a *read*, through your editor
2. an *edit*, which waits for your word
3. a command in a terminal
   - with colours
   - with a progress line
4. a look somewhere else

| you see | I sent | on the wire |
|---|---|:-:|
| this table | Markdown | `agent_message_chunk` |
| a diff | old and new text | `tool_call` |
| a question | three options | `session/request_permission` |

A little Lua, which is what the file is in:

```lua
local greeting = require("greeting")
print(greeting.greet("Ada")) -- Hello, Ada!
```

And the same in Rust:

```rust
fn greet(name: Option<&str>) -> String {
    format!("Hello, {}!", name.unwrap_or("world"))
}
```

"#;

pub fn play(turn: &mut Turn) -> Played {
    if turn.settings.thinking {
        turn.think(THOUGHT)?;
    }
    show_plan(turn, &PLAN, 0);
    turn.pause(500)?;
    turn.say(MARKDOWN)?;

    let mut skipped = Vec::new();
    let seen = files::read(turn)?;
    if !turn.client.fs.read_text_file {
        skipped.push("reading through the editor");
    }
    show_plan(turn, &PLAN, 1);
    turn.pause(500)?;

    let edited = files::edit(turn, seen)?;
    if edited == Edited::Skipped {
        skipped.push("the edit");
    }
    show_plan(turn, &PLAN, 2);
    turn.pause(500)?;

    if !command::run(turn)? {
        skipped.push("the command");
    }
    show_plan(turn, &PLAN, 3);
    turn.pause(500)?;

    if !files::look(turn)? {
        skipped.push("the look at a test, for there is none here");
    }
    show_plan(turn, &PLAN, 4);

    turn.entitle("The tour");
    turn.say(&closing(&edited, &skipped))
}

fn closing(edited: &Edited, skipped: &[&str]) -> String {
    let mut text = "That was the tour.".to_owned();
    match edited {
        Edited::Written => text.push_str(" `:Acp undo last` takes the edit back."),
        Edited::Rejected => text.push_str(" The edit is still yours to allow: /edit."),
        Edited::Failed | Edited::Skipped => {}
    }
    if !skipped.is_empty() {
        text.push_str(&format!(" I skipped {}.", skipped.join(", and ")));
    }
    text.push_str(" Type `/` to see what else I can play.\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closing_names_what_was_skipped() {
        let text = closing(&Edited::Skipped, &["the edit", "the command"]);
        assert!(text.contains("I skipped the edit, and the command."));
    }
}
