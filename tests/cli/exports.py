"""A wiki with a picture, and a look at the site that an export makes of it."""

from dataclasses import dataclass
from pathlib import Path

from tests.support.commands import Ran, Run
from tests.support.service import EmbeddedService
from wikisync.core.model import WikiOwner

HANDBOOK = WikiOwner("project", "docs/handbook")
NAMED = ("--project", "docs/handbook")
UPLOADS = "uploads/" + "0123456789abcdef" * 2
PICTURE = f"{UPLOADS}/p.png"


@dataclass
class Export:
    """``wikisync export`` of the handbook, or of other wikis, with any words behind."""

    service: EmbeddedService
    run: Run
    site: Path

    async def __call__(
        self,
        *more: str | Path,
        of: tuple[str, ...] = NAMED,
        url: str = "",
        to: str | Path = "",
    ) -> Ran:
        where = ("-o", to or self.site)
        return await self.run("export", url or self.service.url, *of, *where, *more)

    def page(self, name: str = "index.html") -> str:
        """A file of the site."""
        return (self.site / name).read_text()

    @property
    def files(self) -> dict[str, bytes]:
        """Every file of the site."""
        return digest_of_tree(self.site)


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
