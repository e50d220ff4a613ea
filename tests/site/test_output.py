"""The output folder: ours is replaced and removed, everything else is left alone."""

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.plain_disk import make_plain
from wikisync.core.model import Digest, WikiOwner, digest_of
from wikisync.core.system.libc import swap_names
from wikisync.errors import SiteError
from wikisync.folder import safe_open
from wikisync.site import output_place
from wikisync.site.addresses import MANIFEST
from wikisync.site.manifest import (
    FileState,
    PublishedWiki,
    SiteFiles,
    content_type,
    manifest_parts,
    published_wikis,
)
from wikisync.site.output import NO_FILES, Changes, open_output, untouched
from wikisync.site.output_place import NEW_FILES, OutputPlace
from wikisync.site.sources import SourceFile


def publish(
    root: Path, files: Mapping[str, str], trusted: SiteFiles = NO_FILES
) -> Changes:
    output = open_output(root, trusted)
    with output.staging():
        for path, text in files.items():
            output.put(path, text.encode())
        return output.commit()


def contents(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): path.read_text()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.relative_to(root).as_posix() != MANIFEST
    }


def counts(changes: Changes) -> tuple[int, int, int]:
    return changes.written, changes.unchanged, changes.removed


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """The kernel refuses to write more than this into one file, as a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_first_build_makes_the_folder_and_names_every_file(tmp_path: Path) -> None:
    root = tmp_path / "deep" / "site"
    publish(root, {"index.html": "home", "a/b.html": "é"})
    manifest = json.loads((root / MANIFEST).read_text())
    assert contents(root) == {"index.html": "home", "a/b.html": "é"}
    assert [(file["path"], file["size"]) for file in manifest["files"]] == [
        ("a/b.html", 2),
        ("index.html", 4),
    ]


def test_second_build_writes_only_what_differs(tmp_path: Path) -> None:
    publish(tmp_path, {"a.html": "1", "b.html": "1"})
    before = (tmp_path / "a.html").stat().st_mtime_ns
    changes = publish(tmp_path, {"a.html": "1", "b.html": "2"})
    assert counts(changes) == (2, 1, 0)
    assert (tmp_path / "a.html").stat().st_mtime_ns == before


def test_disk_that_cannot_exchange_files_gets_them_by_renames(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(tmp_path, {"a.html": "1", "b.html": "1"})
    make_plain(monkeypatch)
    publish(tmp_path, {"a.html": "1", "b.html": "2"})
    assert contents(tmp_path) == {"a.html": "1", "b.html": "2"}


def test_manifest_is_renamed_over_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is exchanged may be empty after a power cut; the manifest names all else."""
    exchanged = []

    def swap(source_folder: int, source: str, target_folder: int, name: str) -> None:
        exchanged.append(name)
        swap_names(source_folder, source, target_folder, name)

    publish(tmp_path, {"a.html": "1", "b.html": "1"})
    monkeypatch.setattr(output_place, "swap_names", swap)
    publish(tmp_path, {"a.html": "1", "b.html": "2"})
    assert exchanged == ["b.html"]


def test_file_that_is_put_twice_has_the_last_content(tmp_path: Path) -> None:
    publish(tmp_path, {"a.html": "1", "b.html": "1"})
    output = open_output(tmp_path)
    with output.staging():
        for path, text in (("a.html", "x"), ("a.html", "1"), ("b.html", "x")):
            output.put(path, text.encode())
        output.put("b.html", b"2")
        output.put("c.html", b"3")
        output.commit()
    assert contents(tmp_path) == {"a.html": "1", "b.html": "2", "c.html": "3"}


def test_what_is_gone_is_removed_with_its_empty_folder(tmp_path: Path) -> None:
    publish(tmp_path, {"a.html": "1", "old/deep/x.html": "1"})
    assert publish(tmp_path, {"a.html": "1"}).removed == 1
    assert not (tmp_path / "old").exists()


