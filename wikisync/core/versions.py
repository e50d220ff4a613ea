"""The versions of a wiki's pages: who changed which page when, and how.  Pure.

They are read from a git history (``git_log``), or noted by us whenever we looked and
found another text: then they name no commit and nobody, and their time is ours.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from itertools import groupby
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from wikisync.core.model import Slug

TIMES_CACHED = 4096
"""One commit has the pages of many."""

VersionKind = Literal["created", "edited", "renamed", "deleted"]


class Version(Struct, frozen=True, array_like=True, gc=False):
    """What one commit made of one page."""

    at: int
    """In seconds since the epoch."""
    author: str
    """A name, never an address; empty where it is not known."""
    slug: Slug
    was: str
    """What the page was called before; empty for one that was created."""
    kind: VersionKind
    commit: str = ""
    """Empty for what we saw ourselves."""
    blob: str = ""
    """Git's id of the text since; empty for a page that was deleted."""
    old: str = ""
    """That of the text before; empty for a page that was created or deleted."""


class Versions(Struct, frozen=True, array_like=True):
    """All that is known of the history of a wiki."""

    rows: tuple[Version, ...] = ()
    """The newest first; those of one commit stand together."""
    head: str = ""
    """The newest commit; empty where we noted what we saw ourselves."""
    since: int = 0
    """Nothing before is known; 0 where everything is."""
    texts: str = ""
    """The repository that has their texts, in the cache of who read them."""


class PageDates(Struct, frozen=True, array_like=True, gc=False):
    """What a site shows of the history of one page."""

    changed: int = 0
    """In seconds since the epoch; 0 where it is not known."""
    by: str = ""
    first: int = 0
    """When the page was created; 0 where it is not known."""
    count: int = 0
    """How many versions of it are known with their texts."""
    is_seen: bool = False
    """These are times at which we saw it."""
    key: bytes = b""
    """Hash of its versions."""


UNKNOWN, NO_DATES = Versions(), PageDates()


@lru_cache(maxsize=TIMES_CACHED)
def iso_time(at: int) -> str | None:
    """``2026-11-21T14:30:05Z``; None where a time is not known."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}" if at else None


def history_key(versions: Versions) -> bytes:
    """Hash of a history, wherever its texts are; empty where nothing is known."""
    if versions == UNKNOWN:
        return b""
    return hashlib.sha256(msgspec.msgpack.encode(replace(versions, texts=""))).digest()


def pages_of(versions: Versions) -> dict[Slug, list[Version]]:
    """The versions of each page that is there, the newest first, through its names."""
    found: dict[Slug, list[Version]] = {}
    for _, group in groupby(reversed(versions.rows), key=lambda row: row.commit or row):
        rows = list(group)
        # pages may take each other's names in one commit
        before = {
            row.slug: found.pop(Slug(row.was), [])
            for row in rows
            if row.kind in {"renamed", "deleted"}
        }
        for row in rows:
            if row.kind == "edited":
                found.setdefault(row.slug, []).append(row)
            elif row.kind != "deleted":
                found[row.slug] = [*before.get(row.slug, ()), row]
    return {slug: rows[::-1] for slug, rows in found.items()}


def versions_of(versions: Versions, slug: Slug) -> list[Version]:
    """The versions of one page that is there, or was last, under all its names."""
    found: list[Version] = []
    for row in versions.rows:
        if row.slug != slug or (found and found[-1].commit == row.commit):
            continue
        found.append(row)
        if row.kind == "created":
            break
        slug = Slug(row.was)
    return found


def dates_of(versions: Versions) -> dict[Slug, PageDates]:
    """What a site shows of each page that is there."""
    found: dict[Slug, PageDates] = {}
    for slug, rows in pages_of(versions).items():
        newest, oldest = rows[0], rows[-1]
        found[slug] = PageDates(
            newest.at,
            newest.author,
            oldest.at if oldest.kind == "created" and oldest.commit else 0,
            sum(bool(row.blob) for row in rows),
            not newest.commit,
            hashlib.sha256(msgspec.msgpack.encode(rows)).digest()[:16],
        )
    return found


def seen_versions(
    known: Versions, at: int, before: Mapping[Slug, str], after: Mapping[Slug, str]
) -> Versions:
    """What was known, and what a look at the wiki found; both by hashes of texts.

    The first look finds nothing: when those pages came to be is not known.
    """
    if known == UNKNOWN:
        return Versions(since=at)
    rows: list[Version] = []
    for slug in sorted({slug for slug, _ in before.items() ^ after.items()}):
        kind: VersionKind = "edited" if slug in before else "created"
        kind = kind if slug in after else "deleted"
        rows.append(Version(at, "", slug, slug if slug in before else "", kind))
    return replace(known, rows=(*rows, *known.rows))
