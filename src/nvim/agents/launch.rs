//! Starting agents: at once where the program is installed, else after the disk was asked what the user
//! has approved and downloaded, after the user has approved, after a download. Also fetches the registry.
//! The page that shows all of it is `agents_list`, what its keys do is `actions`.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use mlua::{Function, Result, Table};

use crate::config::agents::{Source, system};
use crate::config::{Catalog, Choice, ConfigError, Machine, Standing};
use crate::core::ids::JobId;
use crate::core::message::{Command, Launch};
use crate::core::store::registry::{Change, Files, Plan, Stored};
use crate::nvim::agents::list::AgentsPage;
use crate::nvim::app::App;
use crate::nvim::editor::{Editor, Level};
use crate::nvim::run;

/// What is known about agents, and what is being done about it.
pub struct Agents {
    pub catalog: Catalog,
    pub files: Files,
    system: String,
    /// What waits for the disk.
    reads: HashMap<JobId, WithAgents>,
    pub fetching: Option<Running>,
    /// Why the registry could not be fetched the last time.
    pub unfetched: Option<String>,
    pub downloading: BTreeMap<String, Running>,
    /// What went wrong the last time, by agent.
    pub failed: BTreeMap<String, String>,
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
        // Many agents are run by the same program, and each search goes through all of $PATH.
        let found = RefCell::new(HashMap::new());
        let find = |program: &str| -> Option<PathBuf> {
            let mut found = found.borrow_mut();
            found.entry(program.to_owned()).or_insert_with(|| self.cx.editor.program(program)).clone()
        };
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
        self.on_machine(|machine| self.cx.config.available(machine))
    }

    pub fn all_agents(&self) -> Vec<Choice> {
        self.on_machine(|machine| self.cx.config.all(machine))
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
        let job = self.cx.next_job();
        self.agents.reads.insert(job, Box::new(then));
        let files = Box::new(self.agents.files.clone());
        self.send(Command::ReadAgents { job, files, change: Box::new(change) })
    }

    pub fn agents_read(&mut self, job: JobId, stored: Stored, failure: Option<String>) -> Result<()> {
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
        let standing = self.on_machine(|machine| self.cx.config.standing(name, &cwd, machine));
        match standing {
            // What is installed or configured needs nothing from the disk.
            Ok(Standing::Ready(launch, source)) if source != Source::Approved => then(self, launch),
            Err(error @ ConfigError::Disabled { .. }) => not_started(name, &error),
            // The user's own command is all there is.
            Ok(Standing::Missing(_, error)) if self.cx.config.has_command(name) => not_started(name, &error),
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
            let agent = self.cx.config.enabled_agent(name, machine.catalog)?;
            Ok((agent.name.to_owned(), self.cx.config.standing(name, &cwd, machine)?))
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
            return fail(format!("{name} is already being downloaded: {}", running.said));
        }
        let Some(choice) = self.agent_named(&name) else { return Ok(()) };
        let before = if changed { format!("{name} has changed. ") } else { String::new() };
        let prompt = match &plan.download {
            None => format!("{before}Run {}?", plan.line()),
            Some(download) => {
                let sum = match &download.sha256 {
                    Some(sum) => format!("SHA-256 {}\u{2026}", &sum[..12]),
                    None => "NO checksum published".to_owned(),
                };
                format!("{before}Download {} ({sum}) and run {}?", download.url, plan.line())
            }
        };
        let mut items = vec!["Yes, and don't ask again for this command".to_owned(), "No".to_owned()];
        let website = choice.website;
        items.extend(website.iter().map(|url| format!("Look at {url} first")));
        // What is asked about is on the screen when the picker opens.
        self.cx.effects.push_back(Box::new(|editor| editor.complain(editor.command("redraw"))));
        self.offer(&prompt, "acp_agent_approval", items, move |app, index| match index {
            0 => {
                let change = Change::Approve { name: name.clone(), plan: plan.clone() };
                app.read_agents(change, move |app, failure| {
                    if let Some(failure) = failure {
                        app.cx.advise(
                            format!("couldn't {failure}; you will be asked again next time"),
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
        self.cx.attempt(format!("couldn't open {url}"), move |editor| editor.open_outside(&url));
    }

    fn launch_plan(&mut self, name: &str, plan: &Plan, cwd: PathBuf, then: WithLaunch) -> Result<()> {
        let launch = self.on_machine(|machine| self.cx.config.launch_of(name, plan, &cwd, machine));
        match launch {
            Ok(launch) => then(self, launch),
            Err(error) => not_started(name, &error),
        }
    }

    fn download_agent(&mut self, name: String, plan: Plan, cwd: PathBuf, then: WithLaunch) -> Result<()> {
        let Some(download) = plan.download.clone() else { return Ok(()) };
        if let Some(running) = self.agents.downloading.get(&name) {
            return fail(format!("{name} is already being downloaded: {}", running.said));
        }
        let running = Running { said: "downloading \u{2026}".to_owned(), cancel: None };
        self.agents.downloading.insert(name.clone(), running);
        self.agents.failed.remove(&name);
        self.draw_agents()?;
        let root = self.agents.files.downloads.to_string_lossy().into_owned();
        let program = plan.command.first().cloned().unwrap_or_default();
        let job = self.cx.editor.table([
            ("url", self.cx.editor.string(&download.url)?),
            ("root", self.cx.editor.string(&root)?),
            ("folder", self.cx.editor.string(&download.folder)?),
            ("program", self.cx.editor.string(&program)?),
        ])?;
        job.set("sha256", download.sha256.clone())?;
        job.set("raw", download.raw.clone())?;
        let (said, done, begun) = (name.clone(), name.clone(), name);
        let then = RefCell::new(Some((plan, cwd, then)));
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
                self.cx.advise(format!("the download of {name} was stopped; nothing was kept"), Level::Info);
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
                    let here = app.cx.editor.current_buf().ok();
                    if here.is_some() && here == app.agents.page.as_ref().map(|page| page.buf) {
                        return app.launch_plan(&name, &plan, cwd, then);
                    }
                    // Don't pull the user away from what they are doing now.
                    app.cx.advise(format!("{name} is downloaded; :AcpChat {name} starts it"), Level::Info);
                    Ok(())
                })
            }
        }
    }

    /// Whether an agent runs from what was downloaded for this entry.
    pub fn runs_downloaded(&self, id: &str) -> bool {
        let folder = self.agents.files.downloads.join(id);
        self.processes.living().any(|launch| Path::new(&launch.command).starts_with(&folder))
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
        let pid: i64 = self.cx.editor.func("getpid", ())?;
        let file = self.agents.files.index.with_extension(format!("{pid}.new"));
        let job = self.cx.editor.table([
            ("url", self.cx.editor.string(&self.cx.config.registry.url)?),
            ("file", self.cx.editor.string(file.to_string_lossy().as_bytes())?),
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
                self.cx.advise(format!("the registry was fetched; {count} agents are known"), Level::Info);
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
        self.cx.effects.push_back(Box::new(move |editor| {
            let started = || -> Result<Function> {
                let on_progress = editor.lua.create_function(move |_, text: String| {
                    let said = said.clone();
                    run(move |app| said(app, text));
                    Ok(())
                })?;
                let done = RefCell::new(Some(done));
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
}

/// What Lua's tasks say when they were cancelled.
const CANCELLED: &str = "cancelled";

fn fail<T>(text: impl std::fmt::Display) -> Result<T> {
    Err(mlua::Error::runtime(text.to_string()))
}

fn not_started(name: &str, error: &ConfigError) -> Result<()> {
    fail(format!("couldn't start {name}: {error}"))
}
