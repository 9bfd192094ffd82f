//! A function takes five arguments at most, `self` among them. Clippy's `too_many_arguments` would not look at methods
//! of traits, nor at what is compiled for other systems.

use super::{Kind, read, rust_files, tokens};

const MOST: usize = 5;

/// The functions that take too much, by their names.
fn too_many(source: &str) -> Vec<String> {
    let tokens = tokens(source);
    let mark = |at: usize| match tokens.get(at).map(|token| &token.kind) {
        Some(Kind::Mark(mark)) => Some(*mark),
        _ => None,
    };
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let (Kind::Word(keyword), Some(Kind::Word(name))) =
            (&tokens[at].kind, tokens.get(at + 1).map(|token| &token.kind))
        else {
            continue;
        };
        if keyword != "fn" {
            continue;
        }
        // From here to the bracket of the arguments there are type parameters at most.
        let mut angles = 0;
        let mut at = at + 2;
        while at < tokens.len() && !(angles == 0 && mark(at) == Some('(')) {
            angles += step(mark(at - 1), mark(at));
            at += 1;
        }
        let (mut depth, mut angles, mut count, mut is_empty) = (0, 0, 0, true);
        for (index, token) in tokens.iter().enumerate().skip(at) {
            match token.kind {
                Kind::Mark('(' | '[' | '{') => depth += 1,
                Kind::Mark(')' | ']' | '}') => depth -= 1,
                Kind::Mark(',') if depth == 1 && angles == 0 => {
                    (count, is_empty) = (count + 1, true);
                    continue;
                }
                _ => angles += step(mark(index - 1), mark(index)),
            }
            if depth == 0 {
                break;
            }
            is_empty &= index == at;
        }
        if count + usize::from(!is_empty) > MOST {
            found.push(name.clone());
        }
    }
    found
}

/// Whether an angle bracket opens or closes here; `->` is none.
fn step(before: Option<char>, mark: Option<char>) -> i32 {
    match mark {
        Some('<') => 1,
        Some('>') if before != Some('-') => -1,
        _ => 0,
    }
}

#[test]
fn no_function_takes_more_than_five_arguments() {
    let folders = ["src", "tests", "benches"];
    let files = folders.into_iter().flat_map(rust_files);
    let found: Vec<String> = files
        .flat_map(|file| {
            let named = |name| format!("{}: {name}", file.display());
            too_many(&read(&file)).into_iter().map(named).collect::<Vec<_>>()
        })
        .collect();
    assert!(found.is_empty(), "give it a struct, or let it do less:\n{}", found.join("\n"));
}

#[test]
fn arguments_are_counted_and_what_they_are_made_of_is_not() {
    assert_eq!(too_many("fn f(a: A, b: B, c: C, d: D, e: E) {}"), [""; 0]);
    assert_eq!(too_many("fn f(a: A, b: B, c: C, d: D, e: E,) {}"), [""; 0]);
    assert_eq!(too_many("fn f(&self, b: B, c: C, d: D, e: E, f: F) {}"), ["f"]);
    assert_eq!(too_many("fn f(a: (A, B), c: [C; 2], d: HashMap<D, E>, f: &dyn Fn(F, G) -> H) {}"), [""; 0]);
    assert_eq!(
        too_many("fn f<A: Fn(B, C) -> D, E>(a: A, b: impl Fn(A) -> B, c: C, d: D, e: E, f: F) {}"),
        ["f"]
    );
    assert_eq!(too_many("fn f() { g(1, 2, 3, 4, 5, 6) }"), [""; 0]);
    assert_eq!(too_many("type F = fn(A, B, C, D, E, F);"), [""; 0]);
}
