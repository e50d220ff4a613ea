"""Work that goes on after the answer: copies for forks, sizes, packing, the purge.

What an interrupted job was doing is in the records, and taken up again.  A built-in
template is a README that names it, in one commit.
"""

import asyncio
import logging
import shutil
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from msgspec.structs import asdict

from wikisync.core.packaged import packaged_toml
from wikisync.core.system.running import beside
from wikisync.service.answers import PlainRefusal, Refusal
from wikisync.service.code import folder_size, is_sound, read_facts
from wikisync.service.committing import Author, GitRefused
from wikisync.service.editing import CommitPlan
from wikisync.service.git_process import GitFailed, GitInput, ignore
from wikisync.service.import_fetch import FetchFailed, fetch_repository, shown
from wikisync.service.instance import Service
from wikisync.service.listing import read_projects
from wikisync.service.projects import tables as project_tables
from wikisync.service.rows import Project
from wikisync.service.tables import Tables
from wikisync.service.tree import TreeTooLarge

log = logging.getLogger(__name__)

TEMPLATE_TYPE = "gitlab_custom_project_template"
URL_TYPE = "git"
BUILT_IN_TYPE = "gitlab_built_in_project_template"
BUILT_IN: Mapping[str, str] = packaged_toml(__package__, "templates.toml")
"""Name to title."""
IMPORTS_AT_ONCE = 2
"""Of each kind: those copied from here, and those fetched from elsewhere."""
PACK = (
    *("-c", "gc.auto=5000", "-c", "gc.pruneExpire=never", "-c", "gc.autoDetach=false"),
    *("gc", "--auto", "--quiet"),
)
"""Unreachable objects stay: a change that is under way may be about to use them.  Git
works within the bounds of its process, and ends with the service."""
MEASURED_MAX = 100
"""Projects that are measured before others may ask again."""


@asynccontextmanager
async def running_jobs(service: Service) -> AsyncIterator[None]:
    """Do the service's jobs while the block lasts, unfinished ones first."""
    async with beside(
        _for_ever(purge, service, service.wait_for_purge),
        _for_ever(measure_all, service, lambda: _measure_pause(service)),
        pack_now_and_then(service),
        service.deliveries.run(),
        *(
            import_one_by_one(service, service.imports(is_fetched=is_fetched))
            for is_fetched in [True, False] * IMPORTS_AT_ONCE
        ),
    ):
        unfinished = await service.records.ask(project_tables.unfinished_imports)
        for project_id, type_ in unfinished:
            service.imports(is_fetched=type_ == URL_TYPE).put_nowait(project_id)
        yield


async def import_one_by_one(service: Service, queue: asyncio.Queue[int]) -> None:
    """Take projects whose repository is to come, for ever."""
    while True:
        project_id = await queue.get()
        try:
            await run_import(service, project_id)
        except Exception:
            # one project's trouble must not end the service for all others
            log.exception("the import of project %d failed", project_id)
            try:
                await _end_import(service, project_id, "failed", "Internal error.")
            except sqlite3.Error:
                # a full disk keeps this out, too, and may have room then
                loop = asyncio.get_running_loop()
                pause_s = service.settings.measure_interval_s
                loop.call_later(pause_s, queue.put_nowait, project_id)
        finally:
            queue.task_done()


async def run_import(service: Service, project_id: int) -> None:
    """Fill a project's repository: scheduled, started, then finished or failed."""
    records = service.records
    found = await records.ask(read_projects, [project_id], None)
    if not found:
        return
    project = found[0]
    await records.ask(project_tables.set_import, project_id, "started")
    await service.wait_for_import()
    try:
        await _fill(service, project)
        if not await records.ask(read_projects, [project_id], None):
            # it was removed meanwhile, and nothing of it may stay
            await _remove_files(service, project_id)
            return
        await refresh_code(service, project_id)
    except (FetchFailed, GitRefused, Refusal, TreeTooLarge) as error:
        log.warning("cannot import project %s: %s", project.full_path, error)
        is_shown = isinstance(error, FetchFailed)
        text = str(error) if is_shown else "The repository could not be copied."
        await _end_import(service, project_id, "failed", text)
    else:
        await _end_import(service, project_id, "finished")


