//! Real commands that change files behind the editor's back, run in a terminal of the client's or by the agent itself:
//! the review shows exactly the difference, undoing it brings back every byte, and so does going back to the
//! checkpoint. In a real Neovim, with the files in clean buffers, with unsaved edits, in two windows, and in none.

#![cfg(target_os = "linux")]

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};
use support::script::{Scripted, answered, asks, ends, opened, says, update};

/// In a clean buffer; DOS line ends.
const CLEAN: (&str, &str) = ("clean.txt", "one\r\ntwo\r\nthree\r\nfour\r\nfive\r\n");
/// In a buffer with unsaved edits: a last line of the user's.
const UNSAVED: (&str, &str) = ("unsaved.txt", "one\ntwo\nthree\nfour\nfive\n");
/// In two windows; its last line has no end.
const TWICE: (&str, &str) = ("twice.txt", "one\ntwo\nthree\nfour\nfive");
/// In no buffer; a program with a byte order mark, whose last line has no end.
const CLOSED: (&str, &str) = ("closed.txt", "\u{feff}one\ntwo\nthree\nfour\nfive");

/// What the user has typed into the buffer with unsaved edits.
const MINE: &str = "mine\n";

/// Who runs a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runner {
    /// The client, in a terminal.
    Terminal,
    /// The agent, which says no more than that it does.
    Agent,
}

/// A command, and the project that it is run in beside the files above.
struct Case {
    /// A shell script that is run before Neovim starts.
    setup: &'static str,
    /// What the agent runs. It is run twice. Where it waits at the gate, the file in no buffer is opened meanwhile.
    script: &'static str,
    /// What can't be brought back; the review says so.
    lost: &'static [&'static str],
}

/// A named pipe.
const GATE: &str = ".agent/gate";

/// What a path is on the disk.
#[derive(Clone, PartialEq, Eq)]
enum Entry {
    File(Vec<u8>, u32),
    Link(PathBuf),
    Folder,
}

type Tree = BTreeMap<String, Entry>;

/// Git makes no commit for nobody.
const NAMES: &str = "export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org
export GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org";

