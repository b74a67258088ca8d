"""Filters as a user writes them: the beginning of an address, or of a field that may be filtered by."""

from __future__ import annotations

import re
from typing import Final

from rag.book import Where
from rag.errors import UsageError

FIELDS: Final = ("title", "heading", "file", "chapter")
LONGEST: Final = 2_000  # characters
_FIELD: Final = re.compile(r"(?P<name>[A-Za-z_][A-Za-z_0-9]*):(?!//)\s*(?P<value>.*)", re.DOTALL)


def parse_filter(text: str | None) -> Where | None:
    """`title:ROS` as a filter on the title, anything else as the beginning of an address; None for nothing.

    Only the fields in `FIELDS` may be named. Raises `UsageError` for another one, and for one without a value.
    """
    written = (text or "").strip()
    if len(written) > LONGEST or any("\ud800" <= c <= "\udfff" for c in written):
        raise UsageError("The filter is no text of at most 2,000 characters.", code="filter")
    if not written:
        return None
    named = _FIELD.fullmatch(written)
    if named is None:
        return Where(url_prefix=written)
    name, value = named["name"].lower(), named["value"].strip()
    if name not in FIELDS or not value:
        what = f'"{name}" is no field to filter by' if name not in FIELDS else f'The filter on "{name}" is empty'
        hint = f"Give the beginning of an address, or one of {', '.join(FIELDS)}: title:ROS."
        raise UsageError(f"{what}.", code="filter", hint=hint)
    return Where(**{name: value})
