"""A page while its syntax is rewritten: its code is masked, HTML becomes Markdown, and the code comes back.

The placeholder of code is a number between two NUL characters; the loader rejects pages with NUL characters.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Final

from rag.ingest.anchors import AnchorRule
from rag.ingest.fences import FENCE, close_fences, code_spans, fenced, fenced_lines, fences
from rag.ingest.page import MarkdownText, plain_inline
from rag.ingest.spans import Span
from rag.ingest.tags import HTML, Tag, strip_tags, with_powers
from rag.ingest.text_form import with_characters

_NOTE: Final = re.compile(r"\[\^[^\[\]\s]{1,100}\]:")
_MASK: Final = re.compile("\0(\\d+)\0")
# An indented line that rewriting could change. Only then it matters whether the line is code.
_INDENTED: Final = re.compile(r"(?: {4}|[ ]{0,3}\t).*[<>\[\]{}!:$#&|%]")
_HTML_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HTML_HEADING: Final = Span(r"^[ \t]*+<(h[1-6])((?:\s[^<>]*+)?)>", r"</{}>")
_INVISIBLE: Final = Span(r"<(script|style)\b[^<>]*+>", r"(?i:</{}>)")
_PRE: Final = Span(r"<pre\b[^<>]*+>", r"(?i:</pre>)")
_CODE: Final = re.compile(r"<code(?:\s[^<>]{0,500})?>(?P<code>[^<>`\0\n]{1,500})</code>", re.IGNORECASE)
_HEADING: Final = re.compile(r"^#{1,6}[ \t][^\n]*$", re.MULTILINE)
_TAG: Final = re.compile(r"</?(?P<name>[A-Za-z][\w.-]*)(?:[\s/][^<>\n]{0,500})?>")
_INFO: Final = re.compile(r"(?:\{[ ]*\.?)?(?P<name>[^\s,{}=]*)(?=[\s,{}]|$)")
_CODE_TITLE: Final = re.compile(r"\btitle=(?:\"[^\"]*\"|'[^']*')")
_TABLE_RULE: Final = re.compile(r"[ \t>]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+")
_TITLE: Final = re.compile(r"# .*\n+")
_ESCAPED: Final = re.compile(r"(?<=\w)\\_(?=\w)")  # in snake\_case; CommonMark does not need the backslash


class PageDraft:
    """A page with its code masked, and the code. `indented`: indented blocks are code, as in all but MDX."""

    def __init__(self, source: MarkdownText, *, indented: bool) -> None:
        self.source = source
        self._code: list[str] = []
        self.text = self._masked(source.text, indented=indented)

    def keep(self, code: str) -> str:
        """The placeholder of a text that must not be rewritten."""
        self._code.append(code)
        return f"\0{len(self._code) - 1}\0"

    def code(self, placeholder: str) -> str:
        """The code that a placeholder stands for."""
        return self._code[int(placeholder.strip("\0"))]

    def rewrite_code(self, rewrite: Callable[[str], str]) -> None:
        """Rewrite every piece of masked code."""
        self._code = [rewrite(code) for code in self._code]

    def restored(self, text: str | None = None) -> str:
        """The text, or a part of it, with its code in place."""
        text = self.text if text is None else text
        while _MASK.search(text):  # masked code may contain placeholders
            text = _MASK.sub(lambda m: self._code[int(m[1])], text)
        return text

    def _masked(self, text: str, *, indented: bool) -> str:
        lines = text.split("\n")
        ranges = [(f.begin, f.end) for f in fences(lines)]
        if indented:
            inside = fenced_lines(lines)
            if any(_INDENTED.match(line) for n, line in enumerate(lines) if n not in inside):
                code = [(b, e) for b, e in self.source.code_lines if b not in inside and e - 1 not in inside]
                code = [one for one in code if not _is_of_note(lines, one[0])]
                shown = {n for begin, end in code for n in range(begin, end)}  # a fence in it is a part of that code
                ranges = [one for one in ranges if one[0] not in shown] + code
        for begin, end in sorted(ranges, reverse=True):
            while end > begin and not lines[end - 1].strip():
                end -= 1
            lines[begin:end] = [self.keep("\n".join(lines[begin:end]))]
        whole, at = "\n".join(lines), 0
        pieces: list[str] = []
        for begin, end in code_spans(whole):
            pieces += [whole[at:begin], self.keep(whole[begin:end])]
            at = end
        return "".join(pieces) + whole[at:]


def _is_of_note(lines: list[str], at: int) -> bool:
    """Whether an indented line is a further paragraph of a footnote, and no code in one."""
    above = range(at - 1, max(at - 50, -1), -1)
    head = next((lines[n] for n in above if lines[n].strip() and not lines[n].startswith((" ", "\t"))), "")
    return _NOTE.match(head) is not None and not lines[at].startswith((" " * 8, "\t\t"))


def begin(text: str, rule: AnchorRule, *, indented: bool = True) -> PageDraft:
    """The draft of a page, with an open fence closed and without blank lines at its ends."""
    return PageDraft(MarkdownText(close_fences(text).strip("\n"), rule), indented=indented)


def strip_html(draft: PageDraft, *, mdx: bool = False, inline: Callable[[Tag], str | None] = lambda _: None) -> None:
    """Remove comments and tags, and turn HTML's headings and preformatted texts into Markdown. See `strip_tags`."""
    if "<" not in draft.text:
        return
    text = _HTML_COMMENT.sub("", _INVISIBLE.replaced(lambda *_: "", with_powers(draft.text)))
    text = _PRE.replaced(lambda _, inner: _preformatted(inner, draft), text)
    text = _CODE.sub(lambda code: _code_span(code, draft, mdx=mdx), text)
    text = _HTML_HEADING.replaced(_html_heading, text)
    text = _HEADING.sub(lambda heading: _with_slug_text(heading[0], draft, mdx=mdx), text)
    draft.text = strip_tags(text, mdx=mdx, inline=inline)


