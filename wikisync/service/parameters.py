"""Typed reading of request parameters, and the pages of lists, in the service's words.

Pure.  Problems are refused together by ``check``, before anything is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlencode

from msgspec import Struct

from wikisync.contract.parameters import Parameter, parameters_of, rules_of
from wikisync.contract.routes import AnyEndpoint
from wikisync.service.answers import bad_parameters
from wikisync.service.settings import Limits

INTEGER_MAX = 10**18
"""No id is longer, and no database takes much longer ones."""

_TRUE = frozenset({"true", "t", "1", "on", "yes", "y"})
_FALSE = frozenset({"false", "f", "0", "off", "no", "n"})


class SentFile(Struct, frozen=True):
    """A file of a multipart body, already on disk."""

    name: str
    """As the sender calls it, unclean."""
    path: Path
    size: int
    """In bytes."""


class Parameters:
    """The parameters of one request; each read notes what is wrong with it."""

    def __init__(self, raw: Mapping[str, object]) -> None:
        self._raw = raw
        self._problems: list[str] = []

    def has(self, name: str) -> bool:
        """Whether the parameter was sent with a value."""
        return self._raw.get(name) is not None

    def text(self, name: str) -> str | None:
        """A text, or None when absent or null."""
        match self._raw.get(name):
            case None:
                return None
            case str() as text:
                return text
            case bool() as flag:
                return "true" if flag else "false"
            case int() | float() as number:
                return str(number)
            case _:
                self._invalid(name)
                return None

    def boolean(self, name: str) -> bool | None:
        """A yes or no in any of the service's spellings, or None when absent."""
        match self._raw.get(name):
            case None | "":
                return None
            case bool() as flag:
                return flag
            case 0 | 1 as number:
                return bool(number)
            case str() as word if word.lower() in _TRUE:
                return True
            case str() as word if word.lower() in _FALSE:
                return False
            case _:
                self._invalid(name)
                return None

    def integer(self, name: str) -> int | None:
        """A whole number, or None when absent."""
        match self._raw.get(name):
            case None | "":
                return None
            case int() as number if not isinstance(number, bool) and (
                abs(number) <= INTEGER_MAX
            ):
                return number
            case str() as text if _is_integer(text):
                return int(text)
            case _:
                self._invalid(name)
                return None

    def count(self, name: str, *, default: int, most: int) -> int:
        """A count of one or more; more than ``most`` means ``most``."""
        value = self.integer(name)
        if value is None:
            return default
        if value < 1:
            self._problems.append(f"{name} has a value not allowed")
            return default
        return min(value, most)

    def of(self, endpoint: AnyEndpoint, *, is_free: bool = False) -> dict[str, object]:
        """Everything that was sent of what the endpoint accepts, typed.

        Null, or empty where that is no value, is None; ``is_free`` ignores paid ones.
        """
        rules = rules_of(endpoint)
        for names in rules.exclusive:
            sent = [name for name in names if self.has(name)]
            if len(sent) > 1:
                self._problems.append(f"{', '.join(sent)} are mutually exclusive")
        if rules.one_of and not any(name in self._raw for name in rules.one_of):
            every = ", ".join(rules.one_of)
            self._problems.append(
                f"{every} are missing, at least one parameter must be provided"
            )
        found: dict[str, object] = {}
        for name, row in parameters_of(endpoint, is_free=is_free).items():
            if name in self._raw:
                found[name] = self._typed(row)
            elif row.is_required:
                self._problems.append(f"{name} is missing")
        return found

    def _typed(self, row: Parameter) -> object:
        name = row.name
        readers: dict[str, Callable[[str], object]] = {
            "boolean": self.boolean,
            "integer": self.integer,
            "string": self.text,
            "datetime": self._moment,
            "date": self._day,
            "integers": self._integers,
            "strings": self._texts,
            "file": self._file,
        }
        value = self._hash(row) if row.type == "hash" else readers[row.type](name)
        if row.choices and value is not None and str(value) not in row.choices:
            self._problems.append(f"{name} does not have a valid value")
        if row.is_required and value is None and self._raw.get(name) in (None, ""):
            self._problems.append(f"{name} is missing")
        return value

    def _moment(self, name: str) -> str | None:
        text = self.text(name)
        if not text:
            return None
        try:
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
            moment = moment.astimezone(UTC)
        except (ValueError, OverflowError):
            self._invalid(name)
            return None
        return moment.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"

    def _day(self, name: str) -> str | None:
        text = self.text(name)
        if not text:
            return None
        try:
            return date.fromisoformat(text[:10]).isoformat()
        except ValueError:
            self._invalid(name)
            return None

    def _parts(self, name: str) -> list[object] | None:
        """An array, which may also be sent as one text with commas."""
        match self._raw.get(name):
            case None:
                return None
            case list() as parts:
                return parts
            case str() as text:
                return [part for part in text.split(",") if part.strip()]
            case int() as number:
                return [number]
            case _:
                self._invalid(name)
                return None

    def _integers(self, name: str) -> tuple[int, ...] | None:
        parts = self._parts(name)
        if parts is None:
            return None
        found: list[int] = []
        for part in parts:
            number = Parameters({name: part}).integer(name)
            if number is None:
                self._invalid(name)
                return None
            found.append(number)
        return tuple(found)

    def _texts(self, name: str) -> tuple[str, ...] | None:
        parts = self._parts(name)
        if parts is None:
            return None
        if not all(isinstance(part, str) for part in parts):
            self._invalid(name)
            return None
        # the same one twice counts once, and none is blank
        return tuple(dict.fromkeys(str(p).strip() for p in parts if str(p).strip()))

    def _hash(self, row: Parameter) -> dict[str, object] | None:
        held = self._raw.get(row.name)
        if held is None:
            return None
        if not isinstance(held, Mapping):
            self._invalid(row.name)
            return None
        inner = Parameters(held)
        found: dict[str, object] = {}
        if row.keys:
            for key in row.keys:
                if key.name in held:
                    found[key.name] = inner._typed(key)
        else:
            found = {name: inner.text(name) for name in held}
        for problem in inner._problems:
            self._problems.append(f"{row.name}[{problem.replace(' ', '] ', 1)}")
        return found

    def _file(self, name: str) -> SentFile | None:
        match self._raw.get(name):
            case SentFile() as file:
                return file
            case None | "":
                return None
            case _:
                self._invalid(name)
                return None

    def take_problems(self, other: Parameters) -> None:
        """Note what is wrong with parameters that were read elsewhere."""
        self._problems += other._problems

    def check(self) -> None:
        """Refuse the request if anything read so far was wrong."""
        if self._problems:
            raise bad_parameters(self._problems)

    def _invalid(self, name: str) -> None:
        self._problems.append(f"{name} is invalid")


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    # longer ones are no ids, and int() would refuse the very long
    return digits.isascii() and digits.isdigit() and len(digits) < 19


