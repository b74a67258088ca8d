"""Small books written for a test."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from rag.book import Document
from rag.ingest.loaders import LoadResult, load_source

BASE = "https://x.org"


def written(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write the files into a folder, and return it."""
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def loaded(folder: Path, files: Mapping[str, str | bytes], **options: str) -> LoadResult:
    """The files as a source, with addresses below `BASE`."""
    named = {"base_url": BASE} | options
    return load_source(written(folder, files), base_url=named["base_url"], generator=named.get("generator"))


def pages(folder: Path, files: Mapping[str, str | bytes], **options: str) -> dict[str, Document]:
    return {document.path: document for document in loaded(folder, files, **options).documents}


def addresses(folder: Path, files: Mapping[str, str | bytes], **options: str) -> dict[str, str]:
    """The addresses of the pages below `BASE`, by their paths."""
    return {path: page.url.removeprefix(BASE) for path, page in pages(folder, files, **options).items()}


def close_folders(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Have the loader find that no folder of that name can be listed, whoever runs the tests."""
    listed = os.scandir

    def refuse(folder: Path | int) -> object:  # pytest removes the folder by its number
        if isinstance(folder, Path) and folder.name == name:
            raise PermissionError(13, "Permission denied")
        return listed(folder)

    monkeypatch.setattr("rag.ingest.source_files.os.scandir", refuse)
