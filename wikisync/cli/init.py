"""``wikisync init``: a workspace made with what was seen to work.

Everything is asked and checked before the first byte is written: the address, the
token, the right to read each wiki, the folders.  What fails while it is written
takes what was written before it away again.
"""

import asyncio
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from wikisync.cli.console import Console
from wikisync.cli.context import wiki_options
from wikisync.cli.init_questions import Questions, can_ask
from wikisync.cli.init_report import report, report_found
from wikisync.cli.options import json_option, network_disk_option
from wikisync.cli.service_command import token_option
from wikisync.config import FILE_NAME, Config, ServiceSection, WikiSection, parse_config
from wikisync.config.reading import render_config
from wikisync.config.trust import agree, agreed_lines
from wikisync.core.model import Problem, WikiOwner
from wikisync.errors import ExitCode, FolderError, UsageError
from wikisync.folder.workspace import refuse_overlaps
from wikisync.workspace import creating
from wikisync.workspace.addresses import Target, find_target
from wikisync.workspace.cloning import folder_names
from wikisync.workspace.configured import find_workspace
from wikisync.workspace.discovery import Selection
from wikisync.workspace.rights import (
    Service,
    WikiRights,
    check_token,
    check_wikis,
    name_wikis,
)
from wikisync.workspace.token import TOKEN_VARIABLE, URL_VARIABLE, configured_token

FOLDERS_ASKED_MAX = 10
"""For more wikis no folders are asked for: they get their own names."""


@click.command(
    name="init",
    epilog="Example: wikisync init my-wikis --url https://gitlab.example.com"
    " --project docs/handbook",
)
@click.argument(
    "root", type=click.Path(path_type=Path), default=Path(), metavar="[FOLDER]"
)
@click.option("--url", envvar=URL_VARIABLE, metavar="URL", help="URL of the service.")
@wiki_options
@click.option(
    "--folder",
    "folders",
    multiple=True,
    metavar="PATH=NAME",
    help="Folder of a wiki, like docs/handbook=pages; repeatable.",
)
@token_option
@click.option(
    "--token-command",
    metavar="COMMAND",
    help="Command that prints the token on its first line.",
)
@click.option(
    "--trust",
    is_flag=True,
    help="Agree to the wikisync.toml that is in FOLDER, which somebody else wrote.",
)
@click.option("-y", "--yes", "is_yes", is_flag=True, help="Do not ask questions.")
@click.option(
    "--dry-run", is_flag=True, help="Check and show the result; write nothing."
)
@json_option
@network_disk_option
@click.pass_obj
def command(console: Console, /, root: Path, **options: Any) -> int:
    """Make FOLDER a workspace of wikis.

    FOLDER is the current folder by default. In a terminal, the command asks for missing
    options. It checks the service, the
    token and the token's rights on each wiki before it writes wikisync.toml and
    .wikisyncignore. Existing pages are kept.

    A wikisync.toml that came with a repository or a copy runs no command and gets no
    token until you agree to it: in a terminal, commands ask once; --trust agrees
    without a question.
    """
    if options["trust"]:
        return _trust(console, root)
    creating.refuse_folder(root, allows_network_disk=options["network_disk"])
    asks = can_ask() and not options["is_yes"] and not options["as_json"]
    planned = _plan(console, root, options, Questions(console) if asks else None)
    report_found(console, planned)
    is_dry_run = options["dry_run"]
    if (
        not is_dry_run
        and asks
        and not click.confirm("Make this workspace?", default=True, err=True)
    ):
        console.note("nothing was written")
        return int(ExitCode.DONE)
    if not is_dry_run:
        with creating.keeping(planned.kept_token):
            creating.write_workspace(planned)
    return report(console, planned, is_dry_run=is_dry_run, as_json=options["as_json"])


def _trust(console: Console, root: Path) -> int:
    workspace = find_workspace(root)
    agree(workspace.root, workspace.config, os.environ)
    console.lines(
        f"{workspace.root / FILE_NAME}: agreed to",
        *(f"  {line}" for line in agreed_lines(workspace.root, workspace.config)),
    )
    return int(ExitCode.DONE)


# -- asking and checking -----------------------------------------------------------


def _plan(
    console: Console, root: Path, options: dict[str, Any], questions: Questions | None
) -> creating.Planned:
    target = _target(console, options["url"], questions)
    section, token, service, kept = _token(console, target.service, options, questions)
    given = Selection(options["projects"], options["groups"], options["is_all"])
    if target.path:
        given = asyncio.run(
            name_wikis(target.service, token, [target.path], given, console.note)
        )
        given = questions.with_those_below(given) if questions else given

    def wikis() -> tuple[list[WikiRights], list[Problem]]:
        chosen = given
        if questions is not None and chosen == Selection():
            chosen = questions.ask_wikis(service, token)
        chosen.check()
        return asyncio.run(check_wikis(service, token, chosen, console.note))

    is_asked = questions is not None and given == Selection()
    rights, notes = questions.until(wikis) if questions and is_asked else wikis()
    folders = _folders(rights, _named_folders(options["folders"]), questions)
    ids = {one.wiki.owner: one.wiki.id for one in rights}
    config = _checked_config(section, folders, ids, root)
    return creating.Planned(
        root, service, config, rights, notes, creating.new_files(root, config), kept
    )


