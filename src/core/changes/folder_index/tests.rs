//! Looks at files, and what they tell; also against a model that only compares.

use proptest::prelude::*;

use super::*;
use crate::core::store::checkpoint::Mode;

fn state(inode: u64, size: u64) -> FileState {
    FileState {
        kind: FileKind::File,
        size,
        modified: (size.cast_signed(), 0),
        changed: (0, 0),
        inode,
        born: Some(Duration::ZERO),
        mode: Some(0o644),
    }
}

fn index(files: &[(&str, FileState)]) -> FolderIndex {
    let mut index = FolderIndex::default();
    for (path, state) in files {
        index.set(Path::new(path), Some(*state));
    }
    index
}

fn look(index: &mut FolderIndex, files: &[(&str, Option<FileState>)]) -> Vec<Difference> {
    let files = files.iter().map(|(path, state)| (PathBuf::from(path), *state)).collect();
    let mut differences: Vec<_> = index.update(files).into_iter().map(|(difference, _)| difference).collect();
    differences.sort();
    differences
}

#[test]
fn what_came_went_and_changed_is_told_once() {
    let mut index = index(&[("/p/a", state(1, 1)), ("/p/b", state(2, 1)), ("/p/c", state(3, 1))]);
    let files = [
        ("/p/a", Some(state(1, 2))),
        ("/p/b", None),
        ("/p/c", Some(state(3, 1))),
        ("/p/d", Some(state(4, 1))),
    ];
    let expected = [
        Difference::Created("/p/d".into()),
        Difference::Changed("/p/a".into()),
        Difference::Deleted("/p/b".into()),
    ];
    assert_eq!(look(&mut index, &files), expected);
    assert_eq!(look(&mut index, &files), []);
    assert_eq!(index.len(), 3);
}

#[test]
fn an_inode_that_is_used_again_is_another_file() {
    let removed = ("/p/a", None);
    let expected = [Difference::Created("/p/b".into()), Difference::Deleted("/p/a".into())];
    let later = Some(Duration::from_secs(9));
    let new = FileState { born: later, ..state(1, 1) };
    assert_eq!(look(&mut index(&[("/p/a", state(1, 1))]), &[removed, ("/p/b", Some(new))]), expected);
    let (old, new) = (FileState { born: None, ..state(1, 1) }, FileState { born: None, ..state(1, 2) });
    assert_eq!(look(&mut index(&[("/p/a", old)]), &[removed, ("/p/b", Some(new))]), expected);
}

#[test]
fn a_file_with_the_same_inode_under_another_name_was_renamed() {
    let mut index = index(&[("/p/a", state(1, 1)), ("/p/b", state(2, 1))]);
    let files =
        [("/p/a", None), ("/p/new/a", Some(state(1, 5))), ("/p/b", None), ("/p/c", Some(state(9, 1)))];
    let expected = [
        Difference::Created("/p/c".into()),
        Difference::Deleted("/p/b".into()),
        Difference::Renamed { from: "/p/a".into(), to: "/p/new/a".into() },
    ];
    assert_eq!(look(&mut index, &files), expected);
}

#[test]
fn a_file_that_takes_the_place_of_another_has_changed_it() {
    let mut index = index(&[("/p/a", state(1, 1)), ("/p/b", state(2, 1))]);
    let files = [("/p/a", None), ("/p/b", Some(state(1, 1)))];
    assert_eq!(
        look(&mut index, &files),
        [Difference::Changed("/p/b".into()), Difference::Deleted("/p/a".into())]
    );
}

#[test]
fn only_the_times_of_what_is_not_content_are_no_difference() {
    let mut index = index(&[("/p/a", state(1, 1))]);
    let linked = FileState { changed: (7, 7), ..state(1, 1) };
    assert_eq!(look(&mut index, &[("/p/a", Some(linked))]), []);
    let executable = FileState { mode: Some(0o755), ..linked };
    assert_eq!(look(&mut index, &[("/p/a", Some(executable))]), [Difference::Changed("/p/a".into())]);
    let link = FileState { kind: FileKind::Link, ..executable };
    assert_eq!(look(&mut index, &[("/p/a", Some(link))]), [Difference::Changed("/p/a".into())]);
}

#[test]
fn what_is_below_a_folder_is_found_at_any_depth() {
    let index = index(&[("/p/a/b/c", state(1, 1)), ("/p/a/d", state(2, 1)), ("/p/ab", state(3, 1))]);
    let mut below: Vec<_> = index.below(Path::new("/p/a")).collect();
    below.sort();
    assert_eq!(below, [Path::new("/p/a/b/c"), Path::new("/p/a/d")]);
}

