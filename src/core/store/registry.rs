//! The registry of agents: what its index says about each of them, how one would be run on this machine,
//! and whether the user has approved exactly that. An entry that cannot be parsed only loses itself.
//! Fetching the index, and knowing what is installed, is left to the caller.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::core::text::typed;

/// An index as far as it could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    pub entries: Vec<Entry>,
    /// A line for each entry that was left out, and why.
    pub problems: Vec<String>,
}

/// One agent of the index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub id: String,
    pub name: String,
    /// Empty where none is given.
    #[serde(default, deserialize_with = "or_default")]
    pub version: String,
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    pub repository: Option<String>,
    pub website: Option<String>,
    pub license: Option<String>,
    pub distribution: Distribution,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distribution {
    pub npx: Option<Package>,
    pub uvx: Option<Package>,
    /// By system, such as `linux-x86_64`.
    #[serde(default, deserialize_with = "or_default")]
    pub binary: BTreeMap<String, Binary>,
}

/// A package that `npx` or `uvx` fetches and runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// With its version, if that is fixed.
    pub package: String,
    /// The package's program, where it isn't called like the package.
    pub cmd: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub args: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub env: BTreeMap<String, String>,
}

/// A file to download: an archive, or the program itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binary {
    pub archive: String,
    pub cmd: String,
    #[serde(default, deserialize_with = "or_default")]
    pub args: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub env: BTreeMap<String, String>,
    pub sha256: Option<String>,
}

/// How an agent of the registry is run: what the user approves, all of it and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The program and what comes before the agent's own arguments. `npx` and `uvx` are looked for
    /// in $PATH; a downloaded program is relative to the folder of the download.
    pub command: Vec<String>,
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub download: Option<Download>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Download {
    pub url: String,
    pub sha256: Option<String>,
    /// Below the folder of all downloaded agents. What is in it never changes: another download
    /// has another folder.
    pub folder: String,
    /// The name of the file where it is the program itself, and no archive.
    pub raw: Option<String>,
}

/// What the disk knows about agents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// The index that was fetched last.
    pub index: Option<Index>,
    /// When it was, in seconds since 1970.
    pub fetched: u64,
    /// By the agent's name.
    pub approved: BTreeMap<String, Plan>,
    /// The folders of downloads that are complete, as [`Download::folder`] names them.
    pub downloaded: BTreeSet<String>,
    /// What of it couldn't be read, as the user should be told.
    pub problems: Vec<String>,
}

/// What the background does with agents' files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// Nothing: what is there is only read.
    None,
    Approve {
        name: String,
        plan: Plan,
    },
    /// Forget the approval and delete the downloads of this entry.
    Remove {
        name: String,
        id: String,
    },
    /// Take this file as the index, if it is one. It is gone afterwards.
    Adopt {
        file: std::path::PathBuf,
    },
}

/// Where agents' files are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    /// The index as it was fetched.
    pub index: std::path::PathBuf,
    /// What the user has approved.
    pub approved: std::path::PathBuf,
    /// The folder of the downloads.
    pub downloads: std::path::PathBuf,
}

/// An index is never larger; the official one has less than a hundredth of it.
pub const MAX_INDEX_BYTES: u64 = 8 << 20;

/// Reads an index. The error says what is wrong with all of it.
pub fn parse(text: &str) -> Result<Index, String> {
    let mut whole: Value = serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
    let Some(Value::Array(agents)) = whole.get_mut("agents").map(Value::take) else {
        return Err("it has no list of agents".to_owned());
    };
    let mut index = Index::default();
    let mut seen = BTreeSet::new();
    for (at, value) in agents.into_iter().enumerate() {
        let called = match value["id"].as_str() {
            Some(id) => format!("{id:?}"),
            None => format!("number {}", at + 1),
        };
        match entry(value) {
            Ok(entry) if !seen.insert(entry.id.clone()) => {
                index.problems.push(format!("agent {called}: listed twice"));
            }
            Ok(entry) => index.entries.push(entry),
            Err(why) => index.problems.push(format!("agent {called}: {why}")),
        }
    }
    Ok(index)
}

/// What is null is as good as absent.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}

fn entry(mut value: Value) -> Result<Entry, String> {
    if !value.is_object() {
        return Err("it is no object".to_owned());
    }
    if value.get("name").is_none_or(Value::is_null) {
        value["name"] = value["id"].clone();
    }
    let entry: Entry = serde_json::from_value(value).map_err(|error| error.to_string())?;
    if !is_id(&entry.id) {
        return Err("its id should be lowercase letters, digits and hyphens".to_owned());
    }
    if !is_version(&entry.version) {
        return Err(format!("its version {:?} is no version", entry.version));
    }
    let Distribution { npx, uvx, binary } = &entry.distribution;
    if npx.is_none() && uvx.is_none() && binary.is_empty() {
        return Err("it says no way to run it that is known here".to_owned());
    }
    for package in [npx, uvx].into_iter().flatten() {
        // It would be taken for an option.
        let is_word =
            |word: &str| !word.is_empty() && !word.starts_with('-') && !word.contains(char::is_whitespace);
        if !is_word(&package.package) || !package.cmd.as_deref().is_none_or(is_word) {
            return Err(format!("{:?} is no package", package.package));
        }
    }
    for binary in binary.values() {
        if !may_be_fetched(&binary.archive) {
            return Err(format!("the address {:?} should begin with https://", binary.archive));
        }
        if inside(&binary.cmd).is_none() {
            return Err(format!("its program {:?} is not inside of the download", binary.cmd));
        }
        let is_sum = |sum: &String| sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !binary.sha256.as_ref().is_none_or(is_sum) {
            return Err("its checksum is no SHA-256 sum".to_owned());
        }
    }
    Ok(entry)
}

