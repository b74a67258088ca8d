"""A greeting or thanks is answered with one sentence, and is never a search."""

from __future__ import annotations

import pytest

from rag.profiles.profile import load_profile
from rag.profiles.schema import AnswerSection
from rag.text.english.speech_acts import is_small_talk
from tests.machine import Machine

ANSWER = "A node is a process [1]."
SENTENCE = load_profile("default").answer.smalltalk


@pytest.mark.parametrize(
    "text",
    [
        "hi",
        "Hi!",
        "hiii",
        "Hello there",
        "hey 👋",
        "Good morning!",
        "How are you?",
        "hi, how are you today?",
        "thanks",
        "Thank you very much!",
        "thanks a lot, that was very helpful",
        "ok thanks",
        "Ok.",
        "Got it, thanks",
        "Hello?",
        "Vielen Dank!",
        "great answer",
        "That's great!",
        "Cool",
        "bye",
        "Goodbye and thanks",
        "Hallo",
        "Danke schön!",
        "merci",
        "Thanks for your help",
        "THANK YOU SO MUCH!!!",
    ],
)
def test_a_greeting_thanks_praise_or_farewell_is_small_talk(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        "Hi, what is ROS 2?",
        "Thanks, and on Windows?",
        "Hello world",
        "How does hello world work in Rust?",
        "nice",
        "Is it ok?",
        "That is cool?",
        "Is it great?  Why?",
        "What does OK mean in ROS 2?",
        "tell me more",
        "and then?",
        "why",
        "yes",
        "?",
        "...",
        "thank you letter",
        "Good Samaritan",
        "great wall",
        "What are the great advantages?",
        "Ok, continue",
        "how are you trained",
        "perfect numbers",
        "QoS",
        "hi 2",
        "hello " * 40,
        "cool down",
        "I see robots",
        "how are topics named",
        "it is well known that cheers",
        "morning",
        "well",
        "help",
        "a",
        "sup manual",
    ],
)
def test_whatever_else_is_said_may_be_a_question(text: str) -> None:
    assert not is_small_talk(text)


async def test_small_talk_is_answered_without_a_search_and_without_a_model() -> None:
    machine = Machine()
    response = await machine.ask("Hello!")
    assert (response.status, response.fallback_reason, response.content) == ("fallback", "smalltalk", SENTENCE)
    assert (response.citations, response.retrievals, response.llm_calls) == ([], [], 0)
    assert machine.searcher.asked == []
    assert machine.phases == ["GENERATING", "IDLE"]


async def test_small_talk_stays_out_of_later_prompts_and_searches() -> None:
    machine = Machine(ANSWER)
    await machine.ask("Hello!")
    await machine.ask("What is a node?")
    assert "Hello" not in machine.prompt()
    assert all(not call[-1] for call in machine.searcher.asked)  # the history that the search was given


async def test_a_profile_may_word_it_itself() -> None:
    machine = Machine(profile=load_profile("default").model_copy(update={"answer": _greeting("Ahoy!")}))
    assert (await machine.ask("hi")).content == "Ahoy!"


def _greeting(sentence: str) -> AnswerSection:
    return load_profile("default").answer.model_copy(update={"smalltalk": sentence})
