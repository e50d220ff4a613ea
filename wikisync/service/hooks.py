"""Webhooks: notifying other programs of edits, in order and in the background.

Not announced are git pushes, attachments, pages that move along with another, and wikis
of groups, as in the real service (``docs/service.md`` "Webhooks").
"""

import asyncio
import logging
import re
from collections.abc import Sequence
from typing import Literal
from urllib.parse import quote, urlsplit
from uuid import UUID, uuid4, uuid5

import aiohttp
import msgspec
from msgspec import Struct

from wikisync.service.answers import fields_of
from wikisync.service.import_fetch import shown
from wikisync.service.pages import decode_text
from wikisync.service.repository import WikiRepository
from wikisync.service.rows import Project, User
from wikisync.service.settings import KIB, Hook, HookLimits
from wikisync.service.tree import PageFile
from wikisync.service.validation import RANKS

log = logging.getLogger(__name__)

Action = Literal["create", "update", "delete"]

ANSWER_BYTES_MAX = 8 * KIB
_PICTURE = re.compile(
    r"!\[(?P<alt>[^\]\n]{0,1000})\]\(/?(?P<path>uploads/[^)\s]{1,1000})\)"
)


class WikiEvent(Struct, frozen=True):
    """One edit of a page of a project's wiki."""

    id: UUID
    action: Action
    project: Project
    user: User
    page: PageFile
    """As it is now, or was before its deletion."""
    repository: WikiRepository
    message: str
    version: str | None
    """The commit, or None when it shall not be named."""
    base_url: str
    """Of the service, without a trailing slash."""


class Deliveries:
    """What is still to be delivered to whom."""

    def __init__(self, limits: HookLimits, version: str) -> None:
        self._limits = limits
        self._agent = f"GitLab/{version}"
        self.waiting = asyncio.Queue[tuple[WikiEvent, Hook]](limits.waiting_max)

    def announce(self, event: WikiEvent, hooks: Sequence[Hook]) -> None:
        """Let every hook know, soon; what there is no room for is left out."""
        for hook in hooks:
            try:
                self.waiting.put_nowait((event, hook))
            except asyncio.QueueFull:
                log.warning(
                    "too many webhooks wait; %s is not notified of the %s of %s",
                    shown(hook.url),
                    event.action,
                    event.page.slug,
                )

    async def run(self) -> None:
        """Deliver one after the other for ever; cancelled, what waits is left."""
        timeout = aiohttp.ClientTimeout(total=self._limits.seconds_max)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            while True:
                event, hook = await self.waiting.get()
                try:
                    await self._deliver(session, event, hook)
                except Exception:
                    # one event's trouble must not end the service for all others
                    log.exception("a webhook for %s failed", event.page.slug)
                finally:
                    self.waiting.task_done()

    async def _deliver(
        self, session: aiohttp.ClientSession, event: WikiEvent, hook: Hook
    ) -> None:
        where, what = shown(hook.url), f"{event.action} of {event.page.slug}"
        body = await asyncio.to_thread(_encode, event)
        if len(body) > self._limits.body_bytes_max:
            log.warning("the %s is too large to notify %s of it", what, where)
            return
        headers = {
            "Content-Type": "application/json",
            "User-Agent": self._agent,
            # repeated, it is the same
            "Idempotency-Key": str(uuid5(event.id, hook.url)),
            "X-Gitlab-Event": "Wiki Page Hook",
            "X-Gitlab-Webhook-UUID": str(uuid4()),
            "X-Gitlab-Event-UUID": str(event.id),
            "X-Gitlab-Instance": event.base_url,
        }
        if hook.secret:
            headers["X-Gitlab-Token"] = hook.secret
        try:
            async with session.post(
                hook.url, data=body, headers=headers, allow_redirects=False
            ) as response:
                await response.content.read(ANSWER_BYTES_MAX)
        except (aiohttp.ClientError, TimeoutError) as error:
            # other errors hold the bytes of the answer, or the whole address
            is_safe = isinstance(error, aiohttp.ClientConnectorError)
            reason = str(error) if is_safe else type(error).__name__
            log.warning("cannot notify %s of the %s: %s", where, what, reason)
            return
        level = logging.INFO if response.status < 400 else logging.WARNING
        log.log(level, "notified %s of the %s: %d", where, what, response.status)


def payload(event: WikiEvent, content: str, branch: str) -> dict[str, object]:
    """The event's JSON."""
    web_url = f"{event.base_url}/{event.project.full_path}"
    wiki_url = f"{web_url}/-/wikis"
    url = f"{wiki_url}/{quote(event.page.slug)}"
    attributes = fields_of(event.page, "slug title format") | {
        "message": event.message,
        # pictures by their whole address, for receivers that show the text
        "content": _PICTURE.sub(rf"![\g<alt>]({wiki_url}/\g<path>)", content),
        "url": url,
        "action": event.action,
    }
    if event.version is not None:
        attributes["diff_url"] = f"{url}/diff?version_id={event.version}"
        attributes["version_id"] = event.version
    return {
        "object_kind": "wiki_page",
        "user": fields_of(event.user, "id name username")
        | {"avatar_url": None, "email": "[REDACTED]"},
        "project": _project(event, web_url),
        "wiki": {
            "web_url": f"{wiki_url}/home",
            "git_ssh_url": f"{_ssh(event)}.wiki.git",
            "git_http_url": f"{web_url}.wiki.git",
            "path_with_namespace": f"{event.project.full_path}.wiki",
            "default_branch": branch,
        },
        "object_attributes": attributes,
    }


def _encode(event: WikiEvent) -> bytes:
    content = event.repository.read(event.page.blob)
    text, _encoding = decode_text(content, len(content))
    return msgspec.json.encode(payload(event, text, event.repository.branch()))


def _project(event: WikiEvent, web_url: str) -> dict[str, object]:
    project = event.project
    ssh_url, http_url = f"{_ssh(event)}.git", f"{web_url}.git"
    return fields_of(project, "id name description default_branch") | {
        "web_url": web_url,
        "avatar_url": None,
        "git_ssh_url": ssh_url,
        "git_http_url": http_url,
        "namespace": project.namespace.name,
        "visibility_level": RANKS[project.visibility],
        "path_with_namespace": project.full_path,
        "ci_config_path": None,
        "homepage": web_url,
        "url": ssh_url,
        "ssh_url": ssh_url,
        "http_url": http_url,
    }


def _ssh(event: WikiEvent) -> str:
    return f"git@{urlsplit(event.base_url).hostname}:{event.project.full_path}"
