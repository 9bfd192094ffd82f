//! Rust's sources as words, texts and marks, for rules about what is written in them. Knows as much
//! of the language as it takes not to be deceived by comments and strings; `syn` would know all of
//! it, but brings every procedural macro to be built once more for the tests.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub line: usize,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name, a keyword or a number.
    Word(String),
    /// What stands in a string or a character, as written.
    Text(String),
    Mark(char),
}

/// A path as code names it, `use` groups taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    pub line: usize,
    pub path: Vec<String>,
    /// Inside of `#[cfg(test)]`.
    pub test: bool,
    pub by: By,
}

/// What kind of code names a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Code,
    Use,
    PubUse,
}

pub fn tokens(source: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = source;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let (length, kind) = if let Some(length) = blank(rest) {
            (length, None)
        } else if let Some((length, text)) = text(rest) {
            (length, Some(Kind::Text(text.to_owned())))
        } else if is_word(first) {
            let raw = if rest.starts_with("r#") { 2 } else { 0 };
            let length = raw + rest[raw..].find(|letter| !is_word(letter)).unwrap_or(rest.len() - raw);
            (length, Some(Kind::Word(rest[raw..length].to_owned())))
        } else {
            (first.len_utf8(), Some(Kind::Mark(first)))
        };
        tokens.extend(kind.map(|kind| Token { line, kind }));
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    tokens
}

/// All paths that are named outside of attributes, in order.
pub fn paths(source: &str) -> Vec<Named> {
    let mut named = Vec::new();
    collect(&tokens(source), &[], (false, By::Code), &mut named);
    named
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The length of white space or of a comment.
fn blank(rest: &str) -> Option<usize> {
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        let mut depth = 0;
        let bytes = rest.as_bytes();
        for at in 0..rest.len() - 1 {
            match &bytes[at..at + 2] {
                b"/*" => depth += 1,
                b"*/" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(at + 2);
            }
        }
        return Some(rest.len());
    }
    let length = rest.len() - rest.trim_start().len();
    (length > 0).then_some(length)
}

/// The length of a string or character literal, and what is in it.
fn text(rest: &str) -> Option<(usize, &str)> {
    let unprefixed = rest.strip_prefix(['b', 'c']).unwrap_or(rest);
    let prefix = rest.len() - unprefixed.len();
    if let Some(raw) = unprefixed.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let inside = raw[hashes..].strip_prefix('"')?;
        let close = format!("\"{}", "#".repeat(hashes));
        let end = inside.find(&close).unwrap_or(inside.len());
        return Some((rest.len() - inside.len() + (end + close.len()).min(inside.len()), &inside[..end]));
    }
    let quote = unprefixed.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
    let inside = &unprefixed[1..];
    let mut escaped = false;
    let end = inside.char_indices().find(|&(_, letter)| {
        let ends = letter == quote && !escaped;
        escaped = letter == '\\' && !escaped;
        ends
    });
    let end = end.map_or(inside.len(), |(at, _)| at);
    // Else it is a lifetime, which has no second quote at its end.
    let is_text = quote == '"' || inside.starts_with('\\') || inside[..end].chars().count() == 1;
    is_text.then(|| (prefix + (end + 2).min(unprefixed.len()), &inside[..end]))
}

fn collect(tokens: &[Token], prefix: &[String], (test, by): (bool, By), into: &mut Vec<Named>) {
    let mark = |at: usize| match tokens.get(at).map(|token| &token.kind) {
        Some(Kind::Mark(mark)) => Some(*mark),
        _ => None,
    };
    // What an attribute said about the item that follows.
    let mut test_item = false;
    let mut by = by;
    let mut at = 0;
    while at < tokens.len() {
        let inside_test = test || test_item;
        match &tokens[at].kind {
            Kind::Mark('#') if mark(at + 1) == Some('[') => {
                let end = closing(tokens, at + 1);
                let words = tokens[at + 2..end].iter().filter_map(|token| match &token.kind {
                    Kind::Word(word) => Some(word.as_str()),
                    _ => None,
                });
                test_item |= words.eq(["cfg", "test"]);
                at = end + 1;
            }
            Kind::Mark(open @ ('{' | '(' | '[')) => {
                let end = closing(tokens, at);
                collect(&tokens[at + 1..end], &[], (inside_test, by), into);
                test_item &= *open != '{';
                at = end + 1;
            }
            Kind::Mark(end) => {
                test_item &= *end != ';';
                by = if *end == ';' { By::Code } else { by };
                at += 1;
            }
            Kind::Text(_) => at += 1,
            Kind::Word(first) => {
                if first == "use" {
                    let public = at > 0 && tokens[at - 1].kind == Kind::Word("pub".to_owned());
                    by = if public { By::PubUse } else { By::Use };
                }
                let line = tokens[at].line;
                let mut path = prefix.to_vec();
                if first != "self" || prefix.is_empty() {
                    path.push(first.clone());
                }
                at += 1;
                let mut is_group = false;
                while (mark(at), mark(at + 1)) == (Some(':'), Some(':')) {
                    match tokens.get(at + 2).map(|token| &token.kind) {
                        Some(Kind::Word(word)) => path.push(word.clone()),
                        Some(Kind::Mark('*')) => path.push("*".to_owned()),
                        Some(Kind::Mark('{')) => {
                            is_group = true;
                            let end = closing(tokens, at + 2);
                            collect(&tokens[at + 3..end], &path, (inside_test, by), into);
                            at = end + 1;
                            break;
                        }
                        _ => break,
                    }
                    at += 3;
                }
                if !is_group {
                    into.push(Named { line, path, test: inside_test, by });
                }
            }
        }
    }
}

/// Where the bracket that opens at `open` is closed, or the end.
fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    let closed = tokens[open..].iter().position(|token| {
        match token.kind {
            Kind::Mark('{' | '(' | '[') => depth += 1,
            Kind::Mark('}' | ')' | ']') => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    closed.map_or(tokens.len(), |length| open + length)
}
