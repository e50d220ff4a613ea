"""The child process that holds the JavaScript engine; run by its path, not imported.

It imports nothing of wikisync, so that it starts fast and knows nothing: its
arguments are the files of the two scripts and the limits, everything else comes
in frames (4 bytes length, big endian, then JSON):

    in   {"source", "attributes", "is_alone"}    a page
    out  {"include": {...}}          what the page wants to include; answered by
    in   {"text": str|null, "path"}
    out  {"html": str}, or {"error": str} and the end of the process

The scripts see no file, network or process: the engine has none.  After an
error nothing of the engine is trusted: the process ends, the parent starts another.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import struct
import sys
from pathlib import Path
from typing import BinaryIO, cast

LENGTH = struct.Struct(">I")


def read_frame(stream: BinaryIO) -> dict[str, object] | None:
    """The next message, None when the parent is gone."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    return cast(dict[str, object], json.loads(stream.read(length)))


def write_frame(stream: BinaryIO, message: dict[str, object]) -> None:
    """Send one message at once."""
    body = json.dumps(message).encode("ascii")
    stream.write(LENGTH.pack(len(body)) + body)
    stream.flush()


def serve(
    arguments: list[str], requests: BinaryIO, answers: BinaryIO, *, stack_bytes: int
) -> None:
    """Answer pages until the parent closes the pipe or a limit is breached."""
    import quickjs

    library, bridge, seconds_max, memory_bytes_max = arguments
    context = quickjs.Context()
    context.set_max_stack_size(stack_bytes)
    context.set_memory_limit(int(memory_bytes_max))

    def include(request: str) -> str:
        write_frame(answers, {"include": json.loads(request)})
        answer = read_frame(requests)
        if answer is None:
            raise EOFError
        return json.dumps(answer)

    context.add_callable("include", include)
    context.eval(Path(library).read_text(encoding="utf-8"))
    context.eval(Path(bridge).read_text(encoding="utf-8"))
    render = context.get("render")
    write_frame(answers, {"ready": True})
    nowhere = os.open(os.devnull, os.O_WRONLY)
    while (request := read_frame(requests)) is not None:
        # The parent's clock comes first.  This one ends a process whose parent
        # has died; the engine's own limit would forbid calls into Python.
        faulthandler.dump_traceback_later(float(seconds_max), exit=True, file=nowhere)
        try:
            html = render(
                request["source"],
                json.dumps(request["attributes"]),
                request["is_alone"],
            )
        except (quickjs.JSException, quickjs.StackOverflow) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            if reason == "null":  # there was no memory left to say so
                reason = "out of memory"
            write_frame(answers, {"error": reason})
            return
        finally:
            faulthandler.cancel_dump_traceback_later()
        write_frame(answers, {"html": html})
        context.gc()


def main() -> None:
    """Serve on the standard streams; a stray print goes to standard error."""
    # The terminal interrupts every process; the parent decides what that means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    serve(sys.argv[1:], requests, answers, stack_bytes=4 << 20)


if __name__ == "__main__":
    main()
