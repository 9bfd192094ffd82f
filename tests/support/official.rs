//! The protocol's own server (`tests/official_server`), which is built when a test first needs it: in a folder of its own
//! below `target`, and in half a minute.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// A server with a program behind it. It ends when this is dropped, and with the tests.
pub struct Official {
    pub port: u16,
    child: Child,
}

impl Official {
    /// `args` start the program.
    pub fn start(args: &[&str], cwd: &Path) -> Self {
        let mut child = Command::new(built())
            .args(args)
            .current_dir(cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("its stdout");
        BufReader::new(stdout).read_line(&mut line).expect("the server says its port");
        Self { port: line.trim().parse().expect("a port"), child }
    }
}

impl Drop for Official {
    fn drop(&mut self) {
        // The end of its stdin ends it; what it has started ends with it.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let target = root.join("target/official");
        let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["build", "--quiet", "--locked", "--manifest-path"])
            .arg(root.join("tests/official_server/Cargo.toml"))
            .arg("--target-dir")
            .arg(&target)
            .output()
            .expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        target.join(format!("debug/official-server{}", std::env::consts::EXE_SUFFIX))
    })
}
