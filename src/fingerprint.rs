//! Which sources a library was built from, as one text: the library is built with it, and whoever has the
//! sources can compute it again. `build.rs` includes this file; `lua/acp/install/fingerprint.lua` and
//! `scripts/fingerprint` do the same in their languages. What is done about a difference is up to the caller.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Files beside those below `src/` that the library is made of.
pub const FILES: [&str; 4] = ["Cargo.lock", "Cargo.toml", "build.rs", "lua/acp/interface.lua"];

/// The sources below the plugin's folder, as paths relative to it with `/`, sorted by bytes. The demo agent is a
/// program of its own.
pub fn sources(root: &Path) -> io::Result<Vec<String>> {
    let mut found: Vec<String> =
        FILES.iter().filter(|file| root.join(file).is_file()).map(|file| (*file).to_owned()).collect();
    let mut folders = vec![PathBuf::from("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            if path == Path::new("src/bin") {
                continue;
            }
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else {
                found.push(path.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The SHA-256, in hex, of a list with a line `{SHA-256 of the file}  {path}` for each of the [`sources`]: what
/// `sha256sum` prints.
pub fn of(root: &Path) -> io::Result<String> {
    let mut list = String::new();
    for source in sources(root)? {
        let content = fs::read(root.join(&source))?;
        list.push_str(&format!("{}  {source}\n", sha256(&content)));
    }
    Ok(sha256(list.as_bytes()))
}

/// In hexadecimal digits.
pub fn sha256(content: &[u8]) -> String {
    hex(&hmac_sha256::Hash::hash(content))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
