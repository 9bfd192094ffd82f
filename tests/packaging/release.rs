//! The scripts that make the files of a release: what they print and write, and when they refuse.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::time::{Duration, SystemTime};

use regex_lite::Regex;

use super::tree::{Tree, root, targets};
use crate::support;
use crate::support::project::TempProject;

/// The time of every file in an archive.
const IN_1980: Duration = Duration::from_secs(315_532_800);

/// Of the files in `Tree`, computed by hand from the rule in scripts/fingerprint.
const FINGERPRINT: &str = "1e3ee064e980fee685075bfd9b532bcd1000a3d7941210971dccc29dd98efcbb";

fn fingerprint(tree: &Tree) -> String {
    tree.run("scripts/fingerprint", &[]).succeeded().trim_end().to_owned()
}

#[test]
fn the_fingerprint_is_that_of_a_list_of_hashes() {
    assert_eq!(fingerprint(&Tree::new()), FINGERPRINT);
}

#[test]
fn the_fingerprint_changes_with_each_file_that_the_library_is_built_from_and_with_no_other() {
    let tree = Tree::new();
    for other in ["src/bin/agent/main.rs", "lua/acp/init.lua", "README.md", "target/debug/build"] {
        tree.write(other, "changed");
        assert_eq!(fingerprint(&tree), FINGERPRINT, "{other}");
    }
    let mut seen = vec![FINGERPRINT.to_owned()];
    for input in [
        "Cargo.lock",
        "Cargo.toml",
        "build.rs",
        "lua/acp/interface.lua",
        "src/lib.rs",
        "src/with a blank.rs",
        "src/nvim/pipe.lua",
        "src/nvim/bin/mod.rs",
    ] {
        tree.write(input, "changed");
        let fingerprint = fingerprint(&tree);
        assert!(!seen.contains(&fingerprint), "{input}");
        seen.push(fingerprint);
    }
    fs::remove_file(tree.file("lua/acp/interface.lua")).unwrap();
    assert!(!seen.contains(&fingerprint(&tree)));
}

#[test]
fn the_fingerprint_is_the_same_where_sha256sum_marks_files_as_binary() {
    let tree = Tree::new();
    let real = if has("sha256sum") { "sha256sum" } else { "shasum -a 256" };
    // As Git for Windows has it.
    tree.program("sha256sum", &format!("PATH=${{PATH#*:}}; {real} \"$@\" | sed 's/^\\(.*\\)  /\\1 */'"));
    assert_eq!(fingerprint(&tree), FINGERPRINT);
}

#[test]
fn half_a_list_gives_no_fingerprint() {
    let tree = Tree::new();
    tree.write("src/two\nlines.rs", "");
    assert!(!tree.run("scripts/fingerprint", &[]).ok);
    let tree = Tree::new();
    fs::remove_file(tree.file("Cargo.lock")).unwrap();
    assert!(tree.run("scripts/fingerprint", &[]).failed().contains("no Cargo.lock"));
}

fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

#[test]
fn a_release_is_described_by_version_fingerprint_and_interface() {
    let tree = Tree::new();
    let wanted =
        format!("{{\"version\":\"1.2.3\",\"fingerprint\":\"{FINGERPRINT}\",\"interface\":\"0123abc\"}}\n");
    assert_eq!(tree.run("scripts/release/describe", &[]).succeeded(), wanted);
    tree.write("lua/acp/interface.lua", "return {}\n");
    assert!(tree.run("scripts/release/describe", &[]).failed().contains("doesn't return a string of hex"));
    fs::remove_file(tree.file("lua/acp/interface.lua")).unwrap();
    assert!(tree.run("scripts/release/describe", &[]).failed().contains("interface.lua isn't there"));
}

