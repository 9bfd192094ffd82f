//! The tools with language servers and a client that other people wrote: what they say has other shapes than what the
//! scripted ones do. `scripts/test-servers` fetches them; what is not there is skipped, and named.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::client::{Client, Told};
use crate::every::PICKS_THE_FIRST;
use crate::support::script::{Scripted, steps};

/// A language with its server, and a project in which `twice` is defined in one file and called in another.
struct Language {
    filetype: &'static str,
    /// The server's program, from the folder of all servers.
    program: &'static str,
    args: &'static [&'static str],
    files: &'static [(&'static str, &'static str)],
}

const C: Language = Language {
    filetype: "c",
    program: "clangd/clangd/data/bin/clangd",
    args: &["--background-index"],
    files: &[
        ("twice.h", "int twice(int value);\n"),
        ("twice.c", "#include \"twice.h\"\n\nint twice(int value) {\n  return value * 2;\n}\n"),
        (
            "main.c",
            "#include \"twice.h\"\n\nint main(void) {\n  /* é😀 */ int four = twice(2);\n  return   four - wrong;\n}\n",
        ),
    ],
};

const PYTHON: Language = Language {
    filetype: "python",
    program: "node/node_modules/.bin/pyright-langserver",
    args: &["--stdio"],
    files: &[
        ("twice.py", "def twice(value: int) -> int:\n    return value * 2\n"),
        (
            "main.py",
            "import sys\nfrom twice import twice\n\n\ndef main() -> int:\n    \"é😀\"; four = twice(2)\n    return four - wrong\n",
        ),
    ],
};

const TYPESCRIPT: Language = Language {
    filetype: "typescript",
    program: "node/node_modules/.bin/typescript-language-server",
    args: &["--stdio"],
    files: &[
        ("tsconfig.json", "{ \"compilerOptions\": { \"strict\": true } }\n"),
        (
            "twice.ts",
            "export function twice(value: number): number {\n  return value * 2;\n}\nexport const thrice = 3;\n",
        ),
        (
            "main.ts",
            "import { twice } from \"./twice\";\nimport { thrice } from \"./twice\";\n\nexport function main() {\n  /* é😀 */ const four = twice(2);\n  return   four - wrong;\n}\n",
        ),
    ],
};

/// Says what is not tested here; the script looks for it.
#[expect(clippy::print_stderr, reason = "a test that runs nothing must say so")]
fn skip<T>(what: &str) -> Option<T> {
    eprintln!("skipped: {what}");
    None
}

fn started(language: &Language) -> Option<(Scripted, Client)> {
    let folder = PathBuf::from(std::env::var_os("ACP_LANGUAGE_SERVERS")?);
    let program = folder.join(language.program);
    if !program.exists() {
        return skip(language.program);
    }
    let mut chat = Scripted::new(language.files, steps([]));
    chat.configure("follow = false");
    let folder = chat.project.path().to_str().expect("a path").to_owned();
    let of = |file: &str| json!({ "directory": folder, "file": file, "command": format!("cc -c {file}") });
    chat.project.write("compile_commands.json", &json!([of("main.c"), of("twice.c")]).to_string());
    chat.chat();
    chat.nvim.input("<Esc>");
    chat.nvim.exec_lua(PICKS_THE_FIRST, []);
    let mut command = vec![program.to_str().expect("a path")];
    command.extend(language.args);
    crate::start_for(&mut chat.nvim, language.filetype, language.program, &command);
    let client = Client::of(&mut chat);
    Some((chat, client))
}

/// The line of the first file that calls `twice`.
fn call_in(language: &Language) -> (&'static str, usize) {
    let (main, text) = language.files.last().expect("a file");
    let row = text.lines().position(|line| line.contains("twice(2)")).expect("a call");
    (main, row + 1)
}

/// What all three servers can do, asked right after they were started.
#[track_caller]
fn answers_for(language: &Language, client: &mut Client, places: &str) {
    let (main, line) = call_in(language);
    let place = || json!({ "file": main, "line": line, "symbol": "twice" });
    assert_eq!(client.gives("references", place()), format!("3 places for `twice`\n{places}"));
    let defined = client.gives("definition", place());
    assert!(defined.starts_with("1 place for `twice`\ntwice."), "{defined}");
    let hover = client.gives("hover", place());
    assert!(hover.contains("twice"), "{hover}");
    let symbols = client.gives("document_symbols", json!({ "file": main }));
    assert!(symbols.contains("function: main"), "{symbols}");
    let symbols = client.gives("workspace_symbols", json!({ "query": "twice" }));
    assert!(symbols.contains("\ntwice."), "{symbols}");
    let callers = client.gives("call_hierarchy", place());
    assert!(callers.starts_with("1 function for `twice`\nmain."), "{callers}");
    let called = json!({ "file": main, "line": line - 1, "symbol": "main", "direction": "outgoing" });
    let called = client.gives("call_hierarchy", called);
    assert!(called.contains("function: twice"), "{called}");
    let wrong = client.gives("diagnostics", json!({ "severity": "error", "wait": true }));
    assert!(wrong.contains(&format!("{main}:{}:", line + 1)) && wrong.contains("wrong"), "{wrong}");
}

