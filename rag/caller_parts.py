"""What a caller brings in place of askbook's own parts: LangChain's objects, adapted to our ports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rag.errors import UsageError
from rag.profiles.profile import Profile

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
    from qdrant_client import QdrantClient

    from rag.ports import Embedder, Judge

_NAMES: Final = ("model_name", "model", "model_id", "deployment_name")
# What LangChain's chat models call our options, by their fields.
_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "temperature": ("temperature",),
    "model": ("model_name", "model"),
    "max_tokens": ("max_tokens", "num_predict", "max_output_tokens"),  # the second is Ollama's, the third Gemini's
}


@dataclass(frozen=True, slots=True)
class CallerParts:
    """The parts that the caller brings; None means askbook's own. askbook closes none of them."""

    model: BaseChatModel | None = None
    retriever: BaseRetriever | VectorStore | None = None
    embeddings: Embeddings | None = None
    qdrant_client: QdrantClient | None = None
    judge: Judge | None = None

    def check(self) -> None:
        """Raise `UsageError` for an object of another kind."""
        for name, kind in self._kinds().items():
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                wanted = " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))
                problem = f"{name} must be of the class {wanted}, not {type(value).__name__}."
                raise UsageError(problem, code="given")
        if self.judge is not None and not (
            callable(getattr(self.judge, "judge", None)) and hasattr(self.judge, "model_id")
        ):
            raise UsageError("judge must have a method judge and a model_id, as rag.ports.Judge has.", code="given")
        if self.retriever is not None and self.qdrant_client is not None:
            raise UsageError("Give a retriever or a qdrant_client, not both: a retriever has its own index.")

    def _kinds(self) -> dict[str, type | tuple[type, ...]]:
        from langchain_core.embeddings import Embeddings
        from langchain_core.language_models import BaseChatModel
        from langchain_core.retrievers import BaseRetriever
        from langchain_core.vectorstores import VectorStore

        kinds: dict[str, type | tuple[type, ...]] = {"model": BaseChatModel, "embeddings": Embeddings}
        kinds["retriever"] = (BaseRetriever, VectorStore)
        if self.qdrant_client is not None:
            from qdrant_client import QdrantClient

            kinds["qdrant_client"] = QdrantClient
        return kinds


NO_CALLER_PARTS: Final = CallerParts()


def name_of(given: object) -> str:
    """The name of a LangChain model: its own if it has one, otherwise that of its class."""
    return own_name_of(given) or type(given).__name__


def own_name_of(given: object) -> str:
    """The name that a LangChain model has itself, or "". Embeddings of one class without a name may differ."""
    names = (getattr(given, name, None) for name in _NAMES)
    return next((name for name in names if isinstance(name, str) and name), "")


def profile_of_given(profile: Profile, model: BaseChatModel) -> Profile:
    """The profile with the caller's model, which keeps its own options, and without a fallback and another judge."""
    no_options = {"temperature": None, "max_tokens": None, "fallback": None, "judge": None}
    section = profile.model.model_copy(update={"name": name_of(model)} | no_options)
    return profile.model_copy(update={"model": section})


def with_options(model: BaseChatModel, options: Mapping[str, Any]) -> BaseChatModel:
    """A copy of the caller's model with a run's options, as far as it has fields for them."""
    fields = type(model).model_fields
    changes = {
        next(name for name in names if name in fields): options[option]
        for option, names in _FIELDS.items()
        if option in options and any(name in fields for name in names)
    }
    return model.model_copy(update=changes) if changes else model


def as_embedder(embeddings: Embeddings) -> Embedder:
    """The caller's embeddings as an `Embedder`."""
    from rag.embedding.hosted import HostedEmbeddings
    from rag.failures import Service

    own, model = type(embeddings).__name__, own_name_of(embeddings)
    service = Service(
        "the given embeddings", "the key of the embeddings", "their address", "their model", part="embedding"
    )
    # Theirs need not allow calls at the same time.
    return HostedEmbeddings(f"{own}:{model}" if model else own, service, lambda: embeddings, parallel=1, vouched=True)
