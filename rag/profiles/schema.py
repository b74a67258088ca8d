"""The sections of a profile: every key that a profile's file may have, its type, its range and its default."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from rag.types import CitationStyle, Footer, GroundingMode


def _not_blank(value: str) -> str:
    if not value.strip():
        raise ValueError("it must not be empty")
    return value


def _one_line(value: str) -> str:
    """A text that is shown on a line of a terminal: what repaints the screen has no place in it."""
    if not value.isprintable():
        raise ValueError("it must be one line of printable characters")
    return value


Text = Annotated[str, Field(min_length=1), AfterValidator(_not_blank)]
Line = Annotated[Text, Field(max_length=200), AfterValidator(_one_line)]
Unit = Annotated[float, Field(ge=0.0, le=1.0)]
TopK = Annotated[int, Field(ge=1, le=20)]

# Keys with a home of their own: a profile that was copied from elsewhere must not send them to its endpoint.
_OTHERS_KEYS: Final = frozenset({"OPENAI_API_KEY", "COHERE_API_KEY", "QDRANT_API_KEY", "ASKBOOK_API_KEY"})
_MODEL_NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199}$"


def _as_list(value: Any) -> Any:
    """A single text where several are allowed."""
    return [value] if isinstance(value, str) else value


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)  # strict: "5" is no number and true is none


class KeyForm(Section):
    """What a key of OpenAI's own endpoint looks like; keys of other endpoints have other forms."""

    prefix: str = ""
    min_length: Annotated[int, Field(ge=1, le=1000)] = 1


class ModelSection(Section):
    """`base_url` with `api_key_env`, the variable of its key, names an endpoint other than OpenAI's; `fallback` a model
    of the same endpoint that is asked when the first has failed, `judge` one that judges answers in its place.
    """

    name: Annotated[str, Field(pattern=_MODEL_NAME)] = "gpt-4o-mini"
    fallback: Annotated[str, Field(pattern=_MODEL_NAME)] | None = None
    judge: Annotated[str, Field(pattern=_MODEL_NAME)] | None = None
    temperature: Unit | None = 0.0
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
            raise ValueError(f"{value} belongs to another service and goes nowhere else; name a variable of its own")
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
    """`layout` "question" repeats the rules after the question, where small models follow them better."""

    layout: Literal["system", "question"] = "system"


class RetrievalSection(Section):
    """`neighbours` of the best passages may come on top of `top_k`. `followup` "rewrite" searches a rewrite as well."""

    top_k: TopK = 5
    neighbours: Annotated[int, Field(ge=0, le=10)] = 0
    score_threshold: Unit = 0.0
    followup: Literal["fuse", "rewrite"] = "fuse"


class AnswerSection(Section):
    """`smalltalk` answers a greeting. `accepts` names the citation forms asked of a model beside our `[n]`.

    `grounding` says what becomes of a sentence that its citations do not support: removed, marked or let through;
    `judge` puts it to a model as well, which can only take away. `context_title` stands above the passages in a prompt.
    `marker_rule` appends our rule to the instructions. `footer` belongs to the style "numbered" alone.
    """

    refusal: Text = "I don't have information about that in the book content"
    smalltalk: Text = "You are welcome here: ask me anything about the book."
    citation_style: CitationStyle = "numbered"
    footer: Footer = "list"
    accepts: Annotated[tuple[Literal["source", "title", "chapter"], ...], Field(strict=False)] = ()
    grounding: GroundingMode = "strict"
    judge: Literal["off", "model"] = "off"
    marker_rule: bool = True
    context_title: Line | None = None


class LimitsSection(Section):
    """`max_messages` is soft: beyond it the response carries a notice, and the conversation goes on."""

    max_question_characters: Annotated[int, Field(ge=1, le=1_000_000)] = 2000
    max_turns: Annotated[int, Field(ge=1, le=100_000)] | None = None
    max_messages: Annotated[int, Field(ge=3, le=1_000_000)] | None = None


class BudgetSection(Section):
    """Tokens of the window for each part; `exchange` is the question with the room for its answer."""

    system: Annotated[int, Field(ge=1)]
    context: Annotated[int, Field(ge=1)]
    history: Annotated[int, Field(ge=0)]
    exchange: Annotated[int, Field(ge=128)]

    def total(self) -> int:
        return self.system + self.context + self.history + self.exchange


class MemorySection(Section):
    """`thread` is the conversation that goes on when none is named; without it each starts a new one."""

    persistent: bool = True
    thread: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")] | None = None


FieldPaths = Annotated[tuple[Text, ...], Field(strict=False), BeforeValidator(_as_list)]


