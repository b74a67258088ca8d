"""The sections of a profile's file: every key with its type, range and default."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from rag.types import REFUSAL, SMALLTALK, CitationStyle, Footer, GroundingMode


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("it must not be empty")
    return value


def _one_line(value: str) -> str:
    """Reject line breaks and terminal control characters: the text is printed on one line of a terminal."""
    if not value.isprintable():
        raise ValueError("it must be one line of printable characters")
    return value


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Text = Annotated[str, Field(min_length=1), AfterValidator(_not_blank)]
OneLine = Annotated[Text, Field(max_length=200), AfterValidator(_one_line)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
TopK = Annotated[int, Field(ge=1, le=20)]
FieldPaths = Annotated[tuple[Text, ...], Field(strict=False), BeforeValidator(_as_list)]
Sets = Literal["query", "top_k", "score_threshold"]
Envelope = Literal["results", "count", "found", "query", "error", "milliseconds"]
ResultField = Literal[
    "number", "rank", "score", "text", "title", "heading", "breadcrumb", "url", "source_file_path", "chunk_index"
]

# A profile copied from elsewhere must not be able to send these keys to its own endpoint.
_OTHERS_KEYS: Final = frozenset({"OPENAI_API_KEY", "COHERE_API_KEY", "QDRANT_API_KEY", "ASKBOOK_API_KEY"})
_MODEL_NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199}$"
_TYPE_OF: Final[dict[Sets, str]] = {"query": "string", "top_k": "integer", "score_threshold": "number"}
_RANGE_OF: Final[dict[Sets, tuple[float, float]]] = {"top_k": (1, 20), "score_threshold": (0, 1)}


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)  # strict: "5" and true are not numbers


class KeyForm(Section):
    """The form of a key of OpenAI's own endpoint. Keys of other endpoints are not checked."""

    prefix: str = ""
    min_length: Annotated[int, Field(ge=1, le=1000)] = 1


class ModelSection(Section):
    """The chat model, at OpenAI or at `base_url` with the key in the variable `api_key_env`.

    `fallback` is a model of the same endpoint, for failures. `judge` judges the answers; by default `name` does.
    """

    name: Annotated[str, Field(pattern=_MODEL_NAME)] = "gpt-4o-mini"
    fallback: Annotated[str, Field(pattern=_MODEL_NAME)] | None = None
    judge: Annotated[str, Field(pattern=_MODEL_NAME)] | None = None
    temperature: Share | None = 0.0
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    context_window: Annotated[int, Field(ge=1024, le=10_000_000)] = 8192
    timeout_seconds: Annotated[float, Field(gt=0, le=3600)] = 60.0
    base_url: Text | None = None
    api_key_env: Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,80}_API_KEY$")] | None = None
    openai_key: KeyForm = KeyForm()

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value is not None:
            parts = urlsplit(value)
            whole = parts.hostname and parts.port != 0 and not re.search(r"\s", value)  # `port` raises beyond 65535
            if parts.scheme not in ("http", "https") or not whole or parts.username or parts.query:
                raise ValueError("it must be an http:// or https:// address without a user name or a query")
        return value

    @field_validator("api_key_env")
    @classmethod
    def _is_a_key_of_its_own(cls, value: str | None) -> str | None:
        if value in _OTHERS_KEYS:
            raise ValueError(f"{value} is the key of another service; name a variable of its own")
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if (self.base_url is None) != (self.api_key_env is None):
            raise ValueError("base_url and api_key_env are only allowed together")
        if self.fallback == self.name:
            raise ValueError(f"fallback must be another model than {self.name}")
        if self.max_tokens is not None and self.max_tokens >= self.context_window:
            raise ValueError(f"max_tokens must be less than context_window, {self.context_window}")
        return self


class PromptSection(Section):
    """`layout` "question" repeats the rules after the question, because small models follow them better there."""

    layout: Literal["system", "question"] = "system"


class RetrievalSection(Section):
    """The search. `neighbours` are added to the `top_k`. With `followup` "rewrite" a rewrite is searched too."""

    top_k: TopK = 5
    neighbours: Annotated[int, Field(ge=0, le=10)] = 0
    score_threshold: Share = 0.0
    followup: Literal["fuse", "rewrite"] = "fuse"


class AnswerSection(Section):
    """`smalltalk` answers a greeting.

    `grounding` decides what happens to sentences that their citations do not support: "strict" removes contradicted and
    marks unconfirmed ones, "exact" removes both, "flag" marks both, and "off" shows all. `judge` "auto" lets a model
    judge the sentences that are neither quotations nor contradicted; "none" does not. `context_title` is a line above
    the passages in the prompt. `marker_rule` appends askbook's rule about numbered passages to the instructions.
    `footer` applies only to the style "numbered".
    """

    refusal: Text = REFUSAL
    smalltalk: Text = SMALLTALK
    citation_style: CitationStyle = "numbered"
    footer: Footer = "list"
    grounding: GroundingMode = "strict"
    judge: Literal["auto", "none"] = "auto"
    marker_rule: bool = True
    context_title: OneLine | None = None


