"""What ``wikisync init`` reports: what it found, what it may do, what comes next."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from wikisync.cli.console import Console
from wikisync.core.terminal import one_line
from wikisync.errors import ExitCode, command_line
from wikisync.workspace.creating import Planned, pages_in
from wikisync.workspace.rights import Service, WikiRights
from wikisync.workspace.sentences import counted
from wikisync.workspace.token import TOKEN_VARIABLE

EXPIRY_WARNING_DAYS = 30


def report_found(console: Console, planned: Planned) -> None:
    """What was found, and what wikisync may do with it; all of it on stderr."""
    service, today = planned.service, datetime.now(UTC).date()
    version = f", version {service.version}" if service.version else ""
    console.note(f"service {service.url}{version}")
    console.note(token_sentence(service, today))
    left = service.token.days_left(today) if service.token else None
    if left is not None and left <= EXPIRY_WARNING_DAYS:
        console.warn(
            f"the token expires in {left} days; after that, nothing is synced until"
            f" you create a new one"
        )
    for note in planned.notes:
        console.note(str(note))
    for one in planned.rights:
        console.note(
            f"{one.wiki.owner}: {_counts(planned, one)}; wikisync {one.sentence()}"
        )
    loose = pages_in(planned.root, below=False)
    if loose:
        console.warn(
            f"{planned.root} itself holds pages ({loose}), which belong to no wiki;"
            f" move them into a wiki's folder, or run init in the parent folder with"
            f" --folder PATH=NAME"
        )


def token_sentence(service: Service, today: date) -> str:
    """What is known of the token, without the token."""
    token = service.token
    if token is None:
        return "no token: only public wikis can be read, and nothing can be written"
    words = ["token"]
    if token.name:
        words.append(f'"{one_line(token.name)}"')
    if token.user:
        words.append(f"of {one_line(token.user)}")
    if token.scopes is None:
        why = token.unknown or "the service does not report its scopes"
        return f"{' '.join(words)}: {why}"
    scopes = f"{' '.join(words)}: scopes {', '.join(token.scopes) or 'none'}"
    left = token.days_left(today)
    end = "without an expiry date" if left is None else f"expires on {token.expires_on}"
    return f"{scopes}, {end}" + (f"; {token.unknown}" if token.unknown else "")


def _counts(planned: Planned, one: WikiRights) -> str:
    folder = planned.folder_of(one)
    there = "not counted" if one.pages is None else counted(one.pages, "page")
    here = pages_in(folder)
    return f"{there}" + (f", {here} here already in {folder}" if here else "")


def next_steps(planned: Planned) -> Sequence[tuple[str, str]]:
    """Commands to run now, each with what it does."""
    at: list[str | Path] = (
        [] if planned.root.resolve() == Path.cwd() else ["-C", planned.root]
    )
    sync = command_line("sync", *at)
    steps = [
        (f"{sync} --dry-run", "shows what the first sync would do"),
        (sync, "the first sync; it deletes nothing on either side"),
    ]
    if all(one.writes is False for one in planned.rights):
        steps = [(f"{sync} --pull", "downloads the pages; nothing can be uploaded")]
    elif any(pages_in(planned.folder_of(one)) for one in planned.rights):
        steps[1:] = [
            (
                f"{sync} --adopt hold",
                "keeps pages that exist only here out of the wiki",
            ),
            (f"{sync} --adopt push", "also uploads pages that exist only here"),
        ]
    return (*steps, (command_line("watch", *at), "syncs continuously from then on"))


def report(
    console: Console, planned: Planned, *, is_dry_run: bool, as_json: bool
) -> int:
    """Print what was done, or would be; give the exit code."""
    if as_json:
        shown = _as_json(planned, is_dry_run=is_dry_run)
        console.json(shown)
        return int(ExitCode.DONE)
    if is_dry_run:
        kept = [planned.kept_token.path] if planned.kept_token else []
        names = "\n".join(f"would write {path}" for path in (*planned.written, *kept))
        console.result(f"{names}\n\n{planned.text}")
        console.note("nothing was written (--dry-run)")
        return int(ExitCode.DONE)
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
    return int(ExitCode.DONE)


def _as_json(planned: Planned, *, is_dry_run: bool) -> dict[str, object]:
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
            "name": token.name,
            "user": token.user,
            "scopes": None if token.scopes is None else list(token.scopes),
            "expires_on": str(token.expires_on) if token.expires_on else None,
        },
        "wikis": [
            {
                "kind": one.wiki.owner.kind,
                "path": one.wiki.owner.full_path,
                "folder": str(planned.folder_of(one)),
                "pages": one.pages,
                "pages_here": pages_in(planned.folder_of(one)),
                "writes": one.writes,
                "deletes": one.deletes,
                "because": one.because,
            }
            for one in planned.rights
        ],
        "skipped": [
            {"wiki": note.subject, "message": note.message} for note in planned.notes
        ],
        "next": [command for command, _ in next_steps(planned)],
    }
