//! What `tar` does: the archive that it writes, or files that an archive names.

use super::options::Options;
use super::{Effects, RUNS_MORE};
use crate::core::rules::line::Word;

const VALUED: &[&str] = &[
    "-b",
    "-C",
    "-f",
    "-F",
    "-g",
    "-H",
    "-I",
    "-K",
    "-L",
    "-N",
    "-T",
    "-V",
    "-X",
    "--file",
    "--directory",
    "--exclude",
    "--files-from",
    "--exclude-from",
    "--listed-incremental",
    "--use-compress-program",
    "--transform",
    "--strip-components",
];
const RUNS: &[&str] = &[
    "-F",
    "-I",
    "--checkpoint-action",
    "--info-script",
    "--new-volume-script",
    "--rmt-command",
    "--rsh-command",
    "--to-command",
    "--use-compress-program",
];
const STRIPS: &[&str] = &["-t", "--list", "-d", "--diff", "--compare", "--version", "--help"];
const ARCHIVES: &[&str] =
    &["-c", "-r", "-u", "-A", "--create", "--append", "--update", "--concatenate", "--catenate", "--delete"];

pub fn effects(words: &[Word]) -> Effects {
    let words = with_dash(words);
    let options = Options::read(&words, VALUED);
    let has = |names: &[&str]| names.iter().any(|name| options.has(name));
    let mut effects = Effects::default();
    if has(RUNS) {
        effects.doubts.push(RUNS_MORE);
    }
    if has(ARCHIVES) {
        effects.writes = [options.values("-f"), options.values("--file")].concat();
        effects.writes.extend([options.values("-g"), options.values("--listed-incremental")].concat());
        if options.has("--remove-files") {
            effects.writes.extend(options.arguments.iter().cloned());
        }
    } else if !has(STRIPS) && !has(&["-O", "--to-stdout"]) {
        effects.writes_others = true;
        effects.writes = [options.values("-C"), options.values("--directory")].concat();
    }
    effects
}

/// The oldest way has letters without a dash, and their values behind them, one after the other.
fn with_dash(words: &[Word]) -> Vec<Word> {
    let Some((first, rest)) = words.get(1).zip(words.get(2..)) else { return words.to_vec() };
    if first.text.starts_with('-') || !first.text.chars().all(|char| char.is_ascii_alphabetic()) {
        return words.to_vec();
    }
    let mut rest = rest.iter();
    let mut all = vec![words[0].clone()];
    for letter in first.text.chars() {
        let option = format!("-{letter}");
        let takes = VALUED.contains(&&*option);
        all.push(Word { text: option, kind: first.kind });
        all.extend(takes.then(|| rest.next()).flatten().cloned());
    }
    all.extend(rest.cloned());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_written_and_files_that_they_name() {
        let of = |line: &str| {
            let words: Vec<Word> = line.split(' ').map(Word::known).collect();
            let Effects { writes, writes_others, doubts, .. } = effects(&words);
            (
                writes.into_iter().map(|word| word.text).collect::<Vec<_>>().join(" "),
                writes_others,
                doubts.len(),
            )
        };
        for line in [
            "tar cf a.tar x",
            "tar -cf a.tar x",
            "tar czf a.tar x",
            "tar --create --file=a.tar x",
            "tar cCf d a.tar x",
        ] {
            assert_eq!(of(line), ("a.tar".to_owned(), false, 0), "{line}");
        }
        for line in ["tar xf a.tar", "tar -xzf a.tar", "tar a.tar", "tar --extract --file a.tar"] {
            assert_eq!(of(line), (String::new(), true, 0), "{line}");
        }
        for line in ["tar tf a.tar", "tar -tvf a.tar", "tar --list --file a.tar", "tar xOf a.tar"] {
            assert_eq!(of(line), (String::new(), false, 0), "{line}");
        }
        for line in [
            "tar xf a --to-command=x",
            "tar xf a -I x",
            "tar cf a --checkpoint-action exec=x b",
            "tar xFf x a",
        ] {
            assert_eq!(of(line).2, 1, "{line}");
        }
    }
}
