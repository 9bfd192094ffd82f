//! A recorded session in a real Neovim: the demo agent says what the recorded one said, and this file
//! does what the recorded user did. What comes of it is handed back as data; judging it is the tests'.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::recording::{Recording, Step};
use crate::support::process::wait_for;
use crate::support::project::TempProject;
use crate::support::{Nvim, Options, demo_agent};

/// What there is to see and to know after all of it was played.
pub struct Played {
    /// The transcript of each session, as it was while the agent still ran.
    pub transcripts: Vec<String>,
    /// What the user was asked: the question, the options, and which one was chosen.
    pub questions: Vec<String>,
    /// Notifications, each with its level before it.
    pub notifications: Vec<String>,
    /// What stands in `:messages`.
    pub messages: String,
    /// The project's files as they are on the disk.
    pub files: BTreeMap<String, String>,
    /// Those of them that have unsaved edits, as they are in their buffers.
    pub unsaved: BTreeMap<String, String>,
    /// What is left to decide of what the agent changed: the file, the lines, how many came and went.
    pub review: Vec<String>,
    /// The same as its page shows it, with the lines of each hunk.
    pub page: Vec<String>,
    /// The agent's exit code.
    pub exit: String,
    /// What the replaying agent missed or did not expect.
    pub complaints: Vec<String>,
    /// Where the client answered otherwise than the recorded one.
    pub differences: Vec<String>,
    /// Notes in the log of messages.
    pub notes: Vec<String>,
    /// What each new session was told of the user's own system prompt.
    pub system_prompts: Vec<Value>,
    /// Where the agent said it was, and what it did there.
    pub places: Vec<String>,
    /// Every text that the buffers of a user with a slow disk ever held, by file.
    pub held: BTreeMap<String, Vec<String>>,
    /// The files that were not opened by the user, and that are in the list of buffers all the same.
    pub listed: Vec<String>,
}

/// Runs an agent and keeps its exit code, which the plugin has no use for once it stopped the agent.
const KEEP_EXIT: &str = r#""$@"; echo $? >"$0""#;

const PREPARE: &str = r"
    local agent, log, answers, filled, stored, follow = unpack(vim.json.decode(...))
    _G.seen = { ended = vim.empty_dict(), questions = {}, notifications = {}, places = {} }
    vim.notify = function(text, level)
      if text == _G.expected then return end
      local names = { 'debug', 'info', 'warning', 'error' }
      table.insert(_G.seen.notifications, (names[level or 2] or 'trace') .. ': ' .. text)
    end
    local function find(items, begin)
      for index, item in ipairs(items) do
        if vim.startswith(item, begin) then return index end
      end
    end
    local choices = {
      acp_permission = function() return table.remove(answers, 1) end,
      acp_elicitation = function(items) return find(items, table.remove(filled, 1) or 'Send') end,
      acp_session = function(items) return stored > 0 and stored + 1 or 0 end,
    }
    vim.ui.input = function(options, typed)
      table.insert(_G.seen.questions, options.prompt)
      typed('')
    end
    vim.ui.select = function(items, options, choose)
      local number = choices[options.kind](items) or 0
      local lines = { options.prompt }
      for index, item in ipairs(items) do
        table.insert(lines, (index == number and '> ' or '  ') .. item)
      end
      table.insert(_G.seen.questions, table.concat(lines, '\n'))
      if number > 0 then choose(items[number], number) end
    end
    vim.api.nvim_create_autocmd('User', { pattern = 'AcpTurnEnded', callback = function(event)
      local session = event.data.session
      _G.seen.ended[session] = (_G.seen.ended[session] or 0) + 1
    end })
    vim.api.nvim_create_autocmd('User', { pattern = 'AcpLocation', callback = function(event)
      local place = event.data
      table.insert(_G.seen.places, ('%s %s%s'):format(place.verb, place.path, place.line and ':' .. place.line or ''))
    end })
    require('acp').setup({
      agents = { agent = agent }, log = log, follow = follow,
      -- No client of the recordings sent a prompt again.
      recovery = { again = false },
    })";

