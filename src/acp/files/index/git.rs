//! What git knows of the files in a folder: the object that each tracked file was read from, if it has not been
//! changed since. So nothing has to be copied for most of them. Git is asked for all of it, since its index has
//! several formats.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::platform::files::{bytes_of_path, path_of_bytes};

/// Git takes longer only where something is wrong with it, or with the disk.
const PATIENCE: Duration = Duration::from_secs(10);

/// So many files are read through git's filters, each by a process of its own.
const FILTERED: usize = 64;

/// Of the files that are ignored and kept no more are looked after.
const MOST_IGNORED: usize = 1000;

/// The objects of unchanged files.
#[derive(Debug, Default)]
pub struct Objects {
    repositories: Vec<Repository>,
    files: HashMap<PathBuf, (usize, Name)>,
}

#[derive(Debug)]
struct Repository {
    folder: PathBuf,
    /// Git makes something else of some files than it keeps, by other programs.
    has_filters: bool,
}

/// An object's name, which is hexadecimal.
type Name = Box<str>;

/// A file as it was, to be read from git.
#[derive(Debug)]
pub struct Wanted {
    pub path: PathBuf,
    /// How many bytes it had on the disk.
    pub size: u64,
}

/// Files of a repository that git keeps although they are ignored. Where git knows nothing there are none.
pub fn kept_though_ignored(folder: &Path) -> Vec<PathBuf> {
    let listed = run(git(folder).args(["ls-files", "--cached", "--ignored", "--exclude-standard", "-z"]));
    let listed = listed.unwrap_or_default();
    let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty()).take(MOST_IGNORED);
    names.map(|name| folder.join(path_of_bytes(name))).collect()
}

impl Objects {
    /// Asks git about a folder of a repository. An error means that nothing is known of it.
    pub fn learn(&mut self, folder: &Path) -> io::Result<()> {
        let listed = run(git(folder).args(["ls-files", "--stage", "-v", "-z"]))?;
        let changed = run(git(folder).args(["diff-files", "--relative", "--name-only", "-z"]))?;
        let changed: HashSet<&[u8]> = changed.split(|byte| *byte == 0).collect();
        let repository = self.repositories.len();
        // It fails where there is none.
        let has_filters = run(git(folder).args(["config", "--get-regexp", r"^filter\."])).is_ok();
        self.repositories.push(Repository { folder: folder.to_owned(), has_filters });
        for entry in listed.split(|byte| *byte == 0) {
            // "tag mode name stage\tpath"
            let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else { continue };
            let (facts, path) = (&entry[..tab], &entry[tab + 1..]);
            let mut facts = facts.split(|byte| *byte == b' ');
            let (tag, mode, name, stage) = (facts.next(), facts.next(), facts.next(), facts.next());
            // Of what it is told to take for unchanged (`git update-index --assume-unchanged`) git doesn't know.
            let is_known = tag == Some(b"H") && stage == Some(b"0");
            let is_file = is_known && mode.is_some_and(|mode| mode.starts_with(b"100"));
            if let Some(name) = name.and_then(|name| std::str::from_utf8(name).ok())
                && is_file
                && !changed.contains(path)
            {
                self.files.insert(folder.join(path_of_bytes(path)), (repository, name.into()));
            }
        }
        Ok(())
    }

    pub fn has(&self, path: &Path) -> bool {
        self.files.contains_key(path)
    }

    /// The file is another one from now on.
    pub fn forget(&mut self, path: &Path) {
        self.files.remove(path);
    }

    /// What files were that git knows, as far as it can be had.
    pub fn read(&self, wanted: &[Wanted]) -> HashMap<PathBuf, Vec<u8>> {
        let mut texts = HashMap::new();
        let mut filtered = 0;
        for (at, Repository { folder, has_filters }) in self.repositories.iter().enumerate() {
            let here: Vec<(&Wanted, &Name)> = wanted
                .iter()
                .filter_map(|wanted| {
                    let (repository, name) = self.files.get(&wanted.path)?;
                    (*repository == at).then_some((wanted, name))
                })
                .collect();
            if here.is_empty() {
                continue;
            }
            let filters = if *has_filters { filtered_of(folder, &here) } else { HashSet::new() };
            // What git doesn't give is not known.
            let objects = objects(folder, &here).unwrap_or_default();
            for ((wanted, name), object) in here.iter().zip(objects) {
                let text = match object {
                    Some(text)
                        if text.len() as u64 == wanted.size && !filters.contains(wanted.path.as_path()) =>
                    {
                        Some(text)
                    }
                    // The file on the disk has other line ends, or is kept elsewhere.
                    Some(_) if filtered < FILTERED => {
                        filtered += 1;
                        through_filters(folder, wanted, name)
                    }
                    _ => None,
                };
                texts.extend(text.map(|text| (wanted.path.clone(), text)));
            }
        }
        texts
    }
}

