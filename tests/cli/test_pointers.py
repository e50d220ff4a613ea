"""Files and pages that hold only a pointer to their content: it replaces nothing."""

import pytest

from tests.support.workspaces import FILES, HANDBOOK, Cloned

OID = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393"
LFS = f"version https://git-lfs.github.com/spec/v1\noid sha256:{OID}\nsize 12345\n"
ANNEX = f"/annex/objects/SHA256E-s1048576--{OID}.md\n"


@pytest.mark.parametrize("pointer", [LFS, ANNEX, f"../.git{ANNEX.rstrip()}"])
async def test_page_that_became_a_pointer_is_held(cloned: Cloned, pointer: str) -> None:
    cloned.write("guide.md", pointer)
    cloned.write("new.md", pointer)
    for words in (("sync", "--dry-run"), ("status",)):
        told = (await cloned.run(*words)).told
        assert told.count("only a pointer to its text is left") == 2
    ran = await cloned.run("sync")
    assert ran.code == 3
    assert ran.err.count("only a pointer to its text is left") == 2
    assert await cloned.wiki() == FILES
    # an edit of the wiki makes no conflict of it
    await cloned.edit({"guide": "newer\n"})
    ran = await cloned.run("sync")
    assert (ran.code, cloned.read("guide.md")) == (3, pointer)
    assert not (cloned.folder / "guide.conflict.md").exists()
    cloned.write("guide.md", "a guide\n")
    cloned.write("new.md", "new\n")
    ran = await cloned.run("sync")
    assert (ran.code, ran.err, cloned.read("guide.md")) == (0, "", "newer\n")
    assert await cloned.wiki() == FILES | {"guide.md": "newer\n", "new.md": "new\n"}


async def test_pointer_on_the_wiki_replaces_no_text(cloned: Cloned) -> None:
    await cloned.edit({"guide": LFS})
    ran = await cloned.run("sync")
    assert (ran.code, cloned.read("guide.md")) == (3, "a guide\n")
    assert "only a pointer to its text is left" in ran.err
    await cloned.edit({"guide": "theirs\n"})
    assert (await cloned.run("sync")).code == 0
    assert cloned.read("guide.md") == "theirs\n"


async def test_earlier_text_replaces_a_pointer_here(cloned: Cloned) -> None:
    cloned.write("guide.md", LFS)
    ran = await cloned.run("sync")
    assert "run: wikisync restore handbook/guide" in ran.err
    assert (await cloned.run("restore", "handbook/guide")).code == 0
    assert (await cloned.run("sync")).code == 0
    assert cloned.read("guide.md") == "a guide\n"


async def test_pointer_on_both_sides_gets_its_text_from_either(cloned: Cloned) -> None:
    await cloned.edit({"one": LFS, "two": LFS})
    ran = await cloned.run("sync")
    assert (ran.code, cloned.read("one.md")) == (0, LFS)
    await cloned.edit({"one": "1\n"})
    cloned.write("two.md", "2\n")
    ran = await cloned.run("sync")
    assert (ran.code, cloned.read("one.md")) == (0, "1\n")
    assert (await cloned.wiki())["two.md"] == "2\n"


async def sync_thrice(cloned: Cloned) -> int:
    await cloned.sync_later()
    await cloned.run("sync")
    return (await cloned.run("sync")).code


async def test_page_renamed_to_a_pointer_is_not_deleted(cloned: Cloned) -> None:
    (cloned.folder / "guide.md").unlink()
    cloned.write("sub/guide.md", LFS)
    assert await sync_thrice(cloned) == 3
    assert await cloned.wiki() == FILES
    cloned.write("sub/guide.md", "a guide\n")
    assert await sync_thrice(cloned) == 0
    wiki = await cloned.wiki()
    assert (wiki["sub/guide.md"], "guide.md" in wiki) == ("a guide\n", False)


async def test_page_that_the_wiki_renames_to_a_pointer_stays(cloned: Cloned) -> None:
    await cloned.remove("guide")
    await cloned.edit({"manual": LFS})
    await sync_thrice(cloned)
    assert (cloned.read("guide.md"), cloned.read("manual.md")) == ("a guide\n", LFS)
    await cloned.edit({"manual": "a manual\n"})
    assert await sync_thrice(cloned) == 0
    assert not (cloned.folder / "guide.md").exists()
    assert cloned.read("manual.md") == "a manual\n"


async def test_page_about_pointers_is_a_page_as_any_other(cloned: Cloned) -> None:
    text = f"# Pointers\n\n```\n{LFS}```\n"
    cloned.write("new.md", text)
    await cloned.edit({"guide": text})
    ran = await cloned.run("sync")
    assert (ran.code, cloned.read("guide.md")) == (0, text)
    assert (await cloned.wiki())["new.md"] == text


async def test_picture_that_became_a_pointer_is_never_uploaded(cloned: Cloned) -> None:
    folder = "uploads/" + "0a" * 16
    await cloned.service.put_file(HANDBOOK, f"{folder}/p.png", b"\x89PNG")
    await cloned.edit({"guide": f"![p]({folder}/p.png)\n"})
    cloned.write("home.md", "![way](way.png)\n")
    cloned.write("way.png", "\x89PNG too")
    await cloned.run("sync")
    wiki = await cloned.wiki()
    for name in ("way.png", f"{folder}/p.png", "new.png"):
        cloned.write(name, LFS)
    cloned.write("new.md", "![new](new.png)\n")
    cloned.write("home.md", "![way](way.png)\n\nmore\n")
    cloned.write("guide.md", f"![p]({folder}/p.png)\n\nmore\n")
    ran = await cloned.run("sync")
    ran.ended(3, "new.png, which new links to, holds only a pointer")
    # the links to what the wiki has already stay, and hold no edit up
    more = {name: f"{wiki[name]}\nmore\n" for name in ("home.md", "guide.md")}
    assert await cloned.wiki() == wiki | more
    cloned.write("new.png", "\x89PNG three")
    ran = await cloned.run("sync")
    assert (ran.code, ran.err) == (0, "")
    assert "uploads/" in (await cloned.wiki())["new.md"]
