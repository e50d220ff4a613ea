"""Sections as the text of a ``wikisync.toml`` that shows what can be set.  Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from msgspec import Struct

from wikisync.config.sections import (
    Config,
    OptionValue,
    ServiceSection,
    WikiSection,
)
from wikisync.packaged import packaged_text


def render_config(config: Config) -> str:
    """A configuration as a commented file that ``parse_config`` takes.

    Values that are the defaults stand there as comments, so that the file shows
    what can be set.
    """
    head, *sections = packaged_text(__package__, "new.toml").split("\n\n")
    blocks = [
        f"{head}\n",
        _render_service(config.service),
        *(_render_wiki(wiki) for wiki in config.wikis),
    ]
    for lines in sections:
        name = lines[1 : lines.index("]")]
        blocks.append(_render_section(lines.rstrip(), getattr(config, name)))
        if name == "site" and config.site.options:
            blocks.append(_render_options(config.site.options))
    return "\n".join(blocks)


_KEY = re.compile(r"^# (\w+) = (.*)$", re.MULTILINE)


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


def _render_section(lines: str, section: Struct) -> str:
    """The section of a new file with the values that are not the defaults."""

    def render(line: re.Match[str]) -> str:
        value = _toml(getattr(section, line[1]))
        return line[0] if value == line[2] else f"{line[1]} = {value}"

    return _KEY.sub(render, lines) + "\n"


def _render_options(options: Mapping[str, OptionValue]) -> str:
    lines = [f"{_toml(key)} = {_toml(value)}" for key, value in options.items()]
    return "\n".join(["[site.options]", *lines]) + "\n"


def _toml(value: OptionValue) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_toml(item) for item in value)}]"
    if isinstance(value, float):
        return repr(value)
    # JSON's strings are TOML's, but for one character that JSON leaves as it is.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
