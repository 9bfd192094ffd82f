//! What stands on the page of a restore: the files that would change, what becomes of each, and their hunks. How hunks
//! become lines is left to `hunk_page`.

use std::path::Path;
use std::sync::Arc;

use crate::core::changes::hunk_page::{About, Page, plural, visible_counts};
use crate::core::changes::review_page::Hints;
use crate::core::changes::unknown_change::OutsideLines;
use crate::core::store::checkpoint::{Fetched, Held, Mode, Repository};
use crate::core::store::restore::{InBuffer, Restore, Road, road};
use crate::core::terminal::bar::amount;
use crate::core::text::cells;
use crate::core::text::fitting::filled;

/// A file as it would be put back, and the buffer that holds it.
pub type Found = (Fetched, Option<InBuffer>);

/// The page of what a restore would change, in lines of `width` cells; files are named from `root`.
pub fn restore_page(restore: &Restore, found: &[Found], root: &Path, hints: Hints, width: usize) -> Page {
    let name = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    let listed = found.iter().filter_map(|(file, buffer)| {
        let more = becomes((file, buffer.as_ref()), found, root);
        // An empty buffer has kept the name of a file that is gone.
        let is_gone = file.target == Ok(Held::Absent) && now(file, buffer.as_ref()) == &Held::Absent;
        ((!is_gone && !file.hunks.is_empty()) || more.is_some())
            .then(|| (file, buffer, more.unwrap_or_default()))
    });
    let files: Vec<(&Fetched, &Option<InBuffer>, String)> = listed.collect();
    let hunks: usize = files.iter().map(|(file, ..)| file.hunks.len()).sum();
    let mut page = Page::default();
    let what = restore.head.aim().title();
    let title = match files.len() {
        0 => what,
        count => {
            format!("{what}: {count} {} · {hunks} {}", plural(count, "file"), plural(hunks, "hunk"))
        }
    };
    page.add(title, About::Nothing, "0", "AcpWinbar");
    let hint = if files.is_empty() { hints.none } else { hints.some };
    page.add(hint, About::Nothing, "0", "AcpMeta");
    let mut repositories: Vec<&Repository> =
        files.iter().filter_map(|(file, ..)| file.repository.as_ref()).collect();
    repositories.sort_by_key(|repository| &repository.folder);
    repositories.dedup();
    for Repository { folder, is_new } in repositories {
        let git = name(&folder.join(".git"));
        let text = match is_new {
            true => format!("! {git} came since and stays: what git keeps for itself is not looked at"),
            false => format!("! {git} stays as it is: commits, HEAD and index are git's to put back"),
        };
        page.add(text, About::Nothing, "0", "AcpToolWaiting");
    }
    page.add(String::new(), About::Nothing, "0", "");
    for (file, buffer, more) in files {
        let there = |held: Option<&Held>| held != Some(&Held::Absent);
        let sides = (there(Some(now(file, buffer.as_ref()))), there(file.target.as_ref().ok()));
        let (added, removed) = visible_counts(&file.hunks, sides);
        let count = file.hunks.len();
        let counts = match count {
            0 => String::new(),
            _ => format!("{count} {} · +{added} -{removed}", plural(count, "hunk")),
        };
        let gap = if counts.is_empty() || more.is_empty() { "" } else { " · " };
        let about = About::File(file.path.clone());
        let line = format!("{}  {counts}{gap}{more}", name(&file.path));
        if cells(&line) <= width || more.is_empty() {
            page.add(line, about, ">1", "AcpTool");
        } else {
            // What becomes of it is to be read.
            page.add(format!("{}  {counts}", name(&file.path)), about.clone(), ">1", "AcpTool");
            for line in filled(&more, width.saturating_sub(INDENT.len())) {
                page.add(format!("{INDENT}{line}"), about.clone(), "1", "AcpTool");
            }
        }
        for hunk in &file.hunks {
            page.hunk(&file.path, &Arc::new(hunk.clone()), format!("  @@ {}", hunk.row + 1), sides);
        }
    }
    page
}

/// Before what becomes of a file where that has lines of its own.
const INDENT: &str = "    ";

