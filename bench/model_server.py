"""A scripted model on 127.0.0.1 in a process of its own, so that its work is not measured with the caller's.

    with model_server() as model:
        ... OPENAI_BASE_URL=model.address ...
        model.calls()       # the number of requests since the last call

It speaks OpenAI's chat completions, streamed or not. The model "answers" quotes the first sentences of the passages in
the prompt; the model "searches" calls its first tool first, unless the last message is the tool's result.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final
from urllib.request import urlopen

from tests import wire
from tests.openai_server import Endpoint, Reply, Request, answer
from tests.rooms import ROOT
from tests.wire import data, listening

KEY: Final = "sk-bench-0123456789-0123456789-0123456789"
_PASSAGE: Final = re.compile(r"^\[(\d+)\] Source: [^\n]*\n+(.*?)(?=^\[\d+\] Source: |\Z)", re.MULTILINE | re.DOTALL)
_SENTENCE: Final = re.compile(r"^[A-Z][^\n|#*\[\]<>]{30,200}?\.(?=\s|$)", re.MULTILINE)
_USAGE: Final = {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150}
REFUSAL: Final = "I don't have information about that in the book content"


class ModelServer:
    """A model in a process of its own, as a benchmark sees it."""

    def __init__(self, server: str) -> None:
        self.address = f"{server}/v1"
        self._server = server

    def last_request(self) -> dict[str, Any]:
        """The body of the newest request."""
        found: dict[str, Any] = self._get("last")
        return found

    def _get(self, path: str) -> Any:
        with urlopen(f"{self._server}/{path}") as reply:
            return json.load(reply)


class ModelServerClient(ModelServer):
    """The server of this file."""

    def calls(self) -> int:
        """The number of requests since the last call."""
        found: int = self._get("calls")
        return found


@contextmanager
def model_server() -> Iterator[ModelServerClient]:
    """The server, listening on a free port until the block ends."""
    with process_of("bench.model_server") as server:
        yield ModelServerClient(server)


@contextmanager
def process_of(module: str) -> Iterator[str]:
    """A process of a module that serves. Yields its address, which is the first line that it prints."""
    command = [sys.executable, "-m", module]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout  # noqa: S101
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def answer_from(messages: list[dict[str, Any]], *, passages: int = 3, each: int = 1) -> str:
    """The first sentences of the first passages of the newest message that has some, with their markers.

    They are `each` sentences of as many `passages`.
    """
    for message in reversed(messages):
        found = []
        for number, text in _PASSAGE.findall(_text(message)):
            matches = (match[0][:-1] for match in _SENTENCE.finditer(text) if REFUSAL not in match[0])
            sentences = list(islice(matches, each))
            found += [" ".join(f"{sentence} [{number}]." for sentence in sentences)] if sentences else []
        if found:
            return " ".join(found[:passages])
    return REFUSAL


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


@dataclass
class _Model(Endpoint):
    """The model as a server, which also says what it was asked last, and how often since it was asked that."""

    keeps_alive: bool = True
    calls: int = 0

    def reply_to(self, request: Request) -> wire.Reply:
        if request.method == "GET":
            return data(self._told(request.path))
        self.calls += 1
        self.requests.clear()  # only the last one is kept
        return super().reply_to(request)

    def _told(self, path: str) -> Any:
        if path == "/last":
            return self.requests[-1].body
        calls, self.calls = self.calls, 0
        return calls

    def answer(self, request: Request) -> wire.Reply:
        tools, messages = request.body.get("tools") or [], request.body["messages"]
        if request.body["model"].startswith("searches") and tools and messages[-1]["role"] != "tool":
            question = next(_text(one) for one in reversed(messages) if one["role"] == "user")
            function = tools[0]["function"]
            return _calls(function["name"], {next(iter(function["parameters"]["properties"])): question}, request)
        return _says(answer_from(messages), request)


def _calls(name: str, arguments: dict[str, str], request: Request) -> wire.Reply:
    call = {"id": f"call-{time.monotonic_ns()}", "name": name, "arguments": json.dumps(arguments)}
    if request.body.get("stream"):
        return Reply(tool=call, finish="tool_calls", usage=_USAGE)
    function = {"name": name, "arguments": call["arguments"]}
    return _whole("tool_calls", tool_calls=[{"index": 0, "id": call["id"], "type": "function", "function": function}])


def _says(text: str, request: Request) -> wire.Reply:
    if request.body.get("stream"):
        return answer(*re.findall(r"\S+\s*", text), usage=_USAGE)
    return _whole("stop", content=text)


def _whole(finish: str, **fields: Any) -> wire.Reply:
    """A message that is not streamed."""
    choice = {"index": 0, "message": {"role": "assistant", "content": None, **fields}, "finish_reason": finish}
    return data(
        {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "scripted", "choices": [choice]}
        | {"usage": _USAGE}
    )


def main() -> None:
    """Serve until the process is ended; the first line of the output is the address."""
    with listening(_Model()) as server:
        print(server.address.removesuffix(server.prefix), flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
