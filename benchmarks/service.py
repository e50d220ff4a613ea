"""What a large service costs: 100,000 projects and 200 groups, and a large wiki.

    python benchmarks/service.py [--projects N]

A service in a process of its own is asked over HTTP on loopback.  The tables
tell the first list by size, the first page of a list for each filter (best of
three), a walk over all projects by id, the memory of the service, and a list of
10,000 wiki pages with their texts, the first time and again.
"""

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import aiohttp

GROUPS = 200
PAGES = 10_000
LISTS = (
    "",
    "order_by=id",
    "order_by=name",
    "order_by=path&sort=asc",
    "order_by=updated_at",
    "order_by=last_activity_at",
    "order_by=similarity&search=needle",
    "order_by=storage_size",
    "order_by=wiki_size&sort=asc",
    "page=400&per_page=100",
    "simple=true&per_page=100",
    "per_page=100",
    "archived=true",
    "archived=false",
    "visibility=public",
    "visibility=internal",
    "visibility=private",
    "search=needle",
    "search=project",
    "search=nothing-at-all",
    "search=ab",
    "search=group-7&search_namespaces=true",
    "topic=rare",
    "topic=common",
    "topic=common,rare",
    "topic_id=1",
    "with_programming_language=Rust",
    "with_issues_enabled=true",
    "with_merge_requests_enabled=true",
    "membership=true",
    "owned=true",
    "starred=true",
    "min_access_level=40",
    "imported=true",
    "last_activity_after=2029-01-01T00:00:00Z",
    "last_activity_before=2001-01-01T00:00:00Z",
    "updated_after=2029-01-01T00:00:00Z&order_by=updated_at",
    "id_after=99990&order_by=id&sort=asc",
    "id_before=10",
    "repository_checksum_failed=true",
    "wiki_checksum_failed=true",
    "custom_attributes[k]=v",
    "repository_storage=other",
    "include_hidden=true&include_pending_delete=true",
    "statistics=true",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--projects", type=int, default=100_000)
    parser.add_argument("--serve", type=Path)
    options = parser.parse_args()
    if options.serve is not None:
        asyncio.run(serve(options.serve, options.projects))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--serve", folder]
        command += ["--projects", str(options.projects)]
        service = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert service.stdin is not None
        assert service.stdout is not None
        told = json.loads(service.stdout.readline())
        asyncio.run(measure(told))
        service.stdin.close()
        print(service.stdout.readline().strip())
        service.wait()
    return 0


async def serve(folder: Path, projects: int) -> None:
    """Fill a service, then run it until stdin is closed."""
    from wikisync.service.committing import Author
    from wikisync.service.loading import load_wiki
    from wikisync.service.server import running_service
    from wikisync.service.tables import Tables

    async with running_service(folder) as running:
        records = running.records
        person = await records.ask(Tables.add_user, "dana")
        token = await records.ask(Tables.add_token, person.id)
        await records.ask(fill, projects, person.id)
        repository = running.wiki("project", 1).repository
        await asyncio.to_thread(load_wiki, repository, pages(folder), Author("a", "b"))
        tokens = {"admin": running.first_token, "member": token}
        print(json.dumps({"url": running.url, "tokens": tokens}), flush=True)
        await asyncio.to_thread(sys.stdin.read)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"memory of the service at most: {peak:.0f} MB", flush=True)


def pages(folder: Path) -> dict[str, Path]:
    """Page files on disk, by their path in the wiki."""
    found: dict[str, Path] = {}
    for at in range(PAGES):
        file = folder / "pages" / f"page-{at}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(text(at))
        found[f"dir-{at % 100}/page-{at}.md"] = file
    return found


def text(at: int) -> bytes:
    return f"# Page {at}\n\n{'Some words of it. ' * 60}\n".encode()


