"""Markdown from the tree of a page, written by markdownify."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

from rag.ingest.fences import fenced
from rag.ingest.formats.html_tree import Element
from rag.ingest.text_form import one_form

LONGEST: Final = 10_000_000  # characters of the text of a page; a cell may claim to span a thousand columns
# Signs that Markdown could read as markup: not in snake_case, nor with space around.
_SIGNS: Final = re.compile(r"(?<!\w)_+|_+(?!\w)|(?<![\s*])\*+|\*+(?!\s)|`+|[\[\]]|^\s*(?:#{1,6}(?=\s|$)|>)")


def markdown_of(main: Element) -> str:
    """An element that `html_tree.shape` has changed, as Markdown; a heading has its id as `{#id}`.

    Raises `ValueError` if it is nested too deeply or becomes too large.
    """
    from bs4 import BeautifulSoup
    from lxml import html

    soup = BeautifulSoup(html.tostring(main, encoding="unicode", with_tail=False), "lxml")
    try:
        text: str = _converter().convert_soup(soup.body or soup)
    except RecursionError:
        raise ValueError("it is nested too deeply; take some of its levels apart") from None
    if len(text) > LONGEST:
        raise ValueError(f"its text becomes larger than {LONGEST // 10**6} megabytes")
    return re.sub(r"\n(?:[ ]*\n){2,}", "\n\n", one_form(text)).strip()


def _escaped(signs: re.Match[str]) -> str:
    return re.sub(r"([^\s])", r"\\\1", signs[0], count=0 if signs[0].strip()[0] != "#" else 1)


@cache
def _converter() -> Any:
    """markdownify with what the tree has settled: the marks of items, ids of headings and languages of code."""
    from markdownify import MarkdownConverter

    class Converter(MarkdownConverter):
        def escape(self, text: str, parent_tags: set[str]) -> str:
            return text if "tex" in parent_tags else _SIGNS.sub(_escaped, text)

        def convert_hN(self, n: int, el: Any, text: str, parent_tags: set[str]) -> str:
            title = " ".join(text.split())
            if "_inline" in parent_tags or not el.has_attr("data-anchor"):
                return f" {title} "
            return f"\n\n{'#' * n} {title} {{#{el['data-anchor']}}}\n\n"

        def convert_pre(self, el: Any, text: str, parent_tags: set[str]) -> str:
            return f"\n\n{fenced(code, el.get('data-language', ''))}\n\n" if (code := el.get_text().strip("\n")) else ""

        def convert_td(self, el: Any, text: str, parent_tags: set[str]) -> str:
            escaped = re.sub(r"(?<!\\)\|", r"\|", text)
            return str(super().convert_td(el, escaped, parent_tags))  # type: ignore[misc]  # its stub lacks it

        convert_th = convert_td

        def convert_li(self, el: Any, text: str, parent_tags: set[str]) -> str:
            mark = f"{el.get('data-mark', '-')} "
            first, *rest = text.strip().split("\n")
            lines = [mark + first, *(" " * len(mark) + line if line else "" for line in rest)]
            return "\n".join(lines) + "\n" if first else "\n"

    return Converter(
        bullets="-", newline_style="backslash", table_infer_header=True, heading_style="atx", autolinks=False,
        wrap=True, wrap_width=None,
    )  # fmt: skip
