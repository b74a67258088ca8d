"""A conversation whose memory fails and is mended: told by a name, and gone on with."""

from __future__ import annotations

from typing import Any

import pytest

from graph.memory import Memory
from graph.memory_sqlite import SqliteDatabase
from rag.errors import USER_MESSAGES
from rag.types import ErrorInfo
from tests.machine import ANSWER, Machine

FIRST_OR_LATER = pytest.mark.parametrize("earlier", [0, 2], ids=["first turn", "later turn"])


async def talked(machine: Machine, earlier: int) -> None:
    machine.model.script[:] = [ANSWER] * earlier
    for number in range(earlier):
        assert (await machine.agent.ask(f"Earlier {number}?", thread_id="t")).status == "success"


async def failing(machine: Machine) -> ErrorInfo:
    """Ask, and get the error of it."""
    machine.model.script[:] = [ANSWER]
    response = await machine.agent.ask("Does it fail?", thread_id="t")
    assert response.error is not None
    assert response.error.error_type == "memory_error"
    assert response.content == USER_MESSAGES["memory_error"]
    return response.error


async def goes_on(machine: Machine, earlier: int) -> None:
    """Ask again: the answer comes, and all that was answered before is there."""
    machine.model.script[:] = [ANSWER]
    assert (await machine.agent.ask("Does it go on?", thread_id="t")).status == "success"
    turns = (await machine.agent.conversation("t"))["turns"]
    assert [turn["question"] for turn in turns][:earlier] == [f"Earlier {n}?" for n in range(earlier)]
    assert turns[-1]["question"] == "Does it go on?"
    assert len(turns) <= earlier + 2


async def damage(memory: Memory) -> None:
    """Overwrite what is stored of the conversation `t`."""
    saver: Any = memory.database.saver
    broken = b"\xc1 no msgpack"
    if isinstance(memory.database, SqliteDatabase):
        await saver.conn.execute("update checkpoints set checkpoint = ? where thread_id = 't'", (broken,))
        await saver.conn.commit()
    elif hasattr(saver, "blobs"):
        for key in [key for key in saver.blobs if key[0] == "t"]:
            saver.blobs[key] = ("msgpack", broken)
    else:
        async with saver.conn.connection() as connection:
            await connection.execute(
                "update checkpoint_blobs set blob = %s where thread_id = 't' and type <> 'empty'", (broken,)
            )
