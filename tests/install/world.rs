//! A machine as it is before the plugin is installed, and what it can be installed from: the sources under a git address,
//! releases on a server, and a search path with nothing on it but what every system has. What is done there is up to the
//! tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use super::support::http::Server;
use super::support::project::TempProject;
use super::support::{self, Nvim, Options};

#[path = "../../src/fingerprint.rs"]
mod fingerprint;

const TARGET: &str =
    match (cfg!(target_os = "macos"), cfg!(target_arch = "aarch64"), cfg!(target_env = "musl")) {
        (true, true, _) => "aarch64-apple-darwin",
        (true, false, _) => "x86_64-apple-darwin",
        (false, true, true) => "aarch64-unknown-linux-musl",
        (false, true, false) => "aarch64-unknown-linux-gnu",
        (false, false, true) => "x86_64-unknown-linux-musl",
        (false, false, false) => "x86_64-unknown-linux-gnu",
    };

/// What the installer runs, and what runs these.
const PROGRAMS: &[&str] = &[
    "basename",
    "cat",
    "cp",
    "curl",
    "dirname",
    "env",
    "git",
    "gzip",
    "head",
    "sed",
    "sh",
    "sha256sum",
    "shasum",
    "sleep",
    "tar",
    "uname",
];

pub const OWNER: &str = "https://github.com/owner/acp.nvim";

pub struct World {
    pub home: TempProject,
    pub server: Server,
    releases: TempProject,
}

/// What is made once for all tests: the archive of this very build, and the sources under git.
struct Common {
    archive: PathBuf,
    origin: PathBuf,
    fingerprint: String,
}

fn common() -> &'static Common {
    static COMMON: OnceLock<Common> = OnceLock::new();
    COMMON.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("install");
        let _ = fs::remove_dir_all(&folder);
        let (library, packed) = (support::library(), folder.join("packed"));
        fs::create_dir_all(&packed).expect("a folder");
        let name = library.file_name().expect("a library is a file");
        let debug_free = |from: &Path, to: PathBuf| {
            run(Command::new("strip").arg("-S").arg("-o").arg(to).arg(from));
        };
        debug_free(&library, packed.join(name));
        debug_free(support::demo_agent(), packed.join("acp-demo-agent"));
        let archive = folder.join("archive.tar.gz");
        run(Command::new("tar").arg("-C").arg(&packed).arg("-czf").arg(&archive).arg("."));

        let (sources, origin) = (folder.join("sources"), folder.join("origin.git"));
        let list = run(git(root()).args(["ls-files", "-co", "--exclude-standard"]));
        for file in String::from_utf8(list.stdout).expect("paths in UTF-8").lines() {
            let (from, to) = (root().join(file), sources.join(file));
            // What git knows may have been deleted since.
            if from.is_file() {
                fs::create_dir_all(to.parent().expect("a file has a folder")).expect("a folder");
                fs::copy(from, to).expect("a copy");
            }
        }
        run(git(&sources).args(["init", "-q", "-b", "main"]));
        commit(&sources, "everything");
        run(git(&sources).args(["clone", "-q", "--bare", "."]).arg(&origin));
        Common { archive, origin, fingerprint: fingerprint::of(&sources).expect("sources") }
    })
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder);
    command
}

pub fn commit(folder: &Path, message: &str) {
    run(git(folder).args(["add", "-A"]));
    run(git(folder)
        .args(["-c", "user.name=Somebody", "-c", "user.email=somebody@localhost"])
        .args(["commit", "-qm", message]));
}

#[track_caller]
pub fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed:\n{printed}");
    output
}

/// Which sources this very project is, as its library is told.
pub fn fingerprint_here() -> String {
    fingerprint::of(root()).expect("sources")
}

pub fn archive_name() -> String {
    format!("acp-nvim-{TARGET}.tar.gz")
}

pub fn tag() -> String {
    format!("v{}", env!("CARGO_PKG_VERSION"))
}

/// What `lua/acp/interface.lua` returns.
fn interface() -> String {
    let text = fs::read_to_string(root().join("lua/acp/interface.lua")).expect("the interface");
    text.split('"').nth(1).expect("a text").to_owned()
}

