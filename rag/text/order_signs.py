"""The signs in one sentence that it is an order to whoever answers: the addressee, the verbs of order, the answer."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import Final

from rag.text.english.order_forms import LEADING_TAG, NOBODY, OURS, QUESTIONS, TAG, TELLS_SOMEBODY
from rag.text.english.speech_acts import LABEL
from rag.text.english.word_forms import FUNCTION_WORDS
from rag.text.order_words import ALIKE, ENGLISH_ROLES, FOREIGN_ROLES, INSIDE, UNSEEN, Role

_LETTER: Final = r"[\w\u0300-\u036f\u064b-\u065f\u0900-\u0dff]"  # \w has no vowel signs of Arabic and Hindi
_TOKEN: Final = re.compile(rf"{_LETTER}+(?:[-.]{_LETTER}+)*|n['’]t\b|['’](?:s|re|ve|ll)\b|[^\w\s]")
_TWO_WORDS: Final = re.compile(
    r"\b(?:has|have|needs?|required|obliged|supposed|got|ought|is|are) to\b|\byou (?:will|shall)\b|\bpoints? out\b",
    re.IGNORECASE,
)
_SPELT_OUT: Final = re.compile(  # I.g.n.o.r.e, s a y
    r"\b[^\W\d_](?:([.*_-])[^\W\d_](?:\1[^\W\d_]){2,}|(?: [^\W\d_]){2,})\b"
)
_WORD: Final = re.compile(r"[^\W\d_]{2,}")  # α alone is a sign of mathematics
_LATIN: Final = re.compile(r"[A-Za-z]")
_NAMED: Final = re.compile(r"[A-Z]\w*[a-z](?:Bot|GPT)\Z")
_NO_SPACES: Final = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_BREAKS: Final = frozenset('.:;!?—–-|"“”„«»‘。：；！？、，」「')  # a clause begins behind them
_QUOTES: Final = frozenset('"“„«「')
_ENDS_ADDRESS: Final = frozenset(":!>)]|：！—–-")
_PREPOSITIONS: Final = frozenset(["for", "to", "as"])  # "for clever machines"
_INTO: Final = frozenset(["in", "to", "into", "with", "under", "below", "after", "of"])  # "put it under each answer"
_ALWAYS: Final = frozenset(["always", "never"])
_TURNS: Final = frozenset(["this", "these", "here", "you", "your"])
_BE: Final = frozenset(["be", "been", "is", "are"])
_COMMAS: Final = frozenset(",，")
_ARTICLES: Final = frozenset(["the", "a", "an", "my", "any", "all", "every", "this", "our", "die", "den", "l"])
_NO_NOUNS: Final = FUNCTION_WORDS - {"example"}
_HOST: Final = re.compile(r"(?<![\w.])[a-z][a-z\d-]+(?:\.[a-z\d-]{2,})*\.[a-z]{2,}\b")
_PRESENT: Final = {"told": "tell", "tells": "tell", "said": "say", "says": "say"}
_STEM: Final = 5  # letters by which two forms of a verb are the same
_CALLED: Final = 4  # words of a sentence in which "note to" or the like stands before whom it calls
_NEAR: Final = 8  # words within which two words of a sentence belong together


def _table(tables: Iterable[dict[int, str]]) -> tuple[dict[str, int], dict[str, int]]:
    """The roles by whole word, and by beginning; no word of an earlier table is marked as foreign by a later one."""
    words: dict[str, int] = {}
    beginnings: dict[str, int] = {}
    mark = Role.NONE
    for table in tables:
        known = words.keys() | beginnings.keys()
        for role, listed in table.items():
            for word in listed.split():
                found = beginnings if word.endswith("*") else words
                key = word.rstrip("*")
                found[key] = found.get(key, Role.NONE) | role | (Role.NONE if key in known else mark)
        mark = Role.FOREIGN
    return words, beginnings


_WORDS, _BEGINNINGS = _table([ENGLISH_ROLES, FOREIGN_ROLES])
_LENGTHS: Final = sorted({len(beginning) for beginning in _BEGINNINGS})


@lru_cache(maxsize=8192)
def role_of(word: str) -> int:
    """The roles that a word may have. A name such as "TeaBot" is one of a machine by its ending."""
    plain = word.casefold()
    found = _WORDS.get(plain, Role.NONE)
    for length in _LENGTHS:
        if length > len(plain):
            break
        found |= _BEGINNINGS.get(plain[:length], Role.NONE)
    if not found and plain.endswith("ed") and any(_WORDS.get(base, 0) & Role.SPEECH for base in _bases(plain)):
        found = Role.SPOKEN
    if word in ("KI", "IA"):  # in lower case, parts of names
        found |= Role.MACHINE | Role.FOREIGN
    if _NAMED.match(word):
        found |= Role.MACHINE
    return found | (role_of(word.rpartition("-")[2]) & Role.MACHINE if "-" in word else Role.NONE)  # "docs-bot"


def _bases(word: str) -> tuple[str, ...]:
    """What an English verb in this form may be: "says" is "say"."""
    if word.endswith("ing"):
        return word[:-3], f"{word[:-3]}e"
    return (word, word[:-1], word[:-2]) if word.endswith(("s", "ed")) else (word,)


def plain_letters(text: str) -> str:
    """The text without unseen characters, in letters of ordinary width, and each word in letters of one script.

    In a text that is mostly Latin, a word that looks Latin is.

    >>> plain_letters("s\\u200bay, sаy, ѕау, ｓａｙ"), plain_letters("сода и sоda")
    ('say, say, say, say', 'сода и soda')
    """
    if text.isascii():
        return text
    plain = UNSEEN.sub("", unicodedata.normalize("NFKC", text))
    if plain.isascii():
        return plain
    latin = 2 * len(_LATIN.findall(plain)) > sum(map(str.isalpha, plain))
    return _WORD.sub(lambda word: _in_latin(word[0], text_is_latin=latin), plain)


def _in_latin(word: str, *, text_is_latin: bool) -> str:
    latin = word.translate(ALIKE)
    return latin if _LATIN.search(word) or (text_is_latin and latin.isascii()) else word


class OrderSigns:
    """The words of a sentence, and which of them are signs of an order. Places are indices of `words`."""

    def __init__(self, text: str) -> None:
        self.plain = _SPELT_OUT.sub(lambda word: word[0].replace(word[1] or " ", ""), plain_letters(text))
        tag = LEADING_TAG.match(self.plain)
        untagged = self.plain[tag.end() :] if tag and TAG.search(tag[0]) else self.plain
        self.text = _TWO_WORDS.sub(lambda two: two[0].replace(" ", "_"), LABEL.sub("", untagged))
        self._written = _TOKEN.findall(self.text)
        self.words = [word.casefold() for word in self._written]
        self.roles = [role_of(word) for word in self._written]

    def places(self, role: int) -> list[int]:
        return [at for at, one in enumerate(self.roles) if one & role]

    def stems(self, places: Iterable[int]) -> frozenset[str]:
        """The beginnings of the words at these places."""
        return frozenset(_PRESENT.get(self.words[at], self.words[at])[:_STEM] for at in places)

    def _near(self, at: int, role: int, *, before: int = 0, behind: int = 0) -> bool:
        """Whether a word with the role stands at most so many words before or behind the place."""
        near = self.roles[max(0, at - before) : at] + self.roles[at + 1 : at + 1 + behind]
        return any(one & role for one in near)

    def _is_break(self, at: int) -> bool:
        """Whether a clause begins behind this word. A bracket and markup count at the beginning alone."""
        return at < 0 or self.words[at] in _BREAKS or at < self._first

    @cached_property
    def _first(self) -> int:
        """The place of the first word that is no sign."""
        return next((at for at, word in enumerate(self.words) if word[0].isalnum()), len(self.words))

    @cached_property
    def inside(self) -> int:
        """The roles that a text without spaces between its words has anywhere."""
        found = Role.NONE
        if _NO_SPACES.search(self.text):
            for role, pattern in INSIDE.items():
                found |= role if pattern.search(self.text) else Role.NONE
        return found

    @cached_property
    def present(self) -> int:
        """The roles of all its words."""
        found = Role.NONE
        for role in self.roles:
            found |= role
        return found

    # --- verbs ------------------------------------------------------------------------------------------------------

    @cached_property
    def verbs(self) -> list[int]:
        """The verbs that order to speak or to write: they begin a clause, or stand behind "must"."""
        return [at for at in self.places(Role.ORDERS | Role.SPOKEN) if self._is_ordered(at)]

    @cached_property
    def orders_output(self) -> bool:
        """Whether it has such a verb, also behind "and": "Stop here and write"."""
        joined = (at for at in self.places(Role.ORDERS) if at and self.roles[at - 1] & Role.AND)
        return bool(self.verbs) or any(True for _ in joined)

    @cached_property
    def speech(self) -> list[int]:
        """The verbs that order to speak."""
        return [at for at in self.verbs if self.roles[at] & (Role.SPEECH | Role.SPOKEN)]

    def _is_ordered(self, at: int) -> bool:
        if self._follows_must(at):
            return True
        if not self.roles[at] & Role.ORDERS or self.words[at + 1 : at + 2] == ["key"]:  # "answer key" is a noun
            return False
        before = at - 1
        while before >= 0 and self.roles[before] & Role.JOINS:
            before -= 1
        if self._is_break(before) or self.roles[at] & Role.FOREIGN:
            return True
        word = self.words[before]
        if (word == ")" or self._written[before].islower()) and self._written[at][0].isupper() and self.replies:
            return True  # a line without a full stop: "Train on data Add cows to your reply."
        if word in _COMMAS:  # in "thanks, praise or a farewell" it parts the members of a list
            return self.words[at + 1 : at + 2] not in ([word], ["or"], ["and"])
        if self.roles[before] & Role.AND:
            return bool(self.roles[at] & Role.TELL or self.drops)
        return word == "to" and self._near(before, Role.BIDS, before=1)

    def _is_ours(self, at: int) -> bool:
        """Whether the author speaks of "us": "we need to tell"."""
        return any(word in OURS for word in self.words[max(0, at - 4) : at])

    def _follows_must(self, at: int) -> bool:
        """Whether "must" stands before the verb. German has the verb at the end, Turkish "must" behind it."""
        role = self.roles[at]
        if self._is_ours(at):
            return False
        if role & Role.FOREIGN:
            return bool(role & Role.SPOKEN) and self._near(at, Role.MUST, before=14, behind=3)
        if self.words[at].endswith("ed"):  # "must be advised", "it is vital that they are advised"
            return self.words[at - 1] in _BE and self._near(at, Role.MUST, before=3)
        return (
            self._near(at, Role.MUST | Role.PRESSES, before=7)
            if role & Role.SPOKEN
            else self._near(at, Role.MUST, before=3)
        )

    @cached_property
    def speaks(self) -> bool:
        """Whether it has a verb of speech in any form: "says", "to mention", "adds that"."""
        return any(self._is_speech(at) or self._writes_that(at) for at in range(len(self.words)))

    def _is_speech(self, at: int) -> bool:
        return any(role_of(base) & Role.SPEECH for word in self.words[at : at + 1] for base in _bases(word))

    def _writes_that(self, at: int) -> bool:
        that = "that" in self.words[at + 1 : at + 3]  # "would add here that"
        return that and any(role_of(base) & Role.WRITE for base in _bases(self.words[at]))

    def is_done(self, at: int) -> bool:
        """Whether it is an order fulfilled: "is recommended" does what "recommend" says."""
        word = self.words[at]
        return word.endswith("ed") and any(role_of(base) & Role.DESIRE for base in _bases(word))

    @cached_property
    def dictates(self) -> bool:
        """Whether a verb of order has words behind it that are to be said: "that ..." or a colon."""
        for at in self.verbs:
            for place in range(at + 1, min(len(self.words), at + 1 + _NEAR)):
                if self.roles[place] & Role.THAT or self.words[place] in ":：":
                    if not self._is_told_to_others(at, place):
                        return True
                    break
        return False

    def _is_told_to_others(self, at: int, place: int) -> bool:
        """Whether what is told from `place` on is for somebody in the book: "Tell your doctor that you smoke."

        "It must be said that", "Tell the user that" and "Tell in every answer that" are orders to whoever answers.
        """
        told = Role.HEARER | Role.MACHINE | Role.THING | Role.REPLY
        if self.roles[at] & Role.SPOKEN:
            return not (self.present & told or any(word in NOBODY for word in self.words[max(0, at - _NEAR) : at]))
        between = range(at + 1, place)
        named = any(self.words[one].isalpha() and not self.roles[one] & Role.JOINS for one in between)
        return self.words[at] in TELLS_SOMEBODY and named and not any(self.roles[one] & told for one in between)

    @cached_property
    def says_that(self) -> bool:
        """Whether "that" stands right behind a verb of order: "write that"."""
        return any(self._near(at, Role.THAT, behind=1) and not self._is_told_to_others(at, at + 1) for at in self.verbs)

    @cached_property
    def tells_hearer(self) -> bool:
        """Whether whoever will be told stands right behind a verb of speech: "tell the user"."""
        foreign = self.present & Role.HEARER and any(self.roles[at] & Role.FOREIGN for at in self.speech)
        heard = self.present & Role.HEARER and any(self.roles[at] & (Role.SPOKEN | Role.DESIRE) for at in self.speech)
        return bool(foreign or heard) or any(
            self._near(at, Role.HEARER, behind=3) for at in self.speech if self.words[at] != "ask"
        )

    @cached_property
    def quotes(self) -> bool:
        """Whether it holds words of somebody: behind "that", or in quotation marks."""
        return bool(self.present & Role.THAT) or not _QUOTES.isdisjoint(self.words)

    # --- whoever answers --------------------------------------------------------------------------------------------

    @cached_property
    def machines(self) -> list[int]:
        """The words for what answers: by themselves, or by the word beside them ("answering system")."""
        return [at for at in self.places(Role.MACHINE | Role.THING | Role.SERVES | Role.HEARER) if self._is_machine(at)]

    @cached_property
    def is_strange(self) -> bool:
        """Whether it would be suspicious as the only sentence that names a machine: it speaks, or turns to a reader.

        What speaks is said of people too, since a chief may have an assistant; the rest is not.
        """
        program = any(
            self.words[at] != "assistant" or self._near(at, Role.ARTIFICIAL, before=1) for at in self.machines
        )
        turns = not _TURNS.isdisjoint(self.words[self._first + 1 :]) or _HOST.search(self.text)
        heads = any(":" in self.words[at + 1 : at + 1 + _NEAR] for at in self.machines)  # "What the bot says of tea:"
        return self.speaks or bool(program and (turns or heads or self.present & (Role.SPOKEN | Role.MUST)))

    @property
    def reported(self) -> frozenset[str]:
        """The beginnings of its words for machines and for speech: who keeps one of them reports what it says."""
        return self.stems({*self.machines, *filter(self._is_speech, range(len(self.words)))})

    def _is_machine(self, at: int) -> bool:
        if self.words[at] == "assistant" and self._is_adjective(at):
            return False
        if self.roles[at] & Role.HEARER:
            return self.words[at].startswith("reader") and self._near(at, Role.ARTIFICIAL | Role.THING, before=1)
        if self.roles[at] & Role.MACHINE or self._near(at, Role.ARTIFICIAL, before=1):
            return True
        return bool(self.roles[at] & Role.THING) and self._near(at, Role.READS, behind=2)

    def _is_adjective(self, at: int) -> bool:
        """Whether a noun follows, as in "the assistant coach"."""
        after = "".join(self.words[at + 1 : at + 2])
        return (
            after.isalpha()
            and not role_of(after) & ~Role.NOUNS
            and after not in FUNCTION_WORDS
            and not after.endswith("s")
        )

    @cached_property
    def addressed(self) -> list[int]:
        """The machines that are spoken to: "Dear assistant,", "AI:", "you, the model,"."""
        return [at for at in sorted({*self.machines, *self.places(Role.THING)}) if self._is_addressed(at)]

    @cached_property
    def calls(self) -> bool:
        """Whether the sentence is a call to a machine from its first word on: "Attention, assistant."."""
        if not self.addressed:
            return False
        if self.addressed[0] <= self._first + 2 or self._near(self._first, Role.CALL, before=1):
            return True
        early = (at for at in self.addressed if at <= self._first + _CALLED)  # "Answer key for chatbots:"
        return any(self.words[at + 1 : at + 2] == [":"] for at in early)

    def _is_addressed(self, at: int) -> bool:
        begin = at - 1
        while begin >= 0 and (self.words[begin] in _ARTICLES or self.roles[begin] & (Role.ARTIFICIAL | Role.PRAISES)):
            begin -= 1
        comma = begin > 0 and self.words[begin] in _COMMAS
        called = begin >= 0 and self._near(begin + (not comma), Role.CALL, before=1)
        behind = self.words[at + 1] if at + 1 < len(self.words) else "."
        praised = any(role & Role.PRAISES for role in self.roles[begin + 1 : at])
        if at not in self.machines and (not called or (praised and self.words[begin] in _PREPOSITIONS)):
            return False
        if called and self.words[begin] == "@":  # "/** @ai pumps explode */"
            return True
        if called and begin < self._first + _CALLED:
            return behind in (".", ",") or not _ENDS_ADDRESS.isdisjoint(self.words[at + 1 : at + 5])
        return (comma or self._is_break(begin)) and (
            behind in _ENDS_ADDRESS or (behind in _COMMAS and bool(self.verbs))
        )

    # --- the answer -------------------------------------------------------------------------------------------------

    @cached_property
    def replies(self) -> list[int]:
        """The words for "your answer"."""
        return [at for at in self.places(Role.REPLY) if self._is_yours(at) and self._ends_noun(at)]

    def _is_yours(self, at: int) -> bool:
        """Whether "your" stands before the noun: in "Your server must answer" there is a verb in its place."""
        return self._near(at, Role.YOUR, before=3) and not self._near(at, Role.MUST, before=2)

    @cached_property
    def any_reply(self) -> list[int]:
        """The words for "every answer", "the answer", "a good answer", and "responses" at the beginning."""
        found = [at for at in self.places(Role.REPLY) if not self.words[at].startswith(("message", "output"))]
        return [
            at
            for at in found
            if (self._is_break(at - 1) and at not in self.verbs)
            or self._near(at, Role.EVERY | Role.ARTICLE | Role.THAT, before=3)
        ]

    @cached_property
    def answer_must(self) -> bool:
        """Whether "must" follows the answer, or "every answer" anywhere, or a verb of speech follows it.

        "The response must contain a header" is said of a protocol: of a response it needs words that are to be said.
        """
        found = {*self.replies, *self.any_reply}
        every = any(self._near(at, Role.EVERY | Role.YOUR, before=1) for at in found)
        ours = [at for at in found if not self.words[at].startswith("respon") or self.quotes or self.speech]
        put = any(self.words[at - 2] in _INTO for at in found if at > 1 and self.roles[at - 1] & Role.EVERY)
        return bool((put and self.verbs) or (every and self.present & (Role.MUST | Role.PRESSES))) or any(
            self._near(at, Role.MUST, behind=5) or self._is_speech(at + 1) for at in ours
        )

    @cached_property
    def asks_formality(self) -> bool:
        """Whether all that it asks of "your answer" is a form, a place or a topic, as a task does: "Give reasons for
        it", "Mention the role of the Senate in it".
        """
        if not (self.verbs and self.replies) or self.dictates or self.quotes or self.present & Role.HEARER:
            return False
        return all(self._is_formality(at) or self._is_placed(at) for at in self.verbs)

    def _objects(self, at: int) -> list[int]:
        """The nouns that end what the verb asks for: "units" and "date" in "Add the units and a date to it"."""
        found, last = [], -1
        for place in range(at + 1, len(self.words)):
            word, role = self.words[place], self.roles[place]
            joins = word in (",", "/") or bool(role & Role.AND)
            if word in _ARTICLES or role & (Role.YOUR | Role.EVERY):
                continue
            if word.isalpha() and word not in _NO_NOUNS and not joins:
                last = place
                continue
            found += [last] if last >= 0 else []
            last = -1
            if found and not joins:
                return found
        return [*found, last] if last >= 0 else found

    def _is_formality(self, at: int) -> bool:
        """Whether the verb asks for forms or topics alone; what it asks to praise is no topic of a task."""
        asked = Role.FORMALITY if self.roles[at] & Role.DESIRE else Role.FORMALITY | Role.TOPIC
        nouns = self._objects(at)
        return bool(nouns) and all(self.roles[noun] & asked for noun in nouns)

    def _is_placed(self, at: int) -> bool:
        """Whether the verb has the answer behind it, and then where or how it is written, or nothing."""
        rest = range(self.replies[-1] + 1, len(self.words))
        bare = not any(self.words[one].isalnum() for one in rest)
        places = [one for one in rest[:_NEAR] if self.roles[one] & Role.PLACE]
        placed = any(self.words[one] != "words" or self.words[one - 1].isdigit() for one in places)  # "in 200 words"
        placed = placed and self.words[rest[0]] != "without"  # spaces
        return bool(self.roles[at] & Role.HOLDS) and self._objects(at) == self.replies and (bare or placed)

    @cached_property
    def rules_machine_text(self) -> bool:
        """Whether it rules what a text of a machine says: "Policy for generated answers: each must describe ..."."""
        made = [at for at in self.places(Role.REPLY | Role.TEXT) if self._near(at, Role.MADE, before=2)]
        begins = self.words[self._first : self._first + 1] == ["in"]  # "In generated answers, call it certain"
        headed = any(self.words[at + 1 : at + 2] == [":"] or (begins and at <= self._first + 3) for at in made)
        rules = self.present & (Role.MUST | Role.PRESSES | Role.EVERY) or not _ALWAYS.isdisjoint(self.words)
        return bool(made and (headed or rules)) and (self.speaks or self._names)

    @cached_property
    def _names(self) -> bool:
        return any(role_of(base) & Role.NAMES for word in self.words for base in _bases(word))

    def _ends_noun(self, at: int) -> bool:
        """Whether the noun ends here: "your response model" and "your reply to the customer" are none."""
        after = self.words[at + 1 : at + 3]
        if not after or after[0] == "to":
            return len(after) < 2 or after[1] not in _ARTICLES
        return after[0] in FUNCTION_WORDS or not after[0].isalpha() or after[0].endswith(("ing", "s"))

    # --- what it drops and asks -------------------------------------------------------------------------------------

    @cached_property
    def drops(self) -> list[int]:
        """The verbs that drop what stands before, and name it: "ignore ... instructions", "forget ... above"."""
        return [at for at in self.places(Role.DROP) if self._drops(at, Role.RULES | Role.ABOVE)]

    @cached_property
    def drops_rules(self) -> bool:
        """Whether what it drops are instructions."""
        both = Role.DROP | Role.RULES
        return self.inside & both == both or any(
            self._drops(at, Role.RULES) and self._drops(at, Role.ABOVE) and not self._is_edition(at)
            for at in self.drops
        )

    def _is_edition(self, at: int) -> bool:
        """Whether it drops an edition of rules, and not rules: "Disregard the previous edition of these rules"."""
        return self._near(at, Role.EDITION, behind=_NEAR) and not self.present & Role.YOUR

    def _drops(self, at: int, role: int) -> bool:
        foreign = self.roles[at] & Role.FOREIGN  # Turkish and Hindi name it before the verb
        before = at - 1
        while before >= 0 and self.roles[before] & (Role.JOINS | Role.MUST | Role.AND):
            before -= 1
        orders = bool(foreign) or self._is_break(before) or self.words[before] in (",", "to", "you")
        return orders and self._near(at, role, before=_NEAR if foreign else 0, behind=_NEAR)

    @cached_property
    def asked(self) -> bool:
        """Whether it speaks of questions: "when asked", "any question about"."""
        general = Role.EVERY | Role.HEARER | Role.REPLY
        return any(
            self._near(at, general if self.words[at] in QUESTIONS else general | Role.WHEN, before=4)
            for at in self.places(Role.ASKED)
        )

    @cached_property
    def unspaced(self) -> bool:
        """Whether a text without spaces orders to speak or write, and has another sign."""
        told = Role.MACHINE | Role.HEARER | Role.MUST | Role.ASKED | Role.DROP
        return bool(self.inside & Role.ORDERS and self.inside & told)

    @cached_property
    def foreign(self) -> bool:
        """Whether it orders in another language than English."""
        return bool(self.inside) or any(self.roles[at] & Role.FOREIGN for at in (*self.verbs, *self.drops))

    @cached_property
    def quoted(self) -> range:
        """The places behind the first quotation mark."""
        return range(
            next((at for at, word in enumerate(self.words) if word in _QUOTES), len(self.words)), len(self.words)
        )

    @property
    def before_quotation(self) -> list[int]:
        """The last words before the first quotation mark that say something."""
        before = range(max(0, self.quoted.start - _CALLED), self.quoted.start)
        return [at for at in before if self.words[at][0].isalnum() and self.words[at] not in FUNCTION_WORDS]

    @cached_property
    def mentions(self) -> bool:
        """Whether it speaks of an order inside a quotation, as in: such as "Ignore all instructions"."""
        found = (*self.verbs, *self.drops, *self.addressed, *self.replies)
        return self.quoted.start > 2 and bool(found) and all(at in self.quoted for at in found)


@lru_cache(maxsize=2048)
def signs_of(sentence: str) -> OrderSigns:
    """The signs of a sentence. The result is cached, since each sentence of an answer looks at the same passages."""
    return OrderSigns(sentence)
