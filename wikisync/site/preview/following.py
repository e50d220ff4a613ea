"""What changes in the folders of a site, and in the configuration that names them."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path

from wikisync.core.model import REDIRECTS_PATH
from wikisync.core.system.file_status import status_at
from wikisync.folder.ignore import CONFLICT_MARK
from wikisync.folder.watch import Notice, is_watched, log_notice, watch_folders
from wikisync.site.preview.site import LiveSite

SETTINGS_LOOK_S = 1.0
"""Between two looks at the file of the configuration, which lies beside the folders."""


async def follow_folders(
    site: LiveSite,
    settings: Path | None,
    refresh: Callable[[frozenset[str] | None], Awaitable[None]],
    notice: Notice = log_notice,
    look: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Take over what changed, first of all everything; for these paths, or anything.

    Other folders are watched where others are named; ``look`` is asked now and then.
    """

    async def watch() -> None:
        hints = watch_folders(roots, is_wanted=_is_shown, notice=notice, rests=False)
        async with contextlib.aclosing(hints):
            async for hint in hints:
                await refresh(None if hint.is_everything else hint.paths)

    stamp = status_at(settings)
    while True:
        roots = site.roots()
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(watch())
            while site.roots() == roots:
                await asyncio.sleep(SETTINGS_LOOK_S)
                if look is not None:
                    await look()
                if (now := status_at(settings)) != stamp:
                    stamp = now
                    await refresh(None)
            watching.cancel()


def _is_shown(path: str) -> bool:
    """Whether a path of a wiki or a theme matters to a site."""
    folder, slash, name = path.rpartition("/")
    shown = folder + slash + name.replace(CONFLICT_MARK, "", 1)
    return path == REDIRECTS_PATH or is_watched(shown)
