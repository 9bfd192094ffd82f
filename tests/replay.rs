//! Recorded sessions of real agents, played again in a real Neovim with the user's part done by keys:
//! what stands in the chat at the end, and that nobody was surprised on the way. The recordings in
//! `tests/data` are looked at as screens; more of them, where there are any, as facts only.

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod replay {
    pub mod player;
    pub mod recording;
}

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use replay::player::{Played, play, play_slowly};
use replay::recording::{Recording, Step, come_back};
use support::project::TempProject;

/// How many [`Nvim`](support::Nvim) run at the same time.
const THREADS: usize = 4;

macro_rules! recordings {
    ($($test:ident: $name:literal,)*) => {
        $(
            #[test]
            fn $test() {
                looks_as_before(&data().join(concat!($name, ".jsonl")));
            }
        )*

        const SHOWN: &[&str] = &[$($name),*];
    };
}

recordings! {
    claude_changes_a_file_that_it_was_allowed_to: "claude-agent-acp-edit",
    claude_asks_which_colour_it_should_be: "claude-agent-acp-ask",
    an_older_claude_changes_a_file_through_the_editor: "claude-code-acp-edit",
    an_older_claude_is_stopped_while_its_command_runs: "claude-code-acp-cancel-shell",
    two_chats_with_claude_work_side_by_side: "claude-code-acp-two",
    an_older_codex_has_a_plan: "codex-acp-plan",
    an_older_codex_is_stopped_while_it_asks: "codex-acp-cancel-perm",
    an_older_codex_fails_and_goes_on: "codex-acp-error",
    an_older_codex_lists_its_sessions: "codex-acp-load",
    claude_has_a_subagent_edit_a_file: "claude-agent-acp101-subagent-edit",
    claude_has_two_subagents_work_at_once: "claude-agent-acp101-subagent-parallel",
    claude_has_a_subagent_that_has_one: "claude-agent-acp101-subagent-nested",
    claude_has_a_subagent_fail: "claude-agent-acp101-subagent-error",
    claude_has_one_subagent_stopped: "claude-agent-acp101-subagent-cancel-child",
    claude_is_stopped_while_a_subagent_asks: "claude-agent-acp101-subagent-cancel-perm",
    claude_has_a_subagent_work_in_the_background: "claude-agent-acp101-subagent-background",
    claude_is_stopped_while_a_subagent_works: "claude-agent-acp101-subagent-cancel",
    claude_is_stopped_when_nobody_works: "claude-agent-acp101-subagent-cancel-idle",
    claude_has_a_subagent_that_is_told_no: "claude-agent-acp101-subagent-reject",
    claude_tells_of_what_a_subagent_does_as_its_own: "claude-agent-acp101-subagent-flat",
    claude_tells_a_subagent_more: "claude-agent-acp101-subagent-again",
    claude_tells_of_a_subagent_in_the_older_form: "claude-agent-acp101-subagent-flat-transcript",
    claude_lists_a_session_that_had_a_subagent: "claude-agent-acp101-subagent-load",
    codex_has_a_subagent_edit_a_file: "codex-acp2-subagent-edit",
    codex_has_two_subagents_work_at_once: "codex-acp2-subagent-parallel",
    codex_is_stopped_while_a_subagent_works: "codex-acp2-subagent-cancel",
    codex_tells_of_a_subagent_in_the_older_form: "codex-acp2-subagent-flat",
    claude_is_given_another_system_prompt: "claude-agent-acp101-system-prompt",
    codex_is_given_more_of_a_system_prompt: "codex-acp2-system-prompt",
    claude_makes_the_conversation_shorter: "claude-agent-acp101-compact",
    codex_makes_the_conversation_shorter: "codex-acp2-compact",
    claude_has_its_plan_approved: "claude-agent-acp101-plan-mode",
    claude_speaks_the_second_version: "claude-agent-acp101-v2",
    claude_goes_on_twice: "claude-agent-acp101-fork",
    codex_goes_on_twice: "codex-acp2-fork",
    codex_runs_a_command_that_fails: "codex-acp2-shell-metaterm",
    copilot_runs_a_command_that_it_was_allowed_to: "copilot-shell",
    copilot_is_told_no: "copilot-edit-reject",
    cline_says_in_its_input_alone_what_it_changes: "cline-edit",
    codex_changes_a_file_that_it_was_allowed_to: "codex-acp2-edit",
    opencode_changes_a_file_through_the_editor_and_once_more_itself: "opencode-edit-always",
    opencode_sets_down_a_plan_by_a_tool: "opencode-plan",
    gemini_changes_a_file_through_the_editor: "gemini-edit",
    gemini_changes_what_is_not_saved: "gemini-unsaved",
    gemini_makes_a_new_file: "gemini-write-missing-empty",
    the_example_of_the_sdk_works_three_turns: "sdk-example-stream",
}

