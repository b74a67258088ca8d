"""A scripted model on 127.0.0.1 that streams its answers as slowly as a real one, in a process of its own.

    with paced_model() as model:
        ... OPENAI_BASE_URL=model.address ...

It speaks OpenAI's chat completions. An answer has about 200 tokens: sentences of the passages in the prompt, each with
its marker. `pace` sets the seconds between two tokens. It costs its machine little, so that many streams can be
measured beside it: about 20 microseconds of a processor a token.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from bench.model_server import ModelServer, answer_from, process_of

TOKENS: Final = 200  # of an answer
TOKEN_SECONDS: Final = 0.02
_CHARACTERS: Final = 4  # of a token
_HEAD: Final = "HTTP/1.1 200 OK\r\nContent-Type: {}\r\nTransfer-Encoding: chunked\r\n\r\n"
_OF_ALL: Final = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}


class PacedModel(ModelServer):
    """The server of this file."""

    def pace(self, seconds: float) -> None:
        """Wait so long before each token from now on."""
        self._get(f"pace/{seconds}")


@contextmanager
def paced_model() -> Iterator[PacedModel]:
    """The server, listening on a free port until the block ends."""
    with process_of("bench.paced_model") as server:
        yield PacedModel(server)


def tokens_of(request: dict[str, Any]) -> list[str]:
    """The tokens of the answer."""
    text = answer_from(request["messages"], passages=20, each=3)[: TOKENS * _CHARACTERS]
    whole = text[: text.rindex("].") + 2] if "]." in text else text  # no half sentence at the end
    return re.findall(rf"(?s).{{1,{_CHARACTERS}}}", whole)


class _Server:
    def __init__(self) -> None:
        self.last: dict[str, Any] = {}
        self.seconds = TOKEN_SECONDS

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = re.search(r"(?i)content-length: (\d+)", head)
                body = await reader.readexactly(int(length[1])) if length else b""
                path = head.split(" ", 2)[1]
                if body:
                    self.last = json.loads(body)
                    await self._stream(self.last, writer)
                    continue
                if path.startswith("/pace/"):
                    self.seconds = float(path.removeprefix("/pace/"))
                _write(writer, _HEAD.format("application/json"), json.dumps(self.last), "")
                await writer.drain()
        writer.close()

    async def _stream(self, request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        """Send a token each `seconds`, by the clock: a late token does not make the next one late."""
        _write(writer, _HEAD.format("text/event-stream"))
        clock = asyncio.get_running_loop().time
        began = clock()
        for place, token in enumerate(tokens_of(request), start=1):
            await asyncio.sleep(max(0.0, began + place * self.seconds - clock()))
            _write(
                writer, _event({"index": 0, "delta": {"role": "assistant", "content": token}, "finish_reason": None})
            )
            await writer.drain()
        _write(writer, _event({"index": 0, "delta": {}, "finish_reason": "stop"}), "data: [DONE]\n\n", "")
        await writer.drain()


def _event(choice: dict[str, Any]) -> str:
    return f"data: {json.dumps(_OF_ALL | {'choices': [choice]})}\n\n"


def _write(writer: asyncio.StreamWriter, *parts: str) -> None:
    """Write the parts; each but the head of a response as a chunk of its own, an empty one to end it."""
    for part in parts:
        data = part.encode()
        writer.write(data if part.startswith("HTTP/") else b"%x\r\n%b\r\n" % (len(data), data))


async def _main() -> None:
    server = await asyncio.start_server(_Server().serve, "127.0.0.1", 0, limit=2**24, backlog=1000)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    asyncio.run(_main())
