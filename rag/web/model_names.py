"""OpenAI's field `model`: a profile, `askbook/BOOK`, or `PROFILE/BOOK`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from rag.errors import UsageError
from rag.profiles.offered_profiles import Offer
from rag.web.http_errors import RequestRefusedError

ANY: Final = "askbook"  # in place of a profile: the default one


class ModelChoice(NamedTuple):
    """The `name` as the request has it, and the profile and the book that it names; None where it names none."""

    name: str
    profile: str | None
    book: str | None

    def missing(self, offer: Offer) -> RequestRefusedError:
        """The refusal for a model whose profile or book does not exist, or not for this person."""
        hint = f"Models: {', '.join(offer.names)}."
        return RequestRefusedError(404, "model_not_found", f'There is no model "{self.name[:150]}".', hint=hint)


def model_choice(offer: Offer, model: Any) -> ModelChoice:
    """What a model stands for; its book is not looked up. Raises `RequestRefusedError` 404 for an unknown profile.

    >>> model_choice(Offer(("default", "book-agent"), "default"), "askbook/uv")
    ModelChoice(name='askbook/uv', profile=None, book='uv')
    """
    if model is not None and not isinstance(model, str):
        raise UsageError("model is not a string.", code="invalid_option")
    name = model or ""
    if not name or name in offer.names:
        return ModelChoice(name, name or None, None)
    profile, slash, book = name.partition("/")  # no book has a slash in its name
    chosen = ModelChoice(name, None if profile == ANY else profile, book or None)
    if profile not in (ANY, *offer.names) or (slash and not book):
        raise chosen.missing(offer)
    return chosen


def model_names(offer: Offer, books: Sequence[str]) -> list[str]:
    """The models to list: the profiles, and one for each book where there is a choice of books."""
    return [*offer.names, *([ANY, *(f"{ANY}/{book}" for book in books)] if len(books) > 1 else [])]
