"""A worker that answers what its page asks for: echo, sleep, death, garbage.

Stands in for an engine in tests of the parent's half.  The source of a page is a
command; the messages are those of ``wikisync.markup.asciidoc.worker``.
"""

import json
import os
import struct
import sys
import time

from wikisync.core.system import child

requests, answers = sys.stdin.buffer, sys.stdout.buffer


def answer(command: str) -> None:
    match command.split():
        case ["sleep"]:
            time.sleep(600)
        case ["spin"]:
            while True:
                pass
        case ["die"]:
            os._exit(7)
        case ["greedy"]:
            child.send(answers, {"error": "no more", "is_memory": True})
        case ["spent"]:
            child.send(answers, {"html": str(os.getpid()), "is_spent": True})
        case ["fail", reason]:
            child.send(answers, {"error": reason})
        case ["nothing"]:
            child.send(answers, {})
        case ["garbage"]:
            answers.write(struct.pack(">I", 4) + b"\xff<no")
            answers.flush()
        case ["huge"]:
            answers.write(struct.pack(">I", 0xFFFFFFFF))
            answers.flush()
        case ["half"]:
            answers.write(struct.pack(">I", 100) + b"{")
            answers.flush()
            os._exit(0)
        case ["pid"]:
            child.send(answers, {"html": str(os.getpid())})
        case ["token"]:
            child.send(answers, {"html": os.environ.get("WIKISYNC_TOKEN", "none")})
        case _:
            child.send(answers, {"html": command})


if "--silent-start" not in sys.argv:
    child.write_frame(answers, child.READY)
for frame in child.read_frames(requests):
    request = json.loads(frame)
    with child.ProcessorTime(request["seconds_max"]):
        answer(str(request["source"]))