#[test]
fn an_older_codex_takes_up_a_session_of_before() {
    let again = TempProject::new(&[]);
    let text = come_back(&data().join("codex-acp-load.jsonl")).expect("a second process");
    again.write("codex-acp-load-again.jsonl", &text);
    looks_as_before(&again.file("codex-acp-load-again.jsonl"));
}

#[test]
fn claude_takes_up_a_session_that_had_a_subagent() {
    let again = TempProject::new(&[]);
    let text = come_back(&data().join("claude-agent-acp101-subagent-load.jsonl")).expect("a second process");
    again.write("claude-agent-acp101-subagent-load-again.jsonl", &text);
    looks_as_before(&again.file("claude-agent-acp101-subagent-load-again.jsonl"));
}

#[test]
fn claude_takes_up_a_shortened_conversation() {
    let again = TempProject::new(&[]);
    let text = come_back(&data().join("claude-agent-acp101-compact.jsonl")).expect("a second process");
    again.write("claude-agent-acp101-compact-again.jsonl", &text);
    looks_as_before(&again.file("claude-agent-acp101-compact-again.jsonl"));
}

#[test]
fn every_recording_of_the_project_is_shown() {
    let names: BTreeSet<String> = recordings(&data()).iter().map(|path| name(path)).collect();
    assert_eq!(names, SHOWN.iter().map(|&name| name.to_owned()).collect());
}

#[test]
fn no_recorded_session_surprises_anyone() {
    let Some(folder) = all() else {
        println!("no folder of more recordings: only those in tests/data were played");
        return;
    };
    let mut paths = recordings(&folder);
    assert!(paths.len() > SHOWN.len(), "{} has next to no recordings", folder.display());
    let again = TempProject::new(&[]);
    for path in &paths {
        if let Some(text) = come_back(path) {
            again.write(&format!("{}-again.jsonl", name(path)), &text);
        }
    }
    paths.extend(recordings(again.path()));
    let waiting = Mutex::new(paths);
    let wrong = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let Some(path) = waiting.lock().expect("a pop does not panic").pop() else { return };
                    let recording = Recording::read(&path);
                    if let Some(foreign) = &recording.foreign {
                        println!("{} is of a client that announces {foreign}", recording.name);
                        continue;
                    }
                    let surprises = match catch_unwind(|| play(&recording)) {
                        Ok(played) => surprises(&recording, &played),
                        Err(panic) => vec![panic.downcast_ref::<String>().cloned().unwrap_or_default()],
                    };
                    let mut wrong = wrong.lock().expect("a push does not panic");
                    wrong.extend(surprises.into_iter().map(|what| format!("{}: {what}", recording.name)));
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("all threads are done");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// How long a slow disk waits, in ms, after a file was emptied, and once more when half of it is there.
const PAUSES: [u64; 3] = [5, 40, 150];

#[test]
fn an_agent_with_a_slow_disk_changes_a_buffer_once_and_all_of_it_is_the_agents() {
    let mut paths = recordings(&data());
    paths.extend(all().map(|folder| recordings(&folder)).unwrap_or_default());
    let mut found = BTreeMap::new();
    for path in paths {
        let recording = Recording::read(&path);
        let writes = !whole_texts(&recording).is_empty();
        let own = ["-edit", "-edit-always", "-acp-load"].iter().any(|end| recording.name.ends_with(end));
        if recording.sessions.len() == 1 && writes && own && recording.foreign.is_none() {
            found.insert(recording.name.clone(), recording);
        }
    }
    for agent in ["claude-agent-acp-edit", "codex-acp2-edit", "opencode-edit-always"] {
        assert!(found.contains_key(agent), "{agent} is not among {:?}", found.keys());
    }
    println!("played on a slow disk: {:?}", found.keys());
    let waiting = Mutex::new(found.into_values().collect::<Vec<_>>());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().expect("a pop does not panic").pop();
                    let Some(recording) = next else { return };
                    slow_disks_change_nothing(&recording);
                }
            });
        }
    });
}