def _target(console: Console, given: str | None, questions: Questions | None) -> Target:
    def found(url: str) -> Target:
        return asyncio.run(find_target(url, console.note))

    if given:
        return found(given)
    if questions is None:
        raise UsageError(
            "no service is given",
            hint=f"add --url https://gitlab.example.com, or set {URL_VARIABLE}",
        )
    return questions.until(lambda: found(questions.ask_url()))


def _token(
    console: Console, url: str, options: dict[str, Any], questions: Questions | None
) -> tuple[ServiceSection, str | None, Service, creating.KeptToken | None]:
    """Where the token comes from from now on, the token, and what it may do.

    A typed one is to be kept in a file where the person agrees.
    """
    file, words = options["token_file"], options["token_command"]
    if file and words:
        raise UsageError(
            "--token-file and --token-command cannot be used together",
            hint="remove one of them",
        )
    is_set = bool(os.environ.get(TOKEN_VARIABLE, "").strip())

    def checked(
        file: Path | None, typed: str | None = None
    ) -> tuple[ServiceSection, str | None, Service]:
        section = _section(url, file, words)
        token = typed or _read(section, console)
        return section, token, asyncio.run(check_token(url, token, console.note))

    if questions is None or file or words or is_set:
        return (*checked(file), None)
    path = creating.token_path(url, os.environ)

    def asked() -> tuple[ServiceSection, str | None, Service, str | None]:
        file, typed = questions.ask_token(path)
        return (*checked(file and creating.from_home(file), typed), typed)

    section, token, service, typed = questions.until(asked)
    if typed is None or not questions.agrees_to_keep(path):
        return section, token, service, None
    return (
        _section(url, creating.from_home(path), None),
        token,
        service,
        creating.KeptToken(path, typed),
    )


def _section(url: str, file: Path | None, words: str | None) -> ServiceSection:
    try:
        command = tuple(shlex.split(words or ""))
    except ValueError as exc:
        raise UsageError(
            "the token command has a quote that is not closed",
            hint="write it as in a shell",
        ) from exc
    # the workspace may be used from anywhere; only ~ stays as it was written
    path = str(file) if file is None or str(file)[:1] == "~" else str(file.absolute())
    return ServiceSection(
        url=url, token_command=command, token_file=path if file else ""
    )


def _read(section: ServiceSection, console: Console) -> str | None:
    """The token from where the person says, or else from the variable."""
    is_said = section.token_command or section.token_file
    environment = {} if is_said else os.environ
    return configured_token(section, None, console, environment)


def _named_folders(given: Sequence[str]) -> Mapping[str, str]:
    """Path of a project or group to the folder that a person wants for it.

    Raises:
        UsageError: an option is not of this form.
    """
    found: dict[str, str] = {}
    for text in given:
        path, separator, name = text.partition("=")
        if not separator or not path.strip("/") or not name:
            raise UsageError(
                f"--folder {text} does not name a folder for a wiki",
                hint="write the wiki's path and the folder, like docs/handbook=pages",
            )
        found[path.strip("/")] = name
    return found


def _folders(
    rights: Sequence[WikiRights], named: Mapping[str, str], questions: Questions | None
) -> Mapping[WikiOwner, str]:
    owners = [one.wiki.owner for one in rights]
    unknown = named.keys() - {owner.full_path for owner in owners}
    if unknown:
        raise UsageError(
            f"--folder names {min(unknown)}, which is not one of the wikis",
            hint=f"the wikis are: {', '.join(owner.full_path for owner in owners)}",
        )
    folders = dict(folder_names(owners))
    for owner in owners:
        if owner.full_path in named:
            folders[owner] = named[owner.full_path]
        elif questions is not None and len(owners) <= FOLDERS_ASKED_MAX:
            folders[owner] = questions.ask_folder(owner, folders[owner])
    return folders


def _checked_config(
    section: ServiceSection,
    folders: Mapping[WikiOwner, str],
    ids: Mapping[WikiOwner, int],
    root: Path,
) -> Config:
    """The configuration, read once as it will be read.

    Raises:
        UsageError: there is no wiki in it.
        ConfigError: two folders overlap, or one cannot be.
        FolderError: one is another workspace.
    """
    if not folders:
        raise UsageError(
            "no wiki is left for the workspace",
            hint="name one with --project PATH or --group PATH",
        )
    wikis = tuple(
        WikiSection(owner.kind, owner.full_path, name, ids[owner])
        for owner, name in folders.items()
    )
    config = parse_config(render_config(Config(section, wikis)))
    refuse_overlaps(root, [root / wiki.folder for wiki in config.wikis])
    for wiki in config.wikis:
        folder = root / wiki.folder
        if folder.exists() and not folder.is_dir():
            raise FolderError(
                f"{folder} is not a folder",
                hint=f"give another: --folder {wiki.path}=NAME",
            )
    return config
