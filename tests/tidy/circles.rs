//! No circles by imports between files: whoever changes one of two files that need each other has to read both. A file
//! needs another when it uses something in it, or names it by a path from `crate` or `super`. That a parent declares a
//! module, calls into it or exports what is in it is none of that.

use std::collections::{BTreeMap, BTreeSet};

use super::{By, is_test_file, module_of, paths, read, resolve, rust_files, shrinking};

/// For each file, as a module, the other files that it needs.
type Graph = BTreeMap<String, BTreeSet<String>>;

fn graph(files: &BTreeMap<String, String>) -> Graph {
    let mut graph = Graph::new();
    for (file, source) in files {
        let module: Vec<String> = file.split("::").map(str::to_owned).collect();
        let needed = graph.entry(file.clone()).or_default();
        for named in paths(source).into_iter().filter(|named| !named.test) {
            let from_root = ["crate", "super"].contains(&named.path[0].as_str());
            // Alone it is a visibility: `pub(super)`.
            if named.path.len() == 1 || named.by != By::Use && !from_root {
                continue;
            }
            let path = resolve(&module, named.path);
            let path = match path[0].as_str() {
                "crate" => path[1..].to_vec(),
                _ => [module.as_slice(), &path].concat(),
            };
            let of_a_child = !from_root;
            let target = (1..=path.len()).rev().map(|length| path[..length].join("::"));
            let target = target.into_iter().find(|target| files.contains_key(target));
            needed
                .extend(target.filter(|target| target != file && (!of_a_child || target.len() > file.len())));
        }
    }
    graph
}

/// All that can be reached from a file, itself only by a circle.
fn reached<'a>(graph: &'a Graph, from: &'a str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        let next = graph.get(file).into_iter().flatten().map(String::as_str);
        open.extend(next.filter(|next| reached.insert(*next)));
    }
    reached
}

/// The arrows that are part of a circle, in order.
fn circles(graph: &Graph) -> Vec<String> {
    let reached: BTreeMap<&str, _> = graph.keys().map(|file| (file.as_str(), reached(graph, file))).collect();
    let arrows = graph.iter().flat_map(|(from, all)| all.iter().map(move |to| (from, to)));
    let back = arrows.filter(|(from, to)| reached[to.as_str()].contains(from.as_str()));
    back.map(|(from, to)| format!("{from} -> {to}")).collect()
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let files = rust_files("src").into_iter().filter(|file| !is_test_file(file));
    let files = files.map(|file| (module_of(&file).join("::"), read(&file))).collect();
    shrinking::check("circles.txt", &circles(&graph(&files)), "move what both need into a file of its own");
}

#[test]
fn a_circle_is_found_however_long_it_is() {
    let files = |all: &[(&str, &str)]| -> BTreeMap<String, String> {
        all.iter().map(|(file, source)| ((*file).to_owned(), (*source).to_owned())).collect()
    };
    let three = files(&[
        ("acp", "mod a;\nmod b;\npub use a::A;"),
        ("acp::a", "use super::b::B;\n#[cfg(test)]\nmod tests { use super::super::c::C; }"),
        ("acp::b", "fn f() { crate::acp::b::deep::g() }"),
        ("acp::b::deep", "use crate::{acp::{a::A}, core::ids};\n// use super::super::c;"),
        ("acp::c", "use super::a::A;"),
    ]);
    assert_eq!(
        circles(&graph(&three)),
        ["acp::a -> acp::b", "acp::b -> acp::b::deep", "acp::b::deep -> acp::a"]
    );
    let parent = files(&[("acp", "mod a;\nuse a::A;"), ("acp::a", "use crate::acp::B;")]);
    assert_eq!(circles(&graph(&parent)), ["acp -> acp::a", "acp::a -> acp"]);
    let exports = files(&[("acp", "mod a;\npub use self::a::A;"), ("acp::a", "use super::B;")]);
    assert_eq!(circles(&graph(&exports)), [""; 0]);
}
