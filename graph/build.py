"""The machine: four states, their edges, and LangGraph's means for retries, timeouts and failures."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from langgraph.graph import START, StateGraph
from langgraph.types import TimeoutPolicy

from graph.retries import retry_policies
from graph.routes import after_generate, after_idle
from nodes.archive import archiving
from nodes.error import error, last_resort, to_error
from nodes.fallback import make_to_fallback
from nodes.generate import make_generate
from nodes.idle import make_idle
from nodes.remembering import remembering
from nodes.retrieve import make_retrieve
from nodes.rewrite import make_rewrite, without_rewrite
from nodes.tools import make_tools
from rag.patience import USUAL, Patience
from rag.ports import Services
from rag.rewriting import SECONDS
from state import AgentState, Context, InputState

Machine = StateGraph[AgentState, Context, InputState, AgentState]

STEPS: Final = 40  # recursion limit of a run: the longest profile needs 3 + 2 * (10 tool rounds) + ERROR and IDLE
SEARCH: Final = TimeoutPolicy(run_timeout=timedelta(seconds=60))
REWRITE: Final = TimeoutPolicy(run_timeout=timedelta(seconds=SECONDS))
# A model that sends tokens is alive, however long the answer; its client's own timeout is shorter than this one.
ANSWER: Final = TimeoutPolicy(idle_timeout=timedelta(seconds=120), run_timeout=timedelta(minutes=10))


def build_graph(services: Services, patience: Patience = USUAL) -> Machine:
    """A fresh, uncompiled graph over the given services; `patience` says how often and when a failed step is retried.

    Fresh each time, since LangGraph's node defaults let a builder compile only once. `destinations` only draws: the
    edge to `error` is taken by the handler.
    """
    parts_of = services.parts
    retry = retry_policies(patience)
    # LangGraph types a handler as a node, and calls it with the error too.
    fallback: Any = make_to_fallback(parts_of)
    without: Any = without_rewrite
    failed = {"error": "failed"}
    graph: Machine = StateGraph(AgentState, context_schema=Context, input_schema=InputState)
    graph.set_node_defaults(error_handler=to_error)  # type: ignore[arg-type]  # typed as a node, called with the error too
    graph.add_node("idle", archiving(make_idle(parts_of)), destinations=failed)
    # No retries: the search does without a rewrite, and the call that answers will try again and tell what is wrong.
    graph.add_node("rewrite", make_rewrite(parts_of), timeout=REWRITE, error_handler=without)
    retrieve, generate = make_retrieve(parts_of, patience), remembering(make_generate(parts_of, patience), parts_of)
    graph.add_node("retrieve", retrieve, retry_policy=retry, timeout=SEARCH, destinations=failed)
    graph.add_node(
        "generate",
        generate,
        retry_policy=retry,
        timeout=ANSWER,
        error_handler=fallback,
        destinations={**failed, "generate": "fallback model"},
    )
    graph.add_node("tools", make_tools(parts_of), timeout=SEARCH, destinations=failed)
    graph.add_node("error", error, error_handler=last_resort)
    graph.add_edge(START, "idle")
    graph.add_conditional_edges("idle", after_idle)
    graph.add_edge("rewrite", "retrieve")
    graph.add_edge("retrieve", "generate")
    graph.add_conditional_edges("generate", after_generate)
    graph.add_edge("tools", "generate")
    graph.add_edge("error", "idle")
    return graph
