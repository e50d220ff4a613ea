"""A site in sync with its wikis: each new version takes the last one's place at once.

    .site.versions/next      the version that is being built, beside the site
    .site.versions/00000007  earlier ones, a few
    site                     the site: a folder, or a link to one of the versions

A version begins as the last one, its files linked, so that a build writes only what
changed; files are never written in place, and so none of an earlier version changes.
Then folder and version are exchanged in one step of the kernel, or the link is
replaced.  A reader gets a page of the old site or of the new one, and a build that
fails leaves the last good site.

The version that is one too many becomes the next one: made equal to the site again, it
costs the files that changed since, and no link for each file of the site.

A bucket may get it (``bucket``), and a command may follow (rsync, a deploy).  What goes
wrong with them is a problem: the site stands, and the next call tries again.
"""

import contextlib
import logging
import os
import shutil
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from msgspec import Struct
from msgspec.structs import replace

from wikisync.core.messages import Progress
from wikisync.core.model import Problem
from wikisync.core.system import processes
from wikisync.core.system.libc import NotSupported, swap_paths
from wikisync.core.system.locks import close_locked, open_locked_folder
from wikisync.core.system.parallel import finish_in_thread
from wikisync.core.system.processes import AsyncChild
from wikisync.errors import SiteError, WikisyncError
from wikisync.site.build import build_site, checked_sources
from wikisync.site.manifest import MayLeave, nothing_may_leave
from wikisync.site.model import BuildReport, SiteOptions, WikiSource
from wikisync.site.output import open_output

KEEP_DEFAULT = 1
"""Earlier versions that stay."""
AFTER_SECONDS_MAX = 600
"""For the command; an upload of a large site takes minutes."""
AFTER_REST_S = 1.0
"""How long its output is read after its end."""
AFTER_LINES_MAX = 1000
AFTER_LINE_CHARS_MAX = 500
_CHUNK_BYTES = 8192
_PENDING = "after-pending"
"""Marks that the command has still to succeed for the version that is shown."""
_DIGITS = 8

log = logging.getLogger(__name__)


class AfterCommand(Struct, frozen=True):
    """What is run when a new version is in place."""

    command: tuple[str, ...]
    """Words, without a shell; the variable ``WIKISYNC_SITE`` names the site."""
    folder: Path
    environment: Mapping[str, str]
    """Whole; secrets are left out."""
    seconds_max: float = AFTER_SECONDS_MAX


class Published(Struct, frozen=True):
    """What one call did."""

    report: BuildReport
    is_switched: bool
    """A new version is in place; else the site was as it should be."""
    problems: tuple[Problem, ...] = ()
    """Of publishing; those of pages are in the report."""


async def publish(
    wikis: Sequence[WikiSource],
    output: Path,
    options: SiteOptions,
    *,
    cache: Path,
    keep: int = KEEP_DEFAULT,
    bucket: str = "",
    after: AfterCommand | None = None,
    may_leave: MayLeave = nothing_may_leave,
    progress: Progress | None = None,
) -> Published:
    """Bring a published site up to date, and run a command where that changed it.

    What failed the last time, upload or command, is tried again.

    Cancelled, it ends the build that runs, or kills the command; the site is the
    last one or the new one.

    Raises:
        UsageError: a wiki would leave the site that may not.
        SiteError: it cannot be built or put in place; the last good site stays.
        FolderError: the folder of a wiki cannot be read.
    """

    def built() -> Published:
        """Build a new version and put it in place at once, where anything changed."""
        checked_sources(wikis, output, options)
        place = _Place(output)
        with place.held():
            place.begin()
            report = build_site(
                wikis,
                place.next,
                options,
                cache=cache,
                may_leave=may_leave,
                progress=progress,
            )
            is_new = not place.has_site or bool(report.written or report.removed)
            problems: tuple[Problem, ...] = ()
            if is_new:
                if after is not None:  # also if the power goes
                    (versions_folder(output) / _PENDING).touch()
                problems = place.switch()
                log.info("the site %s is a new version", output)
            place.prune(keep)
        return Published(report, is_new, problems)

    published = await finish_in_thread(built)
    if bucket and (problem := await _sent(output, bucket)):
        return replace(published, problems=(*published.problems, problem))
    pending = versions_folder(output) / _PENDING
    if after is None or not pending.exists():
        return published
    problems = await run_after(after, output)
    if not problems:
        pending.unlink(missing_ok=True)
    return replace(published, problems=(*published.problems, *problems))


