"""A store whose values are written like checkpoints: packed, encrypted where a key is set, failures named."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from typing import Any

from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.store.base import BaseStore, GetOp, Item, Op, PutOp, Result

from graph.memory_faults import border, broken_conversation, memory_failure
from rag.errors import MemoryFailureError


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
