"""The first passage that a peer's own retriever finds for each question, in the environment of the peers.

    python bench/peers/retrieval.py NAME FILE

FILE is JSON: `passages` and `questions`, each a list of `{text, vector}`. Prints a JSON list with the position of a
passage for each question. The retrievers are those that the libraries give by default; the vectors are made by
askbook's model.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def langchain_first(passages: Sequence[dict[str, Any]], questions: Sequence[dict[str, Any]]) -> list[int]:
    """LangChain's vector store in memory, by `as_retriever`, as `create_agent` is given one."""
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore

    known = {one["text"]: one["vector"] for one in [*questions, *passages]}

    class Known(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [known[text] for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return known[text]

    places = [{"place": place} for place in range(len(passages))]
    store = InMemoryVectorStore.from_texts([one["text"] for one in passages], Known(), places)
    retriever = store.as_retriever()
    return [retriever.invoke(question["text"])[0].metadata["place"] for question in questions]


def llama_index_first(passages: Sequence[dict[str, Any]], questions: Sequence[dict[str, Any]]) -> list[int]:
    """LlamaIndex's `VectorStoreIndex`, by `as_retriever`, as the chat engine gets one."""
    from llama_index.core import VectorStoreIndex
    from llama_index.core.embeddings import MockEmbedding
    from llama_index.core.schema import QueryBundle, TextNode

    nodes = [TextNode(text=one["text"], embedding=one["vector"], id_=str(n)) for n, one in enumerate(passages)]
    # Every vector is there already; a model of its own would be asked for otherwise.
    nothing = MockEmbedding(embed_dim=len(passages[0]["vector"]))
    retriever = VectorStoreIndex(nodes, embed_model=nothing).as_retriever()
    bundles = [QueryBundle(question["text"], embedding=question["vector"]) for question in questions]
    return [int(retriever.retrieve(bundle)[0].node.node_id) for bundle in bundles]


RETRIEVERS = {"create_agent": langchain_first, "llama-index": llama_index_first}


def main(name: str, file: str) -> None:
    given = json.loads(Path(file).read_text(encoding="utf-8"))
    print(json.dumps(RETRIEVERS[name](given["passages"], given["questions"])))


if __name__ == "__main__":
    main(*sys.argv[1:])
