//! Real commands that change files behind the editor's back, run in a terminal of the client's or by the agent itself:
//! the review shows exactly the difference, undoing it brings back every byte, and so does going back to the
//! checkpoint. In a real Neovim, with the files in clean buffers, with unsaved edits, in two windows, and in none.

#![cfg(target_os = "linux")]

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
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

/// A command of the agent's in a turn of its own.
fn turn(runner: Runner, number: usize, script: &str) -> Vec<Value> {
    let id = format!("c{number}");
    let script = format!("cd $PROJECT\n{script}");
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
        let wanted = difference(before, after);
        self.wait_for(what, &wanted, |chat| {
            // The last of it may not be known yet when the turn ends.
            let closed = "return vim.fn.bufwinid('acp://review') < 0";
            if chat.nvim.exec_lua(closed, []) == true.into() {
                chat.nvim.command("silent! Acp review");
            }
            let page = "local buf = vim.fn.bufnr('acp://review')
                        return buf < 0 and '' or table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\\n')";
            let page = chat.nvim.exec_lua(page, []);
            let (changes, renames) = changes_of(page.as_str().unwrap_or_default());
            // A file that was renamed is one entry, with what else has changed in it.
            let mut renamed = before.clone();
            for (from, to) in renames {
                if let Some(entry) = renamed.remove(&from) {
                    renamed.insert(to, entry);
                }
            }
            if changes == difference(&renamed, after) { wanted.clone() } else { changes }
        });
    }

    fn is_again(&mut self, what: &str, wanted: &Tree) {
        let wanted_text = told(wanted);
        let root = self.chat.project.path().to_owned();
        self.wait_for(what, &wanted_text, |_| {
            let mut tree = Tree::new();
            walk(&root, &root, &mut tree);
            told(&tree)
        });
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
    let mut rest = first.clone();
    rest.retain(|path, _| path != UNSAVED.0);
    let root = stage.chat.project.path().to_owned();
    stage.wait_for("the files when all is undone", &told(&rest), |_| {
        let mut tree = Tree::new();
        walk(&root, &root, &mut tree);
        tree.retain(|path, _| path != UNSAVED.0);
        told(&tree)
    });
    // The user's own edits are there still, and no more than that.
    let mine = |tree: &Tree| {
        let mut tree = tree.clone();
        if let Some(Entry::File(bytes, _)) = tree.get_mut(UNSAVED.0) {
            bytes.extend(MINE.as_bytes());
        }
        tree
    };
    stage.save_all();
    let wanted = mine(&first);
    stage.is_again("the files when the user has saved theirs", &wanted);
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
    stage.is_again("the files after going back to the checkpoint", &second);
    let told = stage.chat.nvim.exec_lua("return table.concat(_G.told, '\\n')", []);
    let told = told.as_str().unwrap_or_default().to_owned();
    let asked = stage.chat.nvim.exec_lua("return _G.picker and _G.picker.prompt", []);
    stage.check(asked.is_nil(), || format!("== asked without need: {asked}"));
    assert!(stage.wrong.is_empty(), "{}\n== told\n{told}", stage.wrong);
}

fn sh(folder: &Path, script: &str) {
    let mut command = Command::new("sh");
    command.args(["-ec", script]).current_dir(folder);
    for (name, value) in [("NAME", "A"), ("EMAIL", "a@example.org")] {
        command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
    }
    let done = command.output().expect("a shell");
    assert!(done.status.success(), "{script}: {}", String::from_utf8_lossy(&done.stderr));
}

