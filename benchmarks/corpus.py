"""A wiki of generated pages, the same for the same arguments.

    python benchmarks/corpus.py FOLDER [--pages 1000] [--seed 7] [--mixed] [--shape ...]

Pages like those of a handbook: three levels of sections, a page for each section
(or all in one folder, or in folders of twenty, each inside another of three),
about 4 KB each with headings, paragraphs, links between pages, lists, tables and
highlighted code.  All words are made up from syllables.  A mixed wiki has the same
pages, four of ten of them in AsciiDoc, Org or RDoc.
"""

import argparse
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SYLLABLES = (
    *("ba", "re", "mi", "to", "ka", "lu", "sen", "dor", "vi", "na"),
    *("pel", "ost", "gra", "fi", "ul", "ter", "mo", "qui", "sa", "ren"),
)
SECTIONS_PER_LEVEL = (8, 4)
PAGES_PER_FOLDER, FOLDERS_PER_FOLDER = 20, 3
"""Of a deep wiki."""
PAGE_CHARS_MEAN = 4000
PAGE_CHARS_MIN, PAGE_CHARS_MAX = 400, 30_000
LANGUAGES = ("python", "yaml", "sh", "json", "sql")
FORMATS = (*["md"] * 6, "asciidoc", "asciidoc", "org", "rdoc")
"""Of the pages of a mixed wiki, in turn."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One page to be written: where, and what it is called."""

    slug: str
    title: str


def generate(
    folder: Path,
    pages: int,
    *,
    seed: int = 7,
    is_mixed: bool = False,
    shape: str = "sections",
) -> None:
    """Write a wiki of so many pages into a folder, in markdown or mixed."""
    chance = random.Random(seed)
    words = Words(chance)
    entries = list(SHAPES[shape](chance, words, pages))
    for number, entry in enumerate(entries):
        extension = FORMATS[number % len(FORMATS)] if is_mixed else "md"
        path = folder / f"{entry.slug}.{extension}"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = page_text(chance, words, entry, entries)
        path.write_text(translated(text, extension), encoding="utf-8")


class Words:
    """A language: few words often, many words seldom."""

    def __init__(self, chance: random.Random, size: int = 3000) -> None:
        self._chance = chance
        made = {"".join(chance.choices(SYLLABLES, k=k % 3 + 2)) for k in range(size)}
        self._words = sorted(made)
        self._weights = [1 / (rank + 2) for rank in range(len(self._words))]

    def some(self, count: int) -> list[str]:
        """So many words in a row."""
        return self._chance.choices(self._words, self._weights, k=count)

    def phrase(self, count: int) -> str:
        """Words with a capital at the front."""
        return " ".join(self.some(count)).capitalize()


def tree(chance: random.Random, words: Words, pages: int) -> Iterator[Entry]:
    """Home, two levels of sections with a page each, and leaves below them."""
    yield Entry("home", "Home")
    sections = []
    for top in range(SECTIONS_PER_LEVEL[0]):
        name = f"{words.some(1)[0]}-{top}"
        sections.append(name)
        sections += [
            f"{name}/{words.some(1)[0]}-{number}"
            for number in range(SECTIONS_PER_LEVEL[1])
        ]
    for slug in sections[: pages - 1]:
        yield Entry(slug, slug.rpartition("/")[2].replace("-", " ").capitalize())
    for number in range(pages - 1 - len(sections)):
        title = words.phrase(3)
        leaf = f"{title.lower().replace(' ', '-')}-{number}"
        yield Entry(f"{chance.choice(sections)}/{leaf}", title)


def flat(chance: random.Random, words: Words, pages: int) -> Iterator[Entry]:
    """Home and all pages beside it."""
    del chance
    yield Entry("home", "Home")
    for number in range(pages - 1):
        title = words.phrase(3)
        yield Entry(f"{title.lower().replace(' ', '-')}-{number}", title)


