from __future__ import annotations

from tests.support.workspaces import Cloned


async def test_page_below_uploads_is_named_and_holds_back_nothing(
    cloned: Cloned,
) -> None:
    attached = f"uploads/{'0a' * 16}/notes"
    await cloned.edit({"uploads/notes": "mine\n", attached: "an attachment\n"})
    await cloned.remove("guide")
    ran = await cloned.run("sync")
    assert "uploads/notes" in ran.err
    assert "rename the page on the wiki" in ran.err
    assert attached not in ran.err
    assert ran.code == 3
    await cloned.run("sync")
    cloned.age_sightings(100)
    await cloned.run("sync")
    assert "guide.md" not in cloned.files()
    assert "uploads/notes.md" not in cloned.files()
