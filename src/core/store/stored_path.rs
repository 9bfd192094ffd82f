//! How a path is written into a journal: as text, which is what nearly all are, else as what the system has for it.
//! For serde's `with`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    match path.to_str() {
        Some(text) => text.serialize(serializer),
        None => path.as_os_str().serialize(serializer),
    }
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Stored {
        Text(PathBuf),
        Other(OsString),
    }
    Ok(match Stored::deserialize(deserializer)? {
        Stored::Text(path) => path,
        Stored::Other(name) => name.into(),
    })
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;
    use crate::core::store::checkpoint::{Attributed, Fact, Line};

    #[test]
    fn a_path_that_is_no_text_comes_back_from_a_journal_byte_for_byte() {
        let names: [&[u8]; 3] = [b"/p/a.txt", b"/p/caf\xe9.txt", b"/p/\xff\xfe"];
        for name in names {
            let path = PathBuf::from(OsString::from_vec(name.to_vec()));
            let told = Attributed { path, call: None, is_another: false };
            let line = Line { at: 1, fact: Fact::Attributed(told) };
            let text = serde_json::to_string(&line).expect("it can be written");
            assert_eq!(serde_json::from_str::<Line>(&text).expect("it can be read"), line, "{text}");
        }
    }
}