impl World {
    /// With the release of these very sources on the server.
    pub fn new() -> Self {
        let world = Self::without_release();
        world.publish(&tag(), &common().fingerprint, &interface());
        world
    }

    pub fn without_release() -> Self {
        let home = TempProject::new(&[("nothing/here", ""), ("data/here", "")]);
        run(git(&common().origin).args(["clone", "-q", "--bare", "."]).arg(home.file("origin.git")));
        fs::create_dir(home.file("bin")).expect("a folder");
        let path = std::env::var_os("PATH").expect("a search path");
        for program in PROGRAMS {
            let found =
                std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file());
            if let Some(found) = found {
                std::os::unix::fs::symlink(found, home.file("bin").join(program)).expect("a link");
            }
        }
        let releases = TempProject::new(&[]);
        let server = Server::start(releases.path());
        Self { home, server, releases }
    }

    /// Puts a release on the server: this build's library, told to be of these sources.
    pub fn publish(&self, tag: &str, fingerprint: &str, interface: &str) {
        let folder = self.releases.file(tag);
        fs::create_dir_all(&folder).expect("a folder");
        let link = folder.join(archive_name());
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(&common().archive, &link).expect("a link");
        let version = env!("CARGO_PKG_VERSION");
        let built = format!(
            "{{\"version\":\"{version}\",\"fingerprint\":\"{fingerprint}\",\"interface\":\"{interface}\"}}"
        );
        fs::write(folder.join("build.json"), built).expect("a file");
        let mut sums = String::new();
        for name in ["build.json".to_owned(), archive_name()] {
            let content = fs::read(folder.join(&name)).expect("a file");
            let sum: String =
                hmac_sha256::Hash::hash(&content).iter().map(|byte| format!("{byte:02x}")).collect();
            sums.push_str(&format!("{sum}  {name}\n"));
        }
        fs::write(folder.join("SHA256SUMS"), sums).expect("a file");
    }

    /// A release of other sources whose library understands the same calls.
    pub fn publish_similar(&self) {
        self.publish(&tag(), &"0".repeat(64), &interface());
    }

    /// The release of what lies in a folder.
    pub fn publish_sources(&self, tag: &str, folder: &Path) {
        self.publish(tag, &fingerprint::of(folder).expect("sources"), &interface());
    }

    /// From now on nothing answers.
    pub fn end_server(&self) {
        self.server.end();
    }

    /// Where on the server the archive for this system is.
    pub fn archive(&self) -> String {
        format!("/{}/{}", tag(), archive_name())
    }

    /// Puts a program on the search path.
    pub fn install_program(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        self.home.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}"));
        let file = self.home.file("bin").join(name);
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("a program");
    }

    /// A cargo that shows progress as the real one does, and "builds" this build's library.
    pub fn install_cargo(&self) {
        let library = support::library();
        self.install_program(
            "cargo",
            &format!(
                r#"printf '%s\n' "$@" >"{home}/cargo-was-asked"
printf '    Updating index\r    Building [=>   ] 1/2: serde, syn\r    Building [==>  ] 2/2: acp-nvim\r\n' >&2
printf '{{"reason":"compiler-artifact","filenames":["{library}"]}}\n'
printf '{{"reason":"compiler-artifact","filenames":["{demo}"]}}\n'
printf '{{"reason":"build-finished","success":true}}\n'
"#,
                home = self.home.path().display(),
                library = library.display(),
                demo = support::demo_agent().display(),
            ),
        );
    }

    /// The sources under the address, checked out for a change.
    pub fn sources(&self) -> PathBuf {
        let folder = self.home.file("sources");
        if !folder.exists() {
            run(Command::new("git").args(["clone", "-q"]).arg(self.home.file("origin.git")).arg(&folder));
        }
        folder
    }

    /// Takes what was changed in the checked-out sources to the address.
    pub fn push(&self, message: &str) {
        commit(&self.sources(), message);
        run(git(&self.sources()).args(["push", "-q", "origin", "main"]));
    }

    pub fn environment(&self) -> Vec<(String, String)> {
        let home = self.home.path().display().to_string();
        [
            ("ACP_TEST_ROOT", format!("{home}/nothing")),
            ("ACP_NVIM_LIB", String::new()),
            ("ACP_NVIM_RELEASES", self.server.url()),
            ("ACP_NVIM_SLOW", "1".to_owned()),
            ("ACP_DEMO_SPEED", "0".to_owned()),
            ("PATH", format!("{home}/bin")),
            ("XDG_DATA_HOME", format!("{home}/data")),
            ("GIT_CONFIG_GLOBAL", "/dev/null".to_owned()),
            // Whatever is cloned from there comes from here.
            ("GIT_CONFIG_COUNT", "2".to_owned()),
            ("GIT_CONFIG_KEY_0", format!("url.file://{home}/origin.git.insteadOf")),
            ("GIT_CONFIG_VALUE_0", OWNER.to_owned()),
            ("GIT_CONFIG_KEY_1", format!("url.file://{home}/origin.git.insteadOf")),
            ("GIT_CONFIG_VALUE_1", format!("{OWNER}.git")),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }

    /// A Neovim with the stand-in for plugin managers, and without the plugin.
    pub fn editor(&self) -> Nvim {
        self.editor_of_size(80, 24)
    }

    pub fn editor_of_size(&self, columns: u16, rows: u16) -> Nvim {
        let manager = root().join("tests/install/manager.lua");
        Nvim::start(Options {
            columns,
            rows,
            args: vec!["--cmd".into(), format!("luafile {}", manager.display())],
            env: self.environment(),
            ..Options::default()
        })
    }

    /// A Neovim without a screen, with these arguments.
    pub fn headless(&self, args: &[&str]) -> Command {
        let mut command = Command::new(support::neovim());
        for name in ["NVIM", "NVIM_APPNAME", "VIM", "VIMRUNTIME"] {
            command.env_remove(name);
        }
        command.args(["--clean", "--headless"]).args(args).envs(self.environment());
        command
            .env("HOME", self.home.path())
            .env("XDG_CACHE_HOME", self.home.file("cache"))
            .env("XDG_STATE_HOME", self.home.file("state"))
            .current_dir(self.home.path());
        command
    }

    /// Clones the plugin to a folder of the data folder's.
    pub fn clone(&self, to: &str) -> PathBuf {
        let folder = self.home.file("data/nvim").join(to);
        run(Command::new("git").args(["clone", "-q"]).arg(self.home.file("origin.git")).arg(&folder));
        folder
    }

    /// What is in a folder of the data folder's, in order.
    pub fn installed(&self, folder: &str) -> Vec<String> {
        names(&self.home.file("data/nvim").join(folder))
    }
}

