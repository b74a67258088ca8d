"""What langchain-qdrant needs to read a collection of ours, or of somebody else's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag.retrieval.payload import METADATA, to_payload

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from langchain_qdrant import QdrantVectorStore
    from langchain_qdrant.sparse_embeddings import SparseEmbeddings

    from rag.ports import SparseEncoder
    from rag.retrieval.layout import FieldMap


def store_class(fields: FieldMap | None) -> type[QdrantVectorStore]:
    """The store of a collection whose points are laid out as `fields` says; None: as langchain-qdrant's own are.

    langchain-qdrant can name two keys of a payload, and loses every other: a flat payload comes back without its
    title and address, or without its text. How it makes a document of a point is the one place to put that right.
    """
    from langchain_core.documents import Document as Made
    from langchain_qdrant import QdrantVectorStore as Store

    if fields is None:
        return Store
    mapped = fields

    class MappedStore(Store):
        @classmethod
        def _document_from_point(cls, scored_point: Any, collection_name: str, *_: str) -> Document:
            if not mapped.text_of(scored_point.payload):
                return Made(page_content="", metadata={"_id": scored_point.id, "_collection_name": collection_name})
            chunk = mapped.chunk(scored_point.id, scored_point.payload)
            added = {"_id": scored_point.id, "_collection_name": collection_name}
            return Made(page_content=chunk.text, metadata=to_payload(chunk)[METADATA] | added)

    return MappedStore


def sparse_bridge(encoder: SparseEncoder) -> SparseEmbeddings:
    """Our encoder as langchain-qdrant asks for one."""
    from langchain_qdrant.sparse_embeddings import SparseEmbeddings, SparseVector

    def model(vector: Any) -> SparseVector:
        return SparseVector(indices=list(vector.indices), values=list(vector.values))

    class Bridge(SparseEmbeddings):
        def embed_documents(self, texts: list[str]) -> list[SparseVector]:
            return [model(encoder.encode_document(text)) for text in texts]

        def embed_query(self, text: str) -> SparseVector:
            return model(encoder.encode_query(text))

    return Bridge()
