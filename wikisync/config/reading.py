"""From the text of ``wikisync.toml`` to its sections."""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from wikisync.config.checks import (
    URL_EXAMPLE,
    check_folder,
    check_folders,
    check_group,
    check_kroki,
    check_language,
    check_listen,
    check_not_empty,
    check_project,
    check_site,
    check_url,
    tidy,
)
from wikisync.config.sections import (
    FILE_NAME,
    AsciidocEngine,
    Config,
    MarkdownEngine,
    MarkupSection,
    MathOutput,
    PreviewSection,
    ServiceSection,
    SiteSection,
    SyncSection,
    WikiSection,
)
from wikisync.config.table import Table
from wikisync.config.trust import refuse_foreign
from wikisync.errors import ConfigError
from wikisync.model import OwnerKind

OLD_ASCIIDOC_ENGINE = "ruby"
"""What configurations of earlier versions may name; the others render alike."""
ID_MAX = 2**63 - 1
"""The largest number that a service gives to a project or group."""


def load_config(path: Path, environment: Mapping[str, str] | None = None) -> Config:
    """Read a workspace's configuration.

    Args:
        path: the file.
        environment: says whose files are obeyed beside this user's (``trust``).

    Raises:
        ConfigError: the file is missing, unreadable, wrong or another user's.
    """
    try:
        text = _read(path, environment or {}).decode("utf-8")
    except FileNotFoundError as exc:
        raise ConfigError(
            f"there is no {path.name} in {path.parent}",
            hint="go to a workspace, or make one with wikisync init",
        ) from exc
    except OSError as exc:
        raise ConfigError(
            f"cannot read {path}: {exc.strerror}",
            hint="make it a file that this user can read",
        ) from exc
    except UnicodeDecodeError as exc:
        raise ConfigError(
            f"{path} is not UTF-8 at byte {exc.start}", hint="save it as UTF-8"
        ) from exc
    return parse_config(text, str(path))


def _read(path: Path, environment: Mapping[str, str]) -> bytes:
    """The file's content, where it is a file and this user's.

    Raises:
        ConfigError: it is none, or another user's.
        OSError: it cannot be read.
    """
    # a pipe would be waited for
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ConfigError(
                f"{path} is not a file", hint="replace it by a file, or remove it"
            )
        refuse_foreign(path, status, environment)
        return file.read()


