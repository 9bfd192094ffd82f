"""A language server without a language: it knows the word `login` wherever a file holds it, over stdio as real ones do."""

import json
import re
import sys
import threading
from pathlib import Path
from urllib.parse import unquote, urlparse

TEXTS = {}
# How the server tells what is wrong: at once, late, or late and when it is asked. Or whether it reads the project first,
# which it may never be done with, or ends at the first question.
HOW = sys.argv[1] if len(sys.argv) > 1 else "at once"
LATE = 1.5


def read():
    length = 0
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            sys.exit(0)
        if line == b"\r\n":
            return json.loads(sys.stdin.buffer.read(length))
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)


LOCK = threading.Lock()


def write(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    with LOCK:
        sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        sys.stdout.buffer.flush()


def later(message):
    threading.Timer(LATE, write, [message]).start()


def span(row, match):
    def column(byte):
        return len(match.string[:byte].encode("utf-16-le")) // 2

    return {
        "start": {"line": row, "character": column(match.start())},
        "end": {"line": row, "character": column(match.end())},
    }


def places(word):
    for uri, text in TEXTS.items():
        for row, line in enumerate(text.split("\n")):
            for match in re.finditer(r"\b%s\b" % word, line):
                yield {"uri": uri, "range": span(row, match)}


def everywhere(word):
    known = dict(TEXTS)
    for path in sorted(Path.cwd().glob("*.lua")):
        known.setdefault(path.as_uri(), path.read_text())
    for uri, text in known.items():
        found = []
        for row, line in enumerate(text.split("\n")):
            found += [span(row, match) for match in re.finditer(r"\b%s\b" % word, line)]
        yield uri, found


def edits(old, new, uris=None):
    every = ((uri, [{"range": span, "newText": new} for span in found]) for uri, found in everywhere(old))
    return {uri: found for uri, found in every if found and (uris is None or uri in uris)}


def rename(params):
    changes = edits("login", params["newName"])
    documents = [{"textDocument": {"uri": uri, "version": None}, "edits": each} for uri, each in changes.items()]
    if params["newName"] == "moved":
        named = {"oldUri": (Path.cwd() / "b.lua").as_uri(), "newUri": (Path.cwd() / "moved.lua").as_uri()}
        documents.append({"kind": "rename", **named})
    if params["newName"] == "created":
        uri = (Path.cwd() / "new.lua").as_uri()
        text = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "newText": "new\n"}
        documents = [{"kind": "create", "uri": uri}, {"textDocument": {"uri": uri, "version": None}, "edits": [text]}]
    return {"documentChanges": documents}


def actions(params):
    uri = params["textDocument"]["uri"]
    if params["context"].get("only"):
        # Not all that it offers is what it was asked for.
        other = {"title": "Install it", "kind": "quickfix", "command": {"title": "Install it", "command": "install"}}
        return [other, {"title": "Organize", "kind": "source.organizeImports", "data": uri}]
    if uri.endswith("b.lua"):
        start = {"line": 0, "character": 0}
        new = (Path.cwd() / "deep" / "c.lua").as_uri()
        text = {"range": {"start": start, "end": start}, "newText": "new\n"}
        document = {"textDocument": {"uri": new, "version": None}, "edits": [text]}
        folder = {"kind": "delete", "uri": Path.cwd().as_uri()}
        return [
            {"title": "Make another", "edit": {"documentChanges": [{"kind": "create", "uri": new}, document]}},
            {"title": "Remove it", "edit": {"documentChanges": [{"kind": "delete", "uri": uri}]}},
            {"title": "Remove all", "edit": {"documentChanges": [{"kind": "delete", "uri": uri}, folder]}},
        ]
    return [
        {"title": "Make it right", "kind": "quickfix", "edit": {"changes": edits("wrong", "right", [uri])}},
        {"title": "Run it", "kind": "quickfix", "command": {"title": "Run it", "command": "run", "arguments": [uri]}},
        {"title": "Run it later", "command": "later", "arguments": [uri]},
        {"title": "Run nothing", "command": "nothing", "arguments": [uri]},
        {"title": "Reach out", "command": "outside", "arguments": [uri]},
        {"title": "Ask the editor", "command": {"title": "Ask the editor", "command": "editor.ask"}},
        {"title": "Lines %d to %d" % tuple(params["range"][end]["line"] + 1 for end in ("start", "end")), "edit": {}},
    ]


def wrong(uri):
    found = []
    for row, line in enumerate(TEXTS[uri].split("\n")):
        for match in re.finditer(r"\bwrong\b", line):
            found.append({"range": span(row, match), "severity": 1, "message": "no such name", "source": "scripted"})
    return found


def publish(uri):
    if HOW == "asked late":
        return
    say = later if HOW == "late" else write
    say({"method": "textDocument/publishDiagnostics", "params": {"uri": uri, "diagnostics": wrong(uri)}})


def function(place):
    return {
        "name": "login",
        "kind": 12,
        "uri": place["uri"],
        "range": place["range"],
        "selectionRange": place["range"],
    }


