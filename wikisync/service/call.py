"""One request on its way: who calls, with what parameters, about which owner.

Every handler begins alike: it reads its parameters (400), then learns who calls
(401, 403), then finds the project or group (404) and asks ``access`` (403).
That order is the real service's (``docs/service.md`` "Rights").
"""

from collections.abc import Callable, Mapping
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar

from aiohttp import web
from msgspec import Struct

from wikisync.contract.routes import API_PREFIX, AnyEndpoint
from wikisync.core.model import OwnerKind
from wikisync.service import access, answers
from wikisync.service.committing import Author
from wikisync.service.instance import Service
from wikisync.service.parameters import Parameters, Window, read_window
from wikisync.service.projects.tables import moved_project
from wikisync.service.repository import WikiStorage
from wikisync.service.rows import Group, Project, Token, User
from wikisync.service.tables import Tables, id_of, is_number

P = ParamSpec("P")
T = TypeVar("T")
Need = Literal["api", "user", "any"]
"""What a token must be good for: the API, reading its own user, or nothing."""

Owner = Project | Group


class Caller(Struct, frozen=True):
    """Who sent a request; no user for an anonymous one."""

    user: User | None = None
    token: Token | None = None

    @property
    def user_id(self) -> int | None:
        """The user's id, or None."""
        return None if self.user is None else self.user.id

    @property
    def person(self) -> User:
        """The user, of a caller that was not admitted without one."""
        assert self.user is not None, "nobody changes anything without a user"
        return self.user

    @property
    def is_admin(self) -> bool:
        """Whether an administrator calls."""
        return self.user is not None and self.user.is_admin

    @property
    def author(self) -> Author:
        """The name on the commits this caller makes."""
        return Author(self.person.name, self.person.email)

    def judge(self, owner: Owner) -> access.Verdict:
        """Whether the caller may know of a project or group."""
        return access.judge_container(owner.visibility, owner.membership(self.user))

    def sees(self, owner: Owner) -> bool:
        """The same as yes or no."""
        return self.judge(owner) is access.Verdict.ALLOWED