async def _sent(output: Path, url: str) -> Problem | None:
    from wikisync.site.bucket import open_bucket, send  # slow to load

    try:
        done = await send(output, open_bucket(url))
    except WikisyncError as error:
        hint = error.hint or "the next build tries it again"
        return Problem("bucket-failed", url, error.message, hint)
    if done.put or done.removed:
        log.info("%s: %d files put, %d removed", url, done.put, done.removed)
    return None


def versions_folder(output: Path) -> Path:
    """Where the versions of a site lie: beside it, on the same disk."""
    return output.parent / f".{output.name}.versions"


class _Place:
    def __init__(self, output: Path) -> None:
        self._output = output
        self._versions = versions_folder(output)
        self.next = self._versions / "next"
        self.has_site = False
        """Whether there was a site when the next version was begun."""
        self._old = self._versions / "old"
        self._is_shared = False
        """Whether the next version shares its files with the site."""

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the versions against another wikisync; raises ``SiteError``."""
        try:
            self._versions.mkdir(parents=True, exist_ok=True)
            descriptor = open_locked_folder(self._versions, follows_links=False)
        except BlockingIOError as exc:
            raise SiteError(
                f"another wikisync is publishing {self._output}",
                hint="wait until it is done",
            ) from exc
        except OSError as exc:
            raise _failed(self._versions, exc) from exc
        try:
            yield
        except OSError as exc:
            raise _failed(self._output, exc) from exc
        finally:
            close_locked(descriptor)

    def begin(self) -> None:
        """Begin the next version as the present site; raises ``SiteError``."""
        self.has_site = os.path.lexists(self._output)
        if self._old.is_dir():
            # an interrupt between the steps of a disk that cannot exchange
            self._remove_next()
            self._old.rename(self.next if self.has_site else self._output)
            self.has_site = True
        if not self.has_site:
            self._remove_next()
            return
        if self._output.is_symlink() and not self._output.is_dir():
            raise SiteError(
                f"{self._output} is a dangling symbolic link",
                hint="remove it, or set [site] output to another folder",
            )
        # refuses what is not ours before anything is copied
        open_output(self._output)
        self._is_shared = make_linked_copy(self._output, self.next)

    def switch(self) -> tuple[Problem, ...]:
        """Put the next version in the site's place."""
        if self._output.is_symlink():
            version, link = self._kept_as(), self._versions / "link"
            link.unlink(missing_ok=True)
            link.symlink_to(os.path.relpath(version, self._output.parent))
            link.replace(self._output)
            return ()
        if not self.has_site:
            self.next.rename(self._output)
            return ()
        try:
            swap_paths(self.next, self._output)
        except NotSupported:
            return self._replace_in_two_steps()
        self._kept_as()
        return ()

    def prune(self, keep: int) -> None:
        """Remove the oldest versions but that shown; one becomes the next.

        Made equal to the site now, that holds no page which left it.
        """
        shown = self._output.resolve()
        earlier = [one for one in self._numbered() if one.resolve() != shown]
        surplus = earlier[: max(len(earlier) - keep, 0)]
        if surplus and self._is_shared and not self.next.exists():
            surplus.pop().rename(self.next)
            make_linked_copy(self._output, self.next)
        for version in surplus:
            shutil.rmtree(version)

    def _remove_next(self) -> None:
        if os.path.lexists(self.next):
            shutil.rmtree(self.next)

    def _kept_as(self) -> Path:
        last = self._numbered()[-1:]
        number = int(last[0].name) + 1 if last else 1
        version = self._versions / f"{number:0{_DIGITS}}"
        self.next.rename(version)
        return version

    def _replace_in_two_steps(self) -> tuple[Problem, ...]:
        """For disks that cannot exchange: there is no site for an instant."""
        self._output.rename(self._old)
        try:
            self.next.rename(self._output)
        except OSError:
            self._old.rename(self._output)
            raise
        self._old.rename(self.next)
        self._kept_as()
        problem = Problem(
            "not-at-once",
            str(self._output),
            "this disk cannot swap folders atomically: the site was missing for an"
            " instant",
            "put the site on another disk, or make it a symbolic link to a folder",
        )
        return (problem,)

    def _numbered(self) -> list[Path]:
        return sorted(
            path
            for path in self._versions.iterdir()
            if path.name.isdigit() and path.is_dir() and not path.is_symlink()
        )


# The version before ---------------------------------------------------------------


