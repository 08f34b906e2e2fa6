"""Writes bench/results/*.csv. Each row says what was measured: commit, CPU, compiler and kernels."""
import csv
import os
import platform
import re
import subprocess
from decimal import Decimal
from pathlib import Path

MACHINE_COLUMNS = ('commit', 'cpu', 'compiler', 'kernels')


def number(value, form):
    """Returns a number that is written with the digits of the format, such as '.3f'."""
    return Decimal(format(value, form))


class Results:
    """The folder of results. `machine` is the (commit, cpu, compiler, kernels) of this build."""

    def __init__(self, folder, machine):
        self.folder, self.machine = Path(folder), machine

    def row(self, *values):
        """Returns a row that was measured with this build."""
        return [*self.machine, *values]

    def peer_row(self, peer, *values):
        """Returns a row that was measured with another program on this machine."""
        return [*self.machine[:2], peer, '', *values]

    def write(self, file, columns, rows):
        """Writes a file, completely or not at all. Texts are quoted, numbers are not."""
        self.folder.mkdir(parents=True, exist_ok=True)
        part = self.folder / f'{file}.part'
        with open(part, 'w', encoding='utf-8', newline='') as out:
            out.write(','.join([*MACHINE_COLUMNS, *columns]) + '\n')
            csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator='\n').writerows(rows)
        os.replace(part, self.folder / file)


# --- what was measured ---

def describe_machine(top, sbeam):
    """Returns the commit, CPU, compiler and kernels of the build in the folder `top`."""
    return commit_of(top), cpu(), compiler_of(top), kernels_of(output(sbeam, '--version'))


def output(*command):
    """Returns what a command prints, or '' if it fails."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding='utf-8')
    except OSError:
        return ''
    return done.stdout if done.returncode == 0 else ''


def commit_of(top):
    """Returns the commit, with a + if files differ from it."""
    commit = output('git', '-C', top, 'rev-parse', '--short=12', 'HEAD').strip() or 'unknown'
    return commit + ('+' if output('git', '-C', top, 'status', '--porcelain', '--untracked-files=no') else '')


def cpu():
    try:
        found = re.search(r'^model name[^:]*: *(.*)', Path('/proc/cpuinfo').read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.machine()


def compiler_of(top):
    """Returns the compiler that meson found."""
    log = Path(top) / 'build/meson-logs/meson-log.txt'
    text = log.read_text(errors='replace') if log.exists() else ''
    found = re.search(r'^C compiler for the host machine: [^(]*\(([^"]*) "', text, re.MULTILINE)
    return found[1] if found else output('cc', '--version').split('\n')[0]


def kernels_of(version):
    """Returns the name of the kernels that `sbeam --version` gives."""
    found = re.search(r'\(([a-z0-9]*) kernels\)', version.split('\n')[0])
    return found[1] if found else ''
