"""Runs sbeam as a user would, and reports each expectation as a numbered case.

A module test_*.py holds functions test_*(t). Each gets a Tester of its own with an empty folder, so that functions do
not depend on each other and can run at the same time. Patterns are searched for line by line, as grep does."""
import json
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

TIMEOUT = 600  # seconds for one command; enough for a sanitizer build on a busy machine


def to_bytes(text):
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")


def to_text(data):
    return data.decode("utf-8", "surrogateescape")


def split_lines(text):
    """Returns the lines without their newlines; unlike splitlines(), only a newline ends a line."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def found(pattern, text):
    return any(re.search(pattern, line) for line in split_lines(text))


class Result:
    """What one command did: its exit code (negative: the signal that ended it), its output and its messages."""

    def __init__(self, tester, code, out, err):
        self.tester, self.code, self.out, self.err = tester, code, out, err

    @property
    def lines(self):
        return split_lines(self.out)

    @property
    def records(self):
        """The output as JSON lines."""
        return [json.loads(line) for line in self.lines]

    @property
    def rows(self):
        """The output as lines of fields with tabs between them."""
        return [line.split("\t") for line in self.lines]

    def prints_line(self, pattern):
        return found(pattern, self.out)

    def says_line(self, pattern):
        return found(pattern, self.err)

    def exits(self, code, name):
        """Expects the exit code. A success says nothing; a failure says something that begins with "sbeam"."""
        silent = not self.err if code == 0 else self.says_line("^sbeam")
        return self.check(self.code == code and silent, name)

    def prints(self, pattern, name):
        """Expects a line of standard output that has the pattern."""
        return self.check(self.prints_line(pattern), name)

    def says(self, pattern, name):
        """Expects a line of standard error that has the pattern."""
        return self.check(self.says_line(pattern), name)

    def has_lines(self, n, name):
        return self.check(self.out.count("\n") == n, name)

    def fits(self, width, name):
        return self.check(all(len(line) <= width for line in self.lines), name)

    def check(self, ok, name):
        self.tester.check(ok, name, self)
        return self


class Tester:
    """Runs commands in a folder of its own and keeps the lines to print for their cases."""

    def __init__(self, sbeam, source, folder):
        self.sbeam, self.folder = str(sbeam), Path(folder)
        self.data, self.models = source / "tests/data", source / "models"
        self.fig1, self.chain, self.arpa = (str(self.data / name) for name in ("fig1.json", "chain.json", "small.arpa"))
        self.environment = {**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
        for name in ("SBEAM_MODEL", "COLUMNS"):
            self.environment.pop(name, None)
        self.cases = []  # (whether it passed, its name, lines of detail)
        self.skips = []

    # --- commands ---

    def run(self, *arguments, stdin=None, stdout=subprocess.PIPE, env=None, program=None, prefix=(), timeout=TIMEOUT):
        """Runs sbeam. stdin is the text or the bytes to read, an open file, or None for /dev/null."""
        command = [*prefix, program or self.sbeam, *arguments]
        given = {"input": to_bytes(stdin)} if isinstance(stdin, (str, bytes)) else {
            "stdin": subprocess.DEVNULL if stdin is None else stdin}
        done = subprocess.run([to_bytes(str(word)) if not isinstance(word, bytes) else word for word in command],
                              stdout=stdout, stderr=subprocess.PIPE, cwd=self.folder, timeout=timeout,
                              env={**self.environment, **(env or {})}, check=False, **given)
        return Result(self, done.returncode, to_text(done.stdout or b""), to_text(done.stderr))

    def draw(self, *arguments, **given):
        """Returns the JSON lines of sbeam draw, as text."""
        return self.run("draw", *arguments, "-f", "jsonl", **given).out

    def run_until_first_line(self, *arguments):
        """Runs sbeam with a reader that closes the pipe after the first line."""
        with subprocess.Popen([self.sbeam, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, cwd=self.folder, env=self.environment) as process:
            out = process.stdout.readline()
            process.stdout.close()
            err = process.stderr.read()
            return Result(self, process.wait(TIMEOUT), to_text(out), to_text(err))

    def run_on_terminal(self, *arguments, stdin=None, typed=None, answer=None):
        """Runs sbeam on a terminal, types a line, and returns what the screen shows: when the pattern `answer` is
        there or after a minute, or at the end if there is no `answer`. Returns None if there are no terminals here."""
        try:
            screen, terminal = pty.openpty()
        except OSError:
            return None
        shown, deadline = b"", time.monotonic() + 60
        with subprocess.Popen([self.sbeam, *arguments], stdin=terminal if stdin is None else stdin, stdout=terminal,
                              stderr=terminal, cwd=self.folder, env=self.environment,
                              start_new_session=True) as process:
            os.close(terminal)
            if typed is not None:
                os.write(screen, to_bytes(typed))
            while time.monotonic() < deadline and not (answer and re.search(answer, to_text(shown))):
                if not select.select([screen], [], [], 0.1)[0]:
                    continue
                try:
                    shown += os.read(screen, 65536)
                except OSError:  # EIO: the command has ended
                    break
            if process.poll() is None and typed is not None:
                os.write(screen, b"\x04")  # the end of standard input
            try:
                process.wait(60)
            finally:
                process.kill()
                os.close(screen)
        return Result(self, process.returncode, to_text(shown).replace("\r", ""), "")

    # --- files ---

    def write(self, name, content):
        """Writes a file into the folder and returns its name."""
        (self.folder / name).write_bytes(to_bytes(content))
        return name

    def open(self, name):
        return open(self.folder / name, "rb")

    # --- cases ---

    def check(self, ok, name, result=None):
        detail = [] if ok or result is None else split_lines(result.out) + split_lines(result.err)
        if result is not None:
            detail.insert(0, "exit %s" % result.code)
        self.cases.append((bool(ok), name, [line[:160] for line in detail[:12]]))

    def same(self, got, wanted, name):
        self.check(got == wanted, name, None if got == wanted else Result(self, "-", "wanted: %r\ngot: %r" % (
            wanted[:500], got[:500]), ""))

    def skip(self, reason):
        self.skips.append(reason)

    def usage(self, name, *arguments):
        """Wrong usage is a message, a hint, exit 2 and nothing on standard output."""
        result = self.run(*arguments)
        lines = split_lines(result.err)
        return result.check(result.code == 2 and not result.out and len(lines) == 2 and
                            result.says_line("^try 'sbeam.*--help'$"), "usage: " + name)


def run_function(function, sbeam, source):
    """Runs one test function. An exception, such as a command that hangs, is a case that failed."""
    with tempfile.TemporaryDirectory(prefix="sbeam-cli-") as folder:
        tester = Tester(sbeam, source, folder)
        try:
            function(tester)
        except Exception:  # whatever went wrong: the other functions still run
            tester.cases.append((False, "%s.%s came to its end" % (function.__module__, function.__name__),
                                 traceback.format_exc().splitlines()))
    return tester


class Report:
    """Prints the cases of each tester as numbered lines, as TAP does, and counts them."""

    def __init__(self, stream=sys.stdout):
        self.stream, self.n_passed, self.n_failed = stream, 0, 0

    def add(self, tester):
        for ok, name, detail in tester.cases:
            self.n_passed += ok
            self.n_failed += not ok
            self.say("%s %d - %s" % ("ok" if ok else "not ok", self.n_passed + self.n_failed, name))
            for line in [] if ok else detail:
                self.say("#   " + line)
        for reason in tester.skips:
            self.say("# skipped: " + reason)

    def finish(self):
        """Prints the plan and the counts; returns the exit code."""
        self.say("1..%d" % (self.n_passed + self.n_failed))
        self.say("%d passed, %d failed" % (self.n_passed, self.n_failed))
        return 0 if self.n_passed > 0 and self.n_failed == 0 else 1

    def say(self, line):
        # Names and details can hold any bytes, but a log holds text without control characters.
        text = "".join(c if c.isprintable() else "?" for c in line)
        print(text.encode("utf-8", "replace").decode(), file=self.stream, flush=True)
