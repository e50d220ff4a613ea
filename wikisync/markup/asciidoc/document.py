"""AsciiDoc pages to HTML: what the service sets, around an engine.

The engine is Asciidoctor itself, in a process of its own (``engine``).  Links to
other pages come out as plain relative hrefs, for the shared link filter.
"""

import atexit
import importlib.util
import os
import posixpath
import re
import threading
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from wikisync.core.model import Page, Problem
from wikisync.core.system.processes import python_worker
from wikisync.errors import RenderError
from wikisync.markup.asciidoc import engine
from wikisync.markup.asciidoc.engine import Engine
from wikisync.markup.context import ID_PREFIX, ParseContext
from wikisync.markup.record import AsciidocEngine

SERVICE_ATTRIBUTES: Mapping[str, str] = {
    "showtitle": "",
    "idprefix": ID_PREFIX,
    "idseparator": "-",
    "env": "gitlab",
    "env-gitlab": "",
    "source-highlighter": "gitlab-html-pipeline",
    "icons": "font",
    "outfilesuffix": ".adoc",
}
"""Set by the service for every page; a page cannot change them.

The service sets ``sectanchors`` too; our headings get their anchors from the
filter that all formats share.
"""

BOX_OPEN = '<input type="checkbox" class="task-list-item-checkbox" disabled>'
BOX_CHECKED = BOX_OPEN.replace(" disabled", " disabled checked")
CHECK = re.compile(
    r'<i class="fa fa-(?:(check-)square-o|square-o)"></i>'
    r'|<input type="checkbox" data-item-complete="(?:(1)|0)"[^<>]*>'
)
TAG = re.compile(r"<[A-Za-z][^<>]*>")
ID = re.compile(rf'(\sid=")(?!{ID_PREFIX}|_footnote(?:ref|def)_)')

MODULE = re.compile(r"((?:.*/)?modules/)([^/]+)/(?:pages/|partials/|[^/]+$)")
"""Folders of a page of Antora: that of all modules, and its own."""
RESOURCE = re.compile(
    r"(?:(?P<module>[\w.-]+):(?!//))?"
    r"(?:(?P<family>page|partial|example|image|attachment)\$)?(?P<path>[^:/$][^:$]*)"
)
"""What Antora calls a page or file; what names a component is left as it is."""
ADDRESS = re.compile(r'(<(a|img)\b[^<>]*? (?:href|src)=")([^"#][^"]*)')

_engines: dict[tuple[int, str], Engine] = {}
_engines_lock = threading.Lock()


def to_html(source: str, context: ParseContext) -> str:
    """HTML of an AsciiDoc page, not yet safe."""
    engine = shared_engine(context.asciidoc_engine)
    found = MODULE.match(context.slug)
    include = context.include
    if found is not None:
        antora = Antora(context, found[1], found[2])
        include = antora.include
    html = engine.render(source, SERVICE_ATTRIBUTES, include)
    if found is not None:
        html = ADDRESS.sub(antora.address, html)
    # headings of that name have the id, too, and no link leads to this one
    html = html.replace('<div id="footnotes">', "<div>")
    if "checklist" in html:
        # boxes in the shape that all formats share
        html = CHECK.sub(
            lambda found: BOX_CHECKED if found[1] or found[2] else BOX_OPEN, html
        )
    return TAG.sub(mark_ids, html) if " id=" in html else html


class Antora(Struct, frozen=True):
    """Addresses of a page in a folder of Antora, ``modules/name/pages``.

    ``xref:page.adoc[]`` starts at ``pages`` of the module, ``image::x.png[]`` at
    ``images``, ``include::partial$x.adoc[]`` at ``partials``.
    """

    context: ParseContext
    modules: str
    """Folder of all modules, with a slash at its end."""
    module: str

    def include(self, target: str) -> str | None:
        """The text of a page or file, whose path may begin with its family."""
        name = target.rpartition("/")[2]
        return self.context.include(self._path(name, "") or target)

    def address(self, found: re.Match[str]) -> str:
        """A link or picture as it is seen from the page."""
        start, element, written = found.groups()
        name, sign, fragment = written.partition("#")
        family = "image" if element == "img" else "page"
        is_named = element == "img" or name.endswith(".adoc")
        path = self._path(name, family) if is_named else None
        return f"{start}{written if path is None else path + sign + fragment}"

    def _path(self, name: str, family: str) -> str | None:
        """A path relative to the page's folder; None for what is named otherwise."""
        found = RESOURCE.fullmatch(name)
        if found is None or not (found["family"] or family):
            return None
        module = found["module"] or self.module
        folder = f"{self.modules}{module}/{found['family'] or family}s"
        page_folder = posixpath.dirname(self.context.slug)
        if found["path"].startswith("."):
            folder = page_folder
        return posixpath.relpath(posixpath.join(folder, found["path"]), page_folder)


