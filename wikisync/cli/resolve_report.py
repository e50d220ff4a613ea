"""What ``wikisync resolve`` says, to people and to programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from wikisync.cli.console import Console
from wikisync.cli.sync_report import report_sync, wiki_as_json
from wikisync.workspace.syncing import Synced

Outcome = Literal["synced", "settled", "unsettled", "no-conflict"]
"""``settled``: written for the running process, which syncs it."""


class ResolveReport:
    """Reports what came of one page."""

    def __init__(self, console: Console, page: str, *, as_json: bool) -> None:
        """Name the page as ``folder/slug``."""
        self._console = console
        self._page = page
        self._as_json = as_json

    def synced(self, done: Sequence[Synced]) -> None:
        """Report a sync of the page."""
        if self._as_json:
            self._print("synced", "", done)
        else:
            report_sync(self._console, done, as_json=False, is_dry_run=False)

    def ended(
        self, outcome: Outcome, sentence: str, done: Sequence[Synced] = ()
    ) -> None:
        """Report why it was not synced, after what a sync before that reported."""
        if self._as_json:
            self._print(outcome, sentence, done)
            return
        if done:
            self.synced(done)
        if outcome == "unsettled":
            self._console.warn(sentence)
        else:
            self._console.note(sentence)

    def _print(self, outcome: Outcome, sentence: str, done: Sequence[Synced]) -> None:
        answer = {
            "page": self._page,
            "outcome": outcome,
            "sentence": sentence,
            "wikis": [wiki_as_json(one) for one in done],
        }
        self._console.json(answer)
