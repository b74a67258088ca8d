"""MyST: Markdown with the directives and roles of Sphinx. Described at myst-parser.readthedocs.io/en/latest/syntax."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from rag.ingest.admonitions import titled
from rag.ingest.anchors import docutils_id
from rag.ingest.formats.markdown_files import front_matter
from rag.ingest.masking import PageDraft
from rag.ingest.rst_syntax import ADMONITIONS, VERSION_NOTES, chosen_lines

DEPTH: Final = 10  # levels of directives in directives
_FENCE: Final = re.compile(
    r"(?P<indent>[ ]*)(?P<mark>`{3,}|~{3,}|(?P<colon>:{3,}))(?:\{(?P<name>[\w.:+-]+)\})?[ ]*"
    r"(?P<rest>(?(colon)[^\n]*|[^`\n]*))"
)
_OPTION: Final = re.compile(r":(?P<name>[\w-]+):[ \t]*(?P<value>.*)")
_CODE_NAMES: Final = """
code-block code sourcecode code-cell prompt ipython testcode testoutput doctest jupyter-execute console parsed-literal
"""
_CODE: Final = frozenset(_CODE_NAMES.split())
_NOTHING_NAMES: Final = """
toctree contents tableofcontents raw image figure-md index highlight currentmodule meta bibliography mermaid
automodule autoclass autofunction autosummary glossary-refs
"""
_NOTHING: Final = frozenset(_NOTHING_NAMES.split())
_UNTITLED_NAMES: Final = """
admonition tab-item tab dropdown card grid-item-card rubric topic sidebar details figure table list-table
"""
_UNTITLED: Final = frozenset(_UNTITLED_NAMES.split())
_NOTES: Final = ADMONITIONS | set(["seealso", "todo", "exercise", "solution", "margin"]) | VERSION_NOTES.keys()
_SHOWN: Final = {"seealso": "See also", "versionadded": "Added in version", "versionchanged": "Changed in version",
                 "versionremoved": "Removed in version", "deprecated": "Deprecated since version"}  # fmt: skip
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
_DEFINITION: Final = re.compile(r"^[ ]{0,3}:[ ]{1,3}(?=\S)", re.MULTILINE)
_AUTOLINK: Final = re.compile(r"<(project:[^\s<>]{1,300})>")
_UNTITLED_LINK: Final = re.compile(r"(?<!\!)\[\]\(<?([^\s()<>]{1,300})>?\)")
_ROLE_TARGET: Final = re.compile(r"(?P<title>.*?)\s*<(?P<target>[^<>]+)>\s*", re.DOTALL)

Found = Callable[[str], tuple[str, str] | None]


@dataclass(frozen=True, slots=True)
class MystPlace:
    """What a page knows of its book: files to include, reStructuredText, labels, pages and substitutions.

    `named` returns the title and the address of what a link such as `[](#label)` names, and `external` those of a role
    of `extlinks` and its target.
    """

    read: Callable[[str], str | None]
    restructured: Callable[[str], str]
    label: Found
    document: Found
    values: Mapping[str, Any]
    named: Found
    external: Callable[[str, str], tuple[str, str] | None]
    depth: int = DEPTH


def unfolded_myst(text: str, place: MystPlace) -> str:
    """The text with its directives replaced by their contents. Raises `ValueError` if it includes too much."""
    if not re.search(r"^[ ]*(?:`{3,}|~{3,}|:{3,})\{", text, re.MULTILINE):
        return text
    return "\n".join(_unfolded(text.split("\n"), place))


def _unfolded(lines: list[str], place: MystPlace) -> list[str]:
    found: list[str] = []
    at = 0
    while at < len(lines):
        fence = _FENCE.fullmatch(lines[at])
        if fence is None or (fence["mark"][0] == ":" and not fence["name"]):
            found.append(lines[at])
            at += 1
            continue
        end = _end(lines, at + 1, fence["mark"])
        if fence["name"] is None:
            found += lines[at : end + 1]
        else:
            indent = fence["indent"]
            body = [line.removeprefix(indent) for line in lines[at + 1 : end]]
            written = _directive(fence["name"].lower(), fence["rest"].strip(), body, place)
            found += ["", *(indent + line if line else "" for line in written), ""]
        at = end + 1
    return found


def _end(lines: list[str], at: int, mark: str) -> int:
    """The line that closes a fence, or the number of lines."""
    closing = re.compile(rf"[ ]*{re.escape(mark[0])}{{{len(mark)},}}[ ]*")
    return next((n for n in range(at, len(lines)) if closing.fullmatch(lines[n])), len(lines))


def _directive(name: str, argument: str, body: list[str], place: MystPlace) -> list[str]:
    """The lines that stand for a directive."""
    last = name.rpartition(":")[2]
    options, body = _options(body)
    if last == "eval-rst":
        return place.restructured("\n".join(body)).split("\n")
    if last in _CODE or last in ("math", "literalinclude"):
        return _code(last, argument, body, options, place)
    if last in _NOTHING or place.depth == 0:
        return []
    if last == "include":
        text = place.read(argument)
        body = chosen_lines(front_matter(text)[1], options) if text is not None else []
        return _unfolded(body, replace(place, depth=place.depth - 1))
    inner = _unfolded(body, replace(place, depth=place.depth - 1))
    if last == "figure":
        return inner
    title = argument if last in _UNTITLED else ""
    if last in _NOTES:
        title = " ".join(filter(None, (_SHOWN[last], argument))) if last in _SHOWN else argument or last.capitalize()
    elif not title and argument and name != last:  # such as the signature in `{py:function} name(x)`
        return [f"`{argument}`", "", *inner]
    return [titled(title), "", *inner] if title else inner


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


def _code(name: str, argument: str, body: list[str], options: dict[str, str], place: MystPlace) -> list[str]:
    language = "math" if name == "math" else argument if re.fullmatch(r"[\w+#.-]+", argument) else ""
    if name == "doctest":  # its argument names a group of tests
        language = "python"
    if name == "literalinclude":
        body = chosen_lines(place.read(argument) or "", options)
        language = options.get("language") or argument.rpartition(".")[2]
    longest = max((len(run) for line in body for run in re.findall("`+", line)), default=0)
    mark = "`" * max(3, longest + 1)
    return [mark + language, *body, mark] if any(line.strip() for line in body) else []


def rewrite_myst(draft: PageDraft, place: MystPlace) -> None:
    """Turn roles, targets, comments, attributes and substitutions into plain Markdown."""
    text = _LABELLED.sub(lambda found: f"{found['heading']} {{#{docutils_id(found['label'])}}}", draft.text)
    text = _COMMENT.sub("", _TARGET.sub("", text))
    text = _HEADING_ATTRIBUTES.sub(_with_id, text)
    text = _INLINE_ATTRIBUTES.sub("", _ATTRIBUTE_LINE.sub("", text))
    text = _AUTOLINK.sub(lambda link: f"[]({link[1]})", text)
    text = _UNTITLED_LINK.sub(lambda link: _with_title(link, place), text)
    text = _ROLE.sub(lambda role: _role(role["name"], draft.code(role["code"]).strip("`").strip(), draft, place), text)
    text = _VARIABLE.sub(lambda name: str(place.values.get(name[1], "")), text)
    draft.text = _DEFINITION.sub("", text)


def _with_title(link: re.Match[str], place: MystPlace) -> str:
    """`[](#label)` with the title of what it names."""
    found = place.named(link[1])
    return f"[{found[0]}]({link[1]})" if found and found[0] else link[0]


def _with_id(found: re.Match[str]) -> str:
    own = re.search(r"#([\w:.-]+)", found["list"])
    return f"{found['heading']} {{#{own[1]}}}" if own else found["heading"]


def _role(name: str, content: str, draft: PageDraft, place: MystPlace) -> str:
    """A role as a link, as code, or as its text."""
    kind = name.rpartition(":")[2]
    given = _ROLE_TARGET.fullmatch(content)
    title, target = (given["title"], given["target"]) if given else ("", content)
    if kind in ("ref", "numref", "doc"):
        found = place.document(target) if kind == "doc" else place.label(" ".join(target.lower().split()))
        shown = title or (found[0] if found else "") or target
        return f"[{shown}]({found[1]})" if found and found[1] else shown
    if (outside := place.external(name, target)) is not None:
        return f"[{title or outside[0]}]({outside[1]})"
    if not title and target.startswith("~"):
        target = target[1:].rpartition(".")[2]
    shown = (title or target).lstrip("!")
    is_plain = kind in (
        "term",
        "abbr",
        "guilabel",
        "menuselection",
        "download",
        "sub",
        "sup",
        "dfn",
        "emphasis",
        "cite",
    )
    if kind == "math":
        return f"${shown}$"
    return shown if is_plain else draft.keep(f"`{shown}`")
