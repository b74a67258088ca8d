"""`ask --json`: every field of the response, what it holds for each status, and what the check did to the answer.

Also `prove`, which checks a finished text as a turn does.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
import uuid
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pytest

from rag.grounding import prove
from tests.command_line import CommandLine, Done
from tests.openai_server import Endpoint, Reply, Request, answer, refuses
from tests.outside.conftest import FOUR_TEETH, TEETH, UNKNOWN

Script = Sequence[Reply | Callable[[Request], Reply]]

REFUSAL: Final = "I don't have information about that in the book content"
MODELS: Final = {
    "default": "gpt-4o-mini", "documentation-agent": "gpt-3.5-turbo", "book-agent": "gpt-4o-mini",
    "isaac-sim": "meta-llama/llama-3.2-3b-instruct:free", "textbook-assistant": "gpt-4o-mini",
    "robotics-tutor": "gpt-4",
}  # fmt: skip
EACH_FOUR: Final = "Each widget comes with four teeth"
PARAPHRASED: Final = f"{EACH_FOUR} [1]. It is fixed with a bracket of steel [2]."
BRACKET: Final = "Mount it with the steel bracket"
TWELVE: Final = "A gadget is made of twelve widgets"
AIMLESS: Final = "Its friends admire it for patience"
MIXED: Final = f"{FOUR_TEETH} Every widget has exactly nine teeth [1]. {AIMLESS} [1]. Gadgets are blue [7]."
COSTLY: Final = "It costs 2,500 dollars."
NOTHING: Final = "No sentence of the answer could be confirmed in the book."


def later(issue: str, why: str) -> pytest.MarkDecorator:
    """What SPEC and INTERFACES say and today's program does not do."""
    return pytest.mark.xfail(strict=True, reason=f"{issue} issue: {why}")


class Asking:
    """`ask --json` with a scripted model, which gets its replies first, or without a model where they are None."""

    def __init__(self, run: CommandLine, model: Endpoint, keys: dict[str, str]) -> None:
        self.run, self.model, self.keys = run, model, keys

    def done(self, question: str, replies: Script | None, *options: str, **environment: str) -> Done:
        self.model.script.extend(replies or [])
        return self.run("ask", question, "--json", *options, **({} if replies is None else self.keys) | environment)

    def __call__(self, question: str, replies: Script | None, *options: str, **environment: str) -> Any:
        return self.done(question, replies, *options, **environment).data

    def sent(self) -> Any:
        """The JSON of the last request to the model."""
        return self.model.requests[-1].body


@pytest.fixture
def ask(run: CommandLine, model: Endpoint, keys: dict[str, str]) -> Asking:
    return Asking(run, model, keys)


KINDS: Final[dict[str, Callable[[Any], bool]]] = {
    "text": lambda value: isinstance(value, str),
    "count": lambda value: type(value) is int and value >= 0,
    "share": lambda value: 0 <= value <= 1,
    "time": lambda value: isinstance(value, int | float) and value >= 0,
    "flag": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "uuid": lambda value: str(uuid.UUID(value)) == value,
    "sha256": lambda value: re.fullmatch("[0-9a-f]{64}", value) is not None,
    "utc": lambda value: datetime.fromisoformat(value).utcoffset() == datetime.resolution * 0,
    "phase": lambda value: value == "IDLE",
    "standing": lambda value: value in ("supported", "unconfirmed", "contradicted", "frame"),
}
RECORDS: Final = tomllib.loads((Path(__file__).parent / "designs.toml").read_text(encoding="utf-8"))["records"]


def fits(value: Any, kind: str) -> bool:
    """Whether a value is of a kind: `kind?` may be null, `[kind]` is a list. Asserts the fields of a record."""
    if kind.endswith("?"):
        return value is None or fits(value, kind[:-1])
    if kind.startswith("["):
        return isinstance(value, list) and all(fits(one, kind[1:-1]) for one in value)
    if kind in KINDS:
        return KINDS[kind](value)
    fields = dict(field.split(":") for field in RECORDS[kind].split())
    wrong = [name for name, of in fields.items() if name not in value or not fits(value[name], of)]
    assert not wrong, kind
    return True


