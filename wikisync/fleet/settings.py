"""What a fleet works on, and that its places are its own.

Each place in a bucket holds an object that names the fleet that it belongs to.
"""

from __future__ import annotations

from contextlib import suppress

from msgspec import Struct

from wikisync.core.terminal import one_line
from wikisync.errors import PreconditionFailed, SiteError, UsageError
from wikisync.site.bucket import Bucket, open_bucket
from wikisync.workspace.discovery import Selection

OWNER = "-/fleet.txt"
"""Names the fleet that a place in a bucket belongs to; whoever reads may know it."""
UNPROTECTED = "not public (wikisync fleet init --protected gives such wikis a site)"


class Settings(Struct, frozen=True):
    """What all workers of a fleet work on."""

    service: str
    selection: Selection
    site: str
    """Where the sites of public wikis lie: ``s3://bucket/prefix``."""
    state: str
    """Where what is known of wikis lies, which is for workers alone."""
    protected: str = ""
    """Where sites of other wikis lie; empty: they have none."""
    requests: int = 0
    """That all workers make of the service in a minute at most; 0: as many as it
    takes."""
    title: str = ""
    """Of the page that lists the public wikis; empty: there is none."""
    fleet: str = ""
    """What tells one fleet from all others (``own``)."""

    def top(self, *, is_public: bool) -> str:
        """Where the sites of all wikis lie that are as public as one is."""
        return self.site if is_public else self.protected

    def wiki_at(self, place: str) -> tuple[str, bool]:
        """The path of the wiki whose site belongs at a place; whether it is public."""
        is_public = place.startswith(f"{self.site}/")
        path = place[len(self.top(is_public=is_public)) + 1 :]
        return path.removesuffix("/-/wikis"), is_public


class PlaceTaken(UsageError):
    """A place belongs to another fleet."""


async def own(settings: Settings, *, takes_over: bool = False) -> None:
    """Make the places of a fleet its own; or PlaceTaken, SiteError.

    A fleet that lost a place so finds it out as a worker begins, or lists wikis.
    """
    name, foreign = f"fleet {settings.fleet} of ", []
    mine = f"{name}{settings.service}".encode()
    for place in filter(None, (settings.site, settings.state, settings.protected)):
        bucket = open_bucket(place)
        content, etag = await bucket.read(OWNER) or (b"", "")
        owners = {place: content} if content else await _nested(bucket)
        for taken, owner in owners.items():
            # the fleet of another place would go on there
            if owner.startswith(name.encode()) or (takes_over and content):
                continue
            said = one_line(owner.decode(errors="replace"))
            way = "wikisync fleet init --take-over, which ends its workers"
            raise PlaceTaken(
                f"{taken} belongs to {said}, not to {name}{settings.service}",
                hint="name a place apart from it, or if that fleet is no more: "
                + (way if content else f"remove {taken}/{OWNER}"),
            )
        if content != mine:
            foreign.append((bucket, etag))
    for bucket, etag in foreign:
        try:
            await bucket.put(OWNER, mine, etag)
        except PreconditionFailed:
            if (await bucket.read(OWNER) or (b"", ""))[1] == etag:
                raise  # it is refused for nothing
            await own(settings, takes_over=takes_over)


async def _nested(bucket: Bucket) -> dict[str, bytes]:
    """Who owns the places that lie in a new one, and those that it lies in."""
    below = [path for path in await bucket.etags() if path.endswith(f"/{OWNER}")]
    owners = [(f"{bucket.url}/{path}", await bucket.read(path)) for path in below]
    above = bucket.url
    while (above := above.rpartition("/")[0]) != "s3:/":
        # a key that is for this place alone reads nothing above it
        with suppress(SiteError):
            path = f"{above}/{OWNER}"
            owners.append((path, await open_bucket(above).read(OWNER)))
    return {path[: -len(OWNER) - 1]: found[0] for path, found in owners if found}
