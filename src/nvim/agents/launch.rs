//! How an agent is started: known at once where the program is installed, else after the disk was asked what
//! the user has approved and downloaded, after the user has approved, after a download. Also fetches the
//! registry. The page that shows all of it is in `list`, what its keys do in `actions`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;

use mlua::{Function, Result, Table};

use crate::config::agents::Source;
use crate::config::{Catalog, Choice, ConfigError, Machine, Standing};
use crate::core::ids::JobId;
use crate::core::message::{Command, Launch};
use crate::core::store::registry::{Change, Plan, Stored};
use crate::nvim::agents::{Agents, Running};
use crate::nvim::arguments::fail;
use crate::nvim::context::{self, Context, Then};
use crate::nvim::editor::Level;
use crate::platform::confine::{self, Support, Unconfined};

impl Agents {
    // What there is.

    fn on_machine<R>(&self, cx: &Context, work: impl FnOnce(&Machine<'_>) -> R) -> R {
        // Many agents are run by the same program, and each search goes through all of $PATH.
        let found = RefCell::new(HashMap::new());
        let find = |program: &str| -> Option<PathBuf> {
            let mut found = found.borrow_mut();
            found.entry(program.to_owned()).or_insert_with(|| cx.editor.program(program)).clone()
        };
        work(&Machine {
            find: &find,
            bundled: self.bundled(),
            catalog: &self.catalog,
            system: &self.system,
            downloads: &self.files.downloads,
        })
    }

    /// The agents that can be started, as far as it is known.
    pub fn available(&self, cx: &Context) -> Vec<Choice> {
        self.on_machine(cx, |machine| cx.config.available(machine))
    }

    pub fn all(&self, cx: &Context) -> Vec<Choice> {
        let mut all = self.on_machine(cx, |machine| cx.config.all(machine));
        for choice in all.iter_mut().filter(|choice| choice.sandbox.is_some()) {
            (choice.sandbox_holds, choice.sandbox_problem) = match confine::support() {
                Ok(support) => (Some(holds(support)), None),
                Err(why) => (None, Some(problem(&why))),
            };
        }
        all
    }

    pub(super) fn named(&self, cx: &Context, name: &str) -> Option<Choice> {
        self.all(cx).into_iter().find(|choice| choice.name == name)
    }

    /// Asks the disk what is approved and downloaded, after a change to it.
    pub fn read(
        &mut self,
        cx: &mut Context,
        change: Change,
        then: impl FnOnce(&mut Self, &mut Context, Option<String>) -> Result<()> + 'static,
    ) {
        let job = cx.next_job();
        self.reads.insert(job, Box::new(then));
        let files = Box::new(self.files.clone());
        cx.send(Command::ReadAgents { job, files, change: Box::new(change) });
    }

    pub fn was_read(
        &mut self,
        cx: &mut Context,
        job: JobId,
        stored: Stored,
        failure: Option<String>,
    ) -> Result<()> {
        self.catalog = Catalog::new(stored);
        let done = match self.reads.remove(&job) {
            Some(then) => then(self, cx, failure),
            None => Ok(()),
        };
        self.draw(cx)?;
        done
    }

    // Starting one.

    /// Finds out how an agent is started, which may take questions and a download, and does something
    /// with that.
    pub fn launch(&mut self, cx: &mut Context, name: &str, cwd: PathBuf, then: Then<Launch>) -> Result<()> {
        let then = context::then(move |agents: &mut Self, cx, launch| {
            // The list has done what it was for.
            agents.hide(cx)?;
            cx.resume(then, launch);
            Ok(())
        });
        let standing = self.on_machine(cx, |machine| cx.config.standing(name, &cwd, machine));
        match standing {
            // What is installed or configured needs nothing from the disk.
            Ok(Standing::Ready(launch, source)) if source != Source::Approved => {
                let agent = cx.config.agent(name, &self.catalog);
                if let Some(note) = agent.and_then(|agent| agent.command_note()) {
                    cx.notify(note, Level::Warn);
                }
                cx.resume(then, launch);
                Ok(())
            }
            Err(error @ ConfigError::Disabled { .. }) => not_started(name, &error),
            // The user's own command is all there is.
            Ok(Standing::Missing(_, error)) if cx.config.has_command(name) => not_started(name, &error),
            _ => {
                let name = name.to_owned();
                self.read(cx, Change::None, move |agents, cx, _| {
                    agents.launch_registered(cx, &name, cwd, then)
                });
                Ok(())
            }
        }
    }

    fn launch_registered(
        &mut self,
        cx: &mut Context,
        name: &str,
        cwd: PathBuf,
        then: Then<Launch>,
    ) -> Result<()> {
        let standing = self.on_machine(cx, |machine| {
            let agent = cx.config.enabled_agent(name, machine.catalog)?;
            Ok((agent.name.to_owned(), cx.config.standing(name, &cwd, machine)?))
        });
        match standing {
            Err(error) => not_started(name, &error),
            Ok((name, Standing::Missing(_, error))) => not_started(&name, &error),
            Ok((_, Standing::Ready(launch, _))) => {
                cx.resume(then, launch);
                Ok(())
            }
            Ok((name, Standing::Undownloaded(plan))) => {
                self.show(cx, Some(&name))?;
                self.download(cx, Wanted { name, plan, cwd, then })
            }
            Ok((name, Standing::Unapproved { plan, changed })) => {
                self.show(cx, Some(&name))?;
                self.ask_to_run(cx, Wanted { name, plan, cwd, then }, changed)
            }
        }
    }

    /// The user sees on the page what would be run, and says whether it may.
    fn ask_to_run(&mut self, cx: &mut Context, wanted: Wanted, changed: bool) -> Result<()> {
        let Wanted { name, plan, .. } = &wanted;
        if let Some(running) = self.downloading.get(name) {
            return fail(format!("{name} is already being downloaded: {}", running.progress));
        }
        let Some(choice) = self.named(cx, name) else { return Ok(()) };
        let before = if changed { format!("{name} has changed. ") } else { String::new() };
        let prompt = format!("{before}{}?", question(plan));
        let mut items = vec!["Yes, and don't ask again for this command".to_owned(), "No".to_owned()];
        let website = choice.website;
        items.extend(website.iter().map(|url| format!("Look at {url} first")));
        // What is asked about is on the screen when the picker opens.
        cx.effects.push_back(Box::new(|editor| editor.notify_error(editor.command("redraw"))));
        cx.offer(&prompt, "acp_agent_approval", items, move |agents: &mut Self, cx, index| match index {
            0 => {
                agents.approve(cx, wanted);
                Ok(())
            }
            2 => {
                if let Some(url) = website {
                    open_site(cx, url);
                }
                Ok(())
            }
            _ => Ok(()),
        });
        Ok(())
    }

    /// The user has said yes: it is written down, and what is missing is fetched.
    fn approve(&mut self, cx: &mut Context, wanted: Wanted) {
        let change = Change::Approve { name: wanted.name.clone(), plan: wanted.plan.clone() };
        self.read(cx, change, move |agents, cx, failure| {
            if let Some(failure) = failure {
                cx.notify(format!("couldn't {failure}; you will be asked again next time"), Level::Warn);
            }
            match agents.catalog.is_downloaded(&wanted.plan) {
                true => agents.launch_plan(cx, wanted),
                false => agents.download(cx, wanted),
            }
        });
    }

    fn launch_plan(&mut self, cx: &mut Context, wanted: Wanted) -> Result<()> {
        let Wanted { name, plan, cwd, then } = wanted;
        let launch = self.on_machine(cx, |machine| cx.config.launch_of(&name, &plan, &cwd, machine));
        match launch {
            Ok(launch) => {
                cx.resume(then, launch);
                Ok(())
            }
            Err(error) => not_started(&name, &error),
        }
    }

    fn download(&mut self, cx: &mut Context, wanted: Wanted) -> Result<()> {
        let Wanted { name, plan, .. } = &wanted;
        let Some(download) = plan.download.clone() else { return Ok(()) };
        if let Some(running) = self.downloading.get(name) {
            return fail(format!("{name} is already being downloaded: {}", running.progress));
        }
        let running = Running { progress: "downloading \u{2026}".to_owned(), cancel: None };
        self.downloading.insert(name.clone(), running);
        self.failed.remove(name);
        self.draw(cx)?;
        let root = self.files.downloads.to_string_lossy().into_owned();
        let program = plan.command.first().cloned().unwrap_or_default();
        let job = cx.editor.table([
            ("url", cx.editor.string(&download.url)?),
            ("root", cx.editor.string(&root)?),
            ("folder", cx.editor.string(&download.folder)?),
            ("program", cx.editor.string(&program)?),
        ])?;
        job.set("sha256", download.sha256.clone())?;
        job.set("raw", download.raw.clone())?;
        let name = name.clone();
        run_install(
            cx,
            Install { function: "download", job },
            move |agents| agents.downloading.get_mut(&name),
            move |agents, cx, failure| {
                agents.downloading.remove(&wanted.name);
                agents.downloaded(cx, wanted, failure)
            },
        );
        Ok(())
    }

    fn downloaded(&mut self, cx: &mut Context, wanted: Wanted, failure: Option<String>) -> Result<()> {
        let name = wanted.name.clone();
        match failure {
            Some(why) if why == CANCELLED => {
                cx.notify(format!("the download of {name} was stopped; nothing was kept"), Level::Info);
                self.draw(cx)
            }
            Some(why) => {
                self.failed.insert(name, why.clone());
                self.draw(cx)?;
                fail(why)
            }
            None => {
                self.read(cx, Change::None, move |agents, cx, _| {
                    if cx.editor.current_buf().is_ok_and(|here| agents.is_page(here)) {
                        return agents.launch_plan(cx, wanted);
                    }
                    // Don't pull the user away from what they are doing now.
                    cx.notify(format!("{name} is downloaded; :AcpChat {name} starts it"), Level::Info);
                    Ok(())
                });
                Ok(())
            }
        }
    }

    /// Whether one of these programs is what was downloaded for this entry.
    pub(super) fn is_downloaded_from(&self, id: &str, programs: &[PathBuf]) -> bool {
        let folder = self.files.downloads.join(id);
        programs.iter().any(|program| program.starts_with(&folder))
    }

    // The registry.

    /// Fetches the registry's index, which takes the place of the one that is known.
    pub(super) fn fetch_registry(&mut self, cx: &mut Context) -> Result<()> {
        if self.fetching.is_some() {
            return fail("the registry is being fetched already");
        }
        self.unfetched = None;
        self.fetching = Some(Running::default());
        self.draw(cx)?;
        // Another Neovim may be fetching it, too.
        let pid: i64 = cx.editor.func("getpid", ())?;
        let file = self.files.index.with_extension(format!("{pid}.new"));
        let job = cx.editor.table([
            ("url", cx.editor.string(&cx.config.registry.url)?),
            ("file", cx.editor.string(file.to_string_lossy().as_bytes())?),
        ])?;
        run_install(
            cx,
            Install { function: "fetch", job },
            |agents| agents.fetching.as_mut(),
            move |agents, cx, failure| {
                agents.fetching = None;
                if let Some(why) = failure {
                    return agents.registry_fetched(cx, Some(why));
                }
                agents.read(cx, Change::Adopt { file }, |agents, cx, failure| {
                    agents.registry_fetched(cx, failure.map(|why| format!("couldn't {why}")))
                });
                Ok(())
            },
        );
        Ok(())
    }

    fn registry_fetched(&mut self, cx: &mut Context, failure: Option<String>) -> Result<()> {
        match failure {
            None => {
                self.failed.clear();
                let count = self.all(cx).len();
                cx.notify(format!("the registry was fetched; {count} agents are known"), Level::Info);
            }
            Some(why) if why == CANCELLED => {}
            Some(why) => self.unfetched = Some(why),
        }
        self.draw(cx)
    }
}

/// An agent that is to be started, and what is done with how.
struct Wanted {
    name: String,
    plan: Plan,
    cwd: PathBuf,
    then: Then<Launch>,
}

/// What is asked of the user.
fn question(plan: &Plan) -> String {
    match &plan.download {
        None => format!("Run {}", plan.line()),
        Some(download) => {
            let sum = match &download.sha256 {
                Some(sum) => format!("SHA-256 {}\u{2026}", &sum[..12]),
                None => "NO checksum published".to_owned(),
            };
            format!("Download {} ({sum}) and run {}", download.url, plan.line())
        }
    }
}

pub(super) fn open_site(cx: &mut Context, url: String) {
    cx.run_effect(format!("couldn't open {url}"), move |editor| editor.open_outside(&url));
}

/// A function of `acp.install.agents`, and what it is given.
struct Install {
    function: &'static str,
    job: Table,
}

/// Starts it. It says how far it is, which is shown on the page, and when it is done.
fn run_install(
    cx: &mut Context,
    install: Install,
    running: impl Fn(&mut Agents) -> Option<&mut Running> + Clone + 'static,
    done: impl FnOnce(&mut Agents, &mut Context, Option<String>) -> Result<()> + 'static,
) {
    cx.effects.push_back(Box::new(move |editor| {
        let started = running.clone();
        let start = || -> Result<Function> {
            let on_progress = editor.lua.create_function(move |_, text: String| {
                let running = running.clone();
                context::run(move |agents: &mut Agents, cx| {
                    if let Some(running) = running(agents) {
                        running.progress = text;
                    }
                    agents.draw(cx)
                });
                Ok(())
            })?;
            let done = RefCell::new(Some(done));
            let on_done = editor.lua.create_function(move |_, failure: Option<String>| {
                if let Some(done) = done.take() {
                    context::run(move |agents: &mut Agents, cx| done(agents, cx, failure));
                }
                Ok(())
            })?;
            let require: Function = editor.lua.globals().get("require")?;
            let module: Table = require.call("acp.install.agents")?;
            module.get::<Function>(install.function)?.call((install.job, on_progress, on_done))
        };
        match start() {
            Ok(cancel) => context::run(move |agents: &mut Agents, _| {
                if let Some(running) = started(agents) {
                    running.cancel = Some(cancel);
                }
                Ok(())
            }),
            Err(error) => editor.notify_error(Err(error)),
        }
    }));
}

/// What Lua's tasks say when they were cancelled.
const CANCELLED: &str = "cancelled";

fn not_started(name: &str, error: &ConfigError) -> Result<()> {
    fail(format!("couldn't start {name}: {error}"))
}

/// What the system holds a sandbox to, for whoever asks before an agent is started.
fn holds(support: Support) -> String {
    let Support { abi, ports, signals } = support;
    let mut all = vec![
        format!("the kernel (Landlock {abi}) holds it to these files"),
        "it can't use Unix sockets, such as Neovim's and ssh-agent's".to_owned(),
    ];
    all.push(match ports {
        true => "its network can be limited to ports".to_owned(),
        false => "its network can't be limited: that takes Linux 6.7".to_owned(),
    });
    all.push(match signals {
        true => "it can signal no other program".to_owned(),
        false => "it can signal, and so end, other programs of yours: that takes Linux 6.12".to_owned(),
    });
    all.join("; ")
}

fn problem(why: &Unconfined) -> String {
    match why {
        Unconfined::System => "a sandbox there is only on Linux: the agent will not be started".to_owned(),
        Unconfined::NoLandlock => {
            "this kernel has no Landlock, or it is not in the kernel's `lsm=`: the agent will not be started"
                .to_owned()
        }
        Unconfined::TooOld { abi, needed } => {
            format!(
                "this kernel's Landlock ({abi}) has holes, it takes {needed}: the agent will not be started"
            )
        }
        Unconfined::Failed(error) => error.to_string(),
    }
}
