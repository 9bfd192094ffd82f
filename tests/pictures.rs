//! The pictures in `doc/pictures` show the plugin as it is: these tests take them again in a real Neovim and
//! compare. `make pictures` sets `ACP_WRITE_PICTURES`, and the files are written instead. The screenplays are
//! in `pictures/overview.rs` and `pictures/stills.rs`. Each picture has a dark and a light file:
//!
//! - `overview`: animated, half a minute from `:AcpChat` to the review
//! - `proposal`: an edit as virtual text in its file, and the question in the chat
//! - `review`: all changes in one buffer, with a comment for the agent
//! - `conflict`: a line that both the user and the agent changed, and the choice between them
//! - `terminals`: a failed and a running command, each in a terminal, and their last lines in the chat
//! - `chat`: a folded thought, a plan, a line of gathered calls, an open call, completion in the prompt
//! - `following`: the file that the agent reads, with a mark at the line

#[path = "pictures/mod.rs"]
mod pictures;
#[expect(dead_code, reason = "each test binary uses its own part of what they share")]
mod support;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use roxmltree::{Document, Node};

use pictures::film::{self, Shot};
use pictures::screen::{Cursor, Glyph, Screen};
use pictures::stage::Theme;
use pictures::stills::STILLS;
use pictures::{overview, paint};
use support::grid::{CursorShape, Style};

const FOLDER: &str = "doc/pictures";
/// Other versions have other colours, and some other texts.
const TAKEN_WITH: &str = "NVIM v0.11.";

const LARGEST_FILM: u64 = 400_000;
const LARGEST_STILL: u64 = 60_000;

#[test]
fn the_dark_overview_is_what_neovim_shows() {
    take_overview(Theme::Dark);
}

#[test]
fn the_light_overview_is_what_neovim_shows() {
    take_overview(Theme::Light);
}

#[test]
fn the_dark_stills_are_what_neovim_shows() {
    take_stills(Theme::Dark);
}

#[test]
fn the_light_stills_are_what_neovim_shows() {
    take_stills(Theme::Light);
}

fn take_overview(theme: Theme) {
    let (shots, still) = overview::play(theme);
    assert_shows("overview", theme, &film::film(overview::TITLE, &shots, still));
}

fn take_stills(theme: Theme) {
    for still in STILLS {
        assert_shows(still.name, theme, &paint::still(still.title, &(still.take)(theme)));
    }
}

/// Compares a picture with the committed file, or writes that.
#[track_caller]
fn assert_shows(name: &str, theme: Theme, picture: &str) {
    let version = Command::new(support::neovim()).arg("--version").output().expect("a Neovim");
    let is_theirs = version.stdout.starts_with(TAKEN_WITH.as_bytes());
    let file = format!("{FOLDER}/{name}-{}.svg", theme.name());
    let path = root().join(&file);
    let before = fs::read_to_string(&path).unwrap_or_default();
    if std::env::var_os("ACP_WRITE_PICTURES").is_some() {
        assert!(is_theirs, "pictures are taken with {TAKEN_WITH}x");
        fs::create_dir_all(root().join(FOLDER)).expect("a folder of the repository");
        fs::write(&path, picture).expect("a file of the repository");
        let news = if before == picture { "as before" } else { "new" };
        let said = format!("{file}: {} kB, {news}\n", picture.len().div_ceil(1000));
        std::io::stdout().write_all(said.as_bytes()).expect("somebody who reads it");
        return;
    }
    // For other versions it is enough that the screenplay could be played.
    if is_theirs && before != picture {
        let pairs = before.lines().zip(picture.lines());
        let (old, new) =
            pairs.into_iter().find(|(old, new)| old != new).unwrap_or(("(its end)", "(its end)"));
        panic!("{file} shows\n{old}\nand neovim shows\n{new}\nIf that is meant, run `make pictures`.");
    }
}

#[test]
fn the_pictures_that_the_docs_name_are_there_and_there_are_no_others() {
    let names = ["overview"].into_iter().chain(STILLS.iter().map(|still| still.name));
    let taken: BTreeSet<String> =
        names.flat_map(|name| Theme::BOTH.map(|theme| format!("{name}-{}.svg", theme.name()))).collect();
    let there: BTreeSet<String> =
        committed().iter().filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect();
    assert_eq!(there, taken);
    for (doc, text) in docs() {
        for (at, _) in text.match_indices("pictures/") {
            let name = &text[at + "pictures/".len()..];
            let end = name.find(|letter: char| !letter.is_alphanumeric() && !"-_.".contains(letter));
            let name = &name[..end.unwrap_or(name.len())];
            assert!(
                !name.ends_with(".svg") || taken.contains(name),
                "{doc} names the picture {name}, which is not there"
            );
        }
    }
}

