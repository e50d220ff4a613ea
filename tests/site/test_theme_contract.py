"""Every value that ``docs/themes.md`` names is there, and is filled by a build."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.site.sites import Studio
from tests.support.commits import committed
from wikisync.core.model import Problem, Slug
from wikisync.core.versions import Version, Versions
from wikisync.site import context
from wikisync.site.model import PageComment
from wikisync.site.pages import BACKLINKS_MAX

DOCS = Path(__file__).resolve().parents[2] / "docs" / "themes.md"
SINGLE = {
    "site": context.SiteContext,
    "wiki": context.WikiContext,
    "page": context.PageContext,
}
LISTS = {
    "site.wikis": context.WikiRef,
    "toc": context.TocNode,
    "comments": context.CommentContext,
    "ancestors": context.PageRef,
    "children": context.PageRef,
    "backlinks": context.PageRef,
    "groups": context.GroupContext,
    "changes": context.ListingItem,
    "versions": context.VersionContext,
}
PLAIN = (
    *("content", "sidebar", "wiki_footer", "backlinks_more", "since", "theme", "at"),
    *("root", "api"),
)
IN_ONE_WIKI = {f"{name}.wiki" for name in ("ancestors", "children", "prev", "next")}
IN_LISTS = {f"changes.{name}" for name in ("count", "sources")}
"""Of items of a listing, which changes never have."""

RICH = f"""\
-- home.md --
---
title: Start
tags: [one, two]
description: What this is about
---
# Start

## Below

[a](a/b) [none](none) {" ".join(f"[w](w{number})" for number in range(2001))}

```sh
x
```
-- a.md --
x [home](home)
-- a/b.md --
x [home](/home)
-- a/c.md --
# عربي

