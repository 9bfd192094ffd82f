//! The plugin's own tools as a table: names, descriptions, arguments. Their names are those of the functions in
//! `lua/acp/tools/`.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::core::message::ToolSpec;

/// How long a call may take; each request to a language server has a shorter limit of its own.
const PATIENCE: Duration = Duration::from_secs(60);
/// The same where the user may be asked.
const PATIENCE_OF_USERS: Duration = Duration::from_secs(3600);
/// So many places an answer holds, unless the agent wants another number.
const PAGE: u32 = 50;
const LONGEST_PAGE: u32 = 500;

pub struct Tool {
    pub name: &'static str,
    /// A call in words: what it does, and the word before what it does that to.
    pub deed: (&'static str, &'static str),
    pub description: &'static str,
    args: &'static [&'static [Arg]],
    /// What the items of an answer are called: one, several.
    pub items: (&'static str, &'static str),
    effect: Effect,
}

/// What a tool does beside answering.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    Nothing,
    /// It changes files or runs something, which may have to wait for the user.
    Changes,
}

struct Arg {
    name: &'static str,
    kind: Kind,
    description: &'static str,
}

enum Kind {
    /// Has to be given.
    Text,
    OptionalText,
    /// Has to be given, and may be empty.
    AnyText,
    /// Texts, so many at least.
    Texts(u32),
    /// From 1; has to be given.
    Line,
    OptionalLine,
    /// The default, and the greatest.
    Count(u32, u32),
    Offset,
    Flag(bool),
    /// The first is the default.
    Word(&'static [&'static str]),
}

const FILE: Arg = Arg {
    name: "file",
    kind: Kind::Text,
    description: "A file of the project: its path, absolute or from the project's root.",
};
const PLACE: &[Arg] = &[
    FILE,
    Arg { name: "line", kind: Kind::Line, description: "The line in that file, from 1." },
    Arg {
        name: "symbol",
        kind: Kind::OptionalText,
        description: "The name in that line that is meant. Without it, and without a column, the first word.",
    },
    Arg {
        name: "column",
        kind: Kind::OptionalLine,
        description: "The column in that line, from 1 and in bytes, in place of a symbol.",
    },
];
const PAGED: &[Arg] = &[
    Arg { name: "offset", kind: Kind::Offset, description: "Leave out so many; for the next page." },
    Arg { name: "limit", kind: Kind::Count(PAGE, LONGEST_PAGE), description: "Give at most so many." },
];

const PLACES: (&str, &str) = ("place", "places");