/// A command of the agent's in a turn of its own.
fn turn(runner: Runner, number: usize, script: &str) -> Vec<Value> {
    let id = format!("c{number}");
    let script = format!("{NAMES}\ncd $PROJECT\n{script}");
    let call = |status: &str, content: Value| {
        update(json!({
            "sessionUpdate": "tool_call", "toolCallId": id, "title": "run the command", "kind": "execute",
            "status": status, "content": content,
        }))
    };
    let done =
        update(json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed" }));
    // What the test waits for in between may not come.
    let mut steps = vec![json!({ "expect": "session/prompt", "timeout_ms": 120_000 })];
    match runner {
        Runner::Agent => {
            steps.extend([call("in_progress", json!([])), json!({ "run": ["sh", "-ec", script] }), done])
        }
        Runner::Terminal => {
            let terminal = format!("${{t{number}}}");
            let about = |method: &str| {
                let name = format!("{method}{number}");
                let asked = asks(&name, &format!("terminal/{method}"), json!({ "terminalId": terminal }));
                [asked, answered(&name)]
            };
            let name = format!("create{number}");
            let created = json!({ "command": "sh", "args": ["-ec", script] });
            steps.push(asks(&name, "terminal/create", created));
            let saved = json!({ format!("t{number}"): "/result/terminalId" });
            steps.push(json!({ "expect_reply": name, "to": name, "save": saved }));
            steps.push(call("in_progress", json!([{ "type": "terminal", "terminalId": terminal }])));
            steps.extend(about("wait_for_exit"));
            steps.push(done);
            steps.extend(about("release"));
        }
    }
    steps.extend([says(&format!("Over {number}.")), ends("end_turn")]);
    steps
}

struct Stage {
    chat: Scripted,
    /// What was not as it should be, each with where it was seen.
    wrong: String,
}

impl Stage {
    fn new(runner: Runner, case: &Case) -> Self {
        let mut steps = opened();
        steps.extend((1..=2).flat_map(|number| turn(runner, number, case.script)));
        let mut chat = Scripted::new(&[CLEAN, UNSAVED, TWICE, CLOSED], steps);
        let project = chat.project.path().to_owned();
        fs::set_permissions(project.join(CLOSED.0), fs::Permissions::from_mode(0o755)).expect("its mode");
        symlink(CLOSED.0, project.join("link")).expect("a link");
        sh(&project, case.setup);
        // Windows of their own for the files, so that no buffer is hidden.
        chat.nvim.command("set hidden | edit clean.txt | split unsaved.txt | split twice.txt | vsplit");
        chat.nvim.exec_lua(
            "local buf = vim.fn.bufnr('unsaved.txt')
             vim.api.nvim_buf_set_lines(buf, -1, -1, true, { 'mine' })
             _G.told = {}
             vim.notify = function(text) table.insert(_G.told, text) end
             vim.ui.select = function(items, options, answer)
               _G.picker = { prompt = options.prompt, items = items, answer = answer }
             end",
            [],
        );
        chat.chat();
        chat.nvim.stop_insert();
        Self { chat, wrong: String::new() }
    }

    fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        walk(self.chat.project.path(), self.chat.project.path(), &mut tree);
        tree
    }

    /// The agent runs its command for the first or second time, and the turn ends.
    fn run(&mut self, number: usize) {
        self.chat.nvim.exec_lua(
            "for _, win in ipairs(vim.api.nvim_list_wins()) do
               if vim.bo[vim.api.nvim_win_get_buf(win)].filetype == 'acp_prompt' then vim.api.nvim_set_current_win(win) end
             end",
            [],
        );
        let closed = self.chat.project.file(CLOSED.0);
        let before = fs::read(&closed).ok();
        self.chat.nvim.command(&format!("Acp send Run it {number}"));
        if self.chat.project.file(GATE).exists() {
            self.chat.nvim.wait_until(|_| fs::read(&closed).ok() != before, "the first half of the change");
            self.chat.nvim.command("call win_gotoid(bufwinid('clean.txt')) | split closed.txt");
            fs::write(self.chat.project.file(GATE), "go\n").expect("the command waits");
        }
        self.chat.wait_for(&format!("Over {number}."));
    }

    /// The user saves all that they have not; what has changed on the disk is merged first.
    fn save_all(&mut self) {
        let save = "local left = 0
            for _, buf in ipairs(vim.api.nvim_list_bufs()) do
              if vim.bo[buf].buftype == '' and vim.bo[buf].modified then
                pcall(vim.api.nvim_buf_call, buf, function() vim.cmd('silent write') end)
                left = left + (vim.bo[buf].modified and 1 or 0)
              end
            end
            return left";
        self.wait_for("buffers that can't be saved", "0", |chat| chat.nvim.exec_lua(save, []).to_string());
    }

    fn check(&mut self, is_right: bool, what: impl FnOnce() -> String) {
        if !is_right {
            self.wrong += &what();
        }
    }

    /// Waits until something is as it should be; else it is noted what it was at last.
    fn wait_for(&mut self, what: &str, wanted: &str, mut look: impl FnMut(&mut Scripted) -> String) {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(8);
        let mut last = String::new();
        let mut is_right = false;
        while !is_right && std::time::Instant::now() < deadline {
            last = look(&mut self.chat);
            is_right = last == wanted;
            if !is_right {
                // An event of Neovim's comes, or nothing for a while.
                self.chat.nvim.next_flush(std::time::Duration::from_millis(50));
            }
        }
        self.check(is_right, || format!("\n== {what}\n-- wanted\n{wanted}\n-- found\n{last}"));
    }

    /// The review shows what differs between two trees, and nothing else.
    fn review_shows(&mut self, what: &str, before: &Tree, after: &Tree) {
        let mut last = String::new();
        self.wait_for(what, "", |chat| {
            // The last of it may not be known yet when the turn ends.
            let page = "if vim.fn.bufwinid('acp://review') < 0 then vim.cmd('silent! Acp review') end
                        local buf = vim.fn.bufnr('acp://review')
                        return buf < 0 and '' or table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\\n')";
            let page = chat.nvim.exec_lua(page, []);
            last = page.as_str().unwrap_or_default().to_owned();
            faults(&last, before, after)
        });
        self.check(faults(&last, before, after).is_empty(), || format!("-- the page\n{last}\n"));
    }

    /// Waits until what is of concern of all files is as it was.
    fn is_again(&mut self, what: &str, wanted: &Tree, concern: impl Fn(Tree) -> Tree) {
        let root = self.chat.project.path().to_owned();
        self.wait_for(what, &told(wanted), |_| {
            let mut tree = Tree::new();
            walk(&root, &root, &mut tree);
            told(&concern(tree))
        });
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What went wrong before is the likeliest reason for what has failed.
        if std::thread::panicking() {
            let _ = writeln!(std::io::stderr(), "before that:{}", self.wrong);
        }
    }
}

/// The user undoes all of a first run, goes back to before a second.
fn play(runner: Runner, case: &Case) {
    let mut stage = Stage::new(runner, case);
    let first = stage.tree();
    stage.run(1);
    let after = stage.tree();
    assert!(first != after, "the command changes nothing");
    stage.review_shows("the review of the first run", &first, &after);
    stage.chat.nvim.command("silent! Acp undo! all");
    let without = |mut tree: Tree, others: &[&str]| {
        tree.retain(|path, _| !case.lost.contains(&path.as_str()) && !others.contains(&path.as_str()));
        tree
    };
    let wanted = without(first.clone(), &[UNSAVED.0]);
    stage.is_again("the files when all is undone", &wanted, |tree| without(tree, &[UNSAVED.0]));
    // The user's own edits are there still, and no more than that.
    let mine = |tree: &Tree| {
        let mut tree = tree.clone();
        if let Some(Entry::File(bytes, _)) = tree.get_mut(UNSAVED.0) {
            bytes.extend(MINE.as_bytes());
        }
        tree
    };
    stage.save_all();
    let wanted = without(mine(&first), &[]);
    stage.is_again("the files when the user has saved theirs", &wanted, |tree| without(tree, &[]));
    // What could not be undone is as it became.
    case.lost.iter().for_each(|lost| drop(fs::remove_file(stage.chat.project.file(lost))));
    let second = stage.tree();
    stage.run(2);
    let after = stage.tree();
    stage.review_shows("the review of the second run", &second, &after);
    stage.chat.nvim.command("Acp checkpoints");
    stage
        .chat
        .nvim
        .wait_until(|nvim| nvim.exec_lua("return _G.picker ~= nil", []) == true.into(), "a picker");
    stage.chat.nvim.exec_lua("local p = _G.picker; _G.picker = nil; p.answer(p.items[1], 1)", []);
    stage.chat.nvim.wait_for_screen("put back all");
    stage.chat.nvim.input("gX");
    let wanted = without(second, &[]);
    stage.is_again("the files after going back to the checkpoint", &wanted, |tree| without(tree, &[]));
    let told = stage.chat.nvim.exec_lua("return table.concat(_G.told, '\\n')", []);
    let told = told.as_str().unwrap_or_default().to_owned();
    let asked = stage.chat.nvim.exec_lua("return _G.picker and _G.picker.prompt", []);
    stage.check(asked.is_nil(), || format!("== asked without need: {asked}"));
    assert!(stage.wrong.is_empty(), "{}\n== told\n{told}", stage.wrong);
}

