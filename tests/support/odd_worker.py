"""A worker that answers what its page asks for: echo, sleep, death, garbage.

Stands in for an engine in tests of the parent's half.  The source of a page is a
command; the messages are those of ``wikisync.markup.asciidoc.worker``.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import time

from wikisync.core.system.child import (
    READY,
    ProcessorTime,
    read_frames,
    send,
    write_frame,
)

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
            send(answers, {"error": "no more", "is_memory": True})
        case ["spent"]:
            send(answers, {"html": str(os.getpid()), "is_spent": True})
        case ["fail", reason]:
            send(answers, {"error": reason})
        case ["nothing"]:
            send(answers, {})
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
            send(answers, {"html": str(os.getpid())})
        case ["token"]:
            send(answers, {"html": os.environ.get("WIKISYNC_TOKEN", "none")})
        case _:
            send(answers, {"html": command})


if "--silent-start" not in sys.argv:
    write_frame(answers, READY)
for frame in read_frames(requests):
    request = json.loads(frame)
    with ProcessorTime(request["seconds_max"]):
        answer(str(request["source"]))
