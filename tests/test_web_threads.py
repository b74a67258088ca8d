"""Conversations over HTTP: turns as events, whose conversation is whose, and each failure with its status."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest

from rag.errors import AskbookError, MemoryFailureError
from rag.web import running_turns
from rag.web.api_keys import People
from rag.web.hosting import Limits
from tests.machine import ANSWER, Machine
from tests.web import KEYS, bearer, client, events

QUESTION = {"question": "What is a node?"}


async def test_a_turn_streams_its_events_and_ends_with_the_response() -> None:
    machine = Machine(ANSWER)
    async with client(machine) as http:
        answer = await http.post("/api/threads/t1/turns", json=QUESTION | {"metadata": {"page": 3}})
    assert answer.headers["content-type"].startswith("text/event-stream")
    found = events(answer.text)
    types = [kind for kind, _ in found]
    assert (types[0], types[-1]) == ("phase", "response")
    assert {"retrieval", "sentence"} <= set(types)
    response = found[-1][1]
    assert (response["thread_id"], response["metadata"]) == ("t1", {"page": 3})
    assert response["content"] == "".join(data["text"] for kind, data in found if kind == "sentence")


async def test_metadata_that_cannot_be_stored_are_refused_before_the_stream_begins() -> None:
    async with client(Machine()) as http:
        answer = await http.post("/api/threads/t1/turns", json=QUESTION | {"metadata": {"n": 10**22}})
        surrogate = '{"question": "What is a node?", "metadata": {"s": "\\ud800"}}'
        other = await http.post("/api/threads/t1/turns", content=surrogate)
    assert (answer.status_code, other.status_code) == (400, 400)
    assert "64 bits" in answer.text


async def test_a_conversation_can_be_listed_read_undone_and_deleted() -> None:
    async with client(Machine(ANSWER, ANSWER)) as http:
        await http.post("/api/threads/t1/turns", json=QUESTION)
        (row,) = (await http.get("/api/threads")).json()["threads"]
        assert (row["thread_id"], row["turns"], row["first_question"]) == ("t1", 1, "What is a node?")
        conversation = (await http.get("/api/threads/t1")).json()
        assert conversation["turns"][0]["plain_content"] == ANSWER
        assert (await http.post("/api/threads/t1/undo")).json() == {"question": "What is a node?"}
        assert (await http.delete("/api/threads/t1")).status_code == 204
        assert (await http.get("/api/threads/t1")).status_code == 404
        assert (await http.get("/api/threads")).json() == {"threads": [], "more": False}


@pytest.mark.parametrize("name", ["a/b", "a/turns", "/", "50%2F?#", "ü .. / ..", "..."])
async def test_an_id_may_have_any_character_of_a_path(name: str) -> None:
    path = f"/api/threads/{quote(name, safe='')}"
    async with client(Machine(ANSWER, ANSWER)) as http:
        response = events((await http.post(f"{path}/turns", json=QUESTION)).text)[-1][1]
        assert response["thread_id"] == name
        assert (await http.get("/api/threads")).json()["threads"][0]["thread_id"] == name
        assert (await http.get(path)).json()["thread_id"] == name
        assert (await http.post(f"{path}/undo")).json() == {"question": "What is a node?"}
        assert (await http.delete(path)).status_code == 204
        assert (await http.get(path)).json()["error"]["code"] == "unknown_thread"
        assert (await http.get("/api/threads/a/b")).json()["error"]["code"] == "not_found"
        assert (await http.get(f"{path}/turns")).status_code == 405


async def test_a_list_cannot_begin_after_an_unknown_conversation() -> None:
    async with client(Machine(ANSWER, ANSWER), keys=KEYS) as http:
        await http.post("/api/threads/a%2Fb/turns", json=QUESTION, headers=bearer("ann"))
        own = await http.get("/api/threads?before=a%2Fb", headers=bearer("ann"))
        other = await http.get("/api/threads?before=a%2Fb", headers=bearer("bob"))
    assert own.json() == {"threads": [], "more": False}
    assert (other.status_code, other.json()["error"]["code"]) == (404, "unknown_thread")


async def test_a_conversation_without_a_turn_has_none_to_take_back_or_to_repeat() -> None:
    async with client(Machine(ANSWER)) as http:
        await http.post("/api/threads/t1/turns", json=QUESTION)
        await http.post("/api/threads/t1/undo")
        for action in ("undo", "retry"):
            answer = await http.post(f"/api/threads/t1/{action}")
            assert (answer.status_code, answer.json()["error"]["code"]) == (409, f"nothing_to_{action}")


async def test_a_retry_asks_the_last_question_again_as_the_same_request() -> None:
    machine = Machine(ANSWER, "A node is a process. [1]")
    async with client(machine) as http:
        first = events((await http.post("/api/threads/t1/turns", json=QUESTION)).text)[-1][1]
        again = events((await http.post("/api/threads/t1/retry")).text)[-1][1]
    assert (again["request_id"], again["turn_number"]) == (first["request_id"], 1)


@pytest.mark.parametrize("action", ["retry", "undo"])
async def test_another_turn_than_the_one_that_is_meant_stays_as_it_is(action: str) -> None:
    async with client(Machine(*[ANSWER] * 5)) as http:
        asked = events((await http.post("/api/threads/t1/turns", json=QUESTION)).text)[-1][1]
        before = (await http.get("/api/threads/t1")).json()["turns"]
        other = await http.post(f"/api/threads/t1/{action}", json={"last": "What is a topic?"})
        assert (other.status_code, other.json()["error"]["code"]) == (409, "other_turn")
        for body in ({"last": 7}, {"lst": asked["request_id"]}):
            assert (await http.post(f"/api/threads/t1/{action}", json=body)).status_code == 400
        assert (await http.get("/api/threads/t1")).json()["turns"] == before
        for meant in (asked["request_id"], f" {QUESTION['question']}\n"):
            assert (await http.post(f"/api/threads/t1/{action}", json={"last": meant})).status_code == 200
            await http.post("/api/threads/t1/turns", json=QUESTION)


@pytest.mark.parametrize("action", ["retry", "undo", "clear"])
async def test_an_unknown_conversation_is_not_found(action: str) -> None:
    async with client(Machine()) as http:
        answer = await http.post(f"/api/threads/none/{action}")
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "unknown_thread"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"question": ""}, 400, "empty_question"),
        ({"question": "a" * 30_000}, 413, "question_too_long"),
        ({"question": 7}, 400, "invalid_option"),
        ({}, 400, "invalid_option"),
        (QUESTION | {"top_k": 99}, 400, "invalid_option"),
        (QUESTION | {"colour": "red"}, 400, "invalid_option"),
        (QUESTION | {"profile": "robotics-tutor"}, 404, "unknown_profile"),
        (QUESTION | {"metadata": []}, 400, "invalid_option"),
        (QUESTION | {"filter": "author:me"}, 400, "filter"),
        (QUESTION | {"model": "nobody"}, 400, "unknown_model"),
        ([], 400, "invalid_json"),
    ],
)
async def test_invalid_input_is_refused_with_its_status_and_stores_nothing(body: Any, status: int, code: str) -> None:
    machine = Machine()
    async with client(machine) as http:
        answer = await http.post("/api/threads/t1/turns", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
        assert (await http.get("/api/threads")).json()["threads"] == []


async def test_a_body_beyond_the_limit_is_refused_before_it_is_read_if_it_tells_its_length() -> None:
    async with client(Machine(), limits=Limits(body_bytes=100)) as http:

        async def unread() -> AsyncIterator[bytes]:
            pytest.fail("a body that is too long was read")
            yield b""

        answer = await http.post("/api/threads/t1/turns", content=unread(), headers={"Content-Length": "200"})

        async def in_parts() -> AsyncIterator[bytes]:  # no Content-Length
            for _ in range(20):
                yield b" " * 20

        chunked = await http.post("/api/threads/t1/turns", content=in_parts())
    assert [answer.status_code, chunked.status_code] == [413, 413]


async def test_a_failing_model_is_told_in_the_stream_and_the_conversation_goes_on() -> None:
    broken = AskbookError("api_error", "stream_cut", "The stream was cut.")
    machine = Machine(broken, ANSWER)
    async with client(machine) as http:
        failed = events((await http.post("/api/threads/t1/turns", json=QUESTION)).text)[-1][1]
        assert failed["error"]["code"] == "stream_cut"
        good = events((await http.post("/api/threads/t1/turns", json=QUESTION)).text)[-1][1]
    assert good["status"] == "success"


async def test_a_failed_answer_is_told_in_the_stream_even_if_nothing_was_shown() -> None:
    machine = Machine(AskbookError("auth_error", "wrong_key", "Rejected."))
    async with client(machine) as http:
        answer = await http.post("/api/threads/t1/turns", json=QUESTION)
    assert answer.status_code == 200
    assert events(answer.text)[-1][1]["error"]["code"] == "wrong_key"


async def test_a_memory_that_fails_is_a_503(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(ANSWER)

    async def broken() -> list[str]:
        raise MemoryFailureError("memory_unreachable", "The database does not answer.")

    monkeypatch.setattr(machine.memory, "threads", broken)
    async with client(machine) as http:
        answer = await http.get("/api/threads")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "memory_unreachable")


# --- one turn at a time, and not too many ----------------------------------------------------------------------------


async def test_a_second_turn_on_a_conversation_is_refused_while_one_runs_and_too_many_of_one_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = Machine(ANSWER, ANSWER, ANSWER)
    begun, both, go = asyncio.Event(), asyncio.Event(), asyncio.Event()
    searched = machine.searcher.retrieve

    async def slow(*arguments: Any, **options: Any) -> Any:
        (both if begun.is_set() else begun).set()
        await go.wait()
        return await searched(*arguments, **options)

    monkeypatch.setattr(machine.searcher, "retrieve", slow)
    limits = Limits(concurrent_turns=2)
    async with client(machine, keys=KEYS, limits=limits) as http:
        http.headers.update(bearer("ann"))
        first = asyncio.create_task(http.post("/api/threads/t1/turns", json=QUESTION))
        await begun.wait()
        second = await http.post("/api/threads/t1/turns", json=QUESTION)
        assert (second.status_code, second.json()["error"]["code"]) == (409, "thread_busy")
        other = asyncio.create_task(http.post("/api/threads/t2/turns", json=QUESTION))
        await both.wait()
        third = await http.post("/api/threads/t3/turns", json=QUESTION)
        assert (third.status_code, third.json()["error"]["code"]) == (429, "too_many_turns")
        assert third.headers["retry-after"] == "1"
        go.set()
        of_bob = await http.post("/api/threads/t1/turns", json=QUESTION, headers=bearer("bob"))
        assert [answer.status_code for answer in (of_bob, *await asyncio.gather(first, other))] == [200, 200, 200]


@pytest.mark.parametrize(("method", "path"), [("POST", "/undo"), ("POST", "/clear"), ("DELETE", "")])
async def test_what_a_running_turn_builds_on_is_not_taken_away(
    monkeypatch: pytest.MonkeyPatch, method: str, path: str
) -> None:
    machine = Machine(ANSWER, ANSWER)
    begun, go = asyncio.Event(), asyncio.Event()
    searched = machine.searcher.retrieve

    async def slow(*arguments: Any, **options: Any) -> Any:
        begun.set()
        await go.wait()
        return await searched(*arguments, **options)

    async with client(machine) as http:
        await http.post("/api/threads/t1/turns", json=QUESTION)
        monkeypatch.setattr(machine.searcher, "retrieve", slow)
        second = asyncio.create_task(http.post("/api/threads/t1/turns", json=QUESTION))
        await begun.wait()
        monkeypatch.setattr(running_turns, "STOPPING_SECONDS", 0)
        async with asyncio.timeout(5):  # the memory's own lock would refuse after ten seconds
            refused = await http.request(method, f"/api/threads/t1{path}")
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "thread_busy")
        monkeypatch.setattr(running_turns, "STOPPING_SECONDS", 60)
        waiting = asyncio.create_task(http.request(method, f"/api/threads/t1{path}"))
        await asyncio.sleep(0)
        go.set()
        assert (await second).status_code == 200
        assert (await waiting).status_code in (200, 204)


async def test_too_many_questions_of_a_key_in_a_minute_are_refused_with_the_time_to_wait() -> None:
    async with client(Machine(ANSWER, ANSWER), keys=KEYS, limits=Limits(turns_per_minute=1)) as http:
        for who in ("ann", "bob"):
            assert (await http.post("/api/threads/t1/turns", json=QUESTION, headers=bearer(who))).status_code == 200
        answer = await http.post("/api/threads/t1/turns", json=QUESTION, headers=bearer("ann"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (429, "too_many_requests")
    assert 1 <= int(answer.headers["retry-after"]) <= 60


# --- keys and places -------------------------------------------------------------------------------------------------


async def test_nothing_is_answered_without_a_key_where_keys_are_set() -> None:
    async with client(Machine(), keys=KEYS, base="https://ask.example.org") as http:
        for path in ("/api/threads", "/v1/models", "/api/book", "/api/books", "/metrics", "/api/passages/x"):
            answer = await http.get(path)
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unknown_key")
        for scheme in ("Bearer wrong", "Basic key-of-ann-1"):
            assert (await http.get("/api/threads", headers={"Authorization": scheme})).status_code == 401
        assert (await http.get("/")).status_code == 200


async def test_a_conversation_of_another_key_does_not_exist() -> None:
    async with client(Machine(ANSWER), keys=KEYS, base="https://ask.example.org") as http:
        await http.post("/api/threads/t1/turns", json=QUESTION, headers=bearer("ann"))
        assert (await http.get("/api/threads", headers=bearer("bob"))).json()["threads"] == []
        for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/retry"), ("POST", "/undo"), ("POST", "/clear")):
            answer = await http.request(method, f"/api/threads/t1{path}", headers=bearer("bob"))
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_thread")
            stranger = await http.request(method, f"/api/threads/ann%2Ft1{path}", headers=bearer("bob"))
            assert stranger.status_code == 404
        (own,) = (await http.get("/api/threads", headers=bearer("ann"))).json()["threads"]
        assert own["thread_id"] == "t1"


async def test_a_page_of_another_site_may_not_use_a_server_without_keys() -> None:
    async with client(Machine(ANSWER)) as http:
        renamed = await http.get("/api/threads", headers={"Host": "evil.example"})
        assert (renamed.status_code, renamed.json()["error"]["code"]) == (403, "wrong_host")
        for origin in ("https://evil.example", "null"):
            foreign = await http.post("/api/threads/t/turns", json=QUESTION, headers={"Origin": origin})
            assert (foreign.status_code, foreign.json()["error"]["code"]) == (403, "wrong_origin")
        own = await http.get("/api/threads", headers={"Origin": "http://127.0.0.1:8000"})
        assert own.status_code == 200


@pytest.mark.parametrize(
    "text",
    [
        "ann",
        "ann:",
        "ann:short",
        "a/b:long-enough",
        "ann:key-key-1,ann:key-key-2",
        "ann:key-key-1,b:key-key-1",
        ":12345678",
    ],
)
def test_a_wrong_list_of_keys_is_refused_without_showing_a_key(text: str) -> None:
    with pytest.raises(AskbookError) as raised:
        People.parse(text)
    assert "key-key" not in str(raised.value)
    assert "long-enough" not in str(raised.value)
