"""Formulas in MathML as a line of text, in which no power, index, fraction or root is lost."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bs4.element import Tag

_SIMPLE: Final = re.compile(r"\S|[\w.,]+|\([^()]*\)|√\w+")
_RUN_TOGETHER: Final = re.compile(r"(?<=[\w)])\0+(?=[\w√(])")  # where a power or a fraction would be read on
_BESIDE: Final = "\0"  # stands beside what has a form until the line is whole
_LEFT_OUT: Final = frozenset({"annotation", "annotation-xml", "mphantom", "mspace"})
_INVISIBLE: Final = str.maketrans("", "", "\u2061\u2062\u2063\u2064")  # signs of operations that nobody sees
# How the parts of an element are written one after the other.
_FORMS: Final = {
    "msup": "{0}^{1}",
    "msub": "{0}_{1}",
    "msubsup": "{0}_{1}^{2}",
    "munder": "{0}_{1}",
    "munderover": "{0}_{1}^{2}",
    "mfrac": "{0}/{1}",
    "mroot": "{1}√{0}",
}


def linear(formula: Tag) -> str:
    """A formula as text.

    >>> from bs4 import BeautifulSoup
    >>> linear(BeautifulSoup("<math><mfrac><mi>a</mi><mrow>1<mo>+</mo>b</mrow></mfrac></math>", "lxml").math)
    'a/(1+b)'
    """
    from bs4.element import Tag

    if formula.name in _LEFT_OUT:
        return ""
    parts = [one for one in formula.children if isinstance(one, Tag) and one.name not in _LEFT_OUT]
    if not parts:
        return " ".join(formula.get_text().translate(_INVISIBLE).split())
    if (form := _FORMS.get(formula.name)) and form.count("{") == len(parts):
        return form.format(*(_grouped(linear(one)) for one in parts))
    between = {"mtr": ", ", "mlabeledtr": ", ", "mtable": "; "}.get(formula.name, "")
    text = between.join(map(_written, _children(formula)))
    text = _RUN_TOGETHER.sub(" ", text).replace(_BESIDE, "")
    if formula.name == "msqrt":
        return f"√{_grouped(text)}"
    return f"({text})" if formula.name == "mfenced" else text


def _written(part: Tag | str) -> str:
    if isinstance(part, str):
        return part
    return f"{_BESIDE}{linear(part)}{_BESIDE}" if part.name in _FORMS else linear(part)


def _children(formula: Tag) -> list[Tag | str]:
    """The elements in an element and the words between them."""
    from bs4.element import NavigableString, Tag

    return [
        one if isinstance(one, Tag) else one.strip().translate(_INVISIBLE)
        for one in formula.children
        if isinstance(one, Tag) or (type(one) is NavigableString and one.strip())
    ]


def _grouped(text: str) -> str:
    return text if _SIMPLE.fullmatch(text) else f"({text})"
