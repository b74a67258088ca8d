"""Elements of an HTML page, found in a sixth of the time of a CSS selector, and what its head says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag.ingest.data_values import unicode_text

if TYPE_CHECKING:
    from bs4 import BeautifulSoup
    from bs4.element import Tag


@dataclass(frozen=True, slots=True)
class Choice:
    """Elements with one of these names, classes or roles. With `hidden`, also those that a reader does not see."""

    names: frozenset[str] = frozenset()
    classes: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    hidden: bool = False

    def __contains__(self, element: Tag) -> bool:
        if element.name in self.names:
            return True
        if not element.attrs:
            return False
        return (
            element.attrs.get("role") in self.roles
            or not self.classes.isdisjoint(class_names(element))
            or (self.hidden and _is_hidden(element))
        )

    def inside(self, element: Tag) -> Iterator[Tag]:
        """Those in an element, without those that the caller removes during the iteration."""
        found = [one for one in element.find_all(True) if one in self]
        return (one for one in found if not one.decomposed)


def choice(selector: str, *, hidden: bool = False) -> Choice:
    """A choice written as in CSS.

    >>> choice("nav, .gutter, [role=search]").classes
    frozenset({'gutter'})
    """
    parts = selector.split(", ")
    return Choice(
        frozenset(one for one in parts if one[0].isalpha()),
        frozenset(one[1:] for one in parts if one[0] == "."),
        frozenset(one.removeprefix("[role=")[:-1] for one in parts if one[0] == "["),
        hidden,
    )


def class_names(element: Tag) -> list[str]:
    found: str | list[str] = element.attrs.get("class") or []
    return found.split() if isinstance(found, str) else found


def _is_hidden(element: Tag) -> bool:
    """Whether no reader sees an element. A panel of a tab is hidden only while another is chosen."""
    attributes = element.attrs
    return attributes.get("aria-hidden") == "true" or ("hidden" in attributes and attributes.get("role") != "tabpanel")


def metas(page: BeautifulSoup, attribute: str, value: str) -> list[str]:
    """All that the head of a page says of itself under a name."""
    return [str(one.get("content") or "") for one in page.find_all("meta") if str(one.get(attribute)).lower() == value]


def meta(page: BeautifulSoup, attribute: str, value: str) -> str:
    """The first of `metas`; empty where there is none."""
    return next(iter(metas(page, attribute, value)), "")


def page_title(page: BeautifulSoup) -> str:
    """The title in the head of a page, without the name of the site after it."""
    title = page.title.get_text() if page.title is not None else ""
    site = meta(page, "property", "og:site_name")
    title = " ".join(unicode_text(title).split())
    parts = re.split(r"\s+[|—·«]\s+|\s+[-–]\s+(?=[^-–]*$)", title)
    if len(parts) > 1 and parts[-1] == site:
        return title[: title.rindex(site)].rstrip(" |—·«-–")
    return parts[0] if "|" in title or "—" in title else title


def leads_elsewhere(page: BeautifulSoup) -> bool:
    """Whether the page sends its readers to another one."""
    return bool(metas(page, "http-equiv", "refresh"))


def is_unlisted(page: BeautifulSoup) -> bool:
    """Whether the page asks search engines not to list it."""
    return any("noindex" in content.lower() for content in metas(page, "name", "robots"))
