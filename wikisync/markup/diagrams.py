"""Diagrams as pictures: mermaid drawn here, with merman; others by a server.  Pure.

A drawing is a picture of a page (``data:image/svg+xml``), so that nothing in it runs
and it asks nobody for anything, whatever its source holds; ``static_drawing`` makes
sure of that where it is opened by itself too.  It is drawn twice, for light and dark
screens, each with its own background, so that it can be read on the other one as well.

A server is nothing that this package knows: a page asks its include for the drawing.
"""

from __future__ import annotations

import atexit
import base64
import functools
import importlib.util
import json
import re
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote
from xml.parsers import expat

from wikisync.markup.links import IGNORED_BY_BROWSERS
from wikisync.markup.tokens import NotDrawn, escape

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
    """Drawings of a diagram, its source to unfold below; a theme shows one of them."""
    found = VIEW.match(light)
    size = ""
    if found:
        width, height = (round(float(length)) for length in found.groups())
        size = f' width="{width}" height="{height}"'
    alt = escape(" ".join(source.split())[:ALT_CHARS_MAX])
    pictures = ""
    for svg in (light, dark):
        if svg is not None:
            drawn = quote(static_drawing(svg.encode()).decode(), safe=UNQUOTED)
            address = escape(f"data:image/svg+xml,{drawn}")
            pictures += f'<img src="{address}" alt="{alt}"{size}>'
    return (
        f'<figure class="diagram">{pictures}<details><summary>Source</summary>'
        f'<pre tabindex="0">{escape(source)}</pre></details></figure>'
    )


# -- drawings that are pictures, and nothing else --------------------------------
#
# An SVG that is opened by itself may run scripts on the site that it lies on; the same
# file as a picture in a page may not.  So a drawing that plainly is only a picture is
# published as it is; any other becomes a picture in a drawing of our own, where no
# browser runs anything of it, whatever it holds.


DRAWING_BYTES_MAX = 16 * 1024 * 1024
"""A larger file is not published as a drawing."""