/// All that is in a folder but what is of no concern to a review.
fn walk(root: &Path, folder: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let name = path.strip_prefix(root).expect("below").to_str().expect("UTF-8").to_owned();
        // Files on their way to another name.
        let is_passing = name.contains(".acp-nvim-");
        if [".git", ".agent", "target", "node_modules"].contains(&name.as_str()) || is_passing {
            continue;
        }
        let Ok(metadata) = entry.metadata() else { continue };
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

/// A tree as lines to compare.
fn told(tree: &Tree) -> String {
    let line = |(path, entry): (&String, &Entry)| match entry {
        Entry::File(bytes, mode) if bytes.len() > 1000 => format!("{path} {mode:o} {} bytes\n", bytes.len()),
        Entry::File(bytes, mode) => format!("{path} {mode:o} {:?}\n", String::from_utf8_lossy(bytes)),
        Entry::Link(target) => format!("{path} -> {}\n", target.display()),
        Entry::Folder => format!("{path}/\n"),
    };
    tree.iter().map(line).collect()
}

/// A file's lines as an editor shows them; nothing of what is no text.
fn text_of(entry: Option<&Entry>) -> Option<String> {
    match entry {
        None => Some(String::new()),
        Some(Entry::File(bytes, _)) if !bytes.contains(&0) => {
            let text = String::from_utf8(bytes.clone()).ok()?;
            let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
            Some(if text.is_empty() || text.ends_with('\n') { text } else { text + "\n" })
        }
        Some(_) => None,
    }
}

/// Each file of which lines differ, with those lines: what was removed first, then what was added.
fn difference(before: &Tree, after: &Tree) -> String {
    let mut paths: Vec<&String> = before.keys().chain(after.keys()).collect();
    paths.sort();
    paths.dedup();
    let mut all = String::new();
    for path in paths {
        let (old, new) = (before.get(path), after.get(path));
        let (Some(old_text), Some(new_text)) = (text_of(old), text_of(new)) else { continue };
        let state = match (old, new) {
            (None, Some(_)) => " new file",
            (Some(_), None) => " deleted",
            _ if old_text == new_text => continue,
            _ => "",
        };
        let diff = TextDiff::from_lines(&old_text, &new_text);
        let lines = |tag: ChangeTag, mark: &str| {
            let changes = diff.iter_all_changes().filter(|change| change.tag() == tag);
            changes
                .map(|change| format!("  {mark} {}\n", change.value().trim_end_matches('\n')))
                .collect::<String>()
        };
        let (removed, added) = (lines(ChangeTag::Delete, "-"), lines(ChangeTag::Insert, "+"));
        write!(all, "{path}{state}\n{removed}{added}").expect("a text grows");
    }
    all
}

/// The same, as the page of the review says it, and which files it says were renamed.
fn changes_of(page: &str) -> (String, Vec<(String, String)>) {
    let (mut files, mut renames): (Vec<(String, String, String)>, _) = (Vec::new(), Vec::new());
    for line in page.lines().skip(3) {
        match line.get(..4) {
            Some("  @@") => {}
            Some("  - ") => {
                files.iter_mut().last().into_iter().for_each(|file| file.1 += &format!("{line}\n"))
            }
            Some("  + ") => {
                files.iter_mut().last().into_iter().for_each(|file| file.2 += &format!("{line}\n"))
            }
            // Empty lines have lost the blank at their end.
            _ if line == "  -" => files.iter_mut().last().into_iter().for_each(|file| file.1 += "  - \n"),
            _ if line == "  +" => files.iter_mut().last().into_iter().for_each(|file| file.2 += "  + \n"),
            // What has no lines is listed, too.
            _ if line.contains("no hunks: ") => {}
            _ if line.contains("  renamed") => {
                let names = line.split("  ").next().unwrap_or_default();
                let (from, to) = names.split_once(" \u{2192} ").unwrap_or_default();
                renames.push((from.to_owned(), to.to_owned()));
                if line.contains(" hunk") {
                    files.push((format!("{to}\n"), String::new(), String::new()));
                }
            }
            _ if line.contains("  ") && (line.contains("hunk") || line.contains("  empty")) => {
                let name = line.split("  ").next().unwrap_or_default();
                let state =
                    ["new file", "deleted"].iter().find(|state| line.contains(&format!(" · {state}")));
                let head = format!("{name}{}\n", state.map(|state| format!(" {state}")).unwrap_or_default());
                files.push((head, String::new(), String::new()));
            }
            _ => {}
        }
    }
    files.sort();
    (files.into_iter().map(|(head, removed, added)| head + &removed + &added).collect(), renames)
}

const GIT: &str =
    "git init -q && git add clean.txt unsaved.txt twice.txt closed.txt link && git commit -qm first";

macro_rules! commands {
    ($($name:ident: $setup:expr, $script:expr;)*) => {
        mod in_a_terminal {
            $(#[test] fn $name() {
                super::play(super::Runner::Terminal, &super::Case { setup: $setup, script: $script });
            })*
        }
        mod by_the_agent_itself {
            $(#[test] fn $name() {
                super::play(super::Runner::Agent, &super::Case { setup: $setup, script: $script });
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
