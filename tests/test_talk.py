"""A greeting or thanks is answered with one sentence, and is never a search."""

from __future__ import annotations

import pytest

from rag.profiles.profile import load_profile
from rag.profiles.schema import AnswerSection
from rag.quoting.english.speech_acts import is_small_talk
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
        "Thanks, it works now!",
        "👋",
        "🙏🏽!",
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
        "++",
        "ROS 👋",
        "1 👋",
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


@pytest.mark.parametrize(
    "said",
    [
        "Hello! Happy to help.",
        "Hello! I can help you with questions about the book. What would you like to know?",
        "You're welcome, glad it worked.",
        "You’re welcome! Let me know if you have any other questions.",
        "No problem!",
        "I'm doing well, thank you! How can I assist you with the documentation?",
    ],
)
async def test_an_answer_that_only_greets_or_thanks_is_small_talk_and_no_refusal(said: str) -> None:
    response = await Machine(said).ask("I restarted the daemon and the talker is back, thanks")
    assert (response.status, response.fallback_reason, response.content) == ("fallback", "smalltalk", SENTENCE)
    assert (response.retrieval_count, response.closest_pages, response.grounding.sentences) == (1, [], 0)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("Hello! The passages do not mention cows.", "model_refused"),
        ("I'm sorry, I can't help with that. Have a nice day!", "model_refused"),
        ("You have a spare pump.", "unconfirmed"),
        ("Great, it works now.", "unconfirmed"),
        ("Hello! It runs on 47 pumps [1].", "unconfirmed"),
        ("Hello world runs on 47 pumps [1].", "unconfirmed"),
    ],
)
async def test_a_greeting_hides_neither_a_refusal_nor_a_claim(said: str, reason: str) -> None:
    assert (await Machine(said).ask("How do cows sing?")).fallback_reason == reason


async def test_a_greeting_beside_an_answer_needs_no_source() -> None:
    response = await Machine(f"Hello! Happy to help. {ANSWER}").ask("What is a node?")
    assert response.plain_content.startswith(f"Hello! Happy to help. {ANSWER}")


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
