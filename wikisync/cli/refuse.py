"""``wikisync refuse``: keep what a brake holds from happening."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wikisync.cli.service_command import token_option
from wikisync.cli.workspace import workspace_option

if TYPE_CHECKING:
    from wikisync.cli.console import Console


@click.command(name="refuse", epilog="Example: wikisync refuse handbook:1")
@click.argument("batch")
@workspace_option()
@token_option()
@click.pass_obj
def command(console: Console, start: Path, batch: str, token_file: Path | None) -> int:
    """Keep a batch from happening: pages that would be removed come back instead.

    BATCH is FOLDER:ID as status shows it, or the ID alone where that is clear.
    Edits that are refused stay where they are until their text changes.
    """
    from wikisync.cli.batches import decide_batch
    from wikisync.sync.safety import Decision

    return decide_batch(console, start, batch, Decision.REFUSED, token_file)
