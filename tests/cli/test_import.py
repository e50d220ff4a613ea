"""``wikisync import``: vaults, GitHub wikis and dumps become folders of pages."""

import gzip
import random
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Run
from tests.support.service import EmbeddedService
from tests.support.unreadable import unreadable_folder
from tests.support.workspaces import HANDBOOK
from wikisync.errors import ExitCode

Import = Callable[..., Awaitable[Any]]
VAULT = {
    "Start here.md": (
        "---\naliases: [Begin]\n---\n# Start\n\n"
        "See [[Other Note]], [[Other Note#Big Part|that part]] and [[sub/Deep]].\n"
        "![[My Picture.png|300]] and ![[Other Note]] and [md](sub/Deep.md#One%20two)\n"
        "A #project/alpha tag, ==marked==, `[[code]]` and [[Nowhere]],"
        " [[sub/Deep#One two|`two`]], so `x`\n"
        "![[My Picture.png|`100%% ==x== #y`]] ==end==\n"
        "%% only\nfor me %%\n"
        "A block ^abc123\n\n"
        "| a | b |\n|---|---|\n| [[sub/Deep\\|deep]] | x |\n"
    ),
    "Other Note.md": (
        "## Big Part\n\n> [!bug]- It broke\n> Text\n\n> [!tip]\n> Do\n\n"
        "```dataview\nLIST [[x]]\n```\n\n~~~\n[[Start here]] #no\n~~~\n"
    ),
    "sub/Deep.md": "# One two\n\n[[Start here]] ![[My Picture.png]] [[#One two]]\n",
    "files/My Picture.png": "PNG",
    "Board.canvas": "{}",
    ".obsidian/app.json": "{}",
}