@pytest.mark.parametrize(("question", "replies", "status", "reason", "code"), [
    (TEETH, [answer(FOUR_TEETH)], "success", None, 0),
    (TEETH, None, "success", None, 0),
    (TEETH, [answer(REFUSAL)], "fallback", "model_refused", 0),
    (TEETH, [answer(COSTLY)], "fallback", "unconfirmed", 0),
    (UNKNOWN, [], "fallback", "no_passage", 0),
    (UNKNOWN, None, "fallback", "no_passage", 0),
    ("Hello!", [], "fallback", "smalltalk", 0),
    ("Thank you!", None, "fallback", "smalltalk", 0),
    (TEETH, [refuses(401)], "error", None, 1),
    ("  ", [], "error", None, 2),
    ("x" * 2000, None, "fallback", "no_passage", 0),
    ("x" * 2001, None, "error", None, 2),
])  # fmt: skip
def test_a_response_of_every_status_has_every_field(
    ask: Asking, question: str, replies: Script | None, status: str, reason: str | None, code: int
) -> None:
    done = ask.done(question, replies)
    response = done.data
    assert fits(response, "response")
    assert (done.code, response["status"], response["fallback_reason"]) == (code, status, reason)
    assert response["processing_state"] == ("failed" if status == "error" else "response_generated")
    assert (bool(response["error"]), bool(response["citations"])) == (status == "error", status == "success")
    assert (response["turn_number"], response["metadata"], bool(response["content"])) == (1, {}, True)
    assert len(ask.model.requests) == len(replies or [])
    if status == "error":
        assert response["content"] == response["error"]["user_message"]
    else:
        assert response["llm_calls"] == len(replies or [])
    if reason in ("no_passage", "model_refused"):
        assert response["plain_content"] == response["content"] == REFUSAL
    if reason == "smalltalk" or (reason == "no_passage" and replies is not None):
        assert response["retrieved_chunks"] == []  # what a model was shown
    if code == 2:
        assert (response["error"]["error_type"], response["error"]["recoverable"]) == ("invalid_input", False)
        assert ask.run("threads", "list", "--json").data == []


@pytest.mark.parametrize(("question", "replies", "content"), [
    pytest.param(UNKNOWN, None, REFUSAL, marks=later("reading", "a refusal names the closest sections")),
    pytest.param(UNKNOWN, [], REFUSAL, marks=later("reading", "a refusal names the closest sections")),
    (TEETH, [answer(COSTLY)], NOTHING),
])  # fmt: skip
def test_the_closest_sections_stand_under_what_is_no_answer(
    ask: Asking, question: str, replies: Script | None, content: str
) -> None:
    response = ask(question, replies)
    assert (response["content"].startswith(content), bool(response["closest"])) == (True, True)
    assert fits(response["closest"], "[closest]")


def test_an_answer_without_any_citation_is_unconfirmed(ask: Asking) -> None:
    response = ask(TEETH, [answer("Widgets are lovely things to hold.")])
    assert (response["status"], response["fallback_reason"]) == ("fallback", "unconfirmed")
    assert re.search(r"Widgets are lovely.*\[\?\]", response["content"])


def assert_quotes_stand(run: CommandLine, response: Any) -> None:
    """Each quote is at its place in the stored chunk, whose hash the citation holds."""
    ids = [cited["chunk_id"] for cited in response["citations"]]
    stored = {one["chunk_id"]: one for one in run("passages", *ids, "--json").data}
    for cited in response["citations"]:
        chunk = stored[cited["chunk_id"]]
        for quoted in [cited, *cited["occurrences"]]:
            assert chunk["text"][quoted["start"] : quoted["end"]] == quoted["quote"]
            assert 0 < len(quoted["quote"]) <= 200
        assert cited["chunk_sha256"] == chunk["sha256"] == hashlib.sha256(chunk["text"].encode()).hexdigest()
        assert (cited["title"], cited["heading"]) == (chunk["title"], chunk["heading"])
        assert cited["text_preview"][:20] == chunk["text"][:20]