def answer(method, params):
    first = [next(places("login"), None)]
    if method == "initialize":
        can = ["hover", "definition", "declaration", "typeDefinition", "implementation", "references"]
        can += ["documentSymbol", "workspaceSymbol", "callHierarchy", "rename", "documentFormatting"]
        can = {**{name + "Provider": True for name in can}, "codeActionProvider": {"resolveProvider": True}}
        can["executeCommandProvider"] = {"commands": ["run", "later", "nothing", "outside"]}
        if HOW == "asked late":
            can["diagnosticProvider"] = {"interFileDependencies": False, "workspaceDiagnostics": False}
        return {"capabilities": {"textDocumentSync": 1, **can}}
    if method == "textDocument/rename":
        return rename(params)
    if method == "textDocument/codeAction":
        return actions(params)
    if method == "codeAction/resolve" and "data" not in params:
        return params
    if method == "codeAction/resolve":
        return {**params, "edit": {"changes": edits("slow", "quick", [params["data"]])}}
    if method == "textDocument/formatting":
        uri = params["textDocument"]["uri"]
        return edits("return", "return  ", [uri]).get(uri)
    if method == "textDocument/hover":
        return {"contents": {"kind": "markdown", "value": "**login** does it"}}
    if method == "textDocument/references" and HAS_READ.is_set():
        return [{"uri": uri, "range": span} for uri, spans in everywhere("login") for span in spans]
    if method == "textDocument/references":
        return list(places("login"))
    if method == "textDocument/documentSymbol":
        inner = {**function(first[0]), "name": "inner", "kind": 13}
        return [{**function(first[0]), "children": [inner]}]
    if method == "workspace/symbol":
        return [{"name": params["query"], "kind": 12, "location": first[0]}]
    if method == "textDocument/prepareCallHierarchy":
        return [function(first[0])]
    if method == "callHierarchy/incomingCalls":
        return [{"from": {**function(first[0]), "name": "caller"}, "fromRanges": []}]
    if method == "callHierarchy/outgoingCalls":
        return []
    if method.startswith("textDocument/"):
        return first
    return None


HELD = []
# The project is read.
HAS_READ = threading.Event()
# What is done once the client has answered a request.
ANSWERED = {}


def begin_to_read():
    write({"id": "progress", "method": "window/workDoneProgress/create", "params": {"token": "read"}})
    begins = {"kind": "begin", "title": "reading"}
    write({"method": "$/progress", "params": {"token": "read", "value": begins}})
    if HOW == "reads first":

        def done():
            HAS_READ.set()
            write({"method": "$/progress", "params": {"token": "read", "value": {"kind": "end"}}})

        threading.Timer(LATE, done).start()


def begin_to_check():
    """What a server does now and then, and what says nothing of what it knows."""
    begins = {"kind": "begin", "title": "checking"}
    write({"method": "$/progress", "params": {"token": "check", "value": begins}})


def execute(message):
    """Runs a command: what it does is an edit, which the client is asked for before or after the answer."""
    params = message["params"]
    done = {"id": message["id"], "result": None}
    if params["command"] == "nothing":
        return write(done)
    edit = {"id": "edit", "method": "workspace/applyEdit"}
    edit["params"] = {"edit": {"changes": edits("wrong", "right", params["arguments"])}}
    if params["command"] == "outside":
        top = {"line": 0, "character": 0}
        text = {"range": {"start": top, "end": top}, "newText": "new"}
        edit["params"] = {"edit": {"changes": {(Path.cwd().parent / "outside.txt").as_uri(): [text]}}}
    if params["command"] == "later":
        write(done)
        return write(edit)

    def answered(result):
        Path("applied").write_text(json.dumps(result, sort_keys=True))
        write(done)

    ANSWERED["edit"] = answered
    write(edit)


while True:
    message = read()
    method, params = message.get("method"), message.get("params") or {}
    if method == "exit":
        sys.exit(0)
    if method in ("textDocument/didOpen", "textDocument/didChange"):
        document = params["textDocument"]
        uri = document["uri"]
        TEXTS[uri] = document["text"] if "text" in document else params["contentChanges"][0]["text"]
        publish(uri)
        while HELD:
            write(HELD.pop())
    elif method == "initialized" and HOW in ("reads first", "reads for ever"):
        begin_to_read()
    elif method == "workspace/didChangeWatchedFiles":
        with open("watched", "a") as file:
            for change in params["changes"]:
                file.write("%d %s\n" % (change["type"], Path(unquote(urlparse(change["uri"]).path)).name))
    elif method == "workspace/executeCommand":
        execute(message)
    elif HOW == "dies" and "id" in message and method != "initialize":
        sys.exit(1)
    elif "id" in message and not method:
        ANSWERED.pop(message["id"], lambda _: None)(message.get("result"))
    elif params.get("newName") == "later":
        # It is answered when the text has changed.
        HELD.append({"id": message["id"], "result": answer(method, params)})
        Path("asked").touch()
    elif method == "textDocument/diagnostic":
        later({"id": message["id"], "result": {"kind": "full", "items": wrong(params["textDocument"]["uri"])}})
    elif "id" in message and method:
        if HAS_READ.is_set():
            begin_to_check()
        write({"id": message["id"], "result": answer(method, params)})
