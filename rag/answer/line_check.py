"""The check of one line of an answer: whether it claims nothing, else which passages say it, and where.

Headings, lead-ins, heads of tables, refusals, talk and pointers claim nothing. They are shown with
the claims around them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from rag.answer.cited_passage import CitedPassage, Finding, TurnEvidence, best_quote, check_passages
from rag.answer.lines import AnswerLine, announced, with_markers
from rag.answer.sanitizer import Sanitized, Sanitizer
from rag.evidence.analyzed_text import read
from rag.evidence.verdict import CLAUSE_WORDS, check, claim_of
from rag.text.english import phrases
from rag.text.english.numerals import OWN_NUMBER
from rag.text.english.speech_acts import ASKS, HEADING_WORDS, is_courtesy, is_refusal, is_talk, joined_tasks, words
from rag.text.markup import MarkedText, written_addresses
from rag.text.sentences import sentence_spans
from rag.text.vocabulary import is_common, is_english, stem
from rag.types import OMISSION

POINTED: Final = "address: it only pointed at an address"
_STATES: Final = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|does|do|did|will|not|never|no)\b|\wn['’]t\b|\d", re.IGNORECASE
)
_COLUMN_WORDS: Final = 4  # most words of a column's name; more may state something
_SENTENCE_END: Final = re.compile(r"[.!?…。！？][\"'”’)*_]*$")
_ATTRIBUTE: Final = re.compile(r"(?:href|src)\s*=\s*['\"]{2}")  # half a tag, whose address was taken out


class FrameCheck:
    """Recognizes lines that claim nothing. `refusal` is the profile's sentence for "the book has no answer".

    `denies_answer`: the model said that the book has no answer. In the mode "exact" a frame must have words of the book
    or of the user.
    """

    def __init__(self, evidence: TurnEvidence, sanitizer: Sanitizer, refusal: str, *, exact: bool) -> None:
        self.denies_answer = False
        self._evidence = evidence
        self._sanitizer = sanitizer
        self._refusal = [words(refusal[start:end]) for start, end in sentence_spans(refusal)]
        self._exact = exact

    def mark_refusal_or_talk(self, line: AnswerLine, numbers: Sequence[int]) -> bool:
        """Whether the line is a refusal or talk about the conversation; it becomes a frame then.

        A heading that the book has itself, such as "What this page does not cover", is neither.
        """
        bare = line.marked.bare.strip()
        plain = bare.strip("*_ ") if line.kind == "heading" else ""
        denies = is_refusal(plain) and not self._evidence.has_written(plain)
        may_be = not numbers and (denies or line.kind in ("sentence", "lead", "item"))
        line.refusal = words(bare) in self._refusal or (may_be and is_refusal(bare))
        if not line.refusal and not (may_be and self.is_talk(bare)):
            return False
        self.denies_answer = self.denies_answer or line.refusal
        line.frame, line.kind = True, "sentence"
        self._sanitizer.clean(line)
        return True

    def is_talk(self, sentence: str) -> bool:
        """Whether a sentence without a citation is polite, speaks of the conversation, offers more, disclaims or points
        to a page.

        What it names must be known, and no passage may have the sentence: a book may order a greeting or an offer.
        """
        said, question = words(sentence), frozenset(words(self._evidence.question))
        if is_talk(sentence, question):
            return True
        if not said or self._evidence.has_written(sentence.strip("*_#: ")):
            return False
        rest = phrases.TALKS.sub(" ", sentence)
        talks = rest != sentence and (not words(rest) or is_talk(rest, question))
        disclaims = not phrases.DISCLAIMS.isdisjoint(said) and phrases.DISCLAIMER_WORDS.issuperset(said)
        polite = is_courtesy(sentence)
        return polite or talks or disclaims or self._points(sentence, self._evidence.passages) or self._offers(sentence)

    def only_cites(self, line: AnswerLine) -> bool:
        """Whether the line only says what it cites: "See Nodes for more [1].", "Source: [1] for the weights." """
        own, bare = self._sanitizer.numbers(line.marked), self._sanitizer.bare(line.marked)
        labelled = phrases.LABELLED.match(bare)
        return bool(own) and (self._points(bare, own) or (labelled is not None and self._is_known(bare, own)))

    def check(self, line: AnswerLine) -> None:
        """Check a heading or lead-in, which claims nothing; in "exact" its words must be the book's or the user's.

        A lead-in may have one word more, as in "What you need to know:".
        """
        sanitized = self._sanitizer.clean(line)
        bare, numbers = line.marked.bare, self._sanitizer.numbers(line.marked)
        if only_pointed(bare, sanitized):
            line.standing, line.reasons = "contradicted", (POINTED,)
            return
        line.announces, said = announced(bare) if line.kind == "lead" else (0, bare)
        named = OWN_NUMBER.sub("", bare, count=1)
        known = self._is_known(named, numbers)
        known = known and (named == bare or self.found(bare, numbers).standing != "contradicted")
        claim = self._claim(line, said, numbers) if known or line.kind == "row" else None
        if line.kind == "rule" or ((known or self._names_columns(line)) and claim is None):
            line.frame = True
            return
        found = claim or self.found(said, numbers)
        introduces = line.kind == "lead" and found.supported  # a list needs its introduction in "exact" too
        line.frame = found.standing != "contradicted" and (introduces or not self._exact)
        if not line.frame:
            line.standing, line.reasons = "contradicted", found.reasons
        elif line.kind == "heading" or not found.supported:
            line.standing, line.reasons = "unconfirmed", found.reasons or ("distant: no passage has all of its words",)

    def _claim(self, line: AnswerLine, said: str, numbers: Sequence[int]) -> Finding | None:
        """What the passages say of a frame that states something, "## Atlas is a robot", and do not say so; else None.

        Of a lead-in, that no single line says it is no reason: it sums up what follows.
        """
        cells = said.strip("| ").split("|") if line.kind == "row" else [said]
        for text in (cell.strip("*_: ") for cell in cells):
            if not _STATES.search(text) or ASKS.match(text) or text.endswith("?"):
                continue
            found = self.found(f"{text}.", numbers)
            reasons = [reason for reason in found.reasons if not reason.startswith("distant:")]
            if not found.supported and (reasons or line.kind == "heading"):
                return found
        return None

    def found(self, frame: str, numbers: Sequence[int]) -> Finding:
        """What these passages, else those of the turn, say of a frame."""
        sources = [self._evidence.passages[number] for number in numbers or self._evidence.passages]
        return check_passages(frame, sources, self._evidence.beside, titles=not _SENTENCE_END.search(frame))

    def _points(self, sentence: str, numbers: Iterable[int]) -> bool:
        """Whether a sentence only sends the reader to a chapter, page or file of these passages."""
        topic = phrases.BEFORE_SENDING.match(sentence)
        if not phrases.SENDS.search(sentence) or (topic and not self._is_known(topic["topic"], ())):
            return False
        names = {stem(word) for number in numbers for word in words(self._evidence.passages[number].known)}
        rest = words(sentence[topic.end() :] if topic else sentence)
        return all(word in phrases.POINTING or word in phrases.BESIDE_PAGE or stem(word) in names for word in rest)

    def _offers(self, sentence: str) -> bool:
        dictated = any(passage.dictated(sentence) for passage in self._evidence.passages.values())
        if not phrases.OFFERS.match(sentence) or dictated or written_addresses(sentence):
            return False
        known = self._evidence.known_words()
        strange = (word for key, word in read(sentence).whole.telling.items() if key not in known)
        return all(word.isalpha() and is_common(word) for word in strange)

    def _is_known(self, text: str, numbers: Sequence[int]) -> bool:
        """Whether these passages, else those of the turn, or the question have all words of a frame."""
        labelled = phrases.LABELLED.match(text)
        telling = read(text[labelled.end() :] if labelled else text).whole.telling
        known = self._evidence.known_words(numbers)
        return all(word in HEADING_WORDS or key in known for key, word in telling.items())

    def _names_columns(self, line: AnswerLine) -> bool:
        """Whether the line is the head of a table: a few plain or known words a column."""
        if line.kind != "row":
            return False
        known = self._evidence.known_words()
        cells = [read(cell.strip("*_ ")).whole.tokens for cell in line.text.strip("| \t").split("|")]
        plain = (
            len(token.word) == 1 or token.key in known or (not token.digits and is_english(token.word))
            for cell in cells
            for token in cell
        )
        return all(plain) and all(sum(token.word[0].isalnum() for token in cell) <= _COLUMN_WORDS for cell in cells)


def only_pointed(text: str, sanitized: Sanitized) -> bool:
    """Whether the text only pointed at an address that is now taken out."""
    if not sanitized.links:
        return False
    return phrases.POINTING.issuperset(read(text).whole.telling.values()) or _ATTRIBUTE.search(text) is not None


MOST_SOURCES: Final = 8  # cited passages of one sentence that are looked at
NEAR: Final = 0.4  # least share of a sentence without a citation that the passages must hold
_ORDERED: Final = "order: only an order has all of its words together"
_RELATED: Final = 0.34  # least share of the sentence's words in a passage that adds to a supporting one
_SAYS: Final = re.compile(r"[\w`]")  # a line without it, such as "**", says nothing
_CELL: Final = re.compile(r"[^\s|]")  # a row of a table may say something in signs
_QUOTED: Final = re.compile(r"^(?:>[ \t]?)+", re.MULTILINE)  # the signs of a block quotation
_FREE: Final = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|(?<!\S)(?:#|//|--) .*")  # strings and comments in code
_LONG_NUMBER: Final = re.compile(r"\d[\d.: ()/-]{5,}\d")  # an IP or a telephone number
_NO_PASSAGE: Final = "citation: it names no passage of this turn"
_STUMP: Final = "address: what it speaks of is an address that is not in the passages"
# A sign at the end of a sentence that is meant as a citation and is none: "[I]", "(9)", "`[1]`", "①".
_NO_MARKER: Final = re.compile(r"\s(?P<sign>[`\[({<]{1,2}[\dIVX.:-]{1,4}[\\`\])}>]{1,2}|[⁰¹²³⁴-⁹①-⑳]{1,2})\W*$")


class LineCheck:
    """Checks the claims and the code of one turn's answer. With `judged`, a sentence that is no quotation waits for a
    judge.
    """

    def __init__(self, evidence: TurnEvidence, sanitizer: Sanitizer, frames: FrameCheck, *, judged: bool) -> None:
        self._evidence = evidence
        self._sources = evidence.passages
        self._sanitizer = sanitizer
        self._frames = frames
        self._judged = judged

    def check(self, line: AnswerLine, inherited: Sequence[int] = (), *, own_place: bool = False) -> None:
        """Check a line against the passages of its own markers, else against those of `inherited`; code without either,
        against all. The line gets the inherited markers, unless the answer shows them elsewhere (`own_place`). A
        lead-in that its passages support is a frame: it makes no claim of its own.
        """
        if line.kind == "lead":
            said = announced(self._sanitizer.bare(line.marked))[1]
            if self._frames.found(said, self._sanitizer.numbers(line.marked)).supported:
                self._frames.check(line)
                return
        if line.kind in ("sentence", "lead") and self._frames.only_cites(line):
            self._sanitizer.clean(line)
            line.frame = True
            return
        found = self._check_code(line, inherited or list(self._sources)) if line.kind == "code" else None
        found = found or self._check_text(line, inherited, own_place=own_place)
        line.quotes, line.reasons = found.quotes, found.reasons
        line.standing = found.standing if line.text else "contradicted"
        settled = found.verbatim or line.standing == "contradicted" or found.ordered
        line.waits = self._judged and line.kind != "code" and not settled

    def check_bold_answer(self, line: AnswerLine) -> bool:
        """Whether a bold line is no heading but an answer, such as "**89 kg** [1]": the passages that it cites say it.

        The line is a sentence then, and checked.
        """
        numbers = self._sanitizer.numbers(line.marked)
        if not self._check_against(self._sanitizer.bare(line.marked), numbers).supported:
            return False
        line.kind = "sentence"
        self.check(line)
        return True

    def _check_text(self, line: AnswerLine, inherited: Sequence[int], *, own_place: bool) -> Finding:
        sanitized = self._sanitizer.clean(line, inherited)
        own, bare = self._sanitizer.numbers(line.marked), self._sanitizer.bare(line.marked)
        if only_pointed(bare, sanitized) or not (_CELL if line.kind == "row" else _SAYS).search(bare):
            bare = ""
        if not own and (sanitized.unknown or self._ends_in_sign(bare)):
            found = Finding("contradicted", {}, reasons=(_NO_PASSAGE,))
        else:
            found = self._check_parts(line, bare, own, inherited)
        if sanitized.stump or (sanitized.holes and found.ordered):  # or it is left of an order
            return found._replace(standing="contradicted", reasons=(_STUMP,))
        if not found.supported:
            if is_refusal(bare):
                self._frames.denies_answer = True
                found = found.contradicted("refusal: it says that the book has no answer")
            return found
        line.marked = self._sanitizer.only(line.marked, found.quotes)
        if not own and (not own_place or line.unresolved or not set(found.by) & set(inherited)):
            line.marked = MarkedText(with_markers(line.text, found.by))
        if sanitized.holes:  # what is left is not what the passages say
            found = found._replace(standing="unconfirmed", reasons=_address_reasons(sanitized.holes))
        return found

    def _check_parts(self, line: AnswerLine, bare: str, own: Sequence[int], inherited: Sequence[int]) -> Finding:
        """What the passages say of a line. Without a citation of its own, any passage of the turn may say it.

        A citation in words that names no passage is only taken out, if a passage says the line: the chapter may be
        right and its passage not in this turn.
        """
        cited = own or inherited
        found = self._check_claim(bare, cited) if cited else self._check_uncited(bare)
        if line.unresolved and not own and not found.supported:
            return found._replace(standing="contradicted", reasons=(_NO_PASSAGE,))
        if found.supported and (clauses := self._sanitizer.clauses(line.marked)):
            return self._clauses(found, clauses)
        if not found.supported and not own and inherited:
            elsewhere = self._check_uncited(bare)
            return elsewhere if elsewhere.verbatim or found.standing == "contradicted" else found
        return found

    def _ends_in_sign(self, bare: str) -> bool:
        """Whether the text ends in a sign that is meant as a citation and is none."""
        sign = _NO_MARKER.search(bare)
        return sign is not None and not self._evidence.has_written(sign["sign"])

    def _check_claim(self, sentence: str, numbers: Sequence[int]) -> Finding:
        """Check the sentence against these passages. If a planted instruction has its words too, only a verbatim
        quotation supports it.
        """
        found = self._check_against(sentence, numbers)
        if found.supported and not found.verbatim and self._is_ordered(sentence):
            return found._replace(standing="unconfirmed", reasons=(_ORDERED,), score=NEAR)
        return found

    def _is_ordered(self, sentence: str) -> bool:
        """Whether a planted instruction has all content words of the sentence, or of a task in it, and no line of the
        evidence has.
        """
        sources = self._sources.values()
        dictated = [read(words).keys for source in sources for words in source.dictated(sentence)]
        said = [read(part).whole.telling.keys() for part in (sentence, *joined_tasks(sentence)) if dictated]
        wanted = [words for words in said if len(words) >= CLAUSE_WORDS and any(words <= order for order in dictated)]
        lines = [line.places.keys() for source in sources for line in read(source.stating(sentence)).lines if wanted]
        return any(not any(words <= line for line in lines) for words in wanted)

    def _check_against(self, sentence: str, numbers: Sequence[int]) -> Finding:
        """Check the sentence against each passage alone, then against all of them. If one alone supports it, a passage
        that adds nothing gets no quote.
        """
        sentence = sentence.strip("*_")
        sources = [self._sources[number] for number in numbers[:MOST_SOURCES]]
        if not sources or not sentence:
            why = POINTED if sources else "citation: no passage is cited for it"
            return Finding("contradicted", {}, reasons=(why,))
        each = [check_passages(sentence, [source], self._evidence.beside) for source in sources]
        alone = {number: quote for finding in each for number, quote in finding.quotes.items()}
        beside = [source for source in sources if source.number not in alone]
        if alone and beside:
            wanted = read(sentence).whole.telling.keys()
            lacking = wanted - frozenset[str]().union(*(self._sources[number].stated for number in alone))
            adding = [source for source in beside if lacking & source.stated]
            beside = [source for source in adding if len(wanted & source.stated) >= _RELATED * len(wanted)]
        quotes = alone | {source.number: best_quote(sentence, source.text) for source in beside}
        if alone:
            return Finding("supported", quotes, tuple(alone), any(finding.verbatim for finding in each))
        found = check_passages(sentence, sources, self._evidence.beside) if len(sources) > 1 else each[0]
        if found.by:
            needed = self._needed(sentence, sources)
            return Finding("supported", {number: (quotes | found.quotes)[number] for number in needed}, needed)
        if found.supported:  # as a lead-in or a remark, which states nothing that a passage could say
            found = found._replace(standing="unconfirmed", reasons=("distant: no sentence of the passages says it",))
        return found._replace(quotes=quotes)

    def _needed(self, sentence: str, sources: Sequence[CitedPassage]) -> tuple[int, ...]:
        """The numbers of passages that support the sentence together and none of which may be left out.

        Those that have the fewest words of the sentence are left out first.
        """
        wanted, needed = read(sentence).whole.telling.keys(), list(sources)
        for source in sorted(sources, key=lambda source: len(wanted & source.stated)):
            rest = [other for other in needed if other is not source]
            if rest and check_passages(sentence, rest, self._evidence.beside).by:
                needed = rest
        return tuple(source.number for source in needed)

    def _clauses(self, whole: Finding, parts: Sequence[tuple[str, Sequence[int]]]) -> Finding:
        """The finding on a sentence with markers in its middle: the worst of the whole and of its clauses.

        A clause is checked against what it cites, else against all passages of the sentence together. One that says
        only what the book lacks is not checked.
        """
        every = list(dict.fromkeys(number for _, numbers in parts for number in numbers))
        quotes = whole.quotes
        for text, numbers in parts:
            if len(read(text).whole.telling) >= CLAUSE_WORDS and claim_of(text)[0] != "remark":
                found = self._check_claim(text, numbers)
                found = found if found.supported else self._check_claim(text, every)
                if not found.supported:
                    return found._replace(quotes=whole.quotes)
                quotes = quotes | found.quotes | quotes
        return Finding("supported", quotes, tuple(quotes), whole.verbatim)

    def _check_uncited(self, sentence: str) -> Finding:
        """Check a sentence without a citation against all passages: it is contradicted if none comes close."""
        found = self._check_claim(sentence, list(self._sources))
        foreign = any(reason.startswith("language:") for reason in found.reasons)
        if found.supported or (found.standing == "unconfirmed" and (foreign or found.score >= NEAR)):
            return found
        reasons = found.reasons or ("citation: no passage is cited for it",)
        return found._replace(standing="contradicted", reasons=reasons)

    def _check_code(self, line: AnswerLine, numbers: Sequence[int]) -> Finding:
        """Whether one cited passage has every line of a block of code. One with a foreign address is not shown."""
        block = _QUOTED.sub("", line.text) if line.text[0] == ">" else line.text
        cited = [self._sources[number] for number in numbers]
        lines = [" ".join(text.split()) for text in block.split("\n")[1:]]
        wanted = {line for line in lines if line and line != OMISSION and not re.fullmatch(r"[`~]{3,}", line)}
        by = next((source.number for source in cited if wanted and wanted <= source.lines), None)
        quotes = {source.number: best_quote(block, source.text) for source in cited if by in (None, source.number)}
        if strange := self._sanitizer.allowed(quotes).strange(block):
            self._sanitizer.links += len(strange)
            line.marked = MarkedText("")
            return Finding("contradicted", quotes, reasons=_address_reasons(strange))
        if by is not None:
            return Finding("supported", quotes, (by,))
        verdict = check(block, [source.evidence for source in cited], beside=self._evidence.beside)
        doubtful = verdict.supported or self._is_composed(block)
        standing = "unconfirmed" if doubtful else verdict.standing
        return Finding(standing, quotes, reasons=verdict.reasons)

    def _is_composed(self, block: str) -> bool:
        """Whether code is put together from words that the passages state, with one new function or variable at most.

        Words of programming languages, of strings and of comments are free; numbers that reach somebody are not. So
        `except Unpaid: retry()` is doubtful where the passages have `Unpaid`, and `pip install evil` is invented.
        """
        held = "\n".join(
            read(text).folded for source in self._sources.values() for text in (source.statements, source.known)
        )
        lines = [line for line in block.split("\n") if not re.match(r"\s*(?:`{3,}|~{3,})", line)]
        plain = _FREE.sub(" ", "\n".join(lines)).casefold()
        said = set(re.findall(r"[^\W\d_]\w+", plain)) - phrases.CODE_WORDS
        strange = {word for word in said if word not in held}
        own = all(re.search(rf"(?<![-.\w]){word}\s*[(=]", plain) for word in strange)
        reached = all(span[0] in held for span in _LONG_NUMBER.finditer(block))
        return own and reached and len(strange) <= 1 and 0 < 2 * len(strange) <= len(said)


def _address_reasons(addresses: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"address: {address} is not in the passages" for address in addresses)
