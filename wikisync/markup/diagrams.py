"""Diagrams as pictures: mermaid drawn here, with merman; others by a server.  Pure.

A drawing is a picture of a page (``data:image/svg+xml``), so that nothing in it runs
and it asks nobody for anything, whatever its source holds; ``markup.drawings`` makes
sure of that where it is opened by itself too.  It is drawn twice, for light and dark
screens, each with its own background, so that it can be read on the other one as well.

A server is nothing that this package knows: a page asks its include for the drawing.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
import json
import re
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from msgspec import Struct

from wikisync.markup.drawings import static_drawing
from wikisync.markup.tokens import escape

if TYPE_CHECKING:
    from merman import MermanEngine

Screen = Literal["light", "dark"]
BACKGROUND: dict[Screen, str] = {"light": "#ffffff", "dark": "#1b202a"}
THEME: dict[Screen, str] = {"light": "default", "dark": "dark"}
DIAGRAM_CHARS_MAX = 50_000
"""A longer source stays source, as in mermaid itself."""
DRAWING_CHARS_MAX = 1024 * 1024
"""A larger drawing is none that a page can bear."""
UNQUOTED = "/:;=,()!*'@$?~"
"""What an address may have as it is, and a drawing has in it."""
VIEW = re.compile(r'<svg [^>]*?viewBox="[-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)"')
REASON = re.compile(r"message='(.*)'\Z", re.DOTALL)
ALT_CHARS_MAX = 1_000


DRAWING = "\0drawing\0"
"""Begins what a page asks its include for a drawing; no page can write it."""


class NotDrawn(Struct, frozen=True):
    """A diagram that stays source."""

    reason: str


@functools.cache
def can_draw() -> bool:
    """Whether the extra ``diagrams`` is installed."""
    return importlib.util.find_spec("merman") is not None


@functools.lru_cache(maxsize=256)
def mermaid_html(source: str) -> str | NotDrawn:
    """A mermaid diagram as a picture with its source below, or why there is none."""
    if len(source) > DIAGRAM_CHARS_MAX:
        return NotDrawn(f"it has more than {DIAGRAM_CHARS_MAX} characters")
    try:
        light, dark = (engine(screen).render_svg(source, None) for screen in BACKGROUND)
    except Exception as error:  # noqa: BLE001 - a panic of the library is no error of its
        found = REASON.search(str(error))
        return NotDrawn(" ".join((found[1] if found else repr(error)).split())[:200])
    if len(light) + len(dark) > DRAWING_CHARS_MAX:
        return NotDrawn("its drawing is too large")
    return picture_html(source, light, dark)


def drawing_target(kind: str, source: str) -> str:
    """What to ask an include for to get a diagram drawn as SVG by a server."""
    return f"{DRAWING}{kind}\0{source}"


def wanted_drawing(target: str) -> tuple[str, str] | None:
    """Kind and source of the diagram that an include is asked for, if it is one."""
    if not target.startswith(DRAWING):
        return None
    kind, _, source = target.removeprefix(DRAWING).partition("\0")
    return kind, source


@functools.cache
def engine(screen: Screen) -> MermanEngine:
    """What draws for one kind of screen: no HTML in labels, no clock, few resources."""
    from merman import MermanEngine

    no_html = {"htmlLabels": False}
    options = {
        "site_config": {
            "theme": THEME[screen],
            "securityLevel": "strict",
            **no_html,
            **dict.fromkeys(("flowchart", "class", "state", "mindmap"), no_html),
        },
        "resources": {"profile": "constrained"},
        "svg": {"pipeline": "resvg-safe", "root_background_color": BACKGROUND[screen]},
    }
    # it cannot be freed any more once the interpreter has let go of its modules
    atexit.register(engine.cache_clear)
    return MermanEngine(options_json=json.dumps(options), services=None)


def picture_html(source: str, light: str, dark: str | None = None) -> str:
    """Drawings of a diagram, its source to unfold below.

    Both are pictures of their own, of which the theme shows one: a ``picture`` that
    chooses keeps its choice for a dark screen in print.
    """
    found = VIEW.match(light)
    size = ""
    if found:
        width, height = (round(float(length)) for length in found.groups())
        size = f' width="{width}" height="{height}"'
    alt = escape(" ".join(source.split())[:ALT_CHARS_MAX])
    pictures = "".join(
        f'<img src="{drawing_address(svg)}" alt="{alt}"{size}>'
        for svg in (light, dark)
        if svg is not None
    )
    return (
        f'<figure class="diagram">{pictures}<details><summary>Source</summary>'
        f'<pre tabindex="0">{escape(source)}</pre></details></figure>'
    )


def drawing_address(svg: str) -> str:
    """A drawing as an address that holds it."""
    drawn = static_drawing(svg.encode()).decode()
    return escape(f"data:image/svg+xml,{quote(drawn, safe=UNQUOTED)}")
