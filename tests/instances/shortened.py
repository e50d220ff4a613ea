"""``wikisync`` with shorter limits of its client: what takes minutes takes seconds.

    python -m tests.instances.shortened '{"read_timeout_s": 1}' sync -C FOLDER

The command is the real one; nothing but the values of ``api.settings`` differs.
"""

import sys

import msgspec
from msgspec.structs import replace

from wikisync.api import settings
from wikisync.cli.start import run

if __name__ == "__main__":
    limits = msgspec.json.Decoder(dict[str, float]).decode(sys.argv.pop(1))
    settings.DEFAULT_SETTINGS = replace(settings.DEFAULT_SETTINGS, **limits)
    run()
