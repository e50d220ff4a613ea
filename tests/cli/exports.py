"""A wiki with a picture, and a look at the site that an export makes of it."""

from pathlib import Path

from tests.support.service import EmbeddedService
from wikisync.core.model import WikiOwner

HANDBOOK = WikiOwner("project", "docs/handbook")
NAMED = ("--project", "docs/handbook")
UPLOADS = "uploads/" + "0123456789abcdef" * 2
PICTURE = f"{UPLOADS}/p.png"


async def put_handbook(service: EmbeddedService) -> EmbeddedService:
    """Two pages, one of them with a picture; the service they are on."""
    pages = {"home": f"# Welcome\n\n![p]({PICTURE})", "dir/page": "some words"}
    await service.add_project("docs/handbook", pages)
    await service.put_file(HANDBOOK, PICTURE, b"\x89PNG picture")
    return service


def digest_of_tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}
