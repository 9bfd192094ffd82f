//! The workflows are YAML, name what there is, and agree with the rest of the project about systems and versions.

use regex_lite::Regex;
use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Value};

use super::tree::{files_below, read, targets};

fn workflow(name: &str) -> Value {
    let text = read(&format!(".github/workflows/{name}"));
    let documents = Yaml::load_from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(documents.len(), 1, "{name}");
    plain(&documents[0])
}

/// As JSON, in which what is missing is null.
fn plain(yaml: &Yaml) -> Value {
    match yaml {
        Yaml::Value(Scalar::Boolean(value)) => (*value).into(),
        Yaml::Value(Scalar::Integer(value)) => (*value).into(),
        Yaml::Value(Scalar::FloatingPoint(value)) => value.into_inner().into(),
        Yaml::Value(Scalar::String(value)) => value.as_ref().into(),
        Yaml::Sequence(values) => values.iter().map(plain).collect(),
        Yaml::Mapping(entries) => {
            let entry =
                |(key, value): (&Yaml, &Yaml)| (key.as_str().expect("a text").to_owned(), plain(value));
            Value::Object(entries.iter().map(entry).collect())
        }
        Yaml::Value(Scalar::Null) => Value::Null,
        other => panic!("what is {other:?}"),
    }
}

fn names() -> Vec<String> {
    let files = files_below(".github/workflows");
    files.iter().map(|file| file.rsplit_once('/').expect("in a folder").1.to_owned()).collect()
}

fn jobs(workflow: &Value) -> &Map<String, Value> {
    workflow["jobs"].as_object().expect("jobs")
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().expect("a list").iter().map(|value| value.as_str().expect("a text").to_owned()).collect()
}

/// The Neovims that `make test-versions` runs, oldest first.
pub fn supported_versions() -> Vec<String> {
    let script = read("scripts/test-versions");
    let version = Regex::new(r"\b0\.\d+\b").unwrap();
    let mut versions: Vec<_> = version.find_iter(&script).map(|found| found.as_str().to_owned()).collect();
    versions.sort_by_key(|version| version[2..].parse::<u32>().expect("a number"));
    versions.dedup();
    versions
}

#[test]
fn workflows_may_only_read_unless_a_job_says_more() {
    for name in names() {
        let workflow = workflow(&name);
        assert_eq!(workflow["permissions"], serde_json::json!({ "contents": "read" }), "{name}");
        for (job, steps) in jobs(&workflow) {
            let called = steps["uses"].is_string();
            assert!(called || steps["timeout-minutes"].is_u64(), "{name}: {job} may run for hours");
        }
    }
}

#[test]
fn actions_are_pinned_to_a_commit_whose_version_is_named() {
    let pinned = Regex::new(r"^\s*- uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$").unwrap();
    let mut count = 0;
    for name in names() {
        for line in read(&format!(".github/workflows/{name}")).lines().filter(|line| line.contains("uses:")) {
            assert!(line.contains("uses: ./.github/workflows/") || pinned.is_match(line), "{name}: {line}");
            count += 1;
        }
    }
    assert!(count > 5);
}

#[test]
fn the_tests_run_on_each_system_with_each_neovim_that_is_supported() {
    let ci = workflow("ci.yml");
    let matrix = &ci["jobs"]["test"]["strategy"]["matrix"];
    let mut versions = texts(&matrix["neovim"]);
    assert_eq!(versions.pop().as_deref(), Some("nightly"));
    assert_eq!(versions, supported_versions());
    let oldest = format!("Neovim {} or newer", versions[0]);
    assert!(read("README.md").contains(&oldest), "the README doesn't say {oldest:?}");

    let systems: Vec<_> =
        texts(&matrix["system"]).iter().map(|system| system.split('-').next().unwrap().to_owned()).collect();
    assert_eq!(systems, ["ubuntu", "macos", "windows"]);
    for system in ["Linux", "macOS", "Windows"] {
        assert!(read("README.md").contains(system));
    }
    let may_fail = ci["jobs"]["test"]["continue-on-error"].as_str().expect("a condition");
    assert_eq!(may_fail, "${{ matrix.neovim == 'nightly' }}");
}

#[test]
fn each_target_is_built_once_and_on_a_machine_of_its_kind() {
    let release = workflow("release.yml");
    let builds = release["jobs"]["build"]["strategy"]["matrix"]["include"].as_array().expect("a list");
    let mut built = Vec::new();
    for build in builds {
        let target = build["target"].as_str().expect("a target");
        let system = build["system"].as_str().expect("a system");
        let fits = match target.split_once('-').expect("a target") {
            ("x86_64", "apple-darwin") => system.starts_with("macos-") && system.ends_with("-intel"),
            ("aarch64", "apple-darwin") => system.starts_with("macos-") && !system.ends_with("-intel"),
            ("aarch64", "pc-windows-msvc") => system.starts_with("windows-") && system.ends_with("-arm"),
            ("x86_64", "pc-windows-msvc") => system.starts_with("windows-") && !system.ends_with("-arm"),
            ("aarch64", _) => system.starts_with("ubuntu-") && system.ends_with("-arm"),
            _ => system.starts_with("ubuntu-") && !system.ends_with("-arm"),
        };
        assert!(fits, "{target} on {system}");
        built.push(target.to_owned());
    }
    built.sort();
    assert_eq!(built, targets());
}

#[test]
fn the_rolling_release_has_one_name() {
    let common = read("scripts/release/common.sh");
    let name = common.lines().find_map(|line| line.strip_prefix("rolling=")).expect("its name");
    let release = workflow("release.yml");
    let chosen = format!("${{{{ github.event_name == 'workflow_run' && '{name}' || github.ref_name }}}}");
    assert_eq!(release["env"]["TAG"].as_str(), Some(chosen.as_str()));
    assert_eq!(release["concurrency"]["group"].as_str(), Some(format!("release-{chosen}").as_str()));
    let tags = texts(&release["on"]["push"]["tags"]);
    assert_eq!(tags, ["v*"], "publishing the rolling release must not start another one");
}

#[test]
fn a_release_is_published_after_its_tests_and_all_its_builds() {
    let release = workflow("release.yml");
    let publish = &release["jobs"]["publish"];
    assert_eq!(texts(&publish["needs"]), ["check", "test", "build"]);
    assert_eq!(release["jobs"]["test"]["uses"].as_str(), Some("./.github/workflows/ci.yml"));
    assert!(workflow("ci.yml")["on"].as_object().expect("events").contains_key("workflow_call"));
    // The name of the workflow whose end starts the rolling release.
    assert_eq!(
        texts(&release["on"]["workflow_run"]["workflows"]),
        [workflow("ci.yml")["name"].as_str().unwrap()]
    );
    for (job, steps) in jobs(&release) {
        let writes = steps["permissions"]["contents"] == "write";
        assert_eq!(writes, job == "publish", "{job}");
    }
}
