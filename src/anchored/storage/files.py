"""Files for others: written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from anchored.errors import StoreError, UsageError


def write_file(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Writes a file whole or not at all; readable by its owner only unless another mode is given.

    Raises:
        StoreError: it cannot be written.
    """
    try:
        descriptor, temporary = tempfile.mkstemp(dir=path.parent or Path(), prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            os.chmod(temporary, mode)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise StoreError(
            "The file cannot be written.",
            expected="a folder that exists and can be written",
            found=f"{path}: {error.strerror}",
            next_step="Choose another place.",
        ) from error


def check_writable(path: Path) -> None:
    """Whether a file can be written there, before work is done for it.

    Raises:
        UsageError: the folder does not exist or cannot be written.
    """
    folder = path.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UsageError(
            "The file cannot be written.",
            expected="a folder that exists and can be written",
            found=str(path),
            next_step="Choose another place.",
        )
