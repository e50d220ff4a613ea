"""Templates that a new project can begin with, by the names the service knows.

Pure.  The real service copies a whole example application.  Here a template is a
README that names it, in one commit: enough for a client to see every step of such
a creation, and nothing of anybody else's.
"""

from __future__ import annotations

from collections.abc import Mapping

from wikisync.packaged import packaged_toml

BUILT_IN: Mapping[str, str] = packaged_toml(__package__, "templates.toml")
"""Name to title."""

COMMIT_MESSAGE = "Initialized from the project template"


def template_files(name: str, project_name: str) -> Mapping[str, bytes]:
    """What a project made from a built-in template begins with, by path."""
    text = (
        f"# {project_name}\n\n"
        f"This project was made from the template {BUILT_IN[name]} (`{name}`).\n"
    )
    return {"README.md": text.encode()}
