"""The multilingual embedding model beside the packaged one: quality, speed, scale of cosines; and its centre.

    python -m bench.multilingual ../shared/data [--write] [--book NAME]

Needs the extra `multilingual`. Asks the pages in `tests/data/languages` the questions beside them, and each book below
DATA/books that `bench/data/refusal_questions.json` knows its answerable questions. By embeddings alone, without words
and prose: the share of questions whose page is among the first one and the first three, processor time of a passage
and of a question, and the middle of the best and of all cosines. `--write` first makes the centre anew, which is the
mean of the vectors of the manual's passages and of those in other languages.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.product import BOOKS
from rag.book import Chunk
from rag.embedding.local import OnnxEmbeddings
from rag.embedding.multilingual import CENTRE, MultilingualEmbeddings, _loaded
from rag.ingest.chunking import chunk
from rag.ingest.loaders import load_source

ROOT = Path(__file__).parent.parent
LANGUAGES = ROOT / "tests" / "data" / "languages"


def passages(source: Path, embedder: OnnxEmbeddings) -> list[Chunk]:
    documents = load_source(source).documents
    return [one for document in documents for one in chunk(document, count_tokens=embedder.count_tokens)]


def write_centre(embedder: OnnxEmbeddings) -> None:
    sources = [ROOT / "docs", *(folder for folder in sorted(LANGUAGES.iterdir()) if folder.is_dir())]
    raw: list[Any] = []
    for source in sources:
        raw += [_loaded().passage(one.embedded_text) for one in passages(source, embedder)]
    mean = np.mean(raw, axis=0)
    CENTRE.write_text("".join(f"{value:.5f}\n" for value in mean), encoding="utf-8")
    print(f"{CENTRE.name}: the mean of {len(raw)} passages, of length {np.linalg.norm(mean):.3f}")


def books(data: Path) -> Iterator[tuple[str, Path, list[tuple[str, str]]]]:
    """Each book's name, its pages, and questions with a pattern of the page that answers them."""
    for folder in sorted(LANGUAGES.iterdir()):
        if folder.is_dir():
            rows = [json.loads(line) for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
            found = [(row["questions"][0], row["pages"]) for row in rows if row["pages"] and len(row["questions"]) == 1]
            yield folder.name, folder, found
    written = json.loads((ROOT / "bench" / "data" / "refusal_questions.json").read_text(encoding="utf-8"))
    for name, path in BOOKS.items():
        found = [(row["q"], rf"(?:^|/){re.escape(row['expects'])}") for row in written[name]["answerable"]]
        yield name, data / "books" / path, found


def ranks(cosines: NDArray[Any], paths: Sequence[str], questions: Sequence[tuple[str, str]], first: int) -> int:
    """How many questions have their page among the `first` pages."""
    hits = 0
    for column, (_, expected) in zip(cosines.T, questions, strict=True):
        pages = list(dict.fromkeys(paths[row] for row in np.argsort(-column)))[:first]
        hits += any(re.search(expected, page) for page in pages)
    return hits


def measure(name: str, source: Path, questions: list[tuple[str, str]], embedder: Any, counter: OnnxEmbeddings) -> None:
    chunks = passages(source, counter)
    began = time.process_time()
    rows = np.array(embedder.embed_documents([one.embedded_text for one in chunks]))
    each = (time.process_time() - began) / len(chunks)
    began = time.process_time()
    asked = np.array(embedder.embed_queries([text for text, _ in questions]))
    query = (time.process_time() - began) / len(questions)
    cosines, paths = rows @ asked.T, [one.source_file_path for one in chunks]
    one, three = (ranks(cosines, paths, questions, first) for first in (1, 3))
    print(
        f"{name:13} {embedder.model_id:22} first {one:3} of {len(questions):3}  first three {three:3}  "
        f"passage {each * 1000:4.0f} ms  question {query * 1000:3.0f} ms  "
        f"cosines: best {np.median(cosines.max(axis=0)):.2f}, all {np.median(cosines):.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--write", action="store_true", help="make the centre anew")
    parser.add_argument("--book", action="append", help="only this book; may be repeated")
    options = parser.parse_args()
    packaged = OnnxEmbeddings()
    if options.write:
        write_centre(packaged)
    for name, source, questions in books(options.data):
        if not options.book or name in options.book:
            for embedder in (packaged, MultilingualEmbeddings()):
                measure(name, source, questions, embedder, packaged)


if __name__ == "__main__":
    main()