class Call(Struct, frozen=True):
    """A request with everything that has been read of it."""

    service: Service
    request: web.BaseRequest
    segments: Mapping[str, str]
    raw: Mapping[str, object]
    """Query and body fields, untyped."""
    endpoint: AnyEndpoint | None = None
    """What the API has at its address; None outside of the API."""
    kind: OwnerKind = "project"
    """Whose wiki or members it is about."""

    @property
    def is_reading(self) -> bool:
        """GET or HEAD."""
        return self.request.method in {"GET", "HEAD"}

    async def ask(
        self,
        question: Callable[Concatenate[Tables, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Ask the service's records."""
        return await self.service.records.ask(question, *args, **kwargs)

    def values(self) -> Mapping[str, Any]:
        """What was sent of all that the endpoint takes, typed; 400 if some is wrong."""
        parameters = Parameters(self.raw)
        values = self._typed(parameters)
        parameters.check()
        return values

    def _typed(self, parameters: Parameters) -> dict[str, object]:
        assert self.endpoint is not None, "only operations of the API take values"
        return parameters.of(self.endpoint, is_free=self.service.is_free)

    async def caller(self, need: Need = "api") -> Caller:
        """Who calls; 401 for an unknown or dead token, 403 for who may not call so."""
        if "sudo" in self.raw or "Sudo" in self.request.headers:
            # done in the caller's own name it would be another act
            raise answers.forbidden("sudo is not available")
        secret = find_secret(self.request.headers, self.raw)
        if secret is None:
            return Caller()
        found = await self.ask(Tables.token_and_user, secret)
        if found is None:
            raise answers.unauthorized()
        token, user = found
        if token.is_revoked:
            raise answers.dead_token(
                "Token was revoked. You have to re-authorize from the user."
            )
        if token.is_expired(self.service.records.today()):
            raise answers.dead_token(
                "Token is expired. You can either do re-authorization or token refresh."
            )
        if user.is_blocked:
            raise answers.forbidden("Your account has been blocked.")
        is_own_user = need == "user" and "read_user" in token.scopes
        reaches = access.scope_allows(token.scopes, is_reading=self.is_reading)
        if not (reaches or is_own_user or need == "any"):
            raise answers.insufficient_scope()
        return Caller(user, token)

    async def signed_in(self, need: Need = "api") -> Caller:
        """Who calls, which must be somebody (401)."""
        caller = await self.caller(need)
        if caller.user is None:
            raise answers.unauthorized()
        return caller

    def number(self, segment: str, name: str = "") -> int:
        """A segment of the path that is a number (else 400), by its name in errors."""
        named = Parameters({name or segment: self.segments[segment]})
        found = named.integer(name or segment)
        named.check()
        return found or 0

    def list_values(self) -> tuple[Mapping[str, Any], Window]:
        """What a list is asked for: its typed parameters and its page."""
        parameters = Parameters(self.raw)
        window = read_window(parameters, self.service.limits)
        # the reader above has its own text for pages that are none
        # and any way of paging but by id is the one by offset
        raw = {**self.raw, "page": None, "per_page": None}
        if raw.get("pagination") not in {None, "keyset"}:
            raw["pagination"] = "legacy"
        rest = Parameters(raw)
        values = self._typed(rest)
        parameters.take_problems(rest)
        parameters.check()
        return values, window

    async def user(self) -> User:
        """The user named in the path, by id or username."""
        named, records = self.segments["user_id"], self.service.records
        if is_number(named):
            found = await records.ask(Tables.user_by_id, id_of(named))
        else:
            found = await records.ask(Tables.user_named, named)
        if found is None:
            raise answers.not_found("User")
        return found

    async def project_for(
        self, act: access.Act, *, is_archived_too: bool = False
    ) -> tuple[Caller, Project]:
        """Who calls, and the project named in the path, if it may do this to it."""
        caller = await self.signed_in()
        project = await self.project(caller)
        membership = project.membership(caller.user)
        verdict = access.judge_project(
            project.door, membership, act, is_archived_too=is_archived_too
        )
        answers.refuse(verdict, "Project")
        return caller, project

    async def project(self, caller: Caller) -> Project:
        """The project named in the path; 404 if hidden, 301 or 405 if it has moved."""
        found = await self.ask(Tables.project, self.segments["id"], caller.user_id)
        if found is None:
            await self._lead_on(caller)
            raise answers.not_found("Project")
        answers.refuse(caller.judge(found), "Project")
        if found.is_going:
            raise answers.not_found("Project")
        return found

    async def _lead_on(self, caller: Caller) -> None:
        records, old_path = self.service.records, self.segments["id"]
        project_id = await records.ask(moved_project, old_path)
        if project_id is None:
            return
        found = await records.ask(Tables.project, str(project_id), caller.user_id)
        assert found is not None, "redirects go with their projects"
        answers.refuse(caller.judge(found), "Project")
        if not self.is_reading:
            text = "Non GET methods are not allowed for moved projects"
            raise answers.Refusal(405, {"message": text})
        prefix = f"{API_PREFIX}/projects/"
        _old, slash, rest = self.request.rel_url.raw_path[len(prefix) :].partition("/")
        query = self.request.rel_url.raw_query_string
        url = f"{self.service.url}{prefix}{project_id}{slash}{rest}"
        url += f"?{query}" if query else ""
        text = f"This resource has been moved permanently to {url}"
        raise answers.PlainRefusal(301, text, {"Location": url})

    async def group(self, caller: Caller) -> Group:
        """The group named in the path, if the caller may know of it."""
        found = await self.ask(Tables.group, self.segments["id"], caller.user_id)
        if found is None:
            raise answers.not_found("Group")
        answers.refuse(caller.judge(found), "Group")
        return found

    async def owner(self, caller: Caller) -> Owner:
        """The project or group named in the path, if the caller may know of it."""
        find = self.project if self.kind == "project" else self.group
        return await find(caller)

    async def wiki(
        self, operation: access.Operation
    ) -> tuple[Caller, Owner, WikiStorage]:
        """The wiki named in the path, if the caller may do this to it."""
        caller = await self.caller()
        owner = await self.owner(caller)
        verdict = self.judge_wiki(owner, caller, operation)
        answers.refuse(verdict, self.kind.capitalize())
        return caller, owner, self.service.wiki(self.kind, owner.id)

    def judge_wiki(
        self, owner: Owner, caller: Caller, operation: access.Operation
    ) -> access.Verdict:
        """Whether the caller may do the operation on the owner's wiki."""
        membership = owner.membership(caller.user)
        level = self.service.settings.profile.delete_level
        return access.judge_wiki(owner.door, membership, operation, delete_level=level)


def find_secret(headers: Mapping[str, str], raw: Mapping[str, object]) -> str | None:
    """The token of a request, in any of the forms; the first one found counts."""
    if token := headers.get("PRIVATE-TOKEN"):
        return token
    scheme, _, credential = headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer" and credential.strip():
        return credential.strip()
    for name in ("private_token", "access_token"):
        value = raw.get(name)
        if isinstance(value, str) and value:
            return value
    return None
