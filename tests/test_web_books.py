"""Several books over HTTP: which answers, whose they are, and that a conversation stays with its own."""

from __future__ import annotations

from typing import Any

import httpx2 as httpx
import pytest

from rag.errors import UsageError
from rag.web.hosting import BookAccess
from tests.machine import ANSWER, Machine, local_memory
from tests.web import KEYS, Books, bearer, client, events

QUESTION: Any = {"question": "What is a node?"}
ASKED: Any = [{"role": "user", "content": "What is a node?"}]


def two() -> Books:
    """The usual book "robots" and another, "uv", each of which answers up to three questions."""
    memory = local_memory()
    return Books({name: Machine(*[ANSWER] * 3, memory=memory, collection=name) for name in ("robots", "uv")})


async def asked(http: httpx.AsyncClient, thread: str, who: dict[str, str] | None = None, **body: Any) -> Any:
    """The response of a turn, or the refusal with its status."""
    answer = await http.post(f"/api/threads/{thread}/turns", json=QUESTION | body, headers=who or {})
    if answer.status_code != 200:
        return answer.status_code, answer.json()["error"]
    return events(answer.text)[-1][1]


async def test_a_turn_is_answered_by_the_book_that_it_names() -> None:
    books = two()
    async with client(books) as http:
        await asked(http, "t1", book="uv")
        await asked(http, "t2")
        found = (await http.get("/api/threads")).json()["threads"]
    assert {row["thread_id"]: row["book"] for row in found} == {"t1": "uv", "t2": "robots"}
    assert [len(machine.model.prompts) for machine in books.machines.values()] == [1, 1]


async def test_a_conversation_stays_with_the_book_it_was_begun_with() -> None:
    books = two()
    async with client(books) as http:
        await asked(http, "t", book="uv")
        assert (await asked(http, "t"))["turn_number"] == 2
        assert (await asked(http, "t", book="uv"))["turn_number"] == 3
        status, error = await asked(http, "t", book="robots")
        assert (status, error["code"]) == (409, "other_book")
        retried = await http.post("/api/threads/t/retry", json={"book": "robots"})
        assert retried.status_code == 409
    assert books.machines["robots"].model.prompts == []


async def test_a_retry_asks_the_book_of_the_conversation() -> None:
    books = two()
    async with client(books) as http:
        await asked(http, "t", book="uv")
        again = events((await http.post("/api/threads/t/retry")).text)[-1][1]
    assert again["status"] == "success"
    assert len(books.machines["uv"].model.prompts) == 2


async def test_a_conversation_keeps_its_profile_until_another_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    books = two()
    contexts: list[Any] = []
    streamed = books.main.stream

    def noted(*arguments: Any, **options: Any) -> Any:
        contexts.append(options["context"].profile)
        return streamed(*arguments, **options | {"context": options["context"].model_copy(update={"profile": None})})

    async def remembered(thread: str) -> dict[str, Any]:
        return {"collections": [], "profile": "book-agent", "first_question": "?", "thread_id": thread}

    monkeypatch.setattr(books.main, "stream", noted)
    monkeypatch.setattr(books.main, "summary", remembered)
    async with client(books) as http:
        await asked(http, "t")
        await asked(http, "t", profile="default")
    assert contexts == ["book-agent", "default"]


@pytest.mark.parametrize("name", ["none", "", "../robots", "a" * 500, "robots/uv", "\x00"])
async def test_an_unknown_book_is_not_found_and_stores_nothing(name: str) -> None:
    async with client(two()) as http:
        answer = await asked(http, "t", book=name)
        if name:
            assert (answer[0], answer[1]["code"]) == (404, "unknown_book")
            assert (await http.get("/api/threads")).json()["threads"] == []
            assert (await http.get("/api/passages/x", params={"book": name})).status_code == 404
        else:  # nothing is named
            assert answer["status"] == "success"


# --- whose books ----------------------------------------------------------------------------------------------------


