"""Writes files completely or not at all, and says why a file could not be written."""
import contextlib
import os


class WriteFailed(Exception):
    """A file could not be written, for example because the disk is full; the message names it."""


def explain(error, path):
    """Returns a sentence about an OSError that happened while `path` was written. An error with a file name of its
    own, such as a folder that does not exist, is about that file; a failed write has none."""
    if error.filename:
        return f"'{error.filename}' cannot be used: {error.strerror}"
    return f"'{path}' cannot be written: {error.strerror or error}"


@contextlib.contextmanager
def whole(path):
    """Gives a text file that becomes `path` at the end of the block. If the block or the disk fails, an earlier file
    of that name stays as it was, and nothing else is left."""
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