@pytest.mark.parametrize("profile", MODELS)
def test_an_answer_of_each_profile_cites_what_it_was_shown(ask: Asking, profile: str) -> None:
    plain = f"{FOUR_TEETH} {BRACKET} [2]. A widget turns a shaft [1]."
    response = ask(TEETH, [answer(plain)], "--profile", profile)
    assert (response["profile"], response["model"], response["status"]) == (profile, MODELS[profile], "success")
    assert_quotes_stand(ask.run, response)
    assert (response["plain_content"], [one["marker"] for one in response["citations"]]) == (plain, [1, 2])
    assert all(cited["formatted"] in response["content"] for cited in response["citations"])
    first, second = response["citations"]
    assert (first["quote"], len(first["occurrences"])) == ("Every widget has exactly four teeth.", 1)
    assert (second["breadcrumb"], second["url"]) == ("Widgets > Mounting a widget", "widgets.md")
    shown = {one["chunk_id"]: one["score"] for one in response["retrieved_chunks"]}
    assert [one["rank"] for one in response["retrieved_chunks"]] == list(range(1, len(shown) + 1))
    assert response["retrieval_count"] == len(shown) == response["retrievals"][0]["results_count"]
    assert shown[first["chunk_id"]] == first["score"] == first["confidence_score"]
    assert response["tokens_used"] == {"input": 11, "output": 7, "total": 18, "estimated": False}
    assert (response["llm_calls"], response["tool_calls"], response["grounding"]["judge"]) == (1, [], None)


@pytest.mark.parametrize("profile", MODELS)
def test_without_a_model_each_profile_answers_from_the_book(ask: Asking, profile: str) -> None:
    response = ask(TEETH, None, "--profile", profile)
    assert (response["profile"], response["status"], response["llm_calls"]) == (profile, "success", 0)
    assert (response["tokens_used"]["total"], response["grounding"]["judge"]) == (0, None)
    assert response["citations"][0]["title"] == "Widgets"
    assert "Every widget has exactly four teeth." in response["content"]
    assert response["retrieval_count"] == len(response["retrieved_chunks"])
    assert_quotes_stand(ask.run, response)


@later("reading", "the best section comes first and whole, and nothing of it is checked")
@pytest.mark.parametrize("profile", ["default", "documentation-agent"])
def test_without_a_model_the_answer_is_the_best_section(ask: Asking, profile: str) -> None:
    response = ask("How do I mount a widget?", None, "--profile", profile)
    assert (response["grounding"]["sentences"], len(response["citations"]) > 1) == (0, True)
    assert response["citations"][0]["heading"] == "Mounting a widget"
    assert "```bash\nwidget mount --torque 5\n```" in response["content"]
    assert "Also in the book" in response["content"]


ONE: Final = later("reading", "the threshold of an answer without a model belongs to the embedding model")
UNBOUND: Final = ("documentation-agent", "book-agent", "robotics-tutor")  # the threshold of these profiles is 0


@pytest.mark.parametrize("profile", [pytest.param(one, marks=[ONE] if one in UNBOUND else []) for one in MODELS])
def test_without_a_model_each_profile_refuses_what_the_book_lacks(ask: Asking, profile: str) -> None:
    response = ask(UNKNOWN, None, "--profile", profile)
    assert (response["content"], response["fallback_reason"], response["citations"]) == (REFUSAL, "no_passage", [])


@pytest.mark.parametrize(("written", "plain", "citations"), [
    (f"{BRACKET} [2]. {TWELVE} [3].", f"{BRACKET} [1]. {TWELVE} [2].", 2),
    (f"{TWELVE} [3]. {BRACKET} [2].", f"{TWELVE} [1]. {BRACKET} [2].", 2),
    (FOUR_TEETH.replace("[1]", "[1][2][3][4]"), None, 4),
    (FOUR_TEETH.replace("[1]", "[1][1]"), FOUR_TEETH, 1),
    (FOUR_TEETH.replace("[1]", "【1】"), FOUR_TEETH, 1),
])  # fmt: skip
def test_citations_are_numbered_as_they_appear(ask: Asking, written: str, plain: str | None, citations: int) -> None:
    response = ask(TEETH, [answer(written)])
    assert plain in (None, response["plain_content"])
    assert 1 <= response["plain_content"].count("[") <= 3
    assert [cited["marker"] for cited in response["citations"]] == list(range(1, citations + 1))


def test_the_options_of_a_question_reach_its_search(ask: Asking) -> None:
    options = ("--filter", "widgets", "-k", "1", "--threshold", "0.3", "--thread", "mine")
    response = ask(TEETH, [answer(FOUR_TEETH, usage=None)], *options)
    used = response["tokens_used"]
    assert (used["estimated"], used["total"]) == (True, used["input"] + used["output"])
    (search,), (found,) = response["retrievals"], response["retrieved_chunks"]
    assert (search["query"], search["filter_applied"], search["results_count"]) == (TEETH, "widgets", 1)
    (result,) = ask.run("search", TEETH, "-k", "1", "--json").data["results"]
    assert (found["chunk_id"], found["score"]) == (result["chunk_id"], result["score"])
    assert search["avg_similarity"] == pytest.approx(found["score"], abs=1e-4)
    assert "gadgets.md" not in json.dumps(ask.sent())
    again = ask.run("ask", "-", "--json", "--thread", "mine", stdin="And a gadget?").data
    assert (again["thread_id"], again["turn_number"], again["retrievals"][0]["query"]) == ("mine", 2, "And a gadget?")