def problems_of(page: Page, name: AsciidocEngine) -> tuple[Problem, ...]:
    """What a reader of the build report should know about a page's engine."""
    if shared_engine(name).name != ASCIIDOC3:
        return ()
    problem = Problem(
        "asciidoc-approximate",
        page.slug,
        "rendered by asciidoc3, which gets a third of the language right",
        "install an engine of Asciidoctor: wikisync's extra fast",
    )
    return (problem,)


def mark_ids(tag: re.Match[str]) -> str:
    """A tag with the service's prefix in front of its id.

    Asciidoctor puts it only in front of ids that it makes itself.
    """
    return ID.sub(rf"\g<1>{ID_PREFIX}", tag[0], count=1)


def shared_engine(name: AsciidocEngine = "auto") -> Engine:
    """The engine of this process with that name, made with the first AsciiDoc page.

    A forked process gets its own: two readers of one pipe would mix pages.
    """
    with _engines_lock:
        engine = _engines.get((os.getpid(), name))
        if engine is None:
            engine = _engines[os.getpid(), name] = choose_engine(name)
            atexit.register(engine.close)
        return engine


# -- engines ---------------------------------------------------------------------


HERE = Path(__file__).parent
LIBRARY = HERE.parents[1] / "vendor" / "asciidoctor.js"
ASCIIDOC3 = "asciidoc3"
"""The one engine that is not Asciidoctor; it holds no scripts."""


KINDS: Mapping[str, tuple[str, str]] = {
    "mini-racer": ("py_mini_racer", "install wikisync with its extra fast"),
    "quickjs": ("quickjs", engine.REINSTALL_HINT),
    ASCIIDOC3: ("asciidoc3", "install wikisync with its extra asciidoc3"),
}
"""Of each engine, best first, the module that it needs and what to install for it."""


def choose_engine(
    name: str = "auto", limits: engine.WorkerLimits = engine.USUAL_LIMITS
) -> engine.Engine:
    """The engine with this name, or for ``auto`` the best that is installed."""
    if name == "auto":
        for known in KINDS:
            if is_installed(known):
                return choose_engine(known, limits)
        raise RenderError(
            "no engine for asciidoc is installed", hint=KINDS["quickjs"][1]
        )
    if name not in KINDS:
        raise RenderError(
            f"there is no asciidoc engine {name}",
            hint=f"use one of: auto, {', '.join(KINDS)}",
        )
    _, hint = KINDS[name]
    if not is_installed(name):
        raise RenderError(f"the asciidoc engine {name} is not installed", hint=hint)
    program, arguments = HERE / ASCIIDOC3 / "worker.py", []
    if name != ASCIIDOC3:
        program = HERE / "worker.py"
        arguments = [name, str(LIBRARY), str(HERE / "convert.js")]
        if not LIBRARY.is_file():
            raise RenderError(
                "Asciidoctor is not part of this installation",
                hint="install wikisync again: pip install . (or pip install -e .)",
            )
    wait_seconds_max = limits.wait_seconds_max + engine.GRACE_SECONDS
    arguments += [str(wait_seconds_max), str(limits.memory_bytes_max)]
    command = python_worker(
        program, arguments, memory_bytes_max=engine.PROCESS_BYTES_MAX
    )
    return Engine(name, command, limits, hint=hint)


def is_installed(name: str) -> bool:
    """Whether an engine can be expected to start."""
    try:
        return importlib.util.find_spec(KINDS[name][0]) is not None
    except (ImportError, ValueError):
        return False
