"""Sections as the text of a ``wikisync.toml`` that shows what can be set.  Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from wikisync.config.sections import (
    Config,
    MarkupSection,
    OptionValue,
    PreviewSection,
    ServiceSection,
    SiteSection,
    SyncSection,
    WikiSection,
)


def render_config(config: Config) -> str:
    """A configuration as a commented file that ``parse_config`` takes.

    Values that are the defaults stand there as comments, so that the file shows
    what can be set.
    """
    blocks = [
        _HEAD,
        _render_service(config.service),
        *(_render_wiki(wiki) for wiki in config.wikis),
        _render_section("sync", config.sync, SyncSection(), _SYNC_NOTES),
        _render_section("site", config.site, SiteSection(), _SITE_NOTES),
        _render_options(config.site.options),
        _render_section("markup", config.markup, MarkupSection(), _MARKUP_NOTES),
        _render_section("preview", config.preview, PreviewSection(), _PREVIEW_NOTES),
    ]
    return "\n".join(block for block in blocks if block)


def with_service_url(text: str, url: str) -> str | None:
    """The text of a configuration with another address of its service.

    Everything else stays as it was written, comments too.

    Returns:
        None where the address is on no line of its own below ``[service]``.
    """
    found = re.search(_SERVICE_URL, text)
    if found is None:
        return None
    return f"{text[: found.start('url')]}{_toml(url)}{text[found.end('url') :]}"


_SERVICE_URL = re.compile(
    r"^[ \t]*\[[ \t]*service[ \t]*\][^\n]*\n"
    r"(?:(?![ \t]*\[)[^\n]*\n)*?"
    r"[ \t]*url[ \t]*=[ \t]*(?P<url>\"[^\"\n]*\"|'[^'\n]*')",
    re.MULTILINE,
)
_HEAD = """\
# The workspace's configuration: which wikis, from where, and how the site looks.
# Do not write a token into this file.
"""
_SYNC_NOTES = {
    "reads_max": "pages read at once",
    "settle_ms": "quiet time after a save before a file is looked at",
    "poll_interval_s": "seconds between two hints while nothing happens",
    "listen": 'address on this machine for webhooks, like "127.0.0.1:8765"',
    "hook_secret_file": "file with the secret that webhooks send",
    "exclude": 'wikis that sync, status and watch leave out, like ["docs/broken"]',
    "attention_command": "command to run when a person is needed",
}
_SITE_NOTES = {
    "title": "empty: the wiki's own title",
    "output": "folder of the site",
    "after": "command to run when a new version is published",
    "keep": "earlier versions of a published site that stay",
    "publish": "whether watch keeps the site in sync",
    "slow_pages_seconds": "processor time for pages that take too long to render",
    "public": "whether search engines may list it",
    "report": "whether it has a report: broken links, wanted pages, orphans",
    "compress": "whether text files are there as .gz and .br, too",
    "url": "address where it will be published",
    "language": "language tag of the site's own words",
    "description": "one sentence for search engines",
    "theme": "name of a theme",
    "templates": "folder of your own templates; empty: theme, if it is there",
}
_MARKUP_NOTES = {
    "markdown_engine": '"markdown-it", "comrak" (extra fast), or "auto"',
    "asciidoc_engine": '"quickjs", "mini-racer" (extra fast), "asciidoc3", or "auto"',
    "math": 'formulas as "mathml" or as "source"',
    "kroki": "address of a Kroki server that draws diagrams; empty: show source",
    "highlight": "whether code is coloured",
    "emoji": "whether :tada: becomes a character",
    "anchors": "whether each heading gets a link to itself",
    "placeholders": "whether %{project_path} and the like are filled in",
}
_PREVIEW_NOTES = {"host": "where preview listens", "port": "0: any free one"}


def _render_service(section: ServiceSection) -> str:
    lines = ["[service]", f"url = {_toml(section.url)}"]
    command, file = section.token_command, section.token_file
    lines.append("# where the token comes from when WIKISYNC_TOKEN is not set:")
    if command:
        lines.append(f"token_command = {_toml(command)}")
    if file:
        lines.append(f"token_file = {_toml(file)}")
    if not command and not file:
        lines.append('# token_command = "pass show gitlab"')
        lines.append('# token_file = "~/.wikisync-token"')
    return "\n".join(lines) + "\n"


def _render_wiki(wiki: WikiSection) -> str:
    lines = ["[[wiki]]", f"{wiki.kind} = {_toml(wiki.path)}"]
    if wiki.id is not None:
        lines.append(f"id = {wiki.id}")
    return "\n".join([*lines, f"folder = {_toml(wiki.folder)}"]) + "\n"


def _render_section(
    name: str, section: object, default: object, notes: Mapping[str, str]
) -> str:
    lines = [f"[{name}]"]
    for key, note in notes.items():
        value = getattr(section, key)
        mark = "# " if value == getattr(default, key) else ""
        lines += [f"# {note}", f"{mark}{key} = {_toml(value)}"]
    return "\n".join(lines) + "\n"


def _render_options(options: Mapping[str, OptionValue]) -> str:
    if not options:
        return ""
    lines = [f"{_toml(key)} = {_toml(value)}" for key, value in options.items()]
    return "\n".join(["[site.options]", *lines]) + "\n"


def _toml(value: OptionValue) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_toml(item) for item in value)}]"
    if isinstance(value, float):
        return repr(value)
    # JSON's strings are TOML's, but for one character that JSON leaves as it is.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
