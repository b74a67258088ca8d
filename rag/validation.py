"""Turns pydantic's validation errors into plain English: what a setting or a profile's key may be."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, get_origin

from pydantic import BaseModel

_WORDS: Final = {
    "bool_parsing": "it must be true or false",
    "bool_type": "it must be true or false",
    "dict_type": "it must be a table",
    "float_parsing": "it must be a number",
    "int_from_float": "it must be a whole number",
    "int_parsing": "it must be a whole number",
    "int_type": "it must be a whole number",
    "model_type": "it must be a table",
    "missing": "it is required",
    "string_too_short": "it must not be empty",
    "string_type": "it must be a string",
    "tuple_type": "it must be a list",
}
_BOUNDS: Final = {"ge": "at least {}", "gt": "more than {}", "le": "at most {}", "lt": "less than {}"}
_NUMBER_ERRORS: Final = ("greater_than", "less_than", "int_", "float_", "finite_number")  # prefixes of pydantic's types


def allowed(problem: Mapping[str, Any], model: type[BaseModel], top: Sequence[str] = ()) -> str:
    """What is allowed instead of a rejected value, as the end of a sentence.

    `problem` is one of `ValidationError.errors()` on `model`. For a number both bounds are named, so that the next
    attempt does not miss the other one. For an unknown key the known keys are listed; at the top level these are `top`.
    """
    kind, place = str(problem["type"]), list(problem["loc"])
    if kind == "extra_forbidden":
        table = _field(model, place[:-1]) if len(place) > 1 else None
        keys = top if len(place) < 2 else getattr(_table(table.annotation), "model_fields", {}) if table else ()
        return "there is no such key" + (f"; the keys are {', '.join(keys)}" if keys else "")
    bounds = _bounds(model, place) if kind.startswith(_NUMBER_ERRORS) else ""
    if bounds:
        number = "a whole number " if kind.startswith("int_") else "a number " if kind.startswith("float_") else ""
        return f"it must be {number}{bounds}"
    if kind in _WORDS:
        return _WORDS[kind]
    text = re.sub(r"^(?:Input|String|Value) should\b", "it must", str(problem["msg"]).removeprefix("Value error, "))
    return text[:1].lower() + text[1:] if not text[:2].isupper() else text


def plain_number(value: float) -> str:
    """A number without exponent or trailing zero: 100000 and 0.5, never 1e+06 or 3600.0."""
    return str(int(value)) if math.isfinite(value) and value == int(value) else str(value)


def _bounds(model: type[BaseModel], place: list[int | str]) -> str:
    """The bounds in words, such as "from 1 to 20" or "more than 0 and at most 3600"; empty if there are none."""
    field = _field(model, place)
    rules = [*field.metadata, *_rules(field.annotation)] if field is not None else []
    found = {name: getattr(rule, name) for rule in rules for name in _BOUNDS if hasattr(rule, name)}
    if set(found) == {"ge", "le"}:
        return f"from {plain_number(found['ge'])} to {plain_number(found['le'])}"
    return " and ".join(_BOUNDS[name].format(plain_number(found[name])) for name in sorted(found))


def _field(model: type[BaseModel], place: list[int | str]) -> Any:
    """The field at `place`, or None. In a table with free keys, such as the tool's parameters, any key matches."""
    table: Any = model
    field, any_key = None, False
    for part in place:
        if any_key:
            any_key = False
            continue
        fields = getattr(table, "model_fields", {})
        by_key = {str(info.validation_alias or name): info for name, info in fields.items()} | dict(fields)
        if part not in by_key:
            return None
        field = by_key[str(part)]
        table, any_key = _table(field.annotation), get_origin(field.annotation) is dict
    return field


def _table(annotation: Any) -> Any:
    """The model in an annotation: the annotation itself, a member of a union, or the values of a dict; else None."""
    if hasattr(annotation, "model_fields"):
        return annotation
    return next((found for part in getattr(annotation, "__args__", ()) if (found := _table(part)) is not None), None)


def _rules(annotation: Any) -> list[Any]:
    """The constraints on the members of a union, such as `Annotated[int, Field(ge=1)] | None`."""
    found: list[Any] = []
    for member in getattr(annotation, "__args__", ()):
        for note in getattr(member, "__metadata__", ()):
            found += getattr(note, "metadata", [note])
    return found
