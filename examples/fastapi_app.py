"""askbook in FastAPI: `uvicorn examples.fastapi_app:app`, then POST /ask?question=..."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from askbook import Response, Settings, open_agent


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with open_agent(Settings.from_env()) as app.state.agent:
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/ask")
async def ask(question: str, thread: str | None = None) -> Response:
    return await app.state.agent.ask(question, thread_id=thread)  # type: ignore[no-any-return]  # `state` has no types
