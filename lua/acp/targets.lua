--- The targets that each release has a library for, as Rust calls them, one on a line: scripts/release reads
--- this file, too. Which of them fits a machine is left to the installer.
return {
  "aarch64-apple-darwin",
  "aarch64-pc-windows-msvc",
  "aarch64-unknown-linux-gnu",
  "aarch64-unknown-linux-musl",
  "x86_64-apple-darwin",
  "x86_64-pc-windows-msvc",
  "x86_64-unknown-linux-gnu",
  "x86_64-unknown-linux-musl",
}
