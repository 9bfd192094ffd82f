//! The still pictures, one for each feature. Each plays its own short turn up to the moment it shows.

use serde_json::{Value, json};

use super::agent::{
    self, begins, cue, goes_on, opened, permission, plans, proposes, reads, runs, sees_the_end_of, thinks,
    titled, used, writes,
};
use super::screen::Screen;
use super::stage::{Stage, Theme};
use crate::support::script::{ends, prompt, says};

pub struct Still {
    pub name: &'static str,
    /// For screen readers, and for whoever opens the file by itself.
    pub title: &'static str,
    pub take: fn(Theme) -> Screen,
}

pub const STILLS: [Still; 6] = [
    Still {
        name: "proposal",
        title: "A proposed edit in its file, and the question whether to allow it",
        take: proposal,
    },
    Still {
        name: "review",
        title: "The review: all changes in one buffer, and a comment for the agent",
        take: review,
    },
    Still {
        name: "conflict",
        title: "A conflict: the user and the agent changed the same line",
        take: conflict,
    },
    Still { name: "terminals", title: "Commands in terminals, each with a status bar", take: terminals },
    Still { name: "chat", title: "The chat: a plan, folded and open tool calls, Markdown", take: chat },
    Still { name: "following", title: "A window follows the agent through the files", take: following },
];

const SIZE: (u16, u16) = (102, 26);
const CHAT: &str = "window = { width = 55 }";

fn proposal(theme: Theme) -> Screen {
    let fixed = agent::retry_fixed();
    let mut steps = opened();
    steps.extend([prompt(), titled("Retry errors"), thinks("Read it first.")]);
    steps.extend(reads("r1", "src/retry.lua", 1));
    steps.extend(reads("r2", "tests/retry_test.lua", 1));
    steps.extend([
        used(12_400, 0.02),
        says("The last error is lost in `M.call`, and nothing limits `M.pause`.\n\n"),
    ]);
    steps.extend(proposes("e1", "src/retry.lua", 6, agent::RETRY, &fixed));
    steps.extend(permission("e1"));
    let mut stage = Stage::new(theme, SIZE, steps, CHAT);
    stage.send("Raise the real error, and limit the pauses to 5 s. See @src/retry.lua:5-19", "3 Reject");
    stage.nvim.wait_for_screen("math.min");
    stage.nvim.input("<Esc><C-w>kG");
    stage.nvim.wait_for_screen(" acp://demo chat ");
    stage.screen()
}

fn changed(steps: &mut Vec<Value>) {
    let (fixed, extended) = (agent::retry_fixed(), agent::retry_test_extended());
    steps.extend(proposes("e1", "src/retry.lua", 6, agent::RETRY, &fixed));
    steps.extend(writes("e1", "src/retry.lua", &fixed));
    steps.extend(proposes("e2", "tests/retry_test.lua", 22, agent::RETRY_TEST, &extended));
    steps.extend(writes("e2", "tests/retry_test.lua", &extended));
}

fn review(theme: Theme) -> Screen {
    let mut steps = opened();
    steps.push(prompt());
    changed(&mut steps);
    steps.push(ends("end_turn"));
    let mut stage = Stage::new(theme, SIZE, steps, CHAT);
    stage.send("Raise the last error", "Done");
    stage.nvim.input("<Esc>");
    stage.nvim.command("Acp review");
    stage.nvim.wait_for_screen("2 files");
    stage.nvim.command("wincmd o");
    stage.nvim.input("gcgive the limit a name<C-s>");
    stage.nvim.wait_for_screen("give the limit");
    stage.nvim.input("]c]cga");
    stage.nvim.wait_for_screen("1 kept");
    stage.nvim.input("[c");
    stage.nvim.wait_for_screen("Demo  9:1");
    stage.sees_colored("  +   ", "return math.min");
    stage.sees_colored("  + check.that(\"never waits longer than 5 s\", ", "function");
    stage.screen()
}

fn conflict(theme: Theme) -> Screen {
    let mut steps = opened();
    steps.extend([prompt(), titled("Limit the pauses")]);
    steps.extend(reads("r1", "src/retry.lua", 1));
    steps.extend([says("The pause should stop at 5 s. I write that down.\n"), cue()]);
    let fixed = agent::retry_fixed();
    steps.push(begins("e1", "edit", "src/retry.lua", "pending"));
    steps.extend(writes("e1", "src/retry.lua", &fixed));
    let mut stage = Stage::new(theme, SIZE, steps, CHAT);
    stage.send("Raise the last error, and limit the pauses to 5 s", "write that down");
    stage.nvim.input("<Esc><C-w>h6Gf1cw250<Esc>");
    stage.nvim.wait_for_screen("250 * 2");
    stage.cue_for("Demo's");
    stage.nvim.wait_for_screen("same lines");
    stage.settle();
    stage.nvim.input(":Acp answer<CR>");
    stage.nvim.wait_for_screen("Keep mine");
    stage.screen()
}

