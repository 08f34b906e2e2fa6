"""Measures, and writes bench/results/*.csv: see scripts/bench."""
import os
import subprocess
import sys
from pathlib import Path

from parts import PARTS, SBEAM
from results import Results, describe_machine

TOP = Path(__file__).resolve().parent.parent
RESULTS = 'bench/results'


def main(names):
    for name in names:
        if name not in PARTS:
            print(f"bench: '{name}' is none of {', '.join(PARTS)}", file=sys.stderr)
            return 2
    os.chdir(TOP)
    try:
        subprocess.run(['scripts/build'], stdout=subprocess.DEVNULL, check=True)
        results = Results(RESULTS, describe_machine(TOP, SBEAM))
        for name in names or PARTS:
            PARTS[name](results)
    except subprocess.CalledProcessError as failure:
        command = ' '.join(map(str, failure.cmd))
        print(f'bench: failed with status {failure.returncode}: {command}', file=sys.stderr)
        return 1
    print(f'written: {RESULTS}/*.csv')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
