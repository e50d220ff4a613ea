"""What an Org page says about itself before it is read.  Pure."""

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct, field

KEYWORD = re.compile(r"^\s*#\+([A-Za-z_]+):\s*(.*?)\s*$")
OPTION = re.compile(r"(?<!\S)(\S+?):(\([^)]{0,200}\)|\S*)")
TODO_KEYS = frozenset({"TODO", "SEQ_TODO", "TYP_TODO"})
TODO_WORDS = ("TODO", "DONE")
TODO_NAME = re.compile(r"^([^\s(|]+)(?:\([^)]*\))?$")


class Settings(Struct):
    """Keywords of the whole page."""

    title: str = ""
    options: dict[str, str] = field(default_factory=dict)
    """By the letter or word of the option, as written: ``{"num": "t"}``."""
    todo_words: list[str] = field(default_factory=list)
    done_words: set[str] = field(default_factory=lambda: {"DONE"})
    select_tags: frozenset[str] = frozenset()
    exclude_tags: frozenset[str] = frozenset()
    links: dict[str, str] = field(default_factory=dict)
    macros: dict[str, str] = field(default_factory=dict)
    keywords: dict[str, str] = field(default_factory=dict)
    anchors: dict[str, str] = field(default_factory=dict)
    """Ids of the page's targets, by their text."""

    def is_on(self, option: str, *, default: bool) -> bool:
        """Whether an option is set; the page's word is ``t`` or ``nil``."""
        value = self.options.get(option)
        return default if value is None else value != "nil"

    @property
    def has_math(self) -> bool:
        """Whether TeX is read as formulas: ``tex:nil`` and ``tex:verbatim`` say no."""
        return self.options.get("tex") not in {"nil", "verbatim"}

    @property
    def is_numbered(self) -> bool:
        """Whether headings carry numbers: the service shows them for ``t`` alone."""
        return self.options.get("num") == "t"


def read_settings(lines: Iterable[str]) -> Settings:
    """Collect the keywords of a page, those inside of blocks left out."""
    settings = Settings()
    for name, value in keywords_of(lines):
        _read_keyword(settings, name, value)
    if not settings.todo_words:
        settings.todo_words = list(TODO_WORDS)
    return settings


def keywords_of(lines: Iterable[str]) -> list[tuple[str, str]]:
    """Names in upper case and values, in order."""
    found: list[tuple[str, str]] = []
    closing = ""
    for line in lines:
        if "#+" not in line:
            continue
        lowered = line.strip().lower()
        if closing:
            if lowered.startswith(closing):
                closing = ""
        elif lowered.startswith(("#+begin_src", "#+begin_example", "#+begin_export")):
            closing = "#+end_" + lowered.split()[0].removeprefix("#+begin_")
        elif match := KEYWORD.match(line):
            found.append((match[1].upper(), match[2] or ""))
    return found


def _read_keyword(settings: Settings, name: str, value: str) -> None:
    settings.keywords.setdefault(name, value)
    if name == "TITLE":
        settings.title = f"{settings.title} {value}".strip()
    elif name == "OPTIONS":
        settings.options.update(
            (option, setting) for option, setting in OPTION.findall(value)
        )
    elif name in TODO_KEYS:
        _read_todo_words(settings, value)
    elif name == "EXPORT_SELECT_TAGS":
        settings.select_tags |= frozenset(value.split())
    elif name == "EXPORT_EXCLUDE_TAGS":
        settings.exclude_tags |= frozenset(value.split())
    elif name == "LINK":
        abbreviation, _, target = value.partition(" ")
        settings.links[abbreviation] = target.strip()
    elif name == "MACRO":
        macro, _, body = value.partition(" ")
        settings.macros[macro] = body


def _read_todo_words(settings: Settings, value: str) -> None:
    words = value.split()
    done = words[words.index("|") + 1 :] if "|" in words else words[-1:]
    for word in words:
        if match := TODO_NAME.match(word):
            settings.todo_words.append(match[1])
            if word in done:
                settings.done_words.add(match[1])


def expand_abbreviation(links: Mapping[str, str], target: str) -> str:
    """A target whose prefix the page has declared with ``#+LINK``."""
    prefix, _, rest = target.partition(":")
    pattern = links.get(prefix)
    if pattern is None:
        return target
    # Org takes one colon or two.
    rest = rest.removeprefix(":")
    return pattern.replace("%s", rest) if "%s" in pattern else pattern + rest
