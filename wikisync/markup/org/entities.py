"""Names of signs in Org texts: HTML's own, and those Org adds.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from html import unescape
from html.entities import name2codepoint

from wikisync.packaged import packaged_rows

NOT_OF_ORG = frozenset({"and", "or", "part"})

ENTITIES: Mapping[str, str] = {
    **{
        name: chr(point)
        for name, point in name2codepoint.items()
        if name not in NOT_OF_ORG
    },
    **{
        name: unescape(sign)
        for sign, *names in packaged_rows(__package__, "entities.txt")
        for name in names
    },
}
"""By the name behind the backslash.

Only those of HTML 4 and Org: the later names of HTML 5 are words, such as
``target`` and ``map``, which stand behind backslashes in paths.
"""