fn sh(folder: &Path, script: &str) {
    let script = format!("{NAMES}\n{script}");
    let done = Command::new("sh").args(["-ec", &script]).current_dir(folder).output().expect("a shell");
    assert!(done.status.success(), "{script}: {}", String::from_utf8_lossy(&done.stderr));
}

/// All that is in a folder but what is of no concern to a review.
fn walk(root: &Path, folder: &Path, tree: &mut Tree) {
    // What is undone meanwhile takes its folders along.
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let name = named(path.strip_prefix(root).expect("below"));
        // Files on their way to another name.
        let is_passing = name.contains(".acp-nvim-");
        let is_left_out = [".agent", "target", "node_modules"].contains(&name.as_str());
        if is_left_out || is_passing || path.ends_with(".git") {
            continue;
        }
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.file_type().is_fifo() {
            continue;
        }
        let kind = if metadata.is_symlink() {
            fs::read_link(&path).ok().map(Entry::Link)
        } else if metadata.is_dir() {
            walk(root, &path, tree);
            Some(Entry::Folder)
        } else {
            fs::read(&path).ok().map(|bytes| Entry::File(bytes, metadata.permissions().mode() & 0o7777))
        };
        tree.extend(kind.map(|kind| (name, kind)));
    }
}

/// A path as text; of what is no text the bytes.
fn named(path: &Path) -> String {
    let mut name = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        name += chunk.valid();
        chunk.invalid().iter().for_each(|byte| name += &format!("{BYTE}{byte:02x}"));
    }
    name
}

/// Before the number of a byte that is no text.
const BYTE: &str = "\\x";

/// A tree as lines to compare.
fn told(tree: &Tree) -> String {
    let line = |(path, entry): (&String, &Entry)| match entry {
        Entry::File(bytes, mode) if bytes.len() > 1000 => {
            let sum = bytes.iter().fold(0_u64, |sum, byte| sum.wrapping_mul(31) + u64::from(*byte));
            format!("{path:?} {mode:o} {} bytes, {sum:x}\n", bytes.len())
        }
        Entry::File(bytes, mode) => format!("{path:?} {mode:o} {:?}\n", bytes.escape_ascii().to_string()),
        Entry::Link(target) => format!("{path:?} -> {}\n", target.display()),
        Entry::Folder => format!("{path:?}/\n"),
    };
    tree.iter().map(line).collect()
}

/// A file's lines as an editor shows them; nothing of what is no text, or too large to be compared.
fn text_of(entry: Option<&Entry>) -> Option<Vec<String>> {
    match entry {
        None | Some(Entry::Folder) => Some(Vec::new()),
        Some(Entry::File(bytes, _)) if !bytes.contains(&0) && bytes.len() <= 4 << 20 => {
            let text = String::from_utf8(bytes.clone()).ok()?;
            let text = text.trim_start_matches('\u{feff}');
            let is_dos = text.matches("\r\n").count() == text.matches('\n').count();
            let text = if is_dos { text.replace("\r\n", "\n") } else { text.to_owned() };
            let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
            lines.pop_if(|last| last.is_empty());
            Some(lines)
        }
        Some(_) => None,
    }
}

/// A file on the page of the review.
#[derive(Default)]
struct Listed {
    name: String,
    /// What it was called before.
    from: Option<String>,
    state: &'static str,
    /// In which line of the text each begins, and what was removed and added there.
    hunks: Vec<(usize, Vec<String>, Vec<String>)>,
}

/// The files on the page of the review.
fn listed(page: &str) -> Vec<Listed> {
    let mut files: Vec<Listed> = Vec::new();
    for line in page.split('\n').skip(3) {
        if let Some(head) = line.strip_prefix("  @@ ") {
            let number = head.split(' ').next().and_then(|number| number.parse().ok());
            let hunk = (number.expect("a line"), Vec::new(), Vec::new());
            files.last_mut().expect("a file").hunks.push(hunk);
            continue;
        }
        let text = || line.get(4..).unwrap_or_default().to_owned();
        let hunk = files.last_mut().and_then(|file| file.hunks.last_mut());
        match (line.get(..3), hunk) {
            (Some("  -"), Some(hunk)) => hunk.1.push(text()),
            (Some("  +"), Some(hunk)) => hunk.2.push(text()),
            _ => files.push(head_of(line)),
        }
    }
    files
}

