"""A wiki that tells its newest commit, and whose history somebody rewrites."""

from tests.support.copies import Copies, rested
from wikisync.core.model import Slug
from wikisync.sync.base.state import State
from wikisync.sync.decide.safety import Batch, Decision

PAGES = {f"page{number}": f"text {number}\n" for number in range(9)}
EDITED = {slug: f"{PAGES[slug]}\nwork of a day\n" for slug in list(PAGES)[:4]}
NEW = {"fresh1": "made that day\n", "fresh2": "made that day, too\n"}
NEWEST = {**PAGES, **EDITED, **NEW}


def waiting(copies: Copies) -> list[Batch]:
    return [b for b in copies.known.memory.batches if b.decision is Decision.WAITING]


def asked_about(copies: Copies) -> list[Slug]:
    """The pages of the one batch that waits."""
    (batch,) = waiting(copies)
    return [member.slug for member in batch.members]


class Told(Copies):
    """Copies whose wiki tells its newest commit."""

    def commit(self) -> str:
        """Another commit of the wiki, whatever is in it."""
        name = f"commit {len(self.there.commits)}"
        self.there.commits.append(name)
        self.there.committed[name] = self.there.texts()
        return name

    def push_over(self) -> None:
        """Somebody puts what the wiki has now in the place of the last commit."""
        self.there.commits[-1:] = ["forced"]
        self.there.committed["forced"] = self.there.texts()

    def asked(self) -> list[str]:
        """What was asked about the history since this was asked last."""
        found = [one for one in self.there.log if one.split()[0] in ASKED]
        self.there.log.clear()
        return [one.split()[0] for one in found]


ASKED = {"head", "follows"}


async def told(state: State) -> Told:
    """Both sides in sync, and the history known."""
    copies = Told(state, PAGES)
    copies.commit()
    await copies.rest()
    copies.there.put("page0", EDITED["page0"])
    copies.commit()
    await copies.rest()
    return copies


def force(copies: Told) -> None:
    """Somebody takes the last commit back by force."""
    copies.there.put("page0", PAGES["page0"])
    copies.push_over()


async def worked(state: State) -> Copies:
    """A wiki with a day of work on both sides."""
    copies = await rested(state, PAGES)
    for at, (slug, text) in enumerate({**EDITED, **NEW}.items()):
        (copies.here if at % 2 else copies.there).put(slug, text)
    await copies.rest()
    return copies


async def rename_taken_back(state: State, text: str, *, in_the_way: str = "") -> Told:
    copies = await told(state)
    known = copies.there.identities
    known[Slug("page8")] = "8"
    await copies.rest()
    copies.rename_here("page8", "renamed")
    copies.here.put("renamed", text)
    await copies.cycle()
    await copies.rest()
    copies.rename_there("renamed", "page8")
    known[Slug("page8")] = known.pop(Slug("renamed"))
    copies.there.put("page8", PAGES["page8"])
    copies.there.commits[-1:] = ["forced"]
    if in_the_way:
        copies.here.put("page8", in_the_way)
    await copies.cycles(4)
    return copies


async def forced(state: State) -> Told:
    copies = await told(state)
    force(copies)
    await copies.cycles(4)
    return copies
