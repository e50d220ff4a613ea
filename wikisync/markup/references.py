"""References to things of the service: how they are written, where they lead.  Pure.

The service links a reference only where the thing exists and the reader may see
it.  Nothing here can know that, so only spellings that are hardly anything else
are taken: a bare word behind ``~`` or ``%`` is none, ``#12`` is one, and ``$5`` is a
price unless a project stands before it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple
from urllib.parse import quote, urlsplit

WIKIS = "/-/wikis"
GROUPS = "/groups/"

PATH = r"(?:[A-Za-z0-9_][\w.-]*+/)++[A-Za-z0-9_][\w.-]*+"
REFERENCE = re.compile(
    rf"""
      <[^>]*+>
    | \[(?P<kind>issue|epic|work_item):(?P<thing>[\w./-]{{1,255}})\]
    | \[wiki_page:
      (?:(?P<wiki_path>{PATH}|[A-Za-z0-9_][\w.-]*+):)?(?P<slug>[^\[\]:<>\n]++)\]
    | (?<![\w./~@#!$%&;:=-])
      (?:
        (?:(?P<commit_path>{PATH})@)?
        (?P<commit>(?=[0-9a-f]*[a-f])(?=[a-f]*\d)(?!0b[01]+\b)[0-9a-f]{{8,40}})
      | (?P<path>{PATH})?
        (?:
          (?P<sign>\#|!|(?<=[\w.-])\$|%|&amp;)(?P<id>[1-9]\d{{0,8}})(?P<form>\+s?)?
        | (?P<titled>[~%])(?P<title>"[^"<>\n]{{1,200}}")
        | ~(?P<label>[A-Za-z][\w-]*::[\w-]+)
        | @(?P<user>[A-Za-z0-9_](?:[\w.-]{{0,253}}[A-Za-z0-9_])?)
        )
      )
      (?![\w/@-]|\.[A-Za-z0-9])
    """,
    re.VERBOSE,
)
MARK = re.compile(
    # one class in front, to which the search can skip
    r"[#!$%~@\[&]"
    r"(?:(?<=[#!$%])[1-9]|(?<=@)[A-Za-z0-9_]|(?<=~)[A-Za-z]|(?<=[~%])\""
    r"|(?<=\[)[iew]|(?<=&)amp;[1-9])"
)
"""How every reference begins that is no commit."""
CANDIDATE = re.compile(r'[#!$%~@\[&0-9](?:(?=[\w"])|(?<=[a-f][0-9]))')
"""A sign or a digit in a word: less than ``MARK`` and ``COMMIT_START`` ask for, and
told faster."""
COMMIT_START = re.compile(r"[0-9a-f](?<!\w[0-9a-f])[0-9a-f]{7}")
NOT_USERS = frozenset({"all", "media", "import", "param", "return", "returns", "see"})

KINDS: Mapping[str, str] = {
    "#": "issue",
    "!": "merge_request",
    "$": "snippet",
    "%": "milestone",
    "&amp;": "epic",
}
ROUTES: Mapping[str, str] = {
    "issue": "/-/issues/",
    "work_item": "/-/work_items/",
    "merge_request": "/-/merge_requests/",
    "snippet": "/-/snippets/",
    "milestone": "/-/milestones/",
    "commit": "/-/commit/",
    "epic": "/-/epics/",
    "label": "/-/issues?label_name=",
    "milestone_title": "/-/milestones?search_title=",
    "wiki_page": "/-/wikis/",
}


class Reference(NamedTuple):
    """What a text refers to."""

    kind: str
    """A key of ``ROUTES``, or ``user``."""
    path: str
    """Full path of another project or group; empty for the wiki's own."""
    name: str

    def written(self) -> str:
        """As one string; ``parse_written`` reads it."""
        return f"{self.kind}:{self.path}:{self.name}"


def parse_written(text: str) -> Reference:
    """The reference that ``written`` gave."""
    kind, path, name = text.split(":", 2)
    return Reference(kind, path, name)


def may_hold_reference(text: str) -> bool:
    """A quick look: False only where a text holds none; most texts do not."""
    return MARK.search(text) is not None or COMMIT_START.search(text) is not None


def candidates(texts: Sequence[str]) -> list[int]:
    """Numbers of the texts that are worth that look.

    One search through all of them costs a third of a search in each.
    """
    whole = "\n".join(texts)
    ends = list(accumulate(len(text) + 1 for text in texts))
    numbers: list[int] = []
    place = 0
    while (found := CANDIDATE.search(whole, place)) is not None:
        numbers.append(bisect_right(ends, found.start()))
        place = ends[numbers[-1]]
    return numbers


def reference_of(match: re.Match[str]) -> Reference | None:
    """What a match of ``REFERENCE`` refers to; None for a tag or a mere word."""
    found = match.groupdict()
    path = found["path"] or ""
    if found["kind"]:
        place, _, number = found["thing"].rpartition("/")
        return Reference(found["kind"], place, number) if number.isdecimal() else None
    if found["slug"]:
        return Reference("wiki_page", found["wiki_path"] or "", found["slug"])
    if found["id"]:
        return Reference(KINDS[found["sign"]], path, found["id"])
    if found["title"]:
        kind = "label" if found["titled"] == "~" else "milestone_title"
        return Reference(kind, path, found["title"].strip('"'))
    if found["label"]:
        return Reference("label", path, found["label"])
    if found["commit"]:
        return Reference("commit", found["commit_path"] or "", found["commit"])
    if found["user"] and not path and found["user"] not in NOT_USERS:
        return Reference("user", "", found["user"])
    return None


def reference_url(reference: Reference, web_url: str) -> str:
    """Address on the service, or empty where the wiki's own is not known.

    Args:
        reference: what the page refers to.
        web_url: full address of the page's wiki, ending in ``/-/wikis``.
    """
    if not web_url.startswith(("http://", "https://")):
        return ""
    owner = web_url.removesuffix(WIKIS)
    parts = urlsplit(owner)
    root = f"{parts.scheme}://{parts.netloc}"
    name = quote(reference.name, safe="/" if reference.kind == "wiki_page" else "")
    if reference.kind == "user":
        return f"{root}/{name}"
    base = owner
    if reference.path:
        base = f"{root}/{quote(reference.path)}"
    if reference.kind == "epic":
        base = epic_base(base, root, is_group=bool(reference.path))
    return f"{base}{ROUTES[reference.kind]}{name}"


def epic_base(base: str, root: str, *, is_group: bool) -> str:
    """Address of the group whose epics are meant: a project's are its group's."""
    if base.startswith(root + GROUPS):
        return base
    path = base.removeprefix(root + "/")
    return f"{root}{GROUPS}{path if is_group else path.rpartition('/')[0]}"
