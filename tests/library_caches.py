"""What libraries compute again for each object, though it is the same each time.

A program makes one graph and one client; the suite makes thousands. Each of these is a function of code or of a class,
so its result is kept. Compiling the machine takes a third of the time with them, a client of Qdrant a quarter.
"""

from __future__ import annotations

import dis
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from types import CodeType, SimpleNamespace
from typing import Any

import pytest


@contextmanager
def used() -> Iterator[None]:
    """Keep these results until the block ends."""
    from langgraph.graph import _branch, state
    from langgraph.pregel import _utils
    from qdrant_client.embed import type_inspector

    with pytest.MonkeyPatch.context() as patch:
        # LangGraph looks for graphs in the bytecode of each node.
        patch.setattr(_utils, "dis", SimpleNamespace(get_instructions=cache(_instructions)))
        for module in (state, _branch):
            patch.setattr(module, "get_type_hints", partial(_type_hints, cache(typing.get_type_hints)))
        # A client copies the schema of all requests, to look for texts that it should embed.
        patch.setattr(type_inspector, "ModelSchemaParser", cache(type_inspector.ModelSchemaParser))
        yield


def _instructions(code: CodeType) -> list[dis.Instruction]:
    return list(dis.get_instructions(code))


def _type_hints(of_class: Callable[..., dict[str, Any]], subject: Any, **options: Any) -> dict[str, Any]:
    """As `typing.get_type_hints`. Functions are looked at each time: many share their code."""
    return (
        dict(of_class(subject, **options)) if isinstance(subject, type) else typing.get_type_hints(subject, **options)
    )
