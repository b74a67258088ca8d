"""A very small entailment model in a folder: real ONNX and a real tokenizer, made here.

It calls a sentence entailed if the passage has all of its words, contradicted if only one of the two has "not", and
else neutral. The file is written as protobuf by hand, as onnx.proto numbers its fields.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Final

LABELS: Final = ("contradiction", "entailment", "neutral")
_FLOAT, _INT64 = 1, 7  # element types of a tensor
_OPSET: Final = 11
_SPECIAL: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def write(folder: Path, words: Sequence[str], labels: Sequence[str] = LABELS, *, scores: int = 3) -> Path:
    """A folder with model.onnx, tokenizer.json and config.json; `scores` is how many labels the model has."""
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = [*_SPECIAL, "not", *dict.fromkeys(word.lower() for word in words if word != "not")]
    (folder / "model.onnx").write_bytes(_model(len(vocabulary), vocabulary.index("not"), scores))
    _tokenizer(vocabulary, folder / "tokenizer.json")
    if labels:
        names = {str(place): label for place, label in enumerate(labels)}
        (folder / "config.json").write_text(json.dumps({"id2label": names, "max_position_embeddings": 512}))
    return folder


def _tokenizer(vocabulary: Sequence[str], path: Path) -> None:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocabulary.index("[CLS]")), ("[SEP]", vocabulary.index("[SEP]"))],
    )
    tokenizer.save(str(path))


def _model(size: int, negation: int, scores: int) -> bytes:
    unit = [1.0 if row == column else 0.0 for row in range(size) for column in range(size)]
    # Of [missing words, one-sided negation, 1]: contradiction, entailment, neutral.
    weights = [0.0, -10.0, 0.0, 20.0, 0.0, 0.0, -10.0, 5.0, 0.0]
    if scores == 1:
        weights = [-10.0, 0.0, 5.0]
    if scores == 2:
        weights = [10.0, -10.0, 0.0, 0.0, -5.0, 5.0]
    nodes = [
        _node("Gather", ["unit", "input_ids"], "words"),  # [batch, tokens, size]
        _node("Cast", ["token_type_ids"], "is_claim", to=_FLOAT),
        _node("Cast", ["attention_mask"], "is_text", to=_FLOAT),
        _node("Sub", ["is_text", "is_claim"], "is_passage"),
        _node("Unsqueeze", ["is_claim"], "claim_mask", axes=[2]),
        _node("Unsqueeze", ["is_passage"], "passage_mask", axes=[2]),
        _node("Mul", ["words", "claim_mask"], "claim_words"),
        _node("Mul", ["words", "passage_mask"], "passage_words"),
        _node("ReduceMax", ["claim_words"], "claim", axes=[1], keepdims=0),  # [batch, size]
        _node("ReduceMax", ["passage_words"], "passage", axes=[1], keepdims=0),
        _node("Sub", ["claim", "passage"], "difference"),
        _node("Relu", ["difference"], "absent"),
        _node("ReduceSum", ["absent"], "missing", axes=[1], keepdims=1),  # [batch, 1]
        _node("MatMul", ["difference", "negation"], "more_negations"),
        _node("Abs", ["more_negations"], "denied"),
        _node("Mul", ["missing", "zero"], "nothing"),
        _node("Add", ["nothing", "one"], "always"),
        _node("Concat", ["missing", "denied", "always"], "features", axis=1),
        _node("MatMul", ["features", "weights"], "logits"),
    ]
    initializers = [
        _tensor("unit", [size, size], unit),
        _tensor("negation", [size, 1], [float(row == negation) for row in range(size)]),
        _tensor("zero", [1], [0.0]),
        _tensor("one", [1], [1.0]),
        _tensor("weights", [3, scores], weights),
    ]
    inputs = [_value(name, _INT64, 2) for name in ("input_ids", "attention_mask", "token_type_ids")]
    graph = b"".join([
        *(_bytes(1, node) for node in nodes),
        _bytes(2, b"toy"),
        *(_bytes(5, one) for one in initializers),
        *(_bytes(11, one) for one in inputs),
        _bytes(12, _value("logits", _FLOAT, 2)),
    ])  # fmt: skip
    return _int(1, 6) + _bytes(7, graph) + _bytes(8, _bytes(1, b"") + _int(2, _OPSET))


def _node(kind: str, inputs: Sequence[str], output: str, **attributes: int | list[int]) -> bytes:
    node = b"".join(_bytes(1, name.encode()) for name in inputs) + _bytes(2, output.encode()) + _bytes(4, kind.encode())
    for name, value in attributes.items():
        if isinstance(value, int):
            attribute = _int(3, value) + _int(20, 2)
        else:
            attribute = b"".join(_int(8, one) for one in value) + _int(20, 7)
        node += _bytes(5, _bytes(1, name.encode()) + attribute)
    return node


def _tensor(name: str, shape: Sequence[int], values: Sequence[float]) -> bytes:
    raw = struct.pack(f"<{len(values)}f", *values)
    return b"".join(_int(1, one) for one in shape) + _int(2, _FLOAT) + _bytes(8, name.encode()) + _bytes(9, raw)


def _value(name: str, kind: int, dimensions: int) -> bytes:
    """A named value with dimensions of any size."""
    shape = b"".join(_bytes(1, _bytes(2, f"{name}{place}".encode())) for place in range(dimensions))
    return _bytes(1, name.encode()) + _bytes(2, _bytes(1, _int(1, kind) + _bytes(2, shape)))


def _int(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])
