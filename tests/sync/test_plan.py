from wikisync.core.model import Digest, Format, Slug
from wikisync.sync.decide import plan as plans

A, B = Digest("a" * 64), Digest("b" * 64)


def create(slug: str) -> plans.Action:
    return plans.CreateLocal(Slug(slug), Format.MARKDOWN, A)


def delete(slug: str) -> plans.Action:
    return plans.DeleteLocal(Slug(slug), A)


def test_plan_text_says_what_happens_where() -> None:
    """The text is the dry run: each kind of action, in the order of carrying out."""
    slugs = [Slug(f"p{number}") for number in range(9)]
    plan = plans.Plan.from_actions(
        [
            delete("old"),
            plans.DeleteRemote(slugs[8], A, Format.MARKDOWN),
            plans.Skip(Slug("mine"), plans.SkipReason.OPEN_HERE),
            plans.DropRecord(Slug("forgotten")),
            plans.Hold(slugs[7], plans.HoldReason.NAME_TAKEN, Slug("n")),
            plans.Adopt(Slug("same"), Format.MARKDOWN, A, A),
            plans.Push(slugs[6], Format.MARKDOWN, A, B),
            plans.Merge(slugs[5], Format.MARKDOWN, A, B),
            plans.CreateRemote(slugs[4], Format.MARKDOWN, A),
            plans.CreateLocal(
                slugs[3], Format.MARKDOWN, A, plans.Notice.DELETION_REFUSED
            ),
            create("new"),
            plans.Pull(Slug("changed"), Format.ORG, A, B),
            plans.Rebind(slugs[2], Slug("n")),
            moved_on_wiki("p1", 1),
            moved_on_wiki("p9", 0, Slug("p9/x"), Slug("p9/y")),
            plans.MoveLocal(slugs[0], Slug("n"), slugs[0], A),
        ]
    )
    assert str(plan).splitlines() == [
        "rename  p9 -> n on the wiki, with 2 pages below it",
        "rename  p1 -> n on the wiki",
        "rename  p0 -> n",
        "adopt   p2 -> n",
        "create  new",
        "create  p3: its deletion was rejected: it is restored",
        "update  changed",
        "merge   p5: edited here and on the wiki",
        "update  p6 on the wiki",
        "create  p4 on the wiki",
        "adopt   same",
        "forget  forgotten",
        "hold    p7 -> n: renamed to a name that another page has on the other side",
        "skip    mine: open in an editor here; waiting until it is closed",
        "remove  old",
        "remove  p8 from the wiki",
    ]


def moved_on_wiki(slug: str, turn: int, *carried: Slug) -> plans.Action:
    page = Slug(slug)
    return plans.MoveRemote(page, Slug("n"), page, Format.MARKDOWN, A, carried, turn)
