"""Which checkpoints are kept: the end of each of the last turns, and every step of the newest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata

KEEP_TURNS: Final = 20
RESTS: Final = "rests"  # the key of a checkpoint's metadata that says that no turn was open


def at_rest(checkpoint: Checkpoint, metadata: CheckpointMetadata) -> bool:
    """Whether a turn has just ended here, by its answer or by being taken back, and no question waits."""
    values: Mapping[str, Any] = checkpoint["channel_values"]
    if metadata.get("source") == "input" or values.get("phase") != "IDLE" or values.get("turn") is not None:
        return False
    messages = values.get("messages") or []
    return not (messages and isinstance(messages[-1], HumanMessage))


def outdated(checkpoints: Iterable[tuple[str, bool]], keep: int) -> list[str]:
    """The ids that may go, of (id, at rest) from new to old.

    The newest turn keeps every step, for LangGraph's view of it and for going on in the middle; older turns keep their
    end, as far as `keep` ends reach. `keep` 0 leaves the newest checkpoint alone.

    >>> outdated([("6", True), ("5", False), ("4", True), ("3", False), ("2", True), ("1", False)], keep=2)
    ['3', '2', '1']
    """
    gone, ends = [], 0
    for position, (one, rests) in enumerate(checkpoints):
        ends += rests
        stays = (rests and ends <= keep) or (not rests and ends <= min(keep, 1))
        if position > 0 and not stays:
            gone.append(one)
    return gone
