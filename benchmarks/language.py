"""What the language server costs: a wiki of 10,000 pages, an editor that types.

    python benchmarks/language.py [--pages 10000] [--changes 20]

The client is that of the protocol's library.  Ready is the first answer about an open
page; a change is from the key to what is wrong in the text; memory is the server's,
with the processes that it started.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from corpus import generate
from lsprotocol import types as lsp
from measured import memory_of
from pygls.lsp.client import LanguageClient

WAIT_S = 120.0


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--changes", type=int, default=20)
    arguments = parser.parse_args()
    print(f"{'':12}{'ready s':>9}{'change s':>10}{'worst s':>9}{'MB':>6}")
    with tempfile.TemporaryDirectory(prefix="wikisync-bench-") as place:
        generate(Path(place, "wiki"), arguments.pages)
        for start in ("cold", "again"):
            numbers = await measure(Path(place), arguments.changes)
            print(f"{start:12}{numbers}")
    return 0


async def measure(place: Path, changes: int) -> str:
    client = LanguageClient("benchmark", "1")
    answers: asyncio.Queue[int | None] = asyncio.Queue()

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
    def note(params: lsp.PublishDiagnosticsParams) -> None:
        answers.put_nowait(params.version)

    file = min(place.joinpath("wiki").rglob("*.md"))
    text = file.read_text()
    begun = time.perf_counter()
    await client.start_io(
        sys.executable,
        *("-m", "wikisync", "lsp", str(place / "wiki")),
        env={**os.environ, "XDG_CACHE_HOME": str(place / "cache")},
    )
    await client.initialize_async(
        lsp.InitializeParams(capabilities=lsp.ClientCapabilities())
    )
    client.initialized(lsp.InitializedParams())
    client.text_document_did_open(
        lsp.DidOpenTextDocumentParams(
            lsp.TextDocumentItem(file.as_uri(), "markdown", 1, text)
        )
    )

    async def answered(version: int) -> None:
        async with asyncio.timeout(WAIT_S):
            while await answers.get() != version:
                pass

    await answered(1)
    ready = time.perf_counter() - begun
    times = []
    for version in range(2, changes + 2):
        changed = f"{text}\nWord {version} [link](nowhere/{version}).\n"
        name = lsp.VersionedTextDocumentIdentifier(uri=file.as_uri(), version=version)
        whole = lsp.TextDocumentContentChangeWholeDocument(changed)
        begun = time.perf_counter()
        client.text_document_did_change(lsp.DidChangeTextDocumentParams(name, [whole]))
        await answered(version)
        times.append(time.perf_counter() - begun)
    server = client._server  # noqa: SLF001 -- the library has no other way to its process
    assert server is not None
    memory = memory_of(server.pid) / 1024
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()  # type: ignore[no-untyped-call]
    median = statistics.median(times)
    return f"{ready:9.2f}{median:10.3f}{max(times):9.3f}{memory:6.0f}"


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
