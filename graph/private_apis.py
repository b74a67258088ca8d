"""LangGraph takes the checkpoint with the greatest id for the newest, and an id begins with the time of its machine."""

from __future__ import annotations

from typing import Final

from langgraph.checkpoint.base import id as ids

_VERSION: Final = 6  # of the UUIDs that tell their time


def catch_up(checkpoint_id: str) -> None:
    """Let every id that this process makes from now on be greater than this one.

    Within a process LangGraph's ids only grow. A clock that went back between two processes, or another machine that is
    ahead, would hide each new turn behind an older one. An id that tells no time is passed over.
    """
    try:
        seen = ids.UUID(checkpoint_id)
    except ValueError:
        return
    if seen.version == _VERSION and seen.time > (ids._last_v6_timestamp or 0):
        ids._last_v6_timestamp = seen.time  # type: ignore[assignment]  # typed by its first value, which is None
