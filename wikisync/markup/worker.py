"""The process that parses pages for ``bounded``; it ends when its input does."""

from __future__ import annotations

import os
import signal
import sys
from typing import IO

import msgspec

from wikisync.errors import RenderError
from wikisync.markup.context import Include
from wikisync.markup.frames import (
    Done,
    Included,
    Job,
    Ready,
    Refused,
    Shown,
    Wanted,
    read_frame,
    write_frame,
)
from wikisync.markup.page import parse_page, safe_html, to_html


def serve(source: IO[bytes], target: IO[bytes]) -> None:
    """Parse pages one after the other until the input ends."""

    def include(name: str) -> str | None:
        write_frame(target, Wanted(name))
        return msgspec.msgpack.decode(read_frame(source), type=Included).text

    jobs = msgspec.msgpack.Decoder(Job)
    write_frame(target, Ready())
    while True:
        try:
            job = jobs.decode(read_frame(source))
        except EOFError:
            return
        write_frame(target, answer_to(job, include))


def answer_to(job: Job, include: Include) -> Done | Shown | Refused:
    """What one job asks for."""
    if job.stage == "final":
        return Done(parse_page(job.page, job.options, include=include))
    render = to_html if job.stage == "parse" else safe_html
    try:
        return Shown(render(job.page, job.options, include=include))
    except RenderError as error:
        return Refused(error.message)
    except Exception as error:  # noqa: BLE001 - as in parse_page: a parser's bug
        return Refused(f"its parser failed: {error!r:.200}")


def main() -> None:
    """Speak on the standard streams; whatever a library prints goes nowhere."""
    # an interrupt at the keyboard is for the renderer, which then ends us
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as target:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        serve(sys.stdin.buffer, target)


if __name__ == "__main__":
    main()
