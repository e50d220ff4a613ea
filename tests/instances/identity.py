"""Cases of projects and services that change names and places."""

from pathlib import Path

from tests.instances.cases import case
from tests.instances.stage import Play, eventually
from tests.support import moved
from tests.support.bending import bending_proxy
from tests.support.commands import Ran
from tests.support.service import embedded_service
from tests.support.watching import watching
from tests.support.workspaces import FILES, HANDBOOK, PAGES
from wikisync.core.model import WikiOwner
from wikisync.service import jobs
from wikisync.service.projects import tables as project_tables

PART = "Identity"
CHANGED = {
    "home.md": "edited here\n",
    "new-here.md": "new here\n",
    "guide.md": "edited there\n",
    "new-there.md": "there\n",
}
"""What ``change_both_sides`` comes to."""


async def theirs_is_untouched(play: Play, theirs: dict[str, str]) -> None:
    """Nothing of ours is in another team's wiki, and nothing of theirs is here."""
    expected = {f"{slug}.md": text for slug, text in theirs.items()}
    play.safe(await play.on_wiki() == expected, "the other team's wiki was written to")
    strange = {slug for slug in theirs if slug not in PAGES}
    came = {f"{slug}.md" for slug in strange} & play.cloned.files().keys()
    play.safe(not came, f"pages of another team came: {sorted(came)}")


@case(PART, "renamed")
async def _renamed(play: Play) -> None:
    await play.begin(site=False)
    await moved.rename(play.cloned)
    play.cloned.write("guide.md", "edited here\n")
    ran = await play.sync()
    play.ended(ran, 0)
    for command in ("status", "doctor"):
        looked = await play.run(command, "-C", play.root)
        play.told(looked, "docs/handbook is docs/guide now")
    play.told(ran, 'write project = "docs/guide" into wikisync.toml')
    found = await play.on_wiki(moved.GUIDE)
    play.safe(found == {**FILES, "guide.md": "edited here\n"}, "the edit is lost")


@case(PART, "moved to another group")
async def _moved(play: Play) -> None:
    await play.begin(site=False)
    service = play.service
    await service.add_group("team")
    space = await service.ask(project_tables.namespace, "team")
    assert space is not None
    await service.ask(project_tables.transfer_project, 1, space)
    play.cloned.write("guide.md", "edited here\n")
    ran = await play.sync()
    play.ended(ran, 0)
    play.told(ran, "docs/handbook is team/handbook now")
    found = await play.on_wiki(WikiOwner("project", "team/handbook"))
    play.safe(found == {**FILES, "guide.md": "edited here\n"}, "the edit is lost")


def path_reused(name: str, *words: str, short: bool = False) -> None:
    """A case in which another team has the path."""

    async def run(play: Play) -> None:
        await play.begin()
        await moved.put_another_there(play.cloned, moved.THEIRS)
        play.cloned.write("mine.md", "mine\n")
        before = play.cloned.files()
        ran = await play.sync(*words)
        play.ended(ran, 4)
        play.told(
            ran,
            "docs/handbook is another project now (id 2)",
            "yours (id 1) is docs/guide",
            'write project = "docs/guide" into wikisync.toml',
        )
        play.safe(play.cloned.files() == before, "the folder changed")
        await theirs_is_untouched(play, moved.THEIRS)
        exported = await play.export()
        play.right(exported.code != 0, "export ends with 0")
        play.safe(not play.shows("payroll"), "another team's page is published")
        play.safe(play.shows("be kind"), "our pages left the site")
        play.told(exported, "is another project now (id 2); yours (id 1) is docs/guide")
        moved.configure(play.cloned, '"docs/handbook"', '"docs/guide"')
        play.ended(await play.sync(), 0)
        ours = await play.on_wiki(moved.GUIDE)
        play.safe(ours == {**FILES, "mine.md": "mine\n"}, "the new page is not there")
        await theirs_is_untouched(play, moved.THEIRS)

    case(PART, name, short=short)(run)


path_reused("path reused by another team")
path_reused("path reused, sync --adopt push", "--adopt", "push", short=True)


@case(PART, "path reused, watch --adopt push")
async def _watch_adopts(play: Play) -> None:
    """The unit begins again, and writes to nobody."""
    await play.begin(site=False)
    await moved.put_another_there(play.cloned, moved.THEIRS)
    play.cloned.write("mine.md", "mine\n")
    async with watching(
        play.service, play.root, "--adopt", "push", url=play.proxy.url
    ) as watch:
        attention = play.root / "WIKISYNC-ATTENTION.md"
        play.right(await eventually(attention.exists), "no attention")
        play.cloned.write("home.md", "edited later\n")
        play.ended(await play.run("status", "-C", play.root), 4)
    play.told("\n".join(watch.lines), "docs/handbook is another project now (id 2)")
    await theirs_is_untouched(play, moved.THEIRS)
    play.safe((await play.on_wiki(moved.GUIDE)) == FILES, "the old project was changed")


