import difflib

from hypothesis import given
from hypothesis import strategies as st

from tests.support.quirks import Quirk
from tests.support.workspaces import PAGES, Cloned
from wikisync.core.terminal import visible
from wikisync.workspace.status import GREEN, RED, RESET, unified


async def test_difference_leads_from_the_wiki_to_here(cloned: Cloned) -> None:
    cloned.write("guide.md", "a long guide\n")
    cloned.write("home.md", "mine\n")
    ran = await cloned.run("diff", cloned.folder / "guide.md")
    assert ran.code == 0
    assert ran.out == (
        "--- handbook/guide on the wiki\n+++ handbook/guide here\n"
        "@@ -1 +1 @@\n-a guide\n+a long guide\n"
    )


async def test_edit_on_the_wiki_and_new_pages_are_shown_too(cloned: Cloned) -> None:
    cloned.write("new.md", "new\n")
    await cloned.edit({"guide": "theirs\n"})
    ran = await cloned.run("diff")
    assert "-theirs\n+a guide\n" in ran.out
    assert "@@ -0,0 +1 @@\n+new\n" in ran.out


async def test_held_page_shows_what_each_side_did(cloned: Cloned) -> None:
    await cloned.clash()
    ran = await cloned.run("diff", "guide")
    assert "+++ handbook/guide on the wiki\n@@ -1 +1 @@\n-a guide\n+theirs\n" in ran.out
    assert "+++ handbook/guide here\n@@ -1 +1 @@\n-a guide\n+mine\n" in ran.out


async def test_base_asks_no_service(cloned: Cloned) -> None:
    cloned.service.quirks = {Quirk.TOKEN_REVOKED}
    cloned.write("guide.md", "mine\n")
    (cloned.folder / "home.md").unlink()
    ran = await cloned.run("diff", "--base")
    assert ran.code == 0
    assert "--- handbook/guide at the last sync" in ran.out
    assert "-one\n" in ran.out


async def test_json_has_both_texts(cloned: Cloned) -> None:
    ran = await cloned.run("diff")
    assert (ran.code, ran.out, ran.err) == (0, "", "no differences\n")
    cloned.write("guide.md", "mine\n")
    (one,) = (await cloned.run("diff", "--json")).json
    assert one["page"] == "handbook/guide"
    assert (one["old"], one["new"]) == (PAGES["guide"], "mine\n")


# -- the text ----------------------------------------------------------------------

NAMES = ("old", "new")
LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n", "\n"]), max_size=12)


@given(LINES, LINES)
def test_applied_to_the_old_it_gives_the_new(old: list[str], new: list[str]) -> None:
    """Line numbers and signs are what ``patch`` needs."""
    text = unified("".join(old), "".join(new), NAMES)
    assert applied(old, text.splitlines(keepends=True)[2:]) == new


def applied(old: list[str], lines: list[str]) -> list[str]:
    result: list[str] = []
    done = 0
    for line in lines:
        if line.startswith("@@"):
            start, _, count = line.split()[1][1:].partition(",")
            place = int(start) - (count != "0")
            result += old[done:place]
            done = place
        elif line[0] in " -":
            assert old[done] == line[1:]
            result += [line[1:]] if line[0] == " " else []
            done += 1
        else:
            result.append(line[1:])
    return result + old[done:]


def test_it_is_what_diff_writes_for_a_plain_change() -> None:
    old = [f"line {number}\n" for number in range(30)]
    new = [*old[:4], "changed\n", *old[5:20], *old[22:], "more\n"]
    expected = "".join(difflib.unified_diff(old, new, *NAMES))
    assert unified("".join(old), "".join(new), NAMES) == expected


def test_missing_line_end_is_told() -> None:
    assert unified("a", "a\n", NAMES).endswith("-a\n\\ No newline at end of file\n+a\n")


def test_changed_lines_are_coloured_and_others_are_not() -> None:
    text = unified("a\nred\n", "a\nblue\n", NAMES, is_coloured=True)
    assert text.endswith(f" a\n{RED}-red{RESET}\n{GREEN}+blue{RESET}\n")


def test_control_characters_reach_no_terminal() -> None:
    text = unified("a\n", "\x1b]0;owned\x07\x9b31m\n", NAMES, is_coloured=True)
    assert "\x1b]" not in text
    assert "\x07" not in text
    assert "\x9b" not in text
    assert visible("a\tb\n") == "a\tb\n"
    assert visible("a\r\nb\rc\u202ed\u2066e") == "a\r\nb\u240dc\ufffdd\ufffde"


def test_name_of_a_page_makes_no_line_of_its_own_on_a_terminal() -> None:
    text = unified("a\n", "b\n", ("x\ny", "x\rz"), is_coloured=True)
    assert "x\u240ay" in text
    assert "x\u240dz" in text
