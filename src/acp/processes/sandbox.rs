//! What a confined agent reaches: its session's folders, a folder for temporary files, what the options name, what its
//! program needs to start, and the system's own files. The agent and the commands in its terminals are kept to the same,
//! each on its own. How that is done is `platform::confine`'s.

use std::env;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use tempfile::TempDir;

use crate::core::message::{Launch, Network, Sandbox};
use crate::platform::confine::{Confinement, Reach, Unconfined};
use crate::platform::program;

/// What programs read that were installed for all users. Sockets, mail and other people's files are elsewhere.
const SYSTEM: &[&str] = &[
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/usr",
    "/etc",
    "/opt",
    "/sys",
    "/proc",
    "/nix/store",
    "/gnu/store",
    "/snap",
    "/run/current-system",
    "/home/linuxbrew/.linuxbrew",
];

/// What is read below the user's home: where programs are installed, and how git is set up.
const IN_HOME: &[&str] = &[
    ".gitconfig",
    ".config/git",
    ".local/bin",
    ".local/lib",
    ".cargo/bin",
    ".cargo/env",
    ".cargo/config.toml",
    ".rustup",
    ".nvm",
    ".volta",
    ".fnm",
    ".local/share/fnm",
    ".local/share/mise",
    ".asdf",
    ".tool-versions",
    ".pyenv",
    ".rbenv",
    ".sdkman",
    ".bun/bin",
    ".deno/bin",
    "go/bin",
    ".npm-global",
    ".nix-profile",
    ".local/state/nix/profiles",
];

/// Where names of machines are looked up; a link into a folder that is not read otherwise.
const RESOLVER: &str = "/etc/resolv.conf";

/// Why an agent cannot be confined; the text is fit for "couldn't start {agent}: …".
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error("it is to run in a sandbox, which there is only on Linux; {}", without(name))]
    System { name: String },
    #[error(
        "it is to run in a sandbox, but this kernel has no Landlock, or not in its `lsm=` parameter; {}",
        without(name)
    )]
    NoLandlock { name: String },
    #[error(
        "it is to run in a sandbox, for which this kernel (Landlock {abi}) is too old: it takes {needed}; {}",
        without(name)
    )]
    TooOld { name: String, abi: u32, needed: &'static str },
    #[error("it is to run in a sandbox, but {} holds your home; open a chat in the project's folder", folder.display())]
    HoldsHome { folder: PathBuf },
    #[error("its sandbox can't be made: {source}; {}", without(name))]
    Failed { name: String, source: io::Error },
}

fn without(name: &str) -> String {
    format!("to start it without one, set agents.{name}.sandbox = false")
}

/// What a running agent, and the commands that it starts, are kept to. Ends with the agent.
pub struct Confined {
    agent: Confinement,
    pub terminals: Confinement,
    temporary: TemporaryFolder,
}

/// Only for this agent and its commands; gone with them.
struct TemporaryFolder(Option<TempDir>);

