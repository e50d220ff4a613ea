"""Which commits follow which, as far as git says.  Pure."""

from __future__ import annotations

from collections.abc import Mapping


def commits_since(
    parents: Mapping[str, tuple[str, ...]], commit: str, earlier: str
) -> frozenset[str] | None:
    """A commit and those before it, down to an earlier one without that itself.

    Args:
        parents: Of each commit that is known, in hexadecimal.
        commit: In hexadecimal.
        earlier: In hexadecimal.

    Returns:
        None where the earlier one is not among those before it.
    """
    seen, waiting, is_met = {commit}, [commit], False
    while waiting:
        for parent in parents.get(waiting.pop(), ()):
            if parent == earlier:
                is_met = True
            elif parent not in seen:
                seen.add(parent)
                waiting.append(parent)
    return frozenset(seen) if is_met else None