/// What the file holds now, or its buffer.
fn now<'a>(file: &'a Fetched, buffer: Option<&'a InBuffer>) -> &'a Held {
    buffer.map_or(&file.disk, |buffer| &buffer.held)
}

/// What becomes of a file beside its lines; what is the same is not told.
fn becomes((file, buffer): (&Fetched, Option<&InBuffer>), all: &[Found], root: &Path) -> Option<String> {
    let target = file.target.as_ref();
    let known = target.map_err(Clone::clone).and_then(|target| Ok((target, road(buffer.cloned(), file)?)));
    let (target, (now, road)) = match known {
        Ok(known) => known,
        Err(why) => return Some(format!("can't be put back: {why}")),
    };
    let is_unsaved = buffer.is_some_and(|buffer| buffer.is_modified) && road != Road::Disk;
    let saved = file.saved.as_ref();
    if is_unsaved && target.matches(&now) {
        return (!saved.map_or(target, |saved| &saved.held).matches(&file.disk))
            .then(|| "the buffer holds this text already; :write saves it to the file".to_owned());
    }
    let is_missing = now == Held::Absent || road == Road::NewFile;
    let name = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    let folder = file.folder.as_deref().map(name);
    let mut parts = match (target, is_missing) {
        (Held::Absent, true) => return None,
        (Held::Absent, false) => {
            let gone = match old_name(file, all) {
                Some(old) => format!("gets its name {} back", name(old)),
                None => "was not there: is removed".to_owned(),
            };
            vec![match folder {
                Some(folder) => format!("{gone}, and the folder {folder} with it"),
                None => gone,
            }]
        }
        (_, true) => vec![match folder {
            Some(folder) => format!("comes back, and the folder {folder} with it"),
            None => "comes back".to_owned(),
        }],
        (_, false) => Vec::new(),
    };
    parts.extend(match (told(&now), told(target)) {
        (None, None) => None,
        (one, other) if one == other => {
            Some("other bytes of the same length".to_owned()).filter(|_| !now.matches(target))
        }
        (Some(one), None) if *target == Held::Absent => Some(one),
        (None, Some(one)) if now == Held::Absent => Some(one),
        (now, then) => {
            let or_text = |told: Option<String>| told.unwrap_or_else(|| "text".to_owned());
            Some(format!("{} becomes {}", or_text(now), or_text(then)))
        }
    });
    if let (Held::Text(now, _), Held::Text(then, _), true) = (&now, target, file.hunks.is_empty()) {
        parts.extend(OutsideLines::of(now, then).map(|what| what.comes_back().to_owned()));
    }
    if let (Some(now), Some(then)) = (file.disk.mode().0, target.mode().0)
        && now != then
    {
        parts.push(format!("mode {} to {}", Mode(Some(now)), Mode(Some(then))));
    }
    parts.extend(saved.map(|_| "what was not saved comes back unsaved".to_owned()));
    let saves = *target == Held::Absent || road == Road::NewFile;
    parts.extend((is_unsaved && now != Held::Absent).then(|| match saves {
        true => "drops your unsaved edits".to_owned(),
        false => "drops your unsaved edits; :write saves the result".to_owned(),
    }));
    (!parts.is_empty()).then(|| parts.join(" · "))
}

/// What there is to say of what has no lines.
fn told(held: &Held) -> Option<String> {
    match held {
        Held::Bytes(bytes, _) => Some(format!("binary, {}", size(bytes.len()))),
        Held::Link(target) => Some(format!("link to {}", target.display())),
        Held::Absent | Held::Text(..) | Held::Unknown => None,
    }
}

fn size(bytes: usize) -> String {
    if bytes < 1000 { format!("{bytes} bytes") } else { amount(bytes) }
}

