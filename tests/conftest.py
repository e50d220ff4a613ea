"""For every test of the house: how hypothesis searches, and a guard to do without."""

import gc
import os
import signal
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.sync.prove_guards import SWITCH, guard_named
from wikisync.fleet.parts import BucketServer, bucket_server

# a busy machine is no failure; a search that never ends is cut by its examples
settings.register_profile("wikisync", deadline=None)
settings.load_profile("wikisync")

# who is started in the background by a shell ignores it, and so would every process
# that a test interrupts
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# no test leaves anything in the cache or the configuration of the person who runs it
_CACHE = tempfile.TemporaryDirectory(prefix="wikisync-tests-")
os.environ["XDG_CACHE_HOME"] = _CACHE.name
os.environ["XDG_CONFIG_HOME"] = f"{_CACHE.name}/config"

# before any test module takes the guard's name into its own
if os.environ.get(SWITCH):
    guard_named(os.environ[SWITCH]).switch_off(setattr)


def pytest_collection_finish() -> None:
    """Ten thousand tests stand for the whole run: the collector need not look again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BucketServer]:
    """One server of buckets for all tests of a process that want one."""
    with bucket_server(tmp_path_factory.mktemp("s3")) as server:
        yield server
