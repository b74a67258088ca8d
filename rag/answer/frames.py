"""Lines of an answer that claim nothing of the book: headings, lead-ins, heads of tables, refusals, talk and pointers.

They need no support in a passage. They are shown with the claims around them, and a heading must have words of the book
or of the user to be plain.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from rag.answer.cited_passage import TurnEvidence
from rag.answer.lines import AnswerLine, announced
from rag.answer.passage_check import Finding, check_passages
from rag.answer.sanitizer import Sanitized, Sanitizer
from rag.evidence.analyzed_text import read
from rag.text.english import phrases
from rag.text.english.numerals import OWN_NUMBER
from rag.text.english.speech_acts import HEADING_WORDS, is_courtesy, is_refusal, is_talk, words
from rag.text.markup import written_addresses
from rag.text.sentences import sentence_spans
from rag.text.vocabulary import is_common, is_english, stem

POINTED: Final = "address: it only pointed at an address"
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

    def is_refusal_or_talk(self, line: AnswerLine, numbers: Sequence[int]) -> bool:
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
        if line.kind == "rule" or known or self._names_columns(line):
            line.frame = True
            return
        found = self.found(said, numbers)
        introduces = line.kind == "lead" and found.supported  # a list needs its introduction in "exact" too
        line.frame = found.standing != "contradicted" and (introduces or not self._exact)
        if not line.frame:
            line.standing, line.reasons = "contradicted", found.reasons
        elif line.kind == "heading" or not found.supported:
            line.standing, line.reasons = "unconfirmed", found.reasons or ("distant: no passage has all of its words",)

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