/// Where a file comes back that holds what this one, which goes, holds now: it was renamed.
fn old_name<'a>(file: &Fetched, all: &'a [Found]) -> Option<&'a Path> {
    let came = |other: &&Fetched| {
        other.disk == Held::Absent
            && other.target.as_ref().is_ok_and(|target| target.bytes() == file.disk.bytes())
    };
    file.disk.bytes().filter(|bytes| !bytes.is_empty())?;
    let same_name = |other: &&&Fetched| other.path.file_name() == file.path.file_name();
    let all: Vec<&Fetched> = all.iter().map(|(file, _)| file).filter(came).collect();
    let found = all.iter().find(same_name).or(all.first())?;
    Some(&found.path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::store::checkpoint::{Head, Kind, hunks};

    fn text(text: &str) -> Held {
        Held::text(text)
    }

    fn file(path: &str, disk: Held, target: Held) -> Fetched {
        let hunks = hunks(&disk, &target);
        Fetched {
            path: path.into(),
            target: Ok(target),
            expected: None,
            disk,
            is_pipe: false,
            folder: None,
            repository: None,
            edits: Vec::new(),
            hunks,
            saved: None,
        }
    }

    fn lines(kind: Kind, fetched: &[Fetched]) -> Vec<String> {
        let found: Vec<Found> = fetched.iter().map(|file| (file.clone(), None)).collect();
        lines_of(kind, &found)
    }

    fn lines_of(kind: Kind, found: &[Found]) -> Vec<String> {
        let head = Head {
            agent: "demo".into(),
            acp_id: "1".into(),
            title: None,
            cwd: "/p".into(),
            prompt: "fix it".into(),
            kind,
        };
        let restore = Restore { head, files: Vec::new(), since: 0, hunk: None };
        let hints = Hints { some: "keys".into(), none: "nothing".into() };
        restore_page(&restore, found, Path::new("/p"), hints, 80).lines
    }

    #[test]
    fn what_becomes_of_a_file_has_lines_of_its_own_where_one_has_no_room_for_it() {
        let mut one = file("/p/some/folder/acp-tour.lua", text("now\n"), Held::Absent);
        (one.hunks, one.expected) = (hunks(&text("mine\n"), &Held::Absent), Some(text("now\n")));
        let held = InBuffer { held: text("mine\n"), is_modified: true };
        assert_eq!(
            lines_of(Kind::Turn, &[(one, Some(held))])[3..6],
            [
                "some/folder/acp-tour.lua  1 hunk · +0 -1",
                "    was not there: is removed · drops your unsaved edits",
                "  @@ 1",
            ]
        );
    }

    #[test]
    fn of_a_file_that_is_gone_again_nothing_is_left_though_a_buffer_has_its_name() {
        let mut one = file("/p/a", Held::Absent, Held::Absent);
        one.hunks = hunks(&text(""), &Held::Absent);
        for is_modified in [true, false] {
            let held = InBuffer { held: Held::Absent, is_modified };
            assert_eq!(lines_of(Kind::Turn, &[(one.clone(), Some(held))]).len(), 3);
        }
    }

    /// What is on the disk, what stands unsaved in the buffer, what is to come back, and what is said of it.
    #[test]
    fn what_becomes_of_unsaved_edits_is_said() {
        let gone = || Held::Absent;
        let table = [
            (
                text("now\n"),
                text("mine\n"),
                text("was\n"),
                "a  1 hunk · +1 -1 · drops your unsaved edits; :write saves the result",
            ),
            (
                text("now\n"),
                text("was\n"),
                text("was\n"),
                "a  the buffer holds this text already; :write saves it to the file",
            ),
            (
                text("now\n"),
                text("mine\n"),
                gone(),
                "a  1 hunk · +0 -1 · was not there: is removed · drops your unsaved edits",
            ),
            (
                gone(),
                text("mine\n"),
                text("was\n"),
                "a  1 hunk · +1 -1 · comes back · drops your unsaved edits",
            ),
            (
                text("now\n"),
                text("mine\n"),
                Held::Link("b".into()),
                "a  can't be put back: its buffer has unsaved edits; save or drop them first",
            ),
        ];
        for (disk, held, target, said) in table {
            let mut one = file("/p/a", disk.clone(), target.clone());
            (one.hunks, one.expected) = (hunks(&held, &target), Some(disk.clone()));
            let told = lines_of(Kind::Turn, &[(one, Some(InBuffer { held, is_modified: true }))]);
            assert_eq!(told[3], said, "{disk:?}");
        }
    }

    #[test]
    fn what_is_no_part_of_a_line_is_put_back_in_plain_words() {
        let told = |disk, target| lines(Kind::Turn, &[file("/p/a", text(disk), text(target))])[3].clone();
        assert_eq!(told("a\r\nb\r\n", "a\nb\n"), "a  its line ends are put back");
        assert_eq!(told("\u{feff}a\n", "a\n"), "a  its byte order mark is put back");
        assert_eq!(told("a\n", "a"), "a  the end of its last line is put back");
    }

    #[test]
    fn what_would_change_is_shown_by_the_file_and_the_hunk() {
        let all = lines(Kind::Turn, &[file("/p/a", text("now\n"), text("old\n"))]);
        assert_eq!(
            all,
            [
                "Back to before \"fix it\": 1 file · 1 hunk",
                "keys",
                "",
                "a  1 hunk · +1 -1",
                "  @@ 1",
                "  - now",
                "  + old",
            ]
        );
    }

    #[test]
    fn files_that_stay_as_they_are_take_no_line() {
        let all = lines(Kind::Restore, &[file("/p/a", text("same\n"), text("same\n"))]);
        assert_eq!(all, ["Undo the restore to before \"fix it\"", "nothing", ""]);
    }

    #[test]
    fn a_file_that_goes_or_comes_back_says_so() {
        let goes = lines(Kind::Turn, &[file("/p/a", text("now\n"), Held::Absent)]);
        assert!(goes[3].ends_with(" · was not there: is removed"), "{goes:?}");
        let comes = lines(Kind::Turn, &[file("/p/a", Held::Absent, text("old\n"))]);
        assert!(comes[3].ends_with(" · comes back"), "{comes:?}");
        let absent = lines(Kind::Turn, &[file("/p/a", Held::Absent, Held::Absent)]);
        assert_eq!(absent.len(), 3);
    }

    #[test]
    fn what_has_no_lines_is_told_in_words() {
        let bytes = |count: usize, mode| Held::Bytes(vec![0; count].into(), Mode(mode));
        let told = |disk, target| lines(Kind::Turn, &[file("/p/a", disk, target)])[3].clone();
        let link = |target: &str| Held::Link(target.into());
        assert_eq!(told(bytes(12_001, None), bytes(900, None)), "a  binary, 13 kB becomes binary, 900 bytes");
        let other = Held::Bytes(vec![1, 0].into(), Mode(None));
        assert_eq!(told(other, bytes(2, None)), "a  other bytes of the same length");
        assert_eq!(told(link("x"), text("a\n")), "a  link to x becomes text");
        assert_eq!(told(link("x"), link("y")), "a  link to x becomes link to y");
        assert_eq!(told(Held::Absent, link("y")), "a  comes back · link to y");
        assert_eq!(told(bytes(4 << 20, None), Held::Absent), "a  was not there: is removed · binary, 4.1 MB");
    }

    #[test]
    fn permissions_that_would_change_are_told() {
        let of = |mode| Held::Text("a\n".into(), Mode(mode));
        let all = lines(Kind::Turn, &[file("/p/a", of(Some(0o755)), of(Some(0o644)))]);
        assert_eq!(all[3], "a  mode 755 to 644");
        let all = lines(Kind::Turn, &[file("/p/a", of(None), of(Some(0o644)))]);
        assert_eq!(all.len(), 3, "it is not known that they do");
    }

    #[test]
    fn a_renamed_file_says_which_name_it_gets_back_and_folders_are_named() {
        let mut new = file("/p/new/a", text("x\n"), Held::Absent);
        new.folder = Some("/p/new".into());
        let mut old = file("/p/old/a", Held::Absent, text("x\n"));
        old.folder = Some("/p/old".into());
        let all = lines(Kind::Turn, &[new, old]);
        let about = |name: &str| all.iter().find(|line| line.starts_with(name)).expect("a line").clone();
        assert!(about("new/a").ends_with("gets its name old/a back, and the folder new with it"), "{all:?}");
        assert!(about("old/a").ends_with("comes back, and the folder old with it"), "{all:?}");
    }

    #[test]
    fn a_file_that_cannot_be_put_back_says_why() {
        let mut lost = file("/q/a", text("now\n"), Held::Unknown);
        lost.target = Err("its text is gone".into());
        lost.hunks = Vec::new();
        let all = lines(Kind::Turn, &[lost]);
        assert_eq!(all[3], "/q/a  can't be put back: its text is gone");
    }
}
