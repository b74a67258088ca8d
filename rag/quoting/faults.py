"""What makes a block or a unit a poor quotation, or none at all."""

from __future__ import annotations

import re
from typing import Final

from rag.quoting.blocks import QuoteBlock, is_signature
from rag.text.english.phrases import (
    ABOUT_ITSELF,
    CAPTION,
    CHANGES,
    CONTRIBUTING,
    PLATFORMS,
    POINTER,
    REFERENCE,
    REMARK,
    WALKS_THROUGH,
)
from rag.text.sentences import Unit

OTHER_PLATFORM: Final = 1.0  # taken from a block about another platform than the one asked for
WALKING: Final = 0.3  # taken from a step of a tutorial, such as "Now we'll add a button", and from a lone lead-in
REMARKS: Final = 0.2  # taken from a remark beside the text, such as a tip
CHANGED: Final = 0.4  # taken from release notes, if the question asks about no version or change
CONTRIBUTED: Final = 0.3  # taken from what tells how to work on the program, if the question does not ask for that
LINKS: Final = 0.6  # taken from a block of which every character belongs to a link
SHORTEST: Final = 25  # characters of a block that says something by itself

_MARKER: Final = re.compile(r"`[^`]*`|(\[\d+\])")
_EMPHASIS: Final = re.compile(r"([_*])[^_*\n]+\1")  # a line in italics, such as the caption of a list of links
_VERSION: Final = re.compile(r"(?:[\w.+-]+ )?v?\d+(?:\.\d+)*\+?(?: [\w-]+){0,2}:")  # "Python 3.6+ non-Annotated:"
_TAB: Final = re.compile(rf"\w+:|{_VERSION.pattern}")
_ABOUT_CHANGES: Final = re.compile(
    r"\b(?:versions?|releas\w+|change\w*|new|news|since|upgrad\w+|migrat\w+|deprecat\w+|remov\w+|histor\w+)\b|\d",
    re.IGNORECASE,
)
_CUT_ROW: Final = re.compile(r"\|.*\|", re.DOTALL)  # a row of a table whose head another passage has
_IMAGE: Final = re.compile(r"Image: ")
_ENTRY_OF_LINKS: Final = re.compile(r".{0,160}?https?://")
_LINK: Final = re.compile(r"\[[^\[\]\n]{1,300}\]\([^()\s]{1,500}\)")


def faults(block: QuoteBlock, question: str) -> float:
    """What makes a block a poor quotation, as a number from 0."""
    fault, text = (0.5 if block.is_aside else 0.0), block.units[0].text
    if speaks_of_itself(text) or CAPTION.match(text):
        fault += 0.25
    if WALKS_THROUGH.search(text) or (block.units[-1].kind == "lead"):
        fault += WALKING
    if _EMPHASIS.fullmatch(block.text):
        fault += 0.3
    if is_reference(block):
        fault += WALKING
    if REMARK.match(text):
        fault += REMARKS
    if _tells_changes(block) and not _ABOUT_CHANGES.search(question):
        fault += CHANGED
    if CONTRIBUTING.search(block.passage.title) and not CONTRIBUTING.search(question):
        fault += CONTRIBUTED
    fault += LINKS * max(_linked(block.text), _listed_links(block))
    return fault + (OTHER_PLATFORM if is_about_another_platform(block, question) else 0.0)


def is_quotable(block: QuoteBlock) -> bool:
    """Whether a block may be quoted: it says something, was not quoted before, and points nowhere else."""
    text = block.units[0].text
    if block.said or (block.form == "text" and len(block.text) < SHORTEST and "`" not in block.text):
        return False
    if block.form == "text" and all(unit.text.rstrip("*_ ").endswith(("?", ":")) for unit in block.units):
        return False
    if all(is_signature(unit) for unit in block.units):
        return False
    if block.form == "text" and CAPTION.match(text) and len(block.units) == 1:
        return False
    return not POINTER.search(text[:60]) and any(is_sayable(unit) for unit in block.units)


def is_sayable(unit: Unit) -> bool:
    """Whether a unit may be quoted.

    It is no heading, question, image, label of a tab, or lone row of a table, and has no [1] outside code.
    """
    if unit.kind == "heading" or unit.text.rstrip("*_ \"'”’)").endswith("?") or _IMAGE.match(unit.text):
        return False
    if unit.kind == "sentence" and _CUT_ROW.fullmatch(unit.text):
        return False
    if unit.kind == "lead" and _TAB.fullmatch(unit.text) and not _platforms(unit.text):
        return False
    return unit.kind == "code" or not any(m[1] for m in _MARKER.finditer(unit.text))


def is_reference(block: QuoteBlock) -> bool:
    """Whether all of a block points to other pages."""
    return all(REFERENCE.match(unit.text) and _LINK.search(unit.text) for unit in block.units)


def is_for_one_version(block: QuoteBlock) -> bool:
    """Whether a label such as "Python 3.6+:" says that the block is one of several ways to write the same."""
    return block.lead == 1 and bool(_VERSION.fullmatch(block.units[0].text))


def is_about_another_platform(block: QuoteBlock, question: str) -> bool:
    """Whether the question names a platform, such as macOS, and the block only others."""
    named = _platforms(question)
    there = _platforms(f"{block.heading}\n{block.text}") if named else set()
    return bool(there) and not named & there


def speaks_of_itself(sentence: str) -> bool:
    """Whether the sentence is about the book itself: "This chapter covers ..."."""
    return bool(ABOUT_ITSELF.match(sentence))


def _platforms(text: str) -> set[int]:
    """The platforms that a text names, by their place in `PLATFORMS`."""
    return {number for number, names in enumerate(PLATFORMS) if names.search(text)}


def _linked(text: str) -> float:
    """The share of a text that links take, if they take more than half of it."""
    taken = sum(len(link[0]) for link in _LINK.finditer(text)) / len(text)
    return taken if taken > 0.5 else 0.0


def _listed_links(block: QuoteBlock) -> float:
    """The share of a list's items that begin with an address elsewhere, such as articles to read; below .7 it is 0."""
    items = [unit for unit in block.units if unit.kind == "item"]
    share = sum(bool(_ENTRY_OF_LINKS.match(unit.text)) for unit in items) / max(1, len(items))
    return share if share > 0.7 else 0.0


def _tells_changes(block: QuoteBlock) -> bool:
    """Whether the page is about what changed from version to version."""
    return any(CHANGES.fullmatch(title.strip()) for title in block.passage.title.split(" > ")[:-1] or [block.heading])
