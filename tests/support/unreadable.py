"""A folder that nobody can read, not even root."""

import os
from pathlib import Path


def unreadable_folder(root: Path) -> str:
    """Make one below a folder, by a path longer than the system takes, and name it."""
    way: list[str] = []
    descriptor = os.open(root, os.O_RDONLY)
    while len("/".join(way)) < os.pathconf(root, "PC_PATH_MAX"):
        way.append("d" * 250)
        os.mkdir(way[-1], dir_fd=descriptor)
        inner = os.open(way[-1], os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)
    return "/".join(way)
