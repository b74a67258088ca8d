"""The five profiles as their designs have them, side by side: what `test_contract_profile.py` holds each of them to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.openai_server import OPENAI_KEY, Endpoint
from tests.profile_wire import OWN_KEY, OWN_VARIABLE, Wire

REFUSAL: Final = "I don't have information about that in the book content"
FOOTER: Final = "\n\n---\n**Sources:**\n"
_SEARCH: Final = {
    "name": "retrieve_documentation",
    "description": "Search the book documentation for relevant information based on a question or topic. "
    "Returns chunks of text from the book with metadata about their source.",
    "parameters": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "The question or topic to search for in the documentation"},
            "top_k": {
                "type": "integer",
                "description": "Number of most relevant chunks to retrieve (default: 5)",
                "default": 5,
            },
            "similarity_threshold": {
                "type": "number",
                "description": "Minimum similarity score for results (0.0-1.0, default: 0.0)",
                "default": 0.0,
            },
        },
        "required": ["query"],
    },
}


@dataclass(frozen=True)
class Design:
    """What one design says.

    `one` is the answer "A node is a process [1]." as it is shown, `both` the one that goes on with "A topic is a bus
    [2]."; `invented` is an answer with a source that was not retrieved, of which `never` may not be shown.
    `says` are sentences of the instructions, the first of them their beginning.
    """

    name: str
    model: str
    one: str
    both: str
    says: tuple[str, ...]
    invented: str
    never: str
    temperature: float = 0.0
    top_k: int = 5
    threshold: float = 0.0
    limits_answers: bool = False
    function: Mapping[str, Any] | None = None
    thread: str | None = None
    collection: str | None = None
    own_endpoint: bool = False
    stored: bool = True

    @property
    def tool(self) -> str:
        assert self.function is not None
        return str(self.function["name"])

    @property
    def key(self) -> str:
        return OWN_KEY if self.own_endpoint else OPENAI_KEY

    def wire(self, endpoint: Endpoint, home: Path, patch: pytest.MonkeyPatch, **more: Any) -> Wire:
        """The profile with its endpoint; with a home, if its conversations are stored, as a program started again."""
        if self.own_endpoint:
            patch.delenv("OPENAI_BASE_URL")
            patch.setenv(OWN_VARIABLE, OWN_KEY)
        return Wire(self.name, endpoint, home if self.stored else None, own_endpoint=self.own_endpoint, **more)


DOCUMENTATION: Final = Design(
    name="documentation-agent",
    model="gpt-3.5-turbo",
    one="A node is a process (from Page 1, Nodes).",
    both="A node is a process (from Page 1, Nodes). A topic is a bus (from Page 2, Nodes).",
    says=(
        "You are a helpful assistant that answers",
        "using ONLY information retrieved from the documentation. You have access to a retrieval tool",
        "- ALWAYS call the retrieve_documentation tool before answering any question",
        "- ONLY use information from the retrieved chunks in your answers",
        f'- If no relevant chunks are found, respond with: "{REFUSAL}"',
        "- NEVER use external knowledge, make assumptions, or invent information",
        "- Include source citations (page titles and section headings) in your answers",
        "- For follow-up questions, you may reference previous answers but still call the tool if",
        '- Include inline citations like "(from Chapter 2: Installation)"',
        "- If multiple sources are used, list all relevant chapters/sections",
    ),
    invented="A node is a process [1] (from Chapter 9: Magic).",
    never="Magic",
    function=_SEARCH,
    collection="documentation",
    stored=False,
)
BOOK: Final = Design(
    name="book-agent",
    model="gpt-4o-mini",
    one=f"A node is a process [1].{FOOTER}[1] https://book.example/page-1#nodes (score: 0.90)",
    both=f"A node is a process [1]. A topic is a bus [2].{FOOTER}"
    "[1] https://book.example/page-1#nodes (score: 0.90)\n[2] https://book.example/page-2#nodes (score: 0.80)",
    says=("You are an assistant that answers questions about a book. You use the retrieved content of the book",),
    invented="A node is a process [1][7].",
    never="[7]",
    function=_SEARCH,
    stored=False,
)
ISAAC: Final = Design(
    name="isaac-sim",
    model="meta-llama/llama-3.2-3b-instruct:free",
    one="A node is a process [Source: Page 1](https://book.example/page-1#nodes).",
    both="A node is a process [Source: Page 1](https://book.example/page-1#nodes). "
    "A topic is a bus [Source: Page 2](https://book.example/page-2#nodes).",
    says=(
        "You are a helpful assistant for the Isaac Sim robotics book. Your role is to answer",
        "2. Always cite your sources using the format: [Source: title](url)\n",
        f'3. If the context doesn\'t contain relevant information, say "{REFUSAL}"\n',
        "4. Do not answer questions outside the scope of robotics and Isaac Sim\n",
    ),
    invented="A node is a process [Source: Made up](https://elsewhere.example).",
    never="elsewhere",
    temperature=0.7,
    threshold=0.3,
    limits_answers=True,
    own_endpoint=True,
)
_STRICT: Final = "You answer strictly from the context that was retrieved from the textbook."
TEXTBOOK: Final = Design(
    name="textbook-assistant",
    model="gpt-4o-mini",
    one=f"A node is a process [1].{FOOTER}- [1] Page 1 > Nodes, page-1.md (https://book.example/page-1#nodes)",
    both=f"A node is a process [1]. A topic is a bus [2].{FOOTER}"
    "- [1] Page 1 > Nodes, page-1.md (https://book.example/page-1#nodes)\n"
    "- [2] Page 2 > Nodes, page-2.md (https://book.example/page-2#nodes)",
    says=(f"You are a Textbook Assistant. {_STRICT}",),
    invented="A node is a process [1][7].",
    never="[7]",
    threshold=0.2,
    function={
        "name": "search_knowledge_base",
        "description": "Search the textbook for a question or topic. Returns chunks of its text with their files and "
        "addresses.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "The question or topic to search the textbook for"},
            },
            "required": ["query"],
        },
    },
)
TUTOR: Final = Design(
    name="robotics-tutor",
    model="gpt-4",
    one="A node is a process [Page 1 - Nodes](https://book.example/page-1#nodes).",
    both="A node is a process [Page 1 - Nodes](https://book.example/page-1#nodes). "
    "A topic is a bus [Page 2 - Nodes](https://book.example/page-2#nodes).",
    says=(
        "You are an expert tutor for Physical AI & Humanoid Robotics.\n"
        "Answer using ONLY textbook content. ALWAYS cite sources with [Title](URL).",
    ),
    invented="A node is a process [Elsewhere](https://elsewhere.example/x).",
    never="elsewhere.example",
    top_k=3,
    function={
        "name": "retrieve_textbook_content",
        "description": "Retrieve relevant content from Physical AI & Humanoid Robotics textbook.",
        "parameters": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "User's question or search query"},
                "k": {"type": "integer", "description": "Number of top results (default: 3)", "default": 3},
            },
            "required": ["query"],
        },
    },
    thread="robotics_chatbot",
    collection="robotics_textbook",
)
DESIGNS: Final = (DOCUMENTATION, BOOK, ISAAC, TEXTBOOK, TUTOR)
WITH_TOOL: Final = tuple(one for one in DESIGNS if one.function is not None)


def _documentation(error: str, query: str = "q") -> dict[str, Any]:
    return {"error": error, "query": query}


def _textbook(error: str, query: str = "q") -> dict[str, Any]:
    return {"query": query, "error": error}


def _tutor(error: str) -> dict[str, Any]:
    return {"results": [], "error": error}


_TOP_K: Final = "top_k must be a whole number from 1 to 20"
_THRESHOLD: Final = "similarity_threshold must be a number from 0 to 1"
_NO_JSON: Final = "The arguments are not valid JSON."
_K: Final = "Retrieval failed: k must be a whole number from 1 to 10"
# Arguments of a call that break the rules of the tool, and all that the model gets for an answer.
WRONG_CALLS: Final[list[tuple[Design, Any, dict[str, Any]]]] = [
    *(
        (design, arguments, said)
        for design in (DOCUMENTATION, BOOK)
        for arguments, said in (
            ({"query": "q", "top_k": 0}, _documentation(_TOP_K)),
            ({"query": "q", "top_k": 21}, _documentation(_TOP_K)),
            ({"query": "q", "similarity_threshold": -0.1}, _documentation(_THRESHOLD)),
            ({"query": "q", "similarity_threshold": 1.1}, _documentation(_THRESHOLD)),
            ({"query": "  "}, _documentation("query must not be empty", "  ")),
            ({}, _documentation("query is required", "")),
            ("nodes, please", _documentation(_NO_JSON, "")),
        )
    ),
    (TEXTBOOK, {}, _textbook("query is required", "")),
    (TEXTBOOK, {"query": ""}, _textbook("query must not be empty", "")),
    (TEXTBOOK, {"query": 7}, _textbook("query must be a text", "")),
    (TEXTBOOK, {"query": "q", "top_k": 3}, _textbook("There is no argument 'top_k'; there are query")),
    (TEXTBOOK, "nodes, please", _textbook(_NO_JSON, "")),
    *((TUTOR, {"query": "topics", "k": k}, _tutor(_K)) for k in (0, 11, -1, 2.5, "three", True)),
    (TUTOR, {"query": "  "}, _tutor("Retrieval failed: query must not be empty")),
    (TUTOR, "ROS 2, please", _tutor(f"Retrieval failed: {_NO_JSON}")),
]
# Codes of a search that fails, and all that the model gets for an answer; the search says "It broke."
FAILED_SEARCHES: Final[list[tuple[Design, str, dict[str, Any]]]] = [
    (DOCUMENTATION, "index_unreachable", _documentation("It broke.")),
    (BOOK, "index_unreachable", _documentation("It broke.")),
    (TEXTBOOK, "index_unreachable", _textbook("Could not search the book content. Please try again.")),
    (TUTOR, "embedding_failed", _tutor("Embedding generation failed")),
    (TUTOR, "embedding_timeout", _tutor("Embedding generation failed")),
    (TUTOR, "embedding_mismatch", _tutor("Textbook search unavailable")),
    (TUTOR, "rerank_server_error", _tutor("Textbook search unavailable")),
    (TUTOR, "index_unreachable", _tutor("Textbook search unavailable")),
    (TUTOR, "no_index", _tutor("Textbook search unavailable")),
    (TUTOR, "timeout", _tutor("Retrieval failed: It broke.")),
]
