"""The command line at work, over a tiny book: what programs read of it, and what people see."""

from __future__ import annotations

import json
import re
import shutil
import signal
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import QUESTION, CommandLine, Done
from tests.openai_server import answer, openai_server, refuses
from tests.wire import Reply, Request, WireServer, hangs, listening

RESPONSE = {
    "notices",
    "id", "request_id", "thread_id", "turn_number", "status", "fallback_reason", "phase", "processing_state",
    "metadata", "profile", "model", "content", "plain_content", "citations", "retrievals", "retrieved_chunks",
    "retrieval_count", "tool_calls", "grounding", "tokens_used", "llm_calls", "timings_ms", "created_at",
    "error", "closest",
}  # fmt: skip
CITATION = {
    "id", "marker", "title", "heading", "breadcrumb", "chapter", "page_number", "url", "source_file_path", "chunk_id",
    "chunk_index", "score", "confidence_score", "quote", "start", "end", "text_preview", "chunk_sha256", "formatted",
    "occurrences",
}  # fmt: skip
RETRIEVAL = {
    "tool_name", "query", "filter_applied", "results_count", "total_chunks_found", "avg_similarity",
    "retrieval_time_ms", "timestamp",
}  # fmt: skip
ERROR = {"error_type", "code", "message", "user_message", "hint", "retry_after", "recoverable"}
RESULT = {
    "rank", "chunk_id", "chunk_index", "text", "title", "heading", "breadcrumb", "url", "source_file_path", "score",
}  # fmt: skip
BESIDE = "Who won the 1998 world cup?"


@dataclass
class Silent(WireServer):
    """An endpoint that never answers; `asked` is set by the first request."""

    asked: threading.Event = field(default_factory=threading.Event)

    def answer(self, request: Request) -> Reply:
        self.asked.set()
        return hangs()


@pytest.fixture(scope="module")
def found(run: CommandLine) -> Done:
    return run("search", QUESTION, "--json")


# --- ask ------------------------------------------------------------------------------------------------------------


def test_an_answer_has_exactly_the_announced_fields(answered: Done) -> None:
    assert (answered.code, set(answered.data)) == (0, RESPONSE)
    assert {frozenset(citation) for citation in answered.data["citations"]} == {frozenset(CITATION)}
    assert {frozenset(one) for one in answered.data["retrievals"]} == {frozenset(RETRIEVAL)}
    assert set(answered.data["retrieved_chunks"][0]) == {"rank", "score", "chunk_id", "url", "title", "heading"}
    assert set(answered.data["tokens_used"]) == {"input", "output", "total", "estimated"}
    assert set(answered.data["timings_ms"]) == {"total", "retrieval", "first_token", "generation"}


def test_an_answer_is_the_books(answered: Done) -> None:
    assert (answered.data["status"], answered.data["llm_calls"], answered.data["phase"]) == ("success", 0, "IDLE")
    assert "four teeth" in answered.data["plain_content"]
    assert answered.data["citations"][0]["source_file_path"] == "widgets.md"


def test_there_is_one_citation_for_each_marker_in_the_order_of_first_use(answered: Done) -> None:
    used = list(dict.fromkeys(int(one) for one in re.findall(r"\[(\d+)\]", answered.data["plain_content"])))
    assert [citation["marker"] for citation in answered.data["citations"]] == used


def test_the_passage_that_is_printed_holds_each_quote_where_the_citation_says(run: CommandLine, answered: Done) -> None:
    citations = answered.data["citations"]
    printed = run("passages", *dict.fromkeys(one["chunk_id"] for one in citations), "--json")
    assert printed.code == 0
    assert {frozenset(one) for one in printed.data} == {
        frozenset({"chunk_id", "text", "title", "heading", "url", "sha256"})
    }
    texts = {one["chunk_id"]: one for one in printed.data}
    for citation in citations:
        chunk = texts[citation["chunk_id"]]
        assert chunk["text"][citation["start"] : citation["end"]] == citation["quote"]
        assert chunk["sha256"] == citation["chunk_sha256"]
        for quote in citation["occurrences"]:
            assert chunk["text"][quote["start"] : quote["end"]] == quote["quote"]


