//! The user's rules where waiting for a disk is allowed: those of a project are read from its file, and requests are
//! judged with paths as the disk has them. What rules say is `core::rules`.

use std::io::Read;
use std::path::Path;

use super::files::disk;
use crate::core::rules::project::{FILE, MOST_BYTES, ProjectRules, read, trusted};
use crate::core::rules::{Case, Ruling};
use crate::fingerprint;

/// What comes of a request, by all rules that count for it.
pub fn judge(mut case: Case) -> Ruling {
    case.home = std::env::home_dir();
    let project = of_project(&case.cwd, case.trust.as_deref());
    let problem = project.problem();
    if let ProjectRules::Trusted(rules) = project {
        case.rules.extend(rules);
    }
    let ruling = case.judge(&|path: &Path| disk::resolve(path).ok());
    Ruling { problem, ..ruling }
}

/// The rules of a project, if the user has trusted them. `trust` is Neovim's list of trusted files.
pub fn of_project(cwd: &Path, trust: Option<&Path>) -> ProjectRules {
    let path = cwd.join(FILE);
    // A pipe in its place would never end.
    match path.metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return ProjectRules::None,
        Err(error) => return ProjectRules::Broken(error.to_string()),
        Ok(metadata) if !metadata.is_file() => return ProjectRules::Broken("it is no file".to_owned()),
        Ok(metadata) if metadata.len() > MOST_BYTES => {
            return ProjectRules::Broken(format!("it is larger than {MOST_BYTES} bytes"));
        }
        Ok(_) => {}
    }
    let mut content = Vec::new();
    let all = std::fs::File::open(&path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut content));
    if let Err(error) = all {
        return ProjectRules::Broken(error.to_string());
    }
    // Neovim names files in its list without links.
    let Ok(real) = disk::resolve(&path) else { return ProjectRules::Untrusted };
    let list = trust.map(|list| std::fs::read(list).unwrap_or_default()).unwrap_or_default();
    let list = String::from_utf8_lossy(&list);
    match trusted(&list, &real.to_string_lossy(), &fingerprint::sha256(&content)) {
        None => ProjectRules::Untrusted,
        Some(false) => ProjectRules::Denied,
        Some(true) => match String::from_utf8(content) {
            Ok(text) => read(&text).map_or_else(ProjectRules::Broken, ProjectRules::Trusted),
            Err(_) => ProjectRules::Broken("it is not UTF-8".to_owned()),
        },
    }
}
