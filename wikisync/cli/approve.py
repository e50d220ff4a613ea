"""``wikisync approve``: let what a safety stop holds go ahead."""

from __future__ import annotations

from pathlib import Path

import click

from wikisync.cli.batches import decide_batch
from wikisync.cli.console import Console
from wikisync.cli.options import workspace_option
from wikisync.cli.service_command import token_option
from wikisync.sync.decide.safety import Decision


@click.command(name="approve", epilog="Example: wikisync approve handbook:1")
@click.argument("batch")
@workspace_option
@token_option
@click.pass_obj
def command(console: Console, start: Path, batch: str, token_file: Path | None) -> int:
    """Approve a batch that was held because it deletes or changes many pages.

    BATCH is FOLDER:ID as shown by `wikisync status`, or the ID alone if it is unique.
    The approval covers exactly the texts in the batch; later edits need a new approval.
    """
    return decide_batch(console, start, batch, Decision.APPROVED, token_file)
