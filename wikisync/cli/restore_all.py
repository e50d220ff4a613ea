"""``wikisync restore --all --since``: undo in the folders what happened since a time.

Every page that was removed or replaced here becomes what it was then.  What was
created since stays, and what is in a file now is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from wikisync.cli.console import Console
from wikisync.errors import ExitCode, WikisyncError
from wikisync.workspace.configured import ConfiguredWorkspace
from wikisync.workspace.restoring import Earlier, restore_pages
from wikisync.workspace.sentences import counted, with_hint
from wikisync.workspace.times import local_time


def restore_since(
    console: Console,
    workspace: ConfiguredWorkspace,
    scope: str | None,
    since: float,
    *,
    is_wanted: bool | None,
    as_json: bool,
) -> int:
    """Bring back every page of a workspace, or below a directory in it.

    Args:
        console: For the result.
        workspace: Which one.
        scope: A wiki, a directory in one or a page; all wikis for None.
        since: In seconds since the epoch.
        is_wanted: False to show only what would be done; None to ask a person, and
            to show it where there is none.
        as_json: Print the result as JSON.

    Returns:
        The exit code: 1 where a page could not be brought back.
    """
    is_real = bool(is_wanted)
    restoring = restore_pages(workspace, scope, since, is_real=is_real)
    done, failed = asyncio.run(restoring)
    if is_wanted is None and done and not as_json:
        _show(console, done, since, is_real=False)
        if not console.ask("restore these pages?"):
            console.note("nothing was changed; run it again with --yes to restore them")
            return ExitCode.DONE
        restoring = restore_pages(workspace, scope, since, is_real=True)
        done, failed = asyncio.run(restoring)
        is_real = True
    if as_json:
        console.json(_as_json(done, failed, is_real=is_real))
    else:
        _show(console, done, since, is_real=is_real)
    for name, error in failed.items():
        console.warn(with_hint(f"{name} was not restored: {error.message}", error.hint))
    return 1 if failed else 0


# -- shown -------------------------------------------------------------------------


def _as_json(
    done: Sequence[Earlier], failed: Mapping[str, WikisyncError], *, is_real: bool
) -> dict[str, object]:
    return {
        "is_written": is_real,
        "pages": [
            {
                "page": one.name,
                "what": one.what,
                "until": one.version.at,
                "from": one.version.where,
                "bytes": _size(one),
            }
            for one in done
        ],
        "failed": [
            {"page": name, "error": error.message} for name, error in failed.items()
        ],
    }


def _size(one: Earlier) -> int:
    return len(one.version.text.encode("utf-8", "surrogatepass"))


def _show(
    console: Console, done: Sequence[Earlier], since: float, *, is_real: bool
) -> None:
    if not done:
        console.note(
            f"the saved texts show no page that was deleted or replaced here since"
            f" {local_time(since)}"
        )
        return
    console.table(
        ["page", "was", "until", "bytes", "from"],
        [
            (
                one.name,
                one.what,
                "now" if one.version.at is None else local_time(one.version.at),
                _size(one),
                one.version.where,
            )
            for one in done
        ],
    )
    pages = counted(len(done), "page")
    console.note(
        f"restored {pages} as of {local_time(since)}; the next sync uploads them"
        if is_real
        else f"would restore {pages} as of {local_time(since)}"
    )