impl Confined {
    /// Looks at the disk, for a moment. Also gives what listens at the port.
    pub fn new(launch: &Launch, sandbox: &Sandbox) -> Result<(Self, TcpListener), SandboxError> {
        let name = || launch.name.clone();
        let failed = |source| SandboxError::Failed { name: name(), source };
        let home = env::home_dir().and_then(|home| home.canonicalize().ok());
        if let Some(folder) = sandbox.folders.iter().find(|folder| holds(folder, home.as_deref())) {
            return Err(SandboxError::HoldsHome { folder: folder.clone() });
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let temporary = tempfile::Builder::new().prefix("acp-").tempdir().map_err(failed)?;
        let reach = reach(launch, sandbox, (temporary.path(), port), home.as_deref());
        let confine = |reach: &Reach| {
            Confinement::new(reach).map_err(|why| match why {
                Unconfined::System => SandboxError::System { name: name() },
                Unconfined::NoLandlock => SandboxError::NoLandlock { name: name() },
                Unconfined::TooOld { abi, needed } => SandboxError::TooOld { name: name(), abi, needed },
                Unconfined::Failed(source) => failed(source),
            })
        };
        let agent = confine(&reach)?;
        let terminals = confine(&Reach { on_terminal: true, ..reach })?;
        let temporary = TemporaryFolder(Some(temporary));
        Ok((Self { agent, terminals, temporary }, listener))
    }

    /// The agent's process, or its keeper's, is started confined or not at all.
    pub fn put_on_agent(&self, command: &mut Command) -> io::Result<()> {
        self.agent.put_on(command)
    }

    /// What its process, and so its keeper's, is kept to.
    pub fn of_agent(&self) -> &Confinement {
        &self.agent
    }

    /// Where temporary files are to go.
    pub fn env(&self) -> impl Iterator<Item = (&'static str, PathBuf)> {
        let folder = self.temporary.0.as_ref().map(|folder| folder.path().to_owned());
        folder.into_iter().flat_map(|folder| ["TMPDIR", "TMP", "TEMP"].map(|name| (name, folder.clone())))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let folder = self.0.take();
        // What it takes depends on what was left there. Without a thread it is done here.
        let _ = thread::Builder::new().name("acp-tmp".into()).spawn(move || drop(folder));
    }
}

fn reach(launch: &Launch, sandbox: &Sandbox, (temporary, port): (&Path, u16), home: Option<&Path>) -> Reach {
    let own = sandbox.folders.iter().chain(&sandbox.write).cloned().chain([temporary.to_owned()]);
    let write = outermost(own.collect());
    let mut read: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
    read.extend(home.into_iter().flat_map(|home| IN_HOME.iter().map(|name| home.join(name))));
    read.extend(sandbox.read.iter().cloned());
    read.extend(programs(launch, home));
    read.extend(env::var_os("VIMRUNTIME").map(PathBuf::from));
    read.extend(Path::new(RESOLVER).canonicalize().ok());
    // What is written is read, too. And a link in there was perhaps made by an agent.
    let covered = |path: &PathBuf| is_below(path, &write);
    read.retain(|path| !covered(path));
    let ports = match &sandbox.network {
        Network::All => None,
        Network::Ports(ports) => Some(ports.iter().copied().chain([port]).collect()),
    };
    Reach { read, write, ports, on_terminal: false }
}

/// Leaves out what is in others: the confined can put a link there that leads anywhere.
fn outermost(folders: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut outermost: Vec<PathBuf> = Vec::new();
    for folder in &folders {
        let others: Vec<PathBuf> =
            folders.iter().filter(|other| *other != folder && !other.starts_with(folder)).cloned().collect();
        if !is_below(folder, &others) && !outermost.contains(folder) {
            outermost.push(folder.clone());
        }
    }
    outermost
}

/// Whether a path is named as something in one of the folders, whatever it leads to.
fn is_below(path: &Path, folders: &[PathBuf]) -> bool {
    let within = |folder: &PathBuf| {
        path.starts_with(folder) || folder.canonicalize().is_ok_and(|folder| path.starts_with(folder))
    };
    folders.iter().any(within)
}

/// The folders that the agent's program is in, with what it is a part of, and those where it finds others.
fn programs(launch: &Launch, home: Option<&Path>) -> Vec<PathBuf> {
    let own = launch.env.iter().rev().find(|(name, _)| program::is_path_variable(name));
    let path = own.map(|(_, value)| value.into()).or_else(|| env::var_os("PATH")).unwrap_or_default();
    let mut found: Vec<PathBuf> =
        env::split_paths(&path).filter(|folder| folder.is_absolute() && !holds(folder, home)).collect();
    let command = Path::new(&launch.command);
    let files: Vec<PathBuf> = match command.components().count() {
        1 => {
            env::split_paths(&path).map(|folder| folder.join(command)).filter(|file| file.is_file()).collect()
        }
        _ => vec![launch.cwd.join(command)],
    };
    for file in files.into_iter().take(1) {
        found.extend(installed_with(&file, home));
        found.extend(file.canonicalize().ok().into_iter().flat_map(|file| installed_with(&file, home)));
    }
    found
}

/// What a program comes with: the package in `node_modules`, the environment of Python, else its folder.
fn installed_with(file: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let modules = file.ancestors().filter(|folder| folder.ends_with("node_modules")).last();
    let environment =
        file.parent().and_then(Path::parent).filter(|folder| folder.join("pyvenv.cfg").is_file());
    let folder = modules.or(environment).or(file.parent()).filter(|folder| !holds(folder, home));
    // One in the user's home itself comes with nothing.
    vec![folder.unwrap_or(file).to_owned()]
}

/// Whether the folder is the user's home, or above it: then it is everything.
fn holds(folder: &Path, home: Option<&Path>) -> bool {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    folder.parent().is_none() || home.is_some_and(|home| home.starts_with(&folder))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn paths(paths: &[&str]) -> Vec<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn a_folder_within_another_is_not_followed_where_a_link_in_its_place_leads() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("project");
        fs::create_dir(&project).unwrap();
        let cache = project.join("cache");
        let given = vec![project.clone(), cache, project.clone()];
        assert_eq!(outermost(given), [project]);
        assert_eq!(
            outermost(paths(&["/no/b", "/no/a/x", "/no/a", "/no/ab"])),
            paths(&["/no/b", "/no/a", "/no/ab"])
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_within_what_a_linked_one_leads_to_is_not_followed_either() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let (real, link) = (folder.join("real"), folder.join("link"));
        fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert_eq!(outermost(vec![link.clone(), real.join("cache")]), [link]);
    }

    #[test]
    fn the_home_and_what_is_above_it_is_no_project() {
        let home = Path::new("/home/ann");
        for folder in ["/", "/home", "/home/ann"] {
            assert!(holds(Path::new(folder), Some(home)), "{folder}");
        }
        assert!(!holds(Path::new("/home/ann/project"), Some(home)));
        assert!(holds(Path::new("/"), None));
    }

    #[test]
    fn a_program_comes_with_its_package_but_never_with_the_home() {
        let home = Some(Path::new("/home/ann"));
        let with = |file: &str| installed_with(Path::new(file), home);
        assert_eq!(
            with("/home/ann/n/lib/node_modules/a/node_modules/b/cli.js"),
            paths(&["/home/ann/n/lib/node_modules"])
        );
        assert_eq!(with("/home/ann/agent"), paths(&["/home/ann/agent"]));
        assert_eq!(with("/srv/agents/agent"), paths(&["/srv/agents"]));
    }
}