def test_files_of_others_survive_every_build(tmp_path: Path) -> None:
    """A person keeps a CNAME or a ``.git`` in the published folder."""
    publish(tmp_path, {"a/x.html": "1"})
    (tmp_path / "CNAME").write_text("wiki.example.com")
    (tmp_path / "a" / "mine.txt").write_text("keep")
    publish(tmp_path, {"b.html": "1"})
    assert contents(tmp_path) == {
        "CNAME": "wiki.example.com",
        "a/mine.txt": "keep",
        "b.html": "1",
    }


def test_file_of_others_in_the_way_is_left_and_reported(tmp_path: Path) -> None:
    publish(tmp_path, {"a.html": "1"})
    (tmp_path / "robots.txt").write_text("mine")
    changes = publish(tmp_path, {"a.html": "1", "robots.txt": "ours"})
    assert (tmp_path / "robots.txt").read_text() == "mine"
    assert [problem.subject for problem in changes.problems] == ["robots.txt"]
    publish(tmp_path, {"a.html": "1"})
    assert (tmp_path / "robots.txt").read_text() == "mine"


def test_changed_file_that_is_gone_from_the_site_is_kept(tmp_path: Path) -> None:
    publish(tmp_path, {"a.html": "1", "b.html": "1"})
    (tmp_path / "b.html").write_text("edited by hand")
    changes = publish(tmp_path, {"a.html": "1"})
    assert (tmp_path / "b.html").read_text() == "edited by hand"
    assert [problem.code for problem in changes.problems] == ["output-edited"]


