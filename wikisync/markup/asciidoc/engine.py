"""The engines behind AsciiDoc pages, each a program in a worker process.

The page can take the worker's time and memory, not ours: after a breach of a limit
the process ends itself, without an answer it is killed, and the next page gets a new
one.  Messages are described in ``worker``; what a page wants to include is found here.
"""

import posixpath
import re
import signal
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from wikisync.core.decoding import json_decoder
from wikisync.core.system.worker import Worker, WorkerLost, WorkerNotStarted
from wikisync.errors import LimitExceeded, RenderError
from wikisync.markup import context

# -- what a page brings in -------------------------------------------------------
#
# The target of ``include::target[...]`` is a page or text attachment of the same wiki,
# found by the context; never a file, never a URL.  The limits are counted here, on the
# side of the worker that a page cannot reach.


DEPTH_MAX = 3
"""Included pages inside included pages."""
COUNT_MAX = 32
"""Includes of one page, nested ones with them."""
CHARACTERS_MAX = 1 << 20
"""Of all that one page includes; more is as missing."""

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:(?![\w.:-]*\$)")
"""Of a URL; ``module:partial$name`` is a file of Antora."""
TAG_LINE = re.compile(r"\b(tag|end)::(\S+?)\[\](?=\s|$)")


class IncludeRequest(Struct, frozen=True):
    """One include directive, as the engine read it."""

    target: str
    includer: str
    """Path of the included page that holds the directive, empty for the page."""
    depth: int
    lines: str | None
    tags: str | None


class Included(Struct, frozen=True):
    """The answer; ``text`` is None where the directive cannot be resolved."""

    path: str
    text: str | None


class Inclusion:
    """The includes of one page while it is rendered: finds and counts them."""

    def __init__(self, include: context.Include) -> None:
        self._include = include
        self._count = 0
        self._characters = 0

    def resolve(self, request: IncludeRequest) -> Included:
        """The text of a directive, cut to the lines or tags it asks for."""
        path = join_target(request.includer, request.target)
        self._count += 1
        if path is None or request.depth >= DEPTH_MAX or self._count > COUNT_MAX:
            return Included(request.target, None)
        text = self._include(path)
        if text is not None:
            if request.lines:
                text = select_lines(text, request.lines)
            elif request.tags:
                text = select_tags(text, request.tags)
            self._characters += len(text)
        return Included(path, None if self._characters > CHARACTERS_MAX else text)


def join_target(includer: str, target: str) -> str | None:
    """A target seen from the page; None for a URL or nothing."""
    if not target or SCHEME.match(target):
        return None
    folder = posixpath.dirname(includer)
    return posixpath.normpath(posixpath.join(folder, target))


def select_lines(text: str, ranges: str) -> str:
    """Lines by number: ``1..3;7;10..-1`` (separated by commas or semicolons)."""
    kept: set[int] = set()
    all_lines = text.splitlines()
    for part in re.split(r"[,;]", ranges):
        first, dots, last = part.strip().partition("..")
        start = _number(first)
        end = start if not dots else _number(last)
        if end is None or end < 0:
            end = len(all_lines)
        if start is not None:
            kept.update(range(max(start, 1), min(end, len(all_lines)) + 1))
    return "\n".join(all_lines[number - 1] for number in sorted(kept))


def _number(text: str) -> int | None:
    digits = text.strip()
    # More digits than any page has lines would only cost time.
    return int(digits) if re.fullmatch(r"-?[0-9]{1,9}", digits) else None


def select_tags(text: str, tags: str) -> str:
    """Regions between ``tag::name[]`` and ``end::name[]`` lines.

    A name with ``!`` leaves its region out, ``*`` stands for every region not
    named and ``**`` for every line; lines that hold a tag are never kept.
    Source: AsciiDoc language documentation, "Include Content by Tagged Regions".
    """
    wanted: dict[str, bool] = {}
    for name in re.split(r"[,;]", tags):
        if name.strip().lstrip("!"):
            wanted[name.strip().removeprefix("!")] = not name.strip().startswith("!")
    if not wanted:
        return text
    outside, unnamed = _defaults(wanted)
    kept: list[str] = []
    open_tags: list[tuple[str, bool]] = []
    for line in text.splitlines():
        mark = TAG_LINE.search(line)
        if mark is None:
            if open_tags[-1][1] if open_tags else outside:
                kept.append(line)
        elif mark[1] == "tag":
            inherited = open_tags[-1][1] if open_tags else outside
            default = inherited if unnamed is None else unnamed
            open_tags.append((mark[2], wanted.get(mark[2], default)))
        elif any(name == mark[2] for name, _ in open_tags):
            while open_tags and open_tags.pop()[0] != mark[2]:
                pass
    return "\n".join(kept)


