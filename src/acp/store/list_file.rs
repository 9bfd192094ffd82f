//! A small file of the plugin's own with one list in it, as JSON that a person can read and mend. A lock on a file
//! beside it keeps Neovims apart. One that is broken is moved aside rather than written over. What the entries mean is
//! for others to say.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::acp::files::disk;
use crate::platform::files::{create_private_folder, private, wait_lock};

const VERSION: u64 = 1;

/// The list called `name` in the file, empty if there is no file. The error says what is wrong with it.
pub fn load<T: DeserializeOwned>(file: &Path, name: &str) -> Result<Vec<T>, String> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.to_string()),
    };
    let mut contents: Map<String, Value> = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    match contents.get("version") {
        Some(version) if *version == VERSION => {}
        Some(version) => {
            return Err(format!("it is of version {version}, and this plugin knows {VERSION}"));
        }
        None => return Err("it has no `version`".to_owned()),
    }
    let list = contents.remove(name).ok_or_else(|| format!("it has no `{name}`"))?;
    serde_json::from_value(list).map_err(|error| format!("`{name}`: {error}"))
}

/// Changes the list. `Ok` has what the user should know if the file was broken: where it is now. Waits for another
/// Neovim that is changing it, so this isn't for a thread that others wait for.
pub fn change<T: Serialize + DeserializeOwned>(
    file: &Path,
    name: &str,
    change: impl FnOnce(&mut Vec<T>),
) -> io::Result<Option<String>> {
    if let Some(folder) = file.parent() {
        create_private_folder(folder)?;
    }
    let lock = file.with_extension("lock");
    let held = private().read(true).write(true).create(true).truncate(false).open(lock)?;
    wait_lock(&held)?;
    let (mut list, told) = match load(file, name) {
        Ok(list) => (list, None),
        Err(why) => {
            let aside = disk::aside(file);
            fs::rename(file, &aside)?;
            let told = format!("{} was broken ({why}); it is now {}", file.display(), aside.display());
            (Vec::new(), Some(told))
        }
    };
    change(&mut list);
    let mut contents = Map::new();
    contents.insert("version".to_owned(), VERSION.into());
    contents.insert(name.to_owned(), serde_json::to_value(&list)?);
    let mut text = serde_json::to_vec_pretty(&contents)?;
    text.push(b'\n');
    disk::replace_private(file, &text)?;
    Ok(told)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::thread;

    use super::*;

    fn file(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("acp-list-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder.join("state/words.json")
    }

    fn add(file: &Path, word: &str) -> Option<String> {
        change(file, "words", |all: &mut Vec<String>| all.push(word.to_owned()))
            .expect("a folder to write in")
    }

    #[test]
    fn two_neovims_that_change_it_at_once_lose_nothing() {
        let file = file("two");
        thread::scope(|scope| {
            for who in 0..4 {
                let file = &file;
                scope.spawn(move || {
                    for number in 0..10 {
                        assert_eq!(add(file, &format!("{who}-{number}")), None);
                    }
                });
            }
        });
        assert_eq!(load::<String>(&file, "words").expect("all of them").len(), 40);
    }

    #[test]
    fn a_broken_file_has_no_entries_and_is_not_lost() {
        let file = file("broken");
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        let broken = [
            "{ \"words\": [",
            "[]",
            "{ \"words\": [] }",
            "{ \"version\": 2, \"words\": [] }",
            "{ \"version\": 1 }",
            "{ \"version\": 1, \"words\": [1] }",
        ];
        for (number, text) in (1..).zip(broken) {
            fs::write(&file, text).expect("a file");
            assert!(load::<String>(&file, "words").is_err(), "{text}");
            let told = add(&file, "new").expect("a word about it");
            assert!(told.contains("was broken") && told.contains(&format!(".broken-{number}")), "{told}");
            assert_eq!(load(&file, "words"), Ok(vec!["new".to_owned()]));
            let aside = file.with_file_name(format!("words.json.broken-{number}"));
            assert_eq!(fs::read_to_string(aside).expect("the broken one"), *text);
        }
    }
}