def parse_config(text: str, source: str = FILE_NAME) -> Config:
    """Read a configuration from its text.

    Args:
        text: TOML.
        source: how messages call it.

    Raises:
        ConfigError: with one entry in ``problems`` for each thing that is wrong.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise ConfigError(
            f"{source} is not TOML", problems=(lower_first(str(exc)),)
        ) from exc
    problems: list[str] = []
    top = Table(document, "", problems)
    wikis = {table.path: _wiki(table) for table in top.tables("wiki")}
    found = {key: wiki for key, wiki in wikis.items() if wiki is not None}
    config = Config(
        service=_service(top.table("service")),
        wikis=tuple(found.values()),
        sync=_sync(top.table("sync")),
        site=_site(top.table("site")),
        markup=_markup(top.table("markup")),
        preview=_preview(top.table("preview")),
    )
    top.refuse_the_rest()
    check_folders(found, config.site.output, problems)
    names = {name for wiki in config.wikis for name in (wiki.path, wiki.folder)}
    problems += [
        f"sync.exclude: no wiki of this file has the path or folder {name}"
        for name in config.sync.exclude
        if name not in names
    ]
    if problems:
        raise ConfigError(f"{source} is wrong", problems=tuple(problems))
    return config


def parse_markup(values: Mapping[str, object], source: str) -> MarkupSection:
    """The section ``[markup]`` alone, from values that somebody else has read.

    Args:
        values: what the table holds.
        source: how messages call it.

    Raises:
        ConfigError: with one entry in ``problems`` for each thing that is wrong.
    """
    problems: list[str] = []
    section = _markup(Table(values, "markup", problems))
    if problems:
        raise ConfigError(f"{source} is wrong", problems=tuple(problems))
    return section


# The sections -------------------------------------------------------------------


def _service(table: Table) -> ServiceSection:
    if table.has("token"):
        table.complain(
            "token",
            "a token must not be in this file: use WIKISYNC_TOKEN, "
            "token_command or token_file",
        )
    section = ServiceSection(
        url=table.text("url", "", check_url, example=URL_EXAMPLE).rstrip("/"),
        token_command=table.command("token_command"),
        token_file=table.text("token_file", ""),
    )
    if section.token_command and section.token_file:
        table.complain("token_file", "give either token_command or token_file")
    table.refuse_the_rest()
    return section


def _wiki(table: Table) -> WikiSection | None:
    project = table.text("project", "", check_project)
    group = table.text("group", "", check_group)
    folder = table.text("folder", "", check_folder)
    id_ = table.integer("id", 0, 1, ID_MAX)
    unknown = table.refuse_the_rest()
    if project and group:
        table.complain("group", "a wiki has either a project or a group")
    if not project and not group:
        if not unknown and not table.has("project", "group"):
            table.complain("", 'needs a project or a group: project = "docs/handbook"')
        return None
    path = project or group
    leaf = path.rpartition("/")[2]
    kind: OwnerKind = "project" if project else "group"
    return WikiSection(kind, path, tidy(folder or leaf), id_ or None)


def _sync(table: Table) -> SyncSection:
    default = SyncSection()
    section = SyncSection(
        reads_max=table.integer("reads_max", default.reads_max, 1, 32),
        settle_ms=table.integer("settle_ms", default.settle_ms, 50, 10_000),
        poll_interval_s=table.integer(
            "poll_interval_s", default.poll_interval_s, 1, 86_400
        ),
        listen=table.text("listen", default.listen, check_listen),
        hook_secret_file=table.text("hook_secret_file", default.hook_secret_file),
        attention_command=table.command("attention_command"),
        exclude=table.texts("exclude"),
    )
    table.refuse_the_rest()
    return section


def _site(table: Table) -> SiteSection:
    default = SiteSection()
    section = SiteSection(
        title=table.text("title", default.title),
        output=tidy(table.text("output", default.output, check_folder)),
        after=table.command("after"),
        keep=table.integer("keep", default.keep, 0, 100),
        publish=table.flag("publish", is_on=default.publish),
        slow_pages_seconds=table.integer(
            "slow_pages_seconds", default.slow_pages_seconds, 0, 86_400
        ),
        public=table.flag("public", is_on=default.public),
        report=table.flag("report", is_on=default.report),
        compress=table.flag("compress", is_on=default.compress),
        url=table.text("url", default.url, check_site),
        language=table.text("language", default.language, check_language),
        description=table.text("description", default.description),
        theme=table.text("theme", default.theme, check_not_empty),
        templates=tidy(table.text("templates", default.templates, check_folder)),
        options=table.options("options"),
    )
    table.refuse_the_rest()
    return section


def _markup(table: Table) -> MarkupSection:
    default = MarkupSection()
    math = table.choice("math", default.math, ("mathml", "source"))
    engine = table.choice(
        "markdown_engine", default.markdown_engine, ("auto", "markdown-it", "comrak")
    )
    asciidoc = table.choice(
        "asciidoc_engine",
        default.asciidoc_engine,
        ("auto", "quickjs", "mini-racer", "asciidoc3", OLD_ASCIIDOC_ENGINE),
    )
    if asciidoc == OLD_ASCIIDOC_ENGINE:
        asciidoc = "auto"
    section = MarkupSection(
        markdown_engine=cast("MarkdownEngine", engine),
        asciidoc_engine=cast("AsciidocEngine", asciidoc),
        math=cast("MathOutput", math),
        kroki=table.text("kroki", default.kroki, check_kroki),
        highlight=table.flag("highlight", is_on=default.highlight),
        emoji=table.flag("emoji", is_on=default.emoji),
        anchors=table.flag("anchors", is_on=default.anchors),
        placeholders=table.flag("placeholders", is_on=default.placeholders),
    )
    table.refuse_the_rest()
    return section


def _preview(table: Table) -> PreviewSection:
    default = PreviewSection()
    section = PreviewSection(
        host=table.text("host", default.host, check_not_empty),
        port=table.integer("port", default.port, 0, 65_535),
    )
    table.refuse_the_rest()
    return section


def lower_first(text: str) -> str:
    """As it goes on behind a colon."""
    return text[:1].lower() + text[1:]
