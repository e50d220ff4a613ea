"""References to things of the service: how they are written, where they lead.  Pure.

The service links a reference only where the thing exists and the reader may see
it.  Nothing here can know that, so only spellings that are hardly anything else
are taken: a bare word behind ``~`` or ``%`` is none, ``#12`` is one, and ``$5`` is a
price unless a project stands before it.
"""

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from html import escape
from itertools import accumulate
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

WIKIS = "/-/wikis"
GROUPS = "/groups/"

TRACKED = "GL-"
"""Before the number of an issue, for readers who have another tracker."""
SEGMENT = r"[A-Za-z0-9_][\w.-]*+"
PATH = r"(?>(?:[A-Za-z0-9_][\w.-]*+/)+)[A-Za-z0-9_][\w.-]*+"
REFERENCE = re.compile(
    rf"""
      <[^>]*+>
    | \[(?P<kind>issue|epic|work_item):(?P<thing>[\w./-]{{1,255}})\]
    | \[wiki_page:
      (?:(?P<wiki_path>{PATH}|[A-Za-z0-9_][\w.-]*+):)?(?P<slug>[^\[\]:<>\n]++)\]
    | (?<![\w./~@#!$%&;:=-])
      (?:
        (?:(?P<range_path>{PATH})@)?
        (?P<range>(?=[\d.]*[a-f])[0-9a-f]{{7,40}}\.{{2,3}}[0-9a-f]{{7,40}})
      | {TRACKED}(?P<tracked>[1-9]\d{{0,8}})
      | (?:(?P<commit_path>{PATH})@)?
        (?P<commit>(?=[0-9a-f]*[a-f])(?=[a-f]*\d)(?!0b[01]+\b)[0-9a-f]{{8,40}})
      | (?P<path>{PATH}|{SEGMENT}(?=[\#!][1-9]))?
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
"""A sign or a digit in a word: less than ``MARK`` asks for, and found faster."""
CANDIDATE_SIGNS = "1203456789#@[&!%$~"
"""Of which it has one; to see that a text has none takes a tenth of that search."""
COMMIT_START = re.compile(r"[0-9a-f](?<!\w[0-9a-f])[0-9a-f]{6}")
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
    "range": "/-/compare/",
    "epic": "/-/epics/",
    "label": "/-/issues?label_name=",
    "milestone_title": "/-/milestones?search_title=",
    "wiki_page": "/-/wikis/",
}


SIGNS: Mapping[str, str] = {
    "issue": "#",
    "work_item": "#",
    "merge_request": "!",
    "snippet": "$",
    "epic": "&",
    "commit": "@",
    "range": "@",
}
"""Before the name of each kind that is shown by its name alone."""
SHA = re.compile(r"([0-9a-f]{8})[0-9a-f]+")
ADDRESS = re.compile(
    rf"""
    /(?:
      groups/(?P<group>{SEGMENT}(?>(?:/{SEGMENT})*))/-/epics/(?P<epic>[1-9]\d{{0,8}})
    | (?P<path>{SEGMENT}(?>(?:/{SEGMENT})+))/-/(?:
        (?P<kind>issues|merge_requests|work_items|snippets)/(?P<id>[1-9]\d{{0,8}})
        (?P<tail>/(?:designs|diffs|commits|builds))?
      | commit/(?P<commit>[0-9a-f]{{7,40}})
      | compare/(?P<range>[0-9a-f]{{7,40}}\.{{3}}[0-9a-f]{{7,40}})
      | wikis/(?P<page>[^?\#\s]+)
      )
    )
    (?:\?[\w=&-]+)?(?:\#(?:note_(?P<note>\d+)|[\w-]+))?
    """,
    re.VERBOSE,
)
"""What stands behind the host in addresses of the service's objects."""


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
    """A quick test: False only where a text holds none; most texts do not."""
    return (
        MARK.search(text) is not None
        or COMMIT_START.search(text) is not None
        or TRACKED in text
    )


def candidates(texts: Sequence[str]) -> list[int]:
    """Numbers of the texts worth that test, found by one search through all."""
    whole = "\n".join(texts)
    if TRACKED not in whole and not any(map(whole.__contains__, CANDIDATE_SIGNS)):
        return []
    ends = list(accumulate(len(text) + 1 for text in texts))
    numbers: list[int] = []
    position = 0
    while (found := CANDIDATE.search(whole, position)) is not None:
        numbers.append(bisect_right(ends, found.start()))
        position = ends[numbers[-1]]
    if TRACKED in whole:
        # rare, and not worth a part of the pattern
        tracked = (number for number, text in enumerate(texts) if TRACKED in text)
        numbers = sorted({*numbers, *tracked})
    return numbers


def reference_of(match: re.Match[str]) -> Reference | None:
    """What a match of ``REFERENCE`` refers to; None for a tag or a mere word."""
    found = match.groupdict()
    path = found["path"] or ""
    if found["kind"]:
        project, _, number = found["thing"].rpartition("/")
        return Reference(found["kind"], project, number) if number.isdecimal() else None
    if found["slug"]:
        return Reference("wiki_page", found["wiki_path"] or "", found["slug"])
    if found["id"]:
        return Reference(KINDS[found["sign"]], path, found["id"])
    if found["title"]:
        kind = "label" if found["titled"] == "~" else "milestone_title"
        return Reference(kind, path, found["title"].strip('"'))
    if found["label"]:
        return Reference("label", path, found["label"])
    if found["range"]:
        return Reference("range", found["range_path"] or "", found["range"])
    if found["tracked"]:
        return Reference("issue", "", found["tracked"])
    if found["commit"]:
        return Reference("commit", found["commit_path"] or "", found["commit"])
    if found["user"] and not path and found["user"] not in NOT_USERS:
        return Reference("user", "", found["user"])
    return None


def reference_of_link(href: str) -> Reference | None:
    """What a link names that has a reference instead of its address."""
    match = REFERENCE.fullmatch(escape(unquote(href), quote=False))
    return None if match is None else reference_of(match)


def reference_url(reference: Reference, web_url: str) -> str:
    """Address on the service, or empty where the wiki's own is not known."""
    if not web_url.startswith(("http://", "https://")):
        return ""
    owner = web_url.removesuffix(WIKIS)
    path = reference.path
    if path and "/" not in path and reference.kind in {"issue", "merge_request"}:
        # the name of a project beside this one; of no other is it known that it is
        if path != own_path(web_url).rpartition("/")[2] or GROUPS in web_url:
            return ""
        path = ""
    parts = urlsplit(owner)
    root = f"{parts.scheme}://{parts.netloc}"
    name = reference.name
    if reference.kind == "range" and "..." not in name:
        name = name.replace("..", "^...")  # the first commit is none of two dots' range
    name = quote(name, safe="/" if reference.kind == "wiki_page" else "")
    if reference.kind == "user":
        return f"{root}/{name}"
    base = owner
    if path:
        base = f"{root}/{quote(path)}"
    if reference.kind == "epic" and not base.startswith(root + GROUPS):
        # a project's epics are its group's
        owner_path = base.removeprefix(root + "/")
        base = f"{root}{GROUPS}{owner_path if path else owner_path.rpartition('/')[0]}"
    return f"{base}{ROUTES[reference.kind]}{name}"


def reference_text(reference: Reference, web_url: str) -> str | None:
    """How the service shows a reference: the shortest path in the page's project.

    None where it shows what is not known here, such as a title, or what is written.
    """
    if reference.kind == "wiki_page":
        return reference.name.replace("-", " ")
    sign = SIGNS.get(reference.kind)
    if sign is None:
        return None
    path = reference.path and near_path(reference, web_url)
    name = SHA.sub(r"\1", reference.name) if sign == "@" else reference.name
    return path + (sign if path or sign != "@" else "") + name


def near_path(reference: Reference, web_url: str) -> str:
    """A path as it is shown on a page: nothing, the last part, or all of it."""
    own = own_path(web_url)
    own_group = own if GROUPS in web_url else own.rpartition("/")[0]
    if reference.kind == "epic":
        return "" if reference.path == own_group else reference.path
    namespace, slash, leaf = reference.path.rpartition("/")
    # one part alone names the page's own project, or there is no link
    if reference.path == own or not slash:
        return ""
    return leaf if namespace == own_group else reference.path


def own_path(web_url: str) -> str:
    """Full path of the project or group that a wiki belongs to."""
    path = urlsplit(web_url.removesuffix(WIKIS)).path.strip("/")
    return path.removeprefix(GROUPS.strip("/") + "/") if GROUPS in web_url else path


def reference_at(address: str, web_url: str) -> tuple[Reference, str] | None:
    """What an address of the page's service names, and how the service shows it."""
    parts = urlsplit(web_url)
    found = ADDRESS.fullmatch(address.removeprefix(f"{parts.scheme}://{parts.netloc}"))
    if found is None or address[:1] == "/":
        return None
    path = found["path"] or found["group"]
    if found["page"]:
        page = Reference("wiki_page", path, unquote(found["page"]))
        return page, reference_text(page, web_url) or ""
    kind = found["kind"] and found["kind"].removesuffix("s")
    kind = kind or next(each for each in ("commit", "range", "epic") if found[each])
    name = found["id"] or found["commit"] or found["range"] or found["epic"]
    reference = Reference(kind, path, name)
    extras = [found["tail"][1:]] if found["tail"] else []
    extras += [f"comment {found['note']}"] if found["note"] else []
    text = reference_text(reference, web_url) or ""
    return reference, f"{text} ({', '.join(extras)})" if extras else text