def deep(chance: random.Random, words: Words, pages: int) -> Iterator[Entry]:
    """Home, and folders of twenty pages, three of which are folders again."""
    del chance
    yield Entry("home", "Home")
    folders = [""]
    for number in range(pages - 1):
        folder = folders[number // PAGES_PER_FOLDER]
        title = words.phrase(3)
        slug = f"{folder}{title.lower().replace(' ', '-')}-{number}"
        if number % PAGES_PER_FOLDER < FOLDERS_PER_FOLDER:
            folders.append(f"{slug}/")
        yield Entry(slug, title)


SHAPES = {"sections": tree, "flat": flat, "deep": deep}


def page_text(
    chance: random.Random, words: Words, entry: Entry, entries: list[Entry]
) -> str:
    """One page's markdown, of a length between the limits."""
    length = chance.lognormvariate(0, 0.8) * PAGE_CHARS_MEAN / 1.38
    length = min(max(length, PAGE_CHARS_MIN), PAGE_CHARS_MAX)
    parts = [f"# {entry.title}", paragraph(chance, words, entries)]
    size = 0
    while size < length:
        parts.append(block(chance, words, entries))
        size += len(parts[-1])
    return "\n\n".join(parts) + "\n"


def block(chance: random.Random, words: Words, entries: list[Entry]) -> str:
    """A heading, a paragraph, a list, a table or some code."""
    match chance.choices("hplct", (16, 50, 14, 13, 7))[0]:
        case "h":
            return f"{'#' * chance.choice((2, 2, 3))} {words.phrase(3)}"
        case "l":
            rows = range(chance.randrange(3, 8))
            return "\n".join(f"- {sentence(chance, words, entries)}" for _ in rows)
        case "c":
            return code(chance, words)
        case "t":
            rows = range(chance.randrange(3, 9))
            body = [f"| `{words.some(1)[0]}` | {words.phrase(4)} |" for _ in rows]
            return "\n".join(["| Name | Meaning |", "|---|---|", *body])
        case _:
            return paragraph(chance, words, entries)


def paragraph(chance: random.Random, words: Words, entries: list[Entry]) -> str:
    count = chance.randrange(2, 6)
    return " ".join(sentence(chance, words, entries) for _ in range(count))


def sentence(chance: random.Random, words: Words, entries: list[Entry]) -> str:
    text = words.phrase(chance.randrange(6, 16))
    match chance.randrange(10):
        case 0 | 1:
            target = chance.choice(entries)
            return f"{text}, see [{target.title}]({target.slug})."
        case 2:
            target = chance.choice(entries)
            return f"{text}, see [[{target.title}|{target.slug}]]."
        case 3:
            return f"{text} with `{'_'.join(words.some(2))}`."
        case 4:
            return f"{text}, **{words.some(1)[0]}**."
        case _:
            return f"{text}."


def code(chance: random.Random, words: Words) -> str:
    language = chance.choice(LANGUAGES)
    lines = [code_line(words, language) for _ in range(chance.randrange(4, 14))]
    if language == "json":
        lines = ["{", ",\n".join(lines), "}"]
    return "\n".join([f"```{language}", *lines, "```"])


def code_line(words: Words, language: str) -> str:
    first, second, third = words.some(3)
    return {
        "python": f"{first} = {second}({third!r}, limit={len(third)})",
        "yaml": f"{first}: {second}  # {third}",
        "sh": f'{first} --{second} "{third}" > /dev/null',
        "json": f'  "{first}": ["{second}", {len(third)}]',
        "sql": f"SELECT {first} FROM {second} WHERE {third} > {len(first)};",
    }[language]


def translated(text: str, extension: str) -> str:
    """A page of ours in another format; tables are code where that is shorter."""
    if extension == "md":
        return text
    blocks = text.rstrip("\n").split("\n\n")
    return "\n\n".join(translated_block(one, extension) for one in blocks) + "\n"


def translated_block(text: str, extension: str) -> str:
    before, after, indent = {
        "asciidoc": ("[source]\n----\n", "\n----", ""),
        "org": ("#+begin_src text\n", "\n#+end_src", ""),
        "rdoc": ("", "", "  "),
    }[extension]
    link, code, strong = {
        "asciidoc": (r"link:\2[\1]", r"`\1`", r"*\1*"),
        "org": (r"[[\2][\1]]", r"~\1~", r"*\1*"),
        "rdoc": (r"{\1}[rdoc-ref:\2]", r"<tt>\1</tt>", r"<b>\1</b>"),
    }[extension]
    if text.startswith(("```", "|")):
        lines = [line for line in text.splitlines() if not line.startswith("```")]
        return before + "\n".join(indent + line for line in lines) + after
    if text.startswith("#"):
        marks, _, title = text.partition(" ")
        return f"{marks.replace('#', '*' if extension == 'org' else '=')} {title}"
    if extension == "asciidoc":
        text = re.sub(r"^- ", "* ", text, flags=re.MULTILINE)
    text = re.sub(r"\[\[([^|\]]+)\|([^\]]+)\]\]", r"[\1](\2)", text)
    text = re.sub(r"\*\*(.+?)\*\*", strong, re.sub(r"`(.+?)`", code, text))
    return re.sub(r"\[([^\]]+)\]\(([^)]+)\)", link, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--mixed", action="store_true", help="in four formats")
    parser.add_argument("--shape", choices=sorted(SHAPES), default="sections")
    arguments = parser.parse_args()
    generate(
        arguments.folder,
        arguments.pages,
        seed=arguments.seed,
        is_mixed=arguments.mixed,
        shape=arguments.shape,
    )


if __name__ == "__main__":
    main()