#[test]
fn an_archive_holds_the_library_the_demo_agent_and_the_license_and_nothing_else() {
    let tree = Tree::new();
    for (target, library, demo_agent) in [
        ("x86_64-unknown-linux-musl", "libacp_nvim.so", "acp-demo-agent"),
        ("aarch64-apple-darwin", "libacp_nvim.dylib", "acp-demo-agent"),
        ("x86_64-pc-windows-msvc", "acp_nvim.dll", "acp-demo-agent.exe"),
    ] {
        tree.build(target);
        tree.write(&format!("target/release-files/{target}/left.over"), "");
        let archive = format!("target/release-files/acp-nvim-{target}.tar.gz");
        assert_eq!(tree.run("scripts/release/pack", &[target]).succeeded(), format!("{archive}\n"));
        let unpacked = TempProject::new(&[]);
        let tar = Command::new("tar")
            .args(["-xpzf".as_ref(), tree.file(&archive).as_os_str()])
            .current_dir(unpacked.path())
            .status();
        assert!(tar.unwrap().success());
        let mut names: Vec<_> =
            fs::read_dir(unpacked.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        let mut wanted = ["LICENSE", library, demo_agent];
        wanted.sort_unstable();
        assert_eq!(names, wanted);
        assert_eq!(unpacked.read(library), format!("library for {target}"));
        let mode = |name| fs::metadata(unpacked.file(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!([mode(library), mode(demo_agent), mode("LICENSE")], [0o755, 0o755, 0o644]);
        for name in wanted {
            let written = fs::metadata(unpacked.file(name)).unwrap().modified().unwrap();
            assert_eq!(written, SystemTime::UNIX_EPOCH + IN_1980, "{name}");
        }
    }
}

#[test]
fn the_same_files_make_the_same_archive() {
    let tree = Tree::new();
    let target = "x86_64-unknown-linux-gnu";
    let archive = tree.file(&format!("target/release-files/acp-nvim-{target}.tar.gz"));
    tree.build(target);
    tree.run("scripts/release/pack", &[target]).succeeded();
    let first = fs::read(&archive).unwrap();
    // The format's third and following bytes: deflated, no name, no time.
    assert_eq!(first[2..8], [8, 0, 0, 0, 0, 0]);
    // Another day, and rights that were lost on the way through an artifact.
    let agent = tree.file(&format!("target/release-files/{target}/acp-demo-agent"));
    let opened = fs::File::options().append(true).open(&agent).unwrap();
    opened.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o600)).unwrap();
    tree.run("scripts/release/pack", &[target]).succeeded();
    assert!(first == fs::read(&archive).unwrap());
}

#[test]
fn what_was_not_built_is_not_packed() {
    let tree = Tree::new();
    let said = tree.run("scripts/release/pack", &["x86_64-unknown-linux-gnu"]).failed();
    assert!(said.contains("run scripts/release/build x86_64-unknown-linux-gnu"), "{said}");
    let said = tree.run("scripts/release/pack", &["sparc"]).failed();
    assert!(said.contains("sparc isn't a target of ours; take one of: aarch64-apple-darwin "), "{said}");
    assert!(tree.run("scripts/release/build", &["sparc"]).failed().contains("sparc isn't a target of ours"));
}

#[test]
fn the_checksums_are_of_every_archive_and_the_description() {
    let tree = Tree::new();
    for target in targets() {
        tree.build(&target);
    }
    tree.run("scripts/release/pack", &["--all"]).succeeded();
    tree.run("scripts/release/sums", &[]).succeeded();
    let sums = tree.read("target/release-files/SHA256SUMS");
    let names: Vec<_> =
        sums.lines().map(|line| line.split_once("  ").expect("a hash and a name").1).collect();
    let mut wanted: Vec<_> = targets().iter().map(|target| format!("acp-nvim-{target}.tar.gz")).collect();
    wanted.push("build.json".to_owned());
    assert_eq!(names, wanted);
    for line in sums.lines() {
        let (hash, name) = line.split_once("  ").expect("a hash and a name");
        let program: &[&str] = if has("sha256sum") { &["sha256sum"] } else { &["shasum", "-a", "256"] };
        let file = tree.file(&format!("target/release-files/{name}"));
        let output = Command::new(program[0]).args(&program[1..]).arg(file).output().unwrap();
        assert!(String::from_utf8(output.stdout).unwrap().starts_with(hash), "{name}");
    }
    fs::remove_file(tree.file("target/release-files/acp-nvim-x86_64-apple-darwin.tar.gz")).unwrap();
    let said = tree.run("scripts/release/sums", &[]).failed();
    assert!(said.contains("run scripts/release/pack x86_64-apple-darwin"), "{said}");
}

#[test]
fn notes_are_the_versions_section_with_no_line_broken() {
    let tree = Tree::new();
    let notes = |version| tree.run("scripts/release/notes", &[version]);
    assert_eq!(
        notes("Unreleased").succeeded(),
        "### Added\n\n- One thing, which takes two lines.\n- Another.\n"
    );
    assert_eq!(notes("1.2.3").succeeded(), "The first of all.\n\n```sh\nmake\n  it\n```\n");
    assert!(notes("1.2").failed().contains("no section for 1.2\n"));
    tree.write("CHANGELOG.md", "## [Unreleased]\n\n## [1.2.3] - 2026-01-31\n");
    assert!(notes("Unreleased").failed().contains("says nothing about Unreleased"));
}

#[test]
fn a_tag_is_released_only_from_the_sources_of_its_version() {
    let tree = Tree::new();
    let check = |tag| tree.run("scripts/release/check", &[tag]);
    assert!(check("v1.2.3").succeeded().contains("2026-01-31"));
    check("edge").succeeded();
    assert!(check("v1.2.4").failed().contains("the tag of Cargo.toml's version is v1.2.3"));
    assert!(check("1.2.3").failed().contains("the tag of Cargo.toml's version is v1.2.3"));

    tree.write("CHANGELOG.md", "## [1.2.3]\n\nNew.\n");
    assert!(check("v1.2.3").failed().contains("no date for 1.2.3"));
    tree.write("CHANGELOG.md", "## [Unreleased]\n\nNew.\n");
    assert!(check("v1.2.3").failed().contains("no section for 1.2.3"));
    check("edge").succeeded();

    tree.write("Cargo.lock", &tree.read("Cargo.lock").replace("1.2.3", "1.2.2"));
    assert!(check("edge").failed().contains("Cargo.lock has version 1.2.2, Cargo.toml has 1.2.3"));
}

#[test]
fn a_fork_is_told_that_it_releases_nothing() {
    let tree = Tree::new();
    let output = tree.file("output");
    let output = output.to_str().unwrap();
    let check = |repository: &str| {
        let env = [("GITHUB_OUTPUT", output), ("GITHUB_REPOSITORY", repository)];
        tree.run_with("scripts/release/check", &["edge"], &env).succeeded()
    };
    assert!(check("somebody/fork").contains("nothing is released here"));
    tree.write("lua/acp/repository.lua", "--- Ours now.\nreturn \"somebody/fork\"\n");
    check("somebody/fork");
    assert_eq!(tree.read("output"), "wanted=false\nwanted=true\n");
}

#[test]
fn a_release_is_prepared_in_three_files_and_then_passes_the_check() {
    let tree = Tree::new();
    let said = tree.run("scripts/release/cut", &["1.3.0", "2026-02-28"]).succeeded();
    assert!(said.contains("1.2.3 -> 1.3.0") && said.contains("git tag -a v1.3.0"), "{said}");
    assert_eq!(
        tree.read("Cargo.toml"),
        "[package]\nname = \"acp-nvim\"\nversion = \"1.3.0\"\n\n[dependencies]\nother = { version = \"9\" }\n"
    );
    assert!(tree.read("Cargo.lock").contains("name = \"acp-nvim\"\nversion = \"1.3.0\"\n"));
    assert!(tree.read("Cargo.lock").contains("name = \"other\"\nversion = \"9.0.0\"\n"));
    assert!(
        tree.read("CHANGELOG.md")
            .contains("## [Unreleased]\n\n## [1.3.0] - 2026-02-28\n\n### Added\n\n- One thing")
    );
    tree.run("scripts/release/check", &["v1.3.0"]).succeeded();
    assert!(tree.run("scripts/release/notes", &["1.3.0"]).succeeded().contains("- Another."));
}

#[test]
fn a_release_that_cannot_be_prepared_changes_no_file() {
    let tree = Tree::new();
    let before = ["Cargo.toml", "Cargo.lock", "CHANGELOG.md"].map(|file| tree.read(file));
    for (version, date, why) in [
        ("1.3", "2026-02-28", "1.3 isn't a version"),
        ("v1.3.0", "2026-02-28", "v1.3.0 isn't a version"),
        ("1.3.0", "28.2.2026", "28.2.2026 isn't a date"),
        ("1.3.0", "2026-13-01", "2026-13-01 isn't a date"),
        ("1.3.0", "", "nothing isn't a date"),
        ("1.2.3", "2026-02-28", "has a section for 1.2.3 already"),
    ] {
        let said = tree.run("scripts/release/cut", &[version, date]).failed();
        assert!(said.contains(why), "{said}");
    }
    assert_eq!(["Cargo.toml", "Cargo.lock", "CHANGELOG.md"].map(|file| tree.read(file)), before);
    tree.write("CHANGELOG.md", "## [Unreleased]\n\n## [1.2.3] - 2026-01-31\n");
    let said = tree.run("scripts/release/cut", &["1.3.0", "2026-02-28"]).failed();
    assert!(said.contains("says nothing about Unreleased"), "{said}");
    assert_eq!(tree.read("Cargo.toml"), before[0]);
}

#[test]
fn the_first_release_keeps_the_version_that_the_sources_have() {
    let tree = Tree::new();
    tree.write("CHANGELOG.md", "## [Unreleased]\n\nAll of it.\n");
    tree.run("scripts/release/cut", &["1.2.3", "2026-02-28"]).succeeded();
    tree.run("scripts/release/check", &["v1.2.3"]).succeeded();
}

#[test]
fn each_target_is_built_by_what_its_system_needs() {
    let tree = Tree::new();
    let commands = |target: &str| {
        tree.run_with("scripts/release/build", &["--dry-run", target], &[("ACP_PROFILE", "tiny")]).succeeded()
    };
    for target in targets() {
        let commands = commands(&target);
        assert!(commands.ends_with(&format!("\ntarget/release-files/{target}\n")), "{commands}");
        assert!(commands.contains(" --locked --lib --bins --profile tiny "), "{commands}");
        assert!(commands.contains(&format!("target/{target}/tiny/")), "{commands}");
    }
    let linked = Regex::new(r"RUSTFLAGS=-C link-arg=/\S*/libgcc_s\.so\.1 ").unwrap();
    let gnu = commands("aarch64-unknown-linux-gnu");
    assert!(
        gnu.contains("cargo zigbuild ") && gnu.contains("--target aarch64-unknown-linux-gnu.2.17\n"),
        "{gnu}"
    );
    assert!(gnu.contains("zig cc -target aarch64-linux-gnu.2.17 ") && linked.is_match(&gnu), "{gnu}");
    assert!(!gnu.contains("crt-static"), "{gnu}");
    let musl = commands("x86_64-unknown-linux-musl");
    assert!(musl.contains("CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_RUSTFLAGS="), "{musl}");
    assert!(musl.contains("-C target-feature=-crt-static") && linked.is_match(&musl), "{musl}");
    assert!(musl.contains("--target x86_64-unknown-linux-musl\n"), "{musl}");
    let mac = commands("x86_64-apple-darwin");
    assert!(mac.contains("cargo build ") && mac.contains("MACOSX_DEPLOYMENT_TARGET="), "{mac}");
    assert!(mac.contains("/libacp_nvim.dylib "), "{mac}");
    let windows = commands("aarch64-pc-windows-msvc");
    assert!(windows.contains("-C target-feature=+crt-static"), "{windows}");
    assert!(windows.contains("/acp_nvim.dll ") && windows.contains("/acp-demo-agent.exe "), "{windows}");
}

fn smoke(folder: &TempProject) -> std::process::Output {
    let mut command = Command::new(root().join("scripts/release/smoke"));
    command.arg(folder.path()).current_dir("/").env("NVIM", support::neovim()).env_remove("ACP_NVIM_LIB");
    command.output().expect("the script starts")
}

#[test]
fn a_built_library_is_tried_in_neovim_with_its_demo_agent() {
    let folder = TempProject::new(&[]);
    let library = support::library();
    let name = library.file_name().expect("a library is a file").to_str().expect("a name in UTF-8");
    symlink(&library, folder.file(name)).unwrap();
    symlink(support::demo_agent(), folder.file("acp-demo-agent")).unwrap();
    let output = smoke(&folder);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    for line in ["ok      an error arrives in Lua\n", "ok      the turn ends well\n", "the library works: "] {
        assert!(said.contains(line), "{said}");
    }
}

#[test]
fn a_library_that_does_not_load_is_found_out() {
    let folder = TempProject::new(&[("libacp_nvim.so", "no library"), ("acp-demo-agent", "")]);
    let output = smoke(&folder);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("couldn't try the library: couldn't load"), "{said}");
}
