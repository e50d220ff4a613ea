"""Placeholders ``%{project_path}`` and the like: their names, values and rules.  Pure.

The service has them behind a switch that is off by default, and so have we.  A name
stands for text, never HTML.  In an address only the two names of hosts may stand in the
host, and values are percent-encoded but paths and names of git.  A name whose value
nobody here knows stays as it is written.
"""

import re
from collections.abc import Callable, Mapping
from urllib.parse import quote, urlsplit

from wikisync.core.model import WikiOwner
from wikisync.markup.tokens import escape

IN_HOSTS = frozenset({"gitlab_server", "gitlab_pages_domain"})
UNENCODED = frozenset({"project_path", "default_branch", "latest_tag"})
NAMES = (
    IN_HOSTS
    | UNENCODED
    | frozenset(
        [
            *("project_name", "project_id", "project_namespace", "project_title"),
            *("group_name", "current_ref", "commit_sha"),
        ]
    )
)
FILLED_MAX = 100
"""Placeholders of a page that are filled in, as in the service."""
VALUE_CHARS_MAX = 255

_NAME = "|".join(sorted(NAMES))
IN_TEXT = re.compile(rf"%\{{({_NAME})\}}")
IN_URL = re.compile(rf"%\{{({_NAME})\}}|%(?:25)?%7[bB]({_NAME})%7[dD]")
URL_PARTS = re.compile(
    r"(?P<scheme>[^:/?#]+:)?(?P<host>//[^/?#]*)?(?P<path>[^?#]*)(?P<rest>.*)", re.DOTALL
)


def values_of(
    owner: WikiOwner, title: str, web_url: str, known: Mapping[str, str]
) -> dict[str, str]:
    """What the placeholders of one wiki stand for, as far as it is known."""
    values: dict[str, str] = {}
    host = urlsplit(web_url).hostname if "://" in web_url else None
    if host:
        values["gitlab_server"] = host
    namespace, _, leaf = owner.full_path.rpartition("/")
    if owner.kind == "project":
        values["project_path"] = owner.full_path
        values["project_name"] = leaf
        values["project_namespace"] = namespace
        values["project_title"] = title
    else:
        values["group_name"] = title
    values.update({name: known[name] for name in NAMES if known.get(name)})
    return {name: value[:VALUE_CHARS_MAX] for name, value in sorted(values.items())}


class Filler:
    """Fills in the placeholders of one page, up to the limit."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values
        self._escaped = {name: escape(value) for name, value in values.items()}
        self._left = FILLED_MAX

    def text(self, text: str) -> str:
        """A text with its placeholders filled in; neither is HTML."""
        return self._fill(
            IN_TEXT, text, lambda found: self._values.get(found[1], found[0])
        )

    def html(self, html: str) -> str:
        """Text as HTML writes it, with its placeholders filled in."""
        return self._fill(
            IN_TEXT, html, lambda found: self._escaped.get(found[1], found[0])
        )

    def url(self, url: str) -> str:
        """An address with its placeholders filled in, part by part."""
        match = URL_PARTS.fullmatch(url)
        assert match is not None
        scheme, host = match["scheme"] or "", match["host"] or ""
        # the path of a mail address holds its host
        in_path = self._host if scheme.lower() == "mailto:" else self._encoded
        return "".join(
            (
                scheme,
                self._fill(IN_URL, host, self._host),
                self._fill(IN_URL, match["path"], in_path),
                self._fill(IN_URL, match["rest"], self._encoded),
            )
        )

    def _fill(
        self, pattern: re.Pattern[str], text: str, value: Callable[[re.Match[str]], str]
    ) -> str:
        if self._left <= 0:
            return text
        filled, count = pattern.subn(value, text, count=self._left)
        self._left -= count
        return filled

    def _encoded(self, match: re.Match[str]) -> str:
        name = match[1] or match[2]
        value = self._values.get(name)
        if value is None:
            return match[0]
        return quote(value, safe="/" if name in UNENCODED else "")

    def _host(self, match: re.Match[str]) -> str:
        is_allowed = (match[1] or match[2]) in IN_HOSTS
        return self._encoded(match) if is_allowed else match[0]
