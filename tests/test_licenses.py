"""What wikisync needs, and what its extras need, may be used as MIT software is."""

from __future__ import annotations

import re
from collections.abc import Collection
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement

COPYLEFT = re.compile(r"\bA?L?GPL|Affero|Business Source|\bBUSL|\bSSPL", re.IGNORECASE)
EXCEPTIONS = {
    "psycopg": "LGPL-3.0: the extra fleet imports it, unmodified and replaceable",
    "psycopg-binary": "of psycopg",
    "psycopg-pool": "of psycopg",
    "pygit2": "GPL-2.0 with an exception for programs that link to it",
    "docutils": "public domain and BSD; the GPL is that of an editor mode beside it",
    "asciidoc3": "AGPL-3.0: a program in a process of its own, never imported",
}
"""Packages of extras under another license, and why they may be used."""


def license_of(package: Distribution) -> str:
    """What a package says of its license, which may be a whole text."""
    meta = package.metadata
    names = [name for name in ("License-Expression", "License") if name in meta]
    said = [meta[name][:100] for name in names]
    kinds = [one for one in meta.get_all("Classifier") or () if "License ::" in one]
    return " ".join([*said, *kinds])


def needed(extras: Collection[str]) -> dict[str, Distribution]:
    """Every installed package that wikisync with these extras needs."""
    found: dict[str, Distribution] = {}
    waiting = [("wikisync", frozenset(extras))]
    while waiting:
        name, wanted = waiting.pop()
        for text in distribution(name).requires or ():
            one = Requirement(text)
            marks = [{"extra": extra} for extra in ("", *wanted)]
            if one.marker and not any(map(one.marker.evaluate, marks)):
                continue
            try:
                package = distribution(one.name)
            except PackageNotFoundError:
                continue  # an extra that the tests do without
            if one.name not in found:
                found[one.name] = package
                waiting.append((one.name, frozenset(one.extras)))
    return found


def test_no_package_is_copyleft_but_the_named_ones() -> None:
    extras = set(distribution("wikisync").metadata.get_all("Provides-Extra") or ())
    packages = needed(extras - {"dev"})
    assert {"aiohttp", "obstore", "psycopg"} <= packages.keys()
    copyleft = {
        name for name, one in packages.items() if COPYLEFT.search(license_of(one))
    }
    assert copyleft == EXCEPTIONS.keys()
