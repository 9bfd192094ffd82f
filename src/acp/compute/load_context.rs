//! What prompts refer to and the editor does not hold: files on the disk, git's diff, the image in the
//! clipboard. Runs where waiting is allowed; what is too large is said, never cut.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::core::message::{Content, Gathered, ResourceBody, Want};
use crate::core::session::references::{Lines, Named, base64, file_uri, image_type, size};
use crate::platform::program;

/// A text of more bytes is not sent along: a whole file goes as a link then.
pub const MOST_TEXT: u64 = 1 << 20;
/// An image of more bytes is refused by the models themselves.
const MOST_IMAGE: u64 = 10 << 20;
/// A part of the help has no more lines.
const MOST_HELP: usize = 400;
/// How long git, or the clipboard's program, may take.
const PATIENCE: Duration = Duration::from_secs(10);

pub fn gather(want: Want, images: bool) -> Gathered {
    match want {
        Want::Ready(gathered) => gathered,
        Want::File { name, path, lines, deliberate } => match file(&name, &path, lines, images) {
            // It may be a person, or a word of code.
            Gathered::Nothing(_) if !deliberate => Gathered::Nothing(Named::near(&name).map(|near| {
                let near = near.word();
                format!("There is no @{name}: it goes as text. @{near} may be what you mean.")
            })),
            gathered => gathered,
        },
        Want::Diff { root } => diff(&root),
        Want::Commit { root, revision } => commit(&root, &revision),
        Want::Help { tag, folders } => help(&tag, &folders),
    }
}

fn file(name: &str, path: &Path, lines: Option<Lines>, images: bool) -> Gathered {
    let refused = |why: &str| Gathered::Refused(format!("{name} {why}"));
    let meta = match path.metadata() {
        Ok(meta) => meta,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Gathered::Nothing(Some(format!("There is no file {name}: it goes as text.")));
        }
        Err(error) => return refused(&format!("can't be read: {error}")),
    };
    let link = || {
        Gathered::Content(Content::Link {
            uri: file_uri(path, None),
            name: path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
            title: None,
            mime: None,
            size: meta.is_file().then_some(meta.len()),
        })
    };
    if !meta.is_file() {
        // A folder is named; a pipe or a device would be read for ever.
        return link();
    }
    let read = || -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        std::fs::File::open(path)?.take(MOST_IMAGE + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = match read() {
        Ok(bytes) => bytes,
        Err(error) => return refused(&format!("can't be read: {error}")),
    };
    if let (Some(mime), None) = (image_type(&bytes), lines) {
        return match () {
            () if !images => refused("is an image, and the agent takes none; leave it out"),
            () if bytes.len() as u64 > MOST_IMAGE => {
                let most = size(MOST_IMAGE);
                refused(&format!("has {}, and an image may have {most}; make it smaller", size(meta.len())))
            }
            () => Gathered::Content(Content::Image {
                data: base64(&bytes),
                mime: mime.to_owned(),
                uri: Some(file_uri(path, None)),
            }),
        };
    }
    if meta.len() > MOST_IMAGE && lines.is_some() {
        return refused(&format!(
            "has {}, too much to look for lines in; leave the lines out",
            size(meta.len())
        ));
    }
    match String::from_utf8(bytes) {
        Ok(text) => part(name, path, &text, lines),
        // Agents read what is no text with tools of their own.
        Err(_) if lines.is_none() => link(),
        Err(_) => refused("is no UTF-8 text; leave the lines out"),
    }
}