R = TypeVar("R")


class Window(Struct, frozen=True):
    """Which part of a list is asked for; the first page is 1."""

    page: int
    per_page: int


def read_window(parameters: Parameters, limits: Limits) -> Window:
    """Read ``page`` and ``per_page``; a page before the first means the first."""
    page = parameters.integer("page")
    per_page = parameters.count(
        "per_page", default=limits.per_page_default, most=limits.per_page_max
    )
    return Window(max(page or 1, 1), per_page)


def paginate(
    rows: Sequence[R],
    window: Window,
    *,
    url: str,
    parameters: Mapping[str, object],
    limits: Limits,
) -> tuple[Sequence[R], dict[str, str]]:
    """The rows of the window, and the headers with links; few rows are counted."""
    start = (window.page - 1) * window.per_page
    part = rows[start : start + window.per_page]
    pages = max(1, -(-len(rows) // window.per_page))
    previous = window.page - 1 if window.page > 1 else None
    following = window.page + 1 if window.page < pages else None
    is_counted = len(rows) <= limits.counted_rows_max
    links = {"prev": previous, "next": following, "first": 1}
    if is_counted:
        links["last"] = pages
    shown = {**parameters, "page": 0, "per_page": window.per_page}
    headers = {
        "X-Page": str(window.page),
        "X-Per-Page": str(window.per_page),
        "X-Next-Page": str(following or ""),
        "X-Prev-Page": str(previous or ""),
        "Link": ", ".join(
            f'<{address(url, shown | {"page": number})}>; rel="{name}"'
            for name, number in links.items()
            if number is not None
        ),
    }
    if is_counted:
        headers["X-Total"] = str(len(rows))
        headers["X-Total-Pages"] = str(pages)
    return part, headers


def address(url: str, parameters: Mapping[str, object]) -> str:
    """A list's address with its parameters, as a link leads to it."""
    pairs: list[tuple[str, str]] = []
    for name, value in parameters.items():
        # a token in the query must not come back in a header that proxies log
        if name in {"private_token", "access_token"}:
            continue
        match value:
            case Mapping():
                pairs += [(f"{name}[{key}]", str(part)) for key, part in value.items()]
            case list() | tuple():
                pairs += [(f"{name}[]", str(part)) for part in value]
            case _:
                pairs.append((name, str(value)))
    return f"{url}?{urlencode(pairs)}"


def keyset_headers(
    ids: Sequence[int],
    *,
    url: str,
    parameters: Mapping[str, object],
    is_descending: bool,
) -> dict[str, str]:
    """The header that leads on from a page of ids, unless it was empty."""
    if not ids:
        return {}
    bound = "id_before" if is_descending else "id_after"
    link = address(url, {**parameters, bound: ids[-1]})
    return {"Link": f'<{link}>; rel="next"'}
