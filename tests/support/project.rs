//! A folder of a test's own with files in it, gone when the test is over.

use std::path::{Path, PathBuf};

use super::unique;

pub struct TempProject {
    root: PathBuf,
}

impl TempProject {
    /// Files are pairs of a relative path and a text.
    pub fn new(files: &[(&str, &str)]) -> Self {
        // Short, since a Unix socket's path in it may have a hundred bytes only; and without links,
        // since Neovim and agents name files by their real paths.
        let temp = std::env::temp_dir().canonicalize().expect("a folder for temporary files");
        let root = temp.join(format!("acp-{}", unique()));
        std::fs::create_dir(&root).expect("a folder that nobody else has");
        let project = Self { root };
        for (name, text) in files {
            project.write(name, text);
        }
        project
    }

    pub fn path(&self) -> &Path {
        &self.root
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let file = self.file(name);
        std::fs::create_dir_all(file.parent().expect("a file has a folder")).expect("a folder");
        std::fs::write(file, text).expect("a file");
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name))
            .unwrap_or_else(|error| panic!("couldn't read {name}: {error}"))
    }
}

impl Drop for TempProject {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}
