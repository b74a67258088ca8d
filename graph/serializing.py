"""How memory is written: LangGraph's msgpack, packed, and encrypted where a key is set."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from langgraph.checkpoint.serde.base import CipherProtocol, SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.store.base import BaseStore, GetOp, Item, Op, PutOp, Result
from pydantic import SecretStr

from graph.memory_errors import border, broken_conversation, memory_failure
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


class SealedStore(BaseStore):
    """LangGraph's store `inner`, which sees no value as it is but a record of type and bytes.

    For event loops only. A batch should either read or write: SQLite lets nobody write who has read an older state.
    """

    def __init__(self, inner: BaseStore, serializer: SerializerProtocol, place: str) -> None:
        self.inner = inner
        self._serializer = serializer
        self._place = place

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        raise NotImplementedError("The memory is used from an event loop: await the method with an a in front.")

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `BaseStore` says. Raises `MemoryFailureError`."""
        sealed = [self._sealed(op) for op in ops]
        with border(self._place):
            try:
                results = await self.inner.abatch(sealed)
            except ValueError as error:  # a row that is no JSON; SQLite's own failures may come as this one's cause
                raise (memory_failure(error, self._place) or self._broken(sealed)) from error
        return [self._opened(result) for result in results]

    def _broken(self, ops: Sequence[Op]) -> MemoryFailureError:
        names = {op.namespace[-1] for op in ops if isinstance(op, GetOp | PutOp)}
        return broken_conversation(", ".join(sorted(names)), self._place)

    def _sealed(self, op: Op) -> Op:
        if not isinstance(op, PutOp) or op.value is None:
            return op
        kind, data = self._serializer.dumps_typed(op.value)
        return op._replace(value={"type": kind, "data": base64.b64encode(data).decode()})

    def _opened(self, result: Result) -> Result:
        if isinstance(result, Item):
            result.value = self._value(result)
        elif isinstance(result, list):
            for one in result:
                if isinstance(one, Item):
                    one.value = self._value(one)
        return result

    def _value(self, item: Item) -> dict[str, Any]:
        with border(self._place):
            try:
                data = base64.b64decode(item.value["data"], validate=True)
                value: dict[str, Any] = self._serializer.loads_typed((item.value["type"], data))
            except (ValueError, TypeError, KeyError) as error:
                raise broken_conversation(item.namespace[-1], self._place) from error
        return value
