"""Which commits follow which, as far as git says.  Pure."""

from __future__ import annotations

from collections.abc import Mapping


def follows(parents: Mapping[str, tuple[str, ...]], commit: str, earlier: str) -> bool:
    """Whether a commit has an earlier one among those before it.

    Args:
        parents: Of each commit that is known, in hexadecimal.
        commit: In hexadecimal.
        earlier: In hexadecimal.
    """
    seen, waiting = {commit}, [commit]
    while waiting:
        for parent in parents.get(waiting.pop(), ()):
            if parent == earlier:
                return True
            if parent not in seen:
                seen.add(parent)
                waiting.append(parent)
    return False
