"""The search that the model may ask for: how it is offered and what it may ask. `rag.tool_result` is what it gets."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from rag.profile_sections import Parameter, ToolSection

CALLS_A_ROUND: Final = 3  # further calls in one message are answered with a refusal to search
LONGEST_QUERY: Final = 2000  # code points


class SearchArguments(NamedTuple):
    """What the model may set; None is what the profile says. The filter is the caller's alone."""

    query: str
    top_k: int | None = None
    score_threshold: float | None = None


def tool_schema(tool: ToolSection) -> dict[str, Any]:
    """The tool in the form of OpenAI's function calling, its arguments in the profile's order."""
    properties = {name: _property(one, bounds=tool.offers_bounds) for name, one in tool.parameters.items()}
    required = [name for name, one in tool.parameters.items() if one.required]
    parameters = {"type": "object", "properties": properties, "required": required}
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


def _property(parameter: Parameter, *, bounds: bool) -> dict[str, Any]:
    limits = {"minimum": parameter.minimum, "maximum": parameter.maximum} if bounds else {}
    given = {"default": parameter.default, **limits}
    described = {"type": parameter.type, "description": parameter.description}
    return described | {name: value for name, value in given.items() if value is not None}


def read_arguments(tool: ToolSection, args: Any) -> SearchArguments | str:
    """The model's arguments, or what is wrong with them in one line, for the model to mend."""
    if not isinstance(args, dict):
        return "The arguments must be a JSON object"
    unknown = next((name for name in args if name not in tool.parameters), None)
    if unknown is not None:
        return f"There is no argument {str(unknown)[:64]!r}; there are {', '.join(tool.parameters)}"
    values: dict[str, Any] = {}
    for name, parameter in tool.parameters.items():
        value = args.get(name)
        if value is None:  # left out, or null, which models write for "left out"
            if parameter.required:
                return f"{name} is required"
            continue
        problem = _text_problem(name, value) if parameter.sets == "query" else _number_problem(name, value, parameter)
        if problem:
            return problem
        values[parameter.sets] = value.strip() if parameter.sets == "query" else value
    if values.get("top_k") is not None:
        values["top_k"] = int(values["top_k"])
    return SearchArguments(**values)


def _text_problem(name: str, value: Any) -> str:
    if not isinstance(value, str):
        return f"{name} must be a text"
    if not value.strip():
        return f"{name} must not be empty"
    return f"{name} must have at most {LONGEST_QUERY} characters" if len(value) > LONGEST_QUERY else ""


def _number_problem(name: str, value: Any, parameter: Parameter) -> str:
    least, most = parameter.bounds()
    whole = parameter.type == "integer"
    allowed = f"{name} must be a {'whole ' if whole else ''}number from {least:g} to {most:g}"
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        return allowed  # NaN compares with nothing, so it ends here too
    return allowed if whole and value != int(value) else ""
