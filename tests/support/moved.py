"""Projects and services that change places, as several packages' tests play it."""

from tests.support.agreed import agree_to
from tests.support.commands import Ran
from tests.support.service import EmbeddedService
from tests.support.workspaces import HANDBOOK, PAGES, Cloned, age_sightings
from wikisync.core.model import WikiOwner
from wikisync.service import jobs

GUIDE = WikiOwner("project", "docs/guide")
STRANGE = WikiOwner("project", "docs/strange")


async def rename(cloned: Cloned, path: str = "guide") -> None:
    """Somebody gives the project another path."""
    ran = await cloned.run_main(
        "project", "edit", cloned.service.url, "docs/handbook", "--path", path
    )
    assert ran.code == 0, ran.err


async def delete(cloned: Cloned) -> None:
    """Somebody deletes the project, and the service keeps none of it."""
    cloned.service.set_deletion(delay_days=0)
    url = cloned.service.url
    ran = await cloned.run_main("project", "delete", url, "docs/handbook", "--yes")
    assert ran.code == 0, ran.err
    await jobs.purge(cloned.service.running)


async def put_another_there(cloned: Cloned, pages: dict[str, str]) -> int:
    """Rename the project, and let another team have its path."""
    await rename(cloned)
    return await cloned.service.add_project("docs/handbook", pages)


async def give_id_to_a_stranger(cloned: Cloned) -> dict[str, bytes]:
    """The id that the folder knows is that of another project; gives its files."""
    pages = dict.fromkeys(PAGES, "strange\n")
    number = await cloned.service.add_project(STRANGE.full_path, pages)
    with cloned.state() as state:
        known = state.wiki(HANDBOOK)
        known.remember(
            remote_id=f"{known.memory.remote_id.rpartition(' ')[0]} {number}"
        )
    return await cloned.service.files(STRANGE)


def configure(cloned: Cloned, old: str, new: str) -> None:
    """Change a part of ``wikisync.toml``."""
    file = cloned.root / "wikisync.toml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    agree_to(cloned.root)


def without_id(cloned: Cloned) -> None:
    """A configuration from before ids stood in it."""
    configure(cloned, "id = 1\n", "")


async def texts(service: EmbeddedService, owner: WikiOwner) -> dict[str, str]:
    files = await service.files(owner)
    return {path: text.decode() for path, text in files.items()}


THEIRS = {"home": "payroll\n", "payroll": "secret\n"}


async def sync_for_long(cloned: Cloned) -> Ran:
    """Syncs, so far apart that what is missing on either side is surely deleted.

    Gives the last one with what all of them said.
    """
    ran = await cloned.run("sync")
    out, err = ran.out, ran.err
    for _ in range(2):
        with cloned.state() as state:
            for owner in (HANDBOOK, GUIDE):
                age_sightings(state.wiki(owner), 100.0)
        ran = await cloned.run("sync")
        out, err = out + ran.out, err + ran.err
    return Ran(ran.code, out, err)


async def change_both_sides(
    cloned: Cloned, owner: WikiOwner, service: EmbeddedService | None = None
) -> None:
    service = service or cloned.service
    cloned.write("home.md", "edited here\n")
    cloned.write("new-here.md", "new here\n")
    (cloned.folder / "team/people.md").unlink()
    await service.add_pages(owner, {"guide": "edited there\n", "new-there": "there\n"})
    await service.remove_file(owner, "team/rules.md")


async def assert_all_is_carried(
    cloned: Cloned, owner: WikiOwner, ran: Ran, service: EmbeddedService | None = None
) -> None:
    assert ran.code == 0, ran.err
    expected = {
        "home.md": "edited here\n",
        "new-here.md": "new here\n",
        "guide.md": "edited there\n",
        "new-there.md": "there\n",
    }
    assert await texts(service or cloned.service, owner) == expected
    assert cloned.files() == expected
