"""The MCP server with the official client, in the process and as `run.py mcp`."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.server.mcpserver import MCPServer

from graph.agent import open_agent
from graph.book_agents import open_book_agents
from rag.errors import AskbookError
from rag.profiles.offered_profiles import Offer
from rag.settings import Settings
from rag.web.hosting import Hosting
from rag.web.mcp_server import build_mcp
from state import Context
from tests.homes import copied
from tests.machine import ANSWER, Machine
from tests.rooms import ROOT
from tests.web import Books


def server(machine: Machine) -> MCPServer:
    return build_mcp(Hosting(Books({"book": machine}), Context, Offer(("default",), "default")))


async def test_the_tools_are_described_and_take_only_what_they_need() -> None:
    async with Client(server(Machine())) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == {"ask_book", "search_book", "list_books"}
    schema: Any = tools["ask_book"].input_schema
    assert (set(schema["properties"]), schema["required"]) == (
        {"question", "thread_id", "filter", "top_k", "book"},
        ["question"],
    )
    assert all(tool.description for tool in tools.values())


async def test_a_question_gives_the_answer_its_record_and_links_to_its_passages() -> None:
    machine = Machine(ANSWER)
    async with Client(server(machine)) as client:
        result: Any = await client.call_tool("ask_book", {"question": "What is a node?"})
    assert not result.is_error
    assert result.content[0].text == result.structured_content["content"]
    (link,) = result.content[1:]
    assert link.uri == f"askbook://passage/{result.structured_content['citations'][0]['chunk_id']}"
    assert await machine.agent.threads() == []


async def test_a_thread_is_stored_and_continued() -> None:
    machine = Machine(ANSWER, ANSWER)
    async with Client(server(machine)) as client:
        for number in (1, 2):
            result: Any = await client.call_tool("ask_book", {"question": "What is a node?", "thread_id": "t"})
            assert result.structured_content["turn_number"] == number
    assert await machine.agent.threads() == ["t"]


@pytest.mark.parametrize(
    ("arguments", "script", "said"),
    [
        ({"question": ""}, [], "empty"),
        ({"question": "What is a node?", "thread_id": "a\nb"}, [], "conversation id"),
        ({"question": "What is a node?"}, [AskbookError("auth_error", "invalid_key", "Rejected.")], "API keys"),
    ],
)
async def test_a_failure_is_a_result_that_says_what_to_do(
    arguments: dict[str, Any], script: list[Any], said: str
) -> None:
    async with Client(server(Machine(*script))) as client:
        result: Any = await client.call_tool("ask_book", arguments)
    assert result.is_error
    assert said in result.content[0].text
    assert result.structured_content["error"]["code"]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("ask_book", {}, 'The argument "question" of ask_book is not valid: it is required.'),
        ("ask_book", {"question": 7}, 'The argument "question" of ask_book is not valid: it must be a string.'),
        (
            "search_book",
            {"query": "node", "top_k": 99},
            'The argument "top_k" of search_book is not valid: it must be less than or equal to 20.',
        ),
        ("search_book", {"query": "node", "filter": "author:x"}, '"author" is not a field that can be filtered.'),
    ],
)
async def test_a_wrong_argument_is_one_sentence(tool: str, arguments: dict[str, Any], said: str) -> None:
    async with Client(server(Machine())) as client:
        result: Any = await client.call_tool(tool, arguments)
    assert result.is_error
    assert said in result.content[0].text
    assert "pydantic" not in result.content[0].text
    assert "\n" not in result.content[0].text
    assert result.structured_content["error"]["code"] in ("invalid_option", "filter")


async def test_a_tool_uses_the_book_that_is_named(two_books: Path, tmp_path: Path) -> None:
    settings = Settings(home=copied(two_books, tmp_path / "home"))
    async with open_agent(settings) as agent, open_book_agents(settings, agent, ["default"]) as books:
        served = build_mcp(Hosting(books, Context, Offer(("default",), "default")))
        async with Client(served) as client:
            listed: Any = await client.call_tool("list_books", {})
            names = {book["name"]: book["current"] for book in listed.structured_content["books"]}
            assert names == {"book": True, "kettles": False}
            asked = {"question": "What is the lid of a kettle made of?", "book": "kettles", "thread_id": "t"}
            answer: Any = await client.call_tool("ask_book", asked)
            assert "copper" in answer.structured_content["plain_content"]
            found: Any = await client.call_tool("search_book", {"query": "lid", "book": "kettles", "top_k": 1})
            (passage,) = found.structured_content["results"]
            address = f"askbook://passage/{passage['chunk_id']}?book=kettles"
            assert [one.uri for one in found.content if one.type == "resource_link"] == [address]
            read: Any = await client.read_resource(address)
            assert read.contents[0].text == passage["text"]
            for tool, arguments in (("ask_book", {"question": "What?"}), ("search_book", {"query": "What?"})):
                refused: Any = await client.call_tool(tool, arguments | {"book": "none"})
                assert refused.is_error
                assert refused.structured_content["error"]["code"] == "unknown_book"


async def test_the_command_serves_a_client_over_standard_input(tiny_book: Path, tmp_path: Path) -> None:
    home = shutil.copytree(tiny_book, tmp_path / "home")
    parameters = StdioServerParameters(
        command=sys.executable,
        args=[str(ROOT / "run.py"), "mcp"],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "ASKBOOK_HOME": str(home)},
        cwd=str(tmp_path),
    )
    async with Client(parameters) as client:
        books: Any = await client.call_tool("list_books", {})
        assert books.structured_content["books"][0]["passages"] > 0
        found: Any = await client.call_tool("search_book", {"query": "widget teeth", "top_k": 1})
        (passage,) = found.structured_content["results"]
        read: Any = await client.read_resource(f"askbook://passage/{passage['chunk_id']}")
        assert read.contents[0].text == passage["text"]
        answer: Any = await client.call_tool("ask_book", {"question": "How many teeth has a widget?"})
        assert "four teeth" in answer.structured_content["plain_content"]
