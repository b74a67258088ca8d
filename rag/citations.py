"""Citations: the record of a passage that was cited, its quote, and how it is written in an answer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from rag.answers.links import safe_address
from rag.context import scores_footer
from rag.sentences import units
from rag.types import Citation, CitationStyle, Footer, Passage, Quote
from rag.visible import plain_lines

LONGEST_QUOTE: Final = 200  # code points


def make_citation(passage: Passage, quote: Quote, style: CitationStyle) -> Citation:
    """The record of a passage that was cited for `quote`."""
    return Citation(
        marker=passage.number,
        title=passage.title,
        heading=passage.heading,
        breadcrumb=passage.breadcrumb,
        chapter=passage.chapter,
        page_number=passage.page_number,
        url=passage.link,
        source_file_path=passage.source_file_path,
        chunk_id=passage.chunk_id,
        chunk_index=passage.chunk_index,
        score=passage.score,
        confidence_score=passage.score,
        text_preview=clip(passage.text, 0, len(passage.text)).quote,
        chunk_sha256=passage.chunk_sha256,
        formatted=format_citation(passage, style),
        **quote.model_dump(),
    )


def format_citation(passage: Passage, style: CitationStyle) -> str:
    """A citation in the profile's style, in Markdown."""
    title, heading, link = label(passage.title), label(passage.heading), safe_address(passage.link)
    if style == "source":
        return f"[Source: {title}]({link})"
    if style == "title":
        return f"[{title} - {heading}]({link})" if heading else f"[{title}]({link})"
    if style == "chapter":
        return f"(from {label(passage.title, '<')})"
    return f"[{passage.number}]"


def label(text: str, signs: str = "[]<") -> str:
    """A title on one line, with the signs escaped that would end it or begin something else."""
    flat = " ".join(plain_lines(text).split())
    return re.sub(rf"([\\{re.escape(signs)}])", r"\\\1", flat)


def sources_footer(citations: Iterable[Citation], form: Footer = "list") -> str:
    """The list of what was cited, below a rule; empty when nothing was, or the form is "none".

    "list" gives titles and addresses, "scores" an address and its score a line.
    """
    cited = list(citations)
    if not cited or form == "none":
        return ""
    if form == "scores":
        return scores_footer((c.marker, c.url, c.score) for c in cited)
    lines = [f"- [{c.marker}] {label(c.breadcrumb or c.title)} ({c.url})" for c in cited]
    return "\n\n---\n**Sources:**\n" + "\n".join(lines)


def best_quote(sentence: str, text: str) -> Quote:
    """The stretch of `text` that says what `sentence` says: the sentence itself, or the unit sharing most words.

    Of equals the shorter unit wins, then the earlier. An empty text gives an empty quote.
    """
    wanted = sentence.strip().removeprefix("- ").strip()
    found = text.find(wanted) if wanted else -1
    if found >= 0:
        return clip(text, found, found + len(wanted))
    words = _words(sentence)
    best = max(units(text), key=lambda u: (len(words & _words(u.text)), -len(u.text), -u.start), default=None)
    return clip(text, best.start, best.end) if best else Quote(quote="", start=0, end=0)


def clip(text: str, start: int, end: int) -> Quote:
    """The stretch of a passage as a quote, cut after a word where it is longer than a quote may be."""
    if end - start > LONGEST_QUOTE:
        space = text.rfind(" ", start, start + LONGEST_QUOTE + 1)
        end = space if space > start else start + LONGEST_QUOTE
    end = start + len(text[start:end].rstrip())
    return Quote(quote=text[start:end], start=start, end=end)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))
