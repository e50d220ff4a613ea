"""What every file of a site points to, and what of it is not there.

Reads the written files as a browser would: addresses are relative to the file
that holds them, percent-decoded once, and must end at a file of the site and at
an id in it.
"""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

ADDRESSES = ("href", "src", "poster", "action", "data", "xlink:href")
CANDIDATE = re.compile(r"(?:^|,)\s*(\S+)")
"""An address of a ``srcset``; one that holds its picture may hold commas."""
STYLE_ADDRESS = re.compile(r"url\(\s*['\"]?(.*?)['\"]?\s*\)")


@dataclass
class ReadPage(HTMLParser):
    """Addresses and ids of one HTML file."""

    addresses: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what this element points to and what it is called."""
        del tag
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name in ADDRESSES and value is not None:
                self.addresses.append(value)
            elif name == "srcset" and value:
                self.addresses += CANDIDATE.findall(value)


def read_site(site: Path) -> dict[str, ReadPage]:
    """Every HTML file of a site by its output path."""
    pages: dict[str, ReadPage] = {}
    for file in sorted(site.rglob("*.html")):
        page = ReadPage()
        page.feed(file.read_text(encoding="utf-8"))
        page.close()
        pages[file.relative_to(site).as_posix()] = page
    return pages


def dead_addresses(site: Path) -> list[str]:
    """``file -> address`` for each address that leads nowhere within the site."""
    pages = read_site(site)
    files = {p.relative_to(site).as_posix() for p in site.rglob("*") if p.is_file()}
    dead = [
        f"{path} -> {address}"
        for path, page in pages.items()
        for address in dict.fromkeys(page.addresses)
        if is_dead(path, address, files, pages)
    ]
    for style in sorted(site.rglob("*.css")):
        path = style.relative_to(site).as_posix()
        found = STYLE_ADDRESS.findall(style.read_text(encoding="utf-8"))
        dead += [f"{path} -> {a}" for a in found if is_dead(path, a, files, pages)]
    return dead


def is_dead(
    path: str, address: str, files: set[str], pages: dict[str, ReadPage]
) -> bool:
    """Whether an address in a file misses its file or its id."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return False
    target = target_of(path, unquote(parts.path))
    if target not in files:
        return True
    fragment = unquote(parts.fragment)
    return bool(fragment) and target in pages and fragment not in pages[target].ids


def target_of(path: str, address: str) -> str:
    """Output path that a relative address in a file leads to; empty if outside."""
    if not address:
        return path
    if address.startswith("/"):
        return ""
    at = list(PurePosixPath(path).parent.parts)
    for part in address.split("/"):
        if part == "..":
            if not at:
                return ""
            at.pop()
        elif part not in {"", "."}:
            at.append(part)
    return "/".join(at)


def doubled_ids(site: Path) -> list[str]:
    """``file#id`` for each id that one HTML file gives twice."""
    return [
        f"{path}#{name}"
        for path, page in read_site(site).items()
        for name in sorted(set(page.ids))
        if page.ids.count(name) > 1
    ]