/// Whether this may be an agent's id in the registry.
pub fn is_id(id: &str) -> bool {
    id.starts_with(|first: char| first.is_ascii_lowercase())
        && id.len() <= 64
        && id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// It becomes a folder's name.
fn is_version(version: &str) -> bool {
    version.len() <= 64
        && !version.starts_with('.')
        && version.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte))
}

/// Whether an address may be fetched: encrypted, or from this machine.
pub fn may_be_fetched(url: &str) -> bool {
    let local = ["http://127.0.0.1", "http://localhost", "http://[::1]"];
    let from = |start: &&str| url.strip_prefix(start).is_some_and(|rest| rest.starts_with([':', '/']));
    let plain = !url.contains(|char: char| char.is_control() || char.is_whitespace());
    plain && (url.strip_prefix("https://").is_some_and(|rest| !rest.is_empty()) || local.iter().any(from))
}

/// A program's path inside of a download, without `./`; nothing if it leads out of it.
fn inside(cmd: &str) -> Option<String> {
    let path = cmd.replace('\\', "/");
    let names: Vec<&str> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    let leaves = path.starts_with('/') || path.contains(':') || names.contains(&"..");
    (!leaves && !names.is_empty() && !cmd.contains(char::is_control)).then(|| names.join("/"))
}

/// The formats that can be unpacked.
const ARCHIVES: &[&str] = &[".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".zip"];

/// Installers, which only their system can run.
const INSTALLERS: &[&str] = &[".dmg", ".pkg", ".deb", ".rpm", ".msi", ".appimage"];

impl Entry {
    /// The ways to run it on a system of this name, the lightest first.
    pub fn plans(&self, system: &str) -> Vec<Plan> {
        let Distribution { npx, uvx, binary } = &self.distribution;
        let npx = npx.as_ref().map(|package| package.plan(&["npx", "-y"], "--package"));
        let uvx = uvx.as_ref().map(|package| package.plan(&["uvx"], "--from"));
        let binary = binary.get(system).and_then(|binary| self.download(binary));
        [npx, uvx, binary].into_iter().flatten().collect()
    }

    /// Nothing for what only an installer can put there.
    fn download(&self, binary: &Binary) -> Option<Plan> {
        let Binary { archive, cmd, args, env, sha256 } = binary;
        let path = archive.split(['?', '#']).next().unwrap_or(archive);
        let file = path.rsplit('/').next().unwrap_or_default();
        let ends = |ends: &[&str]| ends.iter().any(|end| file.to_ascii_lowercase().ends_with(end));
        if ends(INSTALLERS) {
            return None;
        }
        let program = inside(cmd)?;
        let raw = (!ends(ARCHIVES)).then(|| program.clone());
        let version = if self.version.is_empty() { "unversioned" } else { &self.version };
        // The same version may be published again: then it is another download.
        let print = fingerprint(&[archive, sha256.as_deref().unwrap_or_default(), &program]);
        let download = Download {
            url: archive.clone(),
            sha256: sha256.as_ref().map(|sum| sum.to_ascii_lowercase()),
            folder: format!("{}/{version}-{print}", self.id),
            raw,
        };
        Some(Plan { command: vec![program], args: args.clone(), env: env.clone(), download: Some(download) })
    }

    /// Where to read more about it.
    pub fn page(&self) -> Option<&str> {
        let known = [&self.website, &self.repository].into_iter().flatten();
        known.map(String::as_str).find(|url| url.starts_with("https://") || url.starts_with("http://"))
    }
}

impl Package {
    fn plan(&self, runner: &[&str], from: &str) -> Plan {
        let mut command: Vec<String> = runner.iter().map(|&word| word.to_owned()).collect();
        if let Some(cmd) = &self.cmd {
            command.extend([from.to_owned(), self.package.clone(), cmd.clone()]);
        } else {
            command.push(self.package.clone());
        }
        Plan { command, args: self.args.clone(), env: self.env.clone(), download: None }
    }
}

impl Plan {
    /// What has to be in $PATH for it; nothing for a download.
    pub fn runner(&self) -> Option<&str> {
        if self.download.is_some() { None } else { self.command.first().map(String::as_str) }
    }

    /// The command as one would type it.
    pub fn line(&self) -> String {
        let words: Vec<String> = self.command.iter().chain(&self.args).cloned().collect();
        let env: Vec<(String, String)> =
            self.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        typed(&env, &words)
    }
}

/// FNV-1a, 32 bits of it: tells apart what one publisher calls the same version. It need not withstand
/// an attack, since what is fetched is checked by its sum.
fn fingerprint(parts: &[&str]) -> String {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    let hash = bytes.fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("{hash:08x}")
}

#[cfg(test)]
mod tests;
