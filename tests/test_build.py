"""What the build puts into a wheel, and how it gets the one file that is not in git.

No test here needs the network: the registry is either not asked, or is a closed
port of this machine.
"""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from tools.release import javascript_components
from wikisync.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "wikisync" / "vendor" / "asciidoctor.js"
EDITOR = ROOT / "wikisync" / "vendor" / "codemirror.js"
CLOSED_PORT = "http://127.0.0.1:9/"


def load_hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "hatch_build", ROOT / "hatch_build.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


hook = load_hook()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with what the fetch needs, and nothing fetched."""
    for name in ("package.json", "package-lock.json", "LICENSE"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def closed_registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("npm_config_registry", CLOSED_PORT)
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm-cache"))


def put_library(root: Path, content: bytes) -> Path:
    vendor = root / "wikisync" / "vendor"
    vendor.mkdir(parents=True)
    for file in (EDITOR, EDITOR.with_suffix(".LICENSE")):
        shutil.copyfile(file, vendor / file.name)
    (vendor / "asciidoctor.LICENSE").write_text("license")
    script = vendor / "asciidoctor.js"
    script.write_bytes(content)
    return script


def test_lock_names_no_registry() -> None:
    lock = json.loads((ROOT / "package-lock.json").read_text("utf-8"))
    packages = {name: entry for name, entry in lock["packages"].items() if name}
    assert all(entry["integrity"].startswith("sha512-") for entry in packages.values())
    assert not any("resolved" in entry for entry in packages.values())


def test_package_and_lock_pin_the_same_version() -> None:
    package = json.loads((ROOT / "package.json").read_text("utf-8"))
    lock = json.loads((ROOT / "package-lock.json").read_text("utf-8"))
    wanted = package["dependencies"][hook.LIBRARY]
    assert re.fullmatch(r"4\.1\.\d+", wanted)
    assert lock["packages"][f"node_modules/{hook.LIBRARY}"]["version"] == wanted


def test_installed_library_is_the_pinned_one() -> None:
    assert hashlib.sha256(LIBRARY.read_bytes()).hexdigest() == hook.SCRIPT_SHA256
    assert "MIT License" in LIBRARY.with_suffix(".LICENSE").read_text("utf-8")


def test_bundle_of_the_editor_is_the_pinned_one_with_its_makers() -> None:
    assert hashlib.sha256(EDITOR.read_bytes()).hexdigest() == hook.EDITOR_SHA256
    notice = EDITOR.with_suffix(".LICENSE").read_text("utf-8")
    assert notice.count("Permission is hereby granted") >= 4


@pytest.mark.parametrize("file", [LIBRARY, EDITOR])
def test_library_is_never_committed(file: Path) -> None:
    run = subprocess.run(
        ["git", "check-ignore", str(file)], cwd=ROOT, check=False, capture_output=True
    )
    assert run.returncode == 0


@pytest.mark.usefixtures("closed_registry")
def test_right_file_that_is_there_is_not_fetched_again(checkout: Path) -> None:
    script = put_library(checkout, LIBRARY.read_bytes())
    assert hook.provide_library(checkout) == script


@pytest.mark.slow
@pytest.mark.usefixtures("closed_registry")
def test_registry_that_is_not_there_is_one_line(checkout: Path) -> None:
    put_library(checkout, b"another file")
    with pytest.raises(SystemExit) as caught:
        hook.provide_library(checkout)
    assert re.fullmatch(
        r"wikisync build: npm cannot fetch @asciidoctor/core .*ECONNREFUSED.*",
        str(caught.value),
    )


def fetched_package(folder: Path, license_name: str) -> Path:
    """What npm leaves of the library."""
    package: Path = folder / "node_modules" / hook.LIBRARY
    (package / hook.SCRIPT).parent.mkdir(parents=True)
    shutil.copyfile(LIBRARY, package / hook.SCRIPT)
    named = {"license": license_name, "authors": ["A. Writer", "B. Writer"]}
    (package / "package.json").write_text(json.dumps(named))
    return package


def put_editor(root: Path) -> None:
    """CodeMirror alone: Asciidoctor is still to be fetched."""
    put_library(root, b"").unlink()


@pytest.mark.parametrize("change", ["", "alert(1)"])
def test_bundle_that_is_not_the_pinned_one_is_refused(
    checkout: Path, change: str
) -> None:
    """A stand-in bundler writes its own script beside, so that no network is needed."""
    folder = checkout / "fetched"
    bundler = folder / "node_modules" / hook.BUNDLER
    for maker in hook.EDITOR_MAKERS:
        (folder / "node_modules" / maker).mkdir(parents=True)
        shutil.copyfile(
            EDITOR.with_suffix(".LICENSE"), folder / "node_modules" / maker / "LICENSE"
        )
    bundler.parent.mkdir(parents=True)
    bundler.write_text(
        f"""const {{ readFileSync, writeFileSync }} = require("fs");
        const to = process.argv.find((one) => one.startsWith("--outfile="));
        const text = readFileSync({str(EDITOR)!r}, "utf8");
        writeFileSync(to.slice(10), text + {change!r});"""
    )
    (checkout / "tools").mkdir()
    shutil.copyfile(ROOT / hook.EDITOR_ENTRY, checkout / hook.EDITOR_ENTRY)
    if change:
        with pytest.raises(SystemExit, match="not the pinned one"):
            hook.bundled_editor(checkout, folder)
    else:
        bundle, notice = hook.bundled_editor(checkout, folder)
        assert bundle.read_bytes() == EDITOR.read_bytes()
        assert "Marijn Haverbeke" in notice


def test_notice_of_its_makers_comes_with_the_library(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_editor(checkout)
    monkeypatch.setattr(
        hook, "fetch_package", lambda _root, folder: fetched_package(folder, "MIT")
    )
    notice = hook.provide_library(checkout).with_suffix(".LICENSE").read_text("utf-8")
    assert "Copyright (c) A. Writer, B. Writer and the other contributors" in notice
    assert "Permission is hereby granted" in notice
    assert "wikisync" not in notice


def test_library_under_another_license_is_refused(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        hook, "fetch_package", lambda _root, folder: fetched_package(folder, "GPL-2.0")
    )
    with pytest.raises(SystemExit, match="not under the MIT license"):
        hook.provide_library(checkout)


def test_npm_is_needed_only_where_the_library_is_missing(checkout: Path) -> None:
    build = hook.VendorHook(str(checkout), {}, None, None, str(checkout), "wheel")
    assert build.dependencies() == [hook.NPM]
    put_library(checkout, LIBRARY.read_bytes())
    assert build.dependencies() == []


def test_npm_of_the_build_is_the_locked_one() -> None:
    assert f"\n{hook.NPM} " in (ROOT / "requirements/run.txt").read_text("utf-8")


def test_file_of_another_content_is_refused(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch_package(_root: Path, folder: Path) -> Path:
        script = folder / hook.SCRIPT
        script.parent.mkdir(parents=True)
        script.write_text("alert('not Asciidoctor')")
        return folder

    monkeypatch.setattr(hook, "fetch_package", fetch_package)
    with pytest.raises(SystemExit, match="another build/browser"):
        hook.provide_library(checkout)
    assert not (checkout / "wikisync" / "vendor" / "asciidoctor.js").exists()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, made from the source distribution without isolation and network."""
    folder = tmp_path_factory.mktemp("dist")
    hatchling = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    subprocess.run(
        [*hatchling, "--target", "sdist"], cwd=ROOT, check=True, capture_output=True
    )
    (source,) = folder.glob("*.tar.gz")
    # Python before 3.11.4 does not know what later ones want to be told
    subprocess.run(["tar", "-xf", source, "-C", folder], check=True)
    unpacked = folder / source.name.removesuffix(".tar.gz")
    subprocess.run([sys.executable, "-m", "tools.manual"], cwd=unpacked, check=True)
    subprocess.run(
        [*hatchling, "--target", "wheel"],
        cwd=unpacked,
        env={**os.environ, "npm_config_registry": CLOSED_PORT},
        check=True,
        capture_output=True,
    )
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "folder", ["wikisync", "themes", "sample-site", "docs/themes.md"]
)
def test_wheel_holds_every_file_of(wheel: zipfile.ZipFile, folder: str) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", folder], cwd=ROOT, check=True, capture_output=True
    )
    wanted = {name for name in listed.stdout.decode().split("\0") if name}
    shipped = {name.removeprefix("wikisync/") for name in wheel.namelist()}
    shipped |= set(wheel.namelist())
    assert {name for name in wanted if (ROOT / name).is_file()} <= shipped


