"""What pages of a wiki include: pages and text attachments from disk, and diagrams.

Diagrams are drawn by a Kroki server, at the address that the site's owner names.  Only
a page's diagrams go there, each once: a drawing is kept in a file of the cache, named
by the server, the kind and the source.  A server that does not answer is left alone
for a while; its diagrams stay source, and the report says so once.

Every answer is remembered by its digest, so that a page is parsed again when what it
includes is another text.
"""

from __future__ import annotations

import hashlib
import posixpath
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from wikisync.core.model import AttachmentPath, Digest, Problem, Slug, digest_of
from wikisync.core.system import private
from wikisync.markup.diagrams import wanted_drawing
from wikisync.markup.links import LinkIndex, normal_path
from wikisync.site.sources import ScannedWiki

if TYPE_CHECKING:
    from urllib.request import OpenerDirector

INCLUDE_BYTES_MAX = 1024 * 1024
DIAGRAMS_FOLDER = "diagrams"
ANSWER_S = 20.0
PAUSE_S = 60.0
"""Until a server that does not answer is asked again."""
DRAWING_BYTES_MAX = 1024 * 1024
REASON_CHARS_MAX = 200
SPARE_FILES = 200
"""Drawings of earlier texts that are kept before the folder is swept."""


class Recorder:
    """An include of one page that remembers what it was asked and gave."""

    def __init__(self, texts: Includes, slug: Slug) -> None:
        self._texts = texts
        self._slug = slug
        self.seen: dict[str, str] = {}

    def __call__(self, target: str) -> str | None:
        """What the page gets for a target."""
        text = self._texts.text(self._slug, target)
        self.seen[target] = digest_of(text) if text is not None else ""
        return text


class Includes:
    """Texts of one wiki that its pages may include: pages and text attachments."""

    def __init__(self, scanned: ScannedWiki, kroki: Kroki) -> None:
        self.scanned = scanned
        self._kroki = kroki
        self._pages = {**scanned.pages, **scanned.templates}
        self._index = LinkIndex(self._pages, scanned.attachments)
        self._texts: dict[str, str | None] = {}

    def digest(self, slug: Slug, target: str) -> str:
        """Digest of what a page gets for a target; empty where there is nothing."""
        text = self.text(slug, target)
        return digest_of(text) if text is not None else ""

    def text(self, slug: Slug, target: str) -> str | None:
        """What a page gets, from its folder or the root; a diagram is drawn."""
        wanted = wanted_drawing(target)
        if wanted is not None:
            return self._kroki.drawing(slug, *wanted)
        for folder in (slug.rpartition("/")[0], ""):
            path = normal_path(posixpath.join(folder, target.lstrip("/")))
            file = self._file(path) if path else None
            if file is not None:
                return self._read(*file)
        return None

    def _file(self, path: str) -> tuple[str, Digest] | None:
        attachment = self.scanned.attachments.get(AttachmentPath(path))
        if attachment is not None:
            return path, attachment.digest
        slug = self._index.find_page(path)
        if slug is None:
            return None
        return self._pages[slug].path, self._pages[slug].digest

    def _read(self, file: str, digest: Digest) -> str | None:
        if file not in self._texts:
            self._texts[file] = _plain_text(self.scanned.read(file, digest))
        return self._texts[file]


def _plain_text(content: bytes | None) -> str | None:
    if content is None or len(content) > INCLUDE_BYTES_MAX or b"\0" in content:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