async def test_a_book_of_another_key_is_the_same_as_none_at_all() -> None:
    books = two()
    async with client(books, keys=KEYS, base="https://ask.example.org", books="robots,ann:uv") as http:
        names = {
            who: [book["name"] for book in (await http.get("/api/books", headers=bearer(who))).json()["books"]]
            for who in ("ann", "bob")
        }
        assert names == {"ann": ["robots", "uv"], "bob": ["robots"]}
        assert (await asked(http, "t", bearer("ann"), book="uv"))["status"] == "success"
        assert (await asked(http, "t", bearer("bob"), book="robots"))["status"] == "success"
        books.asked.clear()
        hidden, none = [await asked(http, "t", bearer("bob"), book=name) for name in ("uv", "xx")]
        assert (hidden[0], hidden[1]["code"]) == (404, "unknown_book")
        assert hidden[1]["message"].replace('"uv"', '"xx"') == none[1]["message"]
        models = [
            await http.post("/v1/chat/completions", json={"model": name, "messages": ASKED}, headers=bearer("bob"))
            for name in ("askbook/uv", "askbook/xx")
        ]
        assert [answer.status_code for answer in models] == [404, 404]
        assert models[0].text.replace("uv", "xx") == models[1].text
        for path in ("/api/book?book=uv", "/api/passages/x?book=uv", "/v1/models/askbook/uv"):
            assert (await http.get(path, headers=bearer("bob"))).status_code == 404
    assert "uv" not in books.asked  # it is not even looked for, so the time does not tell either


async def test_a_key_without_the_usual_book_is_answered_by_its_own() -> None:
    books = two()
    async with client(books, keys=KEYS, base="https://ask.example.org", books="ann:uv") as http:
        await asked(http, "t", bearer("ann"))
        (own,) = (await http.get("/api/books", headers=bearer("ann"))).json()["books"]
        assert (own["name"], own["current"]) == ("uv", True)
        status, error = await asked(http, "t", bearer("bob"))
        assert (status, error["code"]) == (404, "unknown_book")
        assert (await http.get("/api/books", headers=bearer("bob"))).json() == {"books": []}
    assert len(books.machines["uv"].model.prompts) == 1


async def test_a_conversation_with_a_book_that_is_no_longer_allowed_is_not_continued() -> None:
    books = two()
    async with client(books, keys=KEYS, base="https://ask.example.org") as http:
        await asked(http, "t", bearer("bob"), book="uv")
    async with client(books, keys=KEYS, base="https://ask.example.org", books="robots,ann:uv") as http:
        status, error = await asked(http, "t", bearer("bob"))
    assert (status, error["code"]) == (404, "unknown_book")


@pytest.mark.parametrize("text", ["", " , ", "carol:uv", ":uv", "ann:"])
def test_a_wrong_list_of_books_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="ASKBOOK_BOOKS"):
        BookAccess.parse(text, ["ann", "bob"])


# --- OpenAI's format --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["askbook/uv", "default/uv"])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_model_may_name_a_book(model: str, *, stream: bool) -> None:
    books = two()
    async with client(books) as http:
        answer = await http.post("/v1/chat/completions", json={"model": model, "messages": ASKED, "stream": stream})
        chunk = events(answer.text)[0][1] if stream else answer.json()
    assert (answer.status_code, chunk["model"]) == (200, model)
    assert len(books.machines["uv"].model.prompts) == 1


async def test_the_models_are_the_profiles_and_then_the_books_where_there_is_a_choice() -> None:
    async with client(two()) as http:
        names = [model["id"] for model in (await http.get("/v1/models")).json()["data"]]
        assert names == ["default", "book-agent", "askbook", "askbook/robots", "askbook/uv"]
        assert [(await http.get(f"/v1/models/{name}")).json()["id"] for name in names] == names
        assert (await http.get("/v1/models/askbook/none")).status_code == 404


@pytest.mark.parametrize("model", ["askbook/none", "askbook/", "nobody/uv", "askbook/a/b"])
@pytest.mark.parametrize("stream", [False, True])
async def test_a_model_of_an_unknown_book_is_not_found(model: str, *, stream: bool) -> None:
    async with client(two()) as http:
        answer = await http.post("/v1/chat/completions", json={"model": model, "messages": ASKED, "stream": stream})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["hint"]) == (
        404,
        "model_not_found",
        "GET /v1/models lists the models.",
    )


async def test_a_model_of_another_book_does_not_continue_a_conversation() -> None:
    async with client(two()) as http:
        body = {"messages": ASKED, "metadata": {"thread_id": "t"}}
        first = await http.post("/v1/chat/completions", json=body | {"model": "askbook/uv"})
        again = await http.post("/v1/chat/completions", json=body | {"model": "askbook"})
        other = await http.post("/v1/chat/completions", json=body | {"model": "askbook/robots"})
    assert [answer.status_code for answer in (first, again, other)] == [200, 200, 409]
    assert again.json()["choices"][0]["message"]["askbook"]["turn_number"] == 2
