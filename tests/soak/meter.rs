//! What a process holds, read from outside of it, and how that grows from one look to the next.

use std::fs;

/// One look at Neovim while no chat is open.
#[derive(Clone, Debug)]
pub struct Sample {
    pub turns: u64,
    pub rss: f64,
    pub heap: f64,
    pub descriptors: f64,
    pub threads: f64,
    pub children: f64,
    pub buffers: f64,
    pub marks: f64,
    pub autocommands: f64,
    pub timers: f64,
    pub handles: f64,
}

pub type Row = (&'static str, fn(&Sample) -> f64);

pub const ROWS: &[Row] = &[
    ("resident memory, MB", |sample| sample.rss),
    ("Lua heap, MB", |sample| sample.heap),
    ("open descriptors", |sample| sample.descriptors),
    ("threads", |sample| sample.threads),
    ("processes below it", |sample| sample.children),
    ("buffers", |sample| sample.buffers),
    ("extmarks", |sample| sample.marks),
    ("autocommands", |sample| sample.autocommands),
    ("timers", |sample| sample.timers),
    ("handles of libuv", |sample| sample.handles),
];

pub fn resident_mb(pid: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").parse().unwrap_or_default();
    kilobytes / 1024.0
}

pub fn descriptors(pid: u32) -> Vec<String> {
    let folder = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let mut targets: Vec<_> = folder
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .map(|target| target.to_string_lossy().into_owned())
        .collect();
    targets.sort();
    targets
}

/// The threads by name, without those that wait for work that blocks: there are never more than the pool
/// allows, and they end when they had nothing to do for some seconds.
pub fn threads(pid: u32) -> Vec<String> {
    let folder = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let name = |path: std::path::PathBuf| fs::read_to_string(path.join("comm")).unwrap_or_default();
    let mut names: Vec<_> = folder.map(|entry| name(entry.path()).trim().to_owned()).collect();
    names.retain(|name| !name.starts_with("tokio-rt"));
    names.sort();
    names
}

/// By how much a value grows with each 1,000 turns (least squares).
pub fn slope(samples: &[Sample], value: fn(&Sample) -> f64) -> f64 {
    let count = samples.len() as f64;
    let mean = |of: &dyn Fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>() / count;
    let (turns, values) = (mean(&|sample| sample.turns as f64), mean(&value));
    let spread: f64 = samples.iter().map(|sample| (sample.turns as f64 - turns).powi(2)).sum();
    if spread == 0.0 {
        return 0.0;
    }
    let both: f64 =
        samples.iter().map(|sample| (sample.turns as f64 - turns) * (value(sample) - values)).sum();
    both / spread * 1000.0
}