/// What stands at the right edge is part of what a user sees.
const TRANSCRIPT: &str = r"
    local buffer = ...
    local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
    for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buffer, -1, 0, -1, { details = true })) do
      if mark[4].virt_text_pos == 'right_align' then
        lines[mark[2] + 1] = lines[mark[2] + 1] .. '  | ' .. mark[4].virt_text[1][1]
      end
    end
    return table.concat(lines, '\n')";

/// Keeps every text that a file's buffer ever holds.
const HOLD: &str = r"
    local name = ...
    vim.cmd.edit(name)
    _G.held = _G.held or {}
    local texts = {}
    _G.held[name] = texts
    local function keep(buf)
      table.insert(texts, table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\n') .. '\n')
    end
    vim.api.nvim_buf_attach(0, false, {
      on_lines = function(_, buf) vim.schedule(function() keep(buf) end) end,
      on_reload = function(_, buf) keep(buf) end,
    })";

const OPEN: &str = r"
    local win = vim.fn.bufwinid(...)
    local function press(key)
      vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(key, true, false, true), 'xt', false)
    end
    vim.cmd.stopinsert()
    vim.api.nvim_set_current_win(win)
    press('gg')
    for _ = 1, 50 do
      local row = vim.fn.line('.')
      press(']t')
      if vim.fn.line('.') == row then break end
      -- It is drawn a little later.
      local tick = vim.b.changedtick
      press('<Tab>')
      vim.wait(1000, function() return vim.b.changedtick ~= tick end, 1)
    end";

