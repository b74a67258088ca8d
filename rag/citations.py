"""Citations: from the markers that a model writes to records that code has resolved.

A marker counts only when it names a passage of this turn; any other is taken out and counted. Text is handed on in
pieces as soon as they are finished, so what a reader has seen while it streamed is, byte for byte, the final answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from rag.citation_forms import CitationForms
from rag.context import scores_footer
from rag.pieces import Piece, PieceCutter
from rag.sentences import units
from rag.types import Citation, CitationStyle, Footer, Passage, Quote

LONGEST_QUOTE: Final = 200  # code points
_NUMBERS: Final = r"\s*\d{1,4}(?:\s*[,;–-]\s*\d{1,4}){0,20}\s*"
_CODE_OR_MARKER: Final = re.compile(rf"(`+)(?s:.*?)\1|(?P<space>[ \t]?)[\[【](?P<numbers>{_NUMBERS})[\]】](?!\()")


def without_markers(text: str) -> str:
    """The text with its citation markers taken out, code left alone."""
    return _CODE_OR_MARKER.sub(lambda match: match[0] if match["numbers"] is None else "", text)


class AnswerWriter:
    """Turns a model's tokens into finished pieces of the answer, with every marker resolved.

    `feed` and `close` return the pieces that are ready to be shown; joined, they are `content`. `plain` is the same
    text with bare `[n]`. `refused` is set when the answer was the refusal sentence. `accepts` are the citation forms
    that a model may write beside `[n]`; `footer` is the form of the list below an answer in the style "numbered".
    """

    def __init__(
        self,
        passages: Sequence[Passage],
        style: CitationStyle,
        refusal: str,
        *,
        footer: Footer = "list",
        accepts: Sequence[CitationStyle] = (),
    ) -> None:
        self._passages = {passage.number: passage for passage in passages}
        self._style = style
        self._refusal = refusal
        self._footer: Footer = footer if style == "numbered" else "none"
        self._forms = CitationForms(accepts, passages)
        self._held = ""
        self._cutter = PieceCutter()
        self._previous = ""
        self._gap = ""
        self.content = ""
        self.plain = ""
        self.unknown = 0
        self.refused = False
        self.citations: dict[int, Citation] = {}

    def feed(self, text: str) -> list[str]:
        """Take the next tokens; return the pieces that they finish."""
        return [shown for piece in self._cutter.feed(text) if (shown := self._whole(piece))]

    def close(self) -> list[str]:
        """The last piece, and the footer where the style has one; the refusal where nothing is left to say."""
        last = self._whole(self._cutter.close(), last=True)
        if not self.content:
            self.refused = True
            self.content = self.plain = self._refusal
            return [self._refusal]
        footer = sources_footer(self.citations.values(), self._footer)
        self.content += footer
        return [piece for piece in (last, footer) if piece]

    def _whole(self, piece: Piece, *, last: bool = False) -> str:
        """Finish a piece, unless it ends within a citation such as `[Source: What is it? A guide](url)`."""
        if piece.code:
            held, self._held = self._held, ""
            return (self._finish(Piece(held)) if held else "") + self._finish(piece)
        text, self._held = self._held + piece.text, ""
        if not last and self._forms.is_open(text):
            self._held = text
            return ""
        return self._finish(Piece(text))

    def _finish(self, piece: Piece) -> str:
        """Resolve one piece. White space between pieces is held back until something follows it.

        An answer that begins with the refusal is the refusal: what a model adds to it is not from the book.
        """
        raw = piece.text
        if self.refused or (not self.content and _same_words(raw, self._refusal)):
            self.refused = True
            return ""
        body = raw.strip() if not self.content else raw.rstrip()
        gap, self._gap = self._gap, raw[len(raw.rstrip()) :]
        plain = body if piece.code else self._resolve(self._with_numbers(body))
        if not plain.strip():
            return ""
        rendered = plain if piece.code or self._style == "numbered" else self._render(plain)
        self._previous = body
        lead = gap if self.content else ""
        self.content += lead + rendered
        self.plain += lead + plain
        return lead + rendered

    def _with_numbers(self, body: str) -> str:
        """The text with the accepted forms written as `[n]`; one that names no passage is taken out and counted."""
        text, unknown = self._forms.as_numbers(body)
        self.unknown += unknown
        return text

    def _resolve(self, piece: str) -> str:
        """The piece with its known markers in the form `[n]`, and a citation recorded for each.

        Markers that stand alone, as below a block of code, speak of the piece before them.
        """
        sentence = without_markers(piece)
        sentence = sentence if re.search(r"\w", sentence) else self._previous
        cited: set[int] = set()

        def one(match: re.Match[str]) -> str:
            if match["numbers"] is None:
                return match[0]
            known = [number for number in _expand(match["numbers"]) if self._known(number)]
            for number in known:
                if number not in cited:
                    self._cite(number, sentence)
            cited.update(known)
            if known:
                return match["space"] + "".join(f"[{number}]" for number in known)
            # Within another bracket, as in [1[9]], taking it out would make a marker that nobody has checked.
            return match["space"] + "[?]" if _inside_marker(match) else ""

        return _CODE_OR_MARKER.sub(one, piece)

    def _known(self, number: int) -> bool:
        self.unknown += number not in self._passages
        return number in self._passages

    def _cite(self, number: int, sentence: str) -> None:
        passage = self._passages[number]
        quote = best_quote(sentence, passage.text)
        citation = self.citations.get(number)
        if citation is None:
            self.citations[number] = make_citation(passage, quote, self._style)
        elif quote.start != citation.start and quote not in citation.occurrences:
            citation.occurrences.append(quote)

    def _render(self, plain: str) -> str:
        def one(match: re.Match[str]) -> str:
            if match["numbers"] is None:
                return match[0]
            return match["space"] + self.citations[int(match["numbers"])].formatted

        return _CODE_OR_MARKER.sub(one, plain)


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
        text_preview=_clip(passage.text, 0, len(passage.text)).quote,
        chunk_sha256=passage.chunk_sha256,
        formatted=format_citation(passage, style),
        **quote.model_dump(),
    )


def format_citation(passage: Passage, style: CitationStyle) -> str:
    """A citation in the profile's style, in Markdown."""
    title = re.sub(r"([\[\]])", r"\\\1", passage.title)
    heading = re.sub(r"([\[\]])", r"\\\1", passage.heading)
    if style == "source":
        return f"[Source: {title}]({passage.link})"
    if style == "title":
        return f"[{title} - {heading}]({passage.link})" if heading else f"[{title}]({passage.link})"
    if style == "chapter":
        return f"(from {passage.title})"
    return f"[{passage.number}]"


