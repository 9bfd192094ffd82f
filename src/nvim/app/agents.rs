//! Starting agents: at once where the program is installed, else after the disk was asked what the user
//! has approved and downloaded, after the user has approved, after a download. Also the page that lists
//! them all: its buffer and what it shows. How it looks is `agents_page`, what its keys do is `actions`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use mlua::{Function, Result, Table, Value};

use super::App;
use crate::config::agents::{Source, system};
use crate::config::catalog::Origin;
use crate::config::{Catalog, Choice, Machine, Pane, Standing};
use crate::core::message::{Command, JobId, Launch};
use crate::core::registry::{Change, Files, Plan, Stored};
use crate::nvim::agents_page::{Page, View, page};
use crate::nvim::editor::{Buf, Editor, Level};
use crate::nvim::run;

/// What is known about agents, and what is being done about it.
pub struct Agents {
    pub catalog: Catalog,
    files: Files,
    system: String,
    /// What waits for the disk.
    reads: HashMap<JobId, WithAgents>,
    pub fetching: Option<Running>,
    /// Why the registry could not be fetched the last time.
    unfetched: Option<String>,
    pub downloading: BTreeMap<String, Running>,
    /// What went wrong the last time, by agent.
    failed: BTreeMap<String, String>,
    pub page: Option<AgentsPage>,
}

/// What is done once the disk has been read; the text says why the change could not be made.
type WithAgents = Box<dyn FnOnce(&mut App, Option<String>) -> Result<()>>;

/// What is done with a launch.
pub type WithLaunch = Box<dyn FnOnce(&mut App, Launch) -> Result<()>>;

/// Work in Lua that takes a while.
#[derive(Default)]
pub struct Running {
    /// How far it is.
    pub said: String,
    /// Not there before it has begun.
    pub cancel: Option<Function>,
}

pub struct AgentsPage {
    pub buf: Buf,
    pub page: Page,
    /// The agents whose details are shown.
    pub open: BTreeSet<String>,
}

impl Agents {
    pub fn new(editor: &Editor) -> Result<Self> {
        let folder = |name: &str| -> Result<PathBuf> {
            let path: String = editor.func("stdpath", name)?;
            Ok(Path::new(&path).join("acp"))
        };
        Ok(Self {
            catalog: Catalog::default(),
            files: Files {
                index: folder("cache")?.join("registry.json"),
                approved: folder("state")?.join("agents.json"),
                downloads: folder("data")?.join("agents"),
            },
            system: system(),
            reads: HashMap::new(),
            fetching: None,
            unfetched: None,
            downloading: BTreeMap::new(),
            failed: BTreeMap::new(),
            page: None,
        })
    }
}

impl App {
    // What there is.