pub const TOOLS: &[Tool] = &[
    Tool {
        name: "diagnostics",
        deed: ("look up diagnostics", "of"),
        description: "Errors and warnings that language servers and linters report now, for one file or for all files \
                      that the editor has open. Knows unsaved text. Ask with `wait` after a change.",
        args: &[
            &[
                Arg {
                    name: "file",
                    kind: Kind::OptionalText,
                    description: "Only of this file, which is opened if need be.",
                },
                Arg {
                    name: "severity",
                    kind: Kind::Word(&["hint", "info", "warn", "error"]),
                    description: "Only those that are at least this severe.",
                },
                Arg {
                    name: "wait",
                    kind: Kind::Flag(false),
                    description: "Wait until the servers are quiet: they may not be done with a change yet.",
                },
            ],
            PAGED,
        ],
        items: ("diagnostic", "diagnostics"),
        effect: Effect::Nothing,
    },
    Tool {
        name: "hover",
        deed: ("look up the documentation", "of"),
        description: "The type, signature and documentation of a symbol, from the language server.",
        args: &[PLACE],
        items: ("text", "texts"),
        effect: Effect::Nothing,
    },
    Tool {
        name: "definition",
        deed: ("look up the definition", "of"),
        description: "Where a symbol is defined, from the language server. More reliable than a search for its name.",
        args: &[PLACE, PAGED],
        items: PLACES,
        effect: Effect::Nothing,
    },
    Tool {
        name: "declaration",
        deed: ("look up the declaration", "of"),
        description: "Where a symbol is declared, from the language server.",
        args: &[PLACE, PAGED],
        items: PLACES,
        effect: Effect::Nothing,
    },
    Tool {
        name: "type_definition",
        deed: ("look up the type", "of"),
        description: "Where the type of a symbol is defined, from the language server.",
        args: &[PLACE, PAGED],
        items: PLACES,
        effect: Effect::Nothing,
    },
    Tool {
        name: "implementation",
        deed: ("look up implementations", "of"),
        description: "Where an interface, trait or method is implemented, from the language server.",
        args: &[PLACE, PAGED],
        items: PLACES,
        effect: Effect::Nothing,
    },
    Tool {
        name: "references",
        deed: ("look up references", "to"),
        description: "Every use of a symbol in the project, from the language server: no false matches by name, also in \
                      unsaved text.",
        args: &[
            PLACE,
            &[Arg {
                name: "declaration",
                kind: Kind::Flag(true),
                description: "Whether the declaration itself counts.",
            }],
            PAGED,
        ],
        items: PLACES,
        effect: Effect::Nothing,
    },
    Tool {
        name: "document_symbols",
        deed: ("look up the symbols", "of"),
        description: "The functions, types and variables of a file with their lines, from the language server.",
        args: &[&[FILE], PAGED],
        items: ("symbol", "symbols"),
        effect: Effect::Nothing,
    },
    Tool {
        name: "workspace_symbols",
        deed: ("look up symbols", "like"),
        description: "Functions, types and variables of the whole project by a part of their name, from the language \
                      servers that run.",
        args: &[&[Arg { name: "query", kind: Kind::Text, description: "The name, or a part of it." }], PAGED],
        items: ("symbol", "symbols"),
        effect: Effect::Nothing,
    },
    Tool {
        name: "call_hierarchy",
        deed: ("look up calls", "of"),
        description: "Which functions call a function, or which it calls, from the language server.",
        args: &[
            PLACE,
            &[Arg {
                name: "direction",
                kind: Kind::Word(&["incoming", "outgoing"]),
                description: "Its callers (incoming), or what it calls (outgoing).",
            }],
            PAGED,
        ],
        items: ("function", "functions"),
        effect: Effect::Nothing,
    },
    Tool {
        name: "buffers",
        deed: ("look up open files", ""),
        description: "The files that the user has open in the editor, and which of them have unsaved changes.",
        args: &[PAGED],
        items: ("open file", "open files"),
        effect: Effect::Nothing,
    },
    Tool {
        name: "selection",
        deed: ("look up the selection", ""),
        description: "Where the user's cursor is, what they see and what they have selected: what \"this\" and \"here\" \
                      mean.",
        args: &[],
        items: ("text", "texts"),
        effect: Effect::Nothing,
    },
    Tool {
        name: "jumps",
        deed: ("look up where you have been", ""),
        description: "Where the user has been or what they have changed, the latest first.",
        args: &[
            &[Arg {
                name: "list",
                kind: Kind::Word(&["jumps", "changes"]),
                description: "Places they jumped from, or changed in the file they are in.",
            }],
            PAGED,
        ],
        items: PLACES,
        effect: Effect::Nothing,
    },
    Tool {
        name: "marks",
        deed: ("look up your marks", ""),
        description: "The places that the user has marked, with a letter each: what they want to come back to.",
        args: &[PAGED],
        items: ("mark", "marks"),
        effect: Effect::Nothing,
    },
    Tool {
        name: "quickfix",
        deed: ("look up the quickfix list", ""),
        description: "The user's quickfix list (errors of their last build, matches of their last search) or location \
                      list.",
        args: &[
            &[Arg {
                name: "list",
                kind: Kind::Word(&["quickfix", "location"]),
                description: "Which of the two lists.",
            }],
            PAGED,
        ],
        items: ("entry", "entries"),
        effect: Effect::Nothing,
    },
    Tool {
        name: "outline",
        deed: ("look up the outline", "of"),
        description: "The functions and types of a file with their lines, from its syntax tree; needs no language \
                      server.",
        args: &[&[FILE], PAGED],
        items: ("definition", "definitions"),
        effect: Effect::Nothing,
    },
    Tool {
        name: "node",
        deed: ("look up the code", "at"),
        description: "The function or type around a line with its text, and the syntax nodes that the line is in.",
        args: &[&[
            FILE,
            Arg { name: "line", kind: Kind::Line, description: "The line in that file, from 1." },
            Arg { name: "column", kind: Kind::OptionalLine, description: "The column, from 1." },
        ]],
        items: ("text", "texts"),
        effect: Effect::Nothing,
    },
    Tool {
        name: "messages",
        deed: ("look up Neovim's messages", ""),
        description: "The editor's last messages: errors of plugins, output of commands.",
        args: &[&[Arg {
            name: "lines",
            kind: Kind::Count(PAGE, LONGEST_PAGE),
            description: "Give at most so many lines.",
        }]],
        items: ("text", "texts"),
        effect: Effect::Nothing,
    },
    Tool {
        name: "git_hunks",
        deed: ("look up uncommitted hunks", "of"),
        description: "The uncommitted hunks of a file as the user's git plugin shows them, unsaved text included.",
        args: &[&[FILE], PAGED],
        items: ("hunk", "hunks"),
        effect: Effect::Nothing,
    },
    Tool {
        name: "rename",
        deed: ("rename", ""),
        description: "Rename a symbol everywhere in the project, by the language server. The files are changed as by \
                      any edit of yours, unsaved text included.",
        args: &[
            PLACE,
            &[Arg { name: "new_name", kind: Kind::Text, description: "What it is called from now on." }],
        ],
        items: ("changed file", "changed files"),
        effect: Effect::Changes,
    },
    Tool {
        name: "code_action",
        deed: ("look up code actions", "for"),
        description: "What the language server offers to do at a line: quick fixes, refactorings. Lists them; with \
                      `apply`, does that one.",
        args: &[
            PLACE,
            &[
                Arg {
                    name: "last_line",
                    kind: Kind::OptionalLine,
                    description: "The last line, for what is done to whole lines, such as to extract a function.",
                },
                Arg {
                    name: "apply",
                    kind: Kind::OptionalText,
                    description: "The title of the one to apply, or its number in the list.",
                },
            ],
        ],
        items: ("action", "actions"),
        effect: Effect::Changes,
    },
    Tool {
        name: "format",
        deed: ("format", ""),
        description: "Format a file by its language server.",
        args: &[&[FILE]],
        items: ("changed file", "changed files"),
        effect: Effect::Changes,
    },
    Tool {
        name: "organize_imports",
        deed: ("organize the imports", "of"),
        description: "Sort the imports of a file and remove the unused, by its language server.",
        args: &[&[FILE]],
        items: ("changed file", "changed files"),
        effect: Effect::Changes,
    },
    Tool {
        name: "edit_buffer",
        deed: ("edit", ""),
        description: "Replace a text in a file, as the editor has it, unsaved text included. The old text has to be \
                      there exactly once, unless `all` is set.",
        args: &[&[
            FILE,
            Arg { name: "old", kind: Kind::Text, description: "The exact text that is there now." },
            Arg { name: "new", kind: Kind::AnyText, description: "What takes its place." },
            Arg { name: "all", kind: Kind::Flag(false), description: "Replace it wherever it is." },
        ]],
        items: ("changed file", "changed files"),
        effect: Effect::Changes,
    },
    Tool {
        name: "ask_user",
        deed: ("ask", ""),
        description: "Ask the user a question with choices, and wait for the answer. Only for what you can't find out.",
        args: &[&[
            Arg { name: "question", kind: Kind::Text, description: "One question, in a sentence." },
            Arg { name: "choices", kind: Kind::Texts(1), description: "The answers to choose from." },
        ]],
        items: ("text", "texts"),
        effect: Effect::Changes,
    },
    Tool {
        name: "run_task",
        deed: ("run", ""),
        description: "Run a command line (a build, a test) in a terminal that the user sees, and wait for its end. Gives \
                      the exit code and the end of the output.",
        args: &[&[
            Arg { name: "command", kind: Kind::Text, description: "As typed into a shell." },
            Arg {
                name: "folder",
                kind: Kind::OptionalText,
                description: "Where to run it; without, the project's root.",
            },
            Arg {
                name: "timeout",
                kind: Kind::Count(600, 3500),
                description: "End it after so many seconds.",
            },
        ]],
        items: ("text", "texts"),
        effect: Effect::Changes,
    },
    Tool {
        name: "set_quickfix",
        deed: ("fill the quickfix list", "with"),
        description: "Give the user a list of places to go through (the quickfix list). Opens no window.",
        args: &[&[
            Arg { name: "title", kind: Kind::Text, description: "What the list is about." },
            Arg {
                name: "places",
                kind: Kind::Texts(0),
                description: "As `path:line:column: text` or `path:line: text`.",
            },
        ]],
        items: ("entry", "entries"),
        effect: Effect::Changes,
    },
    Tool {
        name: "open_place",
        deed: ("show", ""),
        description: "Show the user a place in a file. It opens in the window that follows you, never in the user's.",
        args: &[&[
            FILE,
            Arg { name: "line", kind: Kind::Line, description: "The line in that file, from 1." },
        ]],
        items: ("text", "texts"),
        effect: Effect::Nothing,
    },
];