/// In the order in which they are wanted.
fn objects(folder: &Path, wanted: &[(&Wanted, &Name)]) -> io::Result<Vec<Option<Vec<u8>>>> {
    let names: String = wanted.iter().flat_map(|(_, name)| [&***name, "\n"]).collect();
    let output = run_with(git(folder).args(["cat-file", "--batch"]), Some(names.into_bytes()))?;
    let mut rest = &output[..];
    let mut objects = Vec::new();
    for _ in wanted {
        // "name type size\n", the object, "\n"; or "name missing\n"
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else { break };
        let line = String::from_utf8_lossy(&rest[..end]).into_owned();
        rest = &rest[end + 1..];
        let size: Option<usize> = line.rsplit(' ').next().and_then(|size| size.parse().ok());
        objects.push(match size.filter(|size| *size < rest.len()) {
            Some(size) => {
                let object = rest[..size].to_vec();
                rest = &rest[size + 1..];
                Some(object)
            }
            None => None,
        });
    }
    Ok(objects)
}

/// Those of which git keeps something else than they hold, which may be as long.
fn filtered_of<'a>(folder: &Path, wanted: &[(&'a Wanted, &Name)]) -> HashSet<&'a Path> {
    let names = |wanted: &'a Wanted| Some((wanted, bytes_of_path(wanted.path.strip_prefix(folder).ok()?)));
    let wanted: Vec<_> = wanted.iter().filter_map(|(wanted, _)| names(wanted)).collect();
    let input = wanted.iter().flat_map(|(_, name)| name.iter().copied().chain([0])).collect();
    let told = run_with(git(folder).args(["check-attr", "-z", "--stdin", "filter"]), Some(input));
    // "path\0filter\0value\0", in the order in which they were asked about
    let told = told.unwrap_or_default();
    let values = told.split(|byte| *byte == 0).skip(2).step_by(3);
    let is_none = |value: &[u8]| value == b"unspecified" || value == b"unset";
    let with_values = wanted.iter().zip(values.map(Some).chain(std::iter::repeat(None)));
    // Of whom nothing is told it is not known.
    let filtered = with_values.filter(|(_, value)| !value.is_some_and(is_none));
    filtered.map(|((wanted, _), _)| wanted.path.as_path()).collect()
}

fn through_filters(folder: &Path, wanted: &Wanted, name: &str) -> Option<Vec<u8>> {
    let path = wanted.path.strip_prefix(folder).ok()?;
    let mut option = OsStr::new("--path=./").to_owned();
    option.push(path);
    let text = run(git(folder).args(["cat-file", "--filters"]).arg(option).arg(name)).ok()?;
    (text.len() as u64 == wanted.size).then_some(text)
}

fn git(folder: &Path) -> Command {
    let mut git = Command::new("git");
    // Only looks: it takes no locks, writes no index and asks no other program.
    git.arg("-C").arg(folder).args(["-c", "core.fsmonitor=false"]);
    git.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0");
    // Neovim may have been started by git.
    for name in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_PREFIX"] {
        git.env_remove(name);
    }
    git.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    git
}

fn run(git: &mut Command) -> io::Result<Vec<u8>> {
    run_with(git, None)
}

/// What git writes, if it ends well and in time.
fn run_with(git: &mut Command, input: Option<Vec<u8>>) -> io::Result<Vec<u8>> {
    if input.is_some() {
        git.stdin(Stdio::piped());
    }
    let mut child = git.spawn()?;
    let result = talk(&mut child, input);
    if result.is_err() {
        // It may have ended.
        let _ = child.kill();
    }
    let status = child.wait()?;
    if status.success() { result } else { Err(io::Error::other(format!("git ended with {status}"))) }
}

fn talk(child: &mut Child, input: Option<Vec<u8>>) -> io::Result<Vec<u8>> {
    if let Some((mut stdin, input)) = child.stdin.take().zip(input) {
        // By itself: git writes before it has read all.
        thread::Builder::new().name("acp-git".into()).spawn(move || stdin.write_all(&input))?;
    }
    let Some(mut stdout) = child.stdout.take() else { return Ok(Vec::new()) };
    let (tell, told) = mpsc::sync_channel(1);
    thread::Builder::new().name("acp-git".into()).spawn(move || {
        let mut output = Vec::new();
        let read = stdout.read_to_end(&mut output).map(|_| output);
        // Nobody listens when it took too long.
        let _ = tell.send(read);
    })?;
    told.recv_timeout(PATIENCE).unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}
