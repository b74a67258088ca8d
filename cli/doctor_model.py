"""The check of `doctor` for the model: asked for real, for a few tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from rag.endpoint.dialect import Dialect
from rag.errors import AskbookError, OptionRefusedError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from rag.ports import Embedder
    from rag.profiles import Profile
    from rag.settings import Settings

# Asked for more than one, since OpenAI's newer models refuse to begin with fewer; the first that comes is enough.
_TOKENS: Final = 16


async def check_model(settings: Settings, profile: Profile, embedder: Embedder) -> tuple[None, str, str]:
    """What answers, and what to do about it. Raises `AskbookError`, as a turn would, but waits and retries nothing."""
    from rag.models import OPENAI_KEY, build_model, endpoint_of

    endpoint = endpoint_of(profile, settings)
    model, name, quotes = build_model(profile, settings, embedder)
    if quotes:
        hint = f"To have answers written by a model, set {endpoint.variable}"
        own = endpoint.variable == OPENAI_KEY
        hint += " (and OPENAI_BASE_URL)." if own else "; the profile's endpoint asks for it."
        return None, "none; the book's own sentences are quoted", hint
    where = urlsplit(endpoint.base_url).hostname
    refused = await _first_token(model, name, _options(profile))
    detail, hint = f"{name} at {where} answers", ""
    if "tools" in refused:
        hint = "It knows no tools, so it is asked without them: each question is searched once."
    others = [profile.model.fallback, profile.model.judge if profile.answer.judge == "model" else None]
    for other in filter(None, others):
        await _first_token(model, other, _options(profile) | {"model": other})
        detail += f", and so does {other}"
    return None, detail, hint


def _options(profile: Profile) -> dict[str, Any]:
    from rag.tool import tool_schema

    options: dict[str, Any] = {"max_tokens": _TOKENS}
    if profile.model.temperature is not None:
        options["temperature"] = profile.model.temperature
    if profile.tool and profile.tool.max_rounds:
        options["tools"] = [tool_schema(profile.tool)]
    return options


async def _first_token(model: BaseChatModel, name: str, options: dict[str, Any]) -> set[str]:
    """Ask until something of an answer comes; returns the options that were refused on the way."""
    from rag.endpoint.faults import model_error

    dialect, refused = Dialect(), set[str]()
    while True:
        try:
            async for chunk in model.astream("Say yes.", **dialect.spoken(name, options)):
                if chunk.text or chunk.tool_call_chunks or chunk.response_metadata.get("finish_reason"):
                    return refused
            raise AskbookError("api_error", "empty_answer", f"{name} sent an empty answer.")
        except OptionRefusedError as error:
            if not dialect.note(name, error.option):
                raise
            refused.add(error.option)
        except AskbookError:
            raise
        except Exception as failure:
            raise model_error(failure) from None
