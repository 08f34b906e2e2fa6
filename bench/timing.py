"""Runs commands, measures them and reads their JSON lines."""
import json
import subprocess
import sys
import time
from decimal import Decimal

N_RUNS = 3


def seconds(command):
    """Returns the wall-clock time of a command. Drops its output, and its messages unless it fails."""
    begin = time.perf_counter()
    done = subprocess.run(words(command), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    end = time.perf_counter()
    if done.returncode != 0:
        sys.stderr.write(done.stderr.decode('utf-8', 'replace'))
        done.check_returncode()
    return end - begin


def fastest(*commands):
    """Returns the time of the fastest of three runs of each command. The commands take turns."""
    times = [[seconds(command) for command in commands] for _ in range(N_RUNS)]
    return [min(runs) for runs in zip(*times)]


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
