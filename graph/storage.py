"""What every database of the memory shares: LangGraph's checkpointer, store and serializer, with what askbook adds.

Failures become `MemoryFailureError`. Old checkpoints are pruned: the last one of recent turns and every step of the
newest stay. Values are LangGraph's msgpack, compressed, and encrypted when a key is set.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, NamedTuple

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.serde.base import CipherProtocol, SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.store.base import BaseStore, GetOp, Item, Op, PutOp, Result
from pydantic import SecretStr

from graph.memory_errors import NoAnswerError, broken_conversation, memory_failure
from graph.private_apis import catch_up
from graph.stored_form import is_whole
from rag.errors import AskbookError, MemoryFailureError, UsageError
from rag.system.process import need

log: Final = logging.getLogger("askbook")

KEEP_TURNS: Final = 20
RESTS: Final = "rests"  # key in a checkpoint's metadata: no turn was open
KEY_BYTES: Final = (16, 24, 32)
_PACKED: Final = ".zlib"  # suffix of a type; a "+" would mean a cipher to LangGraph
_BIG_STEP: Final = 32_768  # bytes of a checkpoint; for smaller ones the space saved is not worth the time
_BIG_TURN: Final = 256  # bytes of an archived block
_QUICK, _SMALL = 3, 6  # zlib levels; 6 needs 7% less space and almost twice the time


@asynccontextmanager
async def answered_within(seconds: float | None) -> AsyncIterator[None]:
    """Raise `NoAnswerError` when the block takes longer than `seconds`; None sets no limit."""
    try:
        async with asyncio.timeout(seconds) as limit:
            yield
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise NoAnswerError from error


@contextmanager
def border(place: str) -> Iterator[None]:
    """Turn database exceptions raised in the block into `MemoryFailureError`; pass all others on."""
    try:
        yield
    except AskbookError:
        raise
    except Exception as error:
        failure = memory_failure(error, place)
        if failure is None:
            raise
        raise failure from None


def thread_config(thread_id: str) -> RunnableConfig:
    """What tells LangGraph which conversation to run, read or write."""
    return RunnableConfig(configurable={"thread_id": thread_id})


def at_rest(checkpoint: Checkpoint, metadata: CheckpointMetadata) -> bool:
    """Whether a turn has just ended here, answered or undone, and no question waits."""
    values: Mapping[str, Any] = checkpoint["channel_values"]
    if metadata.get("source") == "input" or values.get("phase") != "IDLE" or values.get("turn") is not None:
        return False
    messages = values.get("messages") or []
    return not (messages and isinstance(messages[-1], HumanMessage))


def outdated(checkpoints: Iterable[tuple[str, bool]], keep: int) -> list[str]:
    """The ids of checkpoints to delete, given (id, at rest) pairs from new to old.

    The newest turn keeps every step, so that it can be inspected and resumed. The last `keep` turns keep the checkpoint
    at their end. With `keep` 0 only the newest checkpoint stays. The newest checkpoint is never deleted.

    >>> outdated([("6", True), ("5", False), ("4", True), ("3", False), ("2", True), ("1", False)], keep=2)
    ['3', '2', '1']
    """
    gone, ends = [], 0
    for position, (checkpoint_id, rests) in enumerate(checkpoints):
        ends += rests
        stays = (rests and ends <= keep) or (not rests and ends <= min(keep, 1))
        if position > 0 and not stays:
            gone.append(checkpoint_id)
    return gone


class PruningSaver(BaseCheckpointSaver[Any]):
    """A mixin for LangGraph's checkpointers, listed before them in the bases.

    Every method raises `MemoryFailureError` when the database fails. A method that fails or is cancelled leaves no
    transaction open, which would lock out other processes. `keep` is how many turns keep the checkpoint at their end;
    `seconds` is how long the database may take for a method, None for ever. Once `closed`, every method raises
    `UsageError`.
    """

    keep: int = KEEP_TURNS
    place: str = "the memory"
    seconds: float | None = None
    closed: bool = False

    async def drop_old(self, thread_id: str, keep: int) -> int:
        """Delete the `outdated` checkpoints of a conversation. Returns how many were deleted."""
        raise NotImplementedError

    async def recover(self) -> None:
        """Roll back a transaction that failed or was cancelled."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        thread = str(config["configurable"]["thread_id"])
        async with self.guarded(reading=thread):
            found = await super().aget_tuple(config)
            if found is not None and config["configurable"].get("checkpoint_id"):
                # A run from an earlier checkpoint must write ids after the newest one too.
                newest_of = {"thread_id": thread, "checkpoint_ns": config["configurable"].get("checkpoint_ns", "")}
                newest = await super().aget_tuple(RunnableConfig(configurable=newest_of))
                catch_up(newest.checkpoint["id"] if newest else "")
        if found is not None:
            if not is_whole(found):
                raise broken_conversation(thread, self.place)
            catch_up(found.checkpoint["id"])
        return found

    async def alist(self, config: RunnableConfig | None, **options: Any) -> AsyncIterator[CheckpointTuple]:
        thread = config["configurable"]["thread_id"] if config else "?"
        async with self.guarded(reading=str(thread)):
            async for found in super().alist(config, **options):
                yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        rests = at_rest(checkpoint, metadata)
        marked: Any = {**metadata, RESTS: True} if rests else metadata
        async with self.guarded():
            stored = await super().aput(config, checkpoint, marked, new_versions)
        if rests:
            await self._tidy(config["configurable"]["thread_id"])
        return stored

    async def _tidy(self, thread_id: str) -> None:
        try:
            async with self.guarded():
                await self.drop_old(thread_id, self.keep)
        except MemoryFailureError as failure:  # the turn is stored, and the next one prunes again
            log.warning("old checkpoints not deleted yet: %s", failure.code)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        async with self.guarded():
            await super().aput_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        async with self.guarded():
            await super().adelete_thread(thread_id)

    @asynccontextmanager
    async def guarded(self, *, reading: str | None = None, limited: bool = True) -> AsyncIterator[None]:
        """Roll back and translate what fails in the block; while `reading` a conversation, its data may be damaged.

        Raises `UsageError` when the memory is closed.
        """
        if self.closed:
            raise UsageError("The agent is closed.", hint="Use it inside its block: async with open_agent(...).")
        try:
            with border(self.place):
                try:
                    async with answered_within(self.seconds if limited else None):
                        yield
                except asyncio.CancelledError:
                    await asyncio.shield(self.recover())
                    raise
                except Exception:
                    await self.recover()
                    raise
        except AskbookError:
            raise
        except Exception as error:
            if reading is None:
                raise
            raise broken_conversation(reading, self.place) from error


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
                names = {op.namespace[-1] for op in sealed if isinstance(op, GetOp | PutOp)}
                broken = broken_conversation(", ".join(sorted(names)), self._place)
                raise (memory_failure(error, self._place) or broken) from error
        return [self._opened(result) for result in results]

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
