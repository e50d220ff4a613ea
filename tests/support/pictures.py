"""Pictures in the folder of a pair, and where its wiki has them."""

import re
from pathlib import Path

from tests.support.pair import OWNER, Pair

RED, BLUE = b"\x89PNG\r\n\x1a\nred", b"\x89PNG\r\n\x1a\nblue"
UPLOADED = re.compile(r"uploads/[0-9a-f]+/[\w.%-]+")


def put(pair: Pair, name: str, content: bytes) -> Path:
    path = pair.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


async def there(pair: Pair, slug: str = "home") -> str:
    return (await pair.wiki_texts())[slug]


async def upload_of(pair: Pair, slug: str = "home") -> str:
    """Where the page on the wiki leads to, which must be an upload."""
    found = UPLOADED.search(await there(pair, slug))
    assert found is not None, await there(pair, slug)
    return found.group()


async def shown(pair: Pair, slug: str = "home") -> bytes:
    """The content of that upload."""
    return (await pair.service.files(OWNER))[await upload_of(pair, slug)]


def count_uploads(pair: Pair) -> list[str]:
    """The files that are sent to the wiki from now on, by name."""
    sent: list[str] = []
    write = pair.remote._wiki.write_attachment

    async def counted(path: str, chunks: object) -> object:
        sent.append(path)
        return await write(path, chunks)  # type: ignore[arg-type]

    pair.remote._wiki.write_attachment = counted  # type: ignore[assignment,method-assign]
    return sent
