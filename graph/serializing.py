"""How memory is serialized: LangGraph's msgpack, compressed, and encrypted when a key is set."""

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

from graph.memory_errors import answered_within, border, broken_conversation, memory_failure
from rag.errors import MemoryFailureError, UsageError
from rag.system.installation import need

KEY_BYTES: Final = (16, 24, 32)
_PACKED: Final = ".zlib"  # suffix of a type; a "+" would mean a cipher to LangGraph
_BIG_STEP: Final = 32_768  # bytes of a checkpoint; for smaller ones the space saved is not worth the time
_BIG_TURN: Final = 256  # bytes of an archived block
_QUICK, _SMALL = 3, 6  # zlib levels; 6 needs 7% less space and almost twice the time


class Serializers(NamedTuple):
    """One serializer for checkpoints, which are written often and deleted soon, and one for archived turns."""

    steps: SerializerProtocol
    turns: SerializerProtocol


def serializers(key: SecretStr | None) -> Serializers:
    """The serializers for an encryption key, or for none. Raises `UsageError` for a key of the wrong length."""
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
    need("Crypto", "encryption", "ASKBOOK_ENCRYPTION_KEY")
    encrypted = EncryptedSerializer.from_pycryptodome_aes(serde=plain, key=secret)
    return EncryptedSerializer(_TellingCipher(encrypted.cipher), plain)


class PackingSerializer(JsonPlusSerializer):
    """LangGraph's serializer; data of at least `worth_packing` bytes is compressed at zlib's `level`."""

    def __init__(self, worth_packing: int, level: int = _SMALL) -> None:
        # Only LangChain's messages and plain data may be loaded: a crafted checkpoint must not run code.
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
        if "+" in kind:  # written by a cipher of LangGraph
            raise _wrong_key("is encrypted")
        if kind.endswith(_PACKED):
            return super().loads_typed((kind.removesuffix(_PACKED), zlib.decompress(packed)))
        return super().loads_typed(data)


class _TellingCipher(CipherProtocol):
    """A cipher that raises `MemoryFailureError` when it cannot decrypt."""

    def __init__(self, cipher: CipherProtocol) -> None:
        self._cipher = cipher

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return self._cipher.encrypt(plaintext)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        try:
            return self._cipher.decrypt(ciphername, ciphertext)
        except (ValueError, AssertionError) as error:  # wrong authentication tag, or another cipher's data
            raise _wrong_key("is encrypted with another key, or damaged") from error


def _wrong_key(what: str) -> MemoryFailureError:
    hint = "Set ASKBOOK_ENCRYPTION_KEY to the key that this conversation was encrypted with."
    return MemoryFailureError("memory_key", f"The conversation {what}.", hint=hint)


class SealedStore(BaseStore):
    """LangGraph's store `inner`, with every value serialized to a record of type and bytes.

    Async only. A batch should either read or write: in SQLite a transaction that has read an older state cannot write.
    """

    def __init__(
        self, inner: BaseStore, serializer: SerializerProtocol, place: str, seconds: float | None = None
    ) -> None:
        self.inner = inner
        self._serializer = serializer
        self._place = place
        self._seconds = seconds

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        raise NotImplementedError('The memory is asynchronous: use the method with the prefix "a", such as aget.')

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `BaseStore` says. Raises `MemoryFailureError`."""
        sealed = [self._sealed(op) for op in ops]
        with border(self._place):
            try:
                async with answered_within(self._seconds):
                    results = await self.inner.abatch(sealed)
            except ValueError as error:  # a row that is not JSON, or a failure of SQLite, which is then its cause
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
            for item in result:
                if isinstance(item, Item):
                    item.value = self._value(item)
        return result

    def _value(self, item: Item) -> dict[str, Any]:
        with border(self._place):
            try:
                data = base64.b64decode(item.value["data"], validate=True)
                value: dict[str, Any] = self._serializer.loads_typed((item.value["type"], data))
            except (ValueError, TypeError, KeyError) as error:
                raise broken_conversation(item.namespace[-1], self._place) from error
        return value