/// A file's text, or some lines of it, as a prompt sends them.
pub fn part(name: &str, path: &Path, text: &str, lines: Option<Lines>) -> Gathered {
    let text = match lines.map(|lines| lines.of(text)) {
        None => text,
        Some(Some(text)) => text,
        Some(None) => {
            let last = text.lines().count();
            return Gathered::Refused(format!("{name} ends at line {last}; give other lines"));
        }
    };
    if text.len() as u64 > MOST_TEXT {
        let name_of = || path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        return match lines {
            None => Gathered::Content(Content::Link {
                uri: file_uri(path, None),
                name: name_of(),
                title: None,
                mime: None,
                size: Some(text.len() as u64),
            }),
            Some(_) => Gathered::Refused(format!(
                "{name} has {}, and {} may be sent along; give fewer lines",
                size(text.len() as u64),
                size(MOST_TEXT)
            )),
        };
    }
    Gathered::Content(Content::Resource {
        uri: file_uri(path, lines),
        mime: Some("text/plain".to_owned()),
        body: ResourceBody::Text(text.to_owned()),
    })
}

fn git(root: &Path, verb: &str, args: &[&str]) -> Result<Vec<u8>, String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(root);
    command.args(["--no-pager", "--no-optional-locks", verb, "--no-color", "--no-ext-diff"]);
    command.args(args);
    output(command, MOST_TEXT)
}

fn commit(root: &Path, revision: &str) -> Gathered {
    match git(root, "show", &["--patch-with-stat", revision, "--"]) {
        Ok(bytes) => Gathered::Content(Content::Resource {
            uri: format!("acp://context/commit {revision}"),
            mime: Some("text/x-diff".to_owned()),
            body: ResourceBody::Text(String::from_utf8_lossy(&bytes).into_owned()),
        }),
        Err(why) => Gathered::Refused(format!("the commit {revision} can't be had: {why}")),
    }
}

/// The section of the help that a tag is in. Each folder may have a part of the help.
fn help(tag: &str, folders: &[PathBuf]) -> Gathered {
    let found = folders.iter().find_map(|folder| {
        let folder = folder.join("doc");
        let tags = std::fs::read(folder.join("tags")).ok()?;
        let tags = String::from_utf8_lossy(&tags);
        let file =
            tags.lines().find_map(|line| line.strip_prefix(tag)?.strip_prefix('\t')?.split('\t').next())?;
        let text = std::fs::read(folder.join(file)).ok()?;
        help_section(&String::from_utf8_lossy(&text), tag)
    });
    match found {
        Some(text) => Gathered::Content(Content::Resource {
            uri: format!("acp://context/help {tag}"),
            mime: Some("text/plain".to_owned()),
            body: ResourceBody::Text(text),
        }),
        None => Gathered::Nothing(Some(format!("There is no help on {tag}: it goes as text."))),
    }
}

/// The lines from a tag to the next one, or to the end of the section.
fn help_section(text: &str, tag: &str) -> Option<String> {
    let has_tag = |line: &str| {
        let mut words = line.split_whitespace();
        words.any(|word| word.len() > 2 && word.starts_with('*') && word.ends_with('*'))
    };
    let is_rule = |line: &str| line.len() > 20 && line.chars().all(|char| char == '=' || char == '-');
    let lines: Vec<&str> = text.lines().collect();
    let mark = format!("*{tag}*");
    let start = lines.iter().position(|line| line.split_whitespace().any(|word| word == mark))?;
    // Several tags may stand over the same text.
    let said = lines[start..].iter().position(|line| !has_tag(line) && !line.trim().is_empty());
    let body = start + said.unwrap_or_default();
    let end = lines[body..].iter().position(|line| has_tag(line) || is_rule(line));
    let end = end.map_or(lines.len(), |end| body + end).min(start + MOST_HELP);
    Some(lines[start..end].join("\n").trim_end().to_owned() + "\n")
}

fn diff(root: &Path) -> Gathered {
    let git = |args: &[&str]| git(root, "diff", args);
    // In a repository without a commit there is no HEAD.
    match git(&["HEAD", "--"]).or_else(|_| git(&["--"])) {
        Ok(bytes) if bytes.is_empty() => {
            Gathered::Nothing(Some("git has no changes: @diff goes as text.".to_owned()))
        }
        Ok(bytes) => Gathered::Content(Content::Resource {
            uri: "acp://context/git diff".to_owned(),
            mime: Some("text/x-diff".to_owned()),
            body: ResourceBody::Text(String::from_utf8_lossy(&bytes).into_owned()),
        }),
        Err(why) => Gathered::Refused(format!("@diff can't be had: {why}")),
    }
}

