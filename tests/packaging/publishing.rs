//! What is asked of GitHub when a release is published. `gh` is a stand-in that writes down what it is asked.

use super::tree::{Ran, Tree, targets};

/// Writes its arguments and a release's notes down, then answers as `answers` says.
fn gh(tree: &Tree, answers: &str) {
    let body = format!(
        "printf '%s\\n' \"$*\" >>\"$TREE/asked\"
         for argument; do
             [ \"${{previous:-}}\" != --notes-file ] || cat \"$argument\" >\"$TREE/notes\"
             previous=$argument
         done
         case \"$*\" in
         {answers}
         esac"
    );
    tree.program("gh", &body);
}

/// What gh was asked to change, each as its first words.
fn changes(tree: &Tree) -> Vec<String> {
    let asked = if tree.file("asked").exists() { tree.read("asked") } else { String::new() };
    let changing = |line: &&str| {
        ["create", "delete", "edit"].iter().any(|verb| line.contains(&format!("release {verb} ")))
    };
    asked.lines().filter(changing).map(|line| line.split(' ').take(3).collect::<Vec<_>>().join(" ")).collect()
}

/// A tree with all that a release has.
fn packed() -> Tree {
    let tree = Tree::new();
    for target in targets() {
        tree.build(&target);
    }
    tree.run("scripts/release/pack", &["--all"]).succeeded();
    tree.run("scripts/release/sums", &[]).succeeded();
    tree.program("git", "echo 2222");
    tree
}

fn publish(tree: &Tree, args: &[&str]) -> Ran {
    tree.run_with("scripts/release/publish", args, &[("GITHUB_REPOSITORY", "owner/acp.nvim")])
}

#[test]
fn a_version_is_published_with_its_notes_and_all_its_files() {
    let tree = packed();
    gh(&tree, "'release create'*) ;;\n*) exit 1 ;;");
    publish(&tree, &["v1.2.3"]).succeeded();
    assert_eq!(changes(&tree), ["release create v1.2.3"]);
    let asked = tree.read("asked");
    let create = asked.lines().find(|line| line.starts_with("release create")).unwrap();
    for target in targets() {
        assert!(create.contains(&format!(" target/release-files/acp-nvim-{target}.tar.gz ")), "{create}");
    }
    for part in ["/build.json ", "/SHA256SUMS ", " --verify-tag ", " --repo owner/acp.nvim"] {
        assert!(create.contains(part), "{part} is missing: {create}");
    }
    assert!(!create.contains("--prerelease"), "{create}");
    assert_eq!(tree.read("notes"), "The first of all.\n\n```sh\nmake\n  it\n```\n");
}

#[test]
fn a_version_is_published_once() {
    let tree = packed();
    gh(&tree, "'release view'*) echo false ;;");
    assert!(publish(&tree, &["v1.2.3"]).failed().contains("v1.2.3 is published already"));
    assert_eq!(changes(&tree), [""; 0]);
    // A run that was ended leaves a draft.
    gh(&tree, "'release view'*) echo true ;;");
    publish(&tree, &["v1.2.3"]).succeeded();
    assert_eq!(changes(&tree), ["release delete v1.2.3", "release create v1.2.3"]);
}

#[test]
fn a_version_with_a_suffix_is_a_pre_release() {
    let tree = Tree::new();
    tree.run("scripts/release/cut", &["1.3.0-rc.1", "2026-02-28"]).succeeded();
    for target in targets() {
        tree.build(&target);
    }
    tree.run("scripts/release/pack", &["--all"]).succeeded();
    tree.run("scripts/release/sums", &[]).succeeded();
    tree.program("git", "echo 2222");
    let said = publish(&tree, &["--dry-run", "v1.3.0-rc.1"]).succeeded();
    assert!(said.contains(" --prerelease ") && said.contains("One thing, which takes two lines."), "{said}");
}

#[test]
fn the_rolling_release_is_complete_before_it_takes_the_place_of_the_old_one() {
    let tree = packed();
    // GitHub makes a draft of it once more, as it does now and then.
    gh(
        &tree,
        "*git/ref/tags/edge*) echo 1111 ;;
         *compare/1111...2222*) echo ahead ;;
         'release list'*) echo edge-0000 ;;
         'release edit'*) [ -f \"$TREE/edited\" ] && echo false >\"$TREE/state\" || echo true >\"$TREE/state\"
            touch \"$TREE/edited\" ;;
         'release view edge '*) cat \"$TREE/state\" 2>/dev/null || echo false ;;",
    );
    publish(&tree, &["edge"]).succeeded();
    assert_eq!(
        changes(&tree),
        [
            "release delete edge-0000",
            "release create edge-2222",
            "release delete edge",
            "release edit edge-2222",
            "release edit edge",
        ]
    );
    let asked = tree.read("asked");
    let line = |start: &str| asked.lines().find(|line| line.starts_with(start)).unwrap();
    for part in ["--draft", "--prerelease", "--target 2222"] {
        assert!(line("release create").contains(part), "{asked}");
    }
    assert!(line("release delete edge ").contains("--cleanup-tag"), "{asked}");
    assert!(line("release edit").contains("--tag edge --draft=false"), "{asked}");
    assert!(tree.read("notes").contains("built from 2222") && tree.read("notes").lines().count() == 1);
}

