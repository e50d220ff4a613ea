"""What pages of a wiki include: pages and text attachments from disk, and drawings.

Every answer is remembered by its digest, so that a page is parsed again when what it
includes is another text.
"""

from __future__ import annotations

import posixpath

from wikisync.core.model import AttachmentPath, Digest, Slug, digest_of
from wikisync.markup.diagrams import wanted_drawing
from wikisync.markup.links import LinkIndex, normal_path
from wikisync.site.kroki import Kroki
from wikisync.site.sources import ScannedWiki

INCLUDE_BYTES_MAX = 1024 * 1024


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

    def __init__(self, scanned: ScannedWiki, kroki: Kroki | None = None) -> None:
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
            return self._kroki.drawing(slug, *wanted) if self._kroki else None
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
            content = self.scanned.read(file, digest)
            self._texts[file] = _plain_text(content)
        return self._texts[file]


def _plain_text(content: bytes | None) -> str | None:
    if content is None or len(content) > INCLUDE_BYTES_MAX or b"\0" in content:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None
