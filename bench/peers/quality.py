"""Questions about real books that the first passage answers: askbook's retrieval beside that of its peers.

    python -m bench.peers.quality ../shared/data /tmp/peers/bin/python [--home FOLDER] [--book NAME]

Everyone gets the same passages, made by askbook, and vectors of the same embedding model. The first passage that a
retriever finds is the answer, whole. It is right if its page and its text match the patterns of the question. Where
the book has no answer, it is right to find nothing. A peer's tool gets the last question of a thread as it is asked,
since no model is there to rewrite it; askbook's retriever gets the questions and passages before it. OpenAI's Agents
SDK has no retriever of its own for passages on this machine. The last row is askbook's answer without a model.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from bench.product import open_book
from bench.quoting import Case, asked, cases, figure, lines
from rag.book import Chunk
from rag.embedding.local import OnnxEmbeddings
from rag.embedding.vector_cache import SqliteVectorCache
from rag.index.catalog import build_index
from rag.profiles.profile import load_profile
from rag.search.retriever import HybridRetriever
from rag.types import AnsweredQuestion, Passage
from tests.rooms import ROOT

BOOKS: Final = ("redux", "uv")
PEERS: Final = ("create_agent", "llama-index")


def is_right(case: Case, first: Chunk | Passage | None) -> bool:
    """Whether a first passage, quoted whole, answers the question; none is right where the book has no answer."""
    if case.pages is None or first is None:
        return case.pages is None and first is None
    on_page = any(re.search(case.pages, place, re.IGNORECASE) for place in (first.source_file_path, first.url))
    return on_page and bool(re.search(case.answer or "", first.text))


async def all_chunks(home: Path, book: str) -> list[Chunk]:
    index = build_index(home=home, collection=book)
    found = await index.fetch([entry.id for entry in await index.entries()])
    await index.aclose()
    return found


async def own_first(retriever: HybridRetriever, case: Case) -> Passage | None:
    """The first passage that askbook finds; passages found for the questions before it are their answers."""
    retrieval = load_profile("default").retrieval
    history: list[AnsweredQuestion] = []
    first = None
    for question in case.questions:
        found = await retriever.retrieve(
            question, k=retrieval.top_k, threshold=retrieval.score_threshold, history=history
        )
        first = found.passages[0] if found.passages else None
        if first is not None:
            history.append(AnsweredQuestion(question, first.text))
    return first


def peers_first(python: str, name: str, given: dict[str, Any]) -> list[int]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "given.json"
        file.write_text(json.dumps(given), encoding="utf-8")
        command = [python, "bench/peers/retrieval.py", name, str(file)]
        done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    positions: list[int] = json.loads(done.stdout.splitlines()[-1])
    return positions


async def measured(data: Path, python: str, home: Path, book: str) -> dict[str, list[tuple[Case, bool]]]:
    """For everyone the cases of a book, and whether each came out right."""
    written = len(lines(data / "books" / book / "questions.jsonl"))  # not askbook's own questions, which come after
    mine = [case for case in cases(data / "books") if case.book == book][:written]
    retriever = await open_book(data / "books" / book / "docs", home, book)
    chunks, embedder = await all_chunks(home, book), OnnxEmbeddings()
    texts = [chunk.embedded_text for chunk in chunks]
    vectors = SqliteVectorCache(home / "vectors.sqlite").get(embedder.model_id, texts)
    asked_texts = [case.questions[-1] for case in mine]
    given = {
        "passages": [{"text": text, "vector": list(vectors[text])} for text in texts],
        "questions": [
            {"text": text, "vector": list(vector)}
            for text, vector in zip(asked_texts, embedder.embed_queries(asked_texts), strict=True)
        ],
    }
    found: dict[str, list[tuple[Case, bool]]] = {}
    for name in PEERS:
        firsts = peers_first(python, name, given)
        found[f"{name}, first passage"] = [(c, is_right(c, chunks[n])) for c, n in zip(mine, firsts, strict=True)]
    found["askbook, first passage"] = [(case, is_right(case, await own_first(retriever, case))) for case in mine]
    found["askbook, its answer"] = (await asked(data, home, book, show=False))[:written]
    return found


def report(found: Sequence[dict[str, list[tuple[Case, bool]]]]) -> None:
    for name in found[0]:
        for what, answerable in (("answered", True), ("refused", False)):
            right = [ok for book in found for case, ok in book[name] if (case.pages is not None) is answerable]
            print(f"{name:28} {what:10} {figure(right)}")


async def run(data: Path, python: str, home: Path, books: Sequence[str]) -> None:
    report([await measured(data, python, home, book) for book in books])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("python", help="the interpreter of the environment with the peers")
    parser.add_argument("--home", type=Path, help="folder for the index; without it, a temporary one")
    parser.add_argument("--book", action="append", choices=BOOKS, help="only this book; may be repeated")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = options.home or Path(folder)
        asyncio.run(run(options.data, options.python, home, options.book or BOOKS))


if __name__ == "__main__":
    main()