/// Renames `twice` everywhere. Afterwards no server has anything to say of it.
#[track_caller]
fn renames(language: &Language, client: &mut Client, files: &str) {
    let (main, line) = call_in(language);
    let place = json!({ "file": main, "line": line, "symbol": "twice", "new_name": "double_it" });
    assert_eq!(client.gives("rename", place), files);
    let wrong = client.gives("diagnostics", json!({ "severity": "error", "wait": true }));
    assert!(!wrong.contains("double_it") && wrong.contains("wrong"), "{wrong}");
}

#[test]
#[ignore = "needs the network and node"]
fn a_server_for_c() {
    let Some((mut chat, mut client)) = started(&C) else { return };
    let places = "main.c:4:27: /* é😀 */ int four = twice(2);\ntwice.c:3:5: int twice(int value) {\n\
                  twice.h:1:5: int twice(int value);";
    answers_for(&C, &mut client, places);
    let files = "3 changed files for `twice`\nmain.c: 1 edit\ntwice.c: 1 edit\ntwice.h: 1 edit";
    renames(&C, &mut client, files);
    client.gives("format", json!({ "file": "main.c" }));
    let formatted = crate::text(&mut chat.nvim, "main.c");
    assert!(
        formatted.contains("  /* é😀 */ int four = double_it(2);\n  return four - wrong;"),
        "{formatted}"
    );
    let none = client.gives("organize_imports", json!({ "file": "main.c" }));
    assert_eq!(none, "The language server has no imports to organize in main.c.");
}

#[test]
#[ignore = "needs the network and node"]
fn a_server_for_python() {
    let Some((_chat, mut client)) = started(&PYTHON) else { return };
    let places = "main.py:2:19: from twice import twice\nmain.py:6:22: \"é😀\"; four = twice(2)\n\
                  twice.py:1:5: def twice(value: int) -> int:";
    answers_for(&PYTHON, &mut client, places);
    // The file that nobody has open is written, and the server is told so.
    renames(&PYTHON, &mut client, "2 changed files for `twice`\nmain.py: 2 edits\ntwice.py: 1 edit");
    let why = client.fails("format", json!({ "file": "main.py" }));
    assert_eq!(why, "no language server of main.py can do this (textDocument/formatting)");
}

#[test]
#[ignore = "needs the network and node"]
fn a_server_for_typescript() {
    let Some((mut chat, mut client)) = started(&TYPESCRIPT) else { return };
    let places = "main.ts:1:10: import { twice } from \"./twice\";\n\
                  main.ts:5:29: /* é😀 */ const four = twice(2);\n\
                  twice.ts:1:17: export function twice(value: number): number {";
    answers_for(&TYPESCRIPT, &mut client, places);
    // It renames what is imported, as it can be done without the other file.
    renames(&TYPESCRIPT, &mut client, "1 changed file for `twice`\nmain.ts: 2 edits");
    let organized = client.gives("organize_imports", json!({ "file": "main.ts" }));
    assert!(organized.starts_with("1 changed file\nmain.ts: "), "{organized}");
    // What is imported twice from one file is so once.
    let text = crate::text(&mut chat.nvim, "main.ts");
    assert!(text.starts_with("import { twice as double_it, thrice } from"), "{text}");
    // The server does that by a command, which makes a file, too.
    let action = |apply: &str| json!({ "file": "main.ts", "line": 3, "symbol": "main", "apply": apply });
    let done = client.gives("code_action", action("Move to a new file"));
    assert!(done.starts_with("2 changed files\n"), "{done}");
    assert!(chat.project.read("main.1.ts").contains("four - wrong"));
    assert!(!crate::text(&mut chat.nvim, "main.ts").contains("four"));
}

/// The command line of the Inspector, which starts the bridge as an agent does.
fn inspected(chat: &mut Scripted, args: &[&str]) -> Option<Value> {
    let folder = PathBuf::from(std::env::var_os("ACP_LANGUAGE_SERVERS")?);
    let program = folder.join("node/node_modules/.bin/mcp-inspector");
    if !program.exists() {
        return skip("the Inspector");
    }
    let told = Told::of(chat);
    let mut command = Command::new(program);
    command.arg("--cli");
    for (name, value) in &told.env {
        command.args(["-e", &format!("{name}={value}")]);
    }
    command.arg(&told.command).args(&told.args).args(args);
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    Some(serde_json::from_str(&said).unwrap_or_else(|_| panic!("{output:?}")))
}

#[test]
#[ignore = "needs the network and node"]
fn the_inspector() {
    let mut chat = Scripted::new(&[("a.lua", crate::CODE)], steps([]));
    chat.chat();
    let Some(listed) = inspected(&mut chat, &["--method", "tools/list"]) else { return };
    let tools = listed["tools"].as_array().expect("tools").clone();
    assert_eq!(tools.len(), crate::ALL);
    chat.nvim.exec_lua(PICKS_THE_FIRST, []);
    for tool in tools {
        let name = tool["name"].as_str().expect("a name");
        let mut args =
            vec!["--method".to_owned(), "tools/call".into(), "--tool-name".into(), name.to_owned()];
        for (name, value) in crate::every::arguments(&tool["inputSchema"]).as_object().expect("arguments") {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            args.extend(["--tool-arg".to_owned(), format!("{name}={value}")]);
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let answer = inspected(&mut chat, &args).expect("an answer");
        assert_eq!(answer["content"][0]["type"], "text", "{name}: {answer}");
    }
}
