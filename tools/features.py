"""The table of features in docs/markup.md, made from the tests' cases.

    python tools/features.py          (``make features``)

What stands between its two marks is written anew; all around it is written by hand.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.support.features import Feature, read_features  # noqa: E402

DOCUMENT = ROOT / "docs" / "markup.md"
BEGIN = (
    "<!-- features: made by `make features` from tests/markup/cases/features.toml -->\n"
)
END = "<!-- end of the features -->\n"
VERDICTS = {"same": "same", "different": "different on purpose", "missing": "not yet"}


def table(features: Sequence[Feature]) -> str:
    """How many features have which verdict, and one row for each feature."""
    counts: Counter[str] = Counter(feature.verdict for feature in features)
    total = ", ".join(f"{counts[key]} {word}" for key, word in VERDICTS.items())
    rows = "".join(
        f"| {feature.name} | {VERDICTS[feature.verdict]} | {feature.reason} |\n"
        for feature in features
    )
    head = "| feature | here | what differs, and why |\n|---|---|---|\n"
    return f"\n{len(features)} features: {total}.\n\n{head}{rows}\n"


def with_table(document: str) -> str:
    """A document with the table between its marks as it should be now."""
    before, _, rest = document.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise SystemExit(f"the document lacks the marks {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}{table(read_features())}{END}{after}"


if __name__ == "__main__":
    DOCUMENT.write_text(with_table(DOCUMENT.read_text("utf-8")), "utf-8")
