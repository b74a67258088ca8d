"""Profiles: what differs between one tutor and another, as data in `profiles/NAME.toml`.

A profile holds the persona, the model, retrieval, the tool, the citation style, the refusal and the limits. It is
validated whole when it is loaded, so a node can rely on every value being in range.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rag.errors import UsageError
from rag.settings import Settings, allowed
from rag.types import CitationStyle

FOLDER: Final = Path(__file__).parent.parent / "profiles"
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")

Text = Annotated[str, Field(min_length=1)]
Unit = Annotated[float, Field(ge=0.0, le=1.0)]
TopK = Annotated[int, Field(ge=1, le=20)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelSection(_Section):
    name: Text = "gpt-4o-mini"
    temperature: Unit | None = 0.0
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    context_window: Annotated[int, Field(ge=1024)] = 8192
    timeout_seconds: Annotated[float, Field(gt=0, le=3600)] = 60.0


class RetrievalSection(_Section):
    top_k: TopK = 5
    score_threshold: Unit = 0.0


class ToolSection(_Section):
    """The search that the model may ask for. No section: the model is offered no tool."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")] = "search_book"
    description: Text = "Search the book."
    query_description: Text = "What to search for."
    max_rounds: Annotated[int, Field(ge=0, le=10)] = 2


class AnswerSection(_Section):
    refusal: Text = "I don't have information about that in the book content"
    citation_style: CitationStyle = "numbered"


class LimitsSection(_Section):
    max_question_characters: Annotated[int, Field(ge=1)] = 2000
    max_turns: Annotated[int, Field(ge=1)] | None = None


class MemorySection(_Section):
    persistent: bool = True


class BookSection(_Section):
    collection: Text | None = None


class Profile(_Section):
    """One agent's character and limits. Immutable; `overridden` gives a changed copy."""

    name: Annotated[str, Field(pattern=_NAME.pattern)]
    description: Text
    instructions: Text
    model: ModelSection = ModelSection()
    retrieval: RetrievalSection = RetrievalSection()
    tool: ToolSection | None = None
    answer: AnswerSection = AnswerSection()
    limits: LimitsSection = LimitsSection()
    memory: MemorySection = MemorySection()
    book: BookSection = BookSection()

    def overridden(
        self,
        *,
        top_k: int | None = None,
        score_threshold: float | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
        citation_style: CitationStyle | None = None,
        max_turns: int | None = None,
        model: str | None = None,
    ) -> Self:
        """The profile with the given values instead of its own; None keeps the profile's."""
        changes: dict[str, dict[str, Any]] = {
            "model": {"temperature": temperature, "max_tokens": max_tokens, "name": model},
            "retrieval": {"top_k": top_k, "score_threshold": score_threshold},
            "answer": {"citation_style": citation_style},
            "limits": {"max_turns": max_turns},
        }
        update = {
            section: getattr(self, section).model_copy(update={k: v for k, v in values.items() if v is not None})
            for section, values in changes.items()
        }
        return self.model_copy(update=update)

    def in_environment(self, settings: Settings) -> Self:
        """The profile as this process runs it: the environment beats the profile."""
        return self.overridden(
            top_k=settings.agent_top_k,
            score_threshold=settings.agent_score_threshold,
            max_turns=settings.agent_max_turns,
            model=settings.openai_model,
        )


def profile_names(folder: Path = FOLDER) -> list[str]:
    """The names that `load_profile` knows, sorted."""
    return sorted(path.stem for path in folder.glob("*.toml"))


def load_profile(name: str, folder: Path = FOLDER) -> Profile:
    """Read and check `folder/NAME.toml`.

    Raises `UsageError` in one line: for an unknown name with the names there are, for a broken file with the file,
    the key, the value and what is allowed.
    """
    path = folder / f"{name}.toml"
    if not _NAME.fullmatch(name) or not path.is_file():
        known = ", ".join(profile_names(folder))
        raise UsageError(f'There is no profile "{name}".', code="unknown_profile", hint=f"Profiles: {known}.")
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path.name} cannot be read: {error}.", code="profile") from error
    try:
        return Profile.model_validate({"name": name} | data)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in problem["loc"])
        raise UsageError(
            f"{path.name}, {key}: {problem['input']!r} is not allowed; {allowed(problem)}.", code="profile"
        ) from error
