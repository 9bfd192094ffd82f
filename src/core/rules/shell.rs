//! A line of shell code as the commands in it, however deep they stand, and the files that it redirects to. What
//! isn't plainly understood is a doubt, and a line with a doubt is never allowed; so only kinds of syntax on a
//! list pass, and each letter of the line has to belong to one of them. What commands run is left to `wrappers`.

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use super::line::{Certainty, Line, PIPED_CODE, Redirect, Run, SETS_VARIABLES, STREAMS, Word, WordKind};
use super::wrappers::{self, Reader};
use super::{variables, writers};

/// Longer lines are not judged.
const LONGEST: usize = 16 << 10;
/// How often the parser may report back, which it does every hundred steps.
const MOST_STEPS: usize = 4_000;
/// Of nested lines and substitutions.
const DEEPEST: usize = 12;
/// Of all that a line comes to.
const MOST_COMMANDS: usize = 400;
const MOST_WORDS: usize = 2_000;

const TOO_NESTED: &str = "it is nested too deep";
const TOO_LONG: &str = "it is too long";
const TOO_COMPLEX: &str = "it is too complex";
const LIMITS: &[&str] = &[TOO_NESTED, TOO_LONG, TOO_COMPLEX];

/// Reads a line of shell code. Takes a bounded number of steps, whatever it is.
pub fn read(line: &str) -> Line {
    let mut reader = Shell::new();
    reader.read(line, Certainty::Certain);
    reader.line
}

/// A program and its arguments, which no shell reads.
pub fn read_words(words: &[String]) -> Line {
    let mut reader = Shell::new();
    reader.run(words.iter().map(Word::known).collect(), Certainty::Certain);
    reader.line
}

/// Reads lines, and those that commands in them are given.
struct Shell {
    line: Line,
    depth: usize,
    /// Of all commands.
    words: usize,
    folder: Option<String>,
    /// What is read may be code, or text for people.
    is_guess: bool,
}

/// The syntax that is understood; its children are.
const STRUCTURE: &[&str] = &[
    "program",
    "list",
    "pipeline",
    "subshell",
    "compound_statement",
    "negated_command",
    "if_statement",
    "elif_clause",
    "else_clause",
    "while_statement",
    "do_group",
];
/// The signs between its parts.
const SIGNS: &[&str] = &[
    "&&", "||", "|", ";", "\n", "(", ")", "{", "}", "!", "if", "then", "elif", "else", "fi", "while",
    "until", "do", "done", "for", "in",
];
impl Shell {
    fn new() -> Self {
        Self { line: Line::default(), depth: 0, words: 0, folder: Some(String::new()), is_guess: false }
    }

    fn is_full(&self) -> bool {
        self.line.runs.len() >= MOST_COMMANDS
    }

    fn walk(&mut self, node: Node, text: &str, certainty: Certainty) {
        if self.depth >= DEEPEST * 4 || self.is_full() {
            return self.doubt(TOO_COMPLEX);
        }
        self.depth += 1;
        match node.kind() {
            "command" => self.command(node, text, certainty, None),
            "redirected_statement" => self.redirected(node, text, certainty),
            "comment" => {}
            "for_statement" => self.each(node, text, certainty),
            "pipeline" => {
                self.structure(node, text, certainty);
                self.doubt_piped(node, text);
            }
            "variable_assignment" | "variable_assignments" => {
                self.doubt("it sets variables for what follows");
                self.substitutions(node, text);
            }
            "compound_statement" if text[node.start_byte()..].starts_with("((") => {
                self.doubt("it calculates");
                self.substitutions(node, text);
            }
            kind if STRUCTURE.contains(&kind) => self.structure(node, text, certainty),
            kind => {
                self.doubt(match kind {
                    "function_definition" => "it defines a function",
                    "declaration_command" | "unset_command" => "it sets variables for what follows",
                    "test_command" => "it tests by the shell's own rules",
                    "case_statement" => "it has branches by pattern",
                    _ => "it has syntax that isn't judged",
                });
                self.anything(node, text);
            }
        }
        self.depth -= 1;
    }

