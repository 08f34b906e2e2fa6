"""Runs commands, measures them and reads their JSON lines."""
import json
import subprocess
import sys
import time
from decimal import Decimal

N_RUNS = 3


def seconds(command, stdin=None, stdout=subprocess.DEVNULL):
    """Returns the wall-clock time of a command. Drops its output unless a file takes it, and its messages unless it
    fails."""
    begin = time.perf_counter()
    done = subprocess.run(words(command), stdin=stdin, stdout=stdout, stderr=subprocess.PIPE)
    end = time.perf_counter()
    if done.returncode != 0:
        sys.stderr.write(done.stderr.decode('utf-8', 'replace'))
        done.check_returncode()
    return end - begin


def take_turns(measure, cases, n_runs=N_RUNS):
    """Returns n_runs results of measure(case) for each case, in a tuple. The cases take turns."""
    rounds = [[measure(case) for case in cases] for _ in range(n_runs)]
    return list(zip(*rounds))


def fastest(*commands):
    """Returns the time of the fastest of three runs of each command. The commands take turns."""
    return [min(runs) for runs in take_turns(seconds, commands)]


def json_lines(command, env=None):
    """Yields the JSON lines that a command prints, as they come. Numbers keep their digits."""
    with subprocess.Popen(words(command), stdout=subprocess.PIPE, encoding='utf-8', env=env) as running:
        for line in running.stdout:
            yield read_json(line)
    if running.returncode != 0:
        raise subprocess.CalledProcessError(running.returncode, words(command))


def read_json(line):
    return json.loads(line, parse_float=Decimal)


def words(command):
    return [str(word) for word in command]
