"""askbook as a node of your own LangGraph graph: `python -m examples.subgraph`."""

import asyncio

from langchain_core.messages import HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

from askbook import Settings, build_graph, open_services


async def main(question: str) -> None:
    async with open_services(Settings.from_env()) as services:
        parent = StateGraph(MessagesState).add_node("book", build_graph(services).compile()).add_edge(START, "book")
        result = await parent.compile().ainvoke({"messages": [HumanMessage(question)]})
        print(result["messages"][-1].text)


asyncio.run(main("What is a passage?"))