def test_an_answer_to_read_is_the_text_and_nothing_else(run: CommandLine, answered: Done) -> None:
    done = run.python("ask", QUESTION)
    assert (done.code, done.out, done.err) == (0, answered.data["content"] + "\n", "")


def test_a_question_beside_the_book_is_refused_in_the_exact_sentence(run: CommandLine) -> None:
    done = run("ask", BESIDE)
    assert (done.code, done.out) == (0, "I don't have information about that in the book content\n")


def test_a_question_may_come_from_standard_input(run: CommandLine) -> None:
    done = run("ask", "-", "--json", stdin=f"  {QUESTION}\n")
    assert done.data["retrievals"][0]["query"] == QUESTION


def test_the_options_of_a_search_reach_it(run: CommandLine) -> None:
    done = run("ask", QUESTION, "-k", "1", "--threshold", "0", "--filter", "gadgets", "--json").data
    assert done["retrieval_count"] == 1
    assert done["retrievals"][0]["filter_applied"] == "gadgets"
    assert done["retrieved_chunks"][0]["url"].startswith("gadgets")


def test_a_threshold_that_no_passage_passes_is_a_refusal(run: CommandLine) -> None:
    done = run("ask", QUESTION, "--threshold", "1", "--json").data
    assert (done["status"], done["fallback_reason"], done["retrieval_count"]) == ("fallback", "no_passage", 0)


def test_a_second_process_goes_on_with_the_conversation(run: CommandLine, answered: Done) -> None:
    assert run.process("ask", QUESTION, "--thread", "answered", "--json").data["turn_number"] == 2


def test_nothing_is_written_beside_the_home(run: CommandLine, answered: Done) -> None:
    assert run.home.exists()
    assert [path.name for path in run.folder.iterdir() if path.name.startswith(".")] == []


def test_a_failing_model_is_told_in_two_lines_and_with_exit_code_1(run: CommandLine) -> None:
    with openai_server() as endpoint:
        endpoint.script.append(refuses(401, "sk-canary"))
        done = run.process("ask", QUESTION, OPENAI_API_KEY="sk-canary", OPENAI_BASE_URL=endpoint.address)
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[0] == "Authentication failed. Please check your API keys."
    assert len(done.err.splitlines()) == 2
    assert "canary" not in done.err


def test_a_model_that_answers_is_called_once(run: CommandLine) -> None:
    with openai_server() as endpoint:
        endpoint.script.append(answer("A widget has four teeth [1]."))
        done = run("ask", QUESTION, "--json", OPENAI_API_KEY="sk-canary", OPENAI_BASE_URL=endpoint.address)
    assert (done.data["llm_calls"], done.data["plain_content"]) == (1, "A widget has four teeth [1].")
    assert "canary" not in done.out + done.err


def test_ctrl_c_ends_the_program_quietly_and_with_exit_code_130(run: CommandLine) -> None:
    with listening(Silent()) as endpoint:
        wired = {"OPENAI_API_KEY": "sk-canary", "OPENAI_BASE_URL": endpoint.address}
        with run.fork("ask", QUESTION, **wired) as started:
            assert endpoint.asked.wait(60)
            started.send_signal(signal.SIGINT)
            out, err = started.communicate(timeout=60)
    assert (started.returncode, out, err) == (130, b"", b"")


def test_an_error_with_json_is_a_whole_response(run: CommandLine) -> None:
    with openai_server() as endpoint:
        endpoint.script.append(refuses(403))
        done = run("ask", QUESTION, "--json", OPENAI_API_KEY="k", OPENAI_BASE_URL=endpoint.address)
    assert (done.code, set(done.data), set(done.data["error"])) == (1, RESPONSE, ERROR)


# --- search and passages --------------------------------------------------------------------------------------------


def test_a_search_has_exactly_the_announced_fields(found: Done) -> None:
    assert found.code == 0
    assert set(found.data) == {
        "query", "filter_applied", "total_results", "error", "retrieval_time_ms", "results", "trace",
    }  # fmt: skip
    assert {frozenset(result) for result in found.data["results"]} == {frozenset(RESULT)}


def test_results_are_ranked_and_scored_between_0_and_1(found: Done) -> None:
    results = found.data["results"]
    assert [result["rank"] for result in results] == list(range(1, len(results) + 1)) != []
    assert all(0 <= result["score"] <= 1 for result in results)
    assert found.data["total_results"] == len(results)