    /// Children, and nothing between them but blanks.
    fn structure(&mut self, node: Node, text: &str, certainty: Certainty) {
        let before = self.folder.clone();
        self.gaps(node, text);
        for child in children(node) {
            match child.is_named() {
                true => self.walk(child, text, certainty),
                // What runs beside the rest changes no folder; `|&` and the like are rare.
                false if child.kind() == "&" => self.doubt("it leaves a command running"),
                false if !SIGNS.contains(&child.kind()) => self.doubt("it has syntax that isn't judged"),
                false => {}
            }
        }
        // A folder that was changed only perhaps, or in a shell of its own.
        let is_sure = matches!(node.kind(), "program" | "list");
        let joins_or = children(node).iter().any(|child| child.kind() == "||");
        if (!is_sure || joins_or) && self.folder != before {
            self.folder = if node.kind() == "subshell" { before } else { None };
        }
    }

    fn gaps(&mut self, node: Node, text: &str) {
        let mut end = node.start_byte();
        let mut clean = true;
        for child in children(node) {
            clean &= is_blank(&text[end..child.start_byte().max(end)]);
            end = child.end_byte().max(end);
        }
        clean &= is_blank(&text[end..node.end_byte().max(end)]);
        if node.kind() == "program" {
            clean &= is_blank(&text[..node.start_byte()]) && is_blank(&text[end..]);
        }
        if !clean {
            self.doubt("it can't be parsed");
        }
    }

    fn each(&mut self, node: Node, text: &str, certainty: Certainty) {
        self.gaps(node, text);
        if node.child(0).is_none_or(|first| first.kind() != "for") {
            self.doubt("it has syntax that isn't judged");
        }
        for child in children(node).into_iter().filter(Node::is_named) {
            match child.kind() {
                "variable_name" if !variables::is_own(&text[child.byte_range()]) => {
                    self.doubt("it sets variables for what follows");
                }
                "variable_name" => {}
                "do_group" => self.walk(child, text, certainty),
                _ => drop(self.word(child, text)),
            }
        }
    }

    /// An expansion by which the shell reads a value as code, or sets one.
    fn doubt_expansion(&mut self, node: Node, text: &str) {
        let source = &text[node.byte_range()];
        match node.kind() {
            "arithmetic_expansion" if source.contains(|char: char| char.is_alphabetic() || char == '_') => {
                self.doubt("it calculates with variables");
            }
            "expansion" => {
                let inner = source.trim_start_matches("${").trim_start_matches(['!', '#']);
                let behind = inner.trim_start_matches(|char: char| char.is_alphanumeric() || char == '_');
                let behind = behind.trim_start_matches("[@]").trim_start_matches("[*]");
                // An index and the bounds of a part are calculated.
                let is_part = behind.strip_prefix(':').is_some_and(|rest| !rest.starts_with(['-', '?', '+']));
                let is_plain = |char: char| char.is_ascii_digit() || matches!(char, ':' | '}' | ' ');
                let calculates = behind.starts_with('[') || is_part && !behind.chars().all(is_plain);
                if calculates || behind.starts_with(['@', '=']) || source.contains('`') {
                    self.doubt("it has an expansion that may run or set something");
                }
            }
            _ => {}
        }
    }

    /// All commands in what isn't understood.
    fn anything(&mut self, node: Node, text: &str) {
        self.doubt_expansion(node, text);
        for child in children(node).into_iter().filter(Node::is_named) {
            match child.kind() {
                "command" | "redirected_statement" | "pipeline" | "list" | "program" => {
                    self.walk(child, text, Certainty::Likely);
                }
                "command_substitution" | "process_substitution" => drop(self.word(child, text)),
                _ if self.depth < DEEPEST * 4 => {
                    self.depth += 1;
                    self.anything(child, text);
                    self.depth -= 1;
                }
                _ => self.doubt(TOO_COMPLEX),
            }
        }
    }

    fn substitutions(&mut self, node: Node, text: &str) {
        self.anything(node, text);
    }

