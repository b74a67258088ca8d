"""The expressions of MDX: constants and strings are written out, and what only a browser computes is left out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from rag.ingest.page_draft import PageDraft
from rag.ingest.tags import REACH, balanced

_IMPORTED: Final = re.compile(r"^import\s++([\w$*{},\s]{1,1000}?)\sfrom\s++['\"]", re.MULTILINE)
_EXPORTED: Final = re.compile(r"^export\s++(?:const|let|var|function)\s++([A-Za-z_$][\w$]*+)", re.MULTILINE)
_VALUE: Final = re.compile(r"\s*+(?:'([^'\\\n]*+)'|\"([^\"\\\n]*+)\"|(-?[\d.]++)|\0(\d++)\0)[ \t]*+;?[ \t]*+(?:\n|\Z)")
_TYPED: Final = re.compile(r"(?:\s*+:\s*+\w++)?\s*+=")
_STRING: Final = re.compile(r"\{\s*+(?:'([^'\n]*+)'|\"([^\"\n]*+)\"|(\0\d++\0))\s*+\}")
_NAME: Final = re.compile(r"\{\s*+([A-Za-z_$][\w$]*+(?:\??\.[A-Za-z_$][\w$]*+)*+)\s*+\}")
_COMMAND: Final = re.compile(r"(?:\\|[_^]|\\[A-Za-z]{1,30}(?:\{[^{}]{0,100}\}){0,3})\Z")  # of maths, before a brace
_FUNCTION: Final = re.compile(r"[\w$)]\s*+=>")
_NUMBER: Final = re.compile(r"-?[\d.]+")
UNCLOSED: Final = 10  # braces of a page whose end is sought in vain; after them no functions are looked for
_BUILT_IN: Final = ("props", "frontMatter")


def declared(draft: PageDraft, props: Mapping[str, str]) -> dict[str, str]:
    """The names that a page or a partial declares, with their texts; what is computed is empty.

    `props` are the attributes with which a partial is used, as `Tag` has them.
    """
    found = dict.fromkeys(_BUILT_IN, "")
    for clause in _IMPORTED.finditer(draft.text):
        found |= dict.fromkeys(re.findall(r"[A-Za-z_$][\w$]*", clause[1]), "")
    for export in _EXPORTED.finditer(draft.text):
        sign = _TYPED.match(draft.text, export.end())
        value = _VALUE.match(draft.text, sign.end()) if sign else None
        found[export[1]] = _constant(value, draft) if value else ""
    for key, text in props.items():
        name = key.removesuffix("{}")
        if name == key or _NUMBER.fullmatch(text):
            found[f"props.{name}"] = text.strip("`")
    return found


def _constant(value: re.Match[str], draft: PageDraft) -> str:
    if value[4] is None:
        return next(group for group in value.groups() if group is not None)
    text = draft.code(value[4]).strip("`")
    return "" if "${" in text or "\n" in text else text


def without_expressions(text: str, values: Mapping[str, str]) -> str:
    """The text with strings and the names of `values` written out, and without functions.

    Other braces stay: they may be maths, or a set in the text of a page that is no MDX.
    """
    pieces: list[str] = []
    at = unclosed = 0
    for brace in re.finditer(r"\{", text):
        begin = brace.start()
        if begin < at or _COMMAND.search(text, max(at, begin - 400), begin):
            continue
        shown, end = _value(text, begin, values)
        if end is None and unclosed < UNCLOSED and "=>" in text[begin : begin + REACH]:
            end = balanced(text, begin)
            unclosed += end < 0
            end = end if end > 0 and _FUNCTION.search(text, begin, end) else None
        if end is not None:
            pieces += [text[at:begin], shown]
            at = end
    return "".join(pieces) + text[at:]


def _value(text: str, begin: int, values: Mapping[str, str]) -> tuple[str, int | None]:
    """The text of the string or the name at a brace, and where the brace ends; None where it is neither."""
    if string := _STRING.match(text, begin):
        return next(group for group in string.groups() if group is not None), string.end()
    name = _NAME.match(text, begin)
    path = name[1].replace("?", "") if name else ""
    return (values.get(path, ""), name.end()) if name and path.split(".")[0] in values else ("", None)
