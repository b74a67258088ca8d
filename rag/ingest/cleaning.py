"""Cleaning for every dialect of Markdown: HTML becomes plain Markdown, and tables and blank lines are tidied."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Final

from rag.ingest.anchors import AnchorRule
from rag.ingest.masking import PageDraft, close_fences
from rag.ingest.page import MarkdownText
from rag.ingest.spans import Span
from rag.ingest.tags import strip_tags

_HTML_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HTML_HEADING: Final = Span(r"^[ \t]*+<(h[1-6])((?:\s[^<>]*+)?)>", r"</{}>")
_INVISIBLE: Final = Span(r"<(script|style)\b[^<>]*+>", r"(?i:</{}>)")
_PRE: Final = Span(r"<pre\b[^<>]*+>", r"(?i:</pre>)")
_CODE: Final = re.compile(r"<code(?:\s[^<>]{0,500})?>(?P<code>[^<>`\0\n]{1,500})</code>", re.IGNORECASE)
_OPENING: Final = re.compile(
    r"\A(?P<mark>[ \t]*(?:>[ \t]?)*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?:`{3,}|~{3,}))[ \t]*(?P<info>[^`\n]+)"
)
_LANGUAGE: Final = re.compile(r"(?:\{[ ]*\.?)?(?P<name>[^\s,{}=]*)(?=[\s,{}]|$)")
_CODE_TITLE: Final = re.compile(r"\btitle=(?:\"[^\"]*\"|'[^']*')")
_TABLE_RULE: Final = re.compile(r"[ \t>]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+")


def begin(text: str, rule: AnchorRule, *, indented: bool = True) -> PageDraft:
    """The draft of a page, with an open fence closed and without blank lines at its ends.

    `indented`: indented blocks are code.
    """
    return PageDraft(MarkdownText(close_fences(text).strip("\n"), rule), indented=indented)


def strip_html(draft: PageDraft, *, mdx: bool = False, inline: Callable[[str], str | None] = lambda _: None) -> None:
    """Remove comments and tags, and turn HTML's headings and preformatted texts into Markdown.

    `mdx` and `inline` are as in `strip_tags`.
    """
    if "<" not in draft.text:
        return
    text = _HTML_COMMENT.sub("", _INVISIBLE.replaced(lambda *_: "", draft.text))
    text = _PRE.replaced(lambda _, inner: _preformatted(inner, draft), text)
    text = _CODE.sub(lambda code: _code_span(code, draft, mdx=mdx), text)
    text = _HTML_HEADING.replaced(_heading, text)
    draft.text = strip_tags(text, mdx=mdx, inline=inline)


def finish(draft: PageDraft, description: str = "") -> MarkdownText:
    """The page as plain Markdown, below its description unless that is how it begins.

    A draft that was not changed keeps the blocks that were parsed for masking.
    """
    draft.rewrite_code(_without_options)
    plain = draft.restored(_tidy(_squeeze_tables(draft.text))).strip("\n")
    if description and _words(description) not in _words(plain[: 2 * len(description) + 500]):
        plain = f"{description}\n\n{plain}".strip("\n")
    return draft.source if plain == draft.source.text else MarkdownText(plain, draft.source.rule)


def _without_options(code: str) -> str:
    """A fenced block that opens with its language and its title; a reader does not see `hl_lines="3"` and `{1,4}`."""
    opening = _OPENING.match(code)
    if opening is None:
        return code
    language = _LANGUAGE.match(opening["info"])
    title = _CODE_TITLE.search(opening["info"])
    shown = " ".join(filter(None, (language["name"] if language else "", title[0] if title else "")))
    return opening["mark"] + shown + code[opening.end() :]


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _code_span(found: re.Match[str], draft: PageDraft, *, mdx: bool) -> str:
    """`<code>` as a span of code, unless it holds markup."""
    code = found["code"]
    is_markup = "](" in code or (mdx and "{" in code) or not code.strip()
    return found[0] if is_markup else draft.keep(f"`{html.unescape(code)}`")


def _preformatted(inner: str, draft: PageDraft) -> str:
    """`<pre>` as a fenced block, with its tags removed and its entities decoded."""
    code = html.unescape(re.sub(r"</?[a-z][^>]*>", "", draft.restored(inner))).strip("\n")
    placeholder = draft.keep(f"```\n{code}\n```")
    return f"\n\n{placeholder}\n\n"


def _heading(opening: re.Match[str], inner: str) -> str:
    """An HTML heading as a Markdown heading. `{#}` marks a heading without an anchor on the site."""
    anchor = re.search(r"\bid=[\"']([^\"']+)", opening[2])
    return f"\n{'#' * int(opening[1][1])} {' '.join(inner.split())} {{#{anchor[1] if anchor else ''}}}\n"


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
