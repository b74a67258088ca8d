"""API keys and the people behind them: who sends a request, and which conversations are theirs."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Final

from rag.errors import UsageError
from rag.types import Response

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_SHORTEST_KEY: Final = 8  # characters; shorter keys can be guessed
_SEPARATOR: Final = "/"  # not allowed in a name, so an id belongs to one person


class Person:
    """Somebody who may ask. Conversations are stored under the name, which is empty on a server without keys."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._prefix = f"{name}{_SEPARATOR}" if name else ""

    def stored(self, thread_id: str) -> str:
        """The id under which a conversation of this person is stored."""
        return f"{self._prefix}{thread_id}"

    def seen(self, response: Response) -> Response:
        """The response with the id of its conversation as this person knows it."""
        return response.model_copy(update={"thread_id": self.own(response.thread_id) or response.thread_id})

    def own(self, stored_id: str) -> str | None:
        """The id as this person knows it; None for another person's conversation."""
        return stored_id.removeprefix(self._prefix) if stored_id.startswith(self._prefix) else None


class People:
    """The people by their keys. Without keys, everyone is the same nameless person."""

    def __init__(self, keys: Mapping[str, str] | None = None) -> None:
        self._digests = [(_digest(key), Person(name)) for name, key in (keys or {}).items()]

    @classmethod
    def parse(cls, text: str | None) -> People:
        """People from `name:key,name:key`. Raises `UsageError`, which names the entry by its position only."""
        keys: dict[str, str] = {}
        for position, entry in enumerate(filter(None, (part.strip() for part in (text or "").split(","))), 1):
            name, _, key = entry.partition(":")
            if not _NAME.fullmatch(name) or len(key) < _SHORTEST_KEY or not (key.isascii() and key.isprintable()):
                raise UsageError(
                    f"Entry {position} of ASKBOOK_API_KEYS is not allowed.",
                    code="settings",
                    hint=f"Write name:key with a name of letters and digits and a key of at least {_SHORTEST_KEY} "
                    "printable ASCII characters.",
                )
            if name in keys or key in keys.values():
                raise UsageError(f"Entry {position} of ASKBOOK_API_KEYS repeats a name or a key.", code="settings")
            keys[name] = key
        if text and not keys:
            raise UsageError("ASKBOOK_API_KEYS lists no key.", code="settings", hint="Write name:key, or unset it.")
        return cls(keys)

    @property
    def have_keys(self) -> bool:
        return bool(self._digests)

    @property
    def names(self) -> list[str]:
        """The names of the keys, in their order."""
        return [person.name for _, person in self._digests]

    def of(self, key: str) -> Person | None:
        """The person with this key, or None. The time taken does not depend on how much of a key is right."""
        if not self._digests:
            return Person()
        given, found = _digest(key), None
        for digest, person in self._digests:
            if hmac.compare_digest(digest, given):
                found = person
        return found


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
