"""No page scrolls sideways on a phone, whatever stands in it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.site.sites import Studio
from tests.support.browser import MOBILE, visiting
from tests.support.preview import Desk

if TYPE_CHECKING:
    from playwright.async_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

WORD = "Wirtschaftlichkeitsberechnungsgrundlagen" * 3
URL = f"https://example.com/{'path_without_any_break' * 5}?q={WORD}#{WORD}"
CODE = "com.example.wiki.pages.VeryLongNameOfAClass.andOfItsMethod" * 3
TEX = "\\frac{1}{2} + " * 20 + "x"
PICTURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="1600" height="200"><rect '
    'width="1600" height="200"/></svg>'
)

DEEP = "\n".join(f"{'  ' * depth}- {WORD}" for depth in range(12))

MARKDOWN = f"""\
---
title: {WORD}
tags: [{WORD}, short]
---
# {WORD}

## `{CODE}`

### {URL}

{URL} and `{CODE}` and **{WORD}** and [{WORD}](missing/{WORD}) $`{TEX}`$ inside.

$`{WORD}{TEX}`$

```math
{TEX}
```

```sh
{CODE} {CODE}
```

```mermaid
graph LR
  a[{WORD}] --> b[{WORD}] --> c[{WORD}]
```

    {CODE}

| {WORD} | `{CODE}` |
|---|---|
| {URL} | {WORD} |

- {WORD}
  - {WORD}
    - `{CODE}`
      - {WORD}
        - {URL}

> {WORD}
> > `{CODE}`

{DEEP}

> [!note]
> {WORD}

- [ ] {WORD}

<dl><dt>{WORD}</dt><dd>{URL}<dl><dt><code>{CODE}</code></dt><dd>{WORD}</dd></dl></dd></dl>

<details><summary>{WORD} <code>{CODE}</code></summary>

{WORD}

</details>

<details open><summary>open</summary>

| a | b |
|---|---|
| <table><tr><td>{WORD}</td><td>{WORD}</td></tr></table> | {WORD} |

</details>

<img src="wide.svg" width="1600" height="200" alt="x">
<img src="gone.png" width="1600" alt="{WORD}">
![{WORD}](gone-{WORD}.png) ![wide](wide.svg){{width=1600}}
![film](uploads/film.mp4){{width=1600 height=900}} ![](sound.mp3)

<div align="right"><kbd>{WORD}</kbd> <samp>{CODE}</samp> <sub>{WORD}</sub></div>
<pre>{CODE}</pre>
<p><font size="7">{WORD}</font></p>
<table width="1600"><tr><td width="1600" nowrap>{WORD}</td></tr></table>
<hr width="1600">

{WORD}[^1] :tada: {WORD}@example.com

[^1]: {WORD} {URL}
"""
ASCIIDOC = f"""\
= {WORD}
:toc:
:stem: latexmath

== {WORD} `{CODE}`

{WORD} `{CODE}` {URL} stem:[{"x + " * 80}] kbd:[{WORD}] footnote:[{WORD}]

.{WORD}
[source,sh]
----
{CODE} {CODE}
----

....
{CODE}
....

NOTE: {WORD} `{CODE}`

[quote,{WORD}]
{WORD}

[verse]
{WORD} {WORD}

****
{WORD}
****

====
{WORD}
====

{WORD}:: {WORD}
[horizontal]
{WORD}:: {WORD}
[qanda]
{WORD}:: `{CODE}`

.{WORD}
|===
|{WORD} |`{CODE}`

a|* {WORD}
|{WORD}
|===

image::wide.svg[{WORD},1600,200]

image:wide.svg[x,1600]

[stem]
++++
{"x + " * 80}
++++
"""
ORG = f"""\
#+TITLE: {WORD}
* {WORD} ={CODE}=
{WORD} ~{CODE}~ {URL} [[{URL}][{WORD}]] \\({TEX}\\)
#+begin_src sh
{CODE} {CODE}
#+end_src
#+begin_quote
{WORD}
#+end_quote
: {CODE}
| {WORD} | {CODE} |
- {WORD} :: {WORD}
[[file:wide.svg]]
#+begin_verse
{WORD} {WORD}
#+end_verse
"""
RDOC = f"""\
= {WORD}

{WORD} <tt>{CODE}</tt> {URL} {{{WORD}}}[{URL}]

  {CODE} {CODE}

