"""How memory is written: LangGraph's msgpack, packed, and encrypted where a key is set.

What is read may have been written before either was: plain rows stay readable.
"""

from __future__ import annotations

import zlib
from typing import Any, Final, NamedTuple

from langgraph.checkpoint.serde.base import CipherProtocol, SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import SecretStr

from rag.errors import MemoryFailureError, UsageError

_PACKED: Final = ".zlib"  # at the end of a type; "+" before it would be LangGraph's mark of a cipher
_BIG_STEP: Final = 32_768  # bytes of a checkpoint; below, packing costs more time than its room is worth
_BIG_TURN: Final = 256
_QUICK, _SMALL = 3, 6  # zlib's levels; the latter takes 7% less room and almost twice the time
KEY_BYTES: Final = (16, 24, 32)


class Serializers(NamedTuple):
    """One for the steps of the machine, which are written often and soon deleted, one for archived turns."""

    steps: SerializerProtocol
    turns: SerializerProtocol


def serializers(key: SecretStr | None) -> Serializers:
    """How checkpoints and archived turns are written. Raises `UsageError` for a key that AES cannot have."""
    return Serializers(
        steps=_serializer(key, PackingSerializer(_BIG_STEP, _QUICK)),
        turns=_serializer(key, PackingSerializer(_BIG_TURN, _SMALL)),
    )


def _serializer(key: SecretStr | None, plain: PackingSerializer) -> SerializerProtocol:
    if key is None:
        return plain
    secret = key.get_secret_value().encode()
    if len(secret) not in KEY_BYTES:
        raise UsageError("ASKBOOK_ENCRYPTION_KEY must have 16, 24 or 32 bytes.", code="settings")
    encrypted = EncryptedSerializer.from_pycryptodome_aes(serde=plain, key=secret)
    return EncryptedSerializer(_TellingCipher(encrypted.cipher), plain)


class PackingSerializer(JsonPlusSerializer):
    """LangGraph's serializer, with what has at least `worth_packing` bytes packed at zlib's `level`."""

    def __init__(self, worth_packing: int, level: int = _SMALL) -> None:
        # Only LangChain's messages and plain data may come back: a crafted checkpoint must not run code.
        super().__init__(allowed_msgpack_modules=None)
        self._worth_packing = worth_packing
        self._level = level

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        kind, data = super().dumps_typed(obj)
        if len(data) < self._worth_packing:
            return kind, data
        return kind + _PACKED, zlib.compress(data, self._level)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        kind, packed = data
        if "+" in kind:  # LangGraph's mark of what a cipher has written
            raise _wrong_key("is encrypted")
        if kind.endswith(_PACKED):
            return super().loads_typed((kind.removesuffix(_PACKED), zlib.decompress(packed)))
        return super().loads_typed(data)


class _TellingCipher(CipherProtocol):
    """A cipher that says what is wrong when it cannot decrypt."""

    def __init__(self, cipher: CipherProtocol) -> None:
        self._cipher = cipher

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return self._cipher.encrypt(plaintext)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        try:
            return self._cipher.decrypt(ciphername, ciphertext)
        except (ValueError, AssertionError) as error:  # the check sum is wrong, or it is another cipher
            raise _wrong_key("is encrypted with another key, or damaged") from error


def _wrong_key(what: str) -> MemoryFailureError:
    hint = "Set ASKBOOK_ENCRYPTION_KEY to the key that it was written with."
    return MemoryFailureError("memory_key", f"The conversation {what}.", hint=hint)