def write(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.fixture
def imported(run_alone: Run, tmp_path: Path) -> Import:
    """Import a source; exit code, the files of the folder, and what was lost."""

    async def call(kind: str, source: Path, *words: str | Path) -> Any:
        folder = tmp_path / "made"
        ran = await run_alone("import", kind, source, folder, "--json", *words)
        files = {
            str(path.relative_to(folder)): path.read_bytes().decode()
            for path in folder.rglob("*")
            if path.is_file()
        }
        lost = ran.json["not_carried_over"]
        found = [(one["file"], one["line"], one["what"]) for one in lost]
        return ran.code, files, found

    return call


async def broken_links(run_alone: Run, folder: Path) -> list[str]:
    found = (await run_alone("check", folder, "--json")).json["broken_links"]
    return [one["href"] for one in found]


async def test_vault_becomes_pages_whose_links_work(
    imported: Import, tmp_path: Path, run_alone: Run
) -> None:
    vault = write(tmp_path / "vault", VAULT)
    code, files, lost = await imported("obsidian", vault)

    assert code == ExitCode.HELD
    assert sorted(files) == [
        "Other-Note.md",
        "Start-here.md",
        "files/My Picture.png",
        "sub/Deep.md",
    ]
    start = files["Start-here.md"]
    assert start.startswith('---\ntags: ["project/alpha"]\naliases: [Begin]\n---\n')
    assert "[Other Note](Other-Note), [that part](Other-Note#big-part)" in start
    assert "![My Picture](files/My%20Picture.png){width=300}" in start
    assert "[md](sub/Deep#one-two)" in start
    assert "<mark>marked</mark>, `[[code]]`" in start
    assert "[`two`](sub/Deep#one-two), so `x`\n" in start
    assert "\n![`100%% ==x== #y`](files/My%20Picture.png) <mark>end</mark>\n" in start
    assert "<!-- only\nfor me -->\nA block\n" in start
    assert "| [deep](sub/Deep) | x |" in start
    assert "> [!caution] It broke\n> Text\n\n> [!tip]\n" in files["Other-Note.md"]
    assert "~~~\n[[Start here]] #no\n~~~\n" in files["Other-Note.md"]
    assert "![My Picture](../files/My%20Picture.png)" in files["sub/Deep.md"]
    assert await broken_links(run_alone, tmp_path / "made") == ["Nowhere"]

    assert lost == [
        ("Board.canvas", 1, "a file of a plug-in"),
        ("Other Note.md", 3, "a callout that folds: it is open"),
        ("Other Note.md", 9, "a query of the plug-in dataview"),
        ("Start here.md", 1, "aliases: links by another name of the page"),
        ("Start here.md", 7, "the embedded page Other Note: it is a link"),
        ("Start here.md", 8, "a link to Nowhere, which is not there"),
        ("Start here.md", 12, "the id of a block"),
    ]


GITHUB = {
    "Home.md": "[[Install Guide]] [[the guide|Install Guide#Step 1]]\n\n[[_TOC_]]\n\n"
    "[[images/a.png|alt=A picture|width=80]] [x](Install-Guide) `[[no]]` ==x== #y\n",
    "docs/Install-Guide.md": "## Step 1\n\n[home](Home) ![p](../images/a.png)\n",
    "_Sidebar.md": "- [[Home]]\n",
    "Old.mediawiki": "== Part ==\n'''bold''' [[Home]]\n",
    "Notes.textile": "h1. No\n",
    "images/a.png": "PNG",
}


async def test_github_wiki_becomes_pages_whose_links_work(
    imported: Import, tmp_path: Path, run_alone: Run
) -> None:
    _, files, lost = await imported("github", write(tmp_path / "wiki", GITHUB))

    assert files["home.md"] == (
        "[Install Guide](docs/Install-Guide) [the guide](docs/Install-Guide#step-1)"
        "\n\n[[_TOC_]]\n\n![A picture](images/a.png){width=80} [x](docs/Install-Guide)"
        " `[[no]]` ==x== #y\n"
    )
    assert files["_sidebar.md"] == "- [Home](home)\n"
    assert files["Old.md"] == "## Part\n\n**bold** [Home](home)\n"
    assert lost == [("Notes.textile", 1, "the service takes no textile page")]
    assert await broken_links(run_alone, tmp_path / "made") == []


async def test_notes_keep_what_their_program_shows(
    imported: Import, tmp_path: Path
) -> None:
    """The name of a daily note, inline footnotes, places in files, line ends."""
    notes = {
        "2024-05-01.md": "[[a.pdf#page=3]] \\[[as it is]]\r\n> [!bug]\r\n> x\r\n",
        "e-mail.md": "---\ntags: [x]\n---\nSaid^[by [[2024-05-01|me]]] twice^[no].\n",
        "My own-title.md": "---\ntitle: Mine\n---\n",
        "a.pdf": "PDF",
    }

    _, files, lost = await imported("obsidian", write(tmp_path / "vault", notes))

    assert files["2024-05-01.md"] == (
        '---\ntitle: "2024-05-01"\n---\n'
        "[page=3](a.pdf#page=3) \\[[as it is]]\r\n> [!caution] Bug\r\n> x\r\n"
    )
    assert files["e-mail.md"] == (
        '---\ntitle: "e-mail"\ntags: [x]\n---\n'
        "Said[^inline-1] twice[^inline-2].\n"
        "\n[^inline-1]: by [me](2024-05-01)\n\n[^inline-2]: no\n"
    )
    assert files["My-own-title.md"] == notes["My own-title.md"]
    assert lost == []


async def test_math_and_addresses_of_a_vault_stay_as_they_are(
    imported: Import, tmp_path: Path
) -> None:
    """What marks text, comments and links elsewhere has no such meaning there."""
    kept = (
        "$x==y$ $z==w$ $$a==b==c$$ https://x.org/?a==b==c [l](https://x.org/a==b==c)\n"
        "\n$$\na ==b== %% [[c]] #no\n$$\n"
    )
    text = (
        f"{kept}Inline $$\n==x== $$ and ==y== [[a|https://x.org]] #tüv\n"
        "It costs $5 ==or== $6, $$ is\n\n==too much== `$$` ==now==\n"
    )

    _, files, lost = await imported("obsidian", write(tmp_path / "v", {"a.md": text}))

    assert files["a.md"] == (
        f'---\ntags: ["tüv"]\n---\n{kept}'
        "Inline $$\n==x== $$ and <mark>y</mark> [https://x.org](a) #tüv\n"
        "It costs $5 <mark>or</mark> $6, $$ is\n\n"
        "<mark>too much</mark> `$$` <mark>now</mark>\n"
    )
    assert lost == []


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("a\n\n    [[b]] ==c== %%\n\n\t#no\n\n==d==\n", "{code}"),
        ("- a\n\n    ==b==\n", "- a\n\n    <mark>b</mark>\n"),
        ("[^1]: a\n\n    ==b==\n", "[^1]: a\n\n    <mark>b</mark>\n"),
        ("a\n    ==b==\n", "a\n    <mark>b</mark>\n"),
        ("- a\n\nb\n\n    ==c==\n", "- a\n\nb\n\n    ==c==\n"),
        ("- a\n\n      ==b==\n", "- a\n\n      ==b==\n"),
        ("- a\n\t- b\n\n\t\t==c==\n", "- a\n\t- b\n\n\t\t<mark>c</mark>\n"),
        ("1. a\n   - b\n\n         ==c==\n", "1. a\n   - b\n\n         ==c==\n"),
        (
            "- a\n  - b\n\n      ==c==\n\nd\n",
            "- a\n  - b\n\n      <mark>c</mark>\n\nd\n",
        ),
        ("- a\n  - b\n- c\n\n      ==d==\n", "- a\n  - b\n- c\n\n      ==d==\n"),
        ("-\n\n      ==a==\n", "-\n\n      ==a==\n"),
        ("[^a]: b\n\n    ==c==\n", "[^a]: b\n\n    <mark>c</mark>\n"),
        ("100%% of it\n\nand ==b==\n", "100%% of it\n\nand <mark>b</mark>\n"),
        ("100%% `%%` a\n", "100%% `%%` a\n"),
        ("100%% of\nthis%% a\n", "100<!-- of\nthis--> a\n"),
        ("a %%b%% c%% d\n", "a <!--b--> c%% d\n"),
        ("%%\na\n\nb\n%%\n", "<!--\na\n\nb\n-->\n"),
    ],
)
async def test_indented_code_and_signs_of_percent_stay(
    imported: Import, tmp_path: Path, text: str, made: str
) -> None:
    """What is shown as code is not converted, and no page is hidden by ``100%%``."""
    _, files, lost = await imported("obsidian", write(tmp_path / "v", {"a.md": text}))
    made = made.format(code=text.replace("==d==", "<mark>d</mark>"))
    assert (files["a.md"], lost) == (made, [])


