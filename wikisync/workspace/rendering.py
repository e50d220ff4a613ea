"""How commands know how pages are rendered: ``[markup]`` and ``--markup``.

The order is the house's: option, file, default.  The file is the nearest
``wikisync.toml`` of the folder that is rendered or of one above it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import structs

from wikisync.config import FILE_NAME, MarkupSection, parse_markup
from wikisync.errors import ConfigError, UsageError
from wikisync.markup.record import MarkupOptions
from wikisync.workspace.configured import nearest_workspace, read_config


def markup_options(section: MarkupSection) -> MarkupOptions:
    """A section of the configuration as the options of the pipeline."""
    return MarkupOptions(
        math=section.math,
        kroki=section.kroki,
        engine=section.markdown_engine,
        asciidoc_engine=section.asciidoc_engine,
        highlight=section.highlight,
        emoji=section.emoji,
        anchors=section.anchors,
        placeholders={} if section.placeholders else None,
    )


def chosen_markup(
    given: Sequence[str], section: MarkupSection | None = None
) -> MarkupOptions:
    """The options that ``--markup`` and a section of the file give together.

    Raises:
        UsageError: an option is not ``NAME=VALUE``.
        ConfigError: a key is unknown, or its value is wrong.
    """
    values = structs.asdict(section or MarkupSection())
    values.update(parse_settings(given, "--markup"))
    return markup_options(parse_markup(values, "--markup"))


def workspace_markup(folder: Path) -> MarkupSection | None:
    """``[markup]`` of the workspace that a folder lies in; None outside of one.

    Raises:
        ConfigError: the file cannot be read, or is wrong.
    """
    try:
        start = folder.resolve()
    except OSError as exc:
        raise ConfigError(f"cannot find {folder}: {exc.strerror}") from exc
    root = nearest_workspace(start)
    return read_config(root / FILE_NAME).markup if root else None


def parse_settings(given: Sequence[str], option: str) -> Mapping[str, object]:
    """Settings as ``name=value``; a value is TOML where it can be, else text.

    Args:
        given: what stood on the command line.
        option: how messages call it.

    Raises:
        UsageError: there is no ``=``, or no name.
    """
    settings: dict[str, object] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not name.strip() or not equals:
            raise UsageError(
                f"{option} {text} is not NAME=VALUE",
                hint=f"write it like {option} {EXAMPLES.get(option, 'name=value')}",
            )
        settings[name.strip()] = value.strip()
        with suppress(tomllib.TOMLDecodeError):
            settings[name.strip()] = tomllib.loads(f"value = {value}")["value"]
    return settings


EXAMPLES = {"--theme-option": "accent=teal", "--markup": "math=source"}
