"""Who has to do with a project: members by every way there is, and their levels."""

from tests.support.service import EmbeddedService
from wikisync.service.projects import people as project_people
from wikisync.service.tables import Tables


async def shared_project(
    service: EmbeddedService, *, level: int = 30, expires_on: str | None = None
) -> int:
    """``docs/book``, shared with ``guests/deep``; someone is in each group."""
    project = await service.add_project("docs/book")
    await service.add_group("docs")
    await service.add_group("guests")
    invited = await service.add_group("guests/deep")
    await service.add_group("guests/deep/deeper")
    for path in ("docs", "docs/book", "guests", "guests/deep", "guests/deep/deeper"):
        name = "of-" + path.replace("/", "-")
        await service.add_user(name)
        await service.add_member(path, name, 40)
    await service.ask(project_people.add_share, project, invited, level, expires_on)
    return project


async def test_invited_members_have_no_more_than_the_invitation_says(
    service: EmbeddedService,
) -> None:
    project = await shared_project(service, level=20)
    await service.add_member("docs/book", "of-guests", 10)
    shown = await service.ask(Tables.project, str(project), None)
    assert shown is not None

    found = await service.ask(project_people.members, project, shown.namespace.id)

    levels = {user.username: level for user, level in found}
    assert (levels["of-guests"], levels["of-guests-deep"]) == (20, 20)
    assert levels["of-docs-book"] == 40
