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

from rag.ingest.includes import expand_includes, partial_imports, read_inside, resolve_partial
from rag.ingest.masking import close_fences, mask, unmask
from rag.ingest.page import MarkdownText
from rag.ingest.tags import balanced, strip_tags

DEPTH: Final = 4  # levels of nested partials; a loop of partials ends here
STATEMENT: Final = 100_000  # most characters between the brackets of an export
_FRONT_MATTER: Final = re.compile(r"---[ \t]*\n(?P<yaml>(?:.*\n)*?)---[ \t]*(?:\n|\Z)")
_IMPORT: Final = re.compile(
    r"^import\s+(?:[\w$*{},\s]+?\s+from\s+)?(['\"])[^'\"\n]+\1[ \t]*;?[ \t]*(?:\n|\Z)?", re.MULTILINE
)
_EXPORT: Final = re.compile(
    r"^export\s+(?:default|const|let|var|function|async|class|type|interface|[{*])", re.MULTILINE
)
_MDX_COMMENT: Final = re.compile(r"\{\s*/\*.*?\*/\s*\}", re.DOTALL)
_HTML_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_ID_COMMENT: Final = re.compile(r"^(#{1,6} .*?)[ \t]*\{/\*[ \t]*#([\w.:-]+)[ \t]*\*/\}[ \t]*$", re.MULTILINE)
_HTML_HEADING: Final = re.compile(r"^[ \t]*<h([1-6])((?:\s[^>]*)?)>(.*?)</h\1>", re.MULTILINE | re.DOTALL)
_INVISIBLE: Final = re.compile(r"<(script|style)\b[^>]*>.*?</\1>", re.DOTALL | re.IGNORECASE)
_CODE_BLOCK: Final = re.compile(r"^([ \t]*)<CodeBlock\b([^>]*)>\s*\{?\s*(\0\d+\0)\s*\}?\s*</CodeBlock>", re.MULTILINE)
_PRE: Final = re.compile(r"<pre\b[^>]*>(.*?)</pre>", re.DOTALL | re.IGNORECASE)
_STRING: Final = re.compile(r"\{\s*(?:'([^'{}\n]*)'|\"([^\"{}\n]*)\"|(\0\d+\0))\s*\}")
_ADMONITION: Final = re.compile(
    r"(?P<indent>[ \t]*(?:>[ \t]?)*):{3,}[ \t]*(?P<kind>[A-Za-z][\w-]*)[ \t]*"
    r"(?:\[(?P<label>[^\]]*)\])?[ \t]*(?:\{[^}]*\})?[ \t]*(?P<title>[^\[{].*?)?[ \t]*"
)
_TABLE_RULE: Final = re.compile(r"[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_ADMONITION_END: Final = re.compile(r"[ \t]*(?:>[ \t]?)*:{3,}[ \t]*")


def front_matter(text: str) -> tuple[str, str]:
    """The YAML at the head of a page, empty where there is none, and the text after it."""
    found = _FRONT_MATTER.match(text)
    return (found["yaml"], text[found.end() :]) if found else ("", text)


def clean(text: str, *, file: Path, root: Path, mdx: bool, depth: int = DEPTH) -> MarkdownText:
    """The page as plain Markdown, without blank lines at its ends.

    `text` has no front matter. `file` is the path of the page; includes outside `root` are not read. `mdx` turns on
    the rules that would be wrong for plain Markdown: import and export statements, `{/* */}`, partials, no indented
    code. `depth` levels of nested partials are included. An unchanged text keeps the blocks parsed for masking.
    """
    if not mdx:
        text = expand_includes(text, file=file, root=root)
    source = MarkdownText(close_fences(text).strip("\n"))
    masked, kept = mask(source, indented=not mdx)
    partials: dict[str, str] = {}
    if mdx:
        partials = partial_imports(masked)
        masked = _MDX_COMMENT.sub("", _ID_COMMENT.sub(r"\1 {#\2}", _without_statements(masked)))
        masked = _CODE_BLOCK.sub(lambda m: _code_block(m, kept), masked)

    def inline(name: str) -> str | None:
        """The cleaned text of a partial, masked so that it is not cleaned again."""
        if name not in partials or depth == 0:
            return None
        path = resolve_partial(partials[name], file=file, root=root)
        content = read_inside(root, path)
        if content is None:
            return None
        kept.append(clean(front_matter(content)[1], file=path, root=root, mdx=mdx, depth=depth - 1).text)
        return f"\n\n\0{len(kept) - 1}\0\n\n"

    masked = _HTML_COMMENT.sub("", _INVISIBLE.sub("", masked))
    masked = _PRE.sub(lambda m: _preformatted(m, kept), masked)
    masked = _HTML_HEADING.sub(_heading, masked)
    masked = strip_tags(masked, mdx=mdx, inline=inline)
    if mdx:
        masked = re.sub(r"</?>", "", _STRING.sub(lambda m: next(g for g in m.groups() if g is not None), masked))
    plain = unmask(_tidy(_squeeze_tables(_admonitions(masked))), kept).strip("\n")
    return source if plain == source.text else MarkdownText(plain)


def _without_statements(text: str) -> str:
    """Remove import and export statements, including several on one line and one over several lines."""
    previous = None
    while previous != text:  # `import A from 'a'; import B from 'b'`: each pass removes the first of a line
        previous = text
        text = _IMPORT.sub("", text)
    pieces: list[str] = []
    at = 0
    for export in _EXPORT.finditer(text):
        if export.start() < at:
            continue
        pieces.append(text[at : export.start()])
        at = _statement_end(text, export.start())
    return "".join(pieces) + text[at:]


def _statement_end(text: str, begin: int) -> int:
    """The end of the line on which all brackets of a statement are closed, else the end of its paragraph."""
    at = begin
    while at < len(text) and text[at] != "\n":
        at = balanced(text, at, STATEMENT) if text[at] in "([{" else at + 1
        if at < 0:
            return text.find("\n\n", begin) if "\n\n" in text[begin:] else len(text)
    return at


def _code_block(match: re.Match[str], kept: list[str]) -> str:
    """`<CodeBlock>` around a template literal, as a fenced block."""
    code = kept[int(match[3].strip("\0"))].strip("`").strip("\n")
    language = re.search(r"language=[\"'](\w+)", match[2])
    kept.append(f"{match[1]}```{language[1] if language else ''}\n{code}\n{match[1]}```")
    return f"\0{len(kept) - 1}\0"


def _preformatted(match: re.Match[str], kept: list[str]) -> str:
    """`<pre>` as a fenced block, with its tags removed and its entities decoded."""
    code = html.unescape(re.sub(r"</?[a-z][^>]*>", "", unmask(match[1], kept))).strip("\n")
    kept.append(f"```\n{code}\n```")
    return f"\n\n\0{len(kept) - 1}\0\n\n"


def _heading(match: re.Match[str]) -> str:
    """An HTML heading as a Markdown heading. `{#}` marks a heading without an anchor on the site."""
    anchor = re.search(r"\bid=[\"']([^\"']+)", match[2])
    return f"\n{'#' * int(match[1])} {' '.join(match[3].split())} {{#{anchor[1] if anchor else ''}}}\n"


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
    for rule in (n for n, line in enumerate(lines) if n and _TABLE_RULE.fullmatch(line) and "|" in lines[n - 1]):
        lines[rule] = re.sub(r"-{4,}", "---", lines[rule])
        row = rule - 1
        while row < len(lines) and "|" in lines[row]:
            indent = len(lines[row]) - len(lines[row].lstrip())
            lines[row] = lines[row][:indent] + re.sub(r"[ \t]{2,}", " ", lines[row][indent:].rstrip())
            row += 1
    return "\n".join(lines)


def _tidy(text: str) -> str:
    """Empty lines that are only white space, then join runs of blank lines. Code is masked and keeps its own."""
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"^[ \t]+$", "", text, flags=re.MULTILINE))