fn head_of(line: &str) -> Listed {
    let words = ["  renamed", "  empty", "  new file", "  deleted", "  changed"];
    let counted = (1..=9).filter_map(|number| line.find(&format!("  {number} hunk")));
    let end = words.iter().filter_map(|word| line.find(word)).chain(counted).min();
    let (name, about) = line.split_at(end.unwrap_or(line.len()));
    let state = ["new file", "deleted"].into_iter().find(|state| about.contains(state));
    let (from, name) = match name.split_once(" \u{2192} ") {
        Some((from, to)) if about.starts_with("  renamed") => (Some(from.to_owned()), to),
        _ => (None, name),
    };
    Listed { name: name.to_owned(), from, state: state.unwrap_or_default(), hunks: Vec::new() }
}

/// How the page of the review is wrong about what has changed between two trees; empty if it is right. Each file that
/// is another one is listed once and no other is. Its hunks have no more lines than the difference of its texts has,
/// and without them the new text is the old one.
fn faults(page: &str, before: &Tree, after: &Tree) -> String {
    let listed = listed(page);
    let mut before = before.clone();
    // A file that was renamed is one entry, with what else has changed in it.
    for file in &listed {
        if let Some(entry) = file.from.as_ref().and_then(|from| before.remove(&unshown(from, &before))) {
            before.insert(unshown(&file.name, after), entry);
        }
    }
    let mut paths: Vec<&String> = before.keys().chain(after.keys()).collect();
    paths.sort();
    paths.dedup();
    let mut faults = String::new();
    let mut expected = 0;
    for path in paths {
        let (old, new) = (before.get(path), after.get(path));
        let here: Vec<&Listed> = listed.iter().filter(|file| file.name == shown(path)).collect();
        let is_folder = |entry: Option<&Entry>| entry.is_none_or(|entry| *entry == Entry::Folder);
        let is_renamed = here.iter().any(|file| file.from.is_some());
        if (old == new && !is_renamed) || (is_folder(old) && is_folder(new)) {
            continue;
        }
        expected += 1;
        let [file] = here[..] else {
            writeln!(faults, "{} is listed {} times", shown(path), here.len()).expect("a text grows");
            continue;
        };
        let state = match (is_folder(old), is_folder(new)) {
            (true, _) => "new file",
            (_, true) => "deleted",
            _ => "",
        };
        if file.state != state {
            writeln!(faults, "{} is {:?} instead of {state:?}", file.name, file.state).expect("a text grows");
        }
        if let (Some(old), Some(new)) = (text_of(old), text_of(new)) {
            let exact = faults_of_hunks(file, &old, &new);
            // A buffer keeps the line ends that it began with, and shows no others.
            let is_right =
                exact.is_empty() || faults_of_hunks(&without_ends(file), &bare(&old), &bare(&new)).is_empty();
            faults += if is_right { "" } else { &exact };
        }
    }
    if expected != listed.len() {
        let names: Vec<&str> = listed.iter().map(|file| &*file.name).collect();
        writeln!(faults, "{expected} files are other ones, listed are {names:?}").expect("a text grows");
    }
    faults
}

fn bare(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| line.trim_end_matches('\r').to_owned()).collect()
}

fn without_ends(file: &Listed) -> Listed {
    let hunks = file.hunks.iter().map(|(number, removed, added)| (*number, bare(removed), bare(added)));
    Listed { name: file.name.clone(), from: file.from.clone(), state: file.state, hunks: hunks.collect() }
}

fn faults_of_hunks(file: &Listed, old: &[String], new: &[String]) -> String {
    let [old_lines, new_lines]: [Vec<&str>; 2] =
        [old, new].map(|lines| lines.iter().map(String::as_str).collect());
    let diff = TextDiff::from_slices(&old_lines, &new_lines);
    let count = |tag: ChangeTag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    let wanted = (count(ChangeTag::Delete), count(ChangeTag::Insert));
    let removed = file.hunks.iter().map(|(_, removed, _)| removed.len()).sum::<usize>();
    let added = file.hunks.iter().map(|(.., added)| added.len()).sum::<usize>();
    let mut lines = new.to_vec();
    let mut faults = String::new();
    for (number, removed, added) in file.hunks.iter().rev() {
        let there = number - 1..number - 1 + added.len();
        if lines.get(there.clone()) == Some(&added[..]) {
            lines.splice(there, removed.iter().cloned());
        } else {
            writeln!(faults, "{} line {number} is not {added:?}", file.name).expect("a text grows");
        }
    }
    if (removed, added) != wanted || lines != old {
        let what = format!("-{removed} +{added} instead of -{} +{}", wanted.0, wanted.1);
        writeln!(faults, "{}: {what}; without them it is {lines:?}", file.name).expect("a text grows");
    }
    faults
}

/// A path as a page shows it.
fn shown(path: &str) -> String {
    let mut parts = path.split(BYTE);
    let first = parts.next().unwrap_or_default().to_owned();
    let bytes = parts.map(|part| format!("\u{fffd}{}", part.get(2..).unwrap_or_default()));
    (first + &bytes.collect::<String>()).replace('\n', "\u{2424}")
}

fn unshown(name: &str, tree: &Tree) -> String {
    tree.keys().find(|path| shown(path) == name).map_or_else(|| name.to_owned(), Clone::clone)
}

const GIT: &str =
    "git init -q && git add clean.txt unsaved.txt twice.txt closed.txt link && git commit -qm first";

