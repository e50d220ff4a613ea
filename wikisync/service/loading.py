"""Loading a folder of wikis into the service.  Replaced below."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wikisync.model import WikiOwner
from wikisync.service.instance import Service


@dataclass(frozen=True, slots=True)
class LoadedFolder:
    """What came of a load."""

    token: str | None
    owners: tuple[WikiOwner, ...]


async def load_folder(service: Service, path: Path, *, creator: str) -> LoadedFolder:
    """Put a folder of wikis into the service."""
    raise NotImplementedError
