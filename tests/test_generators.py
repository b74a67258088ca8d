"""The generator of a source is found by its configuration, and is named with the reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rag.errors import UsageError
from rag.ingest.loaders import load_source
from rag.ingest.titles import book_title, without_number
from tests.books_on_disk import addresses, loaded, written

PAGE = {"docs/a.md": "# A"}


@pytest.mark.parametrize(
    ("files", "source", "generator", "reason"),
    [
        (PAGE, "docs", "plain", "no generator's configuration was found"),
        (PAGE | {"mkdocs.yml": "site_name: X"}, ".", "mkdocs", "mkdocs.yml"),
        (PAGE | {"mkdocs.yml": "site_name: X"}, "docs", "mkdocs", "{}/mkdocs.yml"),
        (PAGE | {"website/docusaurus.config.ts": "export default {}"}, ".", "plain", "no generator's"),
        ({"website/docusaurus.config.ts": "", "website/docs/a.md": "A"}, ".", "docusaurus", "website/docusaurus"),
        (PAGE | {"docusaurus.config.js": ""}, "docs", "docusaurus", "{}/docusaurus.config.js"),
        (PAGE | {"book.toml": '[book]\nsrc = "docs"', "docs/SUMMARY.md": "- [A](a.md)"}, ".", "mdbook", "book.toml"),
        (PAGE | {"docs/SUMMARY.md": "- [A](a.md)"}, "docs", "plain", "no generator"),
        (PAGE | {"docs/x/_category_.json": "{}", "docs/x/b.md": "B"}, "docs", "plain", "no generator"),
        ({"docs/a.md": "import Tabs from '@theme/Tabs'\n\nA"}, "docs", "plain", "no generator"),
        (PAGE | {"mkdocs.yml": "docs_dir: other", "other/b.md": "B"}, "docs", "plain", "no generator's"),
        ({"doc/docusaurus.config.js": "", "x/docs/a.md": "A", "doc/docs/b.md": "B"}, "x", "plain", "no generator's"),
        ({"doc/book.toml": "", "x/SUMMARY.md": "- [A](a.md)", "x/a.md": "A"}, "x", "plain", "no generator"),
    ],
)
def test_the_generator_is_found_by_its_files(
    files: dict[str, str], source: str, generator: str, reason: str, tmp_path: Path
) -> None:
    result = load_source(written(tmp_path, files) / source)
    assert result.generator == generator
    assert result.reason.startswith(reason.format(tmp_path))


def test_a_named_generator_is_taken_and_an_unknown_one_is_wrong_usage(tmp_path: Path) -> None:
    result = loaded(tmp_path, PAGE | {"mkdocs.yml": "site_name: X"}, generator="docusaurus")
    assert (result.generator, result.reason) == ("docusaurus", "named by --generator")
    with pytest.raises(UsageError, match="There is no generator 'wordpress'"):
        load_source(tmp_path, generator="wordpress")


@pytest.mark.parametrize(
    ("generator", "path", "expected"),
    [
        ("mkdocs", "ch01/intro.md", "/ch01/intro/"),
        ("mkdocs", "index.md", "/"),
        ("plain", "01-a/guide.md", "/01-a/guide"),
        ("plain", "01-a/README.md", "/01-a"),
        ("plain", "index.md", ""),
    ],
)
def test_addresses_follow_the_generator(generator: str, path: str, expected: str, tmp_path: Path) -> None:
    assert addresses(tmp_path, {path: "---\nslug: /ignored\n---\nA"}, generator=generator) == {path: expected}


@pytest.mark.parametrize("name", ["01-a", "1 - a", "01_a", "1.a", "001--a"])
def test_a_number_in_front_is_an_order(name: str) -> None:
    assert without_number(name) == "a"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"mkdocs.yml": "site_name: The *uv* manual", "docs/index.md": "# Start"}, "The uv manual"),
        ({"zensical.toml": '[project]\nsite_name = "Zen"', "docs/index.md": "# Start"}, "Zen"),
        ({"book.toml": "[book]\ntitle = 'B'", "src/SUMMARY.md": "- [A](a.md)", "src/a.md": "# A"}, "B"),
        ({"hugo.toml": "title = 'H'\n[languages.en]\ntitle = 'In English'", "content/a.md": "# A"}, "In English"),
        ({"docusaurus.config.js": "module.exports = {title: 'D', presets: ['classic']}", "docs/a.md": "# A"}, "D"),
        ({"mkdocs.yml": "site_name: Documentation", "docs/index.md": "# The book of pears"}, "The book of pears"),
        ({"index.md": "# The book of pears"}, "The book of pears"),
    ],
)
def test_a_book_is_called_as_the_configuration_of_its_site_says(
    files: dict[str, str], expected: str, tmp_path: Path
) -> None:
    result = load_source(written(tmp_path / "book", files))
    # The start page of a site whose pages are in a folder has the path of that folder.
    documents = [replace(d, path=d.path.removeprefix("docs/")) for d in result.documents]
    assert book_title(result.source, documents, result.title) == expected
