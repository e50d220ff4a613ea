"""Wikis whose pages are small and whose names, titles and links are not.

What stands on every page of a site grows with the square of the pages.  A harness
builds each wiki and compares the size of the site with that of the folder.
"""

from collections.abc import Iterator, Mapping

LONG = 24_000
"""Characters of one title."""


def large_names(pages: int) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Each wiki by its name, as paths and texts of its files."""
    words, digits = "title " * (LONG // 6), "9" * LONG
    shapes = {
        "front-matter": "---\ntitle: {n} " + words + "\n---\ntext\n",
        "headings": "# {n} " + words + "\n\ntext\n",
        "one-word": "# " + "T" * LONG + "{n}\n",
        "ampersands": "# {n}" + "&" * LONG + "\n",
        "digits": "# " + digits + "{n}\n",
        "letters-of-four-bytes": "# {n}" + "\N{GRINNING FACE}" * (LONG // 4) + "\n",
        "broken-links": "[x](" + "a" * LONG + "{n})\n",
        "one-wanted-page": "[x](" + "a" * LONG + ")\n",
        "wiki-links": "[[" + "b" * LONG + "]]\n",
        "linked-titles": "# " + words + "{n}\n\n[[0]] [[1]] [[2]] [[3]]\n",
    }
    for name, text in shapes.items():
        yield (name, {f"{n}.md": text.replace("{n}", str(n)) for n in range(pages)})
    folder = "/".join(f"{'f' * 230}{level}" for level in range(6))
    yield "deep-names", {f"{folder}/{'p' * 230}{n}.md": "x\n" for n in range(pages)}
    letter = "\N{CJK UNIFIED IDEOGRAPH-65E5}"
    yield "wide-names", {f"{letter * 75}{n}.md": "x\n" for n in range(pages)}
