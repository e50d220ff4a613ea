"""Rendering pages beside the service, so that no page holds it up.

A process of its own renders one page after the other; one that takes longer
than the deadline is shown as its source, and the process ends with it.  The
next page gets a new one.

Run as a module this is that process: a JSON line in, a JSON line out.
"""

from __future__ import annotations

import contextlib
import html
import os
import signal
import sys
import threading
from pathlib import Path
from typing import IO

import msgspec

from wikisync.decoding import json_decoder
from wikisync.model import OwnerKind, WikiOwner
from wikisync.processes import RUBY_VARIABLES, Child, python_worker, start_worker
from wikisync.service.pages import ShownPage

DEADLINE_S = 10.0
START_S = 60.0
"""How long the process may take to begin; it loads all of the markup."""
_NOTICE = "This page took too long to render, so here is its source."


class RenderJob(msgspec.Struct, frozen=True):
    """One page to be rendered."""

    page: ShownPage
    repository: str
    """Folder of the wiki, as an absolute path."""
    commit: str
    """What the wiki's links and includes are looked up in."""
    kind: OwnerKind
    full_path: str
    service_url: str


_JOBS = json_decoder(RenderJob)
_HTML = json_decoder(str)


class RenderWorker:
    """The process, started with the first page; for threads, one at a time."""

    def __init__(self, deadline_s: float = DEADLINE_S) -> None:
        self.deadline_s = deadline_s
        self._turn = threading.Lock()
        self._process: Child | None = None

    def render(self, job: RenderJob) -> str:
        """The page's HTML, or its escaped source with a notice."""
        with self._turn:
            return self._ask(job) or escaped_source(job.page.content)

    def close(self) -> None:
        """End the process."""
        with self._turn:
            self._end()

    def _ask(self, job: RenderJob) -> str | None:
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._process = _start()
            if _line(self._process, START_S) is None:
                return None
        process = self._process
        assert process.stdin is not None, "it was started with a pipe"
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(msgspec.json.encode(job) + b"\n")
            process.stdin.flush()
        answer = _line(process, self.deadline_s)
        if answer is None:
            self._end()
            return None
        return _HTML.decode(answer)

    def _end(self) -> None:
        if self._process is None:
            return
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        self._process.wait()
        self._process = None


def escaped_source(source: str) -> str:
    """What is shown of a page that cannot be rendered."""
    return f"<p><em>{_NOTICE}</em></p>\n<pre>{html.escape(source)}</pre>"


def main(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer jobs until there are no more."""
    from wikisync.service.rendering import render_page
    from wikisync.service.repository import WikiRepository

    answers.write(b"ready\n")
    answers.flush()
    repositories: dict[str, WikiRepository] = {}
    for line in requests:
        job = _JOBS.decode(line)
        repository = repositories.get(job.repository)
        if repository is None:
            repositories.clear()
            repository = WikiRepository(Path(job.repository))
            repositories[job.repository] = repository
        tree = repository.tree()
        if tree.commit != job.commit:
            tree = repository.tree_at(job.commit) or tree
        owner = WikiOwner(job.kind, job.full_path)
        shown = render_page(
            job.page, tree, repository, owner=owner, service_url=job.service_url
        )
        answers.write(msgspec.json.encode(shown.content) + b"\n")
        answers.flush()


def _start() -> Child:
    command = python_worker("wikisync.service.render_worker")
    return start_worker(command, variables=RUBY_VARIABLES, stderr=None)


def _line(process: Child, seconds_max: float) -> bytes | None:
    """The next line, or None when none comes in time; then the process is over."""
    assert process.stdout is not None, "it was started with a pipe"
    timer = threading.Timer(seconds_max, process.kill)
    timer.start()
    try:
        line = process.stdout.readline()
    finally:
        timer.cancel()
        timer.join()
    return line if line.endswith(b"\n") else None


if __name__ == "__main__":
    # Ctrl-C is for the service, which ends this process in its own time
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # what markup prints by accident must not be taken for an answer
    with os.fdopen(os.dup(1), "wb") as channel:
        os.dup2(2, 1)
        main(sys.stdin.buffer, channel)