def test_a_search_tells_how_it_came_about(found: Done) -> None:
    trace = found.data["trace"]
    assert trace["queries"] == [{"kind": "question", "text": QUESTION, "weight": 1.0}]
    assert (trace["legs"], trace["threshold"]) == (["dense", "sparse"], 0.2)
    kept = [one for one in trace["candidates"] if one["outcome"] == "kept"]
    assert [(one["chunk_id"], one["cosine"]) for one in kept] == [
        (result["chunk_id"], result["score"]) for result in found.data["results"]
    ]


def test_a_search_with_a_conversation_is_rewritten_where_the_profile_says_so(run: CommandLine) -> None:
    (run.home / "profiles").mkdir()
    (run.home / "profiles" / "rewriting.toml").write_text('extends = "default"\n[retrieval]\nfollowup = "rewrite"\n')
    history = run.folder / "history.json"
    history.write_text(json.dumps([{"role": "user", "content": "?"}, {"role": "assistant", "content": "A widget."}]))
    rewrite = "How many teeth does the widget have?"
    with openai_server() as endpoint:
        endpoint.script.append(answer(rewrite))
        wired = {"OPENAI_API_KEY": "sk-canary", "OPENAI_BASE_URL": endpoint.address, "ASKBOOK_PROFILE": "rewriting"}
        done = run("search", QUESTION, "--history", str(history), "--json", **wired)
    trace = done.data["trace"]
    *_, last = trace["queries"]
    assert (last["kind"], last["text"]) == ("rewrite", rewrite)
    assert last["weight"] > 0
    assert len(trace["legs"]) == len(trace["candidates"][0]["scores"]) == len(trace["queries"]) + 1


def test_a_search_that_finds_nothing_is_no_error(run: CommandLine) -> None:
    done = run("search", QUESTION, "--filter", "https://elsewhere.example", "--json")
    assert (done.code, done.data["results"], done.data["error"]) == (0, [], None)


def test_a_search_knows_the_conversation_that_is_given(run: CommandLine) -> None:
    (run.folder / "history.json").write_text(
        '[{"role": "user", "content": "How do I clean a gadget?"}, {"role": "assistant", "content": "With water."}]'
    )
    done = run("search", "And how often?", "--history", "history.json", "--json")
    assert done.data["results"][0]["source_file_path"] == "gadgets.md"


def test_an_unknown_passage_is_named_and_the_known_are_printed(run: CommandLine, found: Done) -> None:
    known = found.data["results"][0]["chunk_id"]
    unknown = "00000000-0000-0000-0000-000000000000"
    done = run("passages", known, unknown, "--json")
    assert (done.code, [one["chunk_id"] for one in done.data]) == (2, [known])
    assert done.err == f"There is no passage {unknown}.\n"
    none = run("passages", unknown, "--json")
    assert (none.code, none.data["error"]["code"], none.err) == (2, "unknown_chunk", done.err)


# --- ingest and doctor ----------------------------------------------------------------------------------------------


def counts(report: Any) -> dict[str, int]:
    return {name: number for name, number in report["documents"].items() if number}


def test_a_book_is_read_once_and_then_only_what_has_changed(tmp_path: Path, tiny_source: Path) -> None:
    run = CommandLine(tmp_path)
    shutil.copytree(tiny_source, tmp_path / "pages")
    dry = run("ingest", "pages", "--dry-run", "--json")
    assert (dry.code, counts(dry.data), run.home.exists()) == (0, {"added": 2}, False)
    first = run("ingest", "pages", "--base-url", "https://book.example", "--json")
    assert set(first.data) == {
        "collection", "embedding_model", "documents", "chunks", "embedded", "tokens", "seconds", "failures", "sources",
            "without_text", "beside",
    }  # fmt: skip
    assert set(first.data["documents"]) == {"added", "changed", "unchanged", "deleted", "failed"}
    assert set(first.data["chunks"]) == {"added", "deleted", "unchanged", "total"}
    assert (first.code, first.data["collection"], counts(first.data)) == (0, "book", {"added": 2})
    (tmp_path / "pages" / "gadgets.md").unlink()
    again = run("ingest", "pages", "--base-url", "https://book.example", "--json")
    assert (counts(again.data), again.data["embedded"]) == ({"unchanged": 1, "deleted": 1}, 0)


