"""``wikisync records``: what is remembered of each wiki, and using it again."""

from __future__ import annotations

import time
from pathlib import Path

import click
from msgspec.structs import replace

from wikisync.cli.console import Console
from wikisync.cli.options import network_disk_option, workspace_option
from wikisync.config import WikiSection
from wikisync.errors import UsageError
from wikisync.sync.decide.identity import WikiRecord
from wikisync.workspace.configured import find_workspace
from wikisync.workspace.opening import OpenWorkspace, open_workspace
from wikisync.workspace.times import ago

COLUMNS = ("record", "folder", "wiki", "id", "service", "pages", "synced", "state")


@click.command(name="records", epilog="Example: wikisync records --use 1")
@click.argument("wiki", required=False)
@workspace_option
@click.option(
    "--use",
    "number",
    type=click.IntRange(min=1),
    metavar="RECORD",
    help="Use this record for WIKI and set aside the current one.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the records as JSON.")
@network_disk_option
@click.pass_obj
def command(
    console: Console,
    start: Path,
    wiki: str | None,
    number: int | None,
    *,
    as_json: bool,
    network_disk: bool,
) -> int:
    """List the sync records of each wiki that a folder was synced with.

    A record holds the pages and texts of the last sync of a folder with one wiki. When
    the folder is synced with another wiki, the record is set aside and kept. --use
    declares that both are the same wiki: the next sync uses that record again.

    WIKI is a folder of the workspace or a full path. With --use, the default is the
    wiki of the record's folder.
    """
    workspace = find_workspace(start)
    with open_workspace(
        workspace, is_read_only=number is None, allows_network_disk=network_disk
    ) as opened:
        sections = workspace.wikis([wiki] if wiki else [])
        if number is not None:
            _use(opened, number, sections, is_named=wiki is not None)
            console.note(
                f"record {number} is in use; to see what the next sync does, run:"
                f" wikisync sync --dry-run"
            )
        used = {opened.known(one).number for one in workspace.config.wikis}
        # another address of a wiki, which nobody names now, is set aside, too
        records = [
            replace(one, is_in_use=one.number in used)
            for one in opened.state.records()
            if one.pages
        ]
    if wiki is not None:
        folders = {section.folder for section in sections}
        owners = {section.owner for section in sections}
        records = [o for o in records if o.folder in folders or o.owner in owners]
    if as_json:
        rows = [_as_json(one) for one in records]
        console.json(rows)
    else:
        console.table(COLUMNS, [_row(one) for one in records])
    return 0


def _use(
    opened: OpenWorkspace,
    number: int,
    sections: tuple[WikiSection, ...],
    *,
    is_named: bool,
) -> None:
    """Use a record for one of these wikis.

    Raises:
        UsageError: there is no such record, it is another wiki's, or it is not
            clear which wiki is meant.
    """
    records = {one.number: one for one in opened.state.records()}
    record = records.get(number)
    if record is None:
        there = ", ".join(str(one.number) for one in records.values() if one.pages)
        raise UsageError(
            f"there is no record {number}", hint=f"the records are: {there or 'none'}"
        )
    if not is_named:
        sections = tuple(
            one
            for one in sections
            if (
                one.folder == record.folder
                if record.folder
                else one.owner == record.owner
            )
        )
    if len(sections) != 1:
        raise UsageError(
            f"record {number} belongs to no wiki that the workspace has in"
            f" {record.folder or 'a folder'} now",
            hint=f"name the wiki: wikisync records --use {number} FOLDER",
        )
    (section,) = sections
    others = {
        opened.known(one).number
        for one in opened.workspace.config.wikis
        if one is not section
    }
    if number in others:
        raise UsageError(
            f"record {number} is in use for another wiki of the workspace",
            hint="see wikisync records",
        )
    known = opened.state.bind(section.owner, number)
    # whatever id the wiki has: a person says that it is this one
    known.note_remote_id("")
    known.note_folder(section.folder)


def _row(record: WikiRecord) -> tuple[object, ...]:
    at = record.last_good_at
    return (
        record.number,
        record.folder,
        record.owner,
        record.remote_id,
        record.service_url,
        record.pages,
        "" if at is None else ago(max(0.0, time.time() - at)),
        "in use" if record.is_in_use else "set aside",
    )


def _as_json(record: WikiRecord) -> dict[str, object]:
    return {
        "record": record.number,
        "folder": record.folder,
        "kind": record.owner.kind,
        "path": record.owner.full_path,
        "id": int(record.remote_id) if record.remote_id.isdigit() else None,
        "service": record.service_url,
        "pages": record.pages,
        "last_good_at": record.last_good_at,
        "is_in_use": record.is_in_use,
    }
