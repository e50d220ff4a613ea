"""Where the third-party documents are that tests compare against.

They are data with licences of their own and never part of the project: they lie
beside a checkout, and tests that need them are skipped where they are not.
"""

from pathlib import Path

import pytest

CORPUS = Path(__file__).resolve().parents[2].parent / "shared" / "corpus"


def corpus_path(name: str) -> Path:
    """A file or folder of the corpus; skips the test where there is none."""
    path = CORPUS / name
    if not path.exists():
        pytest.skip(f"the corpus {name} is not beside this checkout")
    return path
