//! The agents known without any configuration: those in `agents.json`, which comes with the plugin, and
//! those in the registry's index, once the user has fetched it. How to start one on this machine is
//! decided in `agents`.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::core::store::registry::{self, Entry, Plan, Stored};
use crate::core::text::civil_date::days_until;

/// What the plugin knows about an agent beside the registry's entry, if there is one.
#[derive(Debug, Deserialize)]
pub struct Preset {
    pub name: String,
    /// Of the registry's entry.
    pub id: Option<String>,
    pub title: String,
    pub program: String,
    #[serde(default)]
    pub args: Vec<String>,
    /// The package that `npx` runs, without being asked about, where the program isn't installed.
    pub npx: Option<String>,
    /// A command, or where to read about it.
    pub install: String,
    pub login: String,
    /// Where it keeps its login, settings and sessions: what it writes in a sandbox, too. Each begins with `~/`.
    #[serde(default)]
    pub state: Vec<String>,
    // Where the registry has no entry.
    pub description: Option<String>,
    pub website: Option<String>,
    pub license: Option<String>,
}

/// The agent that is built with the plugin: needs no account, offered last.
pub const DEMO: &str = "demo";

/// `agents.json`: written like the registry's index, with a table of presets beside it.
struct Bundled {
    entries: Vec<Entry>,
    /// In the order in which they are offered.
    presets: Vec<Preset>,
    /// As "2026-11-22", and in seconds since 1970.
    date: String,
    seconds: u64,
}

static BUNDLED: LazyLock<Bundled> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct File {
        date: String,
        presets: Vec<Preset>,
    }
    let text = include_str!("agents.json");
    // A test reads the same text, which nothing can change after the build.
    let index = registry::parse(text).expect("agents.json is an index");
    let File { date, presets } = serde_json::from_str(text).expect("agents.json has a date and presets");
    let seconds = seconds(&date).expect("agents.json has a date");
    Bundled { entries: index.entries, presets, date, seconds }
});

/// In the order in which they are offered.
pub fn presets() -> &'static [Preset] {
    &BUNDLED.presets
}

pub fn preset(name: &str) -> Option<&'static Preset> {
    presets().iter().find(|preset| preset.name == name)
}

/// The preset of a registry's entry.
pub(super) fn preset_of(id: &str) -> Option<&'static Preset> {
    presets().iter().find(|preset| preset.id.as_deref() == Some(id))
}

/// All entries that are known, and what the user has approved and downloaded of them.
#[derive(Clone, Debug)]
pub struct Catalog {
    entries: Vec<Entry>,
    pub origin: Origin,
    /// What couldn't be read.
    pub problems: Vec<String>,
    stored: Stored,
}

/// Where the entries are from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// They came with the plugin, written on this day.
    Plugin(&'static str),
    /// They were fetched, in seconds since 1970.
    Fetched(u64),
}

impl Default for Catalog {
    fn default() -> Self {
        Self::new(Stored::default())
    }
}

impl Catalog {
    /// The index that was fetched, unless the plugin is newer; of the other one only what it lacks, and
    /// of the plugin's only what has a name here: the rest was taken out of the registry.
    pub fn new(mut stored: Stored) -> Self {
        let bundled = &BUNDLED.entries;
        let mut problems = std::mem::take(&mut stored.problems);
        let (entries, origin) = match stored.index.take() {
            None => (bundled.clone(), Origin::Plugin(&BUNDLED.date)),
            Some(index) => {
                problems.extend(index.problems.iter().map(|problem| format!("left out: {problem}")));
                let is_newer = stored.fetched >= BUNDLED.seconds;
                let named =
                    bundled.iter().filter(|entry| !is_newer || preset_of(&entry.id).is_some()).cloned();
                let (mut first, second, origin): (Vec<Entry>, Vec<Entry>, Origin) = match is_newer {
                    true => (index.entries, named.collect(), Origin::Fetched(stored.fetched)),
                    false => (named.collect(), index.entries, Origin::Plugin(&BUNDLED.date)),
                };
                for entry in second {
                    if first.iter().all(|known| known.id != entry.id) {
                        first.push(entry);
                    }
                }
                (first, origin)
            }
        };
        Self { entries, origin, problems, stored }
    }

