"""``wikisync refuse``: keep what a safety stop holds from happening."""

from __future__ import annotations

from pathlib import Path

import click

from wikisync.cli.batches import decide_batch
from wikisync.cli.console import Console
from wikisync.cli.options import workspace_option
from wikisync.cli.service_command import token_option
from wikisync.sync.decide.safety import Decision


@click.command(name="refuse", epilog="Example: wikisync refuse handbook:1")
@click.argument("batch")
@workspace_option
@token_option
@click.pass_obj
def command(console: Console, start: Path, batch: str, token_file: Path | None) -> int:
    """Reject a held batch; pages that it would delete are restored.

    BATCH is FOLDER:ID as shown by `wikisync status`, or the ID alone if it is unique.
    Rejected edits are not synced until their text changes.
    """
    return decide_batch(console, start, batch, Decision.REFUSED, token_file)