    fn doubt_piped(&mut self, node: Node, text: &str) {
        let stages: Vec<_> = children(node).into_iter().filter(Node::is_named).skip(1).collect();
        for stage in stages {
            let name = match stage.kind() {
                "command" => stage.child_by_field_name("name").map(|name| &text[name.byte_range()]),
                _ => None,
            };
            if name.is_some_and(wrappers::reads_code) {
                self.doubt(PIPED_CODE);
            }
        }
    }

    fn redirected(&mut self, node: Node, text: &str, certainty: Certainty) {
        self.gaps(node, text);
        let input = children(node)
            .into_iter()
            .find(|child| matches!(child.kind(), "heredoc_redirect" | "herestring_redirect"));
        for child in children(node) {
            match child.kind() {
                "file_redirect" => self.redirect(child, text),
                "heredoc_redirect" | "herestring_redirect" => {
                    self.doubt("it has a here-document");
                    self.anything(child, text);
                }
                "command" => self.command(child, text, certainty, input),
                _ if child.is_named() => self.walk(child, text, certainty),
                _ => self.doubt("it has syntax that isn't judged"),
            }
        }
    }

    fn redirect(&mut self, node: Node, text: &str) {
        self.gaps(node, text);
        let mut operator = "";
        let mut targets = Vec::new();
        for child in children(node) {
            match child.kind() {
                "file_descriptor" => {}
                kind if !child.is_named() => operator = kind,
                _ => targets.push(self.word(child, text)),
            }
        }
        let [path] = &targets[..] else { return self.doubt("it has a redirection that isn't judged") };
        let digits = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        match (operator, path.plain()) {
            (">&" | "<&", Some(word)) if digits(word) || word == "-" => {}
            (">" | ">>" | ">|" | "&>" | "&>>" | ">&" | "<", Some(word)) if STREAMS.contains(&word) => {}
            (_, Some(word)) if word.starts_with("/dev/") => {
                self.doubt("it has a redirection that isn't judged")
            }
            (">" | ">>" | ">|" | "&>" | "&>>" | ">&" | "<", _) => {
                let writes = operator != "<";
                let (path, folder) = (path.clone(), self.folder.clone());
                self.line.redirects.push(Redirect { path, writes, is_guess: self.is_guess, folder });
            }
            _ => self.doubt("it has a redirection that isn't judged"),
        }
    }

    fn command(&mut self, node: Node, text: &str, certainty: Certainty, input: Option<Node>) {
        self.gaps(node, text);
        let mut words = Vec::new();
        let mut given = input;
        for child in children(node) {
            match child.kind() {
                "variable_assignment" => self.assigned(child, text),
                "file_redirect" => self.redirect(child, text),
                "herestring_redirect" | "heredoc_redirect" => {
                    self.doubt("it has a here-document");
                    self.anything(child, text);
                    given = Some(child);
                }
                "command_name" => match child.child(0) {
                    Some(name) if child.child_count() == 1 => words.push(self.word(name, text)),
                    _ => {
                        self.doubt("it has a name that isn't judged");
                        words.push(Word::unknown(&text[child.byte_range()]));
                    }
                },
                _ if child.is_named() => words.push(self.word(child, text)),
                _ => self.doubt("it has syntax that isn't judged"),
            }
        }
        let reads_code = words.first().and_then(Word::plain).is_some_and(wrappers::reads_code);
        if let Some(given) = given.filter(|_| reads_code) {
            // A guess at what the shell gets; the line is asked about in any case.
            let body = children(given).into_iter().find(|child| {
                matches!(child.kind(), "heredoc_body" | "string" | "raw_string" | "word" | "concatenation")
            });
            if let Some(body) = body {
                let code = text[body.byte_range()].trim_matches(['"', '\'']).to_owned();
                self.read(&code, Certainty::Likely);
            }
        }
        if !words.is_empty() {
            self.run(words, certainty);
        }
    }

    fn assigned(&mut self, node: Node, text: &str) {
        let name = node.child_by_field_name("name").map(|name| &text[name.byte_range()]);
        let value = node.child_by_field_name("value").map(|value| self.word(value, text));
        let value = value.as_ref().map_or(Some(""), Word::plain);
        let both = name.zip(value);
        if !both.is_some_and(|(name, value)| variables::is_harmless(name, value)) {
            self.doubt(SETS_VARIABLES);
        }
        self.anything(node, text);
    }

