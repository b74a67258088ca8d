"""Citations as records and in the style of a profile, the list of sources, and what is said about what was left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rag.answer.evidence import best_quote, clip
from rag.text.addresses import plain_address
from rag.text.visible import plain_lines
from rag.types import (
    CLOSEST,
    UNCONFIRMED_MARK,
    Citation,
    CitationStyle,
    ClosestSection,
    Footer,
    Grounding,
    Passage,
    Quote,
)

UNCONFIRMED: Final = "No sentence of the answer could be confirmed in the book."
LEFT_OUT: Final = "(left out: the book does not say this)"  # in place of an item or a row of a list that is shown
WORDS_ONLY: Final = "Only words were compared: no judge read this answer."
# What a removed sentence has that the book lacks, by the first word of its reason.
_LACKS: Final = {
    "number": "its number", "unit": "its unit", "code": "its code or name", "address": "its address",
    "citation": "what it cites", "judge": "what it says", "words": "what it says in nearly its words",
}  # fmt: skip


def make_citation(passage: Passage, quote: Quote, style: CitationStyle, marker: int | None = None) -> Citation:
    """The record of a passage that was cited for `quote`, with the number that a reader sees."""
    marker = passage.number if marker is None else marker
    same = passage.model_dump(include=Citation.model_fields.keys() - {"url"})
    return Citation(
        **same,
        **quote.model_dump(),
        marker=marker,
        url=passage.link,
        confidence_score=passage.score,
        text_preview=clip(passage.text, 0, len(passage.text)).quote,
        formatted=format_citation(passage, style, marker),
    )


def format_citation(passage: Passage, style: CitationStyle, marker: int) -> str:
    """A citation in the profile's style, in Markdown."""
    title, heading, link = label(passage.title), label(passage.heading), plain_address(passage.link)
    if style == "source":
        return f"[Source: {title}]({link})"
    if style == "title":
        return f"[{title} - {heading}]({link})" if heading else f"[{title}]({link})"
    if style == "chapter":
        return f"(from {', '.join(dict.fromkeys(filter(None, (title, heading))))})"
    return f"[{marker}]"


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


def scores_footer(sources: Iterable[tuple[int, str, float]]) -> str:
    """The footer with scores, from (number, address, score), in the lines of the profile's design."""
    lines = [f"[{number}] {plain_address(url)} (score: {score:.2f})" for number, url, score in sources]
    return "\n\n---\n" + "\n".join(["**Sources:**", *lines]) if lines else ""


def unconfirmed_answer(passages: Sequence[Passage]) -> str:
    """The text in place of an answer of which nothing could be shown: a sentence, and the closest sections."""
    names = [(label(p.breadcrumb or p.title or f"Passage {p.number}"), plain_address(p.link)) for p in passages]
    lines = dict.fromkeys(f"- {name} ({link})" if link else f"- {name}" for name, link in names)
    return "\n".join([UNCONFIRMED, "", "Closest sections:", *list(lines)[:CLOSEST]] if lines else [UNCONFIRMED])


def closest_sections(passages: Sequence[Passage], question: str) -> list[ClosestSection]:
    """Up to three sections of different pages or headings, for a reader who got no answer."""
    found: dict[tuple[str, str], ClosestSection] = {}
    for passage in passages:
        quote = best_quote(question, passage.text).quote
        own = {**passage.model_dump(include=set(ClosestSection.model_fields)), "url": passage.link, "quote": quote}
        found.setdefault((passage.link, passage.breadcrumb), ClosestSection(**own))
    return list(found.values())[:CLOSEST]


def notices(counts: Grounding, links: int, *, denies: bool, cut: bool, refused: bool) -> Iterator[str]:
    """One sentence for each kind of thing that was left out. For a refusal, only those that a reader can act on."""
    if counts.unknown_markers:
        yield f"{_counted(counts.unknown_markers, 'citation')} removed: no passage of this turn is meant."
    if links:
        yield f"{_counted(links, 'link')} removed: the cited passages do not have it."
    if not refused and counts.removed:
        yield f"{_counted(counts.removed, 'sentence')} removed: the book does not have {_lacking(counts)}."
    marked = {"strict": ("unconfirmed",), "flag": ("unconfirmed", "contradicted")}.get(counts.mode, ())
    if any(sentence.standing in marked for sentence in counts.checked) and not refused:
        yield f"Sentences marked {UNCONFIRMED_MARK} could not be confirmed in the book."
    if denies and not refused:
        yield "The model also said that the book does not answer a part of the question."
    if cut:
        yield "The unfinished sentence at its end was left out."


def _lacking(counts: Grounding) -> str:
    """What the book lacks of the removed sentences."""
    removed = [one for one in counts.checked if one.standing == "contradicted" or counts.mode == "exact"]
    kinds = dict.fromkeys(one.reasons[0].partition(":")[0] for one in removed if one.reasons)
    said = [_LACKS.get(kind, "what it says") for kind in kinds]
    text = said[0] if len(said) == 1 else "what they say" if said else "what it says"
    return text if counts.removed == 1 else re.sub(r"\bits\b", "their", text).replace("it says", "they say")


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun} was" if number == 1 else f"{number:,} {noun}s were"