async def _fill(service: Service, project: Project) -> None:
    origin = project.origin
    assert origin.url is not None, "an import has a source"
    code = service.code(project.id)
    if origin.type == BUILT_IN_TYPE:
        creator = await service.records.ask(Tables.user_by_id, project.creator_id)
        author = Author(creator.name, creator.email) if creator else Author("", "")
        template = f"the template {BUILT_IN[origin.url]} (`{origin.url}`)"
        text = f"# {project.name}\n\nThis project was made from {template}.\n"
        writes = {"README.md": text.encode()}
        change = CommitPlan("Initialized from the project template", writes=writes)
        await code.change(lambda _tree: change, author)
    elif origin.type == URL_TYPE:
        imports = service.settings.imports
        with code.repository.copied_beside() as fresh:
            await fetch_repository(origin.url, fresh, imports)
    else:
        source = service.code_folder(int(origin.url))
        if not source.exists():
            # the source is empty, and so will be the copy
            service.code(int(origin.url)).repository.ensure()
        await asyncio.to_thread(
            code.repository.fill_from, str(source), origin.branch or None
        )


async def _end_import(
    service: Service, project_id: int, status: str, error: str | None = None
) -> None:
    """Note how an import ended; a password in its address is forgotten."""
    records = service.records
    address = None
    for project in await records.ask(read_projects, [project_id], None):
        if project.origin.type == URL_TYPE and project.origin.url is not None:
            address = shown(project.origin.url)
    await records.ask(project_tables.set_import, project_id, status, error, address)


async def refresh_code(service: Service, project_id: int) -> None:
    """Read again what is shown of a repository, after it was changed."""
    repository = service.code(project_id).repository
    columns = asdict(await asyncio.to_thread(read_facts, repository))
    languages = columns.pop("languages")
    await service.records.ask(
        project_tables.set_code_facts, project_id, columns, languages
    )


async def _for_ever(
    work: Callable[[Service], Awaitable[None]],
    service: Service,
    pause: Callable[[], Awaitable[None]],
) -> None:
    """Do the work again after each pause; what fails is tried again then."""
    while True:
        try:
            await work(service)
        except Exception:
            log.exception("%s failed", work.__name__)
        await pause()


async def _measure_pause(service: Service) -> None:
    await asyncio.sleep(service.settings.measure_interval_s)


async def measure_all(service: Service) -> None:
    """Measure every project that changed."""
    await service.records.ask(project_tables.forget_measures)
    while await measure(service):
        pass


async def measure(service: Service, ids: list[int] | None = None) -> bool:
    """Measure projects that changed since they were last measured; whether any did."""
    records = service.records
    taken = await records.ask(project_tables.take_unmeasured, MEASURED_MAX, ids)
    for project_id in taken:
        code, wiki = service.code_folder(project_id), service.wiki_folder(project_id)
        figures = await asyncio.to_thread(_figures, code, wiki)
        await records.ask(project_tables.set_sizes, project_id, figures)
    return bool(taken)


def _figures(code: Path, wiki: Path) -> dict[str, int]:
    sizes = {"repository_size": folder_size(code), "wiki_size": folder_size(wiki)}
    broken = {"repository": not is_sound(code), "wiki": not is_sound(wiki)}
    return sizes | {f"{name}_checksum_failed": int(is_) for name, is_ in broken.items()}


async def pack_now_and_then(service: Service) -> None:
    """Let git pack repositories that changed and have many files, for ever."""
    given = GitInput(memory_bytes_max=service.settings.git.push_memory_bytes_max)
    while True:
        await _measure_pause(service)
        while service.grown:
            repository = service.grown.pop()
            try:
                await service.git.run(PACK, repository.path, ignore, given)
            except (GitFailed, PlainRefusal, OSError) as error:
                # one repository's trouble must not end the packing of all others
                log.warning("%s is not packed: %s", repository.path.name, error)
            # else it holds the removed packs open, and their room on the disk
            await asyncio.to_thread(repository.close_packs)


async def purge(service: Service) -> None:
    """Remove the projects whose days are over, files first; the next does the rest."""
    delay = timedelta(days=service.settings.deletion.delay_days)
    for project_id in await service.records.ask(project_tables.due_projects, delay):
        await service.records.ask(Tables.update, "project", project_id, {"is_going": 1})
        await _remove_files(service, project_id)
        await service.records.ask(project_tables.remove_project, project_id)
        log.info("project %d was removed", project_id)


async def _remove_files(service: Service, project_id: int) -> None:
    for folder in service.folders_of(project_id):
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    service.forget(project_id)
