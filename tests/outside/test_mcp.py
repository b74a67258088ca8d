"""Other people's programs on the book: assistants by the Model Context Protocol, and LangGraph's client on Studio."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from langgraph_sdk import get_client
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult

from tests.command_line import ROOT, CommandLine
from tests.openai_server import OPENAI_KEY, answer, openai_server, refuses
from tests.outside.conftest import FOUR_TEETH, TEETH, UNKNOWN
from tests.studio_server import studio

CALLS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "search": ("search_book", {"query": TEETH, "top_k": 2}),
    "answer": ("ask_book", {"question": TEETH, "thread_id": "assistant"}),
    "failure": ("ask_book", {"question": TEETH}),
    "refusal": ("ask_book", {"question": UNKNOWN}),
    "blank": ("ask_book", {"question": " "}),
    "too long": ("ask_book", {"question": "x" * 2001}),
    "too many": ("search_book", {"query": TEETH, "top_k": 21}),
    "unknown book": ("search_book", {"query": TEETH, "book": "nope"}),
    "unknown tool": ("nope", {}),
}
Session = dict[str, Any]  # the results of the calls by their names, `tools`, `resource` and `threads`


@pytest.fixture(scope="module")
def session(book: Path, tmp_path_factory: pytest.TempPathFactory) -> Session:
    """What the official client got in one session from one `run.py mcp` on standard input and output."""
    run = CommandLine(tmp_path_factory.mktemp("mcp"), book)
    with openai_server() as model:
        model.script = [answer(FOUR_TEETH), refuses(401)]
        variables = {"OPENAI_API_KEY": OPENAI_KEY, "OPENAI_BASE_URL": model.address, "ASKBOOK_JUDGE": "none"}
        command, home = [str(ROOT / "run.py"), "mcp"], {"ASKBOOK_HOME": str(run.home)}
        got = asyncio.run(talk(StdioServerParameters(command=sys.executable, args=command, env=variables | home)))
        got["threads"] = [one["thread_id"] for one in run("threads", "list", "--json").data]
    return got


async def talk(server: StdioServerParameters) -> Session:
    async with Client(server) as client:
        got: Session = {"tools": (await client.list_tools()).tools}
        for name, (tool, arguments) in CALLS.items():
            got[name] = await client.call_tool(tool, arguments)
        (link,) = (part for part in got["answer"].content if part.type == "resource_link")
        return got | {"resource": await client.read_resource(link.uri)}


def text(result: CallToolResult) -> str:
    return "\n".join(part.text for part in result.content if part.type == "text")


def test_search_book_returns_what_search_prints(session: Session) -> None:
    found = session["search"].structured_content
    assert (found["query"], found["total_results"], found["error"]) == (TEETH, 2, None)
    assert (found["results"][0]["rank"], found["results"][0]["title"]) == (1, "Widgets")
    assert "Every widget has exactly four teeth." in text(session["search"])
    assert {"ask_book", "search_book"} <= {tool.name for tool in session["tools"]}


def test_ask_book_returns_the_answer_the_response_and_its_passage(session: Session) -> None:
    response = session["answer"].structured_content
    assert text(session["answer"]).startswith(FOUR_TEETH)
    assert (response["status"], response["thread_id"]) == ("success", "assistant")
    assert response["citations"][0]["quote"] == "Every widget has exactly four teeth."
    assert "A widget is a small part that turns a shaft." in session["resource"].contents[0].text


def test_a_refusal_is_no_error_and_only_what_has_a_thread_id_is_stored(session: Session) -> None:
    refusal = "I don't have information about that in the book content"
    assert (session["refusal"].is_error, text(session["refusal"])) == (False, refusal)
    assert session["threads"] == ["assistant"]


INVALID: Final = [(name, "invalid_input") for name in ("blank", "too long", "too many", "unknown book")]


@pytest.mark.parametrize(("name", "error_type"), [("failure", "auth_error"), ("unknown tool", None), *INVALID])
def test_what_fails_is_an_error_of_the_tool_in_words(session: Session, name: str, error_type: str | None) -> None:
    result = session[name]
    assert (result.is_error, bool(text(result)), "Traceback" in text(result)) == (True, True, False)
    assert (result.structured_content or {}).get("error", {}).get("error_type") == error_type


@pytest.mark.xfail(strict=True, reason="machine issue: the first turn in a fresh home is answered in Studio")
async def test_the_first_question_in_a_fresh_home_is_answered_in_studio(tmp_path: Path) -> None:
    (work := tmp_path / "work").mkdir()
    question: dict[str, Any] = {"messages": [{"role": "user", "content": "What is a passage?"}]}
    with studio(work, tmp_path / "home") as address:
        async with get_client(url=address) as client:
            thread = await client.threads.create()
            state: Any = await client.runs.wait(thread["thread_id"], "agent", input=question)
    assert state["response"]["error"] is None
    assert [message["type"] for message in state["messages"]] == ["human", "ai"]
    assert state["messages"][-1]["response_metadata"]["citations"]