const UNSAVED: &str = r"
    local project, texts = ..., vim.empty_dict()
    for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
      if vim.bo[buffer].buftype == '' and vim.bo[buffer].modified then
        local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
        texts[vim.api.nvim_buf_get_name(buffer):sub(#project + 2)] = table.concat(lines, '\n') .. '\n'
      end
    end
    return vim.json.encode(texts)";

/// Agents write a file in the moment in which they say that they have; the editor is told of it a little later,
/// and not at all once the agent was stopped.
const CAUGHT_UP: &str = r"
    vim.wait(3000, function()
      for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
        local name = vim.api.nvim_buf_get_name(buffer)
        local is_file = vim.api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].buftype == ''
        if is_file and not vim.bo[buffer].modified and vim.fn.filereadable(name) == 1 then
          local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
          if not vim.deep_equal(lines, vim.fn.readfile(name)) then return false end
        end
      end
      return true
    end, 5)";

const REVIEW: &str = r"
    local notify, win, none = vim.notify, vim.api.nvim_get_current_win(), false
    vim.notify = function() none = true end
    require('acp').call('review', { args = {}, bang = true })
    vim.wait(5000, function()
      return none or vim.fn.getqflist({ title = 1 }).title == 'acp: changes'
    end, 5)
    vim.notify = notify
    local lines = {}
    for _, item in ipairs(none and {} or vim.fn.getqflist()) do
      local name = vim.api.nvim_buf_get_name(item.bufnr)
      lines[#lines + 1] = ('%s:%d-%d %s'):format(name, item.lnum, item.end_lnum, item.text)
    end
    vim.cmd('cclose')
    vim.api.nvim_set_current_win(win)
    if none then return vim.json.encode({ list = lines, page = vim.empty_dict() }) end
    -- The first three lines say how much there is, and by which keys it is decided.
    local page = {}
    require('acp').call('review', { args = {} })
    vim.wait(5000, function()
      local buffer = vim.fn.bufnr('acp://review')
      page = buffer > 0 and vim.api.nvim_buf_get_lines(buffer, 0, -1, false) or {}
      return #page > 3 and not page[1]:find('to be read')
    end, 5)
    return vim.json.encode({ list = lines, page = vim.list_slice(page, 4) })";

const LISTED: &str = r"
    local names = {}
    for _, info in ipairs(vim.fn.getbufinfo({ buflisted = 1 })) do
      if info.name ~= '' then table.insert(names, info.name) end
    end
    return vim.json.encode(names)";

/// How a chat ends whose agent the user stopped, and all of one that had not been opened.
const ENDED: &str = "; this text stays";
const NEVER_BEGAN: &str = "R starts it again";

/// Plays all of a recording that a user of this client can do.
pub fn play(recording: &Recording) -> Played {
    play_through(Player::start(recording, false, None))
}

/// The same on a disk that waits so many ms between the steps of a change, for a user who has the files open.
pub fn play_slowly(recording: &Recording, pause: u64) -> Played {
    play_through(Player::start(recording, false, Some(pause)))
}

/// The same for a user who follows the agents.
pub fn play_followed(recording: &Recording) -> Played {
    play_through(Player::start(recording, true, None))
}

fn play_through(mut player: Player<'_>) -> Played {
    let recording = player.recording;
    for (number, session) in recording.sessions.iter().enumerate() {
        if !session.is_fork {
            player.open(number);
        }
    }
    // Sessions take turns, so that all of them are at work at the same time.
    let longest = recording.sessions.iter().map(|session| session.steps.len()).max().unwrap_or_default();
    for number in 0..longest {
        for (index, session) in recording.sessions.iter().enumerate() {
            if let Some(step) = session.steps.get(number) {
                player.take(index, step, session.steps.get(number + 1));
            }
        }
    }
    player.end()
}

struct Player<'a> {
    recording: &'a Recording,
    project: TempProject,
    nvim: Nvim,
    /// Prompts sent so far, by session.
    prompts: Vec<u64>,
    /// How long the agent's disk waits, in ms.
    slow_disk: Option<u64>,
}

impl<'a> Player<'a> {
    fn start(recording: &'a Recording, follow: bool, slow_disk: Option<u64>) -> Self {
        let project = TempProject::new(&recording.files_before());
        project.write(".agent/log.jsonl", "");
        // What is written down there is no change of the project's.
        project.write(".agent/.gitignore", "*\n");
        let nvim = Nvim::start(Options {
            columns: 120,
            rows: 40,
            cwd: Some(project.path().to_owned()),
            // Looking for a Python takes Neovim seconds when it opens the first file in that language.
            args: ["--cmd", "let g:loaded_python3_provider = 0"].map(str::to_owned).to_vec(),
            ..Options::default()
        });
        let prompts = vec![0; recording.sessions.len()];
        let mut player = Self { recording, project, nvim, prompts, slow_disk };
        let Recording { answers, filled, sessions, .. } = recording;
        let stored = sessions.iter().find_map(|session| session.stored);
        let log = player.file("log.jsonl");
        let options = json!([player.agent(), log, answers, filled, stored.unwrap_or(0), follow]);
        player.nvim.exec_lua(PREPARE, [options.to_string().into()]);
        if slow_disk.is_some() {
            for (name, _) in recording.files_before() {
                player.nvim.exec_lua(HOLD, [name.into()]);
            }
        }
        if recording.is("unsaved") {
            player.nvim.command("edit notes.txt");
            player.nvim.input("2GccUNSAVED<Esc>");
            player.nvim.wait_until(|nvim| nvim.buffer_text(0).contains("UNSAVED\n"), "the unsaved edit");
        }
        player
    }

    /// The agent that plays the recording, as `setup` wants it.
    fn agent(&self) -> Value {
        let text = |path: &Path| path.to_str().expect("a path in UTF-8").to_owned();
        let mut args = vec!["-c".to_owned(), KEEP_EXIT.to_owned(), text(&self.file("exit"))];
        args.extend([text(demo_agent()), "--replay".to_owned(), text(&self.recording.path)]);
        args.extend(["--map".to_owned(), format!("/project={}", text(self.project.path()))]);
        if let Some(pause) = self.slow_disk {
            args.extend(["--slow-disk".to_owned(), pause.to_string()]);
        }
        if self.recording.sessions.len() == 1 {
            // Without what was said to sessions that never were.
            args.extend(["--session", "1"].map(str::to_owned));
        }
        let without = self.recording.without.iter();
        args.extend(without.flat_map(|method| ["--without".to_owned(), method.clone()]));
        let mut agent = json!({ "command": "sh", "args": args });
        if self.recording.version == 2 {
            agent["protocol"] = 2.into();
        }
        let prompt = &self.recording.system_prompt;
        if prompt.is_object() {
            agent["system_prompt"] = prompt["content"][0]["text"].clone();
            agent["system_prompt_mode"] = prompt["mode"].clone();
        }
        agent
    }

    /// A file that is none of the project's.
    fn file(&self, name: &str) -> PathBuf {
        self.project.file(&format!(".agent/{name}"))
    }

    /// Has one more chat opened.
    fn open(&mut self, session: usize) {
        match self.recording.sessions[session].stored {
            None => self.nvim.command("AcpChat! agent"),
            Some(_) => self.nvim.command("Acp sessions"),
        }
        self.wait_until_open(session);
    }

    fn wait_until_open(&mut self, session: usize) {
        let what = format!("session {session} to be open ({})", self.recording.name);
        self.nvim.wait_until(
            |nvim| status(nvim, session)["state"].as_str().is_some_and(|state| state != "starting"),
            &what,
        );
    }

    /// Shows a session's chat and goes to its prompt.
    fn focus(&mut self, session: usize) {
        self.nvim.command(&format!("Acp sessions {}", session + 1));
    }

    fn take(&mut self, session: usize, step: &Step, next: Option<&Step>) {
        match step {
            Step::Prompt(text) => {
                self.focus(session);
                self.prompt(text);
                self.prompts[session] += 1;
                let is_stopped = matches!(next, Some(Step::Stop { .. } | Step::StopSubagent { .. }));
                if !is_stopped && self.recording.sessions.len() == 1 {
                    self.wait_for_turns(session);
                }
            }
            Step::Stop { after, asked } => {
                self.wait_for_messages(*after);
                self.wait_for_questions(*asked);
                self.nvim.input("<C-c>");
                self.wait_for_turns(session);
            }
            Step::StopSubagent { after } => {
                self.wait_for_messages(*after);
                // The editor may not have taken in yet what the log has.
                let code = "_G.expected = 'acp: no subagent is at work'
                            return select(2, require('acp').call('cancel', { args = { 'subagent' } })) == nil";
                self.nvim.wait_until(
                    |nvim| nvim.exec_lua(code, []).as_bool() == Some(true),
                    "a subagent that can be stopped",
                );
                self.wait_for_turns(session);
            }
            Step::Choose { action, words, until } => {
                self.focus(session);
                let code = "local action, words = ...
                            return select(2, require('acp').call(action, { args = words }))";
                let words = words.iter().map(|word| word.as_str().into()).collect();
                let error = self.nvim.exec_lua(code, [(*action).into(), rmpv::Value::Array(words)]);
                assert!(error.is_nil(), "couldn't choose a {action}: {error}");
                self.wait_for_messages(*until);
            }
            Step::Fork => {
                self.wait_for_turns(session);
                self.focus(session);
                self.nvim.command("Acp fork");
                self.wait_until_open(self.recording.sessions.len() - 1);
            }
            Step::Nothing => {}
            Step::List => {
                let questions = self.questions();
                self.nvim.command("Acp sessions");
                self.wait_for_questions(questions + 1);
            }
        }
    }

    fn prompt(&mut self, text: &str) {
        self.nvim.input(&format!("{}<C-s>", text.replace('<', "<lt>").replace('\n', "<CR>")));
    }

    fn wait_for_turns(&mut self, session: usize) {
        let wanted = self.prompts[session];
        let what = format!("turn {wanted} of session {session} to end ({})", self.recording.name);
        let code = "return _G.seen.ended[...] or 0";
        let key = session as u64 + 1;
        self.nvim.wait_until(|nvim| nvim.exec_lua(code, [key.into()]) == wanted.into(), &what);
    }

    fn questions(&mut self) -> usize {
        let count = self.nvim.exec_lua("return #_G.seen.questions", []);
        count.as_u64().expect("a number") as usize
    }

    fn wait_for_questions(&mut self, wanted: usize) {
        let what = format!("question {wanted} ({})", self.recording.name);
        let code = "return #_G.seen.questions";
        self.nvim.wait_until(|nvim| nvim.exec_lua(code, []).as_u64() >= Some(wanted as u64), &what);
    }

    /// Waits until so many messages of the agent's have come.
    fn wait_for_messages(&mut self, wanted: usize) {
        let log = self.file("log.jsonl");
        let what = format!("message {wanted} of the agent's ({})", self.recording.name);
        self.nvim.wait_until(
            |_| records(&log).iter().filter(|record| record["dir"] == "agent->client").count() >= wanted,
            &what,
        );
    }

    fn end(mut self) -> Played {
        let sessions = 0..self.recording.sessions.len();
        sessions.clone().for_each(|session| self.wait_for_turns(session));
        let held = self.held();
        self.nvim.exec_lua(CAUGHT_UP, []);
        if self.recording.name.contains("subagent") {
            sessions.clone().for_each(|session| self.open_calls(session));
        }
        let before: Vec<String> = sessions.clone().map(|session| self.transcript(session)).collect();
        let transcripts = if self.recording.closes {
            self.nvim.command("Acp close");
            before
        } else {
            self.nvim.command("Acp stop");
            let last_words = |(session, before)| self.last_words(session).unwrap_or(before);
            sessions.zip(before).map(last_words).collect()
        };
        let exit = self.file("exit");
        wait_for(
            || fs::read_to_string(&exit).is_ok_and(|code| code.ends_with('\n')),
            "the agent's exit code",
        );
        let seen = self.nvim.exec_lua("return vim.json.encode(_G.seen)", []);
        let seen: Value = serde_json::from_str(seen.as_str().expect("a text")).expect("JSON");
        let messages = self.nvim.messages();
        let listed = self.nvim.exec_lua(LISTED, []);
        let listed = texts(&serde_json::from_str(listed.as_str().expect("a text")).expect("JSON"));
        let (files, unsaved) = (self.files(), self.unsaved());
        let review = self.nvim.exec_lua(REVIEW, []);
        let review: Value = serde_json::from_str(review.as_str().expect("a text")).expect("JSON");
        let (review, page) = (texts(&review["list"]), texts(&review["page"]));
        let status = self.nvim.quit();
        assert!(status.success(), "neovim ended with {status}");
        wait_for(|| self.nvim.processes().is_empty(), "every process to be gone");
        let (differences, complaints) = self.said().into_iter().partition(|line| line.starts_with("note: "));
        Played {
            transcripts,
            questions: texts(&seen["questions"]).iter().map(|text| self.scrub(text)).collect(),
            notifications: texts(&seen["notifications"]).iter().map(|text| self.scrub(text)).collect(),
            messages,
            files,
            unsaved,
            review: review.iter().map(|text| self.scrub(text)).collect(),
            page: page.iter().map(|line| self.scrub(line)).collect(),
            exit: fs::read_to_string(exit).expect("just read").trim().to_owned(),
            complaints,
            differences,
            notes: self.notes(),
            system_prompts: self.system_prompts(),
            held,
            places: texts(&seen["places"]).iter().map(|text| self.scrub(text)).collect(),
            listed: listed.iter().map(|text| self.scrub(text)).collect(),
        }
    }

    /// The transcript of a session whose agent was stopped, without the last words, which are about
    /// that. None where the session was never open: what was there before was replaced then.
    fn last_words(&mut self, session: usize) -> Option<String> {
        let ends = [ENDED, NEVER_BEGAN];
        let what = format!("the agent to end ({})", self.recording.name);
        let buffer = status(&mut self.nvim, session)["buffer"].as_u64().expect("a buffer");
        self.nvim.wait_until(
            |nvim| {
                let text = nvim.exec_lua(TRANSCRIPT, [buffer.into()]);
                ends.iter().any(|end| text.as_str().is_some_and(|text| text.ends_with(end)))
            },
            &what,
        );
        let transcript = self.transcript(session);
        let (before, end) = transcript.rsplit_once("\n\n")?;
        let last = end.split_once(" was stopped\n").map(|(_, last)| last);
        assert!(last.is_some_and(|last| last.starts_with("R starts it again")), "{end}");
        Some(before.to_owned())
    }

    /// Opens all calls of a session's, and what worked for it: what is in the tree stands on the screen then.
    fn open_calls(&mut self, session: usize) {
        let buffer = status(&mut self.nvim, session)["buffer"].as_u64().expect("a buffer");
        self.focus(session);
        self.nvim.exec_lua(OPEN, [buffer.into()]);
    }

    fn transcript(&mut self, session: usize) -> String {
        let buffer = status(&mut self.nvim, session)["buffer"].as_u64().expect("a buffer");
        let text = self.nvim.exec_lua(TRANSCRIPT, [buffer.into()]);
        self.scrub(text.as_str().expect("a text"))
    }

    fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.project.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder of the test's").flatten() {
                let path = entry.path();
                let name = path.strip_prefix(self.project.path()).expect("a file in the project");
                let name = name.to_str().expect("a name in UTF-8").to_owned();
                if path.is_file() {
                    files.insert(name.clone(), self.project.read(&name));
                } else if name != ".agent" {
                    folders.push(path);
                }
            }
        }
        files
    }

    /// Waits until the disk has the last texts, and the buffers have them, too.
    fn held(&mut self) -> BTreeMap<String, Vec<String>> {
        if self.slow_disk.is_none() {
            return BTreeMap::new();
        }
        let recording = self.recording;
        let code = "local buf = vim.fn.bufnr(...)
                    return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), '\\n') .. '\\n'";
        for (name, _) in recording.files_before() {
            let last = recording.files.get(name).expect("no recorded agent deletes them");
            let what = format!("{name} to be there ({})", recording.name);
            self.nvim.wait_until(|nvim| nvim.exec_lua(code, [name.into()]).as_str() == Some(last), &what);
        }
        let held = self.nvim.exec_lua("return vim.json.encode(_G.held)", []);
        let held: Value = serde_json::from_str(held.as_str().expect("a text")).expect("JSON");
        let held = held.as_object().expect("a table").iter();
        held.map(|(name, list)| (name.clone(), texts(list))).collect()
    }

    fn unsaved(&mut self) -> BTreeMap<String, String> {
        let texts = self.nvim.exec_lua(UNSAVED, [self.project.path().to_str().expect("a path").into()]);
        serde_json::from_str(texts.as_str().expect("a text")).expect("JSON")
    }

    /// The lines that the replaying agent wrote in its own name.
    fn said(&self) -> Vec<String> {
        let records = records(&self.file("log.jsonl"));
        let lines = records
            .iter()
            .filter(|record| record["dir"] == "stderr")
            .filter_map(|record| Some(self.scrub(record["raw"].as_str()?.strip_prefix("acp-demo-agent: ")?)));
        lines.collect()
    }

    fn notes(&self) -> Vec<String> {
        let records = records(&self.file("log.jsonl"));
        records.iter().filter_map(|record| Some(self.scrub(record["note"].as_str()?))).collect()
    }

    fn system_prompts(&self) -> Vec<Value> {
        let records = records(&self.file("log.jsonl"));
        let new = records.iter().map(|record| &record["msg"]).filter(|msg| msg["method"] == "session/new");
        new.map(|msg| msg["params"]["systemPrompt"].clone()).collect()
    }

    fn scrub(&self, text: &str) -> String {
        text.replace(self.project.path().to_str().expect("a path in UTF-8"), "/project")
    }
}

/// What the plugin says of a session; they are numbered in the order of their opening.
fn status(nvim: &mut Nvim, session: usize) -> Value {
    let code = "return vim.json.encode(require('acp').status().sessions)";
    let status = nvim.exec_lua(code, []);
    let all: Vec<Value> = serde_json::from_str(status.as_str().expect("a text")).expect("JSON");
    all.into_iter().find(|one| one["session"] == session + 1).unwrap_or_default()
}

/// The whole lines of a log.
fn records(log: &Path) -> Vec<Value> {
    let text = fs::read_to_string(log).expect("the log");
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    complete.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

fn texts(list: &Value) -> Vec<String> {
    let texts = list.as_array().into_iter().flatten();
    texts.map(|text| text.as_str().expect("a text").to_owned()).collect()
}
