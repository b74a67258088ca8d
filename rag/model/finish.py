"""Why an answer ended, in one vocabulary for all chat models: OpenAI's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

Finish = Literal["stop", "length", "tool_calls", "content_filter", "error"]

# Where LangChain's chat models put the reason. Some OpenAI-compatible endpoints use these names in their chunks, too.
_KEYS: Final = (
    "finish_reason",  # OpenAI, Gemini, Mistral, Groq, Cohere
    "stop_reason",  # Anthropic, and Bedrock's older interface
    "done_reason",  # Ollama
    "stopReason",  # Bedrock's Converse
)
# In lower case. A reason that is not listed is a normal end.
_MEANINGS: Final[dict[str, Finish]] = {
    "length": "length",
    "max_tokens": "length",  # Anthropic, Bedrock, Gemini, Cohere
    "max_output_tokens": "length",  # OpenAI's Responses
    "max_length": "length",
    "model_length": "length",  # Mistral
    "model_context_window_exceeded": "length",  # Anthropic
    "tool_calls": "tool_calls",
    "tool_call": "tool_calls",  # Cohere
    "tool_use": "tool_calls",  # Anthropic, Bedrock
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "content_filtered": "content_filter",  # Bedrock
    "guardrail_intervened": "content_filter",  # Bedrock
    "refusal": "content_filter",  # Anthropic
    "safety": "content_filter",  # Gemini, up to the next comment
    "recitation": "content_filter",
    "blocklist": "content_filter",
    "prohibited_content": "content_filter",
    "spii": "content_filter",
    "error_toxic": "content_filter",  # Cohere
    "error": "error",  # OpenRouter, when the provider behind it fails; Cohere
    "abort": "error",  # vLLM
    "malformed_function_call": "error",  # Gemini
    "malformed_model_output": "error",  # Bedrock
    "malformed_tool_use": "error",  # Bedrock
    "other": "error",  # Gemini
}
# Values of `model_provider`, which LangChain's chat models set. These providers always name a reason.
_NAME_IT: Final = frozenset(
    {"openai", "anthropic", "ollama", "bedrock", "bedrock_converse", "google_genai", "google_vertexai", "groq"}
    | {"mistralai", "deepseek", "xai", "cohere"}
)


def finish_of(metadata: Mapping[str, Any]) -> Finish | None:
    """Why the answer ended, from the metadata of a message or chunk; None if it names no reason.

    >>> finish_of({"stopReason": "max_tokens"})
    'length'
    """
    for key in _KEYS:
        reason = metadata.get(key)
        if isinstance(reason, str) and reason:
            return _MEANINGS.get(reason.lower(), "stop")
    return None


def names_its_finish(metadata: Mapping[str, Any]) -> bool:
    """Whether the model's provider ends every complete answer with a reason, so that one without it broke off."""
    return metadata.get("model_provider") in _NAME_IT


def with_finish_reason(chunk: dict[str, Any]) -> dict[str, Any]:
    """A chunk of an OpenAI-compatible endpoint whose reason, by whatever name, is also in `finish_reason`."""
    choices = chunk.get("choices") or []
    choice = choices[0] if choices else None
    if not isinstance(choice, dict) or choice.get("finish_reason"):
        return chunk
    places = (choice, choice.get("delta"), chunk)
    reason = next((found for place in places if isinstance(place, dict) and (found := finish_of(place))), None)
    if reason is None:
        return chunk
    return {**chunk, "choices": [{**choice, "finish_reason": reason}, *choices[1:]]}
