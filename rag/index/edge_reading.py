"""The generations that this process reads. Each is open once, for all indexes and threads."""

from __future__ import annotations

import threading
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from rag.book import IndexInfo
from rag.errors import RetrievalError
from rag.index import edge_shard as engine
from rag.index.edge_files import Generations

if TYPE_CHECKING:
    from qdrant_edge import EdgeShard


class OpenGeneration:
    """A generation whose shard is open. It is closed when nobody refers to this object any more."""

    def __init__(self, shard: EdgeShard, info: IndexInfo) -> None:
        self.shard = shard
        self.info = info
        weakref.finalize(self, shard.close)


_Key = tuple[Path, tuple[int, int] | None]

_open: Final[WeakValueDictionary[_Key, OpenGeneration]] = WeakValueDictionary()
_opening: Final = threading.Lock()


def current_generation(generations: Generations) -> OpenGeneration | None:
    """The current generation of a collection, open. None where there is no collection.

    Raises `RetrievalError` if it cannot be opened. While it is opened, a writer may switch to the next one and delete
    it; so it counts only if the pointer still names it afterwards.
    """
    with _opening:
        while path := generations.current():
            key = path.absolute(), generations.stamp(path)
            try:
                opened = _open.get(key) or _load(generations, path)
            except RetrievalError:
                if generations.current() == path:
                    raise
            else:
                if generations.current() == path:
                    _open[key] = opened
                    return opened
    return None


def _load(generations: Generations, path: Path) -> OpenGeneration:
    info = generations.info(path)
    return OpenGeneration(engine.load(path / "shard", generations.collection, info.chunks), info)