class PayloadSection(Section):
    """Where the points of somebody else's collection keep what a passage is made of.

    A value is a path into the payload, its keys separated by dots, or a list of paths that are tried in turn. What is
    not named stays empty.
    """

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
    """`collection` is asked where a server is configured. `embedding_model` is what it was encoded with.

    `vector`, `sparse_vector` and `payload` say how to read a collection that somebody else made; `quantization` how a
    collection is made.
    """

    collection: Text | None = None
    embedding_model: Text | None = None
    vector: str | None = None
    sparse_vector: Text | None = None
    quantization: Literal["off", "scalar", "binary"] = "off"
    payload: PayloadSection | None = None


Sets = Literal["query", "top_k", "score_threshold"]
_TYPE_OF: Final[dict[Sets, str]] = {"query": "string", "top_k": "integer", "score_threshold": "number"}
_RANGE_OF: Final[dict[Sets, tuple[float, float]]] = {"top_k": (1, 20), "score_threshold": (0, 1)}
Envelope = Literal["results", "count", "query", "error", "milliseconds"]
ResultField = Literal[
    "number", "rank", "score", "text", "title", "heading", "breadcrumb", "url", "source_file_path", "chunk_index"
]


class Parameter(Section):
    """One argument of the tool. `sets` says what of the search it is; the bounds are always checked."""

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
            raise ValueError(f'what sets {self.sets} must be of the type "{_TYPE_OF[self.sets]}"')
        if self.sets not in _RANGE_OF:
            if (self.default, self.minimum, self.maximum) != (None, None, None):
                raise ValueError("a query has no default, minimum or maximum")
            return self
        given = (self.default, self.minimum, self.maximum)
        if self.type == "integer" and any(isinstance(one, float) for one in given):
            raise ValueError("its default, minimum and maximum must be whole numbers")
        least, most = self.bounds()
        if not _RANGE_OF[self.sets][0] <= least <= most <= _RANGE_OF[self.sets][1]:
            raise ValueError("its bounds must be from {} to {}".format(*_RANGE_OF[self.sets]))
        if self.default is not None and not least <= self.default <= most:
            raise ValueError(f"its default must be from {least} to {most}")
        return self

    def bounds(self) -> tuple[float, float]:
        """What the argument may be, both ends included."""
        least, most = _RANGE_OF[self.sets]
        return (least if self.minimum is None else self.minimum, most if self.maximum is None else self.maximum)


def _usual_parameters() -> dict[str, Parameter]:
    query = Parameter(sets="query", type="string", description="What to search for.", required=True)
    top_k = Parameter(sets="top_k", type="integer", minimum=1, maximum=20, description="How many passages to return.")
    return {"query": query, "top_k": top_k}


class ToolResult(Section):
    """A search's answer as JSON: `success` and `failure` name the keys and what stands in each, `fields` a result's.

    A result also has the key `number`, by which the model cites it, where `fields` gives it no other name.
    """

    success: dict[str, Envelope]
    failure: dict[str, Envelope]
    fields: dict[str, ResultField]
    indent: Annotated[int, Field(ge=0, le=8)] | None = None


class ToolErrors(Section):
    """What the model is told when its search failed; {message} is what happened, {user_message} its fixed sentence."""

    embedding: Text = "{user_message}"
    search: Text = "{user_message}"
    other: Text = "{user_message}"
    arguments: Text = "{message}"


class ToolSection(Section):
    """The search that the model may ask for. No section: the model is offered no tool.

    Without `result` it is answered with the passages as they stand in a prompt.
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")] = "search_book"
    description: Text = "Search the book."
    max_rounds: Annotated[int, Field(ge=0, le=10)] = 2
    offers_bounds: bool = True
    parameters: dict[str, Parameter] = Field(default_factory=_usual_parameters)
    result: ToolResult | None = None
    errors: ToolErrors = ToolErrors()

    @field_validator("parameters")
    @classmethod
    def _one_of_each(cls, value: dict[str, Parameter]) -> dict[str, Parameter]:
        sets = [one.sets for one in value.values()]
        bad = next((name for name in value if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", name)), None)
        if bad is not None:
            raise ValueError(f"{bad!r} cannot be the name of an argument")
        if len(set(sets)) < len(sets):
            raise ValueError("two arguments set the same thing")
        if not any(one.sets == "query" and one.required for one in value.values()):
            raise ValueError("one argument must be required and set the query")
        return value


def clipped(value: Any, longest: int = 100) -> str:
    """A value for a line of text, cut where it is long."""
    shown = repr(value)
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"
