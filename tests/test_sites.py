"""The pages and anchors of small books are those of the sites that the generators themselves make of them."""

from __future__ import annotations

import json

import pytest

from rag.ingest.loaders import load_source
from rag.ingest.page import parsed, walk
from tests.books_on_disk import BASE
from tests.site_programs import COMMANDS, SITES, bare


@pytest.mark.parametrize("name", COMMANDS)
def test_pages_and_anchors_are_those_of_the_built_site(name: str) -> None:
    expected = json.loads((SITES / name / "expected.json").read_text(encoding="utf-8"))["pages"]
    result = load_source(SITES / name, base_url=BASE)
    assert (result.generator, result.failures) == (name, ())
    made = {
        bare(document.url.removeprefix(BASE)): [b.anchor for b in walk(parsed(document).blocks) if b.anchor]
        for document in result.documents
    }
    assert sorted(made) == sorted(expected)
    assert made == {page: [anchor for anchor in anchors if anchor] for page, anchors in expected.items()}