@pytest.mark.parametrize(("mode", "removed", "marked", "shown"), [
    ("strict", 2, 1, "1010"), ("exact", 3, 0, "1000"), ("flag", 0, 3, "1111"), ("off", 0, 0, "1111"),
])  # fmt: skip
def test_the_mode_says_what_is_shown(ask: Asking, mode: str, removed: int, marked: int, shown: str) -> None:
    response = ask(TEETH, [answer(MIXED)], ASKBOOK_GROUNDING=mode)
    parts = ("exactly four teeth", "exactly nine teeth", AIMLESS, "Gadgets are blue")
    assert [part in response["content"] for part in parts] == [sign == "1" for sign in shown]
    assert (response["content"].count("[?]"), "[7]" in response["content"]) == (marked, False)
    grounding = response["grounding"]
    assert (grounding["mode"], grounding["removed"], grounding["unknown_markers"]) == (mode, removed, 1)
    if mode != "off":
        checked = grounding["checked"]
        assert [one["standing"] for one in checked] == ["supported", "contradicted", "unconfirmed", "contradicted"]
        assert (grounding["sentences"], grounding["supported"], grounding["unconfirmed"]) == (4, 1, 1)
        assert [(one["citations"], bool(one["reasons"])) for one in checked[:2]] == [([1], False), ([1], True)]


def judge(*confirmed: str) -> Callable[[Request], Reply]:
    """A judge that confirms these sentences and what the passages say word for word, and rejects everything else.

    How a judge is asked and how it replies is between the product and its model; only this function knows it.
    """

    def reply(request: Request) -> Reply:
        text: str = request.body["messages"][-1]["content"]
        asked = re.findall(r"^([0-9a-f]{6}) \[\d.*?\] (.+)$", text, re.MULTILINE)
        said = {sign: sentence in confirmed or text.count(sentence) > 1 for sign, sentence in asked}
        return answer("\n".join(f"{sign} {'yes' if yes else 'no'}" for sign, yes in said.items()))

    return reply


def writer_and(judging: Callable[[Request], Reply]) -> Callable[[Request], Reply]:
    """Who asks for an answer gets one, and who asks for a verdict gets what `judging` says."""
    return lambda request: answer(PARAPHRASED) if TEETH in request.body["messages"][-1]["content"] else judging(request)


@pytest.mark.parametrize("profile", MODELS)
def test_a_judge_decides_about_what_is_no_quotation(ask: Asking, profile: str) -> None:
    replies = [writer_and(judge(f"{EACH_FOUR}."))] * 3
    response = ask(TEETH, replies, "--profile", profile, ASKBOOK_JUDGE="")  # empty is unset: the profile decides
    assert response["plain_content"] == f"{EACH_FOUR} [1]."
    grounding = response["grounding"]
    assert (grounding["sentences"], grounding["supported"], grounding["removed"]) == (2, 1, 1)
    assert [one["standing"] for one in grounding["checked"]] == ["supported", "contradicted"]
    assert (grounding["judge"]["model"], grounding["judge"]["calls"]) == (MODELS[profile], 1)
    assert (response["llm_calls"], response["tokens_used"]["total"]) == (2, 36)


def test_a_judge_sees_the_sentences_and_what_they_cite_only(ask: Asking) -> None:
    ask(TEETH, [answer(PARAPHRASED), judge()], ASKBOOK_JUDGE="auto")
    said = json.dumps(ask.sent())
    assert all(seen in said for seen in (EACH_FOUR, "Every widget has exactly four teeth.", "tighten its two screws"))
    assert not any(unseen in said for unseen in (TEETH, "Gadgets are", "answer questions about"))


@pytest.mark.parametrize(("setting", "written"), [("none", PARAPHRASED), ("auto", FOUR_TEETH)])
def test_no_judge_is_asked_where_none_is_set_or_needed(ask: Asking, setting: str, written: str) -> None:
    response = ask(TEETH, [answer(written)], ASKBOOK_JUDGE=setting)
    assert (response["status"], response["llm_calls"], response["plain_content"]) == ("success", 1, written)