نص عربي
-- a/d/e.md --
x
-- x/_sidebar.md --
- [a](/a)
-- x/_footer.md --
Footer
-- x/y.md --
y [a](/a)
-- z/z.md --
z
""" + "".join(f"-- z/{number}.md --\n[a](/a)\n" for number in range(BACKLINKS_MAX + 1))


SEEN = Versions((Version(1_700_000_000, "", Slug("home"), "", "edited"),))


def write_history(folder: Path) -> None:
    """A log that begins later than the pages, with a rename and a long difference."""
    committed(folder, {"z/z.md": "z\n"}, "2026-01-01T10:00:00")
    first = committed(
        folder, {"z/z.md": "zz\n", "a/c0.md": "c\n"}, "2026-01-02T10:00:00"
    )
    (folder / ".git/shallow").write_text(f"{first}\n")
    committed(folder, {"z/z.md": f"{'word ' * 9000}\n"}, "2026-01-03T10:00:00")
    committed(folder, {"a/c0.md": None, "a/c1.md": "c\n"}, "2026-01-04T10:00:00")
    last = {"a/c1.md": "d\n", "a/new.md": "n\n", "z/z.md": "z\n"}
    committed(folder, last, "2026-01-05T10:00:00")


def printed(name: str, value: str, fields: tuple[str, ...]) -> str:
    return "".join(
        f'<i data-name="{name}.{field}">{{{{ {value}["{field}"] }}}}</i>\n'
        for field in fields
    )


def printing_template() -> str:
    """A template that shows all values and all their fields."""
    lines = [f'<i data-name="{name}">{{{{ {name} }}}}</i>\n' for name in PLAIN]
    for name, kind in SINGLE.items():
        shown = printed(name, name, kind.__struct_fields__)
        lines.append(f"{{% if {name} %}}{shown}{{% endif %}}")
    lists = [(name, name, kind) for name, kind in LISTS.items()]
    lists += [
        (name, f"([{name}] if {name} else [])", context.PageRef)
        for name in ("prev", "next")
    ]
    for name, value, kind in lists:
        shown = printed(name, "one", kind.__struct_fields__)
        lines.append(f"{{% for one in {value} %}}{shown}{{% endfor %}}")
    shown = printed("wiki", "one", context.WikiContext.__struct_fields__)
    inner = f"{{% for one in group.wikis %}}{shown}{{% endfor %}}"
    inner += "{% for one in group.groups %}{{ wikis(one) }}{% endfor %}"
    lines.append(f"{{% macro wikis(group) %}}{inner}{{% endmacro %}}")
    lines.append("{% for group in groups %}{{ wikis(group) }}{% endfor %}")
    listing = printed("listing", "listing", context.Listing.__struct_fields__)
    for part, kind in (("items", context.ListingItem), ("pages", context.ListingPart)):
        shown = printed(f"listing.{part}", "one", kind.__struct_fields__)
        listing += f'{{% for one in listing["{part}"] %}}{shown}{{% endfor %}}'
    lines.append(f"{{% if listing %}}{listing}{{% endif %}}")
    node = printed("nav", "node", context.NavNode.__struct_fields__)
    for end in ("before", "after"):
        shown = printed(f"nav.{end}", f"node.{end}", context.LeftOut.__struct_fields__)
        node += f"{{% if node.{end} %}}{shown}{{% endif %}}"
    below = "{% for one in node.children %}{{ shown(one) }}{% endfor %}"
    lines.append(f"{{% macro shown(node) %}}{node}{below}{{% endmacro %}}")
    lines.append("{% if nav %}{{ shown(nav) }}{% endif %}")
    return "\n".join(lines)


def test_blocks_that_the_page_fills_itself_are_told() -> None:
    themes = DOCS.parents[1] / "themes" / "default" / "templates"
    filled = re.findall(r"{% block (\w+)", (themes / "page.html").read_text())
    assert f"`{' '.join(filled)}` itself" in " ".join(DOCS.read_text().split())


def names_in_docs() -> dict[str, set[str]]:
    """Each name of the table of the context with the words that its row has as code."""
    text = DOCS.read_text(encoding="utf-8")
    table = text[text.index("## Context") : text.index("The templates of one file")]
    rows = re.findall(r"^\| (`.*?`) \| (.*) \|$", table, re.MULTILINE)
    return {
        name: {
            word for code in re.findall("`([^`]*)`", fields) for word in code.split()
        }
        for names, fields in rows
        for name in re.findall(r"[\w.]+", names)
    }


def documented() -> Iterator[str]:
    """Every name with each of its fields."""
    kinds = {**SINGLE, **LISTS, "nav": context.NavNode, "listing": context.Listing}
    kinds |= {"prev": context.PageRef, "next": context.PageRef}
    for name, words in names_in_docs().items():
        kind = kinds.pop(name, None)
        fields = () if kind is None else kind.__struct_fields__
        assert kind is not None or name in PLAIN, f"{name} is shown by no test"
        assert set(fields) <= words, f"docs/themes.md leaves out fields of {name}"
        yield from (f"{name}.{field}" for field in fields) if fields else (name,)
        for part, inner in (
            ("items", context.ListingItem),
            ("pages", context.ListingPart),
        ):
            if name == "listing":
                assert set(inner.__struct_fields__) <= words
                yield from (f"{name}.{part}.{one}" for one in inner.__struct_fields__)
    assert not kinds, "names that docs/themes.md leaves out"


@pytest.fixture
def filled(studio: Studio) -> set[str]:
    """The names for which some page of some site has something to show."""
    template = printing_template()
    folder = studio.root / "all"
    (folder / "templates").mkdir(parents=True)
    (folder / "theme.toml").write_text('name = "all"\nversion = "1"\napi = 1\n')
    for name in ("page", "wiki", "index", "list", "history", "search", "404"):
        (folder / f"templates/{name}.html").write_text(template)
    problem = Problem("missing-attachment", "home", "a picture is missing")
    comment = PageComment("Ann", "2026-11-21T14:30", "A *comment*")
    studio.add(RICH, "docs/sub/a", description="A", visibility="public",
               comments={Slug("home"): (comment,)}, problems=(problem,))  # fmt: skip
    write_history(studio.sources[0].folder)
    studio.add(
        "-- home.md --\n[x](https://gitlab.example.com/docs/sub/a/-/wikis/home)\n",
        "group:docs/sub",
        versions=SEEN,
    )
    studio.add(
        "-- b.md --\n[x](https://gitlab.example.com/docs/sub/a/-/wikis/home)\n",
        "other/b",
    )
    studio.set(theme=str(folder), url="https://docs.example.com", description="D",
               theme_options={"accent": "#123456"}, nav_links_max=3)  # fmt: skip
    studio.build()
    shown = [studio.read(name) for name in studio.files() if name.endswith(".html")]
    studio.sources = studio.sources[1:2]
    studio.set(lang="ar", description="")
    studio.build()
    shown += [studio.read(name) for name in studio.files() if name.endswith(".html")]
    found = re.findall(r'<i data-name="([^"]*)">(.*?)</i>', "".join(shown), re.DOTALL)
    empty = {"", "None", "False", "()", "[]", "{}", "0", "frozenset()"}
    return {name for name, value in found if value.strip() not in empty}


def test_every_name_of_the_contract_is_filled(filled: set[str]) -> None:
    empty = {name for name in documented() if name not in filled}
    assert sorted(empty) == sorted([*IN_ONE_WIKI, *IN_LISTS])
