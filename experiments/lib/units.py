"""Keeps finished work. An experiment is divided into units that are never done twice: a run that was interrupted,
even by kill -9, continues from its last finished unit.

A unit is a CSV file without a header, OUT/.work/POOL-KEY/NAME. It is written under another name and renamed when it
is complete. The key is a checksum of everything that decides its content, so that other settings, files or programs
have other units.
"""
import contextlib
import fcntl
import hashlib
import os
import sys
import time
from pathlib import Path

from lib import files, tables
from lib.commands import CommandFailed

LONGEST_WAIT = 600  # seconds


class UnitFailed(Exception):
    """A unit could not be computed, or another run kept the folder locked."""


class Unit:
    """One piece of work: function(*arguments) returns its rows. `cost` is its approximate time in seconds."""

    def __init__(self, name, cost, function, *arguments):
        self.name, self.cost, self.function, self.arguments = name, cost, function, arguments

    def __str__(self):
        return ' '.join(map(str, [self.function.__name__, *self.arguments]))


def checksum(words, files):
    """Returns 12 hexadecimal digits that change with the words and with the content of the files."""
    total = hashlib.sha256()
    for word in words:
        total.update(f'{word}\n'.encode())
    for file in files:
        total.update(hashlib.sha256(Path(file).read_bytes()).digest())
    return total.hexdigest()[:12]


@contextlib.contextmanager
def messages_to(path):
    """Redirects the standard error of this process and of its children to a file."""
    sys.stderr.flush()
    terminal = os.dup(2)
    with open(path, 'wb') as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(terminal, 2)
        os.close(terminal)


class Pool:
    """The units of one key. Experiments may share a pool."""

    def __init__(self, out, name, key):
        self.out, self.name = out, name
        self.folder = out / '.work' / f'{name}-{key}'
        self.lock_file = None

    def id(self, unit):
        return f'{self.folder.name}/{unit.name}'

    def is_finished(self, unit):
        return (self.folder / unit.name).exists()

    def rows(self, name):
        """Returns the rows of a finished unit."""
        return tables.read_rows(self.folder / name)

    def lock(self, on_wait, longest_wait=LONGEST_WAIT):
        """Keeps other runs from doing the same work until this process ends; calls on_wait if it has to wait for
        one. Children do not inherit the lock, because a child that outlives a kill would keep it."""
        (self.out / '.work').mkdir(parents=True, exist_ok=True)
        self.lock_file = open(self.out / '.work' / f'{self.name}.lock', 'w')
        deadline = None
        while not self.try_lock():
            if deadline is None:
                on_wait()
                deadline = time.monotonic() + longest_wait
            elif time.monotonic() > deadline:
                raise UnitFailed(f"another run has been at work in '{self.out}' for 10 minutes; wait for its end")
            time.sleep(0.1)
        for part in (self.out / '.work').glob(f'{self.name}-*/*.part.*'):
            part.unlink()

    def try_lock(self):
        try:
            fcntl.flock(self.lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def compute(self, unit):
        """Computes a unit and keeps it. If a command fails, prints its messages and raises UnitFailed. If
        the disk is full, raises UnitFailed, too."""
        self.folder.mkdir(parents=True, exist_ok=True)
        # The name has the process in it: an orphan of another run may still write to a file of its own.
        part = self.folder / f'{unit.name}.part.{os.getpid()}'
        messages = part.with_name(part.name + '.messages')
        since = time.monotonic()
        try:
            with messages_to(messages), open(part, 'w', encoding='utf-8', newline='') as file:
                tables.write_rows(file, unit.function(*unit.arguments))
            os.replace(part, self.folder / unit.name)
        except CommandFailed as failure:
            sys.stderr.write(messages.read_text(errors='replace'))
            raise UnitFailed(f'unit {unit.name} failed with status {failure.status}: {unit}') from failure
        except OSError as error:
            raise UnitFailed(f'unit {unit.name} failed: {files.explain(error, part)}') from error
        finally:
            for file in part, messages:
                with contextlib.suppress(FileNotFoundError):
                    file.unlink()
        with open(self.folder / '.seconds', 'a') as file:
            file.write(f'{unit.name} {time.monotonic() - since:.0f}\n')
