"""The table of ``docs/service.md`` "Rights", row by row, and scopes."""

import pytest

from wikisync.contract.project_schema import AccessLevel
from wikisync.service import access

OK, NO, HIDDEN = access.Verdict.ALLOWED, access.Verdict.FORBIDDEN, access.Verdict.HIDDEN

ANONYMOUS = access.Membership()
STRANGER = access.Membership(is_signed_in=True)
ADMIN = access.Membership(is_signed_in=True, is_admin=True)


def member(level: int) -> access.Membership:
    return access.Membership(is_signed_in=True, level=level)


PRIVATE = access.WikiDoor("private")
PUBLIC = access.WikiDoor("public")
INTERNAL = access.WikiDoor("internal")
DISABLED = access.WikiDoor("private", "disabled")
PUBLIC_DISABLED = access.WikiDoor("public", "disabled")
MEMBERS_ONLY = access.WikiDoor("public", "private")
ARCHIVED = access.WikiDoor("private", "enabled", is_archived=True)

MATRIX = [
    # who, membership, state, door, read, write, delete
    ("anonymous", ANONYMOUS, "private", PRIVATE, HIDDEN, HIDDEN, HIDDEN),
    ("anonymous", ANONYMOUS, "internal", INTERNAL, HIDDEN, HIDDEN, HIDDEN),
    ("anonymous", ANONYMOUS, "public", PUBLIC, OK, NO, NO),
    ("anonymous", ANONYMOUS, "public-disabled", PUBLIC_DISABLED, NO, NO, NO),
    ("anonymous", ANONYMOUS, "members-only", MEMBERS_ONLY, NO, NO, NO),
    ("stranger", STRANGER, "private", PRIVATE, HIDDEN, HIDDEN, HIDDEN),
    ("stranger", STRANGER, "internal", INTERNAL, OK, NO, NO),
    ("stranger", STRANGER, "public", PUBLIC, OK, NO, NO),
    ("stranger", STRANGER, "members-only", MEMBERS_ONLY, NO, NO, NO),
    (
        "minimal",
        member(AccessLevel.MINIMAL),
        "private",
        PRIVATE,
        HIDDEN,
        HIDDEN,
        HIDDEN,
    ),
    ("guest", member(AccessLevel.GUEST), "private", PRIVATE, OK, NO, NO),
    ("guest", member(AccessLevel.GUEST), "members-only", MEMBERS_ONLY, OK, NO, NO),
    ("guest", member(AccessLevel.GUEST), "disabled", DISABLED, NO, NO, NO),
    ("planner", member(AccessLevel.PLANNER), "private", PRIVATE, OK, OK, OK),
    ("planner", member(AccessLevel.PLANNER), "archived", ARCHIVED, OK, NO, NO),
    ("reporter", member(AccessLevel.REPORTER), "private", PRIVATE, OK, NO, NO),
    ("security", member(25), "private", PRIVATE, OK, NO, NO),
    ("developer", member(AccessLevel.DEVELOPER), "private", PRIVATE, OK, OK, NO),
    ("developer", member(AccessLevel.DEVELOPER), "disabled", DISABLED, NO, NO, NO),
    ("developer", member(AccessLevel.DEVELOPER), "archived", ARCHIVED, OK, NO, NO),
    ("maintainer", member(AccessLevel.MAINTAINER), "private", PRIVATE, OK, OK, OK),
    ("maintainer", member(AccessLevel.MAINTAINER), "archived", ARCHIVED, OK, NO, NO),
    ("owner", member(AccessLevel.OWNER), "private", PRIVATE, OK, OK, OK),
    ("owner", member(AccessLevel.OWNER), "disabled", DISABLED, NO, NO, NO),
    ("admin", ADMIN, "private", PRIVATE, OK, OK, OK),
    ("admin", ADMIN, "disabled", DISABLED, NO, NO, NO),
    ("admin", ADMIN, "archived", ARCHIVED, OK, NO, NO),
]


def test_each_caller_may_do_what_the_matrix_says() -> None:
    for who, membership, state, door, *expected in MATRIX:
        verdicts = [
            access.judge_wiki(door, membership, operation)
            for operation in access.Operation
        ]

        assert verdicts == expected, (who, state)


def test_delete_level_can_be_lowered_to_developer() -> None:
    developer = member(AccessLevel.DEVELOPER)

    verdict = access.judge_wiki(
        PRIVATE, developer, access.Operation.DELETE, delete_level=AccessLevel.DEVELOPER
    )

    assert verdict is OK


def test_member_below_a_private_group_sees_it_but_not_its_wiki() -> None:
    inside = access.Membership(is_signed_in=True, sees_inside=True)

    assert access.judge_container("private", inside) is OK
    assert access.judge_wiki(PRIVATE, inside, access.Operation.READ) is NO


@pytest.mark.parametrize(
    ("scope", "reading", "writing"),
    [
        ("api", True, True),
        ("read_api", True, False),
        ("read_user", False, False),
        ("write_repository", False, False),
    ],
)
def test_scope_reaches_as_far_as_it_says(
    scope: str, reading: bool, writing: bool
) -> None:
    scopes = frozenset({scope})

    assert access.scope_allows(scopes, is_reading=True) is reading
    assert access.scope_allows(scopes, is_reading=False) is writing
