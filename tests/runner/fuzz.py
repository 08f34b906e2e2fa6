"""Fuzzes with new random numbers; scripts/fuzz calls it. doc/testing.md describes it.

Each harness has a folder FOLDER/NAME of inputs that reach different code. It grows from run to run: the fuzzer starts
with it and with the seeds of tests/fuzz/corpus/NAME, and at the end only inputs that reach more code are kept. Findings
are made small and go to FOLDER/findings. A harness stops at its first finding."""
import argparse
import os
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
import plan  # noqa: E402

PROGRAMS = Path(plan.FUZZ_FOLDER) / "tests/fuzz"
SEEDS = Path("tests/fuzz/corpus")
PYTHON = "python"  # the name of the harness that is not a program
MAX_LEN = "-max_len=4096"
MINIMISE_SECONDS = 60

Row = namedtuple("Row", "name executions seconds new findings")


# --- reading what libFuzzer wrote ---


def count_executions(log):
    """Returns the number of executions from the final statistics, or from the last status line if there are none."""
    final = re.findall(r"^stat::number_of_executed_units: (\d+)", log, re.M)
    status = re.findall(r"^#(\d+)\t", log, re.M)
    return int((final or status or ["0"])[-1])


def find_artifact(log):
    """Returns the path of the input that broke the harness, or None."""
    found = re.findall(r"Test unit written to (.+)$", log, re.M)
    return found[-1] if found else None


def table(rows):
    """Returns the lines of the table, with the totals last."""
    totals = Row("all", *(sum(getattr(row, name) for row in rows)
                          for name in ("executions", "seconds", "new", "findings")))
    lines = ["%-12s %12s %8s %10s %9s %8s" % ("harness", "executions", "seconds", "exec/s", "new files", "findings")]
    for row in [*rows, totals]:
        speed = row.executions / row.seconds if row.seconds > 0 else 0
        lines.append("%-12s %12s %8.0f %10.0f %9d %8d" % (row.name, format(row.executions, ","), row.seconds, speed,
                                                          row.new, row.findings))
    return lines


# --- one harness ---


class Fuzzing:
    """A run of scripts/fuzz: its folders, its seed, and what it found."""

    def __init__(self, folder, seed, seconds, env, say=print):
        self.folder, self.seed, self.seconds, self.env, self.say = Path(folder), seed, seconds, env, say
        self.findings_folder = self.folder / "findings"
        self.findings_folder.mkdir(parents=True, exist_ok=True)
        self.lock = threading.Lock()

    def execute(self, command, log, env=None):
        """Runs a command with its output in a file; returns the exit code and the output."""
        with open(log, "wb") as file:
            code = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                                  env={**os.environ, **self.env, **(env or {})}, check=False).returncode
        return code, Path(log).read_text(encoding="utf-8", errors="replace")

    def report(self, name, log, command):
        """Says where a finding is and how to repeat it."""
        with self.lock:
            self.say("", "finding of %s, log in %s; to repeat it:" % (name, log),
                     "    " + " ".join(shlex.quote(str(word)) for word in command))

    def run(self, name):
        return self.run_python() if name == PYTHON else self.run_harness(name)

    def run_harness(self, name):
        """Fuzzes with one harness for its time. Returns a row of the table."""
        corpus, seeds = self.folder / name, SEEDS / name
        corpus.mkdir(parents=True, exist_ok=True)
        before = {path.name for path in corpus.iterdir()}
        program, log = PROGRAMS / ("fuzz_" + name), self.folder / (name + ".log")
        started = time.monotonic()
        code, output = self.execute(
            [program, "-seed=%d" % self.seed, "-max_total_time=%d" % self.seconds, MAX_LEN, "-print_final_stats=1",
             "-artifact_prefix=%s/%s-" % (self.findings_folder, name), corpus, seeds], log)
        seconds = time.monotonic() - started
        if code != 0:
            artifact = find_artifact(output)
            self.report(name, log, [program, self.minimise(name, program, artifact)] if artifact else [program, seeds])
        self.merge(program, name, corpus, seeds)
        new = {path.name for path in corpus.iterdir()} - before
        return Row(name, count_executions(output), seconds, len(new), int(code != 0))

    def minimise(self, name, program, artifact):
        """Makes the input of a finding small. Returns its path, or that of the input itself if it cannot be smaller."""
        small = Path(str(artifact) + ".small")
        self.execute([program, "-minimize_crash=1", "-max_total_time=%d" % MINIMISE_SECONDS,
                      "-exact_artifact_path=%s" % small, artifact], self.folder / (name + "-minimise.log"))
        if small.exists() and small.stat().st_size < Path(artifact).stat().st_size:
            os.replace(small, artifact)
        elif small.exists():
            small.unlink()
        return artifact

    def merge(self, program, name, corpus, seeds):
        """Keeps only inputs that reach code that the others do not reach. If this fails, all inputs stay."""
        merged = self.folder / (name + ".merged")
        shutil.rmtree(merged, ignore_errors=True)
        merged.mkdir()
        code, _ = self.execute([program, "-merge=1", MAX_LEN, merged, corpus, seeds],
                               self.folder / (name + "-merge.log"))
        if code == 0:
            shutil.rmtree(corpus)
            os.replace(merged, corpus)
        else:
            shutil.rmtree(merged)

    def run_python(self):
        """Calls the Python functions with random arguments. Returns a row of the table."""
        log = self.folder / "python.log"
        env = {"SBEAM_FUZZ_SEED": str(self.seed), "SBEAM_FUZZ_SECONDS": str(self.seconds)}
        command = ["python/tests/run", "test_random_arguments"]
        started = time.monotonic()
        code, output = self.execute(command, log, env)
        seconds = time.monotonic() - started
        if code != 0:
            self.report(PYTHON, log, ["env", *("%s=%s" % item for item in env.items()), *command])
        calls = sum(int(n) for n in re.findall(r"^# (\d+) calls", output, re.M))
        return Row(PYTHON, calls, seconds, 0, int(code != 0))