def test_folder_of_others_is_refused_and_untouched(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    with pytest.raises(SiteError, match="and is not a wikisync site") as caught:
        open_output(tmp_path)
    assert caught.value.hint
    assert contents(tmp_path) == {"thesis.txt": "precious"}
    assert not (tmp_path / "-").exists()


@pytest.mark.parametrize("left", ["-", "-/staging/new"])
def test_folder_of_a_first_build_that_was_killed_is_ours(
    tmp_path: Path, left: str
) -> None:
    (tmp_path / left).mkdir(parents=True)
    for folder in tmp_path.glob("-/staging/new"):
        (folder / "b.html").write_text("half")
    publish(tmp_path, {"a.html": "1"})
    assert contents(tmp_path) == {"a.html": "1"}


@pytest.mark.parametrize("precious", ["-/thesis.txt", "thesis.txt"])
def test_a_folder_that_only_has_its_name_is_not(tmp_path: Path, precious: str) -> None:
    (tmp_path / "-").mkdir()
    (tmp_path / precious).touch()
    with pytest.raises(SiteError, match="and is not a wikisync site"):
        open_output(tmp_path)


@pytest.mark.parametrize(
    "manifest",
    [
        "not json",
        '{"files": []}',
        '{"generator": "other", "version": 1, "files": []}',
        '{"generator": "wikisync", "version": 99, "files": []}',
    ],
)
def test_manifest_that_is_not_ours_is_refused(tmp_path: Path, manifest: str) -> None:
    (tmp_path / "-").mkdir()
    (tmp_path / MANIFEST).write_text(manifest)
    with pytest.raises(SiteError, match="manifest"):
        open_output(tmp_path)


def test_site_whose_manifest_was_cut_off_can_be_written_anew(tmp_path: Path) -> None:
    publish(tmp_path, {"a.html": "1"})
    os.truncate(tmp_path / MANIFEST, 20)
    with pytest.raises(SiteError, match="truncated") as caught:
        publish(tmp_path, {"a.html": "2"})
    assert "empty the folder, and run it again" in (caught.value.hint or "")
    assert contents(tmp_path) == {"a.html": "1"}

    for path in tmp_path.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    publish(tmp_path, {"a.html": "2"})
    assert contents(tmp_path) == {"a.html": "2"}


def test_wikis_of_a_site_are_read_without_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A site of many wikis names a hundred thousand."""
    wiki = PublishedWiki(WikiOwner("project", "docs"), "Docs", prefix="", pages=1)
    files = {
        f"{number}.html": FileState(1, Digest("0" * 64)) for number in range(30000)
    }
    (tmp_path / MANIFEST).parent.mkdir()
    (tmp_path / MANIFEST).write_bytes(b"".join(manifest_parts(files, [wiki])))
    read: list[int] = []
    chunks = safe_open.read_chunks

    def seen(descriptor: int, path: str) -> Iterator[bytes]:
        for chunk in chunks(descriptor, path):
            read.append(len(chunk))
            yield chunk

    monkeypatch.setattr(safe_open, "read_chunks", seen)
    assert published_wikis(tmp_path) == (wiki,)
    assert sum(read) < (tmp_path / MANIFEST).stat().st_size / 2


def as_endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def as_huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


@pytest.mark.parametrize("replace", [os.mkfifo, as_endless, as_huge])
@pytest.mark.parametrize("name", [MANIFEST, f"{NEW_FILES}/{MANIFEST}"])
def test_manifest_is_neither_waited_for_nor_read_without_end(
    tmp_path: Path, name: str, replace: Callable[[Path], None]
) -> None:
    publish(tmp_path, {"a.html": "1"})
    manifest = tmp_path / name
    manifest.parent.mkdir(parents=True, exist_ok=True)
    manifest.unlink(missing_ok=True)
    replace(manifest)
    with pytest.raises(SiteError, match="cannot use output"):
        publish(tmp_path, {"a.html": "2"})
    assert (tmp_path / "a.html").read_text() == "1"


def as_link_elsewhere(path: Path) -> None:
    path.with_name("elsewhere").write_text("theirs")
    path.symlink_to("elsewhere")


@pytest.mark.parametrize(
    ("replace", "others"),
    [(os.mkfifo, {}), (as_endless, {}), (as_link_elsewhere, {"elsewhere": "theirs"})],
)
def test_file_of_the_site_is_replaced_whatever_took_its_place(
    tmp_path: Path, replace: Callable[[Path], None], others: dict[str, str]
) -> None:
    publish(tmp_path, {"a.html": "1"})
    (tmp_path / "a.html").unlink()
    replace(tmp_path / "a.html")
    output = open_output(tmp_path)
    with output.staging():
        assert output.read("a.html") is None
        output.put("a.html", b"1")
        output.commit()
    assert contents(tmp_path) == {"a.html": "1", **others}
    assert not (tmp_path / "a.html").is_symlink()


@pytest.mark.parametrize("path", ["../victim", "/tmp/victim", "a/../../victim", ""])
def test_manifest_cannot_name_a_file_outside(tmp_path: Path, path: str) -> None:
    root = tmp_path / "site"
    publish(root, {"a.html": "1"})
    victim = tmp_path / "victim"
    victim.write_text("x")
    manifest = json.loads((root / MANIFEST).read_text())
    digest = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    manifest["files"].append({"path": path, "size": 1, "sha256": digest, "type": ""})
    (root / MANIFEST).write_text(json.dumps(manifest))
    publish(root, {"a.html": "1"})
    assert victim.exists()


def test_output_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "site").write_text("")
    with pytest.raises(SiteError, match="not a folder"):
        open_output(tmp_path / "site")


def test_folder_that_may_not_be_written_is_refused() -> None:
    """The kernel's own folder: not even root may write there."""
    with pytest.raises(SiteError, match="cannot use output"):
        open_output(Path("/proc/site"))


def test_full_disk_leaves_the_old_site_whole(tmp_path: Path) -> None:
    publish(tmp_path, {"a.html": "old", "b.html": "old"})
    before, manifest = contents(tmp_path), (tmp_path / MANIFEST).read_bytes()
    with file_size_limit(2000), pytest.raises(SiteError, match="no space") as caught:
        publish(tmp_path, {"a.html": "new", "b.html": "x" * 5000})
    assert contents(tmp_path) == before
    assert (tmp_path / MANIFEST).read_bytes() == manifest
    assert "run the same command again" in (caught.value.hint or "")
    publish(tmp_path, {"a.html": "new", "b.html": "new"})
    assert contents(tmp_path) == {"a.html": "new", "b.html": "new"}


def test_interrupt_while_staging_leaves_the_old_site_and_no_rest(
    tmp_path: Path,
) -> None:
    publish(tmp_path, {"a.html": "old"})
    output = open_output(tmp_path)

    def interrupted() -> None:
        with output.staging():
            output.put("a.html", b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert contents(tmp_path) == {"a.html": "old"}


@pytest.mark.parametrize("is_link", [False, True])
def test_what_is_in_the_place_of_staged_files_is_named(
    tmp_path: Path, is_link: bool
) -> None:
    publish(tmp_path, {"a.html": "1"})
    (tmp_path / NEW_FILES).parent.mkdir()
    if is_link:
        (tmp_path / NEW_FILES).symlink_to(tmp_path)
    else:
        (tmp_path / NEW_FILES).write_text("of somebody else")
    with pytest.raises(SiteError, match=NEW_FILES):
        publish(tmp_path, {"a.html": "2"})


def test_build_killed_during_the_swap_is_put_right(tmp_path: Path) -> None:
    """Files of the new site are in place already, its manifest is not."""
    publish(tmp_path / "new", {"a.html": "2", "gone.html": "2"})
    publish(tmp_path / "site", {"a.html": "1"})
    staging = tmp_path / "site" / "-" / "staging" / "new" / "-"
    staging.mkdir(parents=True)
    (tmp_path / "new" / MANIFEST).rename(staging / "manifest.json")
    (tmp_path / "new" / "gone.html").rename(tmp_path / "site" / "gone.html")
    publish(tmp_path / "site", {"a.html": "3"})
    assert contents(tmp_path / "site") == {"a.html": "3"}


def test_build_interrupted_during_the_swap_is_put_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new file, which no manifest in place names, was taken for a stranger's."""

    def remove(*given: object) -> bool:
        raise KeyboardInterrupt(given)

    publish(tmp_path, {"a.html": "1", "gone.html": "1"})
    with monkeypatch.context() as patch:
        patch.setattr(OutputPlace, "remove", remove)
        with pytest.raises(KeyboardInterrupt):
            publish(tmp_path, {"a.html": "2", "b.html": "2"})
    assert (tmp_path / "b.html").read_text() == "2"
    assert publish(tmp_path, {"a.html": "3", "b.html": "3"}).problems == ()
    assert contents(tmp_path) == {"a.html": "3", "b.html": "3"}


def test_gone_file_behind_a_symbolic_link_is_not_removed(tmp_path: Path) -> None:
    publish(tmp_path / "site", {"a.html": "1", "docs/x.html": "1"})
    (tmp_path / "site" / "docs").rename(tmp_path / "outside")
    (tmp_path / "site" / "docs").symlink_to(tmp_path / "outside")
    (tmp_path / "outside" / "x.html").write_text("edited")
    assert publish(tmp_path / "site", {"a.html": "1"}).problems == ()


def test_folder_takes_the_place_of_a_file_and_back(tmp_path: Path) -> None:
    publish(tmp_path, {"uploads/x": "file"})
    publish(tmp_path, {"uploads/x/y": "below"})
    assert contents(tmp_path) == {"uploads/x/y": "below"}
    publish(tmp_path, {"uploads/x": "file"})
    assert contents(tmp_path) == {"uploads/x": "file"}


def test_folder_that_holds_files_of_others_is_not_replaced(tmp_path: Path) -> None:
    publish(tmp_path, {"uploads/x/y": "below"})
    (tmp_path / "uploads" / "x" / "mine").write_text("keep")
    changes = publish(tmp_path, {"uploads/x": "file"})
    assert [problem.code for problem in changes.problems] == ["output-foreign"]
    assert (tmp_path / "uploads" / "x" / "mine").read_text() == "keep"


def test_folder_that_somebody_made_in_the_place_of_a_file_is_named(
    tmp_path: Path,
) -> None:
    publish(tmp_path, {"index.html": "1"})
    (tmp_path / "index.html").unlink()
    (tmp_path / "index.html").mkdir()
    (tmp_path / "index.html" / "mine").write_text("keep")
    with pytest.raises(SiteError, match=r"cannot write the site index\.html: Is a dir"):
        publish(tmp_path, {"index.html": "2"})
    assert (tmp_path / "index.html" / "mine").read_text() == "keep"


def test_name_that_changes_its_case_is_there_afterwards(tmp_path: Path) -> None:
    publish(tmp_path, {"Setup.html": "1"})
    publish(tmp_path, {"setup.html": "1"})
    assert contents(tmp_path) == {"setup.html": "1"}


def test_copy_is_made_once_and_again_when_the_source_changes(tmp_path: Path) -> None:
    source = tmp_path / "picture.png"
    source.write_bytes(b"one")
    states = copied(tmp_path / "site", source).files
    assert copied(tmp_path / "site", source).written == 0
    source.write_bytes(b"two")
    assert copied(tmp_path / "site", source).written == 2
    assert (tmp_path / "site" / "p.png").read_bytes() == b"two"
    assert states["p.png"].size == 3


def copied(root: Path, source: Path) -> Changes:
    output = open_output(root)
    content = source.read_bytes()
    with output.staging():
        state = (len(content), digest_of(content))
        output.put_copy("p.png", SourceFile(source.parent, source.name), "p.png", state)
        return output.commit()


def test_copy_does_not_share_its_bytes_with_the_wiki(tmp_path: Path) -> None:
    """A tool that shrinks pictures in the site must not change the wiki's."""
    source = tmp_path / "picture.png"
    source.write_bytes(b"one")
    copied(tmp_path / "site", source)
    with (tmp_path / "site" / "p.png").open("r+b") as file:
        file.write(b"XXX")
    assert source.read_bytes() == b"one"


def test_kept_file_is_taken_over_only_as_it_was_left(tmp_path: Path) -> None:
    states = SiteFiles(publish(tmp_path, {"a.html": "1", "b.html": "1"}).files)
    (tmp_path / "b.html").write_text("longer")
    output = open_output(tmp_path, states)
    with output.staging():
        kept = [path for path in ("a.html", "b.html", "c.html") if output.keep(path)]
    assert kept == ["a.html"]


def test_untouched_means_every_file_by_size_and_time(tmp_path: Path) -> None:
    states = SiteFiles(publish(tmp_path, {"a.html": "1", "b.html": "1"}).files)
    assert untouched(tmp_path, states)
    os.utime(tmp_path / "b.html", ns=(1, 1))
    assert not untouched(tmp_path, states)
    (tmp_path / "b.html").unlink()
    assert not untouched(tmp_path, states)
    assert not untouched(tmp_path, NO_FILES)


def seconds_of_kept_wikis(root: Path, count: int) -> float:
    """What the swap takes of the processor where so many wikis have old names."""
    state = FileState(1, digest_of("x"), mtime_ns=2)
    prefixes = [f"{number}/-/wikis/" for number in range(count)]
    parts = {
        one: {f"{one}{page}.html": state for page in range(20)} for one in prefixes
    }
    output = open_output(root)
    with output.staging():
        output.known = SiteFiles({}, parts, parts.__getitem__)
        output.kept = dict.fromkeys(parts, 20)
        output.files = {f"{one}old.html": state for one in prefixes}
        before = time.process_time()
        assert len(output.commit().files) == count * 21 + 1
        return time.process_time() - before


def test_old_names_of_kept_wikis_take_linear_time(tmp_path: Path) -> None:
    few = min(seconds_of_kept_wikis(tmp_path / f"{at}", 200) for at in range(3))
    many = min(seconds_of_kept_wikis(tmp_path / f"m{at}", 1600) for at in range(2))
    assert many < few * 24


def test_content_types_do_not_depend_on_the_machine() -> None:
    assert [content_type(path) for path in ("a/b.HTML", "x.svg", "noext")] == [
        "text/html",
        "image/svg+xml",
        "application/octet-stream",
    ]


def test_folder_that_another_build_writes_to_is_refused(tmp_path: Path) -> None:
    """Each would clear away what the other has staged."""
    root = tmp_path / "site"
    first, second = open_output(root), open_output(root)
    with first.staging():
        first.put("a.html", b"a")
        with (
            pytest.raises(SiteError, match="another wikisync is writing to output"),
            second.staging(),
        ):
            pytest.fail("both builds were let in")
        first.commit()
    assert (root / "a.html").read_bytes() == b"a"


def test_build_knows_what_another_one_wrote_since_it_began(tmp_path: Path) -> None:
    root = tmp_path / "site"
    early, late = open_output(root), open_output(root)
    with early.staging():
        early.put("a.html", b"a")
        early.commit()
    with late.staging():
        late.put("a.html", b"b")
        assert not late.commit().problems
    assert (root / "a.html").read_bytes() == b"b"


# Somebody who swaps folders for links meanwhile -----------------------------------


def test_folder_that_becomes_a_link_while_files_are_swapped_in(tmp_path: Path) -> None:
    root, victim = tmp_path / "site", tmp_path / "victim"
    victim.mkdir()
    publish(root, {"a/b.html": "1"})
    output = open_output(root)
    with output.staging():
        output.put("a/b.html", b"2")
        (root / "a").rename(tmp_path / "away")
        (root / "a").symlink_to(victim)
        with pytest.raises(SiteError, match="in the output is not a folder"):
            output.commit()
    assert list(victim.iterdir()) == []


def test_staging_that_becomes_a_link_gets_no_file(tmp_path: Path) -> None:
    root, victim = tmp_path / "site", tmp_path / "victim"
    victim.mkdir()
    (victim / "a.html").write_text("of somebody else")
    output = open_output(root)
    with output.staging():
        (root / NEW_FILES).rename(tmp_path / "away")
        (root / NEW_FILES).symlink_to(victim)
        output.put("a.html", b"ours")
        output.commit()
    assert contents(victim) == {"a.html": "of somebody else"}
    assert (root / "a.html").read_bytes() == b"ours"


def test_folder_that_becomes_a_link_before_a_file_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, victim = tmp_path / "site", tmp_path / "victim"
    victim.mkdir()
    (victim / "b.html").write_text("1")
    publish(root, {"a/b.html": "1", "c.html": "1"})
    remove = OutputPlace.remove

    def swap_then_remove(place: OutputPlace, path: str) -> bool:
        (root / "a").rename(tmp_path / "away")
        (root / "a").symlink_to(victim)
        return remove(place, path)

    monkeypatch.setattr(OutputPlace, "remove", swap_then_remove)
    publish(root, {"c.html": "1"})
    assert contents(victim) == {"b.html": "1"}


@pytest.mark.parametrize("is_killed", [True, False])
def test_process_writes_for_the_build_that_started_it_alone(
    tmp_path: Path, *, is_killed: bool
) -> None:
    """After that has ended, the next one stages other files under the same names."""
    write = """
import os, sys
from wikisync.folder.safe_open import Folders
from wikisync.site.output_place import Staging
folders = Folders(os.open(sys.argv[1], os.O_RDONLY))
Staging(folders, os.getppid() + int(sys.argv[2])).put("a/b.html", b"text")
"""
    command = [sys.executable, "-c", write, str(tmp_path), str(int(is_killed))]
    assert subprocess.run(command, check=False).returncode == is_killed
    assert contents(tmp_path) == ({} if is_killed else {"a/b.html": "text"})