fn file(path: &str, before: Option<&str>, after: Option<&str>) -> ChangedFile {
    let held = |text: Option<&str>| {
        text.map_or(Held::Absent, |text| Held::Text(text.to_owned().into(), Mode::default()))
    };
    let (before, after) = (held(before), held(after));
    let path = path.into();
    ChangedFile { path, renamed_from: None, before, after, unknown: None, later: None, is_told: false }
}

fn renames(files: Vec<ChangedFile>) -> Vec<(Option<PathBuf>, PathBuf)> {
    join_renames(files).into_iter().map(|file| (file.renamed_from, file.path)).collect()
}

#[test]
fn a_file_that_came_with_the_content_of_one_that_went_is_that_file() {
    let files = vec![
        file("/p/a", Some("one"), None),
        file("/p/b", None, Some("one")),
        file("/p/c", Some("one"), Some("two")),
    ];
    assert_eq!(renames(files), [(Some("/p/a".into()), "/p/b".into()), (None, "/p/c".into())]);
}

#[test]
fn which_of_several_alike_was_renamed_is_not_guessed() {
    let alike = vec![
        file("/p/a", Some("one"), None),
        file("/p/b", None, Some("one")),
        file("/p/c", None, Some("one")),
    ];
    assert!(renames(alike).iter().all(|(from, _)| from.is_none()));
    let empty = vec![file("/p/a", Some(""), None), file("/p/b", None, Some(""))];
    assert!(renames(empty).iter().all(|(from, _)| from.is_none()));
}

/// Few names, few inodes and few sizes, so that all kinds of things happen.
fn tree() -> impl Strategy<Value = BTreeMap<PathBuf, FileState>> {
    let name = prop_oneof!["/p/[ab]", "/p/[ab]/[cd]"].prop_map(PathBuf::from);
    proptest::collection::btree_map(
        name,
        (1..6_u64, 0..3_u64).prop_map(|(inode, size)| state(inode, size)),
        0..8,
    )
}

proptest! {
    /// Whatever was there and is there: what is told leads from one to the other, and the index is the latter.
    #[test]
    fn differences_lead_from_one_state_to_the_other(before in tree(), after in tree()) {
        let mut index = FolderIndex::default();
        for (path, state) in &before {
            index.set(path, Some(*state));
        }
        let mut files: BTreeMap<PathBuf, Option<FileState>> = before.keys().map(|path| (path.clone(), None)).collect();
        files.extend(after.iter().map(|(path, state)| (path.clone(), Some(*state))));
        let differences = index.update(files);
        let mut played = before.clone();
        for (difference, was) in &differences {
            match difference {
                Difference::Deleted(path) => prop_assert_eq!(played.remove(path), *was),
                Difference::Renamed { from, .. } => prop_assert_eq!(played.remove(from), *was),
                Difference::Changed(path) => prop_assert_eq!(played.get(path).copied(), *was),
                Difference::Created(path) => prop_assert!(!before.contains_key(path) && was.is_none()),
            }
        }
        for (difference, _) in &differences {
            if let Difference::Created(path) | Difference::Changed(path) | Difference::Renamed { to: path, .. } = difference {
                prop_assert!(after.contains_key(path));
                played.insert(path.clone(), after[path]);
            }
        }
        prop_assert_eq!(&played, &after);
        let known: BTreeMap<PathBuf, FileState> = index.files().map(|(path, state)| (path, *state)).collect();
        prop_assert_eq!(&known, &after);
        prop_assert_eq!(index.len(), after.len());
    }

    /// Joining renames loses no file: each path that was told is told still, as a file or as a former name.
    #[test]
    fn joined_renames_name_every_path(texts in proptest::collection::vec((any::<bool>(), 0..4_u8), 0..10)) {
        let files: Vec<ChangedFile> = texts
            .iter()
            .enumerate()
            .map(|(number, (came, text))| {
                let (path, text) = (format!("/p/{number}"), text.to_string());
                if *came { file(&path, None, Some(&text)) } else { file(&path, Some(&text), None) }
            })
            .collect();
        let mut before: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
        let mut after: Vec<PathBuf> =
            join_renames(files).into_iter().flat_map(|file| [Some(file.path), file.renamed_from]).flatten().collect();
        before.sort();
        after.sort();
        prop_assert_eq!(before, after);
    }
}
