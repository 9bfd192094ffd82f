"""A language server without a language: it knows the word `login` wherever a file holds it, over stdio as real ones do."""

import json
import re
import sys
import threading
from pathlib import Path
from urllib.parse import unquote, urlparse

TEXTS = {}
# How the server tells what is wrong: at once, late, or late and when it is asked.
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
        return [{"title": "Organize", "kind": "source.organizeImports", "data": uri}]
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
        {"title": "Run it", "command": {"title": "Run it", "command": "run"}},
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
        if HOW == "asked late":
            can["diagnosticProvider"] = {"interFileDependencies": False, "workspaceDiagnostics": False}
        return {"capabilities": {"textDocumentSync": 1, **can}}
    if method == "textDocument/rename":
        return rename(params)
    if method == "textDocument/codeAction":
        return actions(params)
    if method == "codeAction/resolve":
        return {**params, "edit": {"changes": edits("slow", "quick", [params["data"]])}}
    if method == "textDocument/formatting":
        uri = params["textDocument"]["uri"]
        return edits("return", "return  ", [uri]).get(uri)
    if method == "textDocument/hover":
        return {"contents": {"kind": "markdown", "value": "**login** does it"}}
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
    elif params.get("newName") == "later":
        # It is answered when the text has changed.
        HELD.append({"id": message["id"], "result": answer(method, params)})
        Path("asked").touch()
    elif method == "textDocument/diagnostic":
        later({"id": message["id"], "result": {"kind": "full", "items": wrong(params["textDocument"]["uri"])}})
    elif "id" in message and method:
        write({"id": message["id"], "result": answer(method, params)})