pub fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// All of them, as agents are told.
pub fn specs() -> Vec<ToolSpec> {
    TOOLS.iter().map(Tool::spec).collect()
}

impl Tool {
    pub fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name.to_owned(),
            description: self.description.to_owned(),
            schema: self.schema(),
            reads_only: self.effect == Effect::Nothing,
            patience: if self.effect == Effect::Nothing { PATIENCE } else { PATIENCE_OF_USERS },
        }
    }

    pub fn schema(&self) -> Value {
        let args = self.args.iter().copied().flatten();
        let properties: Map<String, Value> =
            args.clone().map(|arg| (arg.name.to_owned(), arg.schema())).collect();
        let required: Vec<&str> = args.filter(|arg| arg.is_required()).map(|arg| arg.name).collect();
        let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema
    }

    /// The arguments with what the agent has left out.
    pub fn complete(&self, args: &mut Map<String, Value>) {
        for arg in self.args.iter().copied().flatten() {
            if let Some(default) = arg.default()
                && !args.contains_key(arg.name)
            {
                args.insert(arg.name.to_owned(), default);
            }
        }
    }
}

impl Arg {
    fn is_required(&self) -> bool {
        matches!(self.kind, Kind::Text | Kind::AnyText | Kind::Texts(_) | Kind::Line)
    }

