use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

/// Hand-made inputs, a file each, and what was found once; `fuzz/` begins with the same.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = files.map(|file| file.expect("an entry of a folder").path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).expect("a seed")).collect()
}

/// What a seed is changed by.
#[derive(Clone, Debug)]
enum Change {
    Byte(Index, u8),
    Remove(Index, usize),
    Repeat(Index, usize, u8),
    Insert(Index, &'static [u8]),
    /// The end of another seed.
    Splice(Index, Index, Index),
}

/// What means something to one of the targets.
const WORDS: [&[u8]; 56] = [
    b"\n",
    b"\r\n",
    b"\0",
    b"\x1b",
    b"\x1b[31m",
    b"\x1b]52;c;",
    b"\x1bP",
    b"\x9b",
    b"\xff",
    b"\xf0\x9f\x98",
    b"\xe2\x80\xae",
    b"\t",
    b"\x08",
    b"\r",
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"\\",
    b"\\ud83d",
    b"\\u0000",
    b"null",
    b"-1",
    b"1e400",
    b"99999999999999999999",
    b"true",
    b":",
    b",",
    b"\"id\":1,",
    b"\"method\":\"session/update\",",
    b"/",
    b"..",
    b"../",
    b"//",
    b"o/",
    b"u/",
    b"file://",
    b"%2f",
    b"C:\\",
    b"'",
    b"$(",
    b")",
    b"`",
    b"&&",
    b"|",
    b">",
    b"<<E\n",
    b";",
    b"${",
    b"rm x",
    b"sh -c ",
    b"xargs ",
    b"ls ",
    b"if ",
    b"$'",
];

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        (any::<Index>(), 1usize..40).prop_map(|(at, count)| Change::Remove(at, count)),
        (any::<Index>(), 1usize..40, 1u8..20).prop_map(|(at, count, times)| Change::Repeat(at, count, times)),
        (any::<Index>(), 0..WORDS.len()).prop_map(|(at, word)| Change::Insert(at, WORDS[word])),
        (any::<Index>(), any::<Index>(), any::<Index>())
            .prop_map(|(seed, from, at)| Change::Splice(seed, from, at)),
    ]
}

fn changed(seeds: &[Vec<u8>], seed: &Index, changes: &[Change]) -> Vec<u8> {
    let mut data = seeds[seed.index(seeds.len())].clone();
    for change in changes {
        let length = data.len();
        match change {
            Change::Byte(at, byte) if length > 0 => data[at.index(length)] = *byte,
            Change::Remove(at, count) if length > 0 => {
                let at = at.index(length);
                data.drain(at..(at + count).min(length));
            }
            Change::Repeat(at, count, times) if length > 0 => {
                let at = at.index(length);
                let end = (at + count).min(length);
                let piece = data[at..end].repeat(usize::from(*times));
                data.splice(end..end, piece);
            }
            Change::Insert(at, word) => {
                let at = at.index(length + 1);
                data.splice(at..at, word.iter().copied());
            }
            Change::Splice(other, from, at) => {
                let other = &seeds[other.index(seeds.len())];
                data.truncate(at.index(length + 1));
                data.extend_from_slice(&other[from.index(other.len() + 1)..]);
            }
            _ => {}
        }
    }
    data
}

fn config() -> ProptestConfig {
    // What is found becomes a seed. $PROPTEST_CASES asks for more than the usual 256.
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

#[test]
fn every_seed_holds() {
    for (name, target) in TARGETS {
        let seeds = seeds(name);
        assert!(seeds.len() >= 3, "{name} has next to no seeds");
        for seed in seeds {
            target(&seed);
            // Cut anywhere, as a stream is when its writer ends.
            for end in (0..seed.len().min(600)).step_by(7) {
                target(&seed[..end]);
            }
        }
        target(b"");
    }
}

macro_rules! hold {
    ($($test:ident: $target:ident,)*) => {
        proptest! {
            #![proptest_config(config())]
            $(
                #[test]
                fn $test(
                    seed in any::<Index>(),
                    changes in prop::collection::vec(change(), 1..6),
                    noise in prop::collection::vec(any::<u8>(), 0..80),
                ) {
                    static SEEDS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
                    let seeds = SEEDS.get_or_init(|| seeds(stringify!($target)));
                    $target(&changed(seeds, &seed, &changes));
                    $target(&noise);
                }
            )*
        }
    };
}

hold! {
    messages_are_the_same_wherever_their_bytes_are_cut: envelope,
    whatever_an_agent_says_can_be_drawn: updates,
    edits_and_merges_lead_to_the_text_that_they_say: diffs,
    what_is_cut_is_no_longer_than_its_limit_and_still_text: truncation,
    a_path_that_counts_as_inside_is_inside: paths,
    lines_of_shell_code_are_judged_alike_however_they_are_wrapped: shell,
}