def _defaults(wanted: dict[str, bool]) -> tuple[bool, bool | None]:
    """Whether lines outside of tags, and regions not named, are kept."""
    names = list(wanted)
    every_line = wanted.pop("**", None)
    unnamed = wanted.pop("*", None)
    if every_line is not None:
        if unnamed is None and not every_line and not next(iter(wanted.values()), True):
            unnamed = True
        return every_line, unnamed
    if unnamed is not None:
        return names[0] == "*" and not unnamed, unnamed
    return True not in wanted.values(), None


# -- the process -----------------------------------------------------------------


REINSTALL_HINT = "pip install --force-reinstall wikisync"
STOP_SECONDS_MAX = 2
OUT_OF_TIME = frozenset({-signal.SIGPROF, -signal.SIGXCPU})
"""Exit codes of a worker whose page has used its time up."""


class WorkerLimits(Struct, frozen=True):
    """What one page may take."""

    seconds_max: float = context.PAGE_SECONDS_MAX
    wait_seconds_max: float = 300.0
    """By the clock, on a machine that is busy with other things."""
    memory_bytes_max: int = 160 << 20
    source_bytes_max: int = 1 << 20
    html_bytes_max: int = 16 << 20


USUAL_LIMITS = WorkerLimits()
PROCESS_BYTES_MAX = 1 << 30
"""Of an engine's process, which reserves more than it uses; the engine itself keeps
to ``WorkerLimits.memory_bytes_max``."""
GRACE_SECONDS = 1
"""A worker's own clock is later than ours, which can say what happened."""


class Answer(msgspec.Struct):
    """Any message of a worker; one of the fields is set."""

    html: str | None = None
    is_spent: bool = False
    """Beside ``html``: it holds much memory, and another one should follow it."""
    error: str | None = None
    is_memory: bool = False
    """Beside ``error``: there was not enough memory."""
    include: IncludeRequest | None = None


_ANSWERS = json_decoder(Answer)


class Engine:
    """An engine in a child process of its own; safe to use from many threads."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        limits: WorkerLimits = USUAL_LIMITS,
        *,
        hint: str = REINSTALL_HINT,
    ) -> None:
        """Nothing starts before the first page; ``hint`` says how to install it."""
        self.name = name
        self._start_hint = f"see that memory is left, or install it anew: {hint}"
        self._limits = limits
        self._worker = Worker(
            command,
            _ANSWERS,
            wait_seconds_max=limits.wait_seconds_max,
            answer_bytes_max=limits.html_bytes_max,
            # after an error nothing of an engine is trusted
            is_spent=lambda answer: answer.is_spent or answer.html is None,
        )

    def render(
        self, source: str, attributes: Mapping[str, str], include: context.Include
    ) -> str:
        """The HTML of one page, not yet safe; blocks until it is there."""
        source = source.encode("utf-8", "replace").decode("utf-8")
        if len(source.encode("utf-8")) > self._limits.source_bytes_max:
            raise RenderError(
                f"the page is over {self._limits.source_bytes_max} bytes",
                hint="split the page",
            )
        seconds = min(self._limits.seconds_max, context.page_seconds.get())
        job = {
            "seconds_max": seconds,
            "source": source,
            "attributes": dict(attributes),
            "is_alone": include is context.include_nothing,
        }
        inclusion = Inclusion(include)

        def reply(answer: Answer) -> Included | None:
            request = answer.include
            return None if request is None else inclusion.resolve(request)

        try:
            answer = self._worker.ask(job, reply)
        except WorkerNotStarted as exc:
            reason = f"the asciidoc engine {self.name} does not start: {exc}"
            raise RenderError(reason.removesuffix(": "), hint=self._start_hint) from exc
        except WorkerLost as exc:
            raise self._loss(exc, seconds) from exc
        if answer.html is not None:
            return answer.html
        message = f"the asciidoc engine {self.name} failed: "
        message += answer.error or "it gave an empty answer"
        if answer.is_memory:
            raise LimitExceeded(message, "memory")
        raise RenderError(message)

    def close(self) -> None:
        """End the worker; it gets a moment to go by itself."""
        self._worker.end(STOP_SECONDS_MAX)

    def _loss(self, lost: WorkerLost, seconds: float) -> RenderError:
        if lost.code in OUT_OF_TIME:
            return LimitExceeded(
                f"the page takes longer than {seconds:.3g} s of processor time",
                "time",
                hint="split the page, or take out what nests deeply",
            )
        message = f"the asciidoc engine {self.name}"
        if lost.is_late:
            waited = f"{self._limits.wait_seconds_max:g} s"
            return LimitExceeded(f"{message} gave no answer in {waited}", "lost")
        if lost.is_garbled:
            return RenderError(f"{message} failed: {lost}")
        return LimitExceeded(f"{message} failed: {lost}", "lost")
