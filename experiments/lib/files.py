"""Writes files completely or not at all, and says why a file could not be written."""
import contextlib
import os


class WriteFailed(Exception):
    """A file could not be written, for example because the disk is full. The message names the file."""


def explain(error, path):
    """Returns a sentence about an OSError that happened while `path` was written. If the error has a file name, as for
    a folder that does not exist, the sentence is about that file. A failed write has no file name."""
    if error.filename:
        return f"'{error.filename}' cannot be used: {error.strerror}"
    return f"'{path}' cannot be written: {error.strerror or error}"


@contextlib.contextmanager
def whole(path):
    """Gives a text file that becomes `path` at the end of the block. If the block or a write fails, an earlier file of
    that name stays unchanged, and no other file is left."""
    part = f'{path}.part'
    try:
        with open(part, 'w', encoding='utf-8', newline='') as file:
            yield file
        os.replace(part, path)
    except OSError as error:
        raise WriteFailed(explain(error, path)) from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
