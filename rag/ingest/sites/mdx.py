"""MDX as Docusaurus reads it: statements, comments, component tags and directive lines go; texts and partials stay."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import indent
from typing import Final

from rag.ingest.dialects import admonitions
from rag.ingest.fences import fenced, fences, language_of
from rag.ingest.formats.text_files import front_matter
from rag.ingest.includes import Includes
from rag.ingest.links import Resolve, rewrite_links
from rag.ingest.page import MarkdownText
from rag.ingest.page_draft import PageDraft, begin, strip_html
from rag.ingest.spans import Span
from rag.ingest.tags import REACH, Tag, balanced

STATEMENT: Final = 100_000  # most characters between the brackets of an export
UNCLOSED: Final = 10  # brackets of a page whose end is sought so far in vain; later ones as far as an attribute
_IMPORT: Final = re.compile(
    r"^(?:import\s++(?:[\w$*{},\s]{1,1000}?\sfrom\s++)?(?:'[^'\"\n]++'|\"[^'\"\n]++\")[ \t]*+;?[ \t]*+\n?)++",
    re.MULTILINE,
)
_FILE: Final = re.compile(
    r"import\s+(?P<name>[A-Za-z]\w*)\s*(?:,\s*\{[^{}]{0,1000}\}\s*)?\sfrom\s+"
    r"(?P<quote>['\"])(?P<raw>!!raw-loader!)?(?P<target>[^'\"\n]+)(?P=quote)"
)
_EXPORT: Final = re.compile(
    r"^export\s+(?:default|const|let|var|function|async|class|type|interface|[{*])", re.MULTILINE
)
_COMMENT: Final = Span(r"\{\s*+/\*", r"\*/\s*+\}")
_ID_COMMENT: Final = re.compile(
    r"^(#{1,6}(?: .*?)??)(?<![ \t])[ \t]*+\{/\*[ \t]*+#([\w.:-]++)[ \t]*+\*/\}[ \t]*+$", re.MULTILINE
)
_CODE_BLOCK: Final = re.compile(
    r"^([ \t]*+)<CodeBlock\b([^<>]*+)>\s*+\{?\s*+(\0\d++\0|(?<=\{)[A-Za-z]\w*+)\s*+\}?\s*+</CodeBlock>", re.MULTILINE
)
# A line that only tells the site which lines to highlight.
_MAGIC_COMMENT: Final = re.compile(
    r"^[ \t>]*+(?://|#|--|%|;|\{?/\*|<!--)[ \t]*+highlight-(?:next-line|start|end)[ \t]*+(?:\*/\}?|-->)?[ \t]*+\n",
    re.MULTILINE,
)
_OPENS: Final = re.compile(r"[ \t]*<([A-Z]\w*|details|div)(?:\s[^<>]*)?(?<!/)>[ \t]*")
_CLOSES: Final = re.compile(r"[ \t]*</([A-Z]\w*|details|div)>[ \t]*")
_IMPORTED: Final = re.compile(r"^import\s++([\w$*{},\s]{1,1000}?)\sfrom\s++['\"]", re.MULTILINE)
_EXPORTED: Final = re.compile(r"^export\s++(?:const|let|var|function)\s++([A-Za-z_$][\w$]*+)", re.MULTILINE)
_VALUE: Final = re.compile(
    r"(?:\s*+:\s*+\w++)?\s*+=\s*+(?:'([^'\\\n]*+)'|\"([^\"\\\n]*+)\"|(-?[\d.]++))[ \t]*+;?[ \t]*+(?:\n|\Z)"
)
_STRING: Final = re.compile(r"\{\s*+(?:'([^'\n]*+)'|\"([^\"\n]*+)\"|(\0\d++\0))\s*+\}")
_NAME: Final = re.compile(r"\{\s*+([A-Za-z_$][\w$]*+(?:\??\.[A-Za-z_$][\w$]*+)*+)\s*+\}")
_COMMAND: Final = re.compile(r"(?:\\|[_^]|\\[A-Za-z]{1,30}(?:\{[^{}]{0,100}\}){0,3})\Z")  # of maths, before a brace
_FUNCTION: Final = re.compile(r"[\w$)]\s*+=>")


@dataclass(frozen=True, slots=True)
class MdxPage:
    """Where a page or a partial stands: its file, the folder of the site, the files that it may use, and its values."""

    file: Path
    site: Path
    includes: Includes
    props: Mapping[str, str] = field(default_factory=dict)

    def place(self, target: str) -> tuple[str, Path]:
        """The name of a file that is imported, and the folder that it is looked for in; `@site` is that of the site."""
        in_site = target.startswith("@site/")
        return (target.removeprefix("@site/"), self.site) if in_site else (target, self.file.parent)


def rewrite_mdx(draft: PageDraft, page: MdxPage, links: Callable[[Path], Resolve]) -> None:
    """Turn the draft of an MDX page into plain Markdown, its links included. Partials are put where they are used.

    `links` gives the rule for the links of a file. Raises `ValueError` if more is included than a page may include.
    """
    # Formatters escape the underscore of a partial's name: `./\_partial.md`.
    imports = {m["name"]: (m["target"].replace("\\", ""), bool(m["raw"])) for m in _FILE.finditer(draft.text)}
    partials = {name: file for name, (file, raw) in imports.items() if not raw and file.endswith((".md", ".mdx"))}
    sources = {name: file for name, (file, raw) in imports.items() if raw}
    values = _declared(draft, page.props)
    text = _ID_COMMENT.sub(r"\1 {#\2}", _without_statements(draft.text))
    text = _COMMENT.replaced(lambda *_: "", text)
    draft.text = _CODE_BLOCK.sub(lambda match: _code_block(match, draft, page, sources), text)

    def inline(tag: Tag) -> str | None:
        """The rewritten text of a partial, masked so that it is not rewritten again."""
        if tag.name not in partials:
            return None
        props = {key: draft.restored(value) for key, value in tag.attributes.items()}
        partial = _partial(partials[tag.name], page, props, draft.source, links)
        return None if partial is None else f"\n\n{draft.keep(partial)}\n\n"

    strip_html(draft, mdx=True, inline=inline)
    draft.text = admonitions(re.sub(r"</?>", "", _without_expressions(draft.text, values)))
    rewrite_links(draft, links(page.file))
    draft.rewrite_code(without_magic_comments)


def without_magic_comments(code: str) -> str:
    """Code without the comments that mark lines to highlight, which the site does not show."""
    return _MAGIC_COMMENT.sub("", code)


def unindented(text: str) -> str:
    """The text with the lines inside each component as far from the margin as its tag: indented lines are no code."""
    lines = text.split("\n")
    code = {n for block in fences(lines) for n in range(block.begin + 1, block.end)}
    inside: dict[int, list[int]] = {}
    stack: list[tuple[int, str]] = []
    for n, line in enumerate(lines):
        if n not in code and (closing := _CLOSES.fullmatch(line)) and stack and stack[-1][1] == closing[1]:
            stack.pop()
        if stack:
            inside[stack[-1][0]].append(n)
        if n not in code and (opening := _OPENS.fullmatch(line)):
            stack.append((n, opening[1]))
            inside[n] = []
    for tag, held in inside.items():  # a component comes before those in it
        least = min((_indent(lines[n]) for n in held if n not in code and lines[n].strip()), default=0)
        for n in held:
            lines[n] = lines[n][max(min(least - _indent(lines[tag]), _indent(lines[n])), 0) :]
    return "\n".join(lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _partial(
    target: str, page: MdxPage, props: Mapping[str, str], source: MarkdownText, links: Callable[[Path], Resolve]
) -> str | None:
    """The text of a partial, with its anchors written out, since a partial counts its headings for itself."""
    name, folder = page.place(target)
    content = page.includes.read(name, folder)
    if content is None:
        return None
    draft = begin(unindented(front_matter(content)[1]), source.rule, indented=False)
    rewrite_mdx(draft, MdxPage(folder / name, page.site, page.includes.below(), props), links)
    text = MarkdownText(draft.restored().strip("\n"), source.rule)
    lines = text.text.split("\n")
    for block in text.blocks:
        if block.kind == "heading" and lines[block.begin].lstrip().startswith("#"):
            bare = re.sub(r"\s*\{#[^{}]*\}\s*$", "", lines[block.begin].rstrip())
            lines[block.begin] = f"{bare} {{#{block.anchor}}}"
    return "\n".join(lines)


def _without_statements(text: str) -> str:
    """Remove import and export statements, including several on one line and one over several lines."""
    text = _IMPORT.sub("", text)
    pieces: list[str] = []
    at = unclosed = 0
    for export in _EXPORT.finditer(text):
        if export.start() < at:
            continue
        pieces.append(text[at : export.start()])
        end = _statement_end(text, export.start(), STATEMENT if unclosed < UNCLOSED else REACH)
        if end is None:
            unclosed += 1
            end = text.find("\n\n", export.start())
        at = end if end >= 0 else len(text)
    return "".join(pieces) + text[at:]


def _statement_end(text: str, begin: int, reach: int) -> int | None:
    """The end of the line on which all brackets of a statement are closed; None if one is not within `reach`."""
    at = begin
    while at < len(text) and text[at] != "\n":
        at = balanced(text, at, reach) if text[at] in "([{" else at + 1
        if at < 0:
            return None
    return at


def _code_block(match: re.Match[str], draft: PageDraft, page: MdxPage, sources: Mapping[str, str]) -> str:
    """`<CodeBlock>` around a template literal or the text of an imported file, as a fenced block."""
    named = sources.get(match[3], "")
    code = page.includes.read(*page.place(named)) if named else None
    if code is None and not match[3].startswith("\0"):
        return match[0]
    code = draft.code(match[3]).strip("`") if code is None else code
    language = re.search(r"language=[\"'](\w+)", match[2])
    shown = language[1] if language else language_of(named)
    return draft.keep(indent(fenced(code.strip("\n"), shown), match[1]))


def _declared(draft: PageDraft, props: Mapping[str, str]) -> dict[str, str]:
    """The names that a page or a partial declares, with their texts; what is computed is empty.

    `props` are the attributes with which a partial is used, as `Tag` has them.
    """
    found = {"props": "", "frontMatter": ""}
    for clause in _IMPORTED.finditer(draft.text):
        found |= dict.fromkeys(re.findall(r"[A-Za-z_$][\w$]*", clause[1]), "")
    for export in _EXPORTED.finditer(draft.text):
        value = _VALUE.match(draft.text, export.end())
        found[export[1]] = next(group for group in value.groups() if group is not None) if value else ""
    for key, text in props.items():
        name = key.removesuffix("{}")
        if name == key or re.fullmatch(r"-?[\d.]+", text):
            found[f"props.{name}"] = text.strip("`")
    return found


def _without_expressions(text: str, values: Mapping[str, str]) -> str:
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