macro_rules! commands {
    ($($name:ident: $setup:expr, $script:expr;)*) => {
        mod in_a_terminal {
            $(#[test] fn $name() {
                super::play(super::Runner::Terminal, &super::Case { setup: $setup, script: $script, lost: &[] });
            })*
        }
        mod by_the_agent_itself {
            $(#[test] fn $name() {
                super::play(super::Runner::Agent, &super::Case { setup: $setup, script: $script, lost: &[] });
            })*
        }
    };
    (by_the_agent_alone: $($name:ident: $setup:expr, $script:expr $(, lost [$($lost:expr),*])?;)*) => {
        mod by_the_agent_alone {
            use super::*;

            $(#[test] fn $name() {
                play(Runner::Agent, &Case { setup: $setup, script: $script, lost: &[$($($lost),*)?] });
            })*
        }
    };
}

commands! {
    sed_in_place: "", "sed -i s/two/TWO/ clean.txt unsaved.txt twice.txt closed.txt";
    perl_in_place: "", "perl -pi -e 's/^three/THREE/; s/^four\\r?\\n//' clean.txt unsaved.txt twice.txt closed.txt";
    remove: "", "rm clean.txt unsaved.txt twice.txt closed.txt link";
    remove_a_folder: "mkdir -p deep/er; echo a > deep/a; echo b > deep/er/b; chmod 700 deep/er/b", "rm -r deep";
    move_into_a_folder: "", "mkdir -p moved && mv clean.txt twice.txt closed.txt moved/";
    move_with_unsaved_edits: "", "mv unsaved.txt elsewhere.txt";
    git_mv: crate::GIT, "git reset -q && git mv -f clean.txt renamed.txt && git mv -f closed.txt program";
    patch: "mkdir b && cp -p *.txt b/ && sed -i 's/two/TWO/; s/four/FOUR/' b/*.txt
            for f in *.txt; do diff -u $f b/$f >> .agent/fix.patch || true; done; rm -r b",
        "patch -s --binary -p0 < .agent/fix.patch";
    copy_a_folder: "mkdir -p src/in; echo a > src/a; echo b > src/in/b; chmod 755 src/in/b; ln -s a src/l",
        "cp -r src copy";
    formatter: "printf 'import re,sys\\nfor name in sys.argv[1:]:\\n  text = open(name, newline=\"\").read()\\n  \
        text = re.sub(r\"(?m)^(t\\\\w+)\", r\"  \\\\1\", text)\\n  open(name, \"w\", newline=\"\").write(text)\\n' > .agent/format.py",
        "python3 .agent/format.py clean.txt unsaved.txt twice.txt closed.txt";
    generator: "",
        "mkdir -p gen/sub; echo 'fn a() {}' > gen/a.rs; printf '#!/bin/sh\\necho b\\n' > gen/sub/b; chmod 755 gen/sub/b
         head -c 3000 /dev/zero > gen/picture; ln -sf sub/b gen/l; : > gen/empty; printf 'no end' > gen/c";
    git_checkout_of_a_new_branch: crate::GIT,
        "git checkout -qB topic && sed -i s/two/TWO/ clean.txt unsaved.txt twice.txt closed.txt";
    git_stash: "git init -q; echo .agent > .git/info/exclude; git add .; git commit -qm first; sed -i s/two/2/ clean.txt twice.txt closed.txt", "git stash -q";
    git_stash_pop: "git init -q; echo .agent > .git/info/exclude; git add .; git commit -qm first; sed -i s/two/2/ clean.txt twice.txt closed.txt
        git stash -q; git stash apply -q; git stash push -qm second", "git stash pop -q";
    a_merge: crate::BRANCHES, "git checkout -qf --detach start~1; sed -i s/three/3/ twice.txt; git commit -qam again; git merge -q --no-edit main";
    a_merge_with_conflicts: crate::BRANCHES, "git reset -q --hard; git merge -q side > .agent/said && exit 1; true";
    a_rebase: crate::BRANCHES, "git checkout -qf --detach start~1; sed -i s/four/4/ twice.txt closed.txt; echo new > new.txt
        git add new.txt; git commit -qam again; git rebase -q main";
    a_rebase_with_conflicts: crate::BRANCHES, "git rebase --abort 2> .agent/said || true; git checkout -qf --detach start
        git rebase -q main > .agent/said 2>&1 && exit 1; true";
    a_stash_that_conflicts: crate::BRANCHES, "git checkout -qf --detach main; git stash clear; sed -i s/MAIN/2/ clean.txt; sed -i s/three/3/ twice.txt
        git stash -q; sed -i s/MAIN/other/ clean.txt; git commit -qam other; git stash pop -q > .agent/said 2>&1 && exit 1; true";
    output_into_ignored_folders: "git init -q; echo .agent > .git/info/exclude; printf 'target/\\nnode_modules/\\n' > .gitignore; echo 1 > Cargo.lock; git add .",
        "mkdir -p target/debug node_modules/x; date +%N > target/debug/app; date +%N > node_modules/x/index.js
         echo 2 >> Cargo.lock";
    here_document: "", "for f in clean.txt unsaved.txt twice.txt closed.txt; do cat > $f <<'EOF'\none\n2\nthree\nfive\nEOF\ndone";
    tee: "", "printf 'zero\\n' | tee clean.txt twice.txt > closed.txt";
    python_open: "",
        "python3 -c \"
for name in 'clean.txt unsaved.txt twice.txt closed.txt'.split():
    text = open(name, newline='').read()
    open(name, 'w', newline='').write(text.replace('three', 'THREE'))\"";
    opened_while_it_changes: "mkfifo .agent/gate",
        "sed -i s/two/TWO/ closed.txt; read go < .agent/gate; sed -i s/four/FOUR/ closed.txt clean.txt";
    line_ends_and_mark: "", "perl -pi -e 's/\\r$//; s/^\\xef\\xbb\\xbf//; s/two/TWO/' clean.txt closed.txt";
    permissions_and_text: "", "sed -i s/two/TWO/ clean.txt closed.txt && chmod 600 clean.txt && chmod 644 closed.txt";
}