/// What a program says, if it ends well and in time.
fn output(mut command: Command, most: u64) -> Result<Vec<u8>, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    program::without_window(&mut command);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("there is no program {name:?}"),
        _ => format!("{name} can't be run: {error}"),
    })?;
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    let (send, said) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What can't be read is as good as the end; the exit code tells.
        let _ = stdout.take().map(|out| out.take(most + 1).read_to_end(&mut bytes));
        let mut words = Vec::new();
        let _ = stderr.take().map(|err| err.take(4096).read_to_end(&mut words));
        // Whoever gave up waiting does not listen any more.
        let _ = send.send((bytes, words));
    });
    let said = said.recv_timeout(PATIENCE);
    if said.as_ref().map_or(true, |(bytes, _)| bytes.len() as u64 > most) {
        // It may have ended by itself just now.
        let _ = child.kill();
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    let Ok((bytes, words)) = said else {
        return Err(format!("{name} took longer than {} s", PATIENCE.as_secs()));
    };
    if bytes.len() as u64 > most {
        return Err(format!("{name} says more than {}", size(most)));
    }
    if !status.success() {
        let words = String::from_utf8_lossy(&words);
        let line = words.lines().map(str::trim).find(|line| !line.is_empty());
        return Err(line.map_or_else(|| format!("{name} failed"), str::to_owned));
    }
    Ok(bytes)
}

/// The programs that give the clipboard's image as PNG, with their arguments.
fn clipboards() -> Vec<Command> {
    let program = |words: &[&str]| {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        command
    };
    if cfg!(target_os = "macos") {
        return vec![program(&["pngpaste", "-"])];
    }
    let has = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let mut all = Vec::new();
    if has("WAYLAND_DISPLAY") {
        all.push(program(&["wl-paste", "--no-newline", "--type", "image/png"]));
    }
    if has("DISPLAY") {
        all.push(program(&["xclip", "-selection", "clipboard", "-target", "image/png", "-out"]));
    }
    if cfg!(windows) || has("WSL_DISTRO_NAME") {
        let script = "Add-Type -AssemblyName System.Windows.Forms,System.Drawing; \
                      $i = [Windows.Forms.Clipboard]::GetImage(); if (!$i) { exit 1 }; \
                      $m = New-Object IO.MemoryStream; $i.Save($m, [Drawing.Imaging.ImageFormat]::Png); \
                      $o = [Console]::OpenStandardOutput(); $o.Write($m.ToArray(), 0, $m.Length)";
        all.push(program(&["powershell.exe", "-NoProfile", "-STA", "-Command", script]));
    }
    all
}

/// Writes the clipboard's image to a file of its own.
pub fn paste(folder: &Path) -> Result<PathBuf, String> {
    let mut why = "this session has no clipboard that it could be had from".to_owned();
    for command in clipboards() {
        let name = command.get_program().to_string_lossy().into_owned();
        match output(command, MOST_IMAGE) {
            Ok(bytes) if image_type(&bytes).is_some() => return keep(folder, &bytes),
            Ok(_) => why = format!("the clipboard holds no image, says {name}"),
            Err(error) if error.starts_with("there is no program") => {
                why = format!("{error}; install it");
            }
            Err(error) => why = format!("the clipboard gave no image ({error})"),
        }
    }
    Err(why)
}

fn keep(folder: &Path, bytes: &[u8]) -> Result<PathBuf, String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let path = folder.join(format!("paste-{}.png", now.as_millis()));
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&path, bytes))
        .map_err(|error| format!("{} can't be written: {error}", path.display()))?;
    Ok(path)
}