def _with_slug_text(heading: str, draft: PageDraft, *, mdx: bool) -> str:
    """A heading with tags gets the text of its anchor, which has no spaces in their place."""
    bare = _TAG.sub(lambda tag: "" if mdx or tag["name"].lower() in HTML else tag[0], heading)
    if bare == heading or "{#" in heading:
        return heading
    return f"{heading} {{#~{re.sub(r'[{}]', '', plain_inline(draft.restored(bare.lstrip('#'))))}}}"


def finish(draft: PageDraft, description: str = "") -> MarkdownText:
    """The page as plain Markdown, below its description unless it begins with that."""
    draft.rewrite_code(_without_options)
    text = re.sub(r"^[ \t]+$", "", _squeeze_tables(_plainer(draft.text)), flags=re.MULTILINE)
    plain = draft.restored(re.sub(r"\n{3,}", "\n\n", text)).strip("\n")
    if description and _words(description) not in _words(plain[: 2 * len(description) + 500]):
        title, rest = (plain[: match.end()], plain[match.end() :]) if (match := _TITLE.match(plain)) else ("", plain)
        plain = f"{title}{description}\n\n{rest}".strip("\n")
    return draft.source if plain == draft.source.text else MarkdownText(plain, draft.source.rule)


def _plainer(text: str) -> str:
    """The text with the characters that its references name, and snake_case without backslashes."""
    is_formula = "$" in text or "\\[" in text or "\\(" in text  # where a backslash means something
    return with_characters(text if is_formula else _ESCAPED.sub("_", text))


def _without_options(code: str) -> str:
    """A fenced block that opens with its language and its title; a reader does not see `hl_lines="3"` and `{1,4}`."""
    opening = FENCE.match(code)
    if opening is None or "`" in opening["info"]:
        return code
    language = _INFO.match(opening["info"].strip())
    title = _CODE_TITLE.search(opening["info"])
    shown = " ".join(filter(None, (language["name"] if language else "", title[0] if title else "")))
    return opening["prefix"] + opening["mark"] + shown + code[opening.end() :]


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
    return f"\n\n{draft.keep(fenced(code))}\n\n"


def _html_heading(opening: re.Match[str], inner: str) -> str:
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