    fn default(&self) -> Option<Value> {
        match self.kind {
            Kind::Text
            | Kind::OptionalText
            | Kind::AnyText
            | Kind::Texts(_)
            | Kind::Line
            | Kind::OptionalLine => None,
            Kind::Count(default, _) => Some(default.into()),
            Kind::Offset => Some(0.into()),
            Kind::Flag(default) => Some(default.into()),
            Kind::Word(words) => words.first().map(|word| Value::from(*word)),
        }
    }

    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            Kind::Text | Kind::OptionalText => json!({ "type": "string", "minLength": 1 }),
            Kind::AnyText => json!({ "type": "string" }),
            Kind::Texts(least) => {
                json!({ "type": "array", "items": { "type": "string" }, "minItems": least })
            }
            Kind::Line | Kind::OptionalLine => json!({ "type": "integer", "minimum": 1 }),
            Kind::Count(_, most) => json!({ "type": "integer", "minimum": 1, "maximum": most }),
            Kind::Offset => json!({ "type": "integer", "minimum": 0 }),
            Kind::Flag(_) => json!({ "type": "boolean" }),
            Kind::Word(words) => json!({ "type": "string", "enum": words }),
        };
        schema["description"] = self.description.into();
        if let Some(default) = self.default() {
            schema["default"] = default;
        }
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tools::schema;

    #[test]
    fn every_schema_is_one_that_is_checked() {
        for tool in TOOLS {
            assert_eq!(schema::trouble(&tool.schema()), None, "{}", tool.name);
        }
    }

    #[test]
    fn what_an_agent_leaves_out_has_its_default() {
        let mut args = Map::from_iter([("limit".to_owned(), json!(7))]);
        find("references").expect("a tool").complete(&mut args);
        assert_eq!(Value::Object(args), json!({ "limit": 7, "declaration": true, "offset": 0 }));
    }

    #[test]
    fn names_are_short_and_used_once_and_so_are_their_words() {
        let mut names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        assert!(names.iter().all(|name| name.len() <= 20));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TOOLS.len());
        let mut deeds: Vec<&str> = TOOLS.iter().map(|tool| tool.deed.0).collect();
        assert!(deeds.iter().all(|deed| deed.starts_with(|char: char| char.is_ascii_lowercase())));
        deeds.sort_unstable();
        deeds.dedup();
        assert_eq!(deeds.len(), TOOLS.len());
    }
}