def make_linked_copy(source: Path, copy: Path) -> bool:
    """Make a folder, which nobody reads now, equal to another one by links.

    Inodes tell equal files, so a second call goes on where an interrupt ended the
    first. No symbolic link is followed.

    Returns:
        Whether all files are shared: a disk without links copies them each time.
    """
    copy.mkdir(exist_ok=True)
    with contextlib.suppress(PermissionError):  # it may be another user's
        shutil.copystat(source, copy)
    with os.scandir(source) as entries:
        wanted = {entry.name: entry for entry in entries}
    # inodes of two disks have nothing to do with each other
    is_one_disk = source.stat().st_dev == copy.stat().st_dev
    there = set()
    is_shared = True
    for entry in list(os.scandir(copy)):
        other = wanted.get(entry.name)
        if other and _is_one_file(other, entry, is_one_disk=is_one_disk):
            there.add(entry.name)
        elif _is_folder(entry):
            shutil.rmtree(entry)
        else:
            Path(entry).unlink()
    for name, entry in wanted.items():
        if _is_folder(entry):
            is_shared &= make_linked_copy(Path(entry), copy / name)
        elif name not in there:
            try:
                os.link(entry.path, copy / name, follow_symlinks=False)
            except OSError:
                shutil.copy2(entry.path, copy / name, follow_symlinks=False)
                is_shared = False
    return is_shared


def _is_one_file(
    one: os.DirEntry[str], other: os.DirEntry[str], *, is_one_disk: bool
) -> bool:
    if _is_folder(one) or _is_folder(other):
        return _is_folder(one) and _is_folder(other)
    return is_one_disk and one.inode() == other.inode()


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


# The command ----------------------------------------------------------------------


async def run_after(after: AfterCommand, site: Path) -> tuple[Problem, ...]:
    """Run a command and log its output; its failure is a problem, a cancel kills it."""
    import asyncio  # slow to load

    environment = {**after.environment, "WIKISYNC_SITE": _absolute(site)}
    source, target = os.pipe()
    with os.fdopen(source, "rb", 0) as output:
        try:
            process = await processes.start_program_async(
                after.command,
                folder=after.folder,
                environment=environment,
                stdout=target,
                stderr=processes.STDOUT,
            )
        except OSError as exc:
            return (_after_failed(after, f"cannot be started: {exc.strerror}"),)
        finally:
            os.close(target)
        try:
            async with asyncio.timeout(after.seconds_max):
                code, last = await _ended(process, output)
        except BaseException as exc:
            await processes.end_session(process)
            if isinstance(exc, TimeoutError):
                took = f"took more than {after.seconds_max:g} s"
                return (_after_failed(after, took),)
            raise
    if code == 0:
        return ()
    said = f": {last}" if last else ""
    return (_after_failed(after, f"ended with exit code {code}{said}"),)


async def _ended(process: AsyncChild, output: IO[bytes]) -> tuple[int, str]:
    """Exit code and last line of a program."""
    import asyncio  # slow to load

    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    pipe, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), output
    )
    with contextlib.closing(pipe):
        async with asyncio.TaskGroup() as group:
            logged = group.create_task(_logged(reader.read))
            code = await process.wait()
            # what it left running, such as a shared connection, may hold its output
            loop.call_later(AFTER_REST_S, pipe.close)
    return code, logged.result()


def _absolute(path: Path) -> str:
    return os.fspath(path.absolute())


async def _logged(read: Callable[[int], Awaitable[bytes]]) -> str:
    rest, last, count = "", "", 0
    while chunk := await read(_CHUNK_BYTES):
        *lines, rest = (rest + chunk.decode("utf-8", "replace")).split("\n")
        rest = rest[:AFTER_LINE_CHARS_MAX]
        for line in lines:
            count += 1
            last = line.strip()[:AFTER_LINE_CHARS_MAX] or last
            if count <= AFTER_LINES_MAX:
                log.info("after: %s", line[:AFTER_LINE_CHARS_MAX])
    if count > AFTER_LINES_MAX:
        log.info("after: %d more lines", count - AFTER_LINES_MAX)
    return rest.strip() or last


def _after_failed(after: AfterCommand, reason: str) -> Problem:
    return Problem(
        "after-failed",
        after.command[0],
        f"the command after a new version of the site {reason}",
        "it runs again after the next build; run it by hand to see why it fails",
    )


def _failed(path: Path, exc: OSError) -> SiteError:
    return SiteError(
        f"cannot publish {path}: {exc.strerror or exc}",
        hint="the last good site is kept; fix the cause and build again",
    )
