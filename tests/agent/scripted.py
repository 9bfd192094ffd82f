"""A scripted ACP agent: plays the steps of a JSON file and records every byte of its stdin.

    scripted.py SCRIPT RECORD

The script is a list of steps, each an object with one main key:

    expect     method name; waits for a message with it, in any order; `as` names what it captures
    answer     an id; waits for the answer to it
    send       a message, or a list of messages written at once
    raw        text written as it stands
    trickle    a message written byte by byte
    repeat     number of times to send `send`, `#` in its texts replaced by the count
    stderr     text for stderr
    flood      number of bytes to write as one endless line
    spawn      starts a sleeping child; writes its pid to the record's folder as `child`
    run        a shell command, run to its end in the agent's folder
    exit       ends with this code
    ignore_term, close_stdout, stop_reading, read_again, pause (seconds)

In what is sent, "$name" is replaced by the id of the message captured under that name, and
"$name.a.b" by a part of its params.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time

script = json.load(open(sys.argv[1], encoding="utf-8"))
record = open(sys.argv[2], "ab", buffering=0)
inbox = queue.Queue()
pending = []
captured = {}
reading = threading.Event()
reading.set()


def read():
    line = b""
    while True:
        reading.wait()
        block = os.read(0, 65536)
        if not block:
            break
        record.write(block)
        line += block
        *lines, line = line.split(b"\n")
        for each in lines:
            inbox.put(json.loads(each))
    inbox.put(None)


def wait(wanted):
    for message in pending:
        if wanted(message):
            pending.remove(message)
            return message
    while True:
        message = inbox.get()
        if message is None:
            sys.stderr.write("the input ended before it came\n")
            os._exit(99)
        if wanted(message):
            return message
        pending.append(message)


def fill(value):
    if isinstance(value, str) and value.startswith("$"):
        name, *path = value[1:].split(".")
        if name in captured:
            if not path:
                return captured[name]["id"]
            part = captured[name]["params"]
            for key in path:
                part = part[int(key) if key.isdigit() else key]
            return part
    if isinstance(value, list):
        return [fill(item) for item in value]
    if isinstance(value, dict):
        return {key: fill(item) for key, item in value.items()}
    return value


def count(value, number):
    return json.loads(json.dumps(value).replace("#", str(number)))


def write(data):
    data = memoryview(data)
    while data:
        data = data[os.write(1, data[:65536]) :]


def line(message):
    return (json.dumps(fill(message), ensure_ascii=False) + "\n").encode()


def play(step):
    if "expect" in step:
        message = wait(lambda message: message.get("method") == step["expect"])
        captured[step.get("as", step["expect"])] = message
    elif "answer" in step:
        wait(lambda message: "method" not in message and message.get("id") == step["answer"])
    elif "repeat" in step:
        lines = (line(count(step["send"], number)) for number in range(step["repeat"]))
        write(b"".join(lines))
    elif "send" in step:
        messages = step["send"] if isinstance(step["send"], list) else [step["send"]]
        write(b"".join(line(message) for message in messages))
    elif "raw" in step:
        write(step["raw"].encode())
    elif "trickle" in step:
        for byte in line(step["trickle"]):
            write(bytes([byte]))
    elif "stderr" in step:
        sys.stderr.write(step["stderr"])
        sys.stderr.flush()
    elif "flood" in step:
        try:
            for _ in range(step["flood"] // 65536):
                write(b"x" * 65536)
        except BrokenPipeError:
            pass
    elif "spawn" in step:
        child = subprocess.Popen(["sh", "-c", step["spawn"]], stdin=subprocess.DEVNULL)
        path = os.path.join(os.path.dirname(sys.argv[2]), "child")
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(str(child.pid))
        os.rename(path + ".new", path)
    elif "run" in step:
        subprocess.run(["sh", "-c", step["run"]], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    elif "exit" in step:
        os._exit(step["exit"])
    elif "ignore_term" in step:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif "close_stdout" in step:
        os.close(1)
    elif "stop_reading" in step:
        reading.clear()
    elif "read_again" in step:
        reading.set()
    elif "pause" in step:
        time.sleep(step["pause"])
    else:
        raise SystemExit(f"no such step: {step}")


reader = threading.Thread(target=read, daemon=True)
reader.start()
for each in script:
    play(each)
while inbox.get() is not None:
    pass
