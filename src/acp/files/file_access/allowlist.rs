//! The paths outside of their folders that all sessions may read or write, as they are kept on the disk: a list in a
//! file of its own. One that cannot be read allows nothing.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::acp::store::list_file;
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

/// What the list is called in the file.
const NAME: &str = "allowed";

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
    list_file::load(file, NAME)
}

/// Changes what is kept. Gives what the user should know about the file: where a broken one is now, or
/// why nothing could be kept.
pub fn change(file: &Path, change: impl FnOnce(&mut Vec<Kept>)) -> Option<String> {
    list_file::change(file, NAME, change)
        .unwrap_or_else(|error| Some(format!("couldn't keep this in {}: {error}", file.display())))
}

#[cfg(test)]
mod tests {
    use std::fs;

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
    fn what_cannot_be_kept_is_told() {
        let file = file("nowhere");
        fs::create_dir_all(file.parent().and_then(Path::parent).expect("a folder")).expect("a folder");
        fs::write(file.parent().expect("a folder"), "").expect("a file in its way");
        let told = change(&file, |all| all.push(kept("/x", Word::Read))).expect("a word about it");
        assert!(told.starts_with("couldn't keep this"), "{told}");
    }
}
