"""A scripted model on 127.0.0.1 in a process of its own, so that its work is not measured with the caller's.

    with model_server() as model:
        ... OPENAI_BASE_URL=model.address ...
        model.seconds()     # of the server for the requests since the last call

It speaks OpenAI's chat completions, streamed or not. The model "answers" quotes the first sentences of the passages in
the prompt; the model "searches" calls its first tool first, unless the last message is the tool's result.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from typing import Any, Final
from urllib.request import urlopen

from tests.rooms import ROOT

KEY: Final = "sk-bench-0123456789-0123456789-0123456789"
_PASSAGE: Final = re.compile(r"^\[(\d+)\] Source: [^\n]*\n+(.*?)(?=^\[\d+\] Source: |\Z)", re.MULTILINE | re.DOTALL)
_SENTENCE: Final = re.compile(r"^[A-Z][^\n|#*\[\]<>]{30,200}?\.(?=\s|$)", re.MULTILINE)
_OF_ALL: Final = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
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


class ScriptedModel(ModelServer):
    """The server of this file."""

    def seconds(self) -> list[float]:
        """The seconds from the end of each request to the end of its reply, since the last call."""
        found: list[float] = self._get("stats")
        return found


@contextmanager
def model_server() -> Iterator[ScriptedModel]:
    """The server, listening on a free port until the block ends."""
    with process_of("bench.model_server") as server:
        yield ScriptedModel(server)


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


def reply_to(request: dict[str, Any]) -> dict[str, Any]:
    """The message of the model."""
    messages = request["messages"]
    tools = request.get("tools") or []
    if request["model"].startswith("searches") and tools and messages[-1]["role"] != "tool":
        question = next(_text(one) for one in reversed(messages) if one["role"] == "user")
        function = tools[0]["function"]
        argument = next(iter(function["parameters"]["properties"]))
        call = {"name": function["name"], "arguments": json.dumps({argument: question})}
        return {"tool_calls": [{"index": 0, "id": f"call-{time.monotonic_ns()}", "type": "function", "function": call}]}
    return {"content": answer_from(messages)}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    spent: list[float] = []  # noqa: RUF012  # of all requests
    last: dict[str, Any] = {}  # noqa: RUF012

    def do_GET(self) -> None:
        if self.path == "/last":
            self._send("application/json", json.dumps(_Handler.last).encode())
            return
        body = json.dumps(self.spent).encode()
        self.spent.clear()
        self._send("application/json", body)

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        _Handler.last = request
        began = time.perf_counter()
        message = reply_to(request)
        finish = "tool_calls" if "tool_calls" in message else "stop"
        usage = {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150}
        if request.get("stream"):
            deltas: list[dict[str, Any]] = (
                [{"role": "assistant", "content": part} for part in re.findall(r"\S+\s*", message["content"])]
                if "content" in message
                else [{"role": "assistant"} | message]
            )
            chunks = [_OF_ALL | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
            chunks.append(_OF_ALL | {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
            chunks.append(_OF_ALL | {"choices": [], "usage": usage})
            body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
            self._send("text/event-stream", body.encode())
        else:
            choice = {"index": 0, "message": {"role": "assistant", "content": None} | message, "finish_reason": finish}
            whole = _OF_ALL | {"object": "chat.completion", "choices": [choice], "usage": usage}
            self._send("application/json", json.dumps(whole).encode())
        self.spent.append(time.perf_counter() - began)

    def _send(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        return


def main() -> None:
    """Serve until the process is ended; the first line of the output is the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
