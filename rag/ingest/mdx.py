"""Clean a page: turn MDX, Docusaurus and mdBook syntax into the plain Markdown that a reader sees.

Imports, comments, component tags and directive lines are removed. Inner text, tab labels, titles of admonitions,
partials and included listings are kept. Fenced, indented and inline code is never rewritten, except for mdBook's
include lines, which stand inside code.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Final

from rag.ingest.includes import Allowance, expand_includes, partial_imports, resolve_partial
from rag.ingest.masking import close_fences, mask, unmask
from rag.ingest.page import MarkdownText
from rag.ingest.source_files import read_inside
from rag.ingest.spans import Span
from rag.ingest.tags import REACH, balanced, strip_tags

DEPTH: Final = 4  # levels of nested partials; a loop of partials ends here
STATEMENT: Final = 100_000  # most characters between the brackets of an export
UNCLOSED: Final = 10  # exports of a page whose end is sought so far; later ones are searched as far as an attribute
_FRONT_MATTER: Final = re.compile(r"---[ \t]*\n(?P<yaml>(?:.*\n)*?)---[ \t]*(?:\n|\Z)")
_IMPORT: Final = re.compile(
    r"^(?:import\s++(?:[\w$*{},\s]{1,1000}?\sfrom\s++)?(?:'[^'\"\n]++'|\"[^'\"\n]++\")[ \t]*+;?[ \t]*+\n?)++",
    re.MULTILINE,
)
_EXPORT: Final = re.compile(
    r"^export\s+(?:default|const|let|var|function|async|class|type|interface|[{*])", re.MULTILINE
)
_MDX_COMMENT: Final = Span(r"\{\s*+/\*", r"\*/\s*+\}")
_HTML_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_ID_COMMENT: Final = re.compile(
    r"^(#{1,6}(?: .*?)??)(?<![ \t])[ \t]*+\{/\*[ \t]*+#([\w.:-]++)[ \t]*+\*/\}[ \t]*+$", re.MULTILINE
)
_HTML_HEADING: Final = Span(r"^[ \t]*+<(h[1-6])((?:\s[^<>]*+)?)>", r"</{}>")
_INVISIBLE: Final = Span(r"<(script|style)\b[^<>]*+>", r"(?i:</{}>)")
_CODE_BLOCK: Final = re.compile(
    r"^([ \t]*+)<CodeBlock\b([^<>]*+)>\s*+\{?\s*+(\0\d++\0)\s*+\}?\s*+</CodeBlock>", re.MULTILINE
)
_PRE: Final = Span(r"<pre\b[^<>]*+>", r"(?i:</pre>)")
_STRING: Final = re.compile(r"\{\s*(?:'([^'{}\n]*)'|\"([^\"{}\n]*)\"|(\0\d+\0))\s*\}")
_ADMONITION: Final = re.compile(
    r"(?P<indent>[ \t]*(?:>[ \t]?)*):{3,}[ \t]*(?P<kind>[A-Za-z][\w-]*)[ \t]*"
    r"(?:\[(?P<label>[^\]]*)\])?[ \t]*(?:\{[^}]*\})?[ \t]*(?P<title>[^\[{].*?)?[ \t]*"
)
_TABLE_RULE: Final = re.compile(r"[ \t>]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+")
_ADMONITION_END: Final = re.compile(r"[ \t]*(?:>[ \t]?)*:{3,}[ \t]*")


def front_matter(text: str) -> tuple[str, str]:
    """The YAML at the head of a page, empty where there is none, and the text after it."""
    found = _FRONT_MATTER.match(text)
    return (found["yaml"], text[found.end() :]) if found else ("", text)


def clean(
    text: str, *, file: Path, root: Path, mdx: bool, depth: int = DEPTH, allowance: Allowance | None = None
) -> MarkdownText:
    """The page as plain Markdown, without blank lines at its ends.

    `text` has no front matter. `file` is the path of the page; includes outside `root` are not read. `mdx` turns on
    the rules that would be wrong for plain Markdown: import and export statements, `{/* */}`, partials, no indented
    code. `depth` levels of nested partials are included. Raises ValueError if all that is included is more than the
    `allowance` of the page. An unchanged text keeps the blocks parsed for masking.
    """
    allowance = allowance or Allowance()
    if not mdx:
        text = expand_includes(text, file=file, root=root, allowance=allowance)
    source = MarkdownText(close_fences(text).strip("\n"))
    masked, kept = mask(source, indented=not mdx)
    partials: dict[str, str] = {}
    if mdx:
        partials = partial_imports(masked)
        masked = _MDX_COMMENT.replaced(lambda *_: "", _ID_COMMENT.sub(r"\1 {#\2}", _without_statements(masked)))
        masked = _CODE_BLOCK.sub(lambda m: _code_block(m, kept), masked)

    def inline(name: str) -> str | None:
        """The cleaned text of a partial, masked so that it is not cleaned again."""
        if name not in partials or depth == 0:
            return None
        path = resolve_partial(partials[name], file=file, root=root)
        content = read_inside(root, path)
        if content is None:
            return None
        allowance.take(content)
        body = front_matter(content)[1]
        kept.append(clean(body, file=path, root=root, mdx=mdx, depth=depth - 1, allowance=allowance).text)
        return f"\n\n\0{len(kept) - 1}\0\n\n"

    masked = _HTML_COMMENT.sub("", _INVISIBLE.replaced(lambda *_: "", masked))
    masked = _PRE.replaced(lambda _, inner: _preformatted(inner, kept), masked)
    masked = _HTML_HEADING.replaced(_heading, masked)
    masked = strip_tags(masked, mdx=mdx, inline=inline)
    if mdx:
        masked = re.sub(r"</?>", "", _STRING.sub(lambda m: next(g for g in m.groups() if g is not None), masked))
    plain = unmask(_tidy(_squeeze_tables(_admonitions(masked))), kept).strip("\n")
    return source if plain == source.text else MarkdownText(plain)


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


def _code_block(match: re.Match[str], kept: list[str]) -> str:
    """`<CodeBlock>` around a template literal, as a fenced block."""
    code = kept[int(match[3].strip("\0"))].strip("`").strip("\n")
    language = re.search(r"language=[\"'](\w+)", match[2])
    kept.append(f"{match[1]}```{language[1] if language else ''}\n{code}\n{match[1]}```")
    return f"\0{len(kept) - 1}\0"


def _preformatted(inner: str, kept: list[str]) -> str:
    """`<pre>` as a fenced block, with its tags removed and its entities decoded."""
    code = html.unescape(re.sub(r"</?[a-z][^>]*>", "", unmask(inner, kept))).strip("\n")
    kept.append(f"```\n{code}\n```")
    return f"\n\n\0{len(kept) - 1}\0\n\n"


def _heading(opening: re.Match[str], inner: str) -> str:
    """An HTML heading as a Markdown heading. `{#}` marks a heading without an anchor on the site."""
    anchor = re.search(r"\bid=[\"']([^\"']+)", opening[2])
    return f"\n{'#' * int(opening[1][1])} {' '.join(inner.split())} {{#{anchor[1] if anchor else ''}}}\n"


def _admonitions(text: str) -> str:
    """Turn `:::note Title` into the line `Title:` directly above the admonition's text; remove the closing line."""
    lines: list[str] = []
    depth = 0
    joins = False  # whether blank lines are dropped, up to the admonition's text
    for line in text.split("\n"):
        opening = _ADMONITION.fullmatch(line)
        if opening:
            title = (opening["label"] or opening["title"] or opening["kind"].capitalize()).strip()
            if lines and lines[-1].strip():
                lines.append(opening["indent"].rstrip())
            lines.append(opening["indent"] + (title if title[-1] in ".!?:" else f"{title}:"))
            depth, joins = depth + 1, True
        elif depth and _ADMONITION_END.fullmatch(line):
            lines.append("")
            depth, joins = depth - 1, False
        elif line.strip() or not joins:
            lines.append(line)
            joins = False
    return "\n".join(lines)


def _squeeze_tables(text: str) -> str:
    """Remove the padding of tables: a reader does not see it, and every dash costs the embedding model a token."""
    lines = text.split("\n")
    row = 0
    for rule in (n for n, line in enumerate(lines) if n and _TABLE_RULE.fullmatch(line) and "|" in lines[n - 1]):
        lines[rule] = re.sub(r"-{4,}", "---", lines[rule])
        row = max(row, rule - 1)  # the rows of a rule further up are done
        while row < len(lines) and "|" in lines[row]:
            indent = len(lines[row]) - len(lines[row].lstrip())
            lines[row] = lines[row][:indent] + re.sub(r"[ \t]{2,}", " ", lines[row][indent:].rstrip())
            row += 1
    return "\n".join(lines)


def _tidy(text: str) -> str:
    """Empty lines that are only white space, then join runs of blank lines. Code is masked and keeps its own."""
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"^[ \t]+$", "", text, flags=re.MULTILINE))
