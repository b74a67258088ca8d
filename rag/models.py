"""The model that answers: an OpenAI-compatible endpoint when a key is set, otherwise the answerer that quotes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rag.errors import UsageError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from rag.ports import Embedder
    from rag.profiles import Profile
    from rag.settings import Settings

OPENAI: Final = "https://api.openai.com/v1"
QUOTING: Final = "askbook-quoting"


class Answerer(NamedTuple):
    """`quotes` says that the model quotes the book's own sentences instead of writing new ones."""

    model: BaseChatModel
    name: str
    quotes: bool


def build_model(profile: Profile, settings: Settings, embedder: Embedder) -> Answerer:
    """The model for a profile in this process. Nothing is called. Raises `UsageError` for a broken address."""
    if settings.openai_api_key is None:
        from rag.quoting import QuotingChatModel

        return Answerer(QuotingChatModel(embedder=embedder, refusal=profile.answer.refusal), QUOTING, quotes=True)
    from langchain_openai import ChatOpenAI

    base_url = settings.openai_base_url or OPENAI
    if not base_url.startswith(("http://", "https://")):
        raise UsageError("OPENAI_BASE_URL must start with http:// or https://.", code="settings")
    model = ChatOpenAI(
        model=profile.model.name,
        api_key=settings.openai_api_key,
        base_url=base_url,
        timeout=profile.model.timeout_seconds,  # without it the client waits for ever
        max_retries=0,  # the graph's retry policy is the only one
        stream_usage=True,
    )
    return Answerer(model, profile.model.name, quotes=False)