/// The names in a folder, in order; none where there is no such folder.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The piece of code in README or help, as it stands there, that holds a text.
#[track_caller]
pub fn block(file: &str, holds: &str) -> String {
    let text = fs::read_to_string(root().join(file)).expect("the document");
    let mut blocks = Vec::new();
    let mut inside: Option<String> = None;
    for line in text.lines() {
        let ends = line.starts_with("```") || line.starts_with('<');
        match &mut inside {
            Some(_) if ends => blocks.extend(inside.take()),
            Some(block) => {
                block.push_str(line);
                block.push('\n');
            }
            None if (line.starts_with("```") && line.len() > 3)
                || line.ends_with(">lua")
                || line.ends_with(">sh") =>
            {
                inside = Some(String::new());
            }
            None => {}
        }
    }
    let found: Vec<_> = blocks.iter().filter(|block| block.contains(holds)).collect();
    assert_eq!(found.len(), 1, "{file} should have one block that holds {holds:?}: {found:?}");
    found[0].clone()
}

/// Begins a session with the demo agent, asks it something, and waits for its answer.
#[track_caller]
pub fn ask_the_demo_agent(nvim: &mut Nvim) {
    nvim.command("AcpChat demo");
    wait_for_first_answer(nvim);
}

/// Asks something in the chat that is being opened, and waits for the answer.
#[track_caller]
pub fn wait_for_first_answer(nvim: &mut Nvim) {
    nvim.wait_for_screen("Ask for a change, or about the code");
    nvim.exec_lua("require('acp').send('hello')", []);
    nvim.wait_until(
        |nvim| {
            nvim.exec_lua("return (require('acp').status().sessions[1] or {}).turns == 1 or nil", [])
                == true.into()
                || nvim.screen().contains("Done ·")
        },
        "the first answer",
    );
}
