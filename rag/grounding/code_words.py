"""Code words of a sentence: they must stand in the passages letter by letter, and so must the lines of a code block."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

_SPAN: Final = re.compile(r"(?<!`)(`{1,2})(?!`)((?:(?!'')[^`\n]){1,400})\1(?!`)")  # not ``quoted''
_BARE: Final = re.compile(
    r"(?<![\w/.:-])(?:"
    r"--[A-Za-z][\w-]*"  # --release
    r"|[A-Za-z_]\w*(?:::[A-Za-z_]\w*)+!?"  # std::io
    r"|[A-Za-z]\w*_\w+"  # base_link
    r"|[A-Za-z_][\w.]*\(\)"  # main()
    r"|(?:~?\.{0,2}/)?(?:[\w.-]+/)+[\w-]+\.[a-z]{1,5}"  # src/main.rs
    r"|\w[\w-]*\.(?:rs|py|toml|json|yaml|yml|xml|js|jsx|ts|tsx|md|mdx|sh|txt|cfg|lock|html|css|urdf|cpp|launch)\b"
    r")"
)
_CALL: Final = re.compile(r"\(.*\)$|[!;:,.]+$", re.DOTALL)
_FENCE: Final = re.compile(r"\s*(?:`{3,}|~{3,})[^\n]*")
_PROMPT: Final = re.compile(r"^(?:\$|>|#|>>>|PS>|\w*[$#])\s+")
_LONGEST: Final = 4000  # code points of a sentence that are looked through


def code_words(sentence: str) -> list[str]:
    """What stands in backticks, and bare words that only code has: paths, flags, names with `_` or `::`."""
    text = sentence[:_LONGEST]
    return [
        *(m[2].strip() for m in _SPAN.finditer(text)),
        *(m[0].strip("_") for m in _BARE.finditer(_SPAN.sub(" ", text))),
    ]


def unstated_code(sentence: str, passages: Sequence[str]) -> Iterator[str]:
    """Code words of the sentence that no passage holds."""
    words = [word for word in dict.fromkeys(code_words(sentence)) if any(c.isalnum() for c in word)]
    if not words:
        return
    held = [" ".join(passage.split()) for passage in passages]
    for word in words:
        if not any(_holds(passage, form) for form in _forms(word) for passage in held):
            yield word


def unstated_lines(block: str, passages: Sequence[str]) -> Iterator[str]:
    """Lines of a code block that no passage holds, prompts and indentation left out."""
    lines = [line for line in block.split("\n") if line.strip() and not _FENCE.fullmatch(line)]
    if not lines:
        return
    held = "\n".join(" ".join(line.split()) for passage in passages for line in passage.split("\n"))
    for line in lines:
        plain = " ".join(line.split())
        if plain not in held and _PROMPT.sub("", plain) not in held:
            yield plain


def _forms(word: str) -> list[str]:
    """A code word as it is written, then without a call's brackets and a mark at its end."""
    plain = " ".join(word.split())
    bare = _CALL.sub("", plain).strip()
    forms = [plain, bare, _PROMPT.sub("", plain)]
    return list(dict.fromkeys(form for form in forms if form))


def _holds(passage: str, word: str) -> bool:
    """Does the word stand there and not as a part of a longer one? Underscores around a path are emphasis."""
    joint = "" if "/" in word or "." in word else "_"
    at = passage.find(word)
    while at >= 0:
        before, after = passage[at - 1 : at], passage[at + len(word) : at + len(word) + 1]
        left = not (word[0].isalnum() and (before.isalnum() or before == joint != ""))
        if left and not (word[-1].isalnum() and (after.isalnum() or after == joint != "")):
            return True
        at = passage.find(word, at + 1)
    return False
