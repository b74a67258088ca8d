"""The records of citations: the quote of a passage, and how citations and their sources are shown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from rag.evidence.analyzed_text import read
from rag.text.markup import plain_address, plain_lines
from rag.types import CLOSEST, Citation, CitationStyle, Footer, Passage, Quote

UNCONFIRMED: Final = "This answer could not be confirmed from the book."
LONGEST_QUOTE: Final = 200  # code points


def best_quote(sentence: str, text: str) -> Quote:
    """The stretch of `text` that says what `sentence` says: the sentence itself, or the line sharing most words.

    Of equals the shorter line wins, then the earlier. An empty text gives an empty quote.
    """
    wanted = sentence.strip().removeprefix("- ").strip()
    found = text.find(wanted) if wanted else -1
    if found >= 0:
        return clip(text, found, found + len(wanted))
    words = {token.key for token in read(sentence).whole.tokens if token.word[0].isalnum()}
    shared = {line: len(words.intersection(token.key for token in line.tokens)) for line in read(text).lines}
    best = max(shared, key=lambda line: (shared[line], line.start - line.end, -line.start), default=None)
    return clip(text, best.start, best.end) if best else Quote(quote="", start=0, end=0)


def clip(text: str, start: int, end: int) -> Quote:
    """The stretch of a passage as a quote, cut after a word where it is longer than a quote may be."""
    if end - start > LONGEST_QUOTE:
        space = text.rfind(" ", start, start + LONGEST_QUOTE + 1)
        end = space if space > start else start + LONGEST_QUOTE
    end = start + len(text[start:end].rstrip())
    return Quote(quote=text[start:end], start=start, end=end)


def make_citation(passage: Passage, quote: Quote, style: CitationStyle) -> Citation:
    """The record of a passage that was cited for `quote`."""
    same = passage.model_dump(include=Citation.model_fields.keys() - {"url"})
    return Citation(
        **same,
        **quote.model_dump(),
        marker=passage.number,
        url=passage.link,
        confidence_score=passage.score,
        text_preview=clip(passage.text, 0, len(passage.text)).quote,
        formatted=format_citation(passage, style),
    )


def format_citation(passage: Passage, style: CitationStyle) -> str:
    """A citation in the profile's style, in Markdown."""
    title, heading, link = label(passage.title), label(passage.heading), plain_address(passage.link)
    if style == "source":
        return f"[Source: {title}]({link})"
    if style == "title":
        return f"[{title} - {heading}]({link})" if heading else f"[{title}]({link})"
    if style == "chapter":
        return f"(from {', '.join(dict.fromkeys(filter(None, (title, heading))))})"
    return f"[{passage.number}]"


def label(text: str) -> str:
    """A title on one line, with the signs escaped that would end it or begin something else."""
    return re.sub(r"([\\\[\]<])", r"\\\1", " ".join(plain_lines(text).split()))


def sources_footer(citations: Iterable[Citation], form: Footer = "list") -> str:
    """The list of what was cited, below a rule; empty when nothing was, or the form is "none".

    "list" gives titles and addresses, a line for what has both in common ("- [1] [3] Nodes (nodes.md)"); "files" also
    the source file, "scores" an address and its score a line.
    """
    cited = list(citations)
    if not cited or form == "none":
        return ""
    if form == "scores":
        return scores_footer((c.marker, c.url, c.score) for c in cited)
    lines: dict[str, list[str]] = {}  # passages of one section look the same; they share a line
    for c in cited:
        name = label(c.breadcrumb or c.title)
        if form == "files" and c.source_file_path and c.url.partition("#")[0] != c.source_file_path:
            name += f", {label(c.source_file_path)}"
        place = f" ({plain_address(c.url)})" if c.url else ""  # a retriever's document may have none
        lines.setdefault(f"{name}{place}", []).append(f"[{c.marker}]")
    return "\n\n---\n**Sources:**\n" + "\n".join(f"- {' '.join(markers)} {line}" for line, markers in lines.items())


def unconfirmed_answer(passages: Iterable[Passage]) -> str:
    """The text in place of an answer of which nothing could be shown: a sentence, and the closest passages."""
    names = [(label(p.breadcrumb or p.title or f"Passage {p.number}"), p.link) for p in passages][:CLOSEST]
    closest = [f"- {name} ({link})" if link else f"- {name}" for name, link in names]
    return "\n".join([UNCONFIRMED, "", "Closest passages:", *closest] if closest else [UNCONFIRMED])


def scores_footer(sources: Iterable[tuple[int, str, float]]) -> str:
    """The footer with scores, from (number, address, score), in the lines of the design; see decision 148."""
    lines = [f"[{number}] {plain_address(url)} (score: {score:.2f})" for number, url, score in sources]
    return "\n\n---\n" + "\n".join(["**Sources:**", *lines]) if lines else ""
