"""Runs the parts of the check, two at a time, and prints a line for each in the order in which they were given."""
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from counting import Counts, count_one

LIMIT = 3600  # seconds for one part; a part that takes longer hangs
NOTABLE = re.compile("not ok|FAILED|ERROR|rror:|FAIL|violation|warning:")  # lines of a log that say what is wrong
MOST_NOTABLE = 8


class Part:
    """A command, the file for its output, and the function that counts its cases.

    count(code, output) returns Counts. If `results` is given, the command writes its results to files of that pattern,
    which are removed before; count gets their text instead of the output."""

    def __init__(self, name, command, log, count=count_one, env=None, results=None, limit=LIMIT):
        self.name, self.command, self.log, self.count = name, [str(word) for word in command], Path(log), count
        self.env, self.results, self.limit = env or {}, results, limit


class Outcome:
    """What a part did: its counts, and the seconds that it took."""

    def __init__(self, name, counts, seconds=0, log=None):
        self.name, self.counts, self.seconds, self.log = name, counts, seconds, log


def lines_of(outcome):
    """Returns the lines to print for an outcome."""
    counts = outcome.counts
    word = "FAILED" if counts.failed else "skipped" if counts.skipped and not counts.passed else "ok"
    line = "%-22s %-8s %5d passed" % (outcome.name, word, counts.passed)
    line += ", %d failed" % counts.failed if counts.failed else ""
    line += ", %d skipped" % counts.skipped if counts.skipped else ""
    lines = ["%s  (%d s)" % (line, outcome.seconds)]
    if counts.failed and outcome.log is not None:
        notable = [line for line in read(outcome.log).splitlines() if NOTABLE.search(line)]
        lines += ["    " + line for line in notable[:MOST_NOTABLE]]
        lines.append("    full log: %s" % outcome.log)
    return lines + ["    " + reason for reason in counts.reasons]


def read(path):
    return Path(path).read_text(encoding="utf-8", errors="replace")


class Check:
    """Runs parts and adds up their counts."""

    def __init__(self, stream=None):
        self.stream = stream or sys.stdout
        self.totals = [0, 0, 0]
        self.outcomes = []
        self.started = time.monotonic()
        self.processes = set()
        self.stopped = False

    def run(self, *parts):
        """Runs the parts two at a time. Returns whether none of them failed."""
        n_failed = self.totals[1]
        with ThreadPoolExecutor(2) as pool:
            try:
                for outcome in pool.map(self.run_one, parts):
                    self.add(outcome)
            except BaseException:
                self.stop()
                raise
        return self.totals[1] == n_failed

    def run_one(self, part):
        started = time.monotonic()
        part.log.parent.mkdir(parents=True, exist_ok=True)
        folder, pattern = part.results or (Path("."), None)
        for old in folder.glob(pattern) if pattern else ():
            old.unlink()
        code = self.execute(part)
        output = "".join(read(path) for path in folder.glob(pattern)) if pattern else read(part.log)
        return Outcome(part.name, part.count(code, output), time.monotonic() - started, part.log)

    def execute(self, part):
        """Runs the command with its output in the log; returns the exit code. After the limit it is killed, with all
        the processes that it started."""
        with open(part.log, "wb") as log:
            try:
                process = subprocess.Popen(part.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                           env={**os.environ, **part.env}, start_new_session=True)
            except OSError as error:
                log.write(("error: %s\n" % error).encode())
                return 127
            self.processes.add(process)
            if self.stopped:
                self.stop()
            try:
                return process.wait(part.limit)
            except subprocess.TimeoutExpired:
                log.write(("\nerror: killed after %d s\n" % part.limit).encode())
                kill(process)
                return process.wait() or 124
            finally:
                self.processes.discard(process)

    def stop(self):
        """Kills all commands that run, and those that begin from now on."""
        self.stopped = True
        for process in list(self.processes):
            kill(process)

    def skip(self, name, reason):
        self.add(Outcome(name, Counts(0, 0, 1, [reason])))

    def add(self, outcome):
        self.totals = [a + b for a, b in zip(self.totals, outcome.counts)]
        self.outcomes.append(outcome)
        self.say(*lines_of(outcome))

    def say(self, *lines):
        for line in lines:
            print(line, file=self.stream, flush=True)

    def finish(self):
        """Prints the totals and returns the exit code."""
        self.say("", "%d s" % (time.monotonic() - self.started),
                 "check: %d passed, %d failed, %d skipped" % tuple(self.totals))
        return 0 if self.totals[1] == 0 else 1


def kill(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