#[test]
fn the_first_rolling_release_has_nothing_to_replace() {
    let tree = packed();
    gh(
        &tree,
        "*git/ref/tags/edge*) exit 1 ;;
         'release edit'*) touch \"$TREE/edited\" ;;
         'release view edge '*) [ -f \"$TREE/edited\" ] && echo false || exit 1 ;;",
    );
    publish(&tree, &["edge"]).succeeded();
    assert_eq!(changes(&tree), ["release create edge-2222", "release edit edge-2222"]);
}

#[test]
fn an_older_change_does_not_replace_a_newer_one() {
    let tree = packed();
    gh(&tree, "*git/ref/tags/edge*) echo 3333 ;;\n*compare/3333...2222*) echo behind ;;");
    assert!(publish(&tree, &["edge"]).succeeded().contains("a newer one is published"));
    assert_eq!(changes(&tree), [""; 0]);
}

#[test]
fn a_rolling_release_that_stays_a_draft_says_how_to_finish_it() {
    let tree = packed();
    gh(&tree, "*git/ref/tags/edge*) exit 1 ;;\n'release edit'*) exit 1 ;;\n'release view edge '*) exit 1 ;;");
    let said = publish(&tree, &["edge"]).failed();
    assert!(said.contains("gh release edit edge-2222 --tag edge --draft=false"), "{said}");
}

#[test]
fn what_does_not_fit_together_is_not_published() {
    let tree = packed();
    gh(&tree, "");
    tree.write("target/release-files/acp-nvim-x86_64-apple-darwin.tar.gz", "another");
    assert!(publish(&tree, &["edge"]).failed().contains("SHA256SUMS doesn't fit the files"));
    let tree = packed();
    gh(&tree, "");
    tree.write("src/lib.rs", "changed since\n");
    assert!(publish(&tree, &["edge"]).failed().contains("build.json is of other sources"));
    assert_eq!(changes(&tree), [""; 0]);
}

#[test]
fn a_dry_run_asks_github_nothing() {
    let tree = packed();
    gh(&tree, "");
    let said = publish(&tree, &["--dry-run", "edge"]).succeeded();
    let order = ["gh release create edge-2222 ", "gh release delete edge ", "gh release edit edge-2222 "];
    let at = order.map(|part| said.find(part).unwrap_or_else(|| panic!("{part} is missing: {said}")));
    assert!(at.is_sorted(), "{said}");
    assert!(!tree.file("asked").exists());
}