/// What files hold between one edit and the next, as the prompts ask for them: `edit notes.txt :: beta :: BETA`.
fn whole_texts(recording: &Recording) -> Vec<String> {
    let mut files: BTreeMap<&str, String> =
        recording.files_before().into_iter().map(|(name, text)| (name, text.to_owned())).collect();
    let mut texts = Vec::new();
    for step in recording.sessions.iter().flat_map(|session| &session.steps) {
        let Step::Prompt(prompt) = step else { continue };
        for edit in
            prompt.split(";;").filter_map(|part| part.trim().split_once("edit ").map(|(_, edit)| edit))
        {
            if let [name, old, new] = edit.split(" :: ").collect::<Vec<_>>()[..]
                && let Some(text) = files.get_mut(name)
            {
                *text = text.replacen(&old.replace("\\n", "\n"), &new.replace("\\n", "\n"), 1);
                texts.push(text.clone());
            }
        }
    }
    texts
}

fn slow_disks_change_nothing(recording: &Recording) {
    let (fast, whole) = (play(recording), whole_texts(recording));
    for pause in PAUSES {
        let slow = play_slowly(recording, pause);
        let case = format!("{} with {pause} ms", recording.name);
        for (name, texts) in &slow.held {
            let is_whole = |text: &String| whole.contains(text) || *text == recording.files[name];
            assert!(texts.iter().all(is_whole), "{case}: {name} held {texts:#?}");
        }
        // A call may get another title until it ends: which one a hunk has depends on when it was seen.
        let untitled = |hunks: &[String]| -> Vec<String> {
            let start =
                |hunk: &String| hunk.split_once(": ").map_or(hunk.as_str(), |(start, _)| start).to_owned();
            hunks.iter().map(start).collect()
        };
        assert_eq!(untitled(&slow.review), untitled(&fast.review), "{case}");
        assert_eq!(slow.unsaved, fast.unsaved, "{case}");
    }
}

/// Plays a recording of the project and compares what is on the screens with what was.
fn looks_as_before(path: &Path) {
    let recording = Recording::read(path);
    let played = play(&recording);
    assert_eq!(surprises(&recording, &played), [""; 0]);
    support::screens::assert_looks(&format!("replay/{}", recording.name), &described(&played));
}

/// All that a user sees of it.
fn described(played: &Played) -> String {
    let mut text = String::new();
    for transcript in &played.transcripts {
        let transcript: Vec<String> = transcript.lines().map(without_times).collect();
        // Writing into memory does not fail.
        let _ = writeln!(text, "{}\n", transcript.join("\n"));
    }
    for question in &played.questions {
        let question: Vec<String> = question.lines().map(without_times).collect();
        let _ = writeln!(text, "--- asked: {}\n", question.join("\n"));
    }
    for notification in &played.notifications {
        let _ = writeln!(text, "--- {notification}\n");
    }
    // The empty line of a new file's buffer counts, if its proposal was shown before the file was written.
    let is_empty_line = |line: &str| line.trim_end() == "  -";
    for hunk in &played.review {
        let hunk = hunk.replace("new/hello.txt:1-2 +2 -1 ", "new/hello.txt:1-2 +2 -0 ");
        let _ = writeln!(text, "--- to review: {hunk}\n");
    }
    if !played.page.is_empty() {
        let lines = played.page.iter().filter(|line| !is_empty_line(line));
        let page: Vec<String> = lines
            .map(|line| line.trim_end().replace("hello.txt  1 hunk · +2 -1", "hello.txt  1 hunk · +2 -0"))
            .collect();
        let _ = writeln!(text, "--- its lines:\n{}\n", page.join("\n"));
    }
    for (name, buffer) in &played.unsaved {
        let _ = writeln!(text, "--- unsaved in {name}:\n{buffer}");
    }
    text
}

