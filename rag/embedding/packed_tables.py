"""Leave the tables of the packaged model packed: a text needs a few of their 31,000 rows.

The model stores its weights as 8-bit integers with a scale for each row or column, and its graph begins by unfolding
all of them to 32 bits: `Cast`, then `Mul`. onnxruntime does that once, when it loads the model, and keeps the result.
Half of the weights are tables, of which `Gather` takes the rows of a text's tokens. Here the graph is changed before
onnxruntime reads it: it takes the rows first, and unfolds only these. The vectors stay exactly the same.

A model is a message of Protocol Buffers. Only its nodes are read and written; weights are copied as bytes. The numbers
of the fields are those of https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from mmap import mmap
from typing import Final, NamedTuple

_GRAPH: Final = 7  # of ModelProto
_NODE: Final = 1  # of GraphProto
_INPUT, _OUTPUT, _OPERATOR, _ATTRIBUTE = 1, 2, 4, 5  # of NodeProto
_LENGTHS: Final = {1: 8, 5: 4}  # bytes of a number, by its wire type


class _Node(NamedTuple):
    """An operation of the graph: what it does, and the names of what it reads and writes."""

    operator: bytes
    inputs: tuple[bytes, ...]
    outputs: tuple[bytes, ...]
    attributes: bytes  # as written
    written: memoryview  # the whole node


def with_packed_tables(model: bytes | mmap) -> bytes:
    """The packaged ONNX model with its graph changed as the text of this module says."""
    pieces: list[bytes | memoryview] = []  # joined once, since the weights have 20 MB
    for number, body, written in _fields(memoryview(model)):
        if number == _GRAPH:
            graph = _graph(body)
            pieces += [_head(_GRAPH, sum(map(len, graph))), *graph]
        else:
            pieces.append(written)
    return b"".join(pieces)


def _graph(graph: memoryview) -> list[bytes | memoryview]:
    """The fields of the changed graph."""
    fields = list(_fields(graph))
    nodes = [_node(body) for number, body, _ in fields if number == _NODE]
    makers = {node.outputs[0]: node for node in nodes}
    tables = {
        scaled.outputs[0]: (makers[scaled.inputs[0]], scaled)
        for node in nodes
        if node.operator == b"Gather" and (scaled := makers.get(node.inputs[0])) and scaled.operator == b"Mul"
    }
    gone = {step.outputs[0] for steps in tables.values() for step in steps}
    kept = [_changed(node, tables) for node in nodes if node.outputs[0] not in gone]
    written = [_field(_NODE, node) for changed in kept for node in changed]
    return [*written, *(whole for number, _, whole in fields if number != _NODE)]


def _changed(node: _Node, tables: Mapping[bytes, tuple[_Node, _Node]]) -> list[bytes | memoryview]:
    """The node, or those in place of a `Gather`. `tables` has the `Cast` and the `Mul` of each unfolded table."""
    if node.operator != b"Gather" or node.inputs[0] not in tables:
        return [node.written]
    cast, scaled = tables[node.inputs[0]]
    out, places = node.outputs[0], node.inputs[1]
    rows, numbers, scales = (out + end for end in (b".rows", b".numbers", b".scales"))
    return [
        _operation(b"Gather", (cast.inputs[0], places), rows, node.attributes),
        _operation(b"Cast", (rows,), numbers, cast.attributes),
        _operation(b"Gather", (scaled.inputs[1], places), scales, node.attributes),
        _operation(b"Mul", (numbers, scales), out),
    ]


def _node(message: memoryview) -> _Node:
    fields = list(_fields(message))

    def of(wanted: int) -> tuple[bytes, ...]:
        return tuple(bytes(body) for number, body, _ in fields if number == wanted)

    attributes = b"".join(written for number, _, written in fields if number == _ATTRIBUTE)
    return _Node(of(_OPERATOR)[0], of(_INPUT), of(_OUTPUT), attributes, message)


def _operation(operator: bytes, inputs: tuple[bytes, ...], output: bytes, attributes: bytes = b"") -> bytes:
    names = b"".join(_field(_INPUT, one) for one in inputs) + _field(_OUTPUT, output)
    return names + _field(_OPERATOR, operator) + attributes


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview, memoryview]]:
    """The number of each field of a message, its content, and the whole field as written."""
    at = 0
    while at < len(message):
        tag, start = _number(message, at)
        kind = tag & 7
        if kind == 2:  # a text, bytes or a message, after its length
            length, start = _number(message, start)
            end = start + length
        else:
            end = start + _LENGTHS[kind] if kind else _number(message, start)[1]
        yield tag >> 3, message[start:end], message[at:end]
        at = end


def _number(message: memoryview, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and where it ends."""
    value = shift = 0
    while True:
        value |= (message[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if message[at - 1] < 128:
            return value, at


def _head(number: int, length: int) -> bytes:
    """The beginning of a field that holds a text, bytes or a message."""
    digits = []
    while length > 127:
        digits.append(length & 127 | 128)
        length >>= 7
    return bytes([number << 3 | 2, *digits, length])


def _field(number: int, content: bytes | memoryview) -> bytes:
    return _head(number, len(content)) + content