@pytest.mark.parametrize("turns", [1, 3])
def test_a_judge_that_cannot_be_read_fails_no_turn_and_is_asked_twice(ask: Asking, turns: int) -> None:
    babbling = writer_and(lambda _: answer("What a lovely day."))
    for _ in range(turns):
        response = ask(TEETH, [babbling] * 5, "--thread", "one", ASKBOOK_JUDGE="auto")
        assert (response["status"], EACH_FOUR in response["content"]) == ("success", True)
    assert len(ask.model.requests) <= turns + 2


ATLAS: Final = "Atlas is a robot. It weighs 89 kg. Start it with `atlas --run`, as https://atlas.example/start shows."
SPOT: Final = "Spot is a dog made of metal. Spot weighs 32 kg."
HEAVY: Final = "It weighs 89 kg [1]."


@pytest.mark.parametrize(("added", "text", "standing", "passages"), [
    (" Spot weighs 32 kg [2].", None, "supported", (2,)),
    ("\n\n- It is a robot [1].", None, "supported", (1,)),
    (" It has 12 arms [1].", HEAVY, "contradicted", (1,)),
    (" It weighs 89 tons [1].", HEAVY, "contradicted", (1,)),
    (" Type `atlas --fly` [1].", HEAVY, "contradicted", (1,)),
    (" Get version 3.2.1 [1].", HEAVY, "contradicted", (1,)),
    (" See https://evil.example/x [1].", HEAVY, "contradicted", (1,)),
    (" Spot weighs 32 kg [7].", HEAVY, "contradicted", ()),
    (f" {AIMLESS} [1].", rf"{re.escape(HEAVY)} {AIMLESS}.*\[\?\].?", "unconfirmed", (1,)),
])  # fmt: skip
def test_prove_shows_what_a_reader_would_see(added: str, text: str | None, standing: str, passages: Any) -> None:
    given = [ATLAS, SPOT]
    proof = prove(HEAVY + added, given)
    assert proof.text == (text or HEAVY + added) or re.fullmatch(text or "", proof.text)
    first, last = proof.sentences
    assert (first.standing, list(first.passages), list(first.reasons)) == ("supported", [1], [])
    assert (last.standing, tuple(last.passages)) == (standing, passages)
    assert bool(last.reasons) or standing != "contradicted"
    assert (prove(HEAVY + added, given).text, given) == (proof.text, [ATLAS, SPOT])


def test_prove_keeps_the_shape_of_tables_and_code() -> None:
    written = "| robot | weight |\n|---|---|\n| Atlas | 89 kg [1] |\n| Spot | 32 kg [2] |"
    assert prove(written, [ATLAS, SPOT]).text == written
    code = "\n\n```bash\natlas --run\n```"
    assert code in prove(f"Start it [1]:{code}", [ATLAS]).text


def test_prove_knows_the_titles_above_the_passages() -> None:
    proofs = [prove("The Atlas 4000 weighs 89 kg [1].", [ATLAS], known=known) for known in ((), ["Atlas 4000"])]
    assert [proof.sentences[0].standing for proof in proofs] == ["contradicted", "supported"]


@pytest.mark.parametrize(("verdict", "standing", "shown"), [
    (True, "supported", True), (False, "contradicted", False), (None, "unconfirmed", True),
])  # fmt: skip
def test_prove_asks_a_judge_about_what_is_no_quotation(verdict: bool | None, standing: str, shown: bool) -> None:
    asked: list[list[tuple[str, Sequence[str]]]] = []

    def verdicts(pairs: list[tuple[str, Sequence[str]]]) -> list[bool | None]:
        asked.append(pairs)
        return [verdict] * len(pairs)

    options: dict[str, Any] = {"judge": verdicts}
    proof: Any = prove(f"{HEAVY} The metal dog named Spot has a weight of 32 kg [2].", [ATLAS, SPOT], **options)
    (((sentence, texts),),) = asked
    assert (sentence.startswith("The metal dog"), [SPOT in text for text in texts]) == (True, [True])
    assert [one.standing for one in proof.sentences] == ["supported", standing]
    assert ("metal dog" in proof.text, "[?]" in proof.text, proof.judge_calls) == (shown, verdict is None, 1)
