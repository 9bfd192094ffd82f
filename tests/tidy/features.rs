//! Features of the editor's side know the context and the rooms that all share, but neither each other nor the router.
//! So one can be read, changed and tested alone. The shared rooms know no feature.

use super::{module_of, paths, read, resolve, rust_files};

const FEATURES: &[&str] = &[
    "agents",
    "audit",
    "chat",
    "checkpoints",
    "extensions",
    "files",
    "follow",
    "inspector",
    "prompt",
    "questions",
    "review",
    "rules",
    "sessions",
    "terminals",
    "tools",
    "usage",
];

/// They put the features together.
const ROUTER: &[&str] = &["actions", "app", "autocommands", "keys", "mod"];

/// What of `nvim` itself is the router's.
const OF_THE_ROUTER: &[&str] = &["app_of", "enter", "enter_again", "later", "look", "run", "when_free"];

/// Why the room may not name this path, if it may not.
fn objection(room: &str, path: &[String]) -> Option<String> {
    let named = match path {
        [root, nvim, named, ..] if root == "crate" && nvim == "nvim" => named.as_str(),
        _ => return None,
    };
    let is_other_feature = FEATURES.contains(&named) && named != room;
    let is_router = ROUTER.contains(&named) && named != "keys" || OF_THE_ROUTER.contains(&named);
    (is_other_feature || is_router).then(|| format!("{room} names {}", path.join("::")))
}

#[test]
fn features_name_neither_each_other_nor_the_router() {
    let mut wrong = Vec::new();
    for file in rust_files("src/nvim") {
        let module = module_of(&file);
        let Some(room) = module.get(1).map(String::as_str).filter(|room| !ROUTER.contains(room)) else {
            continue;
        };
        for named in paths(&read(&file)) {
            let path = resolve(&module, named.path);
            wrong.extend(objection(room, &path).map(|why| format!("{}: {why}", file.display())));
        }
    }
    assert!(wrong.is_empty(), "tell it by an EditorEvent, or share it in the context:\n{}", wrong.join("\n"));
}

#[test]
fn each_feature_is_a_room() {
    let files: Vec<String> = rust_files("src/nvim").iter().map(|file| file.display().to_string()).collect();
    for feature in FEATURES {
        let room = format!("src/nvim/{feature}");
        assert!(files.iter().any(|file| file.starts_with(&room)), "there is no {room}");
    }
}

#[test]
fn another_feature_and_the_router_are_found_by_their_names() {
    let found =
        |path: &str| objection("chat", &path.split("::").map(str::to_owned).collect::<Vec<_>>()).is_some();
    assert!(
        found("crate::nvim::review::Reviews") && found("crate::nvim::app::App") && found("crate::nvim::run")
    );
    assert!(!found("crate::nvim::chat::windows") && !found("crate::nvim::context::Context"));
}
