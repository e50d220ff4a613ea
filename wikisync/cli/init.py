"""``wikisync init``: a workspace made with what was seen to work.

Everything is asked, in a terminal until each answer is right, and checked before the
first byte is written.
"""

import asyncio
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import click
from msgspec import Struct
from msgspec.structs import replace

from wikisync import errors
from wikisync.api.secret import could_be_token
from wikisync.cli import options
from wikisync.cli.console import Console
from wikisync.cli.service_command import selection_options
from wikisync.config.reading import parse_config, render_config
from wikisync.config.sections import FILE_NAME, Config, ServiceSection, WikiSection
from wikisync.config.trust import agree, agreed_lines
from wikisync.core.model import Problem, WikiOwner
from wikisync.folder.workspace import refuse_overlaps
from wikisync.workspace import creating
from wikisync.workspace.cloning import folder_names
from wikisync.workspace.configured import find_workspace
from wikisync.workspace.discovery import Selection
from wikisync.workspace.doctor import Grade, token_findings
from wikisync.workspace.rights import (
    Service,
    Target,
    WikiRights,
    check_token,
    check_wikis,
    find_target,
    list_wikis,
    name_wikis,
)
from wikisync.workspace.sentences import counted, fields, with_hint
from wikisync.workspace.service import TOKEN_VARIABLE, URL_VARIABLE, Credentials

T = TypeVar("T")

TRIES_MAX = 5
"""Wrong answers to one question before the command ends."""
WIKIS_NAMED_MAX = 100
WIKIS_LISTED_MAX = 30
"""Wikis that are shown to choose from."""
WIKIS_TAKEN_MAX = 3
"""An empty answer takes all wikis of a list that is no longer than this."""
ALL = "all"
FOLDERS_ASKED_MAX = 10
"""For more wikis no folders are asked for: they get their own names."""


class Answers(Struct, frozen=True):
    """What the command line says already."""

    url: str | None
    folders: tuple[str, ...]
    credentials: Credentials
    token_command: str | None


@click.command(
    name="init",
    epilog="Example: wikisync init my-wikis --url https://gitlab.example.com"
    " --project docs/handbook",
)
@click.argument(
    "root", type=click.Path(path_type=Path), default=Path(), metavar="[FOLDER]"
)
@options.joined(
    "answers",
    Answers,
    click.option(
        "--url", envvar=URL_VARIABLE, metavar="URL", help="URL of the service."
    ),
    click.option(
        "--folder",
        "folders",
        multiple=True,
        metavar="PATH=NAME",
        help="Folder of a wiki, like docs/handbook=pages; repeatable.",
    ),
    options.token_option,
    click.option(
        "--token-command",
        metavar="COMMAND",
        help="Command that prints the token on its first line.",
    ),
)
@selection_options
@options.flag(
    "--trust",
    help="Agree to the wikisync.toml that is in FOLDER, which somebody else wrote.",
)
@options.flag("-y", "--yes", "is_yes", help="Do not ask questions.")
@options.flag("--dry-run", help="Check and show the result; write nothing.")
@options.json_option
@options.network_disk_option
@click.pass_obj
def command(
    console: Console,
    root: Path,
    answers: Answers,
    selection: Selection,
    *,
    trust: bool,
    is_yes: bool,
    dry_run: bool,
    allows_network_disk: bool,
) -> None:
    """Make FOLDER a workspace of wikis.

    FOLDER is the current folder by default. In a terminal, the command asks for missing
    options. It checks the service, the
    token and the token's rights on each wiki before it writes wikisync.toml and
    .wikisyncignore. Existing pages are kept.

    A wikisync.toml that came with a repository or a copy runs no command and gets no
    token until you agree to it: in a terminal, commands ask once; --trust agrees
    without a question.
    """
    if trust:
        workspace = find_workspace(root)
        agree(workspace.root, workspace.config)
        lines = agreed_lines(workspace.root, workspace.config)
        file = workspace.root / FILE_NAME
        console.lines(f"{file}: agreed to", *(f"  {line}" for line in lines))
        return
    creating.refuse_folder(root, allows_network_disk=allows_network_disk)
    asks = console.has_person and not is_yes and not console.as_json
    questions = Questions(console) if asks else None
    planned = _plan(console, root, answers, selection, questions)
    report_found(console, planned)
    if (
        not dry_run
        and asks
        and not click.confirm("Make this workspace?", default=True, err=True)
    ):
        console.note("nothing was written")
        return
    if not dry_run:
        with creating.keeping(planned.kept_token):
            creating.write_workspace(planned)
    report(console, planned, is_dry_run=dry_run)