@pytest.mark.slow
def test_wheel_holds_nothing_of_the_workshop(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    name = f"wikisync-{version_of(wheel)}"
    assert tops == {"wikisync", f"{name}.dist-info", f"{name}.data"}


@pytest.mark.slow
def test_wheel_has_a_manual_page_for_each_command(wheel: zipfile.ZipFile) -> None:
    below = f"wikisync-{version_of(wheel)}.data/data/share/man/man1/"
    pages = {name.removeprefix(below) for name in wheel.namelist() if below in name}
    assert {f"wikisync-{name}.1" for name in COMMANDS} < pages
    edit = wheel.read(f"{below}wikisync-page-edit.1").decode()
    assert ".B \\-\\-last\\-commit\\-sha SHA\n" in edit
    assert all(line[:1] != "'" for line in edit.splitlines())
    assert not re.search(r"\.SH .*\n\.PP", edit), "mandoc warns of it"


@pytest.mark.slow
def test_wheel_has_the_javascript_and_its_licenses(wheel: zipfile.ZipFile) -> None:
    folder = f"wikisync-{version_of(wheel)}.dist-info/licenses"
    ours = wheel.read(f"{folder}/LICENSE").decode()
    theirs = wheel.read(f"{folder}/wikisync/vendor/asciidoctor.LICENSE").decode()
    assert "wikisync" in ours
    assert "@asciidoctor/core" in theirs
    assert wheel.read(f"{folder}/wikisync/vendor/codemirror.LICENSE")
    assert wheel.read("wikisync/vendor/asciidoctor.js") == LIBRARY.read_bytes()
    assert wheel.read("wikisync/vendor/codemirror.js") == EDITOR.read_bytes()


@pytest.mark.slow
def test_wheel_gives_the_command(wheel: zipfile.ZipFile) -> None:
    folder = f"wikisync-{version_of(wheel)}.dist-info"
    entries = wheel.read(f"{folder}/entry_points.txt").decode()
    assert "wikisync = wikisync.cli.start:run" in entries


def version_of(wheel: zipfile.ZipFile) -> str:
    assert wheel.filename is not None
    return Path(wheel.filename).name.split("-")[1]


def test_bill_names_the_javascript_of_the_wheel_and_not_what_builds_it() -> None:
    package = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))
    names = {one["name"] for one in javascript_components()}
    assert package["dependencies"].keys() - {"esbuild"} < names
    assert not {name for name in names if "esbuild" in str(name)}