    fn word(&mut self, node: Node, text: &str) -> Word {
        let source = &text[node.byte_range()];
        match node.kind() {
            "word" | "number" => plain_word(source),
            "raw_string" => match source.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
                Some(inner) if !inner.contains('\'') => Word::known(inner),
                _ => Word::unknown(source),
            },
            "string" => {
                self.anything(node, text);
                quoted(source)
            }
            "concatenation" => {
                let (mut text_of, mut kind, mut end) = (String::new(), WordKind::Known, node.start_byte());
                for child in children(node) {
                    let part = match child.is_named() && child.start_byte() == end {
                        true => self.word(child, text),
                        false => Word::unknown(&text[child.byte_range()]),
                    };
                    end = child.end_byte();
                    text_of.push_str(&part.text);
                    kind = match (kind, part.kind) {
                        (WordKind::Unknown, _) | (_, WordKind::Unknown) => WordKind::Unknown,
                        (WordKind::Glob, _) | (_, WordKind::Glob) => WordKind::Glob,
                        _ => WordKind::Known,
                    };
                }
                // Braces fall apart into words of their own.
                let braces = source.contains('{') && source.contains('}');
                let kind = if braces || end != node.end_byte() { WordKind::Unknown } else { kind };
                Word { text: text_of, kind }
            }
            "command_substitution" | "process_substitution" => {
                for child in children(node).into_iter().filter(Node::is_named) {
                    self.walk_apart(child, text);
                }
                Word::unknown(source)
            }
            _ => {
                self.anything(node, text);
                Word::unknown(source)
            }
        }
    }

    /// In a shell of its own.
    fn walk_apart(&mut self, node: Node, text: &str) {
        let folder = self.folder.clone();
        match node.kind() {
            "file_redirect" => self.redirect(node, text),
            _ => self.walk(node, text, Certainty::Certain),
        }
        self.folder = folder;
    }
}

impl Shell {
    /// Of what may be code, but can't be parsed, all that stands between separators may be a command.
    fn parts(&mut self, text: &str) {
        for part in text.split([';', '|', '&', '(', ')', '{', '}', '\n', '`', '$']) {
            let plain: String = part.chars().filter(|char| !matches!(char, '\\' | '"' | '\'')).collect();
            let words: Vec<Word> = plain.split_whitespace().map(Word::known).collect();
            if !words.is_empty() {
                self.add(&words, Certainty::Possible);
            }
        }
    }
}

impl Reader for Shell {
    fn doubt(&mut self, why: &'static str) {
        // Text needs to be no code; but what isn't read in full may hold any.
        if !self.is_guess || LIMITS.contains(&why) {
            self.line.doubt(why);
        }
    }

    fn guess(&mut self, text: &str) {
        let (was, folder) = (self.is_guess, self.folder.clone());
        self.is_guess = true;
        self.read(text, Certainty::Possible);
        (self.is_guess, self.folder) = (was, folder);
    }

    fn read(&mut self, text: &str, certainty: Certainty) {
        if self.depth >= DEEPEST {
            return self.doubt(TOO_NESTED);
        }
        if text.len() > LONGEST {
            return self.doubt(TOO_LONG);
        }
        if text.chars().any(is_odd) {
            self.doubt("it has letters that can't be seen or are easily taken for others");
        }
        // The grammar's scanner passes what it reads to functions of C's that are defined for bytes alone: beyond
        // ASCII it reads memory that isn't its own. A plain letter stands in for each byte of others, and since the shell
        // may see other words than the grammar then, nothing of it is allowed.
        let ascii: String =
            text.bytes().map(|byte| if byte.is_ascii() { char::from(byte) } else { 'x' }).collect();
        if ascii != text {
            self.doubt("it has letters beyond ASCII");
        }
        let Some(tree) = parse(&ascii) else { return self.doubt(TOO_COMPLEX) };
        let root = tree.root_node();
        // Each letter has as many bytes as stood in for it; a word may only end in the middle of one by mistake.
        let text = if cuts_letters(&tree, text) { &ascii } else { text };
        if root.has_error() {
            self.doubt("it can't be parsed");
            if self.is_guess {
                self.parts(text);
            }
        }
        self.depth += 1;
        self.walk(root, text, certainty);
        self.depth -= 1;
    }

