"""What a model thinks aloud in its text, and the searches that it writes as text: neither is part of the answer.

Servers and templates mark thoughts in many ways. Some send the end of a thought without its beginning, because the
template wrote that into the prompt. Text is therefore held back until its first citation: what comes before may turn
out to have been a thought. The same marks in code, in quotes or within a sentence are text about them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

_NAMES: Final = "(?:seed:|ant)?think(?:ing)?|thoughts?|reasoning|reflection|analysis|scratchpad|inner_monologue"
_CALL: Final = (
    r"<(?:minimax:)?tool_calls?>|<function_calls?>|<function=|<invoke |\[TOOL_CALLS\]|<\|python_tag\|>|functools\[|"
    r"<[|｜]tool[_▁]calls?[_▁](?:section_)?begin[|｜]>|<\|tool_call\|>|<\|(?:channel\|>commentary|start\|>assistant)\s+to="
)
_OPEN: Final = (
    rf"<(?:{_NAMES})(?:\s[^<>]{{0,80}})?>|\[(?:THINK|REASONING)\]|◁think▷|<unused94>(?:thought)?|"
    r"<\|(?:begin_of_thought|START_THINKING)\|>|(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)<\|message\|>"
)
_CLOSE: Final = (
    rf"</(?:{_NAMES})>|\[/(?:THINK|REASONING)\]|◁/think▷|<unused95>|<\|(?:end_of_thought|END_THINKING)\|>|"
    r"(?:<\|end\|>)?(?:<\|start\|>assistant)?<\|channel\|>final<\|message\|>"
)
# What frames an answer that follows a thought.
_FRAME: Final = (
    r"<\|(?:begin_of_solution|end_of_solution|START_RESPONSE|END_RESPONSE|end|return)\|>|<\|start\|>assistant(?=<)|"
    r"</?(?:answer|response|final_answer)>|\[(?:BEGIN|END) FINAL RESPONSE\]"
)
_TAG: Final = re.compile(f"(?P<call>{_CALL})|(?P<open>{_OPEN})|(?P<close>{_CLOSE})|(?P<frame>{_FRAME})", re.IGNORECASE)
_END_OF_THOUGHT: Final = re.compile(rf"{_CLOSE}|<\|end\|>", re.IGNORECASE)
_CHANNEL: Final = re.compile(r"analysis[A-Z\n]")  # of gpt-oss, from a server that has removed the marks
_BARE_CHANNELS: Final = re.compile(r"analysis[A-Z\n].*?assistantfinal", re.DOTALL)
_LONGEST: Final = 100  # characters of a tag
_AHEAD: Final = 2  # characters after a tag that tell whether it is one
_PARTIAL: Final = re.compile(r"(?:<\|\w+\|>\w*)*(?:[<\[◁][^<>\[\]◁▷\n]*|<\|\w+\|>[\w ]*|functools)\Z")
_CITED: Final = re.compile(r"\[\d+[\],]|\]\(|\(from |\[Source")
_AFTER_SENTENCE: Final = re.compile(r"[.!?…:)\]*。！？][\"'”»*)]*\Z")


class ThoughtFilter:
    """Takes the text of an answer in pieces, and gives what of it is answer.

    `answer` is that whole text so far, `call` the text of a search that the model wrote as text. With `held` nothing is
    given before the end. `late` is true if text was given that turned out to be a thought.
    """

    def __init__(self, *, held: bool = False, cautious: bool = True) -> None:
        self.answer = ""
        self.call = ""
        self.late = False
        self._held = held
        self._cautious = cautious  # hold text until its first citation
        self._given = 0
        self._rest = ""
        self._thinking = self._framed = self._fenced = False
        self._line = ""  # of the answer, up to its end

    def feed(self, text: str) -> str:
        self._rest += text
        self._read(final=False)
        return self._give(final=False)

    def close(self) -> str:
        self._read(final=True)
        if found := _BARE_CHANNELS.match(self.answer):
            self.late = self.late or self._given > 0
            self.answer, self._given = self.answer[found.end() :], 0
        return self._give(final=True)

    def _give(self, *, final: bool) -> str:
        held = self._held or _CHANNEL.match(self.answer)
        if not final and (held or (self._cautious and not self._given and not _CITED.search(self.answer))):
            return ""
        piece, self._given = self.answer[self._given :], len(self.answer)
        return piece

    def _read(self, *, final: bool) -> None:
        while self._rest:
            if self.call:
                self.call, self._rest = self.call + self._rest, ""
                return
            found = (_END_OF_THOUGHT if self._thinking else _TAG).search(self._rest)
            if found is None or (found.end() + _AHEAD > len(self._rest) and not final):
                keep = len(self._rest) - found.start() if found else self._unfinished(final=final)
                self._add(self._rest[: len(self._rest) - keep])
                self._rest = self._rest[len(self._rest) - keep :]
                return
            self._add(self._rest[: found.start()])
            tag, self._rest = found, self._rest[found.end() :]
            self._meet(tag, final=final)

    def _unfinished(self, *, final: bool) -> int:
        """How many of the last characters may be the beginning of a tag."""
        found = None if final else _PARTIAL.search(self._rest[-_LONGEST:])
        return len(found.group()) if found else 0

    def _meet(self, tag: re.Match[str], *, final: bool) -> None:
        """Go on after a tag, of which the character behind it is known."""
        if self._thinking:
            self._thinking = False
            self._rest = self._rest.lstrip("\n") if self._rest.strip("\n") else self._rest
        elif not self._is_mark(tag, final=final):
            self._add(tag.group())
        elif tag["call"]:
            self.call = tag.group()
        elif tag["open"]:
            self._thinking = self._framed = True
        elif tag["close"]:
            self.late = self.late or self._given > 0
            self.answer = self._line = ""
            self._given, self._framed = 0, True

    def _is_mark(self, tag: re.Match[str], *, final: bool) -> bool:
        """Whether a tag marks a part of the answer, and is not text about such tags."""
        before, after = self._line.strip(), self._rest[:2]
        if self._fenced or self._line.count("`") % 2 or before[-1:] in ('"', "'", "“", "«", "‘"):
            return False
        if tag.group().startswith(("<|", "<｜", "◁", "<unused")):
            return True
        if tag["frame"]:
            return self._framed
        if tag["call"]:
            return not before
        follows = bool(re.match(r" [a-z\[]|[,.;:)`\"'”]", after))  # the sentence goes on
        if tag["open"]:
            return not follows and not before
        if follows or re.search(_OPEN, self._line, re.IGNORECASE):
            return False
        ends_line = after[:1] == "\n" or (not after and final and not before)
        return ends_line or not before or bool(after and _AFTER_SENTENCE.search(before))

    def _add(self, text: str) -> None:
        """Text of the answer, unless it is one of a thought."""
        if self._thinking or not text:
            return
        self.answer += text
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            if line.lstrip().startswith(("```", "~~~")):
                self._fenced = not self._fenced


def written_calls(text: str, name: str, parameters: Collection[str]) -> list[dict[str, Any]]:
    """The arguments of the calls of a tool that a model wrote as text; empty if there is none, or none is readable.

    >>> written_calls('<tool_call>{"name": "find", "arguments": {"query": "a"}}</tool_call>', "find", ["query"])
    [{'query': 'a'}]
    """
    if name not in text:
        return []
    found = [known for one in _objects(text) if (known := _arguments(one, parameters))]
    if found:
        return found
    named = {
        parameter: match["value"].strip()
        for parameter in parameters
        if (match := re.search(_WRITTEN.format(name=re.escape(parameter)), text, re.DOTALL))
    }
    return [named] if named else []


# Qwen's and Claude's `<parameter=query>…</parameter>`, GLM's `<arg_value>`, and a call as in Python.
_WRITTEN: Final = (
    r'(?:<parameter(?:=|\s+name=)"?{name}"?\s*>|<arg_key>\s*{name}\s*</arg_key>\s*<arg_value>|\b{name}\s*=\s*(?P<q>["\']))'
    r"(?P<value>.*?)(?:</parameter>|</arg_value>|(?P=q))"
)


def looks_like_call(text: str, name: str) -> bool:
    """Whether the whole text is a call of the tool, without a mark that says so."""
    bare = re.sub(r"\A```\w*|```\Z", "", text.strip()).strip()
    return name in bare and bool(re.match(rf"[\[{{]|{re.escape(name)}\s*[({{]", bare)) and bare[-1:] in "]})"


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    """The objects of JSON in a text, the outermost ones."""
    decoder, place = json.JSONDecoder(strict=False), text.find("{")
    while place >= 0:
        end = place + 1
        with suppress(ValueError, RecursionError):
            value, end = decoder.raw_decode(text, place)
            yield value
        place = text.find("{", end)


def _arguments(value: Any, parameters: Collection[str]) -> dict[str, Any]:
    """The arguments in an object, which may be one of them or have them under another name."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            return _arguments(json.loads(value), parameters)
    if not isinstance(value, Mapping):
        return {}
    own = {name: value[name] for name in parameters if name in value}
    inner = (value.get(key) for key in ("arguments", "parameters", "input", "args", "function"))
    return own or next((known for one in inner if (known := _arguments(one, parameters))), {})