SVG = "http://www.w3.org/2000/svg"
_PICTURE_ELEMENTS = frozenset(
    [
        *("svg", "g", "defs", "symbol", "use", "switch", "title", "desc", "metadata"),
        *("path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "image"),
        *("text", "tspan", "textPath", "style", "linearGradient", "radialGradient"),
        *("stop", "pattern", "clipPath", "mask", "marker", "filter", "feBlend"),
        *("feColorMatrix", "feComponentTransfer", "feComposite", "feConvolveMatrix"),
        *("feDiffuseLighting", "feDisplacementMap", "feDistantLight", "feDropShadow"),
        *("feFlood", "feFuncA", "feFuncB", "feFuncG", "feFuncR", "feGaussianBlur"),
        *("feMerge", "feMergeNode", "feMorphology", "feOffset", "fePointLight"),
        *("feSpecularLighting", "feSpotLight", "feTile", "feTurbulence"),
    ]
)
_EDITORS = frozenset(
    {
        "http://www.inkscape.org/namespaces/inkscape",
        "http://sodipodi.sourceforge.net/DTD/sodipodi-0.dtd",
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
        "http://creativecommons.org/ns#",
        "http://web.resource.org/cc/",
        "http://purl.org/dc/elements/1.1/",
        "http://www.serif.com/",
        "http://www.bohemiancoding.com/sketch/ns",
    }
)
"""Namespaces in which programs keep what they know of a drawing; browsers ignore it."""
_HARMLESS_TARGET = re.compile(r"#|data:image/(?:png|jpeg|gif|webp)[;,]", re.IGNORECASE)
_TARGETS = frozenset({"href", "src", "base"})
_STYLE_FROM_ELSEWHERE = re.compile(
    r"@import|\\|\b(?:image|image-set|image-rect|cross-fade|src|element|paint)\("
    r"|url\((?!\s*['\"]?\s*(?:#|data:(?:image/(?:png|jpeg|gif|webp)|font/|"
    r"application/(?:x-font|font|octet-stream))))",
    re.IGNORECASE,
)
"""A style that a browser would ask another address for: by ``url``, by the functions
that take an address without it, or by escapes, of which that is not known."""
_LENGTH = re.compile(r"\d{1,7}(?:\.\d{1,7})?(?:px|pt|pc|mm|cm|in|em|ex|%)?")
_NUMBER = re.compile(r"\d{1,7}(?:\.\d{1,7})?")


class _NotPlainError(Exception):
    """A drawing holds something that this module does not know for a picture's."""


def static_drawing(content: bytes) -> bytes:
    """A drawing that shows the same picture as ``content`` and cannot run anything."""
    reader = _Reader()
    if reader.is_plain(content):
        return content
    address = b"data:image/svg+xml;base64," + base64.b64encode(content)
    return (
        f'<svg xmlns="{SVG}"{reader.size}>'
        f'<image width="100%" height="100%" href="'.encode()
        + address
        + b'"/></svg>\n'
    )


class _Reader:
    """One pass over a drawing."""

    def __init__(self) -> None:
        self.size = ""
        """The root's attributes of the drawing's size, each with a leading space."""
        self._is_root = True
        self._is_plain = True
        self._is_in_style = False

    def is_plain(self, content: bytes) -> bool:
        """Whether there is nothing in a drawing but a picture."""
        try:
            # a browser may take other encodings differently from this parser
            content.decode("utf-8")
        except UnicodeDecodeError:
            self._is_plain = False
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = self._element
        parser.EndElementHandler = self._end
        parser.XmlDeclHandler = self._declaration
        # browsers know entities of some types, which this parser skips
        parser.StartDoctypeDeclHandler = self._refuse
        parser.ProcessingInstructionHandler = self._refuse
        # a style comes whole, or what is searched for could lie across two parts
        parser.buffer_text, parser.buffer_size = True, len(content) + 1
        parser.CharacterDataHandler = _check_style
        try:
            parser.Parse(content, True)
        except (expat.ExpatError, _NotPlainError, ValueError):
            return False
        return self._is_plain

    def _element(self, name: str, attributes: dict[str, str]) -> None:
        space, _, local = name.rpartition(" ")
        if self._is_root:
            self._is_root = False
            self.size = _size_of(attributes)
            self._is_plain = self._is_plain and space == SVG and local == "svg"
        if not self._is_plain:
            # the size was all that is still wanted
            raise _NotPlainError
        if self._is_in_style:
            # what a browser takes for the style is the text around the element, too
            raise _NotPlainError
        self._is_in_style = local == "style"
        if not (space in _EDITORS or (space == SVG and local in _PICTURE_ELEMENTS)):
            raise _NotPlainError
        for key, value in attributes.items():
            _check_style(value)
            attribute = key.rpartition(" ")[2].lower()
            target = IGNORED_BY_BROWSERS.sub("", value)
            is_elsewhere = attribute in _TARGETS and not _HARMLESS_TARGET.match(target)
            if is_elsewhere or attribute.startswith("on"):
                raise _NotPlainError

    def _declaration(self, version: str, encoding: str | None, _alone: int) -> None:
        is_usual = version == "1.0" and (encoding or "utf-8").lower() == "utf-8"
        self._is_plain = self._is_plain and is_usual

    def _end(self, _name: str) -> None:
        self._is_in_style = False

    def _refuse(self, *_what: object) -> None:
        self._is_plain = False


def _check_style(text: str) -> None:
    """A drawing that is opened by itself asks nobody for anything, as a picture."""
    if _STYLE_FROM_ELSEWHERE.search(text):
        raise _NotPlainError


def _size_of(attributes: dict[str, str]) -> str:
    """The size that a drawing's root gives, as far as it is plainly one."""
    width, height = (
        value if _LENGTH.fullmatch(value := attributes.get(key, "").strip()) else ""
        for key in ("width", "height")
    )
    box = attributes.get("viewBox", "").replace(",", " ").split()
    size = box[2:] if len(box) == 4 else [width, height]
    is_known = all(_NUMBER.fullmatch(part) for part in size)
    view = f"0 0 {' '.join(size)}" if is_known else ""
    values = {"width": width, "height": height, "viewBox": view}
    return "".join(f' {key}="{value}"' for key, value in values.items() if value)
