"""Attacks by single requests: names, numbers and titles that are too much.

Each gives what the service answered; the tests, and whoever wants a table of all
attacks, say what that must be.
"""

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import aiohttp
from yarl import URL

API = "/api/v4"
NUMBER = "9" * 5000
"""Python refuses to convert so many digits."""
MANY = 5000


@dataclass(frozen=True, slots=True)
class Sent:
    """One request of an attack."""

    method: str
    path: str
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of a request."""

    sent: Sent
    status: int
    text: str
    seconds: float


async def send(url: str, requests: Iterable[Sent], token: str | None) -> list[Answered]:
    """Send requests one after the other, their paths exactly as they are."""
    credentials = {} if token is None else {"PRIVATE-TOKEN": token}
    found: list[Answered] = []
    loop = asyncio.get_running_loop()
    # answers repeat what was asked for in their headers
    async with aiohttp.ClientSession(
        max_line_size=10**6, max_field_size=10**6
    ) as session:
        for sent in requests:
            begin = loop.time()
            async with session.request(
                sent.method,
                URL(url + sent.path, encoded=True),
                data=None if sent.body is None else json.dumps(sent.body),
                headers={
                    "Content-Type": "application/json",
                    **credentials,
                    **sent.headers,
                },
                allow_redirects=False,
            ) as response:
                text = (await response.read()).decode("utf-8", "replace")
            seconds = loop.time() - begin
            found.append(Answered(sent, response.status, text, seconds))
    return found


def numbers_without_end() -> list[Sent]:
    """Ids of thousands of digits, wherever an id can stand."""
    projects = f"{API}/projects"
    paths = [
        f"{projects}/{NUMBER}",
        f"{projects}/{NUMBER}/wikis",
        f"{API}/groups/{NUMBER}",
        f"{API}/groups/{NUMBER}/wikis/home",
        f"{API}/users/{NUMBER}/projects",
        f"{API}/users/{NUMBER}/starred_projects",
        f"/-/project/{NUMBER}/uploads/a/b",
        f"/uploads/-/system/project/avatar/{NUMBER}/x.png",
        f"/{NUMBER}.wiki.git/info/refs?service=git-upload-pack",
        f"/{NUMBER}/-/wikis/uploads/a/b.png",
        *(
            f"{projects}?{name}={NUMBER}"
            for name in (
                *("page", "per_page", "id_after", "id_before", "topic_id"),
                *("min_access_level", "last_activity_after", "search"),
            )
        ),
        f"{projects}/1/groups?with_shared=1&shared_min_access_level={NUMBER}",
        f"{projects}/1/groups?skip_groups={NUMBER}",
        f"{projects}/1/users?skip_users={NUMBER}",
    ]
    bodies = [
        Sent("POST", projects, {"name": "n", "namespace_id": NUMBER}),
        Sent("POST", f"{projects}/1/fork", {"namespace": NUMBER}),
        Sent("POST", f"{projects}/1/fork", {"namespace_id": NUMBER}),
        Sent("POST", f"{projects}/{NUMBER}/fork", {}),
        Sent("POST", f"{projects}/user/{NUMBER}", {"name": "x"}),
        Sent("POST", f"{projects}/1/share", {"group_id": NUMBER, "group_access": 30}),
        Sent("DELETE", f"{projects}/1/share/{NUMBER}"),
        Sent("POST", f"{projects}/1/import_project_members/{NUMBER}"),
        Sent("PUT", f"{projects}/1", {"build_timeout": NUMBER}),
        Sent("PUT", f"{projects}/{NUMBER}/wikis/home", {"content": "x"}),
    ]
    return [*(Sent("GET", path) for path in paths), *bodies]


def lists_without_end() -> list[Sent]:
    """Filters of lists with thousands of parts."""
    projects = f"{API}/projects"
    words = "+".join(f"word{at}" for at in range(MANY))
    topics = ",".join(f"t{at}" for at in range(MANY))
    attributes = "&".join(f"custom_attributes[k{at}]=v" for at in range(990))
    ids = ",".join(str(at) for at in range(MANY))
    return [
        Sent("GET", path)
        for path in (
            f"{projects}?search={words}",
            f"{projects}?search={words}&search_namespaces=1",
            f"{projects}?topic={topics}",
            f"{projects}?{attributes}",
            f"{projects}/1/groups?skip_groups={ids}",
            f"{API}/groups?search={'%25' * MANY}",
        )
    ]


def deep_titles(project: str) -> list[Sent]:
    """Pages in so many folders that whoever goes down them one call each ends."""
    wikis = f"{API}/projects/{project}/wikis"
    return [
        sent
        for depth in (65, 990, 200_000)
        for title in ["d/" * depth + "x"]
        for sent in (
            Sent("POST", wikis, {"title": title, "content": "x"}),
            Sent("PUT", f"{wikis}/home", {"title": title}),
        )
    ]


def names_of_versions(project: str) -> list[Sent]:
    """What git takes for the name of a commit, where an id is wanted."""
    page = f"{API}/projects/{project}/wikis/home?version="
    return [
        Sent("GET", page + name)
        for name in (
            ":/(.%2B)%2B[%23~]",
            "HEAD",
            "main",
            "HEAD~1",
            "HEAD@%7B0%7D",
            "HEAD^%7B/x%7D",
            "refs/heads/main",
            "a" * 50_000,
            "0",
        )
    ]
