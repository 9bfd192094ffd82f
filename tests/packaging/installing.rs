//! Neovim's own builds for CI: the one for this machine is taken, and only if it is what its release says. `gh` is a
//! stand-in with such a release.

use super::tree::{Ran, Tree, read};

/// Puts a release of Neovim's behind `gh`: an archive with a program that prints its version.
fn neovim(tree: &Tree, asset: &str, digest: &str) {
    let top = asset.trim_end_matches(".tar.gz");
    tree.write(&format!("{top}/bin/nvim"), "#!/bin/sh\necho NVIM stand-in\n");
    let pack = format!("cd \"$TREE\" && chmod +x {top}/bin/nvim && tar -czf {asset} {top} && sha256 {asset}");
    tree.program(
        "prepare",
        &format!("sha256() {{ sha256sum \"$1\" 2>/dev/null || shasum -a 256 \"$1\"; }}\n({pack}) | cut -d ' ' -f 1 >\"$TREE/hash\""),
    );
    tree.run("programs/prepare", &[]).succeeded();
    let hash = tree.read("hash");
    let digest = digest.replace("HASH", hash.trim());
    let (offered, file) = match digest.strip_prefix("file:") {
        Some(hash) => ("", hash.to_owned()),
        None => (digest.as_str(), String::new()),
    };
    tree.program(
        "gh",
        &format!(
            "printf '%s\\n' \"$*\" >>\"$TREE/asked\"
             for folder; do :; done
             case \"$*\" in
             'api '*) echo '{offered}' ;;
             *sha256sum*) [ -n '{file}' ] && echo '{file}  {asset}' >\"$folder/{asset}.sha256sum\" ;;
             *'--pattern {asset} '*) cp \"$TREE/{asset}\" \"$folder/\" ;;
             *) exit 1 ;;
             esac"
        ),
    );
}

fn install(tree: &Tree, version: &str, system: &str, machine: &str) -> Ran {
    tree.program("uname", &format!("case $1 in -s) echo {system} ;; -m) echo {machine} ;; esac"));
    tree.run("scripts/ci/install-neovim", &[version])
}

#[test]
fn neovim_is_installed_from_its_release_for_this_machine() {
    for (system, machine, asset) in [
        ("Linux", "x86_64", "nvim-linux-x86_64.tar.gz"),
        ("Linux", "aarch64", "nvim-linux-arm64.tar.gz"),
        ("Darwin", "arm64", "nvim-macos-arm64.tar.gz"),
        ("Darwin", "x86_64", "nvim-macos-x86_64.tar.gz"),
    ] {
        let tree = Tree::new();
        neovim(&tree, asset, "sha256:HASH");
        let ran = install(&tree, "0.11.2", system, machine);
        assert!(ran.ok && !ran.err.contains("NOT VERIFIED"), "{ran:?}");
        let nvim = format!(".deps/neovim-v0.11.2/{}/bin/nvim", asset.trim_end_matches(".tar.gz"));
        assert_eq!(ran.out, format!("{}\n", tree.file(&nvim).display()));
        // It's there now.
        std::fs::remove_file(tree.file("asked")).unwrap();
        install(&tree, "0.11.2", system, machine).succeeded();
        assert!(!tree.file("asked").exists());
    }
    let said = install(&Tree::new(), "0.11", "Plan9", "mips").failed();
    assert!(said.contains("Neovim has no build for Plan9 on mips"), "{said}");
    assert!(install(&Tree::new(), "0.9", "Linux", "x86_64").failed().contains("no such version"));
}

#[test]
fn a_neovim_that_is_not_what_its_release_says_is_not_installed() {
    let asset = "nvim-linux-x86_64.tar.gz";
    for (digest, verified) in [
        ("sha256:HASH", Some(true)),
        ("sha256:0000", Some(false)),
        // As releases before GitHub's own checksums have it.
        ("file:HASH", Some(true)),
        ("file:0000", Some(false)),
        ("", None),
    ] {
        let tree = Tree::new();
        neovim(&tree, asset, digest);
        let ran = install(&tree, "0.10", "Linux", "x86_64");
        assert_eq!(ran.ok, verified != Some(false), "{digest}: {ran:?}");
        assert_eq!(
            ran.err.contains("isn't what its checksum says"),
            verified == Some(false),
            "{digest}: {ran:?}"
        );
        assert_eq!(ran.err.contains("NOT VERIFIED"), verified.is_none(), "{digest}: {ran:?}");
        // Nothing half-done stays.
        let left = std::fs::read_dir(tree.file(".deps")).unwrap().count();
        assert_eq!(left, usize::from(ran.ok), "{digest}");
    }
}

#[test]
fn a_nightly_neovim_is_fetched_each_time() {
    let tree = Tree::new();
    neovim(&tree, "nvim-linux-x86_64.tar.gz", "sha256:HASH");
    for count in 1..=2 {
        install(&tree, "nightly", "Linux", "x86_64").succeeded();
        let asked = tree.read("asked");
        assert_eq!(asked.lines().filter(|line| line.starts_with("release download nightly")).count(), count);
    }
}

#[test]
fn each_supported_neovim_is_one_exact_release() {
    let script = read("scripts/ci/install-neovim");
    for version in super::workflows::supported_versions() {
        assert!(script.contains(&format!("{version}) version={version}.")), "{version}");
    }
}
