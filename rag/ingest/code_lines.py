"""Telling code from prose by its lines, for a block that does not say which of both it is."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import Final

# A line that only code has: a prompt, a decorator, a closing bracket, an import, an assignment, a call, a statement.
_CODE: Final = re.compile(
    r"(?:>>>|\.\.\.|\$)\s.*|@[\w.]+(?:\(.*)?|[\[\](){}]+[;,]?|#include\b.*|[^\n]*\S[;{]"
    r"|(?:from [\w.]+ )?import [\w.*, ()]+|[\w.]+(?:\[[^\]]*\])?(?:: [\w\[\]., |]+)? (?:[-+*/%|&]|:)?= \S.*"
    r"|(?:await |return |raise )?[A-Za-z_][\w.]*\((?:.*\)(?::|\..*)?)?"
    r"|(?:async )?(?:def|class|for|while|if|elif|with|try|else|except|match|case)\b.*:"
)
_COMMENT: Final = re.compile(r"(?:#|//|--)\s.*")
_MARKUP: Final = re.compile(r"\.\. |:[\w -]+:(?:\s|\Z)|`{3}|~{3}|:{3}|#{1,6} .*\{|\|.*\|\Z")
_SHARE: Final = 0.5  # more than this share of the lines that are not indented


def is_code(lines: Sequence[str]) -> bool:
    """Whether the lines are code: the first one is, and most of those that are not indented are.

    >>> is_code(["if x:", "    y()"]), is_code(["A term", "    is described here."])
    (True, False)
    """
    outer = [one for one in textwrap.dedent("\n".join(lines)).split("\n") if one.strip() and not one[0].isspace()]
    told = [one.rstrip() for one in outer if not _COMMENT.fullmatch(one)]
    if not told or any(map(_MARKUP.match, told)):
        return False
    matched = [bool(_CODE.fullmatch(one)) for one in told]
    return matched[0] and sum(matched) > _SHARE * len(told)
