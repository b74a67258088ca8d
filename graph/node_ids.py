"""Read checkpoints that were stored under earlier node ids as if they had been written under today's.

The nodes were once named `idle`, `retrieve`, `generate` and `error`. A checkpoint names nodes as keys of
`versions_seen` and in the channels that trigger them: `branch:to:retrieve` is `branch:to:RETRIEVING` today.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from langgraph.checkpoint.base import CheckpointTuple

_TODAY: Final = {"idle": "IDLE", "retrieve": "RETRIEVING", "generate": "GENERATING", "error": "ERROR"}
_TRIGGER: Final = "branch:to:"


def with_todays_node_ids(stored: CheckpointTuple) -> CheckpointTuple:
    """The checkpoint with today's node ids; the same object when it has them already.

    >>> _channel("branch:to:retrieve"), _channel("messages")
    ('branch:to:RETRIEVING', 'messages')
    """
    checkpoint: Any = stored.checkpoint
    seen: Mapping[str, Any] = checkpoint.get("versions_seen") or {}
    if not any(_TRIGGER + old in (checkpoint.get("channel_versions") or {}) for old in _TODAY):
        return stored
    renamed: Any = {
        **checkpoint,
        "channel_values": _channels(checkpoint["channel_values"]),
        "channel_versions": _channels(checkpoint["channel_versions"]),
        "versions_seen": {_TODAY.get(node, node): _channels(channels) for node, channels in seen.items()},
    }
    if checkpoint.get("updated_channels"):
        renamed["updated_channels"] = sorted(_channel(name) for name in checkpoint["updated_channels"])
    writes = [(task, _channel(channel), value) for task, channel, value in stored.pending_writes or []]
    return stored._replace(checkpoint=renamed, pending_writes=writes)


def _channels(values: Mapping[str, Any]) -> dict[str, Any]:
    return {_channel(name): value for name, value in values.items()}


def _channel(name: str) -> str:
    node = name.removeprefix(_TRIGGER)
    return f"{_TRIGGER}{_TODAY[node]}" if name != node and node in _TODAY else name
