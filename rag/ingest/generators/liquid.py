"""Liquid's tags and kramdown's syntax, as Jekyll's pages use them: jekyllrb.com/docs/liquid. What is computed goes."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from rag.ingest.dialects import own_id, titled, without_abbreviations, without_definition_marks
from rag.ingest.formats.text_files import front_matter
from rag.ingest.generators.config_files import is_false, option
from rag.ingest.includes import Includes
from rag.ingest.page_draft import PageDraft
from rag.ingest.spans import Span

# In `${{ matrix.os }}`, an expression of GitHub Actions, the braces belong to the text.
_TOKEN: Final = re.compile(
    r"\{%-?\s*+(?P<tag>\w+)(?P<arguments>[^%]{0,4000}+(?:%(?!\})[^%]{0,1000}+){0,20})%\}"
    r"|(?:(?<!\$)|(?=\{\{-?\s*(?:site|page|include|layout)\.))"
    r"\{\{-?(?P<value>\s*+(?:\"[^\"\n]{0,200}+\"|'[^'\n]{0,200}+')[^{}\"']{0,200}+|[^{}]{0,2000}+)\}\}"
)
_REMOVED: Final = frozenset({"comment", "for", "capture", "tablerow", "case"})  # with all up to their ends
_STRING: Final = re.compile(r"\s*(?:\"([^\"]*)\"|'([^']*)')")
_ADDRESS: Final = re.compile(r"\|\s*(?:relative_url|absolute_url)\b")
_PARAMETER: Final = re.compile(r"([\w-]+)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|(\S+))")
_COMPUTED: Final = re.compile(r"\{%-?\s*(?:if|unless|for|case|capture|assign|include)\b|\{\{[^}|]*\|")
_TEXTS: Final = ("content", "text", "message")
_WORDS: Final = (*_TEXTS, "caption", "description", "alt", "title")
_LIST: Final = r"[^{}\n\"']{0,300}(?:\"[^\"\n]{0,300}\"[^{}\n\"']{0,300}|'[^'\n]{0,300}'[^{}\n\"']{0,300}){0,10}"
_ID_LINE: Final = re.compile(rf"^(?P<heading>#{{1,6}}[ \t][^\n]*)\n[ \t]*\{{:(?P<list>{_LIST})\}}[ \t]*$", re.MULTILINE)
_ID_ABOVE: Final = re.compile(
    rf"(?P<before>\A|\n[ \t]*\n)[ \t]*\{{:(?P<list>{_LIST})\}}[ \t]*\n(?P<heading>#{{1,6}}[ \t][^\n]*)(?=\n|\Z)"
)
_CONTENTS: Final = re.compile(
    rf"^[ \t]*(?:[-*+]|\d+\.)[ \t][^\n]*\n[ \t]*\{{:{_LIST}\btoc\b{_LIST}\}}[ \t]*$", re.MULTILINE
)
_ATTRIBUTE_LINE: Final = re.compile(rf"^[ \t>]*\{{:{_LIST}\}}[ \t]*$\n?", re.MULTILINE)
_ATTRIBUTES: Final = re.compile(rf"\{{:(?=[ ]*[#.\w]){_LIST}\}}")
_HEADING: Final = re.compile(r"^#{1,6}[ \t][^\n]*$", re.MULTILINE)
_OWN_ID: Final = re.compile(r"\{:?[ ]*(#[\w:.-]+)[^{}\n]*\}[ \t]*+$")
_COMMENT: Final = Span(r"\{::comment\}", r"\{:/(?:comment)?\}\n?")
_EXTENSION: Final = re.compile(r"\{:{1,2}/?\w*[^{}\n]{0,300}\}")
_BLOCK_END: Final = re.compile(r"^\^[ \t]*$\n?", re.MULTILINE)


_VERBATIM: Final = _REMOVED | {"raw", "highlight"}
_CONDITION: Final = re.compile(
    r"\s*(?P<name>(?:site|page|include)(?:\.[\w-]{1,100}){1,5})"
    r"(?:\s*(?P<sign>[=!<>]=|[<>])\s*(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>[\w.-]+)))?\s*-?"
)
_COMPARED: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq, "!=": operator.ne, ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class LiquidPage:
    """The folder of a page, the folder of includes, the variables, and the files that the page may include."""

    folder: Path
    templates: Path
    values: Mapping[str, Any]
    includes: Includes


def expand_liquid(text: str, page: LiquidPage) -> str:
    """The text with its tags replaced. Raises `ValueError` if it includes too much."""
    if "{%" not in text and "{{" not in text:
        return text
    text = _decided(text, page) if "{%" in text else text
    pieces: list[str] = []
    at = 0
    until = ""  # the tag that ends a skipped part, or one that is copied as it is
    copied = fenced = False
    for token in _TOKEN.finditer(text):
        tag = token["tag"] or ""
        if until:
            if tag != until:
                continue
            pieces.append(text[at : token.start()].strip("\n" * fenced) if copied or fenced else "")
            pieces.append("\n```" if fenced else "")
            until, copied, fenced, at = "", False, False, _after(text, token)
            continue
        before = text[at : token.start()]
        pieces.append(before.rstrip() if token[0].startswith("-", 2) else before)
        at = _after(text, token)
        if tag == "raw" or tag in _REMOVED:
            until, copied = f"end{tag}", tag == "raw"
        elif tag == "highlight":
            language = (token["arguments"].split() or [""])[0]
            pieces.append(f"```{language if re.fullmatch(r'[a-zA-Z0-9+#-]+', language) else ''}\n")
            until, fenced = "endhighlight", True
        else:
            put_in = _tag(tag, token["arguments"], page) if tag else _value(token["value"], page)
            pieces.append(put_in.rstrip("\n") if text.startswith("\n", at) else put_in)
    return "".join(pieces) + ("" if until and not copied and not fenced else text[at:])


def _decided(text: str, page: LiquidPage) -> str:
    """The text without the branches that values of the page or the site rule out. Others keep all of their branches."""
    pieces: list[str] = []
    at = 0
    open_: list[tuple[bool | None, bool]] = []  # whether a branch is shown, None if nobody knows, and if one surely was
    hidden = 0  # conditions with a branch that is not shown
    until = ""
    for token in _TOKEN.finditer(text):
        tag = token["tag"] or ""
        if until or tag in _VERBATIM:
            until = f"end{tag}" if not until else "" if tag == until else until
            continue
        before = hidden
        if tag in ("if", "unless"):
            known = _is_met(token["arguments"], page)
            known = known if known is None or tag == "if" else not known
            open_.append((known, known is True))
            hidden += known is False
        elif tag in ("elsif", "else", "endif", "endunless") and open_:
            was, met = open_.pop()
            hidden -= was is False
            if not tag.startswith("end"):
                known = tag == "else" or _is_met(token["arguments"], page)
                shown = None if was is None else not met and known is not False
                open_.append((shown, met or known is True))
                hidden += shown is False
        if bool(before) != bool(hidden):
            pieces.append("" if before else text[at : token.start()])
            at = token.end() if before else token.start()
    return "".join(pieces) + text[at:]


def _is_met(condition: str, page: LiquidPage) -> bool | None:
    """Whether a condition on a value of the page or the site holds; None where the value is not known."""
    found = _CONDITION.fullmatch(condition)
    value = option(page.values, *found["name"].split(".")) if found else None
    if found is None or not isinstance(value, (str, int, float)):
        return None
    if not found["sign"]:
        return not is_false(value)
    other = next(text for text in (found["double"], found["single"], found["bare"]) if text is not None)
    try:
        return _COMPARED[found["sign"]](float(value), float(other))
    except ValueError:
        return _COMPARED[found["sign"]](str(value), other)


def _after(text: str, token: re.Match[str]) -> int:
    """Where the text goes on after a tag; a hyphen at its end drops the blanks that follow."""
    at = token.end()
    while token[0].endswith(("-%}", "-}}")) and at < len(text) and text[at].isspace():
        at += 1
    return at


def _tag(name: str, arguments: str, page: LiquidPage) -> str:
    words = arguments.strip().rstrip("-").strip()
    if name == "link":
        return "/" + words.lstrip("/")
    if name == "post_url":
        return f"/_posts/{words.rpartition('/')[2]}"
    if name in ("include", "include_relative", "include_cached", "remote_include"):
        return _include(words, page, relative=name == "include_relative")
    return ""


def _include(words: str, page: LiquidPage, *, relative: bool) -> str:
    """An included file, or the words that are handed to a template of HTML."""
    name, _, rest = words.partition(" ")
    parameters = {m[1]: next(g for g in m.groups()[1:] if g is not None) for m in _PARAMETER.finditer(rest)}
    said = next((parameters[key] for key in _WORDS if parameters.get(key)), "")
    title = parameters.get("title")
    if title and any(parameters.get(key) for key in _TEXTS):
        said = f"{titled(title)}\n\n{said}"
    if said and (name.endswith(".html") or not name.endswith((".md", ".markdown"))):
        return f"\n\n{said}\n\n"
    content = page.includes.read(name, page.folder if relative else page.templates)
    if content is None or (name.endswith(".html") and _COMPUTED.search(content)):
        return said
    below = replace(page, values={**page.values, "include": parameters}, includes=page.includes.below())
    return expand_liquid(front_matter(content)[1], below)


def _value(expression: str, page: LiquidPage) -> str:
    """The text of an expression: a string, or a plain variable; empty for one that is computed."""
    expression = expression.strip().strip("-").strip()
    if string := _STRING.match(expression):
        words = string[1] if string[1] is not None else string[2]
        is_address = _ADDRESS.search(expression, string.end()) and not re.match(r"/|[a-z][a-z+.-]*:", words)
        return f"/{words}" if is_address else words
    name = expression.partition("|")[0].strip()
    value = option(page.values, *name.split("."))
    if name in ("site.baseurl", "site.url"):  # links are resolved against the address that the user gives
        return ""
    return str(value) if isinstance(value, (str, int, float)) else ""


def rewrite_kramdown(draft: PageDraft) -> None:
    """Turn kramdown's attribute lists and extensions into Markdown."""
    text = _HEADING.sub(lambda heading: _OWN_ID.sub(r"{\1}", heading[0]), _COMMENT.replaced(lambda *_: "", draft.text))
    text = _ID_LINE.sub(lambda found: found["heading"] + own_id(found["list"]), text)
    text = _ID_ABOVE.sub(lambda found: found["before"] + found["heading"] + own_id(found["list"]), text)
    text = _ATTRIBUTE_LINE.sub("", _CONTENTS.sub("", text))
    text = _BLOCK_END.sub("", without_abbreviations(_EXTENSION.sub("", _ATTRIBUTES.sub("", text))))
    draft.text = without_definition_marks(text)
