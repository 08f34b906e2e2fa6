"""Runs sbeam with pipes that stay open, like a program that sends a line and waits for the answer."""
import os
import select
import subprocess
import time

from harness import Result, to_bytes, to_text

DEADLINE = 60  # seconds for an answer; enough for a sanitizer build on a busy machine


class Coprocess:
    """One running command. Its standard output is a pipe, or the file that is given."""

    def __init__(self, t, *arguments, stdout=subprocess.PIPE, stdin=subprocess.PIPE, env=None):
        self.tester, self.out = t, b""
        self.process = subprocess.Popen([t.sbeam, *map(str, arguments)], stdin=stdin, stdout=stdout,
                                        stderr=subprocess.PIPE, cwd=t.folder, env={**t.environment, **(env or {})},
                                        bufsize=0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()

    def send(self, text):
        self.process.stdin.write(to_bytes(text))

    def receive(self, size, seconds=DEADLINE):
        """Waits until the output has `size` bytes, ends, or the time is over. Returns all output so far."""
        end = time.monotonic() + seconds
        while len(self.out) < size and select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
            got = os.read(self.process.stdout.fileno(), 65536)
            if not got:
                break
            self.out += got
        return to_text(self.out)

    def is_running(self):
        return self.process.poll() is None

    def end(self, seconds=DEADLINE):
        """Waits for a command that ends by itself. Returns its result; the exit code is None if it does not end."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return Result(self.tester, None, to_text(self.out), "")
        self.out += self.process.stdout.read() if self.process.stdout and not self.process.stdout.closed else b""
        return Result(self.tester, self.process.returncode, to_text(self.out), to_text(self.process.stderr.read()))

    def end_by_sending(self, line, seconds=DEADLINE):
        """Sends a line again and again until the command ends. Once would not be enough: a process that another test
        is just starting has the closed pipe open for a moment."""
        end = time.monotonic() + seconds
        while self.is_running() and time.monotonic() < end:
            try:
                self.send(line)
            except BrokenPipeError:
                break
            time.sleep(0.05)
        return self.end(max(1, end - time.monotonic()))

    def finish(self):
        """Ends the input and returns the result."""
        self.process.stdin.close()
        return self.end()


def wait_for_file(path, text, process, seconds=DEADLINE):
    """Waits until the file holds the text. Returns False if the process has ended or the time is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.is_running():
        if to_bytes(text) in path.read_bytes():
            return True
        time.sleep(0.02)
    return False