# --- all of them ---


def choose(wanted, known):
    """Returns the harnesses to run, or ends the program if one is unknown."""
    for name in wanted:
        if name not in known:
            sys.exit("fuzz: there is no harness %s here; expected one of: %s" % (name, ", ".join(known)))
    return wanted or known


def parse(arguments):
    parser = argparse.ArgumentParser(prog="scripts/fuzz", description="Looks for inputs that break sbeam.")
    parser.add_argument("--minutes", type=float, default=1, metavar="N", help="minutes for each harness (default: 1)")
    parser.add_argument("--harness", action="append", default=[], metavar="NAME", help="only this one; may be repeated")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="harnesses at a time (default: 1)")
    parser.add_argument("--seed", type=int, metavar="S", help="repeats the random numbers of another run")
    parser.add_argument("--folder", required=True, help=argparse.SUPPRESS)
    parsed = parser.parse_args(arguments)
    if not parsed.minutes > 0 or parsed.jobs < 1 or (parsed.seed is not None and not 0 < parsed.seed < 2**32):
        parser.error("expected --minutes above 0, --jobs of at least 1, and --seed from 1 to 2^32 - 1")
    return parsed


def main(arguments):
    parsed = parse(arguments)
    env = plan.find_sanitizer()
    if env is None:
        sys.exit("fuzz: the address sanitizer cannot start here")
    for part in (plan.build("build", "build"), plan.build_fuzzers()):
        if subprocess.run(part.command, env={**os.environ, **part.env}, check=False).returncode != 0:
            return 1
    known = sorted([path.name[len("fuzz_"):] for path in PROGRAMS.glob("fuzz_*") if path.is_file()] + [PYTHON])
    names = choose(parsed.harness, known)
    seed = parsed.seed or secrets.randbelow(2**32 - 1) + 1
    fuzzing = Fuzzing(parsed.folder, seed, max(1, round(60 * parsed.minutes)), env,
                      lambda *lines: print("\n".join(lines), flush=True))
    print("fuzz: seed %d, %d harnesses" % (seed, len(names)), flush=True)
    with ThreadPoolExecutor(parsed.jobs) as pool:
        rows = list(pool.map(fuzzing.run, names))
    print("", *table(rows), sep="\n")
    return 1 if any(row.findings for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