class LimitsSection(Section):
    """Limits on a conversation. `max_messages` is soft: beyond it each response carries a notice."""

    max_question_characters: Annotated[int, Field(ge=1, le=1_000_000)] = 2000
    max_turns: Annotated[int, Field(ge=1, le=100_000)] | None = None
    max_messages: Annotated[int, Field(ge=3, le=1_000_000)] | None = None


class BudgetSection(Section):
    """The tokens of the context window for each part; `exchange` covers the question and its answer."""

    system: Annotated[int, Field(ge=1)]
    context: Annotated[int, Field(ge=1)]
    history: Annotated[int, Field(ge=0)]
    exchange: Annotated[int, Field(ge=128)]

    def total(self) -> int:
        return self.system + self.context + self.history + self.exchange


class MemorySection(Section):
    """`thread` is the conversation that is continued when none is named; without it a new one starts."""

    persistent: bool = True
    thread: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")] | None = None


class PayloadSection(Section):
    """The payload fields of a collection that askbook did not create: paths to try, with dots between the keys."""

    text: Annotated[FieldPaths, Field(min_length=1)]
    title: FieldPaths = ()
    heading: FieldPaths = ()
    breadcrumb: FieldPaths = ()
    url: FieldPaths = ()
    source_file_path: FieldPaths = ()
    chunk_index: FieldPaths = ()
    chapter: FieldPaths = ()
    page_number: FieldPaths = ()


class BookSection(Section):
    """The book. `collection` is used with a Qdrant server; `embedding_model` is the model that encoded it.

    `vector`, `sparse_vector` and `payload` are for a collection that askbook did not create, `quantization` for others.
    """

    collection: Text | None = None
    embedding_model: Text | None = None
    vector: str | None = None
    sparse_vector: Text | None = None
    quantization: Literal["off", "scalar", "binary"] = "off"
    payload: PayloadSection | None = None


class Parameter(Section):
    """One argument of the tool. `sets` is the search option that it sets; the bounds are always checked."""

    sets: Sets
    type: Literal["string", "integer", "number"]
    description: Text
    required: bool = False
    default: int | float | None = None
    minimum: int | float | None = None
    maximum: int | float | None = None

    @model_validator(mode="after")
    def _fits_what_it_sets(self) -> Self:
        if self.type != _TYPE_OF[self.sets]:
            raise ValueError(f'an argument that sets {self.sets} must have the type "{_TYPE_OF[self.sets]}"')
        numbers = (self.default, self.minimum, self.maximum)
        if self.sets not in _RANGE_OF:
            if numbers != (None, None, None):
                raise ValueError("a query has no default, minimum or maximum")
            return self
        if self.type == "integer" and any(isinstance(number, float) for number in numbers):
            raise ValueError("its default, minimum and maximum must be whole numbers")
        least, most = self.bounds()
        if not _RANGE_OF[self.sets][0] <= least <= most <= _RANGE_OF[self.sets][1]:
            raise ValueError("its bounds must be from {} to {}".format(*_RANGE_OF[self.sets]))
        if self.default is not None and not least <= self.default <= most:
            raise ValueError(f"its default must be from {least} to {most}")
        return self

    def bounds(self) -> tuple[float, float]:
        """The least and the greatest value that the argument may have."""
        least, most = _RANGE_OF[self.sets]
        return (least if self.minimum is None else self.minimum, most if self.maximum is None else self.maximum)


def _default_parameters() -> dict[str, Parameter]:
    query = Parameter(sets="query", type="string", description="What to search for.", required=True)
    top_k = Parameter(sets="top_k", type="integer", minimum=1, maximum=20, description="How many passages to return.")
    return {"query": query, "top_k": top_k}


class ToolResult(Section):
    """The form of a tool result in JSON.

    `success` and `failure` map the keys of the object to their values, `fields` those of each passage. A passage always
    has the key `number`, by which the model cites it, unless `fields` renames it.
    """

    success: dict[str, Envelope]
    failure: dict[str, Envelope]
    fields: dict[str, ResultField]
    indent: Annotated[int, Field(ge=0, le=8)] | None = None


class ToolErrors(Section):
    """The answer to a failed search. {message} says what happened; {user_message} is the error's fixed sentence."""

    embedding: Text = "{user_message}"
    search: Text = "{user_message}"
    other: Text = "{user_message}"
    arguments: Text = "{message}"


class ToolSection(Section):
    """The search tool, which a profile may lack. Without `result`, its answer is passages as in the prompt."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")] = "search_book"
    description: Text = "Search the book."
    max_rounds: Annotated[int, Field(ge=0, le=10)] = 2
    offers_bounds: bool = True
    parameters: dict[str, Parameter] = Field(default_factory=_default_parameters)
    result: ToolResult | None = None
    errors: ToolErrors = ToolErrors()

    @field_validator("parameters")
    @classmethod
    def _one_of_each(cls, parameters: dict[str, Parameter]) -> dict[str, Parameter]:
        options = [parameter.sets for parameter in parameters.values()]
        bad = next((name for name in parameters if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", name)), None)
        if bad is not None:
            raise ValueError(f"{bad!r} cannot be the name of an argument")
        if len(set(options)) < len(options):
            raise ValueError("two arguments set the same option")
        if not any(parameter.sets == "query" and parameter.required for parameter in parameters.values()):
            raise ValueError("one argument must be required and set the query")
        return parameters
