"""What dialects of Markdown share, as plain Markdown. A note becomes a line with its title above its text."""

from __future__ import annotations

import re
from typing import Final

_ADMONITION: Final = re.compile(
    r"(?P<indent>[ \t]*(?:>[ \t]?)*):{3,}[ \t]*(?P<kind>[A-Za-z][\w-]*)[ \t]*"
    r"(?:\[(?P<label>[^\]]*)\])?[ \t]*(?:\{[^}]*\})?[ \t]*(?P<title>[^\[{].*?)?[ \t]*"
)
_ADMONITION_END: Final = re.compile(r"[ \t]*(?:>[ \t]?)*:{3,}[ \t]*")
_ALERT: Final = re.compile(
    r"^(?P<quote>[ \t]*(?:>[ \t]?)+)\[!(?P<kind>[A-Za-z][\w-]{0,30})\][+-]?(?P<title>[^\n]*)$", re.MULTILINE
)
_DEFINITION: Final = re.compile(r"^[ ]{0,3}:[ ]{1,3}(?=\S)", re.MULTILINE)
_ABBREVIATION: Final = re.compile(r"^\*\[[^\]\n]{1,100}\]:[^\n]*\n?", re.MULTILINE)
_DASH: Final = re.compile(r"(?<=\s)-{2,3}(?=\s)|(?<=\w)---(?=\w)")
_OWN_ID: Final = re.compile(r"(?<![\w=\"'])#([^\s{}#=\"']+)|\bid=[\"']?([^\s\"'{}]+)")

_HEADING_ATTRIBUTES: Final = re.compile(r"^(#{1,6}[ \t][^\n]*?)[ \t]*\{[ ]*(?=[.#])([^{}\n]*)\}[ \t]*$", re.MULTILINE)


def alerts(text: str) -> str:
    """Turn `> [!NOTE]`, as GitHub and Hugo write it, into the line `Note:` of the same quote."""
    return _ALERT.sub(lambda alert: alert["quote"] + titled(alert["title"].strip() or alert["kind"].capitalize()), text)


def pictured(alt: str) -> str:
    """The description of an image that stands alone, marked as such: it is no sentence of the text."""
    words = " ".join(alt.split())
    return f"Image: {words}" if words else ""


def titled(title: str) -> str:
    """A title as a line that leads in what follows."""
    return title if title[-1:] in ".!?:" else f"{title}:"


def with_dashes(text: str) -> str:
    """A text in which two or three hyphens that stand for a dash are one, as Sphinx shows them.

    >>> with_dashes("core --- its API, a -- b, --option")
    'core — its API, a – b, --option'
    """
    return _DASH.sub(lambda dash: "–" if dash[0] == "--" else "—", text)


def own_id(attributes: str) -> str:
    """The id in an attribute list such as `.note #start`, as it stands after a heading; empty where there is none."""
    found = _OWN_ID.search(attributes)
    return f" {{#{found[1] or found[2]}}}" if found else ""


def with_own_ids(text: str) -> str:
    """Headings with only the id of the attribute list at their end, such as `{#start .wide}`."""
    return _HEADING_ATTRIBUTES.sub(lambda heading: heading[1] + own_id(heading[2]), text)


def without_definition_marks(text: str) -> str:
    """The text of definition lists, whose definitions begin with a colon, as paragraphs below their terms."""
    return _DEFINITION.sub("", text)


def without_abbreviations(text: str) -> str:
    """Remove lines such as `*[HTML]: Hyper Text Markup Language`."""
    return _ABBREVIATION.sub("", text)


def admonitions(text: str) -> str:
    """Turn `:::note Title` into the line `Title:` directly above the admonition's text; remove the closing line."""
    lines: list[str] = []
    depth = 0
    joins = False  # whether blank lines are dropped, up to the admonition's text
    for line in text.split("\n"):
        opening = _ADMONITION.fullmatch(line)
        if opening:
            title = (opening["label"] or opening["title"] or opening["kind"].capitalize()).strip()
            if lines and lines[-1].strip():
                lines.append(opening["indent"].rstrip())
            lines.append(opening["indent"] + titled(title))
            depth, joins = depth + 1, True
        elif depth and _ADMONITION_END.fullmatch(line):
            lines.append("")
            depth, joins = depth - 1, False
        elif line.strip() or not joins:
            lines.append(line)
            joins = False
    return "\n".join(lines)
