"""What the site tests speak: a studio with wikis, built and looked at."""

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tests.support.archive import tree_bytes, unpack
from wikisync.core.model import WikiOwner
from wikisync.site.build import build_site
from wikisync.site.manifest import leave
from wikisync.site.model import BuildReport, SiteOptions, WikiSource

HOST = "https://gitlab.example.com"

SHOW_ALL = """\
-- templates/base.html --
{{ site }}
{% block content %}{% endblock %}
-- templates/page.html --
{% extends "base.html" %}{% block content %}
WIKI {{ wiki }}
PAGE {{ page.title }} {{ page.slug }} {{ page.url }} {{ page.web_url }} {{ page.tags }}
ALSO {{ page.format }} {{ page.dir }} {{ page.is_home }} {{ page.noindex }}
META {{ page.meta }} {{ page.features | sort }} {{ page.summary }} {{ page.is_section }}
AROUND {{ prev }} {{ next }} {{ ancestors }} {{ children }}
BACK {{ backlinks }} {{ backlinks_more }}
NAV {{ nav }}
SIDEBAR {{ sidebar }} {{ wiki_footer }}
TOC {{ toc }}
TEXT {{ content }}
{% endblock %}
-- templates/list.html --
{% extends "base.html" %}{% block content %}{{ listing }}{{ nav }}{% endblock %}
-- templates/wiki.html --
{% extends "base.html" %}{% block content %}{{ wiki }}{{ nav }}{% endblock %}
-- templates/index.html --
{% extends "base.html" %}{% block content %}{{ groups }}{% endblock %}
-- templates/search.html --
{% extends "base.html" %}
-- templates/404.html --
{% extends "base.html" %}
"""
"""Templates that show everything they are given: what a key misses, they tell."""


def wiki_source(
    folder: Path, path: str = "docs/handbook", **changes: Any
) -> WikiSource:
    """A project wiki in a folder; ``group:docs`` makes a group's."""
    kind, _, full_path = path.rpartition(":")
    owner = WikiOwner("group" if kind == "group" else "project", full_path)
    web = f"{HOST}/groups/{full_path}" if kind == "group" else f"{HOST}/{full_path}"
    title = full_path.rpartition("/")[2].title()
    return replace(WikiSource(owner, title, web, folder=folder), **changes)


@dataclass
class Studio:
    """A place with wiki folders, one site, and its cache."""

    root: Path
    sources: list[WikiSource] = field(default_factory=list)
    options: SiteOptions = field(default_factory=lambda: SiteOptions("Docs"))
    clock: Callable[[], float] = time.time

    @property
    def site(self) -> Path:
        return self.root / "site"

    def add(self, archive: str, path: str = "docs/handbook", **changes: Any) -> Path:
        """A wiki from a text archive; its folder."""
        folder = unpack(archive, self.root / "wikis" / path.replace(":", "-"))
        self.sources.append(wiki_source(folder, path, **changes))
        return folder

    def start(self, archive: str, path: str = "docs/handbook", **changes: Any) -> Path:
        """The same, and the site is built with it."""
        folder = self.add(archive, path, **changes)
        self.build()
        return folder

    def set(self, **changes: Any) -> None:
        """Change options of the site."""
        self.options = replace(self.options, **changes)

    def show_all(self) -> None:
        """Use templates that print their whole context, and are quick."""
        self.set(templates=unpack(SHOW_ALL, self.root / "theme"))

    def build(self, *, replaces: bool = True) -> BuildReport:
        """Bring the site up to date."""
        return build_site(
            self.sources,
            self.site,
            self.options,
            cache=self.root / "cache",
            clock=self.clock,
            may_leave=leave(replaces=replaces),
        )

    def clean_build(self) -> dict[str, bytes]:
        """The files of a site made from nothing."""
        number = sum(1 for _ in self.root.glob("clean*"))
        output = self.root / f"clean{number}"
        build_site(
            self.sources, output, self.options, cache=self.root / f"cache-clean{number}"
        )
        return tree_bytes(output)

    def files(self) -> dict[str, bytes]:
        """Every file of the site."""
        return tree_bytes(self.site)

    def read(self, path: str) -> str:
        """One file of the site."""
        return (self.site / path).read_text(encoding="utf-8")

    def report(self) -> Any:
        """``-/report.json``."""
        return json.loads(self.read("-/report.json"))

    def article(self, path: str) -> str:
        """What stands in the article of a page."""
        match = re.search(r"<article>(.*?)</article>", self.read(path), re.DOTALL)
        assert match is not None, path
        return match[1]


HANDBOOK = """\
-- home.md --
# Welcome

See [the start](guide/start), [[Guide|guide]], [odd](C++-&-"quotes"),
[missing](not/written), [a picture](uploads/0123456789abcdef0123456789abcdef/map.txt)
and ![gone](uploads/0123456789abcdef0123456789abcdef/gone.png).
-- guide.md --
---
title: The guide
tags: [a, b]
---
## First

Words of the guide.

## Second

[start](guide/start#here) and [nowhere](guide/start#nowhere)
-- guide/start.md --
# Here

Start here. Back [home](/home).
-- guide/deep/er.rdoc --
= Deeper

A page in rdoc.
-- C++-&-%22quotes%22.md --
Odd title, text.
-- naïve-café.md --
Coffee for [日本語](日本語).
-- 日本語.md --
日本語のページ。
-- dir/with space.md --
A space.
-- lonely.md --
Nobody links here.
-- uploads/0123456789abcdef0123456789abcdef/map.txt --
a map
"""


def with_handbook(studio: Studio) -> Studio:
    """The studio with one wiki of many kinds of pages, built."""
    studio.start(HANDBOOK, visibility="public")
    return studio


def with_instance(studio: Studio) -> Studio:
    """A group's wiki and two projects', one of them without a home."""
    studio.add("-- home.md --\n[b](b)\n-- b.md --\ngroup page\n", "group:docs")
    studio.add(
        "-- home.md --\n"
        "[other](https://gitlab.example.com/docs/tools/-/wikis/Setup#top) "
        "[group](https://gitlab.example.com/groups/docs/-/wikis/home) "
        "[file](https://gitlab.example.com/docs/tools/-/wikis/uploads/0a/x.txt) "
        "[none](https://gitlab.example.com/docs/tools/-/wikis/none) "
        "[outside](https://gitlab.example.com/else/-/wikis/home)\n",
        "docs/b",
    )
    studio.add("-- setup.md --\ntools\n-- uploads/0a/x.txt --\nx\n", "docs/tools")
    studio.build()
    return studio