[{WORD}] {WORD}
{CODE}:: {WORD}
* {WORD}
"""
BESIDE = f"# {WORD}\n\n- [{WORD}](markdown)\n  - `{CODE}`\n\n{URL}\n\n![](wide.svg)\n"
WIKI = f"""\
-- home.md --
[[{WORD}|markdown]] [x]({WORD}/{WORD}/{WORD})
-- markdown.md --
{MARKDOWN}
-- asciidoc.asciidoc --
{ASCIIDOC}
-- org.org --
{ORG}
-- rdoc.rdoc --
{RDOC}
-- {WORD}/{WORD}/{WORD}.md --
[back](/markdown) [on](/home)
-- beside/_Sidebar.md --
{BESIDE}
-- beside/_Footer.md --
{BESIDE}
-- beside/page.md --
{MARKDOWN.replace("(missing/", "(../home#")}
-- wide.svg --
{PICTURE}
-- uploads/film.mp4 --
x
-- sound.mp3 --
x
"""
PAGES = (
    *("index.html", "markdown.html", "asciidoc.html", "org.html", "rdoc.html"),
    *(f"{WORD}/{WORD}/{WORD}.html", "beside/page.html", "404.html"),
    *("-/all.html", "-/report.html", "-/wanted.html", "-/orphans.html"),
    f"-/search.html?q={WORD[:12].lower()}",
)
OPEN_ALL = """() => document.querySelectorAll("#siteNav, #siteToc, details").forEach(
  (node) => { node.checked = node.open = true; }
)"""
TOO_WIDE = """() => {
  const boxes = [document.documentElement, ...document.querySelectorAll(".site-nav")];
  if (boxes.every((box) => box.scrollWidth <= box.clientWidth)) return [];
  const most = document.documentElement.clientWidth;
  const wide = [...document.querySelectorAll("body *")].filter(
    (node) => node.getBoundingClientRect().right > most + 1
  );
  return ["too wide", ...wide.map((node) => node.outerHTML.slice(0, 120))];
}"""
"""The elements that stick out of a page that is too wide for the window."""


@pytest.fixture(scope="module", params=["default", "plain"])
def wide(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Studio:
    """A site of one wiki that is full of what does not break."""
    studio = Studio(tmp_path_factory.mktemp("wide"))
    studio.add(WIKI)
    studio.set(theme=request.param, title=WORD)
    studio.build()
    return studio


@pytest.mark.parametrize("width", [320, 390])
async def test_no_page_scrolls_sideways(
    chromium: Browser, wide: Studio, width: int
) -> None:
    found = await too_wide(chromium, wide.site, PAGES, width)
    assert {path: nodes for path, nodes in found.items() if nodes} == {}


@pytest.mark.parametrize("width", [320, 390])
async def test_no_page_around_several_wikis_scrolls_sideways(
    chromium: Browser, tmp_path: Path, width: int
) -> None:
    studio = Studio(tmp_path)
    for path in (f"docs/{WORD.lower()}", "docs/b"):
        described = {"title": WORD, "description": f"{WORD} {URL}"}
        studio.add(f"-- home.md --\n[x]({WORD})\n", path, **described)
    studio.build()
    paths = ["index.html", "-/all.html", "-/wanted.html", "docs/b/-/wikis/index.html"]
    found = await too_wide(chromium, studio.site, paths, width)
    assert {path: nodes for path, nodes in found.items() if nodes} == {}


async def test_a_preview_on_a_phone_does_not_scroll_sideways(
    chromium: Browser, tmp_path: Path
) -> None:
    desk = Desk(tmp_path)
    desk.add(WIKI)
    async with (
        desk.previewing() as reader,
        visiting(chromium, reader.preview.url, viewport=MOBILE) as visit,
    ):
        for path in ("markdown.html", "beside/page.html", "-/all.html"):
            await visit.go(path)
            assert await visit.page.evaluate(TOO_WIDE) == [], path


@pytest.mark.parametrize("path", ["markdown.html", "asciidoc.html", "org.html"])
async def test_what_scrolls_inside_a_page_does_so_by_keyboard(
    chromium: Browser, wide: Studio, path: str
) -> None:
    base = wide.site.as_uri() + "/"
    async with visiting(chromium, base, viewport=MOBILE) as visit:
        await visit.go(path)
        found = await visit.axe()
    assert [one for one in found if one.startswith("scrollable")] == []


async def test_what_is_too_wide_would_be_found(
    chromium: Browser, tmp_path: Path
) -> None:
    (tmp_path / "a.html").write_text("<p style='width: 900px'>x</p>")
    assert (await too_wide(chromium, tmp_path, ["a.html"], 390))["a.html"]


async def too_wide(
    chromium: Browser, site: Path, paths: Iterable[str], width: int
) -> dict[str, list[str]]:
    """What sticks out of each page, and out of its menu."""
    found = {}
    viewport = {"width": width, "height": 800}
    async with visiting(chromium, site.as_uri() + "/", viewport=viewport) as visit:
        for path in paths:
            await visit.go(path)
            if "?q=" in path:
                await visit.page.locator("#siteHits a").first.wait_for()
            found[path] = await visit.page.evaluate(TOO_WIDE)
            await visit.page.evaluate(OPEN_ALL)
            found[path] += await visit.page.evaluate(TOO_WIDE)
    return found
