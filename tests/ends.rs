//! Files by what they end with: nothing, a line break, empty lines, in each kind of line ends, with a byte order mark or
//! without. What an agent makes of them is undone and taken back byte for byte, on the disk and in buffers; in a real
//! Neovim, against a scripted agent.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use support::script::{Scripted, steps, turn_that_runs};

/// Files by what they held before and hold after: none is no file.
#[derive(Clone)]
struct Changed {
    name: String,
    before: Option<String>,
    after: Option<String>,
}

impl Changed {
    /// Whether its lines are others, and not only what ends them.
    fn has_hunks(&self) -> bool {
        let lines = |text: &Option<String>| {
            let text = text.as_deref().unwrap_or_default().trim_start_matches('\u{feff}');
            let is_dos = text.matches('\n').count() == text.matches("\r\n").count();
            let text = if is_dos { text.replace("\r\n", "\n") } else { text.to_owned() };
            text.strip_suffix('\n').map_or(text.clone(), str::to_owned)
        };
        lines(&self.before) != lines(&self.after)
    }
}

fn texts() -> Vec<Option<String>> {
    let plain = ["", "\n", "\n\n", "a", "a\n", "a\n\n", "b\n\n\n", "a\n\nb\n"];
    let dos = ["\r\n", "a\r\n", "a\r\n\r\n"];
    let marked = ["\u{feff}", "\u{feff}\n", "\u{feff}a\n\n", "\u{feff}a\r\n\r\n"];
    let mixed = ["a\nb\r\n", "a\r\n\n"];
    let all = plain.iter().chain(&dos).chain(&marked).chain(&mixed);
    all.map(|text| Some((*text).to_owned())).chain([None]).collect()
}

/// Each of the texts becomes each of the others.
fn all_changes() -> Vec<Changed> {
    let texts = texts();
    let pairs = texts.iter().enumerate().flat_map(|(one, before)| {
        texts.iter().enumerate().map(move |(other, after)| (format!("f{one}-{other}.txt"), before, after))
    });
    let changed = pairs.filter(|(_, before, after)| before != after);
    changed
        .map(|(name, before, after)| Changed { name, before: before.clone(), after: after.clone() })
        .collect()
}

/// The files that do not hold what they should, with both.
fn wrong(chat: &Scripted, all: &[Changed], side: fn(&Changed) -> &Option<String>) -> Vec<String> {
    let found = |changed: &Changed| std::fs::read_to_string(chat.project.file(&changed.name)).ok();
    let wrong = all.iter().filter(|changed| found(changed) != *side(changed));
    wrong
        .map(|changed| {
            let Changed { name, before, after } = changed;
            format!("{name} {before:?} -> {after:?}: {:?}", found(changed))
        })
        .collect()
}

#[track_caller]
fn wait_until_all_are(
    chat: &mut Scripted,
    all: &[Changed],
    side: fn(&Changed) -> &Option<String>,
    what: &str,
) {
    let end = std::time::Instant::now() + support::DEADLINE;
    while !wrong(chat, all, side).is_empty() && std::time::Instant::now() < end {
        chat.nvim.exec_lua("vim.wait(20)", []);
    }
    let wrong = wrong(chat, all, side);
    assert!(
        wrong.is_empty(),
        "{} of {} are not {what}:\n{}\n{}",
        wrong.len(),
        all.len(),
        wrong.join("\n"),
        chat.nvim.screen()
    );
}

/// An agent changes all files by a command. Before that something may be done in Neovim.
fn change_all(all: &[Changed], first: &str) -> Scripted {
    let old: Vec<(&str, &str)> =
        all.iter().filter_map(|changed| Some((&*changed.name, changed.before.as_deref()?))).collect();
    let mut chat = Scripted::new(&old, steps(turn_that_runs(&["sh .agent/change"])));
    let gone: Vec<&str> =
        all.iter().filter(|changed| changed.after.is_none()).map(|changed| &*changed.name).collect();
    chat.project.write(".agent/change", &format!("cp .agent/new/* .\nrm -f {}\n", gone.join(" ")));
    for changed in all {
        if let Some(after) = &changed.after {
            chat.project.write(&format!(".agent/new/{}", changed.name), after);
        }
    }
    chat.nvim.command(first);
    chat.chat();
    chat.send("Change them");
    chat.nvim.wait_for_screen(&format!("changed {} files", all.len()));
    chat.nvim.stop_insert();
    chat.nvim.exec_lua("vim.ui.select = function(items, _, answer) answer(items[1], 1) end", []);
    chat
}

/// All of it is undone at once, and that is taken back.
fn undo_and_take_back(all: &[Changed], first: &str, comes_back: fn(&Changed) -> bool) {
    let mut chat = change_all(all, first);
    chat.nvim.command("Acp review");
    chat.nvim.wait_for_screen(&format!("Review: {} files", all.len()));
    wait_until_all_are(&mut chat, all, |changed| &changed.after, "as the agent made them");
    chat.nvim.input("gX");
    wait_until_all_are(&mut chat, all, |changed| &changed.before, "as they were");
    chat.nvim.wait_for_screen("Nothing is left to decide");
    chat.nvim.input("u");
    // What has no hunks is not taken back.
    let comes_back = |changed: &&Changed| changed.has_hunks() && comes_back(changed);
    let hunks: Vec<Changed> = all.iter().filter(comes_back).cloned().collect();
    wait_until_all_are(&mut chat, &hunks, |changed| &changed.after, "as the agent made them, again");
}

#[test]
fn what_is_undone_on_the_disk_is_as_it_was_and_taken_back_is_as_the_agent_made_it() {
    // What goes and what comes with the same text was renamed.
    let (all, gone): (Vec<_>, Vec<_>) =
        all_changes().into_iter().partition(|changed| changed.after.is_some());
    undo_and_take_back(&all, "", |_| true);
    undo_and_take_back(&gone, "", |_| true);
}

#[test]
fn what_is_undone_in_buffers_is_as_it_was_and_taken_back_is_as_the_agent_made_it() {
    let mut all = all_changes();
    all.retain(|changed| changed.before.is_some() && changed.after.is_some());
    // Neovim does not tell a buffer without a line from one with an empty line, and a buffer that was "dos" has lost
    // which of its lines end in which way.
    undo_and_take_back(&all, "args f*.txt | silent argdo edit", |changed| {
        let after = changed.after.as_deref().unwrap_or_default().trim_start_matches('\u{feff}');
        let ends = after.matches("\r\n").count();
        !after.is_empty() && (ends == 0 || ends == after.matches('\n').count())
    });
}