/// A line of a transcript without what depends on the machine.
fn without_times(line: &str) -> String {
    let is_time = |fact: &str| {
        // The recordings have dates, so what is "3 h ago" today is "yesterday" tomorrow.
        if fact.ends_with(" ago") || ["just now", "yesterday"].contains(&fact) {
            return true;
        }
        let (number, unit) = fact.split_once(' ').unwrap_or((fact, ""));
        number.parse::<f64>().is_ok() && ["ms", "s"].contains(&unit)
    };
    // A tool call has its time only if it took long.
    if let Some((call, facts)) = line.split_once("  | ") {
        let facts: Vec<&str> = facts.trim_end().split(" · ").filter(|fact| !is_time(fact)).collect();
        return format!("{call}  | {}", facts.join(" · ")).trim_end_matches("  | ").to_owned();
    }
    if line.starts_with("▸ thought for ") {
        return "▸ thought".to_owned();
    }
    let facts = line.split(" · ").map(|fact| if is_time(fact) { "(time)" } else { fact });
    facts.collect::<Vec<_>>().join(" · ")
}

/// What went otherwise than whoever used that agent would expect.
fn surprises(recording: &Recording, played: &Played) -> Vec<String> {
    let mut surprises = Vec::new();
    let mut surprise = |what: &str, text: &str| surprises.push(format!("{what}: {text}"));
    if played.exit != "0" {
        surprise("the agent's exit code", &played.exit);
    }
    for complaint in &played.complaints {
        surprise("the agent complains", complaint);
    }
    for difference in played.differences.iter().filter(|difference| !is_explained(difference)) {
        surprise("the client answers otherwise", difference);
    }
    for told in played.system_prompts.iter().filter(|told| **told != recording.system_prompt) {
        surprise("the agent is told", &told.to_string());
    }
    // How long it took to look at the project is no surprise.
    for note in played.notes.iter().filter(|note| !note.contains(" are looked after")) {
        surprise("in the log", note);
    }
    if !played.messages.is_empty() {
        surprise("in :messages", &played.messages);
    }
    // The one who is elsewhere is told that a turn is over.
    for notification in played.notifications.iter().filter(|text| !text.starts_with("info: ")) {
        surprise("notified", notification);
    }
    let refuses = recording
        .sessions
        .iter()
        .any(|session| session.steps.iter().any(|step| matches!(step, Step::Choose { .. })));
    for line in played.transcripts.iter().flat_map(|transcript| transcript.lines()) {
        let is_refusal = refuses && line.contains(" couldn't change the ");
        // What the recorded agent itself had to say of its machine.
        let own = ["Codex could not find bubblewrap on PATH.", "Claude reported a warning"];
        let said = line.strip_prefix("Warning: ");
        let is_own = said.is_some_and(|said| own.iter().any(|own| said.starts_with(own)));
        if line.starts_with("Warning: ") && !is_own || line.contains(" couldn't ") && !is_refusal {
            surprise("in the chat", line);
        }
    }
    // An agent's own settings are not the project's.
    for (name, text) in recording.files.iter().filter(|(name, _)| !name.starts_with('.')) {
        // What a subagent of this older form edits is nowhere on the wire, so the replay can't do it again.
        // Nor does it take changes out of the patches that the second version has.
        let is_told = recording.version == 1 && recording.name != "codex-acp2-subagent-flat";
        if !is_told && name == "notes.txt" {
            continue;
        }
        let now = [played.files.get(name), played.unsaved.get(name)];
        if !now.contains(&Some(text)) {
            surprise(&format!("{name} should be {text:?} and is"), &format!("{now:?}"));
        }
    }
    surprises
}

/// Where this client has its reasons for another answer than the recorded one.
fn is_explained(difference: &str) -> bool {
    [
        // It asks a command to end before it makes it.
        r#"note: terminal/wait_for_exit was answered with {"signal":"SIGTERM"}, "#,
        // Gemini reads a file before it creates it, and takes an error for a reason not to.
        r#"note: fs/read_text_file was answered with {"content":""}, in the recording with {"code":"#,
        // A recorder that was told to refuse, to see what the agent makes of it.
        r#"note: fs/write_text_file was answered with {}, in the recording with {"code":-32603,"message":"RuntimeError('the client refuses to write')"}"#,
        // Other agents are told that there is no such file.
        r#"note: fs/read_text_file was answered with {"code":-32002,"#,
    ]
    .iter()
    .any(|begin| difference.starts_with(begin))
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// More recordings than the project holds.
fn all() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/transcripts");
    let named = std::env::var_os("ACP_RECORDINGS").map(PathBuf::from);
    named.or(Some(beside)).filter(|folder| folder.is_dir())
}

fn recordings(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).expect("a folder of recordings").flatten().map(|file| file.path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")).collect()
}

fn name(path: &Path) -> String {
    path.file_stem().and_then(|name| name.to_str()).expect("a name in UTF-8").to_owned()
}
