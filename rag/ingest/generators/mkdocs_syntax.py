"""The extensions of Python-Markdown that MkDocs sites use, as CommonMark, and the files that they put into a page.

Described at facelessuser.github.io/pymdown-extensions and python-markdown.github.io/extensions, and by the packages
pymdown-extensions and mdx-include. `--8<--` of pymdownx.snippets and `{! file !}` of mdx_include put in the text as it
is, also inside code; FastAPI's `{* file *}` puts in a block of code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from html import unescape
from pathlib import Path
from typing import Any, Final

from rag.ingest.dialects import own_id, titled, without_abbreviations, without_definition_marks
from rag.ingest.fences import FENCE, fenced, fenced_lines, language_of, without_empty_fences
from rag.ingest.includes import Includes, line_span, section
from rag.ingest.page_draft import PageDraft
from rag.ingest.spans import Span

DEPTH: Final = 12  # levels of blocks inside blocks
INDENT: Final = 4  # columns by which the text of a block is indented
_BLOCK: Final = re.compile(
    r"(?P<indent>[ ]*)(?:(?:!!!|\?\?\?\+?)[ ]*(?P<kinds>[\w-]+(?:[ ]+[\w-]+){0,10})?[ ]*|===[!+]{0,2}[ ]+(?=\"))"
    r"(?:\"(?P<title>[^\n]*)\")?[ ]*"
)
_SLASHES: Final = re.compile(
    r"(?P<indent>[ ]*)(?P<mark>/{3,})[ ]*(?P<kind>[\w-]+)[ ]*(?:\|[ ]*(?P<title>[^\n]*?))?[ ]*"
)
_SLASHES_END: Final = re.compile(r"[ ]*/{3,}[ ]*")
_UNTITLED: Final = re.compile(r"html|define|caption|.*-.*")  # kinds of blocks that are no titles
_KEYED: Final = r"#[^\s{}#=\"']+|\.[^\s{}#.=\"']+|[\w:-]+=(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s{}\"']+)"
_ITEM: Final = rf"(?:{_KEYED}|(?:markdown|data-[\w-]+))"
_ANY_ITEM: Final = rf"(?:{_KEYED}|[\w-]+(?=[ }}]))"  # in a list with a colon, `{: #start new }`, also any word
_ATTRIBUTES: Final = re.compile(
    rf"\{{(?:[ ]*(?P<list>{_ITEM}(?:[ ]+{_ITEM}){{0,20}})"
    rf"|:[ ]*(?P<words>{_ANY_ITEM}(?:[ ]+{_ANY_ITEM}){{0,20}}))[ ]*\}}"
)
# Braces of formulas are none, and in running text a list belongs to the link, image, code or emphasis just before it.
_FORMULA: Final = (
    r"\$\$[^$]{1,5000}\$\$|(?<![\\$\w])\$(?=\S)[^$\n]{1,500}(?<=\S)\$(?!\w)"
    r"|\\\((?:[^\\\n]|\\(?![()])){1,500}\\\)|\\\[(?:[^\\]|\\(?![\[\]])){1,5000}\\\]"
)
_FORMULA_OR_ATTRIBUTES: Final = re.compile(rf"(?P<formula>{_FORMULA})|{_ATTRIBUTES.pattern}")
_HAS_ATTRIBUTES: Final = re.compile(r"[ >]*(?:#|[-*+][ ]|\d+[.)][ ]|\||$)")  # a line whose block may end with a list
_LINE_END: Final = re.compile(r"[ ]*#*[ ]*(?:$|\n(?P<setext>=+|-+)?)")
_ICON: Final = re.compile(
    r":(?:material|octicons|fontawesome|simple|twemoji|custom)-[\w-]{1,100}:(?:\{[^{}\n]*\})?[ ]?"
)
_KEY: Final = r"(?:\"[^\"\n]{1,20}\"|\w[\w -]{0,40})"
_KEYS: Final = re.compile(rf"\+\+(?P<keys>{_KEY}(?:\+{_KEY}){{0,5}})\+\+")
_PROGRESS: Final = re.compile(
    r"\[==?[ ]*(?P<share>[\d.]{1,9}(?:%|/[\d.]{1,9}))(?:[ ]+\"(?P<label>[^\"\n]{0,200})\")?[ ]*\]"
)
_SYMBOLS: Final = {"(tm)": "™", "(c)": "©", "(r)": "®", "+/-": "±", "=/=": "≠"}
_SYMBOL: Final = re.compile("|".join(map(re.escape, _SYMBOLS)))
_CONTENTS: Final = re.compile(r"^\[\[?(?:TOC|toc|_TOC_)\]\]?[ ]*$", re.MULTILINE)
_OBJECT: Final = re.compile(
    r"^(?:#{1,6}[ ]+)?:::[ ]+[\w.:-]+[ ]*$(?:\n(?:[ ]{4}[^\n]*|[ ]*(?=\n[ ]{4})))*", re.MULTILINE
)
_MARKS: Final = {
    re.compile(r"(?<![=\w])==(?=\S)([^=\n]{1,500})(?<=\S)==(?![=\w])"): ("mark", r"\1"),
    re.compile(r"\^\^(?=\S)([^^\n]{1,500})(?<=\S)\^\^"): ("caret", r"\1"),
    re.compile(r"(?<![\\^])\^(\w{1,50}(?=\^(?!\^))|[\w+.,()-]{1,50}(?=\^(?![\w^])))\^"): ("caret", r"<sup>\1</sup>"),
    re.compile(r"(?<![\\~])~([\w+.,()-]{1,50})~(?!~)"): ("tilde", r"\1"),
}
_CRITIC: Final = re.compile(
    r"\{(?:\+\+(?P<new>[^{}]{1,2000}?)\+\+|==(?P<marked>[^{}]{1,2000}?)==|>>[^{}]{1,2000}?<<"
    r"|--(?P<gone>[^{}]{1,2000}?)--|~~(?P<old>[^{}]{1,2000}?)~>(?P<now>[^{}]{0,2000}?)~~)\}"
)
_RAW: Final = Span(r"\{%-?[ ]*raw[ ]*-?%\}", r"\{%-?[ ]*endraw[ ]*-?%\}")
_RAW_MARK: Final = re.compile(
    r"^[ \t]*\{%-?[ ]*(?:end)?raw[ ]*-?%\}[ \t]*\n|\{%-?[ ]*(?:end)?raw[ ]*-?%\}", re.MULTILINE
)
_BRACES: Final = re.compile(r"\{[{%]|[%}]\}")
_LOOP: Final = Span(r"\{%-?[ ]*(for)\b[^%\n]{0,1000}%\}", r"\{%-?[ ]*endfor[ ]*-?%\}")
# Termynal shows such a block as a terminal, with the colours that its HTML sets.
_TERMINAL: Final = re.compile(
    r"(<div[^<>\n]{0,200}\bclass=[\"']?[^<>\"'\n]{0,200}\btermy\b[^<>\n]{0,200}>\s{0,20})(\0\d+\0)"
)
_IMAGE: Final = re.compile(r"!\[[^\[\]\n]{0,300}\](?:\([^()\n]{0,1000}\)|\[[^\[\]\n]{0,200}\])")
_IMAGE_HEADING: Final = re.compile(r"^#{1,6}[ ]+((?=[^\n]*!\[)[^\n]{1,2000})$", re.MULTILINE)
_BLOCK_OF_CODE: Final = re.compile(r"^\0\d+\0$", re.MULTILINE)
_RUN: Final = re.compile(r"\bexec=[\"']?(?:1|true|yes|on)\b", re.IGNORECASE)
_SOURCE: Final = re.compile(r"\bsource=[\"']?\w")
_TAG: Final = re.compile(r"</?(?:font|span|b|i|u|strong|em)(?:\s[^<>\n]{0,200})?>")
_LANGUAGE_MARK: Final = re.compile(r"^(`+)[ ]?(?:#!|:::)\S+[ ]+")
_SNIPPET: Final = re.compile(
    r"^(?P<indent>[ \t]*)(?P<escape>;*)-{1,}8<-{1,}(?:[ \t]+(?P<quote>[\"'])(?P<name>[^\"'\n]+)(?P=quote))?[ \t]*$"
)
_SNIPPET_SECTION: Final = re.compile(
    r"-{1,}8<-{1,}[ \t]+\[[ \t]*(?:start|(?P<end>end))[ \t]*:[ \t]*(?P<name>[a-z][-\w]*)[ \t]*\]", re.I
)
_SNIPPET_PART: Final = re.compile(
    r"(?P<file>.*?)(?P<lines>(?::-?\d*){1,2}(?:,-?\d*(?::-?\d*)?){0,50})?(?::(?P<section>[a-zA-Z][-\w]*))?$"
)
_INCLUDED_FILE: Final = re.compile(
    r"^(?P<indent>[ \t]*)\{(?P<kind>\*|![<>]{0,2})[ \t]*"
    r"(?P<name>[^\s*{}!]{1,500})(?P<options>[^{}\n]{0,500}?)[<>]?(?:\*|!)\}[ \t]*$"
)
_CHOSEN_LINES: Final = re.compile(r"\bln\[(?P<ranges>[\d:,\s]*)\]|\[ln:(?P<dashed>[\d.,\s-]*)\]")


def with_snippets(text: str, folders: Sequence[Path], includes: Includes) -> str:
    """The text with the files that it names in their places. Raises `ValueError` if a page includes too much."""
    if "8<-" not in text and not re.search(r"\{[*!]", text):
        return text
    found: list[str] = []
    block = False
    for line in text.split("\n"):
        snippet = _SNIPPET.match(line)
        file = None if snippet or block else _INCLUDED_FILE.match(line)
        if snippet and snippet["escape"]:
            found.append(line.replace(";", "", 1))
        elif snippet and not snippet["name"]:
            block = not block
        elif snippet or (block and line.strip()):
            name = snippet["name"] if snippet else line.strip().removeprefix(";")
            indent = snippet["indent"] if snippet else ""
            found += [indent + one for one in _snippet(name, folders, includes)]
        elif file:
            found += [file["indent"] + one for one in _included_file(file, folders, includes)]
        elif not block and not _SNIPPET_SECTION.search(line):
            found.append(line)
    return without_empty_fences("\n".join(found))


def _snippet(name: str, folders: Sequence[Path], includes: Includes) -> list[str]:
    part = _SNIPPET_PART.fullmatch(name.strip())
    content = None if part is None or "://" in name or len(name) > 500 else includes.read(part["file"], *folders)
    if part is None or content is None:
        return []
    lines = content.rstrip("\n").split("\n")
    if part["section"]:
        lines = section(lines, _SNIPPET_SECTION, part["section"])
    elif part["lines"]:
        lines = [line for span in part["lines"][1:].split(",") for line in line_span(lines, span)]
    return with_snippets("\n".join(lines), folders, includes.below()).split("\n")


def _included_file(match: re.Match[str], folders: Sequence[Path], includes: Includes) -> list[str]:
    """The lines of `{* file *}`, as a fenced block, or of `{! file !}`. `ln[1:5,8]` and `[ln:1-5,8]` choose them."""
    content = includes.read(match["name"], *folders)
    if content is None:
        return []
    lines = content.rstrip("\n").split("\n")
    if ranges := _CHOSEN_LINES.search(match["options"]):
        # In `[ln:1.4-5.2]` the numbers after the dots are columns.
        spans = ranges["ranges"] or re.sub(r"\.\d+", "", ranges["dashed"] or "").replace("-", ":")
        lines = [line for span in spans.split(",") for line in line_span(lines, span)]
    if match["kind"] != "*":
        return with_snippets("\n".join(lines), folders, includes.below()).split("\n")
    return fenced("\n".join(lines), language_of(match["name"])).split("\n")


def unfolded(text: str) -> str:
    """Blocks whose text is indented, with their titles as lines above it and the text moved back.

    `!!! note "Title"`, `??? tip` and `=== "Tab"` hold the indented lines that follow; `/// note | Title` ends with a
    line of slashes.
    """
    if not re.search(r"^[ ]*(?:!!!|\?\?\?|===|///)", text, re.MULTILINE):
        return text
    return "\n".join(_without_slashes(_unfolded(text.split("\n"), 0)))


def _unfolded(lines: list[str], depth: int) -> list[str]:
    found: list[str] = []
    code = fenced_lines(lines)
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        block = None if at - 1 in code or depth >= DEPTH else _BLOCK.fullmatch(line)
        if block is None:
            found.append(line)
            continue
        end = _end(lines, at, len(block["indent"]) + INDENT)
        inner = [line[INDENT:] for line in lines[at:end]]
        found += [*_above(found), block["indent"] + _title(block), *_unfolded(_joined(inner), depth + 1), ""]
        at = end
    return found


def _end(lines: list[str], at: int, indent: int) -> int:
    """The line after the lines that are indented so far. Blank lines at their end do not belong to them."""
    end = at
    for n in range(at, len(lines)):
        if lines[n].startswith(" " * indent):
            end = n + 1
        elif lines[n].strip():
            break
    return end


def _above(found: list[str]) -> list[str]:
    return [""] if found and found[-1].strip() else []


def _joined(inner: list[str]) -> list[str]:
    """The lines of a block without the blank ones at its beginning, so that its title leads it in."""
    first = next((n for n, line in enumerate(inner) if line.strip()), len(inner))
    rest = inner[first:]
    # A title directly above would make code or a list a part of its paragraph.
    return (
        ["", *rest]
        if rest and re.match(r"[ ]*(?:```|~~~|[-*+][ ]|\d+[.)][ ]|\||#|>|!!!|\?\?\?|===)", rest[0])
        else rest
    )


def _title(block: re.Match[str]) -> str:
    title = (block["title"] or "").replace('\\"', '"').strip()
    if title:
        return titled(title)
    kind = (block["kinds"] or "").split(" ")[0]
    # An empty title, `!!! note ""`, is none; without one the kind is shown.
    return titled(kind.replace("-", " ").capitalize()) if block["title"] is None and kind else ""


def _without_slashes(lines: list[str]) -> list[str]:
    if not any(_SLASHES.fullmatch(line) for line in lines):
        return lines
    found: list[str] = []
    code = fenced_lines(lines)
    options = False
    depth = 0
    for n, line in enumerate(lines):
        opening = None if n in code else _SLASHES.fullmatch(line)
        if opening:
            named = opening["title"] or ("" if _UNTITLED.fullmatch(opening["kind"]) else opening["kind"].capitalize())
            shown = "" if opening["kind"] == "html" else named  # `/// html | div.result` names an element
            found += [*_above(found), opening["indent"] + titled(shown) if shown else "", ""]
            depth, options = depth + 1, True
        elif depth and n not in code and _SLASHES_END.fullmatch(line):
            found.append("")
            depth, options = depth - 1, False
        elif options and re.match(r"[ ]{4}[\w-]+:", line):
            continue  # an option of the block, such as `    open: True`
        else:
            found.append(line)
            options = False
    return found


def rewrite_mkdocs(draft: PageDraft, extra: Callable[[str], str] | None, extensions: Mapping[str, Any]) -> None:
    """Turn the inline syntax of the configured `extensions` into plain Markdown.

    `extra` returns the value of a variable of the macros plugin; None where the plugin is not used.
    """
    text = _TERMINAL.sub(lambda block: block[1] + draft.keep(_TAG.sub("", draft.code(block[2]))), draft.text)
    if extra is not None:
        text = _RAW.replaced(lambda _, raw: _BRACES.sub(lambda braces: draft.keep(braces[0]), raw), text)
        draft.rewrite_code(lambda code: _RAW_MARK.sub("", code))
    text = _FORMULA_OR_ATTRIBUTES.sub(_attributes, text)
    text = _IMAGE_HEADING.sub(_without_alt, text)
    text = _BLOCK_OF_CODE.sub(lambda block: "" if _only_runs(draft.code(block[0])) else block[0], text)
    text = _OBJECT.sub("", _CONTENTS.sub("", without_abbreviations(_ICON.sub("", text))))
    for name, (pattern, write) in _WRITTEN.items():
        if f"pymdownx.{name}" in extensions:
            text = pattern.sub(write, text)
    if "def_list" in extensions or "markdown.extensions.def_list" in extensions:
        text = without_definition_marks(text)
    for mark, (name, shown) in _MARKS.items():
        if f"pymdownx.{name}" in extensions:
            text = mark.sub(shown, text)
    if extra is not None:
        text = _LOOP.replaced(lambda *_: "", text)  # the loop runs when the site is built
        text = re.sub(r"\{\{[ ]*([\w.]{1,200})[^{}\n]{0,300}\}\}", lambda match: extra(match[1]), text)
        text = re.sub(r"\{%[^%\n]{0,1000}%\}\n?", "", text)
    draft.text = text
    if "pymdownx.inlinehilite" in extensions:
        draft.rewrite_code(lambda code: _LANGUAGE_MARK.sub(r"\1", code))


def _without_alt(heading: re.Match[str]) -> str:
    """A heading with the text of its anchor: its own text without the descriptions of its images."""
    return heading[0] if "{#" in heading[0] else f"{heading[0].rstrip()} {{#~{_IMAGE.sub('', heading[1]).strip()}}}"


def _only_runs(code: str) -> bool:
    """Whether markdown-exec runs a block of code when the site is made, and shows only its output."""
    opening = FENCE.match(code)
    return opening is not None and bool(_RUN.search(opening["info"])) and not _SOURCE.search(opening["info"])


def _attributes(found: re.Match[str]) -> str:
    """What stays of an attribute list: the id, at the end of a heading. All stays of braces that are no such list."""
    text, begin = found.string, found.start()
    if found["formula"]:
        return found[0]
    end = _LINE_END.match(text, found.end())
    reach = max(0, begin - 1_000)  # a hostile page has many lists in one long line
    line = max(reach, text.rfind("\n", reach, begin) + 1)
    if end is not None and (end["setext"] or text.startswith("#", line)):
        return own_id(found["list"] or found["words"])
    of_inline = text[begin - 1 : begin] in (*")]*_`>:\0", "")
    return "" if of_inline or found[0][1] == ":" or _HAS_ATTRIBUTES.match(text, line, begin) else found[0]


def _reviewed(change: re.Match[str]) -> str:
    """A change that an author proposes: what is deleted is struck out, and a comment is left out."""
    gone = change["gone"] or change["old"]
    return "".join(filter(None, (f"~~{gone}~~" if gone else "", change["new"], change["marked"], change["now"])))


def _key(name: re.Match[str]) -> str:
    return unescape(name[0].strip('"')) if name[0].startswith('"') else name[0].replace("-", " ").title()


# What extensions with marks of their own make of them.
_WRITTEN: Final[dict[str, tuple[re.Pattern[str], Callable[[re.Match[str]], str]]]] = {
    "critic": (_CRITIC, _reviewed),
    "keys": (_KEYS, lambda keys: re.sub(_KEY, _key, keys["keys"])),
    "progressbar": (_PROGRESS, lambda bar: bar["label"] or bar["share"]),
    "smartsymbols": (_SYMBOL, lambda sign: _SYMBOLS[sign[0]]),
}