def fill(tables: object, projects: int, person: int) -> None:
    """Write the records straight into the tables, and look at them as the job does."""
    from wikisync.service.listing import ProjectQuery, find_project_ids
    from wikisync.service.tables import Tables

    assert isinstance(tables, Tables)
    db = tables.db
    for at in range(GROUPS):
        parent = f"group-{at % 20}" if at >= 20 else ""
        path = f"{parent}/group-{at}" if parent else f"group-{at}"
        group = tables.add_group(path, visibility="public")
        if at % 10 == 3:
            tables.add_member("group", group, person, 30)
    spaces = db.execute(
        "SELECT id, full_path FROM namespace WHERE kind = 'group' ORDER BY id"
    ).fetchall()
    with tables.transaction():
        for at in range(1, projects + 1):
            space = spaces[at % GROUPS]
            moment = f"20{10 + at % 19}-0{1 + at % 9}-01T00:00:{at % 60:02}.000Z"
            rare = "needle " if at % 10_007 == 0 else ""
            db.execute(
                "INSERT INTO project (id, namespace_id, path, full_path, name,"
                " description, visibility, is_archived, creator_id, created_at,"
                " updated_at, last_activity_at, is_measured)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, 0)",
                (
                    at,
                    space["id"],
                    f"project-{at}",
                    f"{space['full_path']}/project-{at}",
                    f"Project {at}",
                    f"{rare}What project number {at} is for, in a sentence or two.",
                    ("public", "private", "private", "internal")[at % 4],
                    int(at % 50 == 0),
                    moment,
                    moment,
                    moment,
                ),
            )
        db.execute("INSERT INTO topic VALUES (1, 'common'), (2, 'rare')")
        db.execute("INSERT INTO project_topic SELECT id, 1, 0 FROM project")
        db.execute(
            "INSERT INTO project_topic SELECT id, 2, 1 FROM project WHERE id % 5003 = 0"
        )
        db.execute(
            "INSERT INTO language SELECT id, iif(id % 3001 = 0, 'Rust', 'Python'), 100"
            " FROM project"
        )
        db.execute(
            "INSERT INTO star SELECT ?, id, created_at FROM project"
            " WHERE id % 2003 = 0",
            (person,),
        )
        db.execute("UPDATE project SET issues_access_level = 'private' WHERE id % 7=0")
    find_project_ids(tables, ProjectQuery(), None, 10)


async def measure(told: dict[str, object]) -> None:
    """Ask, and print the tables."""
    tokens = told["tokens"]
    assert isinstance(tokens, dict)
    async with aiohttp.ClientSession(base_url=str(told["url"])) as session:
        started = time.perf_counter()
        largest = "/api/v4/projects?order_by=storage_size"
        await fetch(session, largest, str(tokens["admin"]))
        took = time.perf_counter() - started
        print(f"first list by size, when no project was ever measured: {took:.2f} s\n")
        print(
            f"{'first page of /projects, ms':<55}{'admin':>8}{'member':>8}{'anyone':>8}"
        )
        for query in LISTS:
            figures = [
                await best_ms(session, f"/api/v4/projects?{query}", token)
                for token in (tokens["admin"], tokens["member"], None)
            ]
            print(f"{query:<55}" + "".join(f"{figure:>8.1f}" for figure in figures))
        await walk(session, str(tokens["admin"]))
        path = "/api/v4/projects/1/wikis?with_content=1"
        for name in ("cold", "warm"):
            started = time.perf_counter()
            size = await fetch(session, path, str(tokens["admin"]))
            print(
                f"{PAGES} wiki pages with texts, {name}:"
                f" {time.perf_counter() - started:.2f} s, {size / 1e6:.1f} MB"
            )


async def best_ms(
    session: aiohttp.ClientSession, path: str, token: str | None
) -> float:
    best = float("inf")
    for _at in range(3):
        started = time.perf_counter()
        await fetch(session, path, token)
        best = min(best, time.perf_counter() - started)
    return best * 1000


async def fetch(session: aiohttp.ClientSession, path: str, token: str | None) -> int:
    headers = {"PRIVATE-TOKEN": token} if token else {}
    async with session.get(path, headers=headers) as answer:
        body = await answer.read()
        assert answer.status == 200, (path, body[:200])
        return len(body)


async def walk(session: aiohttp.ClientSession, token: str) -> None:
    url = "/api/v4/projects?pagination=keyset&order_by=id&per_page=100&simple=true"
    started, count = time.perf_counter(), 0
    while url:
        async with session.get(url, headers={"PRIVATE-TOKEN": token}) as answer:
            count += len(await answer.json())
            following = answer.links["next"]["url"] if "next" in answer.links else ""
            url = str(following).removeprefix(str(answer.url.origin()))
    seconds = time.perf_counter() - started
    print(f"\nwalk over {count} projects by id: {seconds:.1f} s")


if __name__ == "__main__":
    sys.exit(main())
