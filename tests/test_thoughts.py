"""What a model thinks aloud in its text, and the searches that it writes as text."""

from __future__ import annotations

import pytest

from rag.model.thoughts import ThoughtFilter, looks_like_call, written_calls

THOUGHT = "The user wants the pressure. The pump runs at 4 bar. So I should say 6 bar."
GOOD = "The valve opens at 6 bar [1]."
CHANNEL = "<|start|>assistant<|channel|>"
FORMS = {
    "think": f"<think>{THOUGHT}</think>\n{GOOD}",
    "an empty one": f"<think>\n\n</think>\n\n{GOOD}",
    "capitals": f"<Thinking>\n{THOUGHT}\n</Thinking>{GOOD}",
    "Gemma": f"<thought>{THOUGHT}</thought>\n{GOOD}",
    "Seed-OSS": f"<seed:think>{THOUGHT}</seed:think>{GOOD}",
    "Magistral": f"[THINK]{THOUGHT}[/THINK]{GOOD}",
    "Kimi": f"◁think▷{THOUGHT}◁/think▷{GOOD}",
    "gpt-oss": f"<|channel|>analysis<|message|>{THOUGHT}<|end|>{CHANNEL}final<|message|>{GOOD}<|return|>",
    "gpt-oss without its marks": f"analysis{THOUGHT}assistantfinal{GOOD}",
    "Command A": f"<|START_THINKING|>{THOUGHT}<|END_THINKING|><|START_RESPONSE|>{GOOD}<|END_RESPONSE|>",
    "Hunyuan": f"<think>{THOUGHT}</think><answer>{GOOD}</answer>",
    "R1 on vLLM": f"{THOUGHT}\n</think>\n\n{GOOD}",
    "only an end, on the same line": f"{THOUGHT}</think>{GOOD}",
    "only an end, after a space": f"{THOUGHT} </think>\n\n{GOOD}",
    "only Kimi's end": f"{THOUGHT}◁/think▷{GOOD}",
    "only Magistral's end": f"{THOUGHT}[/THINK]{GOOD}",
    "two": f"<think>{THOUGHT}</think>{GOOD}\n<think>{THOUGHT}</think>\n{GOOD}",
}
ABOUT = [
    "The template closes a thought with the tag `</think>` [1].",
    "The model writes <think> before its thoughts and </think> after them [1].",
    "Use this:\n\n```\n<think>\nfoo\n</think>\n```\n\nThen [1].",
    'The tag "</think>" closes it [1].',
    "A thought ends with </think> [1].",
    "<think> opens a thought and </think> closes it [1].",
    "- `<think>`: opens [1]\n- `</think>`: closes [1]",
    "The pair is <think>…</think> [1].",
    "Magistral uses [THINK] and [/THINK] [1].",
    "A `[TOOL_CALLS]` mark, an `<answer>` element and <b>bold</b> [1].",
    "If a < b and c[0] > d, then [1].",
]


def read(text: str, size: int, **options: bool) -> tuple[ThoughtFilter, str]:
    """The filter after it has got the text in pieces, and what it gave."""
    thoughts = ThoughtFilter(**options)
    given = [thoughts.feed(text[begin : begin + size]) for begin in range(0, len(text), size)]
    return thoughts, "".join([*given, thoughts.close()])


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_a_thought_is_no_part_of_the_answer_in_whatever_form_it_comes(text: str, size: int) -> None:
    thoughts, given = read(text, size)
    assert given == thoughts.answer
    assert given.replace("\n", "").replace(GOOD, "", 1).strip() in ("", GOOD)


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
@pytest.mark.parametrize("text", ABOUT)
def test_an_answer_about_such_marks_stays_whole(text: str, size: int) -> None:
    thoughts, given = read(text, size)
    assert (given, thoughts.call) == (text, "")


def test_a_thought_that_does_not_end_is_none_of_the_answer() -> None:
    assert read(f"<think>{THOUGHT}", 5)[1] == ""


def test_text_is_given_from_its_first_citation_on() -> None:
    thoughts = ThoughtFilter()
    assert thoughts.feed("The valve opens ") == ""
    assert thoughts.feed("at 6 bar [1]. ") == "The valve opens at 6 bar [1]. "
    assert thoughts.feed("It is red.") == "It is red."


def test_text_that_was_given_and_turns_out_to_be_a_thought_is_late() -> None:
    text = f"Passage [1] says 6 bar.\n</think>\n{GOOD}"
    thoughts, _ = read(text, 5)
    assert (thoughts.late, thoughts.answer.strip()) == (True, GOOD)
    thoughts, given = read(text, 5, held=True)
    assert (thoughts.late, given.strip()) == (False, GOOD)


CALLS = {
    "Hermes, Qwen": '<tool_call>{"name": "find", "arguments": {"query": "valve"}}</tool_call>',
    "arguments as text": '<tool_call>\n{"name": "find", "arguments": "{\\"query\\": \\"valve\\"}"}\n</tool_call>',
    "Llama": '<function=find>{"query": "valve"}</function>',
    "Mistral": '[TOOL_CALLS][{"name": "find", "arguments": {"query": "valve"}}]',
    "Llama's tag": '<|python_tag|>{"name": "find", "parameters": {"query": "valve"}}',
    "bare": '{"name": "find", "parameters": {"query": "valve"}}',
    "in a fence": '```json\n{"name": "find", "arguments": {"query": "valve"}}\n```',
    "Claude": '<invoke name="find"><parameter name="query">valve</parameter></invoke>',
    "Qwen's coder": "<tool_call>\n<function=find>\n<parameter=query>\nvalve\n</parameter>\n</function>\n</tool_call>",
    "DeepSeek": '<｜tool▁calls▁begin｜>function<｜tool▁sep｜>find\n```json\n{"query": "valve"}\n```<｜tool▁call▁end｜>',
    "gpt-oss": '<|channel|>commentary to=functions.find <|constrain|>json<|message|>{"query": "valve"}<|call|>',
    "gpt-oss after a thought": f"<|channel|>analysis<|message|>hm<|end|>{CHANNEL}commentary to=functions.find "
    '<|constrain|>json<|message|>{"query": "valve"}<|call|>',
    "GLM": "<tool_call>find\n<arg_key>query</arg_key>\n<arg_value>valve</arg_value>\n</tool_call>",
    "Kimi": '<|tool_calls_section_begin|>functions.find:0<|tool_call_argument_begin|>{"query": "valve"}',
    "as in Python": '[find(query="valve")]',
    "after words": 'I look it up.\n<tool_call>{"name": "find", "arguments": {"query": "valve"}}</tool_call>',
    "after a thought": '<think>a</think>\n\n<tool_call>{"name": "find", "arguments": {"query": "valve"}}</tool_call>',
}


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize("text", CALLS.values(), ids=CALLS)
def test_a_search_that_was_written_as_text_is_read(text: str, size: int) -> None:
    thoughts, given = read(text, size)
    written = thoughts.call or (thoughts.answer if looks_like_call(thoughts.answer, "find") else "")
    assert written_calls(written, "find", ["query"]) == [{"query": "valve"}]
    assert "valve" not in given.replace(written, "")


@pytest.mark.parametrize("text", ['{"name": "other", "arguments": {}}', "find", "find nothing", '{"find": "query"}'])
def test_what_is_no_readable_call_of_the_tool_has_no_arguments(text: str) -> None:
    assert written_calls(text, "find", ["query"]) == []
