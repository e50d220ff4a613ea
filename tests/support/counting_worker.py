"""A worker that counts its jobs and misbehaves on request (``tests.test_worker``)."""

import json
import os
import struct
import sys
import time

from wikisync.core.system import child

if sys.argv[1:] == ["silent"]:
    raise SystemExit(0)

with child.standard_streams() as (jobs, answers):
    child.write_frame(
        answers, b'"wrong"' if sys.argv[1:] == ["odd start"] else child.READY
    )
    for count, frame in enumerate(child.read_frames(jobs), 1):
        told: dict[str, object] = {"pid": os.getpid(), "count": count}
        match json.loads(frame):
            case "sleep":
                time.sleep(600)
            case "die":
                os._exit(7)
            case "garbage":
                child.write_frame(answers, b"\xff<no")
            case "huge":
                answers.write(struct.pack(">I", 0xFFFFFFFF))
                answers.flush()
            case "ask twice":
                for question in ("first", "second"):
                    child.send(answers, {**told, "question": question})
                    assert json.loads(child.read_frame(jobs)) == question
                child.send(answers, told)
            case "three":
                for number in (1, 2, 3):
                    time.sleep(0.15)
                    child.send(answers, {**told, "count": number})
            case _:
                os.write(1, b"what a library prints is no answer")
                child.send(answers, told)