@case(PART, "recreated under the same path")
async def _recreated(play: Play) -> None:
    await play.begin(site=False)
    play.service.set_deletion(delay_days=0)
    words = ("project", "delete", play.service.url, "docs/handbook", "--yes")
    play.ended(await play.run(*words), 0)
    await jobs.purge(play.service.running)
    await play.service.add_project("docs/handbook", {"home": "theirs\n"})
    ran = await play.sync("--adopt", "push")
    play.ended(ran, 4)
    play.told(
        ran,
        "yours (id 1) was deleted or is hidden from this token",
        "run: wikisync adopt handbook",
    )
    play.safe(play.cloned.files() == FILES, "the folder changed")
    await theirs_is_untouched(play, {"home": "theirs\n"})


@case(PART, "two projects that changed places")
async def _swapped(play: Play) -> None:
    await play.begin(site=False)
    await play.service.add_project("docs/other", {"start": "other\n"})
    file = play.root / "wikisync.toml"
    more = '\n[[wiki]]\nproject = "docs/other"\nid = 2\nfolder = "other"\n'
    file.write_text(file.read_text() + more)
    play.ended(await play.sync(), 0)
    for number, path in ((1, "third"), (2, "handbook"), (1, "other")):
        columns = {"path": path}
        await play.service.ask(project_tables.change_project, number, columns, {})
    play.cloned.write("home.md", "edited here\n")
    # the wiki's place was confirmed a moment ago: only a change asks for it again
    (play.root / "other" / "start.md").write_text("edited here\n")
    ran = await play.sync()
    play.ended(ran, 4)
    play.told(ran, "yours (id 1) is docs/other", "yours (id 2) is docs/handbook")
    other = await play.on_wiki(WikiOwner("project", "docs/other"))
    play.safe(other == FILES, "our wiki was changed")
    play.safe(await play.on_wiki() == {"start.md": "other\n"}, "theirs was changed")


@case(PART, "one sync against a staging copy")
async def _staging(play: Play) -> None:
    await play.begin(site=False)
    real = play.token
    async with embedded_service(play.scratch / "staging") as staging:
        await staging.add_project("docs/first", {})
        theirs = {**PAGES, "home": "staging\n"}
        await staging.add_project("docs/handbook", theirs)
        play.token = staging.token
        moved.configure(play.cloned, play.proxy.url, staging.url)
        ran = await play.sync("--adopt", "push")
        play.ended(ran, 4)
        play.told(ran, "has other pages", "run: wikisync adopt handbook")
        play.safe(play.cloned.files() == FILES, "the folder changed")
        found = await staging.files(HANDBOOK)
        play.safe(found["home.md"] == b"staging\n", "staging was changed")
    play.token = real
    moved.configure(play.cloned, staging.url, play.proxy.url)
    await moved.change_both_sides(play.cloned, HANDBOOK)
    play.ended(await moved.sync_for_long(play.cloned), 0)
    await play.agree(CHANGED)


@case(PART, "new domain")
async def _domain(play: Play) -> None:
    await play.begin(site=False)
    play.ended(await play.sync(), 0)  # a clone notes no commit
    async with bending_proxy(play.service.url) as other:
        moved.configure(play.cloned, play.proxy.url, other.url)
        await moved.change_both_sides(play.cloned, HANDBOOK)
        ran = await moved.sync_for_long(play.cloned)
        play.ended(ran, 0)
        play.told(ran, "it is the same wiki")
    await play.agree(CHANGED)


@case(PART, "path corrected in the file", short=True)
async def _corrected(play: Play) -> None:
    await play.begin(site=False)
    moved.configure(play.cloned, "id = 1\n", "")
    await moved.rename(play.cloned)
    moved.configure(play.cloned, '"docs/handbook"', '"docs/guide"')
    await moved.change_both_sides(play.cloned, moved.GUIDE)
    ran = await moved.sync_for_long(play.cloned)
    play.ended(ran, 0)
    play.safe(play.cloned.files() == CHANGED, "the folder differs")
    play.safe(await play.on_wiki(moved.GUIDE) == CHANGED, "the wiki differs")


@case(PART, "same wiki twice (g/x, G/X)")
async def _twice(play: Play) -> None:
    await play.begin(site=False)
    file = play.root / "wikisync.toml"
    more = '\n[[wiki]]\nproject = "Docs/Handbook"\nfolder = "again"\n'
    file.write_text(file.read_text() + more)
    before = play.cloned.files()
    ran: Ran = await play.sync()
    play.told(ran, "handbook")
    play.safe(play.cloned.files() == before, "the folder changed")
    play.safe(await play.on_wiki() == FILES, "the wiki changed")


@case(PART, "same wiki in a group and alone: once")
async def _once(play: Play) -> None:
    await play.service.add_group("docs", wiki=False)
    await play.service.add_project("docs/handbook", PAGES)
    chosen = ("--group", "docs", "--all", "--project", "docs/handbook")
    play.ended(await play.run("clone", play.proxy.url, *chosen, play.root), 0)
    folders = [
        one for one in play.root.iterdir() if one.is_dir() and Path(one).name[0] != "."
    ]
    play.right(len(folders) == 1, f"{len(folders)} folders")
    text = (play.root / "wikisync.toml").read_text()
    play.right(text.count("[[wiki]]") == 1, "two wikis in the file")
