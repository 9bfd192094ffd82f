//! The paths outside of their folders that all sessions may read or write, as they are kept on the
//! disk: a small file that a person can read and mend. One that cannot be read allows nothing, and is
//! moved aside rather than written over.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::acp::files::disk;
use crate::core::message::Access;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    pub path: PathBuf,
    pub access: Word,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Word {
    Read,
    Write,
}

#[derive(Serialize, Deserialize)]
struct Contents {
    version: u32,
    allowed: Vec<Kept>,
}

const VERSION: u32 = 1;

impl From<Access> for Word {
    fn from(access: Access) -> Self {
        match access {
            Access::Read => Self::Read,
            Access::Wrote => Self::Write,
        }
    }
}

impl From<Word> for Access {
    fn from(word: Word) -> Self {
        match word {
            Word::Read => Self::Read,
            Word::Write => Self::Wrote,
        }
    }
}

/// What is kept; the error says what is wrong with the file.
pub fn load(file: &Path) -> Result<Vec<Kept>, String> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.to_string()),
    };
    let contents: Contents = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if contents.version != VERSION {
        return Err(format!("it is of version {}, and this plugin knows {VERSION}", contents.version));
    }
    Ok(contents.allowed)
}

/// Changes what is kept. Gives what the user should know about the file: where a broken one is now, or
/// why nothing could be kept.
pub fn change(file: &Path, change: impl FnOnce(&mut Vec<Kept>)) -> Option<String> {
    let (mut allowed, told) = match load(file) {
        Ok(allowed) => (allowed, None),
        Err(why) => {
            let aside = disk::aside(file);
            if let Err(error) = fs::rename(file, &aside) {
                return Some(format!("couldn't keep this: {} is broken ({why}): {error}", file.display()));
            }
            let told = format!("{} was broken ({why}); it is now {}", file.display(), aside.display());
            (Vec::new(), Some(told))
        }
    };
    change(&mut allowed);
    let text = serde_json::to_string_pretty(&Contents { version: VERSION, allowed });
    let written = text
        .map_err(|error| error.to_string())
        .and_then(|text| disk::write(file, &(text + "\n")).map_err(|error| error.to_string()));
    match written {
        Ok(_) => told,
        Err(why) => Some(format!("couldn't keep this in {}: {why}", file.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("acp-kept-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder.join("state/acp-allowed.json")
    }

    fn kept(path: &str, access: Word) -> Kept {
        Kept { path: path.into(), access }
    }

    #[test]
    fn what_is_kept_is_there_again_as_text_that_a_person_can_read() {
        let file = file("again");
        assert_eq!(load(&file), Ok(vec![]));
        assert_eq!(change(&file, |all| all.push(kept("/x", Word::Read))), None);
        assert_eq!(change(&file, |all| all.push(kept("/y", Word::Write))), None);
        assert_eq!(load(&file), Ok(vec![kept("/x", Word::Read), kept("/y", Word::Write)]));
        insta::assert_snapshot!(fs::read_to_string(&file).expect("a file"), @r#"
        {
          "version": 1,
          "allowed": [
            {
              "path": "/x",
              "access": "read"
            },
            {
              "path": "/y",
              "access": "write"
            }
          ]
        }
        "#);
    }

    #[test]
    fn a_broken_file_allows_nothing_and_is_not_lost() {
        let file = file("broken");
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        for (number, text) in ["{ \"allowed\": [", "{ \"version\": 2, \"allowed\": [] }"].iter().enumerate() {
            fs::write(&file, text).expect("a file");
            assert!(load(&file).is_err(), "{text}");
            let told = change(&file, |all| all.push(kept("/x", Word::Read))).expect("a word about it");
            assert!(
                told.contains("was broken") && told.contains(&format!(".broken-{}", number + 1)),
                "{told}"
            );
            assert_eq!(load(&file), Ok(vec![kept("/x", Word::Read)]));
            let aside = file.with_file_name(format!("acp-allowed.json.broken-{}", number + 1));
            assert_eq!(fs::read_to_string(aside).expect("the broken one"), *text);
        }
    }

    #[test]
    fn what_cannot_be_kept_is_told() {
        let file = file("nowhere");
        fs::create_dir_all(file.parent().and_then(Path::parent).expect("a folder")).expect("a folder");
        fs::write(file.parent().expect("a folder"), "").expect("a file in its way");
        let told = change(&file, |all| all.push(kept("/x", Word::Read))).expect("a word about it");
        assert!(told.starts_with("couldn't keep this"), "{told}");
    }
}
