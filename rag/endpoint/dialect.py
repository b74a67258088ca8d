"""What a model was found not to understand, remembered for the process, so that it is asked in its own way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

# Ways to say how long the answer may be. An endpoint may know one of them; OpenAI's newer models know only the second.
_LENGTH: Final = "max_tokens"
_NEWER_LENGTH: Final = "max_completion_tokens"
_COUNTING: Final = "stream_options"  # the client's way to ask for the count of tokens


class Dialect:
    """The options that each model has refused. One of an endpoint: two endpoints may know a model in two ways."""

    def __init__(self) -> None:
        self._refused: dict[str, set[str]] = {}

    def note(self, model: str, option: str) -> bool:
        """Remember that the model refused the option; False where that was known, and asking again is in vain."""
        known = self._refused.setdefault(model, set())
        if option in known:
            return False
        known.add(option)
        return True

    def spoken(self, model: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options as the model understands them: without what it refused, or in another word for it."""
        refused = self._refused.get(model, set())
        found = {name: value for name, value in options.items() if name not in refused}
        if _LENGTH in options and _LENGTH in refused and _NEWER_LENGTH not in refused:
            found[_NEWER_LENGTH] = options[_LENGTH]
        if _NEWER_LENGTH in refused:  # of OpenAI's own client, which writes it for the older one
            found.pop(_LENGTH, None)
        if _COUNTING in refused:
            found["stream_usage"] = False
        return found
