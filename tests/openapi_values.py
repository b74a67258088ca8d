"""Values that a JSON schema of `/openapi.json` allows, and others, as hypothesis strategies."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import strategies as st

ANY_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
_TEXT = st.characters(exclude_categories=["Cs"])


def allowed(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """The values of a schema, of those keywords that the description uses. Raises `ValueError` for another one."""
    if "anyOf" in schema:
        return st.one_of([allowed(one) for one in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return st.one_of([_of_type(kind, schema) for kind in kinds])


def nearly(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Objects of the schema in which one value is anything, or that have one more."""
    names = st.sampled_from([*schema.get("properties", {}), "another"])
    replaced = st.tuples(allowed(schema), names, ANY_JSON).map(lambda drawn: drawn[0] | {drawn[1]: drawn[2]})
    return replaced | ANY_JSON


def _of_type(kind: str, schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    match kind:
        case "object":
            properties = {name: allowed(one) for name, one in schema.get("properties", {}).items()}
            required = {name: properties[name] for name in schema.get("required", ())}
            rest = {name: values for name, values in properties.items() if name not in required}
            return st.fixed_dictionaries(required, optional=rest)
        case "array":
            return st.lists(allowed(schema["items"]), min_size=schema.get("minItems", 0), max_size=4)
        case "string":
            longest = min(schema.get("maxLength", 40), 300)
            texts = st.text(_TEXT, min_size=schema.get("minLength", 0), max_size=longest)
            return texts.filter(lambda text: bool(re.search(schema.get("pattern", ""), text)))
        case "integer":
            return st.integers(schema.get("minimum"), schema.get("maximum"))
        case "number":
            return st.floats(schema.get("minimum"), schema.get("maximum"))
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
    raise ValueError(f"no values for {schema}")