async def test_github_wiki_keeps_addresses_of_every_form(
    imported: Import, tmp_path: Path
) -> None:
    """Those of others, of definitions, HTML and badges; MediaWiki has them first."""
    pages = {
        "Home.md": "[[Ours|https://example.com/?a=b]] [[https://example.com]]"
        " [[Q=A|Up]] [![x](a.png)](Up) <a href='Home'>\n[r]: Home\n[^r]: Home\n",
        "Up.mediawiki": "[[Home|the start]]\n",
        "sub/Deep.md": '<img width="9" src="/a.png">\n',
        "a.png": "PNG",
    }

    _, files, lost = await imported("github", write(tmp_path / "wiki", pages))

    assert files["home.md"] == (
        "[Ours](https://example.com/?a=b) [https://example.com](https://example.com)"
        " [Q=A](Up) [![x](a.png)](Up) <a href='home'>\n[r]: home\n[^r]: Home\n"
    )
    assert files["Up.md"] == "[the start](home)\n"
    assert files["sub/Deep.md"] == '<img width="9" src="../a.png">\n'
    assert lost == []


async def test_github_wiki_is_fetched_from_its_address(
    service: EmbeddedService, run: Run, tmp_path: Path
) -> None:
    pages = {"Home": "[[the team|team/People]]\n", "team/People": "Ann\n"}
    await service.add_project("docs/handbook", pages, visibility="public")
    address = f"{service.url}/docs/handbook.wiki.git"

    ran = await run("import", "github", address, tmp_path / "made")

    assert ran.code == 0, ran.err
    assert (tmp_path / "made/home.md").read_text() == "[the team](team/People)\n"


