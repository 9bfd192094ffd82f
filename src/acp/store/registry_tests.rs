use serde_json::json;

use super::*;
use crate::core::store::registry::Download;

struct Home(std::path::PathBuf);

impl Home {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("acp-registry-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        Self(folder.canonicalize().expect("a folder"))
    }

    fn files(&self) -> Files {
        Files {
            index: self.0.join("cache/registry.json"),
            approved: self.0.join("state/agents.json"),
            downloads: self.0.join("data/agents"),
        }
    }

    fn read(&self, change: Change) -> (Stored, Option<String>) {
        read(&self.files(), change, &WireLog::start(None))
    }

    fn write(&self, name: &str, text: &str) -> std::path::PathBuf {
        let file = self.0.join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(&file, text).expect("a file");
        file
    }

    fn approved(&self) -> Vec<String> {
        self.read(Change::None).0.approved.into_keys().collect()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn plan(word: &str) -> Plan {
    Plan {
        command: vec!["npx".into(), "-y".into(), word.into()],
        args: vec![],
        env: BTreeMap::new(),
        download: None,
    }
}

fn approval(name: &str) -> Change {
    Change::Approve { name: name.into(), plan: plan(name) }
}

fn index_of(id: &str) -> String {
    json!({ "agents": [{ "id": id, "distribution": { "npx": { "package": id } } }] }).to_string()
}

#[test]
fn on_a_new_machine_there_is_nothing() {
    assert_eq!(Home::new("nothing").read(Change::None), (Stored::default(), None));
}

#[test]
fn what_is_approved_is_remembered_until_it_is_removed() {
    let home = Home::new("approve");
    assert_eq!(home.read(approval("a")).1, None);
    assert_eq!(home.read(approval("b")).0.approved["b"], plan("b"));
    assert_eq!(home.approved(), ["a", "b"]);
    home.read(Change::Remove { name: "a".into(), id: "a".into() });
    assert_eq!(home.approved(), ["b"]);
}

#[test]
fn several_neovims_lose_none_of_each_others_approvals() {
    let home = Home::new("many");
    let names: Vec<String> = (0..24).map(|number| format!("agent-{number:02}")).collect();
    std::thread::scope(|scope| {
        for name in &names {
            scope.spawn(|| assert_eq!(home.read(approval(name)).1, None));
        }
    });
    assert_eq!(home.approved(), names);
}

#[test]
fn a_broken_file_of_approvals_approves_nothing_and_is_not_lost() {
    let home = Home::new("broken");
    home.write("state/agents.json", "{ \"version\": 1, \"approved\": ");
    let (stored, _) = home.read(Change::None);
    assert!(stored.approved.is_empty());
    assert!(stored.problems[0].contains("you are asked about agents again"), "{:?}", stored.problems);
    let (stored, failure) = home.read(approval("a"));
    assert_eq!(failure, None);
    assert!(stored.problems[0].contains("agents.json.broken-1"), "{:?}", stored.problems);
    assert_eq!(home.approved(), ["a"]);
}

#[test]
fn a_plan_that_this_version_does_not_understand_is_kept_but_approves_nothing() {
    let home = Home::new("newer");
    let file = home.write("state/agents.json", r#"{"version": 1, "approved": {"a": {"how": "by mail"}}}"#);
    assert!(home.approved().is_empty());
    home.read(approval("b"));
    let text = fs::read_to_string(file).expect("a file");
    assert!(text.contains("by mail"), "{text}");
}

#[test]
fn a_fetched_index_takes_the_place_of_the_old_one() {
    let home = Home::new("adopt");
    for id in ["one", "two"] {
        let file = home.write("cache/registry.json.new", &index_of(id));
        let (stored, failure) = home.read(Change::Adopt { file: file.clone() });
        assert_eq!(failure, None);
        assert_eq!(stored.index.expect("an index").entries[0].id, id);
        assert!(stored.fetched > 1_700_000_000);
        assert!(!file.exists());
    }
}

#[test]
fn what_is_no_index_leaves_the_old_one() {
    let home = Home::new("no-index");
    let first = home.write("new", &index_of("one"));
    home.read(Change::Adopt { file: first });
    for (text, why) in [
        ("<html>", "it is no JSON"),
        ("{\"agents\": [{\"id\"", "it is no JSON"),
        ("{\"agents\": []}", "it names no agent"),
        ("{\"agents\": [5]}", "it names no agent"),
    ] {
        let file = home.write("new", text);
        let (stored, failure) = home.read(Change::Adopt { file: file.clone() });
        let failure = failure.expect("a failure");
        assert!(failure.starts_with("use what came as the registry: ") && failure.contains(why), "{failure}");
        assert_eq!(stored.index.expect("the old one").entries[0].id, "one");
        assert!(!file.exists());
    }
    let (_, failure) = home.read(Change::Adopt { file: home.0.join("gone") });
    assert!(failure.is_some());
}

#[test]
fn an_index_that_is_too_large_is_not_read() {
    let home = Home::new("large");
    let mut text = index_of("one");
    text.push_str(&" ".repeat(MAX_INDEX_BYTES as usize));
    let file = home.write("new", &text);
    let (stored, failure) = home.read(Change::Adopt { file });
    assert!(failure.expect("a failure").contains("larger than 8 MiB"));
    assert_eq!(stored.index, None);
}

#[test]
fn a_cached_index_that_went_bad_is_said_and_does_no_harm() {
    let home = Home::new("bad-cache");
    home.write("cache/registry.json", "{");
    let (stored, _) = home.read(Change::None);
    assert_eq!(stored.index, None);
    assert!(stored.problems[0].contains("can't be read: it is no JSON"), "{:?}", stored.problems);
}

#[test]
fn downloads_are_those_that_are_complete_and_go_with_the_approval() {
    let home = Home::new("downloads");
    for file in ["x/1-a/x", "x/2-b/x", "y/1-c/y", ".tmp-1-1/x", "x/.tmp-2/x", "z"] {
        home.write(&format!("data/agents/{file}"), "");
    }
    let downloaded = |stored: Stored| stored.downloaded.into_iter().collect::<Vec<_>>();
    assert_eq!(downloaded(home.read(Change::None).0), ["x/1-a", "x/2-b", "y/1-c"]);
    let (stored, failure) = home.read(Change::Remove { name: "x".into(), id: "x".into() });
    assert_eq!((downloaded(stored), failure), (vec!["y/1-c".to_owned()], None));
    assert!(home.0.join("data/agents/.tmp-1-1").exists(), "it may be under way");
    // Nothing but an id names a folder.
    let (stored, _) = home.read(Change::Remove { name: "x".into(), id: "../agents/y".into() });
    assert_eq!(downloaded(stored), ["y/1-c"]);
}

#[test]
fn a_download_is_part_of_what_is_approved() {
    let home = Home::new("plan");
    let mut with = plan("x");
    with.download = Some(Download {
        url: "https://example.org/x".into(),
        sha256: Some("ab".repeat(32)),
        folder: "x/1-a".into(),
        raw: None,
    });
    let (stored, _) = home.read(Change::Approve { name: "x".into(), plan: with.clone() });
    assert_eq!(stored.approved["x"], with);
    assert_ne!(stored.approved["x"], plan("x"));
}