    fn run(&mut self, words: Vec<Word>, certainty: Certainty) {
        if self.is_full() || self.depth >= DEEPEST * 4 {
            return self.doubt(TOO_COMPLEX);
        }
        self.depth += 1;
        wrappers::unwrap(self, &words, certainty);
        self.depth -= 1;
    }

    fn add(&mut self, words: &[Word], certainty: Certainty) {
        self.words += words.len();
        if self.words > MOST_WORDS || self.is_full() {
            return self.doubt(TOO_COMPLEX);
        }
        let certainty = if self.is_guess { Certainty::Possible } else { certainty };
        let folder = self.folder.clone();
        self.line.runs.push(Run { words: words.to_vec(), certainty, folder });
        if certainty > Certainty::Possible || self.is_guess {
            let effects = writers::effects(words);
            effects.doubts.into_iter().for_each(|doubt| self.doubt(doubt));
            if effects.is_opaque {
                wrappers::guesses(self, words);
            }
        }
        if let Some("cd" | "pushd") = words.first().and_then(Word::plain) {
            self.folder = match (words, &self.folder) {
                ([_, to], Some(from)) => to.plain().filter(|to| *to != "-").map(|to| match to {
                    _ if to.starts_with(['/', '~']) || from.is_empty() => to.to_owned(),
                    _ => format!("{from}/{to}"),
                }),
                _ => None,
            };
        }
    }
}

fn parse(text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let mut steps = 0;
    let mut ends = |_: &ParseState| {
        steps += 1;
        steps > MOST_STEPS
    };
    let options = ParseOptions::new().progress_callback(&mut ends);
    let bytes = text.as_bytes();
    parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options))
}

/// Whether a part of the tree begins or ends in the middle of a letter.
fn cuts_letters(tree: &Tree, text: &str) -> bool {
    let mut cursor = tree.walk();
    loop {
        let range = cursor.node().byte_range();
        if !text.is_char_boundary(range.start) || !text.is_char_boundary(range.end) {
            return true;
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return false;
            }
        }
    }
}

fn children(node: Node) -> Vec<Node> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect()
}

/// An escaped line break is one, too.
fn is_blank(text: &str) -> bool {
    text.replace("\\\n", "").chars().all(|char| matches!(char, ' ' | '\t' | '\n'))
}

/// What a reader doesn't see, or takes for something else.
fn is_odd(char: char) -> bool {
    match char {
        '\n' | '\t' => false,
        _ if char.is_control() => true,
        _ if char.is_ascii() => false,
        // Letters beside ASCII's are the business of words; blanks and marks of direction are nobody's.
        _ => {
            char.is_whitespace()
                || matches!(char, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
        }
    }
}

fn plain_word(source: &str) -> Word {
    let (mut text, mut kind) = (String::new(), WordKind::Known);
    let mut chars = source.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next() {
                Some('\n') => {}
                Some(escaped) => text.push(escaped),
                None => return Word::unknown(source),
            },
            '*' | '?' | '[' | ']' => {
                kind = WordKind::Glob;
                text.push(char);
            }
            // What should have been something else than a word.
            '$' | '`' | '"' | '\'' | '{' | '}' | '(' | ')' | '<' | '>' | '|' | '&' | ';' | ' ' | '\n'
            | '\t' | '!' => {
                // `!` alone stands before tests.
                return Word::unknown(source);
            }
            _ => text.push(char),
        }
    }
    Word { text, kind }
}

/// In double quotes.
fn quoted(source: &str) -> Word {
    let Some(inner) = source.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return Word::unknown(source);
    };
    let mut text = String::new();
    let mut chars = inner.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next() {
                Some('\n') => {}
                Some(escaped @ ('$' | '`' | '"' | '\\')) => text.push(escaped),
                Some(other) => text.extend(['\\', other]),
                None => return Word::unknown(source),
            },
            '$' | '`' | '"' => return Word::unknown(inner),
            _ => text.push(char),
        }
    }
    Word::known(text)
}
