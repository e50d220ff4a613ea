"""Every value that ``docs/themes.md`` names is there, and is filled by a build."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.site.sites import Studio
from wikisync.core.model import Problem, Slug
from wikisync.site.context import (
    CommentContext,
    GroupContext,
    LeftOut,
    Listing,
    ListingItem,
    ListingPart,
    NavNode,
    PageContext,
    PageRef,
    SiteContext,
    TocNode,
    WikiContext,
    WikiRef,
)
from wikisync.site.model import PageComment
from wikisync.site.pages import BACKLINKS_MAX

DOCS = Path(__file__).resolve().parents[2] / "docs" / "themes.md"
SINGLE = {"site": SiteContext, "wiki": WikiContext, "page": PageContext}
LISTS = {
    "site.wikis": WikiRef,
    "toc": TocNode,
    "comments": CommentContext,
    "ancestors": PageRef,
    "children": PageRef,
    "backlinks": PageRef,
    "groups": GroupContext,
}
PLAIN = (
    *("content", "sidebar", "wiki_footer", "backlinks_more", "theme", "at", "root"),
    "api",
)
IN_ONE_WIKI = {f"{name}.wiki" for name in ("ancestors", "children", "prev", "next")}
WITHOUT_LOG = {"page.changed", "page.first_seen", "wiki.changed", "page.source_url"}
"""Of a folder without a git log and a site that holds no source texts."""

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
        (name, f"([{name}] if {name} else [])", PageRef) for name in ("prev", "next")
    ]
    for name, value, kind in lists:
        shown = printed(name, "one", kind.__struct_fields__)
        lines.append(f"{{% for one in {value} %}}{shown}{{% endfor %}}")
    listing = printed("listing", "listing", Listing.__struct_fields__)
    for part, kind in (("items", ListingItem), ("pages", ListingPart)):
        shown = printed(f"listing.{part}", "one", kind.__struct_fields__)
        listing += f'{{% for one in listing["{part}"] %}}{shown}{{% endfor %}}'
    lines.append(f"{{% if listing %}}{listing}{{% endif %}}")
    node = printed("nav", "node", NavNode.__struct_fields__)
    for end in ("before", "after"):
        shown = printed(f"nav.{end}", f"node.{end}", LeftOut.__struct_fields__)
        node += f"{{% if node.{end} %}}{shown}{{% endif %}}"
    below = "{% for one in node.children %}{{ shown(one) }}{% endfor %}"
    lines.append(f"{{% macro shown(node) %}}{node}{below}{{% endmacro %}}")
    lines.append("{% if nav %}{{ shown(nav) }}{% endif %}")
    return "\n".join(lines)


def names_in_docs() -> dict[str, set[str]]:
    """Each name of the table of the context with the words that its row has as code."""
    text = DOCS.read_text(encoding="utf-8")
    table = text[text.index("## Context") : text.index("## Filters and functions")]
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
    kinds = {**SINGLE, **LISTS, "nav": NavNode, "listing": Listing}
    kinds |= {"prev": PageRef, "next": PageRef}
    for name, words in names_in_docs().items():
        kind = kinds.pop(name, None)
        fields = () if kind is None else kind.__struct_fields__
        assert kind is not None or name in PLAIN, f"{name} is shown by no test"
        assert set(fields) <= words, f"docs/themes.md leaves out fields of {name}"
        yield from (f"{name}.{field}" for field in fields) if fields else (name,)
        for part, inner in (("items", ListingItem), ("pages", ListingPart)):
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
    for name in ("page", "wiki", "index", "list", "search", "404"):
        (folder / f"templates/{name}.html").write_text(template)
    problem = Problem("missing-attachment", "home", "a picture is missing")
    comment = PageComment("Ann", "2026-11-21T14:30", "A *comment*")
    studio.add(RICH, "docs/sub/a", description="A", visibility="public",
               comments={Slug("home"): (comment,)}, problems=(problem,))  # fmt: skip
    studio.add(
        "-- home.md --\n[x](https://gitlab.example.com/docs/sub/a/-/wikis/home)\n",
        "group:docs/sub",
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
    assert {name for name in documented() if name not in filled} == {
        *WITHOUT_LOG,
        *IN_ONE_WIKI,
    }