    pub fn entry(&self, id: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    /// The entries that no preset names, in the registry's order.
    pub(super) fn unnamed(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| preset_of(&entry.id).is_none())
    }

    pub fn approved(&self, name: &str) -> Option<&Plan> {
        self.stored.approved.get(name)
    }

    /// Whether what a plan downloads is there.
    pub fn is_downloaded(&self, plan: &Plan) -> bool {
        plan.download.as_ref().is_none_or(|download| self.stored.downloaded.contains(&download.folder))
    }

    /// Whether anything was downloaded for the entry, of whichever version.
    pub fn has_downloads(&self, id: &str) -> bool {
        let of = |folder: &String| folder.split_once('/').is_some_and(|(first, _)| first == id);
        self.stored.downloaded.iter().any(of)
    }
}

/// The beginning of a day, "2026-11-22", in seconds since 1970 (UTC).
fn seconds(date: &str) -> Option<u64> {
    let mut parts = date.splitn(3, '-').map(|part| part.parse::<u32>().ok().map(i64::from));
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    u64::try_from(days_until(year, month, day)).ok().map(|days| days * 86_400)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_as_the_calendar_has_them() {
        assert_eq!(seconds("1970-01-01"), Some(0));
        assert_eq!(seconds("2000-03-01"), Some(951_868_800));
        assert_eq!(seconds("2026-11-22"), Some(1_795_305_600));
        assert_eq!(seconds("soon"), None);
    }

    #[test]
    fn what_comes_with_the_plugin_can_be_read_whole() {
        let index = registry::parse(include_str!("agents.json")).expect("an index");
        assert_eq!(index.problems, [""; 0]);
        for preset in presets() {
            if let Some(id) = &preset.id {
                assert!(Catalog::default().entry(id).is_some(), "{id}");
            } else {
                assert!(preset.description.is_some(), "{}", preset.name);
            }
        }
        let systems = ["darwin", "linux", "windows"].map(|os| format!("{os}-x86_64"));
        for entry in &index.entries {
            for system in &systems {
                assert!(!entry.plans(system).is_empty(), "{} on {system}", entry.id);
            }
            assert!(entry.page().is_some(), "{} has a page", entry.id);
            assert!(entry.license.is_some(), "{} has a licence", entry.id);
        }
    }

    fn fetched(ids: &[&str], at: u64) -> Catalog {
        let agents: Vec<_> = ids
            .iter()
            .map(|id| serde_json::json!({ "id": id, "name": "Fetched", "distribution": { "npx": { "package": id } } }))
            .collect();
        let index = registry::parse(&serde_json::json!({ "agents": agents }).to_string()).expect("an index");
        Catalog::new(Stored { index: Some(index), fetched: at, ..Stored::default() })
    }

    #[test]
    fn a_newer_index_counts_and_what_it_took_out_is_gone() {
        let catalog = fetched(&["cline", "brand-new"], u64::MAX);
        assert_eq!(catalog.origin, Origin::Fetched(u64::MAX));
        let name = |id| catalog.entry(id).map(|entry| entry.name.as_str());
        assert_eq!(name("cline"), Some("Fetched"));
        assert_eq!(name("brand-new"), Some("Fetched"));
        assert_eq!(name("goose"), Some("Goose"), "it has a name in the plugin");
        assert_eq!(name("stakpak"), None, "it has none");
    }

    #[test]
    fn an_older_index_only_adds_what_the_plugin_lacks() {
        let catalog = fetched(&["cline", "brand-new"], 1);
        assert!(matches!(catalog.origin, Origin::Plugin(_)));
        let name = |id| catalog.entry(id).map(|entry| entry.name.as_str());
        assert_eq!((name("cline"), name("brand-new")), (Some("Cline"), Some("Fetched")));
        assert_eq!(name("stakpak"), Some("Stakpak"));
    }
}