# -- questions -------------------------------------------------------------------


class Questions:
    """Questions in a terminal, all on stderr."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def until(self, attempt: Callable[[], T]) -> T:
        """Let a person answer again while an answer is refused."""
        for _ in range(TRIES_MAX - 1):
            try:
                return attempt()
            except (errors.UsageError, errors.ConfigError, errors.RemoteError) as error:
                self._console.error(error)
        return attempt()

    def ask_token(self, kept: Path) -> tuple[Path | None, str | None]:
        """A token, or the file that has one; neither for no token."""
        if kept.exists():
            question = f"Token (hidden; leave empty for the one in {kept})"
        else:
            question = "Token (hidden; leave empty to read public wikis without one)"
        typed = click.prompt(
            question, default="", show_default=False, hide_input=True, err=True
        )
        token = str(typed).strip()
        return (kept, None) if kept.exists() and not token else (None, token or None)

    def agrees_to_keep(self, file: Path) -> bool:
        """Whether the token may be written to this file."""
        instead = ", replacing the existing one" if file.exists() else ""
        return click.confirm(
            f"Save the token in {file}, readable only by you{instead}?",
            default=not file.exists(),
            err=True,
        )

    def ask_wikis(self, service: Service, token: str | None) -> Selection:
        """The wikis, by their numbers in a list, or by paths or addresses."""
        notify = self._console.note
        known = asyncio.run(
            list_wikis(service.url, token, WIKIS_LISTED_MAX + 1, notify)
        )
        listed = known[:WIKIS_LISTED_MAX]
        width = max((len(owner.full_path) for owner, _ in listed), default=0)
        for number, (owner, pages) in enumerate(listed, 1):
            held = "cannot be read" if pages is None else counted(pages, "page")
            line = f"{number:>4}  {owner.full_path:<{width}}  {owner.kind}, {held}"
            self._console.note(line)
        is_whole = len(known) == len(listed)
        if not is_whole:
            self._console.note("      and more; give others by path or address")
        by_number = 'number in this list, "all", ' if listed else ""
        answers = self.ask(
            f"Wikis to sync, by {by_number}path or address, separated by spaces",
            ALL if is_whole and 0 < len(listed) <= WIKIS_TAKEN_MAX else None,
        ).split()
        is_all = answers == [ALL]
        if is_all:
            if not is_whole:
                raise errors.UsageError(
                    "the list does not show all wikis",
                    hint="give numbers or paths, or run wikisync init --all for every"
                    " wiki that you can see",
                )
            answers = [
                str(number)
                for number, (_, pages) in enumerate(listed, 1)
                if pages is not None
            ]
        numbered = {
            str(number): owner.full_path for number, (owner, _) in enumerate(listed, 1)
        }
        named = [numbered.get(answer, answer) for answer in answers[:WIKIS_NAMED_MAX]]
        naming = name_wikis(service.url, token, named, Selection(), notify)
        selected = asyncio.run(naming)
        return selected if is_all else self.with_those_below(selected)

    def with_those_below(self, selection: Selection) -> Selection:
        """The selection, with all below its groups if the person wants them."""
        if not selection.groups or selection.is_all:
            return selection
        groups = ", ".join(selection.groups)
        is_all = click.confirm(f"Include every wiki below {groups}?", err=True)
        return replace(selection, is_all=is_all)

    def ask(self, question: str, default: str | None = None) -> str:
        """An answer that may be shown; click asks again where it is none."""
        answer = click.prompt(
            question, default=default, err=True, value_proc=_shown_answer
        )
        return str(answer).strip()


def _shown_answer(text: str) -> str:
    """What was typed, unless it may be a token; the message does not repeat it."""
    if any(map(could_be_token, text.split())):
        raise click.BadParameter(
            "this may be a token, and it was shown as you typed it; init asks for the"
            " token right after the address, without showing it"
        )
    return text


# -- asking and checking -----------------------------------------------------------


def _plan(
    console: Console,
    root: Path,
    answers: Answers,
    given: Selection,
    questions: Questions | None,
) -> creating.Planned:
    target = _target(console, answers.url, questions)
    section, token, service, kept = _token(console, target.service, answers, questions)
    if target.path:
        given = asyncio.run(
            name_wikis(target.service, token, [target.path], given, console.note)
        )
        given = questions.with_those_below(given) if questions else given

    asked = questions if replace(given, excluded=()) == Selection() else None

    def wikis() -> tuple[list[WikiRights], list[Problem]]:
        chosen = given
        if asked is not None:
            chosen = replace(asked.ask_wikis(service, token), excluded=given.excluded)
        chosen.check()
        return asyncio.run(check_wikis(service, token, chosen, console.note))

    rights, notes = asked.until(wikis) if asked else wikis()
    folders = _folders(rights, answers.folders, questions)
    if not folders:
        raise errors.UsageError(
            "no wiki is left for the workspace",
            hint="name one with --project PATH or --group PATH",
        )
    ids = {one.wiki.owner: one.wiki.id for one in rights}
    sections = tuple(
        WikiSection(owner.kind, owner.full_path, name, ids[owner])
        for owner, name in folders.items()
    )
    # read once as it will be read
    config = parse_config(render_config(Config(section, sections)))
    refuse_overlaps(root, [root / wiki.folder for wiki in config.wikis])
    for wiki in config.wikis:
        folder = root / wiki.folder
        if folder.exists() and not folder.is_dir():
            raise errors.FolderError(
                f"{folder} is not a folder",
                hint=f"give another: --folder {wiki.path}=NAME",
            )
    return creating.Planned(
        root, service, config, rights, notes, creating.new_files(root, config), kept
    )


def _target(console: Console, given: str | None, questions: Questions | None) -> Target:
    def found(url: str) -> Target:
        return asyncio.run(find_target(url, console.note))

    if given:
        return found(given)
    if questions is None:
        raise errors.UsageError(
            "no service is given",
            hint=f"add --url https://gitlab.example.com, or set {URL_VARIABLE}",
        )
    question = "Address of the service or of a wiki, like https://gitlab.example.com"
    return questions.until(lambda: found(questions.ask(question)))


def _token(
    console: Console, url: str, answers: Answers, questions: Questions | None
) -> tuple[ServiceSection, str | None, Service, creating.KeptToken | None]:
    """Where the token comes from from now on, the token, and what it may do."""
    file, words = answers.credentials.token_file, answers.token_command
    if file and words:
        raise errors.UsageError(
            "--token-file and --token-command cannot be used together",
            hint="remove one of them",
        )
    is_set = bool(os.environ.get(TOKEN_VARIABLE, "").strip())

    def checked(
        file: Path | None, typed: str | None = None
    ) -> tuple[ServiceSection, str | None, Service]:
        section = _section(url, file, words)
        # from where the person says, or else from the variable
        is_said = section.token_command or section.token_file
        credentials = Credentials(console, env={} if is_said else os.environ)
        token = typed or credentials.configured(section)
        return section, token, asyncio.run(check_token(url, token, console.note))

    if questions is None or file or words or is_set:
        return (*checked(file), None)
    path = creating.token_path(url)

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
        raise errors.UsageError(
            "the token command has a quote that is not closed",
            hint="write it as in a shell",
        ) from exc
    # the workspace may be used from anywhere; only ~ stays as it was written
    path = str(file) if file is None or str(file)[:1] == "~" else str(file.absolute())
    return ServiceSection(
        url=url, token_command=command, token_file=path if file else ""
    )


def _folders(
    rights: Sequence[WikiRights], given: Sequence[str], questions: Questions | None
) -> Mapping[WikiOwner, str]:
    """The folder of each wiki; those that ``PATH=NAME`` gives are not asked for."""
    named: dict[str, str] = {}
    for text in given:
        path, separator, name = text.partition("=")
        if not separator or not path.strip("/") or not name:
            raise errors.UsageError(
                f"--folder {text} does not name a folder for a wiki",
                hint="write the wiki's path and the folder, like docs/handbook=pages",
            )
        named[path.strip("/")] = name
    owners = [one.wiki.owner for one in rights]
    unknown = named.keys() - {owner.full_path for owner in owners}
    if unknown:
        raise errors.UsageError(
            f"--folder names {min(unknown)}, which is not one of the wikis",
            hint=f"the wikis are: {', '.join(owner.full_path for owner in owners)}",
        )
    folders = dict(folder_names(owners))
    for owner in owners:
        if owner.full_path in named:
            folders[owner] = named[owner.full_path]
        elif questions is not None and len(owners) <= FOLDERS_ASKED_MAX:
            folders[owner] = questions.ask(f"Folder for {owner}", folders[owner])
    return folders


# -- the report ------------------------------------------------------------------


def report_found(console: Console, planned: creating.Planned) -> None:
    """What was found, and what wikisync may do with it; all of it on stderr."""
    service = planned.service
    version = f", version {service.version}" if service.version else ""
    console.note(f"service {service.url}{version}")
    for found in token_findings(service.token, datetime.now(UTC).date()):
        say = console.note if found.grade is Grade.FINE else console.warn
        say(with_hint(found.sentence, found.next_step))
    for note in planned.notes:
        console.note(str(note))
    for one in planned.rights:
        folder = planned.folder_of(one)
        pages = "not counted" if one.pages is None else counted(one.pages, "page")
        here = creating.pages_in(folder)
        also = f", {here} here already in {folder}" if here else ""
        console.note(f"{one.wiki.owner}: {pages}{also}; wikisync {one.sentence()}")
    loose = creating.pages_in(planned.root, below=False)
    if loose:
        console.warn(
            f"{planned.root} itself holds pages ({loose}), which belong to no wiki;"
            f" move them into a wiki's folder, or run init in the parent folder with"
            f" --folder PATH=NAME"
        )


def next_steps(planned: creating.Planned) -> Sequence[tuple[str, str]]:
    """Commands to run now, each with what it does."""
    at: list[str | Path] = (
        [] if planned.root.resolve() == Path.cwd() else ["-C", planned.root]
    )
    sync = errors.command_line("sync", *at)
    steps = [
        (f"{sync} --dry-run", "shows what the first sync would do"),
        (sync, "the first sync; it deletes nothing on either side"),
    ]
    if all(one.writes is False for one in planned.rights):
        steps = [(f"{sync} --pull", "downloads the pages; nothing can be uploaded")]
    elif any(creating.pages_in(planned.folder_of(one)) for one in planned.rights):
        steps[1:] = [
            (
                f"{sync} --adopt hold",
                "keeps pages that exist only here out of the wiki",
            ),
            (f"{sync} --adopt push", "also uploads pages that exist only here"),
        ]
    return (
        *steps,
        (errors.command_line("watch", *at), "syncs continuously from then on"),
    )


def report(console: Console, planned: creating.Planned, *, is_dry_run: bool) -> None:
    """Print what was done, or would be."""
    if console.as_json:
        console.json(_as_json(planned, is_dry_run=is_dry_run))
        return
    if is_dry_run:
        kept = [planned.kept_token.path] if planned.kept_token else []
        names = "\n".join(f"would write {path}" for path in (*planned.written, *kept))
        console.result(f"{names}\n\n{planned.text}")
        console.note("nothing was written (--dry-run)")
        return
    console.result(f"made the workspace {planned.root}")
    section = planned.config.service
    if planned.service.token and not (section.token_command or section.token_file):
        console.note(
            f"the token is not saved: set {TOKEN_VARIABLE} for every command, or set"
            f" token_file or token_command in wikisync.toml"
        )
    console.note("next:")
    steps = next_steps(planned)
    width = max(len(command) for command, _ in steps)
    for command, what in steps:
        console.note(f"  {command:<{width}}  {what}")


def _as_json(planned: creating.Planned, *, is_dry_run: bool) -> dict[str, object]:
    token = planned.service.token
    return {
        "workspace": str(planned.root),
        "dry_run": is_dry_run,
        "files": [str(path) for path in planned.written],
        "service": {
            "url": planned.service.url,
            "version": planned.service.version or None,
        },
        "token": None
        if token is None
        else {
            **fields(token, "name user scopes"),
            "expires_on": str(token.expires_on) if token.expires_on else None,
        },
        "wikis": [
            {
                "kind": one.wiki.owner.kind,
                "path": one.wiki.owner.full_path,
                "folder": str(planned.folder_of(one)),
                "pages_here": creating.pages_in(planned.folder_of(one)),
                **fields(one, "pages writes deletes because"),
            }
            for one in planned.rights
        ],
        "skipped": [
            {"wiki": note.subject, "message": note.message} for note in planned.notes
        ],
        "next": [command for command, _ in next_steps(planned)],
    }
