"""Code words of a sentence and lines of a code block: the passages must hold them letter by letter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

_SPAN: Final = re.compile(r"(?<!`)(`{1,2})(?!`)((?:(?!'')[^`\n]){1,400})\1(?!`)")  # not ``quoted''
_BARE: Final = re.compile(
    r"(?<![\w/.:-])(?:"
    r"--[A-Za-z][\w-]*"  # --release
    r"|0[xX][0-9A-Fa-f]+"
    r"|[A-Za-z_]\w*(?:::[A-Za-z_]\w*)+!?"  # std::io
    r"|[A-Za-z]\w*_\w+"  # base_link
    r"|[A-Za-z_][\w.]*\(\)"  # main()
    r"|(?:~?\.{0,2}/)?(?:[\w.-]+/)+[\w-]+\.[a-z]{1,5}"  # src/main.rs
    r"|\w[\w-]*\.(?:rs|py|toml|json|yaml|yml|xml|js|jsx|ts|tsx|md|mdx|sh|txt|cfg|lock|html|css|urdf|cpp|launch)\b"
    r")"
)
_CALL_OR_MARK: Final = re.compile(r"\(.*\)$|[!;:,.]+$", re.DOTALL)
_FENCE: Final = re.compile(r"\s*(?:`{3,}|~{3,})[^\n]*")
_PROMPT: Final = re.compile(r"^(?:\$|>|#|>>>|PS>|\w*[$#])\s+")
_LONGEST: Final = 4000  # code points of a sentence that are searched


def code_words(sentence: str) -> list[str]:
    """The inline code of a sentence, then other words that must be code (paths, flags, names with `_`), each once.

    >>> code_words("Run `ros2 topic` with --verbose in src/main.rs.")
    ['ros2 topic', '--verbose', 'src/main.rs']
    """
    text = sentence[:_LONGEST]
    found = [
        *(m[2].strip() for m in _SPAN.finditer(text)),
        *(m[0].strip("_") for m in _BARE.finditer(_SPAN.sub(" ", text))),
    ]
    return list(dict.fromkeys(found))


def unstated_lines(block: str, passages: Sequence[str]) -> Iterator[str]:
    """The lines of a fenced block that no passage holds, compared without shell prompts and indentation."""
    lines = [line for line in block.split("\n") if line.strip() and not _FENCE.fullmatch(line)]
    if not lines:
        return
    held = "\n".join(" ".join(line.split()) for passage in passages for line in passage.split("\n"))
    for line in lines:
        plain = " ".join(line.split())
        if plain not in held and _PROMPT.sub("", plain) not in held:
            yield plain


def holds_code(passage: str, word: str) -> bool:
    """Whether a passage, its white space made single spaces, holds a code word in one of its forms."""
    return any(_holds(passage, form) for form in _forms(word))


def _forms(word: str) -> list[str]:
    """A code word as written, without a call's arguments or closing mark, and without a shell prompt."""
    plain = " ".join(word.split())
    bare = _CALL_OR_MARK.sub("", plain).strip()
    forms = [plain, bare, _PROMPT.sub("", plain)]
    return list(dict.fromkeys(form for form in forms if form))


def _holds(passage: str, word: str) -> bool:
    """Whether a passage holds the word, and not inside a longer one. Underscores around a path are emphasis."""
    joining = "" if "/" in word or "." in word else "_"
    at = passage.find(word)
    while at >= 0:
        before, after = passage[at - 1 : at], passage[at + len(word) : at + len(word) + 1]
        left = not (word[0].isalnum() and (before.isalnum() or before == joining != ""))
        if left and not (word[-1].isalnum() and (after.isalnum() or after == joining != "")):
            return True
        at = passage.find(word, at + 1)
    return False
