"""The plan of an ingestion changes what differs and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from rag.book import Chunk, Document, IndexEntry
from rag.ingest.chunking import chunk
from rag.ingest.plan import Plan, make_plan
from tests.fakes import count_words


def page(path: str, text: str = "Text.", *, source: str = "/a", sha: str = "", url: str = "") -> Document:
    return Document(source, path, url or path, path, text, sha or text)


def cut(document: Document) -> Sequence[Chunk]:
    return chunk(document, count_tokens=count_words)


def stored(*documents: Document) -> list[IndexEntry]:
    chunks = [c for document in documents for c in cut(document)]
    return [
        IndexEntry(c.id, c.source, c.source_file_path, c.document_sha256, c.sha256, c.chunk_index, c.page_chunks)
        for c in chunks
    ]


def plan_of(documents: Sequence[Document], entries: Sequence[IndexEntry], *, source: str = "/a") -> Plan:
    return make_plan(documents, entries, sources={source}, chunk=cut)


def test_an_unchanged_page_is_not_even_chunked() -> None:
    def fail(document: Document) -> Sequence[Chunk]:
        raise AssertionError(document.path)

    plan = make_plan([page("a")], stored(page("a")), sources={"/a"}, chunk=fail)
    assert plan.documents_unchanged == (("/a", "a"),)
    assert plan.is_empty
    assert plan.total == plan.unchanged == 1


def test_a_changed_page_is_written_whole_and_counted_by_text() -> None:
    before = page("a", "## A\n\nOne.\n\n## B\n\nTwo.\n\n## C\n\nThree.")
    after = page("a", "## A\n\nOne.\n\n## B\n\nTwo, changed.\n\n## D\n\nFour.")
    plan = plan_of([after], stored(before))
    assert plan.documents_changed == (("/a", "a"),)
    assert len(plan.write) == 3
    assert len(plan.remove) == 1
    assert (plan.added, plan.deleted, plan.unchanged, plan.total) == (2, 2, 1, 3)


def test_a_page_that_could_not_be_read_keeps_what_the_index_holds() -> None:
    plan = make_plan([page("a")], stored(page("a"), page("bad")), sources={"/a"}, chunk=cut, spared=[("/a", "bad")])
    assert plan.is_empty
    assert plan.documents_deleted == ()


def test_of_two_pages_with_one_address_the_later_counts_once() -> None:
    pages = [page("a", "Old.", url="https://x.org"), page("b", "New.", source="/b", url="https://x.org")]
    plan = make_plan(pages, [], sources={"/a", "/b"}, chunk=cut)
    assert [c.text for c in plan.write] == ["New."]
    assert plan.documents_added == (("/b", "b"),)
    again = make_plan(pages, stored(pages[1]), sources={"/a", "/b"}, chunk=cut)
    assert again.is_empty


def test_a_chunk_that_another_source_owned_is_taken_over_and_not_removed() -> None:
    old = page("a", url="https://x.org")
    plan = plan_of([page("b", source="/b", url="https://x.org")], stored(old), source="/b")
    assert (plan.remove, plan.total) == (frozenset(), 1)


def test_an_empty_page_changes_nothing() -> None:
    plan = plan_of([page("a", "", sha="x")], [])
    assert plan.documents_unchanged == (("/a", "a"),)
    assert (plan.is_empty, plan.empty) == (True, (("/a", "a"),))


def test_a_page_that_became_empty_is_changed_and_its_chunks_go() -> None:
    plan = plan_of([page("a", "", sha="x")], stored(page("a")))
    assert plan.documents_changed == (("/a", "a"),)
    assert (plan.deleted, plan.total) == (1, 0)
