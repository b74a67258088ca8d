"""One conversation with one peer, in the environment of the peers. Imports nothing of askbook.

    python bench/peers/peer.py NAME ADDRESS PASSAGES TURNS FOLDER

PASSAGES is a JSON file with the passages of each question as one text. Prints JSON: milliseconds of each turn, elapsed
and of the processor, and the last answer. Conversations are stored in FOLDER, in SQLite where the peer can do that.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

KEY = "sk-bench"
INSTRUCTIONS = "Answer from the passages only, and cite each sentence with [n]."
Ask = Callable[[str], Awaitable[str]]


async def create_agent_peer(address: str, passages: dict[str, str], folder: Path, stack: AsyncExitStack) -> Ask:
    """`langchain.agents.create_agent` with a retriever tool and the SQLite checkpointer."""
    from langchain.agents import create_agent
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    @tool
    def search_book(query: str) -> str:
        """Search the book."""
        return passages[query]

    saver = await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(str(folder / "memory.sqlite")))
    model = ChatOpenAI(model="searches", base_url=address, api_key=KEY, streaming=True)
    agent = create_agent(model, [search_book], system_prompt=INSTRUCTIONS, checkpointer=saver)

    async def ask(question: str) -> str:
        config = {"configurable": {"thread_id": "one"}}
        state = await agent.ainvoke({"messages": [{"role": "user", "content": question}]}, config)
        return str(state["messages"][-1].content)

    return ask


async def agents_sdk_peer(address: str, passages: dict[str, str], folder: Path, _stack: AsyncExitStack) -> Ask:
    """OpenAI's Agents SDK with `SQLiteSession` and a function tool."""
    from agents import Agent, OpenAIChatCompletionsModel, Runner, SQLiteSession, function_tool, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)

    @function_tool
    def search_book(query: str) -> str:
        """Search the book."""
        return passages[query]

    model = OpenAIChatCompletionsModel(model="searches", openai_client=AsyncOpenAI(base_url=address, api_key=KEY))
    agent = Agent(name="book", instructions=INSTRUCTIONS, model=model, tools=[search_book])
    session = SQLiteSession("one", str(folder / "memory.sqlite"))

    async def ask(question: str) -> str:
        run = Runner.run_streamed(agent, question, session=session)
        async for _ in run.stream_events():
            pass
        return str(run.final_output)

    return ask


async def llama_index_peer(address: str, passages: dict[str, str], _folder: Path, _stack: AsyncExitStack) -> Ask:
    """LlamaIndex's condense-plus-context chat engine, which keeps its conversation in memory."""
    from llama_index.core.chat_engine import CondensePlusContextChatEngine
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, TextNode
    from llama_index.llms.openai_like import OpenAILike

    asked = [""]

    class Passages(BaseRetriever):
        def _retrieve(self, _query: Any) -> list[Any]:
            return [NodeWithScore(node=TextNode(text=passages[asked[0]]), score=1.0)]

    model = OpenAILike(model="answers", api_base=address, api_key=KEY, is_chat_model=True, context_window=8192)
    engine = CondensePlusContextChatEngine.from_defaults(retriever=Passages(), llm=model, system_prompt=INSTRUCTIONS)

    async def ask(question: str) -> str:
        asked[0] = question  # the scripted model cannot condense, so the passages are those of the question
        answer = await engine.astream_chat(question)
        return "".join([part async for part in answer.async_response_gen()])

    return ask


async def bare_client_peer(address: str, passages: dict[str, str], _folder: Path, _stack: AsyncExitStack) -> Ask:
    """OpenAI's client alone, with the conversation in a list: the floor."""
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=address, api_key=KEY)
    messages: list[Any] = [{"role": "system", "content": INSTRUCTIONS}]

    async def ask(question: str) -> str:
        now = {"role": "user", "content": f"{passages[question]}\n\n{question}"}
        stream = await client.chat.completions.create(model="answers", messages=[*messages, now], stream=True)
        text = "".join([c.choices[0].delta.content or "" async for c in stream if c.choices])
        messages.extend([{"role": "user", "content": question}, {"role": "assistant", "content": text}])
        return text

    return ask


PEERS = {
    "create_agent": create_agent_peer,
    "agents-sdk": agents_sdk_peer,
    "llama-index": llama_index_peer,
    "bare-client": bare_client_peer,
}


async def main(name: str, address: str, file: str, turns: str, folder: str) -> None:
    passages: dict[str, str] = json.loads(Path(file).read_text(encoding="utf-8"))
    questions = [*passages]
    found = []
    async with AsyncExitStack() as stack:
        ask = await PEERS[name](address, passages, Path(folder), stack)
        for number in range(int(turns)):
            wall, processor = time.perf_counter(), time.process_time()
            answer = await ask(questions[number % len(questions)])
            found.append(((time.perf_counter() - wall) * 1000, (time.process_time() - processor) * 1000))
    stored = sum(one.stat().st_size for one in Path(folder).rglob("*") if one.is_file())
    print(json.dumps({"turns": found, "answer": answer, "bytes": stored}))


if __name__ == "__main__":
    os.environ["OPENAI_API_KEY"] = KEY
    asyncio.run(main(*sys.argv[1:]))
