"""The child process that holds the JavaScript engine; run by its path, not imported.

It imports nothing of wikisync but ``child``, so that it starts fast
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

import atexit
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, cast

from wikisync.core.system import child

STACK_BYTES = 4 << 20
"""Below what a main thread has: more ends the process instead of the page."""
UNCOLLECTED_CHARS_MAX = 100_000
"""Of pages, before their memory is collected; the engine does so itself, too."""
PAGE_COST_CHARS = 10_000
OUT_OF_MEMORY = "out of memory"
SPENT_BYTES = 160 << 20
"""An engine that holds more after a page is replaced before the next one."""
STATUS = Path("/proc/self/status")
V8_FLAG = "--max-semi-space-size=8"
"""V8 takes memory as long as it gets some; a limit on what it keeps for new objects,
in MB, keeps a long build flat.  To have it collect all it can every few pages does
so too, but throws compiled code away: pages took a third longer."""


Call = Callable[..., object]
"""A function of the scripts by its name, with its arguments; promises end before it."""
NAMED = re.compile(r"([\w$]+) as ([\w$]+)")


def as_script(library: str) -> str:
    """The library, which is a module, as a script: its exports are one object."""
    code, _, exports = library.replace("import.meta", "null").rpartition("export {")
    named = NAMED.sub(r"\2: \1", exports.partition("}")[0])
    return f"const asciidoctor = (() => {{ {code}\nreturn {{{named}}}; }})();"


def quickjs_engine(scripts: Sequence[str], memory_bytes_max: int) -> Call:
    """The scripts in ``quickjs``, which leaves to its caller when promises go on."""
    import quickjs

    context = quickjs.Context()
    context.set_max_stack_size(STACK_BYTES)
    context.set_memory_limit(memory_bytes_max)
    for script in scripts:
        context.eval(script)
    uncollected = 0

    def call(name: str, *arguments: object) -> object:
        nonlocal uncollected
        uncollected += PAGE_COST_CHARS + sum(len(str(each)) for each in arguments)
        try:
            value = context.get(name)(*arguments)
            while context.execute_pending_job():
                pass
        except (quickjs.JSException, quickjs.StackOverflow) as error:
            raise error_of(error) from error
        # After every page it would be a seventh of the time of a short one.
        if uncollected > UNCOLLECTED_CHARS_MAX:
            uncollected = 0
            context.gc()
        return value

    return call


def v8_engine(scripts: Sequence[str], memory_bytes_max: int) -> Call:
    """The scripts in ``mini-racer``, where promises go on by themselves."""
    import py_mini_racer as racer

    racer.init_mini_racer(flags=(*racer.DEFAULT_V8_FLAGS, V8_FLAG))
    context = racer.MiniRacer()
    atexit.register(context.close)  # it hangs at the end of the process otherwise
    context.set_hard_memory_limit(memory_bytes_max)
    for script in scripts:
        # As a whole in a function: the value of a script would come to Python.
        context.eval(f"{script}\n;0")

    def call(name: str, *arguments: object) -> object:
        try:
            value: object = context.call(name, *arguments)
        except racer.JSEvalException as error:
            is_memory = isinstance(error, racer.JSOOMException)
            raise error_of(error, is_memory=is_memory) from error
        if context.was_hard_memory_limit_reached():
            # what goes on by itself ends without an exception
            raise MemoryError(OUT_OF_MEMORY)
        return value

    return call


def rendered(call: Call, page: Mapping[str, object], ask: child.Ask) -> str:
    """HTML of a page, whose includes are asked for while it is rendered."""
    call("start", page["source"], json.dumps(page["attributes"]), page["is_alone"])
    while True:
        state = json.loads(cast(str, call("state"))) or {"error": "it gave no answer"}
        if "asked" not in state:
            break
        call("resume", json.dumps(ask(state["asked"])))
    if "error" in state:
        raise error_of(child.PageError(state["error"]))
    return cast(str, state["html"])


def error_of(error: Exception, *, is_memory: bool = False) -> Exception:
    """What an engine's error means, with the first line of what it says."""
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    # there was no memory left to say so
    if reason in {"null", "MemoryError", OUT_OF_MEMORY}:
        return MemoryError(OUT_OF_MEMORY)
    return MemoryError(reason) if is_memory else child.PageError(reason)


def is_spent() -> bool:
    """Whether this process holds much memory; False where that is not known."""
    try:
        lines = STATUS.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return False
    held = [line.split()[1] for line in lines if line.startswith("VmRSS:")]
    return bool(held) and int(held[0]) * 1024 > SPENT_BYTES


ENGINES = {"quickjs": quickjs_engine, "mini-racer": v8_engine}


def serve(arguments: list[str], requests: IO[bytes], answers: IO[bytes]) -> None:
    """Load the engine and answer pages."""
    name, library, bridge, seconds_max, memory_bytes_max = arguments
    library, bridge = (Path(path).read_text("utf-8") for path in (library, bridge))
    call = ENGINES[name]((as_script(library), bridge), int(memory_bytes_max))
    ask = child.asker(requests, answers)
    nowhere = os.open(os.devnull, os.O_WRONLY)

    def render(page: dict[str, object]) -> dict[str, object]:
        return {"html": rendered(call, page, ask), "is_spent": is_spent()}

    child.serve_pages(render, requests, answers, float(seconds_max), nowhere)


def main() -> None:
    """Serve on the standard streams."""
    with child.standard_streams() as (requests, answers):
        serve(sys.argv[1:], requests, answers)


if __name__ == "__main__":
    main()
