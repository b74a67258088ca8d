"""A command line whose books are embedded by a stand-in for Cohere, so that indexing costs little in these tests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.cohere_server import CohereServer, cohere_server
from tests.command_line import CommandLine, Done
from tests.openai_server import OPENAI_KEY, Endpoint, Request, answer, openai_server
from tests.wire import Reply

SITE: Final = "https://example.org"


class Shelf:
    """Books in one home folder. `embedder.embedded` holds what was embedded, over HTTP."""

    def __init__(self, folder: Path, embedder: CohereServer, model: Endpoint) -> None:
        self.run, self.folder, self.embedder, self.model = CommandLine(folder), folder, embedder, model
        self.environment = {
            "COHERE_API_KEY": "co-0123456789",
            "COHERE_BASE_URL": embedder.address,
            "ASKBOOK_EMBEDDING_MODEL": "cohere:tiny",
            "AGENT_SCORE_THRESHOLD": "0",
        }

    def __call__(self, *arguments: str | Path, **environment: str) -> Done:
        return self.run(*map(str, arguments), **(self.environment | environment))

    def write(self, files: Mapping[str, str | bytes]) -> Path:
        """A fresh folder with these files."""
        return written(self.folder / f"source-{len(list(self.folder.glob('source-*')))}", files)

    def ingest(self, *arguments: str | Path, code: int = 0) -> Any:
        """The report of `ingest --json`."""
        done = self("ingest", *arguments, "--json")
        assert done.code == code, done.out + done.err
        return done.data

    def search(self, query: str, *options: str) -> list[Any]:
        """At most twenty passages, as `search --json` shows them."""
        results: list[Any] = self("search", query, "-k", "20", "--json", *options).data["results"]
        return results

    def pages(self, query: str, *options: str) -> set[str]:
        """The addresses of the pages that a search finds."""
        return {result["url"] for result in self.search(query, *options)}

    def cited(self, query: str, *options: str) -> list[Any]:
        """The citations of an answer that cites each passage that the model gets: at most twenty."""
        self.model.script.append(cites_everything)
        keys = {"OPENAI_API_KEY": OPENAI_KEY, "OPENAI_BASE_URL": self.model.address, "ASKBOOK_GROUNDING": "off"}
        done = self("ask", query, "-k", "20", "--json", *options, **keys)
        citations: list[Any] = done.data["citations"]
        return citations

    def anchors(self, query: str, *options: str) -> list[str]:
        """The addresses with anchors that those citations have, in the order of the book."""
        cited = sorted(self.cited(query, *options), key=lambda one: (one["source_file_path"], one["chunk_index"]))
        return list(dict.fromkeys(one["url"] for one in cited))


def written(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def cites_everything(request: Request) -> Reply:
    numbers = re.findall(r"^\[(\d+)\] Source: ", request.body["messages"][-1]["content"], re.MULTILINE)
    return answer(" ".join(f"The book says it in place {number} [{number}]." for number in numbers))


@contextmanager
def opened(folder: Path) -> Iterator[Shelf]:
    with cohere_server() as embedder, openai_server() as model:
        embedder.dimension = 64
        yield Shelf(folder, embedder, model)