LONG = " ".join(["pump"] * 99)
DUMP = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/">
<siteinfo><base>https://wiki.example.com/wiki/Main_Page</base><namespaces>
<namespace key="0" /><namespace key="10">Template</namespace>
</namespaces></siteinfo>
<page><title>Main Page</title><ns>0</ns><revision><model>wikitext</model>
<text>old</text></revision><revision><model>wikitext</model>
<text>Go to [[setup guide#First step|the guide]], [[Old name]] and [[de:Seite]].
[[File:A b.png|thumb|100px|The picture]] [[File:Gone.png]] {{Infobox|x=1}}
[[Category:Start]]</text></revision></page>
<page><title>Setup guide</title><ns>0</ns><revision>
<text>== First step ==
# one
#* [[/Sub]]
&lt;pre&gt;[[no]]&lt;/pre&gt;</text></revision></page>
<page><title>Setup guide/Sub</title><ns>0</ns><revision><text>x</text></revision></page>
<page><title>Old name</title><ns>0</ns><redirect title="Setup guide" />
<revision><text>#REDIRECT [[Setup guide]]</text></revision></page>
<page><title>Template:Infobox</title><ns>10</ns><revision><text>t</text></revision>
</page><page><title>Manual:Pumps</title><ns>3000</ns><revision><text>{{Infobox|
LONG}}</text></revision></page><page><title>Manual talk:Pumps</title><ns>3001</ns>
<revision><text>t</text></revision></page></mediawiki>
""".replace("LONG", LONG)


async def test_dump_becomes_pages_whose_links_work(
    imported: Import, tmp_path: Path, run_alone: Run
) -> None:
    dump = write(tmp_path, {"dump.xml": DUMP, "images/f/A_b.png": "PNG"}) / "dump.xml"

    code, files, lost = await imported(
        "mediawiki", dump, "--files", tmp_path / "images"
    )

    assert code == ExitCode.HELD
    assert files["home.md"] == (
        '---\ntitle: "Main Page"\ntags: ["Start"]\n---\n'
        "Go to [the guide](Setup-guide#first-step), [Old name](Setup-guide) and"
        " de:Seite.\n![The picture](files/A_b.png){width=100} ![](files/Gone.png)"
        " `{{Infobox|x=1}}`\n"
    )
    assert (
        "## First step\n\n1. one\n   - [/Sub](Setup-guide/Sub)\n"
        in (files["Setup-guide.md"])
    )
    assert "```\n[[no]]\n```" in files["Setup-guide.md"]
    assert "files/A_b.png" in files
    assert files["Manual/Pumps.md"].endswith(f"`{{{{Infobox| {LONG}}}}}`\n")
    assert lost == [
        ("dump.xml", 1, "1 page of the namespace 3001"),
        ("dump.xml", 1, "1 page of the namespace Template"),
        ("dump.xml", 7, "a link to another wiki: de:Seite"),
        ("dump.xml", 8, "template Infobox"),
        ("dump.xml", 8, "the file Gone.png, which no dump has"),
        ("dump.xml", 19, "template Infobox"),
    ]
    assert await broken_links(run_alone, tmp_path / "made") == ["files/Gone.png"]


BOMB = """<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c SYSTEM "file:///etc/passwd">]><mediawiki><page><title>&b;&c;</title></page>
</mediawiki>"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BOMB, "has a document type"),
        ("<mediawiki><page>", "is no XML"),
        ("<html></html>", "is no dump of MediaWiki"),
        ("", "is no XML"),
    ],
)
async def test_hostile_xml_is_refused(
    run_alone: Run, tmp_path: Path, text: str, said: str
) -> None:
    dump = write(tmp_path, {"dump.xml": text}) / "dump.xml"

    ran = await run_alone("import", "mediawiki", dump, tmp_path / "made")

    assert (ran.code, said in ran.err) == (ExitCode.USAGE, True)
    assert not list((tmp_path / "made").rglob("*.md"))


async def test_page_without_a_title_is_named(imported: Import, tmp_path: Path) -> None:
    page = "<page><title> </title><ns>0</ns><revision><text>x</text></revision></page>"
    dump = write(tmp_path, {"dump.xml": f"<mediawiki>{page}</mediawiki>"}) / "dump.xml"

    code, files, lost = await imported("mediawiki", dump)

    assert (code, files) == (ExitCode.HELD, {})
    assert [one[2] for one in lost] == ["a page without a title"]


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        ("obsidian", "gone", "there is no"),
        ("obsidian", "a.md", "is not a folder"),
        ("mediawiki", ".", "is not an XML dump"),
    ],
)
async def test_source_of_another_kind_is_refused(
    run_alone: Run, tmp_path: Path, kind: str, name: str, said: str
) -> None:
    source = write(tmp_path, {"a.md": "a\n"}) / name

    ran = await run_alone("import", kind, source, tmp_path / "made")

    assert (ran.code, said in ran.err) == (ExitCode.USAGE, True)
    assert not (tmp_path / "made").exists()


