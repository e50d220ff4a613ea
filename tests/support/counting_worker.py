"""A worker that counts its jobs and misbehaves on request (``tests.test_worker``)."""

from __future__ import annotations

import json
import os
import struct
import sys
import time

from wikisync.core.system.child import (
    READY,
    read_frame,
    read_frames,
    send,
    standard_streams,
    write_frame,
)

if sys.argv[1:] == ["silent"]:
    raise SystemExit(0)

with standard_streams() as (jobs, answers):
    write_frame(answers, b'"wrong"' if sys.argv[1:] == ["odd start"] else READY)
    for count, frame in enumerate(read_frames(jobs), 1):
        told: dict[str, object] = {"pid": os.getpid(), "count": count}
        match json.loads(frame):
            case "sleep":
                time.sleep(600)
            case "die":
                os._exit(7)
            case "garbage":
                write_frame(answers, b"\xff<no")
            case "huge":
                answers.write(struct.pack(">I", 0xFFFFFFFF))
                answers.flush()
            case "ask twice":
                for question in ("first", "second"):
                    send(answers, {**told, "question": question})
                    assert json.loads(read_frame(jobs)) == question
                send(answers, told)
            case "three":
                for number in (1, 2, 3):
                    time.sleep(0.15)
                    send(answers, {**told, "count": number})
            case _:
                os.write(1, b"what a library prints is no answer")
                send(answers, told)