fn terminals(theme: Theme) -> Screen {
    let mut steps = opened();
    steps.extend([prompt(), titled("Tests first")]);
    steps.extend(proposes(
        "e2",
        "tests/retry_test.lua",
        22,
        agent::RETRY_TEST,
        &agent::retry_test_extended(),
    ));
    steps.extend(writes("e2", "tests/retry_test.lua", &agent::retry_test_extended()));
    steps.extend(runs("c1", agent::COMMAND));
    steps.extend(sees_the_end_of("c1", "failed"));
    steps.extend([says("Both fail, as they should. Now I measure.\n"), cue()]);
    steps.extend(runs("c2", &["nvim", "-l", "tests/soak.lua", "5000"]));
    let mut stage =
        Stage::new(theme, (107, 26), steps, "window = { width = 54 }, terminal = { auto_open = 'always' }");
    stage.times.working = "31 s".into();
    stage.times.terminals = vec![("retry_test.lua".into(), "0:01".into()), ("soak".into(), "0:12".into())];
    stage.send("Write the tests first", "running");
    for _ in 0..6 {
        stage.check();
    }
    stage.nvim.wait_for_screen("exit 1");
    stage.cue_for("soak.lua");
    stage.check();
    stage.nvim.wait_for_screen("3100 of 5000");
    stage.screen()
}

const PLAN: [&str; 3] = ["Find what calls it", "Limit the pause", "Raise the last error"];

fn chat(theme: Theme) -> Screen {
    let limited = agent::RETRY.replace("100 * 2 ^ n", "math.min(100 * 2 ^ n, 5000)");
    let mut steps = opened();
    steps.extend([prompt(), titled("Retry errors"), thinks("Who calls it, and how often?"), plans(&PLAN, 0)]);
    steps.extend(reads("r1", "src/retry.lua", 1));
    steps.extend(reads("r2", "tests/retry_test.lua", 1));
    steps.extend([begins("s1", "search", "retry.call", "pending"), goes_on("s1", "completed", json!({}))]);
    steps.push(says(
        "The pause **doubles each time**. I limit it:\n\n```lua\nmath.min(100 * 2 ^ n, 5000)\n```\n\n",
    ));
    steps.extend(proposes("e1", "src/retry.lua", 6, agent::RETRY, &limited));
    steps.extend(writes("e1", "src/retry.lua", &limited));
    steps.extend([
        plans(&PLAN, 2),
        used(12_400, 0.02),
        cue(),
        begins("c1", "execute", "make test", "in_progress"),
    ]);
    let mut stage = Stage::new(theme, (102, 35), steps, CHAT);
    stage.times.working = "12 s".into();
    stage.times.thought = "4.2 s".into();
    stage.times.calls = vec![("read 2 files".into(), "1.8 s".into())];
    stage.send("Limit the pauses, and raise the last error", "✓ edit");
    stage.nvim.input("<Esc><C-w>kG<Tab>");
    stage.nvim.wait_for_screen("+   return math.min");
    stage.cue_for("make test");
    stage.nvim.input("Gzbi@re");
    stage.nvim.wait_for_screen("@tests/retry_test.lua");
    stage.screen()
}

fn following(theme: Theme) -> Screen {
    let shown = (0..3).find_map(|_| following_in_time(theme));
    shown.expect("a machine that draws the marked lines before they fade")
}

/// `None` where the lines that the agent reads are not marked any more: they fade after a second.
fn following_in_time(theme: Theme) -> Option<Screen> {
    let mut steps = opened();
    steps.extend([prompt(), titled("Retry errors"), says("I read what there is, tests included.\n\n")]);
    steps.extend(reads("r1", "src/retry.lua", 1));
    steps.extend([
        begins("r2", "read", "tests/retry_test.lua", "pending"),
        goes_on(
            "r2",
            "in_progress",
            json!({ "locations": [{ "path": "$PROJECT/tests/retry_test.lua", "line": 14 }] }),
        ),
    ]);
    let mut stage = Stage::new(theme, SIZE, steps, "window = { width = 50 }, follow = true");
    stage.send("What do the tests leave out?", "tests/retry");
    stage.nvim.wait_for_screen("tries again");
    stage.nvim.wait_for_screen("Demo: reading");
    let screen = stage.screen();
    let code = "return vim.api.nvim_get_hl(0, { name = 'AcpLocation', link = false }).bg";
    let full = stage.nvim.exec_lua(code, []).as_u64();
    let is_marked = screen.rows.iter().flatten().any(|cell| full == Some(cell.style.background.into()));
    is_marked.then_some(screen)
}