class Kroki:
    """One server, as one build asks it; safe in any thread."""

    _silent_until: ClassVar[dict[str, float]] = {}
    """Address to the time at which a server that did not answer is asked again."""

    def __init__(
        self, address: str, cache: Path, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._address = address.rstrip("/")
        self._folder = cache / DIAGRAMS_FOLDER
        self._clock = clock
        self._lock = threading.Lock()
        self._used: set[str] = set()
        self._undrawn: set[str] = set()
        self._failure = ""
        self._refused: dict[str, Problem] = {}

    @property
    def problems(self) -> tuple[Problem, ...]:
        """A server that does not answer, and diagrams that it refuses."""
        refused = tuple(self._refused.values())
        if not self._undrawn:
            return refused
        count = len(self._undrawn)
        return (
            Problem(
                "diagram-server",
                self._address,
                f"does not draw: {self._failure or 'it did not answer a moment ago'};"
                f" {count} diagram{'' if count == 1 else 's'} shown as source",
                "check the key kroki in [markup]; --retry of build asks again at once",
            ),
            *refused,
        )

    def drawing(self, slug: Slug, kind: str, source: str) -> str | None:
        """A diagram of a page as SVG; None where it stays source."""
        if not self._address:
            return None
        named = f"{self._address}\0{kind}\0{source}".encode("utf-8", "surrogatepass")
        name = f"{hashlib.sha256(named).hexdigest()}.svg"
        with self._lock:  # so that two pages with one diagram ask once
            self._used.add(name)
            try:
                kept = private.read_private_file(self._folder / name, DRAWING_BYTES_MAX)
                return kept.decode("utf-8")
            except (OSError, UnicodeDecodeError):
                return self._ask(slug, kind, source, name)

    def sweep(self) -> None:
        """Remove drawings that the build did not use, once they have become many."""
        if not self._folder.is_dir():
            return
        kept = [path for path in self._folder.iterdir() if path.name not in self._used]
        if len(kept) > len(self._used) + SPARE_FILES:
            for path in kept:
                path.unlink(missing_ok=True)

    def _ask(self, slug: Slug, kind: str, source: str, name: str) -> str | None:
        if self._clock() < self._silent_until.get(self._address, 0.0):
            self._undrawn.add(name)
            return None
        # few builds ask, and these take as long to load as much else of a build
        import http.client
        from urllib.error import HTTPError, URLError
        from urllib.request import Request

        request = Request(  # noqa: S310 - the configuration admits http and https alone
            f"{self._address}/{kind}/svg",
            data=source.encode("utf-8", "replace"),
            headers={"Content-Type": "text/plain; charset=utf-8"},
        )
        try:
            with _opener().open(request, timeout=ANSWER_S) as answer:
                content = answer.read(DRAWING_BYTES_MAX + 1)
        except HTTPError as error:
            with error:
                said = error.read(1024).decode("utf-8", "replace").split("\n")[0]
            if error.code in {400, 422}:
                self._refuse(slug, kind, name, said)
            else:
                self._fail(name, f"it answers {error.code} {error.reason}")
            return None
        except (OSError, http.client.HTTPException) as error:
            cause = error.reason if isinstance(error, URLError) else error
            text = getattr(cause, "strerror", None) or str(cause)
            self._fail(name, text or type(cause).__name__)
            return None
        return self._kept(slug, kind, name, content)

    def _kept(self, slug: Slug, kind: str, name: str, content: bytes) -> str | None:
        try:
            svg = content.decode("utf-8")
        except UnicodeDecodeError:
            svg = ""
        if len(content) > DRAWING_BYTES_MAX or "<svg" not in svg:
            self._refuse(slug, kind, name, "the answer is no drawing, or too large")
            return None
        private.make_private_folder(self._folder)
        private.write_private_file(self._folder / name, content)
        return svg

    def _refuse(self, slug: Slug, kind: str, name: str, said: str) -> None:
        self._refused[name] = Problem(
            "diagram-not-drawn",
            slug,
            f"{kind} diagram: {said[:REASON_CHARS_MAX]}",
            "the page shows its source; correct the diagram",
        )

    def _fail(self, name: str, reason: str) -> None:
        self._undrawn.add(name)
        self._failure = reason[:REASON_CHARS_MAX]
        self._silent_until[self._address] = self._clock() + PAUSE_S


def _opener() -> OpenerDirector:
    """Sends sources to the address that was named, and to no other."""
    from urllib.request import HTTPRedirectHandler, build_opener

    class NoRedirect(HTTPRedirectHandler):
        def redirect_request(self, *_args: object) -> None:
            """Take an answer that names another address for a failure."""

    return build_opener(NoRedirect)