def sources_footer(citations: Iterable[Citation], form: Footer = "list") -> str:
    """The list of what was cited, below a rule; empty when nothing was, or the form is "none".

    "list" gives titles and addresses, "scores" an address and its score a line.
    """
    cited = list(citations)
    if not cited or form == "none":
        return ""
    if form == "scores":
        return scores_footer((c.marker, c.url, c.score) for c in cited)
    lines = [f"- [{c.marker}] {c.breadcrumb or c.title} ({c.url})" for c in cited]
    return "\n\n---\n**Sources:**\n" + "\n".join(lines)


def best_quote(sentence: str, text: str) -> Quote:
    """The stretch of `text` that says what `sentence` says: the sentence itself, or the unit sharing most words.

    Of equals the shorter unit wins, then the earlier. An empty text gives an empty quote.
    """
    wanted = sentence.strip().removeprefix("- ").strip()
    found = text.find(wanted) if wanted else -1
    if found >= 0:
        return _clip(text, found, found + len(wanted))
    words = _words(sentence)
    best = max(units(text), key=lambda u: (len(words & _words(u.text)), -len(u.text), -u.start), default=None)
    return _clip(text, best.start, best.end) if best else Quote(quote="", start=0, end=0)


def _clip(text: str, start: int, end: int) -> Quote:
    """The stretch, cut after a word where it is longer than a quote may be."""
    if end - start > LONGEST_QUOTE:
        space = text.rfind(" ", start, start + LONGEST_QUOTE + 1)
        end = space if space > start else start + LONGEST_QUOTE
    end = start + len(text[start:end].rstrip())
    return Quote(quote=text[start:end], start=start, end=end)


def _expand(numbers: str) -> list[int]:
    """`1, 3-5` → [1, 3, 4, 5]; a range is at most twenty long, so that `[1-9999]` is not ten thousand markers."""
    found: list[int] = []
    for part in re.split(r"[,;]", numbers):
        first, _, last = re.sub(r"\s", "", part).replace("–", "-").partition("-")
        begin, end = int(first), int(last or first)
        found += range(begin, end + 1) if begin <= end < begin + 20 else [begin, end]
    return list(dict.fromkeys(found))


def _inside_marker(match: re.Match[str]) -> bool:
    """Whether only the beginning of another marker stands between the match and a bracket before it."""
    text, at = match.string, match.start()
    while at and (text[at - 1].isspace() or text[at - 1].isdigit() or text[at - 1] in ",;–-"):
        at -= 1
    return at > 0 and text[at - 1] in "[【"


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def _same_words(one: str, other: str) -> bool:
    return re.findall(r"\w+", one.casefold()) == re.findall(r"\w+", other.casefold())
