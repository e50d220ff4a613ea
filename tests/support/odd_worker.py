"""A worker that answers what its page asks for: echo, sleep, death, garbage.

Stands in for an engine in tests of the parent's half.  The source of a page is a
command; the messages are those of ``wikisync.markup.asciidoc.worker``.
"""

from __future__ import annotations

import os
import struct
import sys
import time

from wikisync.markup.asciidoc.worker import (
    end_limit,
    limit_time,
    read_frame,
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
            write_frame(answers, {"error": "no more", "is_memory": True})
        case ["spent"]:
            write_frame(answers, {"html": str(os.getpid()), "is_spent": True})
        case ["fail", reason]:
            write_frame(answers, {"error": reason})
        case ["nothing"]:
            write_frame(answers, {})
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
            write_frame(answers, {"html": str(os.getpid())})
        case ["token"]:
            write_frame(answers, {"html": os.environ.get("WIKISYNC_TOKEN", "none")})
        case _:
            write_frame(answers, {"html": command})


if "--silent-start" not in sys.argv:
    write_frame(answers, {"ready": True})
while (request := read_frame(requests)) is not None:
    limit_time(request)
    answer(str(request["source"]))
    end_limit()
