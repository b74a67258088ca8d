"""MyST: Markdown with the directives and roles of Sphinx. Described at myst-parser.readthedocs.io/en/latest/syntax."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rag.ingest.anchors import docutils_id
from rag.ingest.dialects import own_id, without_definition_marks
from rag.ingest.fences import closing_line, fenced
from rag.ingest.formats.text_files import front_matter
from rag.ingest.page_draft import PageDraft
from rag.ingest.rst_syntax import BookPlace, chosen_lines, directive_parts, is_include, role_text

DEPTH: Final = 10  # levels of directives in directives
_FENCE: Final = re.compile(
    r"(?P<indent>[ ]*)(?P<mark>`{3,}|~{3,}|(?P<colon>:{3,}))(?:\{(?P<name>[\w.:+-]+)\})?[ ]*"
    r"(?P<rest>(?(colon)[^\n]*|[^`\n]*))"
)
_OPTION: Final = re.compile(r":(?P<name>[\w-]+):[ \t]*(?P<value>.*)")
_ROLE: Final = re.compile(r"\{(?P<name>[a-z][\w.:+-]{0,60})\}(?P<code>\0\d+\0)")
_TARGET: Final = re.compile(r"^\([^()\n]{1,200}\)=[ \t]*$\n?", re.MULTILINE)
_LABELLED: Final = re.compile(
    r"^\((?P<label>[^()\n]{1,200})\)=[ \t]*\n\n?(?P<heading>#{1,6}[ \t][^\n]*)$", re.MULTILINE
)
_COMMENT: Final = re.compile(r"^[ ]{0,3}%[^\n]*$\n?|^\+\+\+[^\n]*$\n?", re.MULTILINE)
_ATTRIBUTES: Final = r"\{(?=[ ]*[#.%\w])(?P<list>[^{}\n]{1,300})\}"
_HEADING_ATTRIBUTES: Final = re.compile(rf"^{_ATTRIBUTES}[ \t]*\n(?P<heading>#{{1,6}}[ \t][^\n]*)$", re.MULTILINE)
_ATTRIBUTE_LINE: Final = re.compile(rf"^[ ]{{0,3}}{_ATTRIBUTES}[ \t]*$\n?", re.MULTILINE)
_INLINE_ATTRIBUTES: Final = re.compile(r"(?<=[)\]\0])\{[ ]*[#.][^{}\n]{1,200}\}")
_VARIABLE: Final = re.compile(r"\{\{[ ]*([\w-]{1,100})[^{}\n]{0,200}\}\}")
_AUTOLINK: Final = re.compile(r"<(project:[^\s<>]{1,300})>")
_UNTITLED_LINK: Final = re.compile(r"(?<!\!)\[\]\(<?([^\s()<>]{1,300})>?\)")


@dataclass(frozen=True, slots=True)
class MystPlace(BookPlace):
    """What a page of MyST knows of its book; `named` gives the title and the address of a link `[](#label)`."""

    restructured: Callable[[str], str] = field(kw_only=True)
    values: Mapping[str, Any] = field(kw_only=True)
    named: Callable[[str], tuple[str, str] | None] = field(kw_only=True)


def unfolded_myst(text: str, place: MystPlace) -> str:
    """The text with its directives replaced by their contents. Raises `ValueError` if it includes too much."""
    if not re.search(r"^[ ]*(?:`{3,}|~{3,}|:{3,})\{", text, re.MULTILINE):
        return text
    return "\n".join(_unfolded(text.split("\n"), place, DEPTH))


def _unfolded(lines: list[str], place: MystPlace, depth: int) -> list[str]:
    found: list[str] = []
    at = 0
    while at < len(lines):
        fence = _FENCE.fullmatch(lines[at])
        if fence is None or (fence["mark"][0] == ":" and not fence["name"]):
            found.append(lines[at])
            at += 1
            continue
        end = closing_line(lines, at + 1, fence["mark"])
        if fence["name"] is None:
            found += lines[at : end + 1]
        else:
            indent = fence["indent"]
            body = [line.removeprefix(indent) for line in lines[at + 1 : end]]
            written = _directive(fence["name"].lower(), fence["rest"].strip(), body, place, depth)
            found += ["", *(indent + line if line else "" for line in written), ""]
        at = end + 1
    return found


def _directive(name: str, argument: str, body: list[str], place: MystPlace, depth: int) -> list[str]:
    """The lines that stand for a directive."""
    options, body = _options(body)
    if name == "eval-rst":
        return place.restructured("\n".join(body)).split("\n")
    if is_include(name, options):
        text = place.read(argument) if depth else None
        return _unfolded(chosen_lines(front_matter(text)[1], options), place, depth - 1) if text is not None else []
    lines: list[str] = []
    for part in directive_parts(name, argument, options, body, place):
        if part.kind == "code":
            lines += fenced(part.text, part.language).split("\n")
        elif part.kind == "content":
            lines += _unfolded(body, place, depth - 1) if depth else []
        else:
            lines += [f"`{part.text}`" if part.kind == "literal" else part.text, ""]
    return lines


def _options(body: list[str]) -> tuple[dict[str, str], list[str]]:
    """The options at the head of a directive, and the lines after them."""
    options: dict[str, str] = {}
    if body and body[0].strip() == "---":
        end = next((n for n in range(1, len(body)) if body[n].strip() == "---"), 0)
        return options, body[end + 1 :]
    at = 0
    while at < len(body) and (option := _OPTION.fullmatch(body[at].strip())):
        options[option["name"]] = re.sub(r"(['\"])(.*)\1", r"\2", option["value"].strip())  # they are YAML
        at += 1
    return options, body[at:]


def rewrite_myst(draft: PageDraft, place: MystPlace) -> None:
    """Turn roles, targets, comments, attributes and substitutions into plain Markdown."""
    text = _LABELLED.sub(lambda found: f"{found['heading']} {{#{docutils_id(found['label'])}}}", draft.text)
    text = _COMMENT.sub("", _TARGET.sub("", text))
    text = _HEADING_ATTRIBUTES.sub(lambda found: found["heading"] + own_id(found["list"]), text)
    text = _INLINE_ATTRIBUTES.sub("", _ATTRIBUTE_LINE.sub("", text))
    text = _AUTOLINK.sub(lambda link: f"[]({link[1]})", text)
    text = _UNTITLED_LINK.sub(lambda link: _with_title(link, place), text)
    text = _ROLE.sub(lambda role: _role(role["name"], draft.code(role["code"]).strip("`").strip(), draft, place), text)
    text = _VARIABLE.sub(lambda name: str(place.values.get(name[1], "")), text)
    draft.text = without_definition_marks(text)


def _with_title(link: re.Match[str], place: MystPlace) -> str:
    """`[](#label)` with the title of what it names, or else with the words of the label; a web address as itself."""
    found = place.named(link[1])
    if "://" in link[1]:
        return f"<{link[1]}>"
    label = link[1].rstrip("/").replace("#", "/").rpartition("/")[2].removeprefix("project:")
    words = re.sub(r"[-_ ]+", " ", posixpath.splitext(label)[0]).strip()
    return f"[{found[0] if found and found[0] else words}]({link[1]})"


def _role(name: str, content: str, draft: PageDraft, place: MystPlace) -> str:
    """A role as a link, as code, or as its text."""
    if name == "math":
        return f"${content}$"
    words, address, is_code = role_text(name, content, place)
    return f"[{words}]({address})" if address else draft.keep(f"`{words}`") if is_code else words
