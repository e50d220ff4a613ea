"""The child process that holds the JavaScript engine; run by its path, not imported.

It imports nothing of wikisync but ``child`` and ``frames``, so that it starts fast
and knows nothing: its arguments are the engine, the files of the two scripts and the
limits; all else comes in frames:

    in   {"source", "attributes", "is_alone", "seconds_max"}    a page
    out  {"include": {...}}          what the page wants to include; answered by
    in   {"text": str|null, "path"}
    out  {"html": str, "is_spent": bool},
         or {"error": str, "is_memory": bool} and the end of the process

A page that takes more than its seconds of processor time ends the process, too.

The scripts see no file, network or process: the engine has none.  After an
error nothing of the engine is trusted: the process ends, the parent starts another.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, cast

from wikisync.child import Ask, PageError, asker, serve_pages, standard_streams

STACK_BYTES = 4 << 20
"""Below what a main thread has: more ends the process instead of the page."""
UNCOLLECTED_CHARS_MAX = 100_000
"""Of pages, before their memory is collected; the engine does so itself, too."""
PAGE_COST_CHARS = 10_000
"""What a page takes however short it is."""
OUT_OF_MEMORY = "out of memory"
SPENT_BYTES = 160 << 20
"""An engine that holds more after a page is replaced before the next one."""
STATUS = Path("/proc/self/status")
V8_FLAG = "--max-semi-space-size=8"
"""V8 takes memory as long as it gets some; a limit on what it keeps for new objects,
in MB, keeps a long build flat.  To have it collect all it can every few pages does
so too, but throws compiled code away: pages took a third longer."""


Render = Callable[[dict[str, object]], str]
"""A page's message to its HTML; raises PageError, or MemoryError."""


def quickjs_renderer(scripts: list[str], memory_bytes_max: int, ask: Ask) -> Render:
    """Pages in ``quickjs``, which calls out for each include while it runs."""
    import quickjs

    context = quickjs.Context()
    context.set_max_stack_size(STACK_BYTES)
    context.set_memory_limit(memory_bytes_max)
    context.add_callable("include", lambda text: json.dumps(ask(json.loads(text))))
    for script in scripts:
        context.eval(script)
    function = context.get("render")
    uncollected = 0

    def render(page: dict[str, object]) -> str:
        nonlocal uncollected
        attributes = json.dumps(page["attributes"])
        uncollected += len(str(page["source"])) + PAGE_COST_CHARS
        try:
            return cast(str, function(page["source"], attributes, page["is_alone"]))
        except (quickjs.JSException, quickjs.StackOverflow) as error:
            raise error_of(error) from error
        finally:
            # After every page it would be a seventh of the time of a short one.
            if uncollected > UNCOLLECTED_CHARS_MAX:
                uncollected = 0
                context.gc()

    return render


def v8_renderer(scripts: list[str], memory_bytes_max: int, ask: Ask) -> Render:
    """Pages in ``mini-racer``, which cannot call out while it runs.

    A page is rendered with the includes that are known and reports which are not;
    with their answers it is rendered again, until it asks for nothing new.
    """
    from py_mini_racer import (
        DEFAULT_V8_FLAGS,
        JSEvalException,
        JSOOMException,
        MiniRacer,
        init_mini_racer,
    )

    init_mini_racer(flags=(*DEFAULT_V8_FLAGS, V8_FLAG))
    context = MiniRacer()
    atexit.register(context.close)  # it hangs at the end of the process otherwise
    context.set_hard_memory_limit(memory_bytes_max)
    for script in scripts:
        # As a whole in a function: the value of a script would come to Python.
        context.eval(f"{script}\n;0")

    def render(page: dict[str, object]) -> str:
        known: dict[str, object] = {}
        while True:
            try:
                answer = json.loads(
                    context.call(
                        "renderWith",
                        page["source"],
                        json.dumps(page["attributes"]),
                        page["is_alone"],
                        known,
                    )
                )
            except JSEvalException as error:
                is_memory = isinstance(error, JSOOMException)
                raise error_of(error, is_memory=is_memory) from error
            if not answer["asked"]:
                break
            for text in answer["asked"]:
                known[text] = json.dumps(ask(json.loads(text)))
        return cast(str, answer["html"])

    return render


def error_of(error: Exception, *, is_memory: bool = False) -> Exception:
    """What an engine's error means, with the first line of what it says."""
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    # there was no memory left to say so
    if reason in {"null", "MemoryError", OUT_OF_MEMORY}:
        return MemoryError(OUT_OF_MEMORY)
    return MemoryError(reason) if is_memory else PageError(reason)


def is_spent() -> bool:
    """Whether this process holds much memory; False where that is not known."""
    try:
        lines = STATUS.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return False
    held = [line.split()[1] for line in lines if line.startswith("VmRSS:")]
    return bool(held) and int(held[0]) * 1024 > SPENT_BYTES


RENDERERS = {"quickjs": quickjs_renderer, "mini-racer": v8_renderer}


def serve(arguments: list[str], requests: IO[bytes], answers: IO[bytes]) -> None:
    """Load the engine and answer pages."""
    name, library, bridge, seconds_max, memory_bytes_max = arguments
    scripts = [Path(path).read_text(encoding="utf-8") for path in (library, bridge)]
    ask = asker(requests, answers)
    html_of = RENDERERS[name](scripts, int(memory_bytes_max), ask)
    nowhere = os.open(os.devnull, os.O_WRONLY)

    def render(page: dict[str, object]) -> dict[str, object]:
        return {"html": html_of(page), "is_spent": is_spent()}

    serve_pages(render, requests, answers, float(seconds_max), nowhere)


def main() -> None:
    """Serve on the standard streams."""
    with standard_streams() as (requests, answers):
        serve(sys.argv[1:], requests, answers)


if __name__ == "__main__":
    main()
