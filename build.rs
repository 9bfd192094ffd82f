//! Tells the library which sources it is built from, which interface to the Lua beside it they have, and with
//! which profile.

#[path = "src/fingerprint.rs"]
mod fingerprint;

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    for file in fingerprint::FILES {
        println!("cargo:rerun-if-changed={file}");
    }
    // Not the whole of src/: a change of the demo agent alone leaves the library as it is.
    for entry in fs::read_dir(root.join("src"))? {
        let name = entry?.file_name();
        if name != "bin" {
            println!("cargo:rerun-if-changed=src/{}", name.to_string_lossy());
        }
    }
    println!("cargo:rustc-env=ACP_FINGERPRINT={}", fingerprint::of(&root)?);
    println!("cargo:rustc-env=ACP_INTERFACE={}", interface(&root)?);
    println!("cargo:rustc-env=ACP_PROFILE={}", profile()?);
    Ok(())
}

fn interface(root: &Path) -> Result<String, Box<dyn Error>> {
    let file = root.join("lua/acp/interface.lua");
    let text =
        fs::read_to_string(&file).map_err(|error| format!("couldn't read {}: {error}", file.display()))?;
    let quoted = text.lines().find_map(|line| line.strip_prefix("return \"")?.strip_suffix('"'));
    Ok(quoted.ok_or_else(|| format!("{} returns no text", file.display()))?.to_owned())
}

/// Cargo names the profile only in the path of the folder that it gives: `{profile}/build/{package}/out`.
fn profile() -> Result<String, Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let named =
        out.ancestors().nth(3).and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    Ok(named.map_or_else(|| env::var("PROFILE"), Ok)?)
}