/// Two branches that have changed the same line, and each a file of its own.
const BRANCHES: &str = "git init -qb main; echo .agent > .git/info/exclude; git add .; git commit -qm first
    git checkout -qb side; sed -i s/two/SIDE/ clean.txt closed.txt; sed -i s/four/FOUR/ twice.txt; echo s > side.txt
    git add .; git commit -qm side; git tag start; git checkout -q main
    sed -i s/two/MAIN/ clean.txt closed.txt; echo m > main.txt; git add .; git commit -qm main";

const DEEP: &str = "mkdir -p deep; printf 'one\ntwo\nthree\n' > deep/a.txt; printf 'a\n' > deep/b.txt; ";

// What a look at the disk has to get right: files that give way to others, names that are no words, bytes that are no
// text, and programs that write in ways of their own.
commands! { by_the_agent_alone:
    a_copy_that_takes_the_name: "",
        "for f in clean.txt twice.txt closed.txt; do cp -a $f .$f.X1; echo six >> .$f.X1; mv .$f.X1 $f; done";
    rsync: "mkdir from; cp -a *.txt from/; sed -i s/two/TWO/ from/*.txt",
        "if which rsync > .agent/which; then rsync -ac from/ .; else cp -a from/. .; fi";
    install: "", "install -m 755 twice.txt clean.txt; install -m 600 twice.txt new.txt";
    renamed_over_unsaved_edits: "sed s/two/TWO/ unsaved.txt > new.txt", "mv new.txt unsaved.txt";
    renamed_over_a_file_in_no_buffer: "echo other > other.txt", "mv other.txt closed.txt";
    a_link_over_a_file: "", "ln -sf twice.txt closed.txt";
    a_file_over_a_link: "", "cp --remove-destination closed.txt link";
    a_link_that_points_elsewhere: "mkdir d; ln -s d folder", "ln -sfn twice.txt link; ln -sfn . folder";
    a_link_that_points_nowhere: "", "ln -s nowhere none; rm closed.txt";
    a_hard_link: "", "ln closed.txt hard; sed -i s/two/TWO/ twice.txt";
    written_through_a_hard_link: "ln closed.txt hard; ln clean.txt tough", "printf six >> hard; printf six >> tough";
    written_through_a_linked_folder: "mkdir d; echo one > d/a; ln -s d l", "echo two >> l/a; echo new > l/b";
    bytes_in_the_middle: "",
        "for f in clean.txt closed.txt; do printf XX | dd of=$f bs=1 seek=5 conv=notrunc 2> .agent/dd; done";
    cut_short: "", "truncate -s 6 clean.txt closed.txt twice.txt";
    emptied: "", ": > clean.txt; : > twice.txt; : > closed.txt";
    empty_files: "mkdir d; : > gone; : > d/gone; : > filled; : > moved",
        "rm gone d/gone; echo text > filled; mv moved d/moved; : > new; mkdir -p e/f; : > e/f/new";
    permissions_alone: "", "touch twice.txt; chmod 755 clean.txt; chmod 600 twice.txt; chmod 644 closed.txt";
    permissions_that_forbid_to_write: "", "chmod 444 clean.txt closed.txt; mkdir d; echo x > d/a; chmod 400 d/a";
    times_alone: "", "touch clean.txt unsaved.txt; touch -d 2001-01-01 twice.txt closed.txt; echo new > new.txt";
    an_older_file_is_put_in_place: "echo old > old.txt; touch -d 2001-01-01 old.txt", "cp -p old.txt clean.txt; cp -p old.txt closed.txt";
    a_pipe: "", "[ -p pipe ] || mkfifo pipe; sed -i s/two/TWO/ twice.txt";
    made_and_removed: "", "echo x > made.txt; rm made.txt; mkdir d; echo x > d/a; rm -r d; sed -i s/two/TWO/ clean.txt";
    removed_and_made_again: "", "for f in clean.txt closed.txt; do cp -a $f .agent/copy; rm $f; cp -a .agent/copy $f; done; rm twice.txt; echo new > twice.txt";
    names_in_a_cycle: "printf 'c\n' > c", "mv clean.txt x; mv twice.txt clean.txt; mv c twice.txt; mv x c";
    two_that_change_names: "", "mv clean.txt x; mv closed.txt clean.txt; mv x closed.txt";
    names_in_another_case: "mkdir d; echo x > d/a", "mv clean.txt Clean.txt; mv closed.txt CLOSED.TXT; mv d D";
    files_give_way_to_folders: "", "for f in clean.txt closed.txt; do rm $f; mkdir -p $f/in; echo in > $f/in/a; done";
    a_folder_gives_way_to_a_file: DEEP, "rm -r deep; echo file > deep";
    a_folder_is_moved: DEEP, "mv deep moved; echo new > moved/c; sed -i s/two/TWO/ moved/a.txt";
    a_folder_comes_and_goes: DEEP, "mv deep x; mkdir deep; cp x/a.txt deep/; rm -r x; echo new > deep/new";
    a_line_break_in_names: "echo old > \"$(printf 'old\nname')\"; echo gone > \"$(printf 'gone\n\nname')\"",
        "echo more >> \"$(printf 'old\nname')\"; rm \"$(printf 'gone\n\nname')\"; echo x > \"$(printf 'new\nname')\"";
    quotes_and_signs_in_names: "echo old > \"it's \\\"q\\\".txt\"; echo old > '%#|*?[a].txt'; echo old > '-n'; echo old > ' a b '; echo old > '$HOME'",
        "for f in *q* '%#|*?[a].txt' ./-n ' a b ' '$HOME'; do echo more >> \"$f\"; done; echo x > '`new`'; echo x > 'a\\b'; echo x > '~'";
    letters_of_all_kinds_in_names: "echo old > 'na\u{ef}ve \u{65e5}\u{672c}.txt'; mkdir '\u{1f600}'; echo old > '\u{1f600}/e\u{301}'",
        "echo more >> 'na\u{ef}ve \u{65e5}\u{672c}.txt'; mv '\u{1f600}/e\u{301}' '\u{1f600}/\u{e9}'; echo x > '\u{202e}txt'";
    names_that_are_no_text: "echo old > \"$(printf 'caf\\351')\"; echo gone > \"$(printf 'gone\\377')\"; echo moves > \"$(printf 'th\\351')\"; ln -s closed.txt \"$(printf 'li\\376')\"",
        "echo more >> \"$(printf 'caf\\351')\"; rm \"$(printf 'gone\\377')\"; mv \"$(printf 'th\\351')\" \"$(printf 'tea\\351')\"
         ln -sfn \"$(printf 'caf\\351')\" \"$(printf 'li\\376')\"; echo x > \"$(printf 'new\\351')\"";
    a_name_as_long_as_can_be: "n=$(printf 'x%.0s' $(seq 255)); printf 'one\ntwo\n' > $n",
        "n=$(printf 'x%.0s' $(seq 255)); sed -i s/two/TWO/ $n; n=$(printf 'y%.0s' $(seq 255)); echo new > $n";
    a_path_as_long_as_can_be: "n=$(printf 'x%.0s' $(seq 240)); for i in $(seq 15); do mkdir $n; cd $n; done; printf 'one\ntwo\n' > a",
        "n=$(printf 'x%.0s' $(seq 240)); for i in $(seq 15); do cd $n; done; printf 'one\nTWO\n' > a; echo new > b";
    bytes_that_are_no_text: "printf '\\000\\001\\377' > a.bin; printf 'caf\\351\n' > latin; printf '\\377\\376a\\000' > wide",
        "printf '\\002' >> a.bin; printf 'th\\351\n' >> latin; printf 'b\\000' >> wide; printf '\\000' > new.bin";
    text_becomes_bytes_and_bytes_text: "printf '\\000' > a.bin", "printf '\\000' >> closed.txt; echo text > a.bin";
    other_line_ends_alone: "", "sed -i 's/\\r$//' clean.txt; sed -i 's/$/\\r/' closed.txt";
    line_ends_of_both_kinds: "printf 'a\\r\nb\nc\\rd\n' > mixed; printf 'a\\rb\\r' > old", "sed -i s/b/B/ mixed old; printf 'e\\r\n' >> twice.txt";
    no_last_line_end_any_more: "", "printf six >> clean.txt; echo >> twice.txt";
    only_the_last_line_end: "printf 'a\nb\n' > c", "printf 'a\nb' > c; echo >> closed.txt";
    a_long_line: "head -c 300000 /dev/zero | tr '\\0' x > long; echo >> long", "echo y >> long; sed -i 's/^x/z/' long";
    a_file_that_was_not_copied: "head -c 6000000 /dev/zero | tr '\\0' x > big; head -c 2000000 /dev/zero > middle",
        "echo end >> big; echo end >> middle; sed -i s/two/TWO/ clean.txt", lost ["big"];
    a_file_with_a_hole: "", "truncate -s 300M hole; sed -i s/two/TWO/ clean.txt", lost ["hole"];
    a_file_grows: "mkfifo .agent/gate", "for i in $(seq 40); do echo $i >> closed.txt; echo $i >> clean.txt; done; read go < .agent/gate
        for i in $(seq 40); do echo $i >> closed.txt; echo $i >> twice.txt; done";
    written_by_what_is_still_there: "", "(exec 3>> clean.txt; echo six >&3; exec 4>> closed.txt; echo six >&4; sleep 30 >/dev/null 2>&1 & echo $! > .agent/pid) ; kill $(cat .agent/pid)";
    a_database: "sqlite3 data.sqlite 'create table t(a); insert into t values (1)'", "sqlite3 data.sqlite 'insert into t values (2)'";
    a_database_with_a_log: "sqlite3 data.sqlite 'pragma journal_mode=wal; create table t(a)'", "sqlite3 data.sqlite 'insert into t values (2)'";
    many_by_a_pipe: "", "ls clean.txt twice.txt closed.txt | xargs -P 3 -n 1 sed -i s/two/TWO/";
    in_the_background: "", "(sed -i s/two/TWO/ clean.txt) & (sed -i s/two/TWO/ closed.txt) & wait";
    vim_saves: "", "vi=$(which nvim || which vi || true); [ -z \"$vi\" ] || HOME=/nonexistent $vi -u NONE -es -c 's/one/1/' -c 'wq' closed.txt || true; sed -i s/two/TWO/ closed.txt";
    an_archive: DEEP, "tar cf .agent/all.tar *.txt deep; rm -r *.txt deep; tar xf .agent/all.tar; sed -i s/two/TWO/ deep/a.txt clean.txt; tar cf new.tar deep";
    git_apply: GIT, "git reset -q --hard; sed s/two/TWO/ closed.txt > .agent/new; (git diff --no-index --binary closed.txt .agent/new || true) | sed 's#.agent/new#closed.txt#' | git apply";
    git_reset_and_clean: "git init -q; echo .agent > .git/info/exclude; git add .; git commit -qm first; sed -i s/two/2/ clean.txt closed.txt; rm twice.txt; echo n > new; mkdir d; echo n > d/n",
        "git reset -q --hard; git clean -qfd";
    git_restore: "git init -q; echo .agent > .git/info/exclude; git add .; git commit -qm first; sed -i s/two/2/ clean.txt closed.txt", "git checkout -q -- .";
    git_clean_of_all: "git init -q; echo .agent > .git/info/exclude; echo '*.log' > .gitignore; git add .; git commit -qm first",
        "echo new > new; mkdir -p d; echo x > d/x; rm -f twice.txt; git clean -qfdx -e .agent; sed -i s/two/TWO/ clean.txt";
    files_of_others_are_cleaned: "git init -q; echo .agent > .git/info/exclude; git add clean.txt; git commit -qm first; mkdir d; echo x > d/x", "git clean -qfdx -e .agent";
    a_mirror: "mkdir from; cp -a clean.txt closed.txt from/; sed -i s/two/TWO/ from/*; mkdir gone; echo x > gone/x",
        "if which rsync > .agent/which; then rsync -ac --delete --exclude .agent --exclude from from/ .; else cp -a from/. .; rm -r gone; fi";
    an_archive_over_files: "mkdir n; cp -a clean.txt closed.txt n/; sed -i s/two/TWO/ n/*; echo x > n/new; chmod 600 n/closed.txt; tar cf .agent/n.tar -C n .; rm -r n",
        "tar xf .agent/n.tar";
    copied_over_links: "mkdir src; echo new > src/a; ln -s ../closed.txt src/l; echo a > a; ln -s clean.txt l; ln -s a m",
        "cp -rf src/. . 2> .agent/said || true; cp src/a m";
    a_link_over_a_clean_buffers_file: "", "ln -sf closed.txt clean.txt; ln -sf nowhere twice.txt";
    a_folder_gives_way_to_a_link: "mkdir -p deep real; echo one > deep/a.txt; echo b > deep/b.txt; echo real > real/a.txt", "rm -r deep; ln -s real deep";
    a_link_gives_way_to_a_folder: "mkdir real; echo real > real/a.txt; ln -s real deep", "rm deep; mkdir deep; echo one > deep/a.txt";
    a_pipe_takes_a_files_place: "", "rm closed.txt twice.txt; mkfifo closed.txt twice.txt";
    a_folder_of_a_buffers_file_gives_way_to_a_link: "", "mkdir d; mv clean.txt d/; ln -s d/clean.txt clean.txt; echo six >> clean.txt";
    tabs_and_dashes_in_names: "echo old > \"$(printf 'a\tb')\"; echo old > ./--help; echo old > ./-rf; mkdir ./-d; echo x > ./-d/-x",
        "echo more >> \"$(printf 'a\tb')\"; mv ./--help ./--version; rm ./-rf; echo y >> ./-d/-x; echo new > \"$(printf '\tnew')\"";
    grown_by_another_that_goes_on: "", "for i in $(seq 200); do echo $i >> twice.txt; echo $i >> closed.txt; done; : > empty; : > clean.txt";
    git_worktree: GIT, "rm -rf w; git worktree prune; git worktree add -qf --detach w; echo six >> w/clean.txt", lost ["w"];
    a_submodule: "git init -q n; echo one > n/a; git -C n add a; git -C n commit -qm 1; git init -q; echo .agent > .git/info/exclude; git add . 2> .agent/e; git commit -qm 1
        git -c protocol.file.allow=always submodule --quiet add ./n sub 2> .agent/e", "echo two >> sub/a; echo new > sub/b; git -C sub add .; echo two >> n/a";
    a_repository_is_made_inside: "", "rm -rf n; mkdir n; cd n; git init -q; echo x > x; git add x; git commit -qm 1; echo y >> x", lost ["n"];
    an_ignored_file_that_is_tracked: "echo '*.log' > .gitignore; echo l > t.log; git init -q; git add -f clean.txt t.log .gitignore", "echo m >> t.log; echo n > u.txt";
    without_a_repository_what_is_ignored: "printf '*.log\ntarget/\n' > .gitignore", "mkdir -p target; date +%N > target/x; sed -i s/two/TWO/ clean.txt closed.txt; echo x > new.txt";
}
