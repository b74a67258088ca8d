"""A page's address is the one that its site generator gives it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.errors import UsageError
from rag.ingest.page_addresses import Generator, checked_base_url, detect, page_url, without_number


@pytest.mark.parametrize(
    ("path", "front_matter", "expected"),
    [
        ("03-ros2-fundamentals/index.md", {}, "ros2-fundamentals"),
        ("03-ros2/README.mdx", {}, "ros2"),
        ("guides/Guides.md", {}, "guides"),
        ("01-a/02-b/3. c.md", {}, "a/b/c"),
        ("2021-11-news.md", {}, "2021-11-news"),
        ("7.0-changes.md", {}, "7.0-changes"),
        ("a/b.md", {"slug": "/top"}, "top"),
        ("01-a/b.md", {"slug": "other"}, "a/other"),
        ("01-a/index.md", {"slug": "./other"}, "a/other"),
        ("a/b/c.md", {"slug": "../d"}, "a/d"),
        ("a/b.md", {"id": "ident"}, "a/ident"),
        ("index.md", {}, ""),
        ("a b/c.md", {}, "a%20b/c"),
    ],
)
def test_docusaurus_addresses(path: str, front_matter: dict[str, str], expected: str) -> None:
    url = page_url("https://x.org/docs", path, "docusaurus", front_matter)
    assert url == ("https://x.org/docs/" + expected if expected else "https://x.org/docs")


@pytest.mark.parametrize(
    ("generator", "path", "expected"),
    [
        ("mdbook", "ch01/intro.md", "/ch01/intro.html"),
        ("mdbook", "README.md", "/index.html"),
        ("plain", "01-a/guide.md", "/01-a/guide"),
        ("plain", "01-a/README.md", "/01-a"),
        ("plain", "index.md", ""),
    ],
)
def test_other_addresses(generator: Generator, path: str, expected: str) -> None:
    assert page_url("https://x.org", path, generator, {"slug": "/ignored"}) == "https://x.org" + expected


@pytest.mark.parametrize("name", ["01-a", "1 - a", "01_a", "1.a", "001--a"])
def test_a_number_in_front_is_an_order(name: str) -> None:
    assert without_number(name) == "a"


@pytest.mark.parametrize("name", ["2021-11-a", "1.2-a", "01-02", "a-01", "42"])
def test_dates_versions_and_bare_numbers_are_names(name: str) -> None:
    assert without_number(name) == name


@pytest.mark.parametrize(
    "bad", ["", "x.org/docs", "ftp://x.org", "file:///etc", "https://", "http://[", "https://x.org?q=1"]
)
def test_a_base_url_that_is_no_web_address_is_wrong_usage(bad: str) -> None:
    with pytest.raises(UsageError, match="not a plain web address"):
        checked_base_url(bad)


def test_a_base_url_loses_its_last_slash() -> None:
    assert checked_base_url(" https://x.org/docs/ ") == "https://x.org/docs"


def test_the_generator_is_known_by_its_files(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    assert detect(docs, [docs], ["import the thing from '@theme/x'"]) == "docusaurus"
    assert detect(docs, [docs], ["Text"]) == "plain"
    (tmp_path / "docusaurus.config.ts").touch()
    assert detect(docs, [docs], ["Text"]) == "docusaurus"
    (docs / "SUMMARY.md").touch()
    assert detect(docs, [docs], ["Text"]) == "mdbook"


def test_a_base_url_with_a_password_is_refused_without_repeating_it() -> None:
    with pytest.raises(UsageError) as caught:
        checked_base_url("https://user:hunter2@example.org/docs")
    assert "hunter2" not in str(caught.value)