async def test_what_a_vault_cannot_carry_over_is_named(
    imported: Import, tmp_path: Path
) -> None:
    pages = {"tags.md": "---\ntags: [a]\n---\n#b\n", "open.md": "a\n%% b\n"}
    vault = write(tmp_path / "vault", pages)
    (vault / "bytes.md").write_bytes(b"\xff\xfe\x00")

    code, files, lost = await imported("obsidian", vault)

    assert (code, files.keys()) == (ExitCode.HELD, {"tags.md", "open.md"})
    assert files["open.md"].endswith("-->\n")
    assert sorted(what for _, _, what in lost) == [
        "a comment without an end",
        "tag #b is only in the text",
        "the page is not UTF-8 text",
    ]


async def test_damaged_dump_is_told(run_alone: Run, tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(random.Random(1).randbytes(5000).hex().encode()))
    packed[20:60] = bytes(40)
    dump = tmp_path / "dump.xml.gz"
    dump.write_bytes(packed)

    ran = await run_alone("import", "mediawiki", dump, tmp_path / "made")

    assert (ran.code, "cannot read" in ran.err) == (ExitCode.USAGE, True)


async def test_folder_with_files_is_not_touched(run_alone: Run, tmp_path: Path) -> None:
    vault = write(tmp_path / "vault", {"a.md": "a\n"})
    made = write(tmp_path / "made", {"mine.md": "mine\n"})

    ran = await run_alone("import", "obsidian", vault, made)

    free = "name a new folder, or first remove what a stopped import left in it"
    assert (ran.code, ran.err) == (1, f"error: {made} is not empty\nhint: {free}\n")
    assert [path.name for path in made.iterdir()] == ["mine.md"]


async def test_links_out_are_not_followed(imported: Import, tmp_path: Path) -> None:
    vault = write(tmp_path / "vault", {"a.md": "a\n"})
    secret = write(tmp_path, {"secret.md": "secret\n"}) / "secret.md"
    (vault / "b.md").symlink_to(secret)

    _, files, lost = await imported("obsidian", vault)

    assert files == {"a.md": "a\n"}
    assert [one[:2] for one in lost] == [("b.md", 1)]


async def test_folder_that_cannot_be_read_or_is_a_link_is_named(
    imported: Import, tmp_path: Path
) -> None:
    vault = write(tmp_path / "vault", {"a.md": "a\n"})
    write(tmp_path / "elsewhere", {"b.md": "b\n"})
    (vault / "linked").symlink_to(tmp_path / "elsewhere")
    unread = unreadable_folder(vault)

    code, files, lost = await imported("obsidian", vault)

    assert (code, files) == (ExitCode.HELD, {"a.md": "a\n"})
    link = "linked is a symbolic link, which wikisync does not follow"
    (deep, *why), linked = lost
    assert unread.startswith(deep)
    assert why == [1, "the folder cannot be read: File name too long"]
    assert linked == ("linked", 1, f"the file cannot be read: {link}")


async def test_file_in_the_place_of_the_new_folder_is_named(
    run_alone: Run, tmp_path: Path
) -> None:
    root = write(tmp_path, {"vault/a.md": "a\n", "made": "mine\n"})
    ran = await run_alone("import", "obsidian", root / "vault", root / "made")
    ran.ended(1, f"cannot make {root / 'made'}: something else has this name")


async def test_imported_folder_is_ready_to_sync(
    service: EmbeddedService, run: Run, tmp_path: Path
) -> None:
    await service.add_project("docs/handbook")
    root = tmp_path / "wikis"

    await run("import", "obsidian", write(tmp_path / "vault", VAULT), root / "handbook")
    await run("init", root, "--url", service.url, "--project", "docs/handbook", "-y")
    ran = await run("sync", "--adopt", "push", "-C", root)

    assert ran.code == 0, ran.err
    files = await service.files(HANDBOOK)
    assert {"Start-here.md", "Other-Note.md", "sub/Deep.md"} < files.keys()
    assert any(name.endswith("My_Picture.png") for name in files), files.keys()