def test_a_new_page_without_text_is_not_called_unchanged(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    for name, text in {"good.md": "# Good\n\nA good page.\n", "empty.md": ""}.items():
        (tmp_path / "pages" / name).write_text(text)
    assert "Pages: 1 added, 1 without text." in CommandLine(tmp_path)("ingest", "pages").out


def test_a_source_that_cannot_be_read_is_told_after_the_others_were(tmp_path: Path) -> None:
    run = CommandLine(tmp_path)
    (tmp_path / "good.md").write_text("# Good\n\nA good page.\n")
    (tmp_path / "bad.md").write_bytes(b"# Bad\n\n\xff\xfe\n")
    done = run("ingest", ".", "--json")
    assert (done.code, done.data["chunks"]["total"]) == (1, 1)
    assert set(done.data["failures"][0]) == {"source", "reason"}


def test_doctor_finds_nothing_wrong_with_a_good_home(run: CommandLine) -> None:
    done = run("doctor", "--json")
    assert (done.code, done.data["ok"]) == (0, True)
    assert [check["name"] for check in done.data["checks"]] == ["profile", "embedding", "book", "model", "memory"]


def test_doctor_says_what_to_do_about_a_key_that_is_refused(run: CommandLine) -> None:
    with openai_server() as endpoint:
        endpoint.script.append(refuses(401))
        done = run("doctor", OPENAI_API_KEY="sk-canary", OPENAI_BASE_URL=endpoint.address)
    assert done.code == 1
    assert "FAIL  model" in done.out
    assert "Check OPENAI_API_KEY" in done.out
    assert "canary" not in done.out + done.err


def test_what_was_passed_over_and_what_an_extra_would_read_are_told_by_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag.ingest.formats.file_format.find_spec", lambda library: None)
    run = CommandLine(tmp_path)
    book = tmp_path / "book"
    book.mkdir()
    (book / "good.md").write_text("# Good\n\nA good page.\n")
    for n in range(26):
        (book / f"{n:02}.html").write_text("<p>A page.</p>")
        (book / f"{n:02}.xlsx").write_text("no page")
    (book / "Makefile").write_text("all:\n")
    done = run("ingest", "book", "--dry-run")
    assert done.code == 1
    assert "Passed over: 26 .xlsx files and 1 other.\n" in done.out
    first, rest = done.err.splitlines()[-2:]
    assert first.endswith('00.html: HTML pages need the extra html; install it: pip install ".[html]"')
    assert rest == "and 25 more files for the same reason"


def test_a_file_from_outside_that_a_page_includes_is_told_in_one_line(tmp_path: Path) -> None:
    run = CommandLine(tmp_path)
    book = tmp_path / "book"
    book.mkdir()
    (book / "book.toml").write_text("[book]\nsrc = '.'\n")
    (book / "SUMMARY.md").write_text("- [A](a.md)\n")
    (book / "a.md").write_text("# Good\n\nA good page.\n\n{{#include ../README.md}}\n")
    (tmp_path / "README.md").write_text("Read me")
    done = run("ingest", "book", "--dry-run")
    assert done.code == 0
    told = "/a.md: it includes ../README.md, which is outside the source and its repository; that part is left out"
    assert [line for line in done.err.splitlines() if line.endswith(told)]


def test_the_reason_for_which_an_included_file_is_left_out_and_pages_without_text_are_told(tmp_path: Path) -> None:
    run = CommandLine(tmp_path)
    (tmp_path / "mkdocs.yml").write_text("docs_dir: docs")
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text('A.\n\n--8<-- "b.png"\n--8<-- "../.env"\n')
    (docs / "b.md").write_text('--8<-- "LICENSE.md"')
    (docs / "b.png").write_bytes(b"\x00")
    (tmp_path / ".env").write_text("KEY=1")
    done = run("ingest", ".", "--dry-run")
    assert "docs/a.md: it includes ../.env, which is hidden, and b.png, which is not a text; that" in done.err
    assert "docs/b.md: it includes LICENSE.md, which is missing; that part is left out" in done.err
    assert f"Without text: {tmp_path}/docs/b.md." in done.out