#[test]
fn the_pictures_are_small_and_safe_to_show_anywhere() {
    for path in committed() {
        let text = fs::read_to_string(&path).expect("a text in UTF-8");
        let name = path.display();
        let is_film = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("overview"));
        let limit = if is_film { LARGEST_FILM } else { LARGEST_STILL };
        assert!(text.len() as u64 <= limit, "{name} has {} bytes", text.len());
        let document = Document::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let wrong: Vec<String> = document.descendants().filter_map(objection).collect();
        assert!(wrong.is_empty(), "{name}: {wrong:?}");
        let temp = std::env::temp_dir();
        let places = [root(), &temp].map(|place| place.to_str().expect("a path in UTF-8").to_owned());
        let place = ["/home/", "/Users/", "/tmp/"].into_iter().chain(places.iter().map(String::as_str));
        let named: Vec<&str> = place.filter(|place| text.contains(place)).collect();
        assert!(named.is_empty(), "{name} names places of one machine: {named:?}");
    }
}

#[test]
fn a_film_holds_each_text_once_and_shows_it_in_its_shots() {
    let screen = |texts: [&str; 2]| {
        let style = Style { foreground: 1, ..Style::default() };
        let rows = texts.map(|text| vec![Glyph { text: text.to_owned(), style }]);
        let cursor = Cursor { row: 0, column: 0, shape: CursorShape::Bar };
        Screen { rows: rows.into(), cursor, foreground: 1, background: 0 }
    };
    let shots = [(["a", "x"], 1000), (["b", "x"], 1000), (["a", "x"], 2000)];
    let shots = shots.map(|(texts, millis)| Shot { screen: screen(texts), millis });
    let picture = film::film("", &shots, 1);
    for text in ["a", "b", "x"] {
        assert_eq!(picture.matches(&format!(">{text}</text>")).count(), 1, "{picture}");
    }
    // The second shot shows b in place of a, and x is always shown.
    assert!(picture.contains("@keyframes k0{25%{visibility:hidden}0%,50%{visibility:visible}}"), "{picture}");
    assert!(picture.contains("@keyframes k1{0%,50%{visibility:hidden}25%{visibility:visible}}"), "{picture}");
    assert!(picture.contains(r##"<use href="#s0" x="0" y="0" class="k k0"/>"##), "{picture}");
    assert!(picture.contains(r##"<use href="#s1" x="0" y="21"/>"##), "{picture}");
    // The second shot is the one for viewers without animation.
    assert!(picture.contains(r##"<use href="#s2" x="0" y="0" class="k s k1"/>"##), "{picture}");
}

#[test]
fn scripts_and_references_in_a_picture_are_found() {
    let objections = |inside: &str| -> Vec<String> {
        let text = format!(r#"<svg xmlns="http://www.w3.org/2000/svg">{inside}</svg>"#);
        let document = Document::parse(&text).expect("well-formed");
        document.descendants().filter_map(objection).collect()
    };
    assert!(objections(r##"<g id="a"><path d="M0 0"/></g><use href="#a"/>"##).is_empty());
    assert_eq!(objections("<script/>"), ["<script>"]);
    assert_eq!(objections("<foreignObject/>"), ["<foreignObject>"]);
    assert_eq!(objections(r#"<g onclick="x"/>"#), ["onclick"]);
    assert_eq!(objections(r#"<use href="other.svg#a"/>"#), ["href to other.svg#a"]);
    assert_eq!(objections("<style>@import 'a.css';</style>"), ["@import in a style"]);
    assert_eq!(objections(r#"<g style="fill:url(a)"/>"#), ["url( in style"]);
}

/// Why something may not be part of a picture.
fn objection(node: Node) -> Option<String> {
    const ELEMENTS: [&str; 9] = ["svg", "title", "style", "defs", "g", "use", "rect", "path", "text"];
    const LEADS_OUT: [&str; 3] = ["@import", "url(", "//"];
    if node.is_element() && !ELEMENTS.contains(&node.tag_name().name()) {
        return Some(format!("<{}>", node.tag_name().name()));
    }
    for attribute in node.attributes() {
        let (name, value) = (attribute.name(), attribute.value());
        if name.starts_with("on") {
            return Some(name.to_owned());
        }
        if name == "href" && !value.starts_with('#') {
            return Some(format!("href to {value}"));
        }
        if let Some(out) = LEADS_OUT.iter().find(|out| value.contains(**out)) {
            return Some(format!("{out} in {name}"));
        }
    }
    let style = node.text().filter(|_| node.has_tag_name("style")).unwrap_or_default();
    LEADS_OUT.iter().find(|out| style.contains(**out)).map(|out| format!("{out} in a style"))
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn committed() -> Vec<PathBuf> {
    let files = fs::read_dir(root().join(FOLDER)).expect("the pictures");
    files.map(|file| file.expect("a file of the repository").path()).collect()
}

/// The README and the other documents.
fn docs() -> Vec<(String, String)> {
    let folders = [root().to_owned(), root().join("doc")];
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).expect("a folder of the repository"));
    let paths = files.map(|file| file.expect("a file of the repository").path());
    let docs = paths.filter(|path| path.extension().is_some_and(|kind| kind == "md" || kind == "txt"));
    docs.map(|path| (path.display().to_string(), fs::read_to_string(&path).expect("a document"))).collect()
}
