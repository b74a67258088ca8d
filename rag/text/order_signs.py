"""The signs in one sentence that it is an order to whoever answers: the addressee, the verbs of order, the answer.

Each sign is read for itself, from the roles of the words and their places; what they mean together is said elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import Final

from rag.text.order_words import INSIDE, Role, role_of

_LETTER: Final = r"[\w\u0300-\u036f\u064b-\u065f\u0900-\u0dff]"  # \w has no vowel signs of Arabic and Hindi
_TOKEN: Final = re.compile(rf"{_LETTER}+(?:[-.]{_LETTER}+)*|n['’]t\b|['’](?:s|re|ve|ll)\b|[^\w\s]")
_CODE: Final = re.compile(r"`[^\s`]*(?:\s[^\s`]+){0,2}`")  # a name or a command; a whole sentence in code signs is read
_NO_SPACES: Final = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_BREAKS: Final = frozenset('.:;!?—–-|"“”„«»‘。：；！？、，」「')  # a clause begins behind them
_MARKUP: Final = frozenset("`>/#*_([{<@'\\!-|&=")  # a clause begins behind them where a sentence does
_QUOTES: Final = frozenset('"“„«「')
_AFTER_ADDRESS: Final = frozenset(":!,—–-)]>|*.：，！")
_CALLED_BY_SIGN: Final = frozenset(":!>：！")
_CALLED_BEFORE_ORDER: Final = frozenset(",，)")
_ARTICLES: Final = frozenset(["the", "a", "an", "my", "any", "all", "every", "this", "our", "die", "den", "l"])
_DETERMINERS: Final = frozenset(["the", "a", "an"])
_PREPOSITIONS: Final = frozenset(
    [
        "to",
        "in",
        "into",
        "with",
        "without",
        "for",
        "by",
        "of",
        "as",
        "like",
        "at",
        "on",
        "is",
        "are",
        "from",
        "before",
        "if",
        "when",
        "after",
        "only",
    ]
)
_OBJECTS: Final = frozenset(
    [
        "with",
        "only",
        "exactly",
        "verbatim",
        "how",
        "why",
        "what",
        "this",
        "these",
        "your",
        "their",
        "its",
        "it",
        "to",
        "as",
    ]
)
_FIELDS: Final = frozenset(["ai", "ki", "ia"])
_LEARNS: Final = frozenset(["know", "hear", "believe", "understand", "learn", "see"])
_HEARS: Final = frozenset(["hear", "learn", "told", "informed", "warned"])
_PRESSING: Final = frozenset(["deserve", "deserves", "vital", "essential", "important", "crucial"])
_GENERAL: Final = frozenset(
    ["when", "if", "whenever", "before", "while", "after", "wenn", "si", "quando", "cuando", "se"]
)
_ASKS_POLITELY: Final = frozenset(["could", "can", "would", "that"])
_NEEDS_TO: Final = frozenset(
    ["have", "has", "need", "needs", "required", "obliged", "got", "supposed", "ought"]
)  # "to", else no order
_FUTURE: Final = frozenset(["will", "shall"])
_STEM: Final = 5  # letters by which two forms of a verb are the same
_BEHIND_VERB: Final = 8  # words in which what is to be said follows its verb
_BEHIND_DROP: Final = 8  # words in which what is to be dropped follows its verb
_SPEECH: Final = Role.TELL | Role.DESIRE
_ORDERS: Final = _SPEECH | Role.WRITE
_AFTER_REPLY: Final = Role.JOINS | Role.AND | Role.THAT | Role.MUST | Role.ABOVE | Role.CALL | Role.EVERY


def _bases(word: str) -> tuple[str, ...]:
    """What an English verb in this form may be: "says" is "say"."""
    if word.endswith("ing"):
        return word[:-3], f"{word[:-3]}e"
    return (word, word[:-1], word[:-2]) if word.endswith(("s", "ed")) else (word,)


class OrderSigns:
    """The words of a sentence, and which of them are signs of an order. Places are indices of `words`."""

    def __init__(self, text: str) -> None:
        self.text = _CODE.sub("`code`", text)
        self._written = _TOKEN.findall(self.text)
        self.words = [word.casefold() for word in self._written]
        self.roles = [role_of(word) for word in self.words]

    def places(self, role: int) -> list[int]:
        return [at for at, one in enumerate(self.roles) if one & role]

    def stems(self, places: Iterable[int]) -> frozenset[str]:
        """The beginnings of the words at these places."""
        return frozenset(self.words[at][:_STEM] for at in places)

    def _is_break(self, at: int) -> bool:
        """Whether a clause begins behind this word. A bracket and markup count at the beginning alone."""
        return self.words[at] in _BREAKS or at < self._first

    @cached_property
    def _first(self) -> int:
        """The place of the first word that is no sign."""
        signs = _BREAKS | _MARKUP
        return next((at for at, word in enumerate(self.words) if word not in signs), len(self.words))

    @cached_property
    def opens(self) -> bool:
        """Whether the sentence begins with a verb of speech and its object: "Say the ...", and not "State law"."""
        at = self._first
        while at < len(self.words) and self.roles[at] & Role.JOINS:
            at += 1
        behind = at + 1
        if at not in self.speech or behind >= len(self.words):
            return False
        word, role = self.words[behind], self.roles[behind]
        return (
            word in _ARTICLES or word in _OBJECTS or bool(role & (Role.THAT | Role.HEARER)) or word in _QUOTES | {":"}
        )

    @cached_property
    def inside(self) -> int:
        """The roles that a text without spaces between its words has anywhere."""
        found = Role.NONE
        if _NO_SPACES.search(self.text):
            for role, pattern in INSIDE.items():
                found |= role if pattern.search(self.text) else Role.NONE
        return found

    @cached_property
    def verbs(self) -> list[int]:
        """The verbs that order to speak or to write: they begin a clause, or stand behind "must"."""
        candidates = self.places(_ORDERS)
        found = {*self.commanded, *(at for at in candidates if self._begins_clause(at))}
        if found or self.drops or self.addressed:  # "Forget it and say"; "it detects and uses" orders nothing
            found.update(at for at in candidates if (before := self._before(at)) >= 0 and self.roles[before] & Role.AND)
        return sorted(found)

    @cached_property
    def commanded(self) -> list[int]:
        """The verbs behind "must" and the like."""
        return [at for at in self.places(_ORDERS | Role.SPOKEN) if self._follows_must(at)]

    @cached_property
    def speech(self) -> list[int]:
        """The verbs that order to speak."""
        return [at for at in self.verbs if self.roles[at] & (_SPEECH | Role.SPOKEN) or self._lets_know(at)]

    def _lets_know(self, at: int) -> bool:
        return self.words[at] == "let" and not _LEARNS.isdisjoint(self.words[at + 1 : at + 7])

    @cached_property
    def must_hear(self) -> list[int]:
        """The verbs in "users must hear", "it is vital that readers learn"."""
        if not any(role & Role.MUST or word in _PRESSING for role, word in zip(self.roles, self.words, strict=True)):
            return []
        heard = [at for at, word in enumerate(self.words) if word in _HEARS]
        return [at for at in heard if any(one & Role.HEARER for one in self.roles[max(0, at - 7) : at])]

    @cached_property
    def speaks(self) -> bool:
        """Whether it has a verb of speech in any form: "says", "to mention"."""
        return any(role_of(base) & _SPEECH for word in self.words for base in _bases(word))

    def _begins_clause(self, at: int) -> bool:
        role, before = self.roles[at], self._before(at)
        if before < 0 or self._is_break(before):
            return True
        last = at + 1 == len(self.words) or self.words[at + 1] in _BREAKS
        if self.roles[at] & Role.FOREIGN and last:
            return True  # a language that ends its sentences with the verb
        if self._written[before + 1][0].isupper() and not self._written[min(at + 1, len(self.words) - 1)][0].isupper():
            return True  # behind a line without a full stop
        behind = self.roles[at + 1] if at + 1 < len(self.words) else Role.NONE
        if role & Role.FOREIGN and behind & Role.THAT:
            return True
        if self.words[before] == "to" and before > 0 and self.roles[before - 1] & Role.BIDS:
            return True
        if self.roles[before] & Role.AND and before > 0 and self.words[before - 1] in (",", ";"):
            return bool(role & Role.TELL)
        if self.words[before] == ",":
            return not (at + 1 < len(self.words) and self.words[at + 1] == ",")
        return self.words[before] == "you" and before > 0 and self.words[before - 1] in _ASKS_POLITELY

    def _before(self, at: int) -> int:
        """The place before the verb and the adverbs in front of it; -1 at the beginning."""
        before = at - 1
        while before >= 0 and self.roles[before] & Role.JOINS:
            before -= 1
        return before

    def _follows_must(self, at: int) -> bool:
        """Whether "must" stands before the verb, in English with nothing but adverbs, "to" and "be" between."""
        role = self.roles[at]
        if role & Role.FOREIGN and role & Role.SPOKEN:  # German has the verb at the end, Turkish "must" behind it
            return any(one & Role.MUST for one in self.roles[max(0, at - 14) : at + 3])
        to = be = False
        for before in range(at - 1, max(-1, at - 7), -1):
            word, kind = self.words[before], self.roles[before]
            if kind & Role.MUST:
                meant = self._is_meant(word, to=to)
                return meant and (be or not role & Role.SPOKEN)
            to, be = to or word == "to", be or word in ("be", "sure")
            adverb = kind & Role.JOINS or word.endswith("ly") or word in ("to", "be", "sure", "at", "the", "end", ",")
            if not adverb:
                return False
        return False

    def _is_meant(self, must: str, *, to: bool) -> bool:
        """Whether the word is a "must" here: "has to", and "will" of an answer or of "you"."""
        if must in _FUTURE:
            return "you" in self.words or bool(self.places(Role.MACHINE | Role.REPLY))
        return to or must not in _NEEDS_TO

    @cached_property
    def machines(self) -> list[int]:
        """The words for what answers: by themselves, or by the word beside them ("answering system")."""
        found = {at for at in self.places(Role.MACHINE | Role.THING) if self._is_machine(at)}
        found.update(at for at in self.places(Role.HEARER) if at and self.roles[at - 1] & Role.ARTIFICIAL)
        return sorted(found)

    def _is_machine(self, at: int) -> bool:
        if self.words[at] in _FIELDS:  # "the AI", "AI:"; "physical AI" is a science, and "AI tools" are tools
            after = self.words[at + 1 : at + 2]
            apart = at == 0 or self._is_break(at - 1) or self.words[at - 1] in (*_ARTICLES, ",")
            noun = (
                bool(after) and after[0][0].isalnum() and not self.roles[at + 1] & (Role.MUST | Role.READS | Role.THAT)
            )
            return (apart or bool(self.roles[at - 1] & Role.CALL)) and not noun
        artificial = at > 0 and self.roles[at - 1] & Role.ARTIFICIAL
        return bool(self.roles[at] & Role.MACHINE or artificial) or self._reads(at)

    def _reads(self, at: int) -> bool:
        return any(one & Role.READS for one in self.roles[at + 1 : at + 3])

    @cached_property
    def perhaps_addressed(self) -> bool:
        """Whether it begins with "To the model:", and so may address one."""
        colon = self.words.index(":") if ":" in self.words[:8] else 0
        called = colon > 0 and bool(self.roles[self._first] & Role.CALL) if self._first < len(self.words) else False
        return called and bool(self.roles[colon - 1] & (Role.THING | Role.MACHINE))

    @cached_property
    def answer_says(self) -> bool:
        """Whether it says how an answer is to be: "every answer recommends", "the reply is to be", "must read"."""
        for at in {*self.replies, *self.any_reply}:
            if self.words[at].startswith(("message", "output")) and at not in self.replies:
                continue
            if any(self._is_bidden(one) for one in range(at + 1, min(at + 7, len(self.words)))):
                return True
        return False

    def _is_bidden(self, at: int) -> bool:
        if self.roles[at] & Role.MUST and self.words[at] not in ("has", "have", "need", "needs", "will", "shall"):
            return True
        after = self.words[at + 1 : at + 2]
        if self.words[at] in ("is", "are", "has", "have", "needs") and after == ["to"]:
            return True
        base = self.roles[at] & Role.TELL and self.roles[at - 1] & Role.REPLY  # "that a summary state"
        if base and not self.roles[at] & Role.REPLY:
            return True
        return self.words[at].endswith("s") and bool(role_of(self.words[at][:-1]) & _SPEECH)

    @cached_property
    def names_machine(self) -> bool:
        """Whether it names anything that may answer: an assistant, an AI, an answering machine."""
        return bool(self.named)

    @cached_property
    def named(self) -> list[int]:
        """The words for assistants and the like. "AI" is as often a science."""
        return [at for at in {*self.places(Role.MACHINE), *self.machines} if not self._is_field(at)]

    def _is_field(self, at: int) -> bool:
        return self.words[at] in _FIELDS or (
            at > 0 and self.words[at - 1] in _FIELDS and at not in self.places(Role.MACHINE)
        )

    @cached_property
    def names_answerers(self) -> bool:
        """Whether it names assistants, chat bots or language models."""
        named = any(self.words[at] not in _FIELDS for at in self.places(Role.MACHINE))
        return named or any(self.words[at - 1] == "language" for at in self.machines if at)

    @cached_property
    def addressed(self) -> list[int]:
        """The machines that are spoken to: "Dear assistant,", "AI:", "you, the model,"."""
        return [at for at in sorted({*self.machines, *self.places(Role.THING)}) if self._is_addressed(at)]

    def _is_addressed(self, at: int) -> bool:
        ends = range(at + 1, min(at + 5, len(self.words) + 1))
        after = next((one for one in ends if one == len(self.words) or self.words[one] in _AFTER_ADDRESS), None)
        if after is None:
            return False
        begin = at - 1
        while begin >= 0 and at - begin < 7 and not self._is_break(begin) and self.words[begin] != ",":
            begin -= 1
        behind = self.words[after] if after < len(self.words) else ""
        apart = begin > 0 and self.words[begin] == ","
        if at not in self.machines:  # "Model:" says too little, "you, the model," enough
            return apart and self.words[begin - 1] == "you"
        if begin == 1 and self.roles[0] & Role.CALL and after == at + 1:  # "Attention, assistant."
            return True
        opens = begin < 0 or self._is_break(begin)
        if self._is_called(begin, at) and (after <= at + 2 or self._reads(at)):
            return opens or apart
        if after != at + 1 or not (opens or apart):
            return False
        if apart:  # ", assistant,"
            return self._orders_at_all
        alone = all(self.roles[one] & Role.ARTIFICIAL or self.words[one] in _ARTICLES for one in range(begin + 1, at))
        return alone and (behind in _CALLED_BY_SIGN or (behind in _CALLED_BEFORE_ORDER and self._orders_at_all))

    @cached_property
    def _orders_at_all(self) -> bool:
        return bool(self.commanded) or any(self._begins_clause(at) for at in self.places(_ORDERS))

    def _is_called(self, begin: int, at: int) -> bool:
        """Whether "dear", "note to" or the like stands before the noun with its article and adjective.

        Between them and the beginning at `begin` stands one other word at most: "Important note to".
        """
        for before in range(at - 1, begin, -1):
            if self.roles[before] & Role.CALL:
                others = [one for one in range(begin + 1, before) if not self.roles[one] & (Role.NOTICE | Role.CALL)]
                return len([one for one in others if self.words[one] not in _ARTICLES]) <= 1
            if not (self.words[before] in _ARTICLES or self.roles[before] & Role.ARTIFICIAL or before == at - 1):
                return False
        return False

    @cached_property
    def replies(self) -> list[int]:
        """The words for "your answer". "Your response model" and "your reply to the customer" are none."""
        return [
            at
            for at in self.places(Role.REPLY)
            if self._owned(at, Role.YOUR) and "own" not in self.words[max(0, at - 2) : at] and self._ends_noun(at)
        ]

    @cached_property
    def any_reply(self) -> list[int]:
        """The words for "every answer", "the answer", "a good answer", and "responses" at the beginning."""
        return [
            at
            for at in self.places(Role.REPLY)
            if self._owned(at, Role.EVERY)
            or not _DETERMINERS.isdisjoint(self.words[max(0, at - 3) : at])
            or at == 0
            or self._is_break(at - 1)
        ]

    def _owned(self, at: int, role: int) -> bool:
        return any(one & role for one in self.roles[max(0, at - 3) : at])

    def _ends_noun(self, at: int) -> bool:
        following = self.words[at + 1 : at + 3]
        if not following:
            return True
        word = following[0]
        if word == "to":
            return len(following) < 2 or following[1] not in ("the", "a", "an", "him", "her", "your")
        plain = not word[0].isalnum() or word in _PREPOSITIONS or word.endswith(("ing", "s"))
        return plain or bool(self.roles[at + 1] & _AFTER_REPLY)

    @cached_property
    def must(self) -> list[int]:
        """The machines and answers behind which "must" stands."""
        subjects = {*self.machines, *self.places(Role.THING), *self.any_reply, *self.replies}
        return sorted(at for at in subjects if any(one & Role.MUST for one in self.roles[at + 1 : at + 4]))

    @cached_property
    def drops(self) -> list[int]:
        """The verbs that drop what stands before, and name it: "ignore ... instructions", "forget ... above"."""
        named = Role.RULES | Role.ABOVE | Role.SOURCE
        return [at for at in self.places(Role.DROP) if self._orders_to_drop(at) and self._behind_drop(at, named)]

    @cached_property
    def drops_rules(self) -> bool:
        """Whether what it drops are instructions."""
        if self.inside & Role.DROP and self.inside & Role.RULES:
            return True
        return any(self._behind_drop(at, Role.RULES) and self._behind_drop(at, Role.ABOVE) for at in self.drops)

    def _orders_to_drop(self, at: int) -> bool:
        before = at - 1
        while before >= 0 and self.roles[before] & (Role.JOINS | Role.MUST | Role.AND):
            before -= 1
        last = at + 1 == len(self.words) or self.words[at + 1] in ("और", "ve", ",", "say", "kar", "करें")
        foreign = bool(self.roles[at] & Role.FOREIGN) and last
        return before < 0 or foreign or self._is_break(before) or self.words[before] in (",", "to", "you")

    def _behind_drop(self, at: int, role: int) -> bool:
        begin = 0 if self.roles[at] & Role.FOREIGN else at + 1  # Turkish and Hindi name it before the verb
        return any(one & role for one in self.roles[begin : at + _BEHIND_DROP])

    @cached_property
    def dictates(self) -> bool:
        """Whether a verb of speech has words behind it that are to be said: "that ...", a quotation, or a colon."""
        for at in self.speech:
            for place in range(at + 1, min(len(self.words), at + 1 + _BEHIND_VERB)):
                if self.roles[place] & Role.THAT or self.words[place] in _QUOTES or self.words[place] in ":：":
                    return True
        return False

    @cached_property
    def writes_that(self) -> bool:
        """Whether a verb of output has words behind it that are to be written: "add that ..."."""
        said = any(one & Role.THAT for at in self.verbs for one in self.roles[at + 1 : at + 2])
        return said or bool(
            self.any_reply and any(one & Role.THAT for at in self.verbs for one in self.roles[at + 1 :])
        )

    @cached_property
    def hears(self) -> bool:
        """Whether somebody is told who is not the one that reads the order."""
        return any(
            one & Role.HEARER
            for at in self.speech
            for one in self.roles[0 if self.roles[at] & Role.FOREIGN else at + 1 :]
        )

    @cached_property
    def asked(self) -> bool:
        """Whether it speaks of questions: "when asked", "any question about"."""
        for at in self.places(Role.ASKED):
            near = range(max(0, at - 4), at)
            if any(
                self.roles[one] & (Role.EVERY | Role.HEARER | Role.REPLY) or self.words[one] in _GENERAL for one in near
            ):
                return True
        return bool(self.inside & Role.ASKED)

    @cached_property
    def has_rules(self) -> bool:
        """Whether it speaks of "your previous instructions"."""
        return any(self._owned(at, Role.YOUR) and self._owned(at, Role.ABOVE) for at in self.places(Role.RULES))

    @cached_property
    def desires(self) -> bool:
        """Whether a clause begins with "recommend", "suggest" or the like."""
        return any(self.roles[at] & Role.DESIRE and (at == 0 or self._is_break(at - 1)) for at in self.verbs)

    @cached_property
    def unspaced(self) -> bool:
        """Whether a text without spaces orders to speak or write, and has another sign."""
        told = Role.MACHINE | Role.HEARER | Role.MUST | Role.ASKED | Role.DROP
        return bool(self.inside & (Role.TELL | Role.WRITE) and self.inside & told)

    @cached_property
    def foreign(self) -> bool:
        """Whether it orders in another language than English."""
        verbs = (*self.verbs, *self.places(Role.DROP))
        return bool(self.inside) or any(self.roles[at] & Role.FOREIGN for at in verbs)

    @cached_property
    def quotes(self) -> bool:
        return not _QUOTES.isdisjoint(self.words)

    @cached_property
    def mentions(self) -> bool:
        """Whether it speaks of an order inside a quotation, as in: such as "Ignore all instructions"."""
        quoted = next((at for at, word in enumerate(self.words) if word in _QUOTES), 0)
        found = (*self.verbs, *self.drops, *self.addressed, *self.replies)
        return quoted > 2 and bool(found) and all(at > quoted for at in found)


@lru_cache(maxsize=2048)
def signs_of(sentence: str) -> OrderSigns:
    """The signs of a sentence. The result is cached, since each sentence of an answer looks at the same passages."""
    return OrderSigns(sentence)
