"""Our search as a LangChain retriever, so that traces show its queries and documents, and other chains can use it."""

from __future__ import annotations

from typing import Any, NoReturn

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import PrivateAttr

from rag.ports import Parts, Searcher
from rag.search.retriever import parse_filter
from rag.search_records import Found
from rag.types import Passage


class BookRetriever(BaseRetriever):
    """A `rag.ports.Searcher` as a `BaseRetriever`. `options` are the keyword arguments of `Searcher.retrieve`.

    Only asynchronous. A document's metadata are the fields of its passage, `score` among them.
    """

    searcher: Any
    options: dict[str, Any]
    _found: list[Found] = PrivateAttr(default_factory=list)

    async def found(self, question: str) -> Found:
        """Search as a run of a LangChain retriever, and return everything that was found. Raises `AskbookError`."""
        await self.ainvoke(question)
        return self._found[-1]

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002
    ) -> list[Document]:
        found = await self.searcher.retrieve(query, **self.options)
        self._found.append(found)
        return [document_of(passage) for passage in found.passages]

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> NoReturn:
        raise NotImplementedError("The search is asynchronous: use ainvoke.")


def document_of(passage: Passage) -> Document:
    """The passage as a LangChain document."""
    data = passage.model_dump(mode="json", exclude={"text", "chunk_id"}, exclude_none=True)
    return Document(id=passage.chunk_id, page_content=passage.text, metadata=data)


async def search(searcher: Searcher, question: str, **options: Any) -> Found:
    """`Searcher.retrieve` as a run of a LangChain retriever, which callbacks and traces see."""
    return await BookRetriever(name="search", searcher=searcher, options=options).found(question)


def as_retriever(
    parts: Parts, *, top_k: int | None = None, score_threshold: float | None = None, filter: str | None = None
) -> BookRetriever:
    """The search of a profile as a LangChain retriever; None means the profile's value.

    `parts` come from `agent.services.parts(profile)`. Raises `UsageError` for an invalid filter.
    """
    retrieval = parts.profile.overridden(top_k=top_k, score_threshold=score_threshold).retrieval
    options = {
        "k": retrieval.top_k,
        "threshold": retrieval.score_threshold,
        "where": parse_filter(filter),
        "neighbours": retrieval.neighbours,
    }
    return BookRetriever(name="search", searcher=parts.retriever, options=options)