    fn on_machine<R>(&self, work: impl FnOnce(&Machine<'_>) -> R) -> R {
        let editor = self.editor.clone();
        let find = |program: &str| editor.program(program);
        work(&Machine {
            find: &find,
            bundled: self.bundled.as_deref(),
            catalog: &self.agents.catalog,
            system: &self.agents.system,
            downloads: &self.agents.files.downloads,
        })
    }

    /// The agents that can be started, as far as it is known.
    pub fn available_agents(&self) -> Vec<Choice> {
        self.on_machine(|machine| self.config.available(machine))
    }

    pub fn all_agents(&self) -> Vec<Choice> {
        self.on_machine(|machine| self.config.all(machine))
    }

    pub fn agent_named(&self, name: &str) -> Option<Choice> {
        self.all_agents().into_iter().find(|choice| choice.name == name)
    }

    /// Asks the disk what is approved and downloaded, after a change to it.
    pub fn read_agents(
        &mut self,
        change: Change,
        then: impl FnOnce(&mut App, Option<String>) -> Result<()> + 'static,
    ) -> Result<()> {
        self.numbers.job += 1;
        let job = JobId(self.numbers.job);
        self.agents.reads.insert(job, Box::new(then));
        let files = Box::new(self.agents.files.clone());
        self.send(Command::ReadAgents { job, files, change: Box::new(change) })
    }

    pub(super) fn agents_read(&mut self, job: JobId, stored: Stored, failure: Option<String>) -> Result<()> {
        self.agents.catalog = Catalog::new(stored);
        let done = match self.agents.reads.remove(&job) {
            Some(then) => then(self, failure),
            None => Ok(()),
        };
        self.draw_agents()?;
        done
    }

    // Starting one.

    /// Finds out how an agent is started, which may take questions and a download, and does something
    /// with that.
    pub fn launch_agent(
        &mut self,
        name: &str,
        cwd: PathBuf,
        then: impl FnOnce(&mut App, Launch) -> Result<()> + 'static,
    ) -> Result<()> {
        let standing = self.on_machine(|machine| self.config.standing(name, &cwd, machine));
        match standing {
            // What is installed or configured needs nothing from the disk.
            Ok(Standing::Ready(launch, source)) if source != Source::Approved => then(self, launch),
            Err(error @ crate::config::ConfigError::Disabled { .. }) => not_started(name, &error),
            _ => {
                let name = name.to_owned();
                self.read_agents(Change::None, move |app, _| {
                    app.launch_registered(&name, cwd, Box::new(then))
                })
            }
        }
    }

    fn launch_registered(&mut self, name: &str, cwd: PathBuf, then: WithLaunch) -> Result<()> {
        let standing = self.on_machine(|machine| {
            let agent = self.config.enabled_agent(name, machine.catalog)?;
            Ok((agent.name.to_owned(), self.config.standing(name, &cwd, machine)?))
        });
        match standing {
            Err(error) => not_started(name, &error),
            Ok((name, Standing::Missing(_, error))) => not_started(&name, &error),
            Ok((_, Standing::Ready(launch, _))) => then(self, launch),
            Ok((name, Standing::Undownloaded(plan))) => {
                self.show_agents(Some(&name))?;
                self.download_agent(name, plan, cwd, then)
            }
            Ok((name, Standing::Unapproved { plan, changed })) => {
                self.show_agents(Some(&name))?;
                self.ask_to_run(name, plan, changed, cwd, then)
            }
        }
    }

    /// The user sees on the page what would be run, and says whether it may.
    fn ask_to_run(
        &mut self,
        name: String,
        plan: Plan,
        changed: bool,
        cwd: PathBuf,
        then: WithLaunch,
    ) -> Result<()> {
        if let Some(running) = self.agents.downloading.get(&name) {
            return fail(format!("{name} is on its way already: {}", running.said));
        }
        let Some(choice) = self.agent_named(&name) else { return Ok(()) };
        let before = if changed { format!("{name} has changed. ") } else { String::new() };
        let prompt = match &plan.download {
            None => format!("{before}Run {}?", plan.line()),
            Some(download) => {
                let sum = match &download.sha256 {
                    Some(sum) => format!("SHA-256 {}\u{2026}", &sum[..12]),
                    None => "NO checksum is published".to_owned(),
                };
                format!("{before}Download {} ({sum}) and run {}?", download.url, plan.line())
            }
        };
        let mut items = vec!["Yes, and start it without a question from now on".to_owned(), "No".to_owned()];
        let website = choice.website;
        items.extend(website.iter().map(|url| format!("Look at {url} first")));
        // What is asked about is on the screen when the picker opens.
        self.effects.push_back(Box::new(|editor| editor.complain(editor.command("redraw"))));
        self.offer(&prompt, "acp_agent_approval", items, move |app, index| match index {
            0 => {
                let change = Change::Approve { name: name.clone(), plan: plan.clone() };
                app.read_agents(change, move |app, failure| {
                    if let Some(failure) = failure {
                        app.advise(
                            format!("couldn't {failure}; you are asked again the next time"),
                            Level::Warn,
                        );
                    }
                    if app.agents.catalog.is_downloaded(&plan) {
                        return app.launch_plan(&name, &plan, cwd, then);
                    }
                    app.download_agent(name, plan, cwd, then)
                })
            }
            2 => {
                if let Some(url) = website {
                    app.open_site(url);
                }
                Ok(())
            }
            _ => Ok(()),
        })
    }

    pub fn open_site(&mut self, url: String) {
        self.attempt(format!("couldn't open {url}"), move |editor| editor.open_outside(&url));
    }

    fn launch_plan(&mut self, name: &str, plan: &Plan, cwd: PathBuf, then: WithLaunch) -> Result<()> {
        let launch = self.on_machine(|machine| self.config.launch_of(name, plan, &cwd, machine));
        match launch {
            Ok(launch) => then(self, launch),
            Err(error) => not_started(name, &error),
        }
    }

    fn download_agent(&mut self, name: String, plan: Plan, cwd: PathBuf, then: WithLaunch) -> Result<()> {
        let Some(download) = plan.download.clone() else { return Ok(()) };
        if let Some(running) = self.agents.downloading.get(&name) {
            return fail(format!("{name} is on its way already: {}", running.said));
        }
        let running = Running { said: "downloading \u{2026}".to_owned(), cancel: None };
        self.agents.downloading.insert(name.clone(), running);
        self.agents.failed.remove(&name);
        self.draw_agents()?;
        let root = self.agents.files.downloads.to_string_lossy().into_owned();
        let program = plan.command.first().cloned().unwrap_or_default();
        let job = self.editor.table([
            ("url", self.editor.string(&download.url)?),
            ("root", self.editor.string(&root)?),
            ("folder", self.editor.string(&download.folder)?),
            ("program", self.editor.string(&program)?),
        ])?;
        job.set("sha256", download.sha256.clone())?;
        job.set("raw", download.raw.clone())?;
        let (said, done, begun) = (name.clone(), name.clone(), name);
        let then = std::cell::RefCell::new(Some((plan, cwd, then)));
        self.run_install(
            "download",
            job,
            move |app, text| {
                if let Some(running) = app.agents.downloading.get_mut(&said) {
                    running.said = text;
                }
                app.draw_agents()
            },
            move |app, failure| {
                app.agents.downloading.remove(&done);
                let Some((plan, cwd, then)) = then.take() else { return Ok(()) };
                app.downloaded(&done, plan, cwd, then, failure)
            },
            move |app, cancel| {
                if let Some(running) = app.agents.downloading.get_mut(&begun) {
                    running.cancel = Some(cancel);
                }
            },
        );
        Ok(())
    }

    fn downloaded(
        &mut self,
        name: &str,
        plan: Plan,
        cwd: PathBuf,
        then: WithLaunch,
        failure: Option<String>,
    ) -> Result<()> {
        match failure {
            Some(why) if why == CANCELLED => {
                self.advise(
                    format!("the download of {name} was stopped; nothing of it is left"),
                    Level::Info,
                );
                self.draw_agents()
            }
            Some(why) => {
                self.agents.failed.insert(name.to_owned(), why.clone());
                self.draw_agents()?;
                fail(why)
            }
            None => {
                let name = name.to_owned();
                self.read_agents(Change::None, move |app, _| {
                    let here = app.editor.current_buf().ok();
                    if here.is_some() && here == app.agents.page.as_ref().map(|page| page.buf) {
                        return app.launch_plan(&name, &plan, cwd, then);
                    }
                    // Whoever went on with something else is not torn away from it.
                    app.advise(format!("{name} is there: :AcpChat {name} starts it"), Level::Info);
                    Ok(())
                })
            }
        }
    }

    /// Whether an agent runs from what was downloaded for this entry.
    pub fn runs_downloaded(&self, id: &str) -> bool {
        let folder = self.agents.files.downloads.join(id);
        let commands = self.alive.iter().filter_map(|agent| self.launches.get(agent));
        commands.into_iter().any(|launch| Path::new(&launch.command).starts_with(&folder))
    }

    // The registry.

    /// Fetches the registry's index, which takes the place of the one that is known.
    pub fn fetch_registry(&mut self) -> Result<()> {
        if self.agents.fetching.is_some() {
            return fail("the registry is being fetched already");
        }
        self.agents.unfetched = None;
        self.agents.fetching = Some(Running::default());
        self.draw_agents()?;
        // Another Neovim may be fetching it, too.
        let pid: i64 = self.editor.func("getpid", ())?;
        let file = self.agents.files.index.with_extension(format!("{pid}.new"));
        let job = self.editor.table([
            ("url", self.editor.string(&self.config.registry.url)?),
            ("file", self.editor.string(file.to_string_lossy().as_bytes())?),
        ])?;
        self.run_install(
            "fetch",
            job,
            |app, text| {
                if let Some(running) = &mut app.agents.fetching {
                    running.said = text;
                }
                app.draw_agents()
            },
            move |app, failure| {
                app.agents.fetching = None;
                if let Some(why) = failure {
                    return app.registry_fetched(Some(why));
                }
                app.read_agents(Change::Adopt { file }, |app, failure| {
                    app.registry_fetched(failure.map(|why| format!("couldn't {why}")))
                })
            },
            |app, cancel| {
                if let Some(running) = &mut app.agents.fetching {
                    running.cancel = Some(cancel);
                }
            },
        );
        Ok(())
    }

    fn registry_fetched(&mut self, failure: Option<String>) -> Result<()> {
        match failure {
            None => {
                self.agents.failed.clear();
                let count = self.all_agents().len();
                self.advise(format!("the registry was fetched; {count} agents are known now"), Level::Info);
            }
            Some(why) if why == CANCELLED => {}
            Some(why) => self.agents.unfetched = Some(why),
        }
        self.draw_agents()
    }

    /// Starts a function of `acp.install.agents`, which says how far it is and when it is done.
    fn run_install(
        &mut self,
        function: &'static str,
        job: Table,
        said: impl Fn(&mut App, String) -> Result<()> + Clone + 'static,
        done: impl FnOnce(&mut App, Option<String>) -> Result<()> + 'static,
        begun: impl FnOnce(&mut App, Function) + 'static,
    ) {
        self.effects.push_back(Box::new(move |editor| {
            let started = || -> Result<Function> {
                let on_progress = editor.lua.create_function(move |_, text: String| {
                    let said = said.clone();
                    run(move |app| said(app, text));
                    Ok(())
                })?;
                let done = std::cell::RefCell::new(Some(done));
                let on_done = editor.lua.create_function(move |_, failure: Option<String>| {
                    if let Some(done) = done.take() {
                        run(move |app| done(app, failure));
                    }
                    Ok(())
                })?;
                let require: Function = editor.lua.globals().get("require")?;
                let module: Table = require.call("acp.install.agents")?;
                module.get::<Function>(function)?.call((job, on_progress, on_done))
            };
            match started() {
                Ok(cancel) => run(move |app| {
                    begun(app, cancel);
                    Ok(())
                }),
                Err(error) => editor.complain(Err(error)),
            }
        }));
    }

    // The page.

    /// Goes to the page, which is made if there is none; on it to an agent, with its details.
    pub fn show_agents(&mut self, name: Option<&str>) -> Result<()> {
        let editor = self.editor.clone();
        let known = self.agents.page.as_ref().map(|page| page.buf).filter(|buf| editor.buf_is_valid(*buf));
        let buf = match known {
            Some(buf) => buf,
            None => {
                let buf = self.agents_buf()?;
                self.agents.page = Some(AgentsPage { buf, page: Page::default(), open: BTreeSet::new() });
                buf
            }
        };
        if let (Some(name), Some(page)) = (name, &mut self.agents.page) {
            page.open.insert(name.to_owned());
        }
        let here =
            editor.tab_wins()?.into_iter().find(|win| editor.win_buf(*win).is_ok_and(|its| its == buf));
        let win = match here {
            Some(win) => {
                editor.set_current_win(win)?;
                win
            }
            None => self.agents_window(buf)?,
        };
        self.draw_agents()?;
        let rows = self.agents.page.as_ref().map(|page| page.page.rows.as_slice()).unwrap_or_default();
        let wanted = rows.iter().position(|row| row.is_some() && (name.is_none() || row.as_deref() == name));
        if name.is_some() || here.is_none() {
            editor.set_cursor(win, wanted.map_or(1, |row| row + 1), 0)?;
        }
        if name.is_some() {
            editor.command("normal! zt")?;
        }
        Ok(())
    }

    fn agents_buf(&self) -> Result<Buf> {
        let editor = &self.editor;
        let buf = editor.create_buf(false, true)?;
        editor.set_buf_name(buf, "acp://agents")?;
        editor.set_buf_option(buf, "bufhidden", "hide")?;
        editor.set_buf_option(buf, "swapfile", false)?;
        editor.set_buf_option(buf, "undolevels", -1)?;
        editor.set_buf_option(buf, "filetype", "acp-agents")?;
        editor.set_buf_option(buf, "modifiable", false)?;
        let keymap: Table = editor.module("keymap")?;
        let set: Function = keymap.get("set")?;
        for (key, lhs) in self.config.keys.of(Pane::Agents) {
            let action = crate::nvim::key_action(&editor.lua, key.name)?;
            let options = editor.table([
                ("buffer", Value::Integer(buf.0)),
                ("nowait", Value::Boolean(true)),
                ("desc", editor.string(format!("acp: {}", key.about.trim_end_matches('.')))?),
            ])?;
            set.call::<()>((key.modes.to_vec(), lhs, action, options))?;
        }
        Ok(buf)
    }

    fn agents_window(&self, buf: Buf) -> Result<crate::nvim::editor::Win> {
        let editor = &self.editor;
        let (_, rows) = editor.size();
        editor.command("stopinsert")?;
        editor.command(&format!("botright {}split", (rows * 3 / 4).max(5)))?;
        let win = editor.current_win()?;
        editor.set_win_buf(win, buf)?;
        for (option, value) in [
            ("wrap", false),
            ("number", false),
            ("relativenumber", false),
            ("spell", false),
            ("list", false),
            ("cursorline", true),
            ("foldenable", false),
        ] {
            editor.set_win_option(win, option, value)?;
        }
        editor.set_win_option(win, "signcolumn", "no")?;
        editor.set_win_option(win, "foldcolumn", "0")?;
        Ok(win)
    }

    /// Takes the page off the screen, unless it is all there is on it.
    pub fn hide_agents(&mut self) -> Result<()> {
        let Some(buf) = self.agents.page.as_ref().map(|page| page.buf) else { return Ok(()) };
        for win in self.editor.wins_of(buf) {
            if !self.editor.normal_wins_beside(win)?.is_empty() {
                self.editor.close_win(win)?;
            }
        }
        Ok(())
    }

    /// Draws the page anew, if it is on the screen. The cursor stays on its agent.
    pub fn draw_agents(&mut self) -> Result<()> {
        let Some(mut shown) = self.agents.page.take() else { return Ok(()) };
        let drawn = self.draw_page(&mut shown);
        if self.editor.buf_is_valid(shown.buf) {
            self.agents.page = Some(shown);
        }
        drawn
    }

    fn draw_page(&self, shown: &mut AgentsPage) -> Result<()> {
        let editor = &self.editor;
        let wins = editor.wins_of(shown.buf);
        let widths = wins.iter().filter_map(|win| editor.win_size(*win).ok());
        let Some(width) = widths.map(|(columns, _)| usize::from(columns)).min() else { return Ok(()) };
        let choices = self.all_agents();
        let downloads: String =
            editor.func("fnamemodify", (self.agents.files.downloads.to_string_lossy().into_owned(), ":~"))?;
        let downloading =
            self.agents.downloading.iter().map(|(name, running)| (name.clone(), running.said.clone()));
        let page = page(&View {
            choices: &choices,
            open: &shown.open,
            downloading: &downloading.collect(),
            failed: &self.agents.failed,
            origin: &self.registry_origin()?,
            notes: &self.registry_notes(),
            downloads: &downloads,
            keys: &self.config.keys,
            width,
        });
        if page == shown.page {
            return Ok(());
        }
        let mut cursors = Vec::new();
        for win in wins {
            let (line, _) = editor.cursor(win)?;
            let row = line - 1;
            let name = shown.page.rows.get(row).cloned().flatten();
            let first = shown.page.rows.iter().position(|other| name.is_some() && *other == name);
            cursors.push((win, name, row - first.unwrap_or(row).min(row), line));
        }
        editor.set_buf_option(shown.buf, "modifiable", true)?;
        let count = editor.line_count(shown.buf)?;
        editor.set_lines(shown.buf, 0..count, &page.lines)?;
        editor.set_buf_option(shown.buf, "modifiable", false)?;
        let ns = editor.namespace("acp.agents")?;
        editor.clear_namespace(shown.buf, ns, 0, -1)?;
        let marks = editor.lua.create_table()?;
        for (row, from, to, group) in &page.marks {
            marks.raw_push(*row)?;
            marks.raw_push(*from)?;
            marks.raw_push(
                editor
                    .table([("end_col", Value::Integer(*to as i64)), ("hl_group", editor.string(group)?)])?,
            )?;
        }
        editor.paint(shown.buf, ns, marks)?;
        for (win, name, below, line) in cursors {
            let first = page.rows.iter().position(|row| name.is_some() && *row == name);
            let row = match first {
                Some(first) => first + if page.rows.get(first + below) == Some(&name) { below } else { 0 },
                None => line - 1,
            };
            editor.set_cursor(win, (row + 1).min(page.lines.len()), 0)?;
        }
        shown.page = page;
        Ok(())
    }

    fn registry_origin(&self) -> Result<String> {
        Ok(match self.agents.catalog.origin {
            Origin::Plugin(date) => format!("the list of {date} that came with the plugin"),
            Origin::Fetched(at) => {
                let time: String = self.editor.func("strftime", ("%Y-%m-%d %H:%M", at))?;
                format!("the registry of {time}")
            }
        })
    }

    fn registry_notes(&self) -> Vec<(String, &'static str)> {
        let mut notes = Vec::new();
        let keys = &self.config.keys;
        if let Some(running) = &self.agents.fetching {
            let stop = keys.line(&[("agents_cancel", "stops it")]);
            let said = if running.said.is_empty() { String::new() } else { format!(" ({})", running.said) };
            notes.push((format!("fetching the registry \u{2026}{said} {stop}"), "AcpToolRunning"));
        }
        if let Some(why) = &self.agents.unfetched {
            let again = keys.line(&[("agents_refresh", "tries again")]);
            notes.push((format!("{why}; the list below is the one from before. {again}"), "AcpError"));
        }
        match &self.agents.catalog.problems[..] {
            [] => {}
            [one] => notes.push((one.clone(), "AcpToolWaiting")),
            [first, rest @ ..] => notes.push((
                format!(
                    "{first} (and {} more of the kind; setup{{ log = true }} writes them down)",
                    rest.len()
                ),
                "AcpToolWaiting",
            )),
        }
        notes
    }
}

/// What Lua's tasks say when they were cancelled.
const CANCELLED: &str = "cancelled";

fn fail<T>(text: impl std::fmt::Display) -> Result<T> {
    Err(mlua::Error::runtime(text.to_string()))
}

fn not_started(name: &str, error: &crate::config::ConfigError) -> Result<()> {
    fail(format!("couldn't start {name}: {error}"))
}
