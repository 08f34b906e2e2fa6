"""Computes and plots every experiment, and writes one page with all results, DIR/report.html.
  scripts/figures [--quick] [--out DIR] [--data EN FR]
--quick  takes few sentences and small k, less than two minutes, to see that everything works
--out    sets DIR; the default is experiments/, with --quick build/figures
--data   takes other sentences and references
An interrupted run, even one that was killed, continues when it is started again.
"""
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib import EXPERIMENTS, files, options, report  # noqa: E402
from lib.progress import Progress  # noqa: E402

TOP = options.TOP


class Stopped(Exception):
    """A signal asked for the end."""


def say(text, stream=sys.stderr):
    print(f'figures: {text}', file=stream, flush=True)


def run_sh(experiment, chosen, *arguments):
    return [str(TOP / 'experiments' / experiment / 'run.sh'), *arguments, *chosen.as_arguments()]


def list_units(chosen, progress):
    """Adds the units of all experiments to the progress. Returns false if an experiment failed."""
    for experiment in EXPERIMENTS:
        listed = subprocess.run(run_sh(experiment, chosen, '--list'), stdout=subprocess.PIPE, encoding='utf-8')
        if listed.returncode != 0:
            return False
        for line in listed.stdout.splitlines():
            unit, cost, *found = line.split()
            progress.add(unit, int(cost), is_found=bool(found))
    return True


def events(stream):
    """Yields the lines of a stream, and None after each second without one."""
    lines = queue.Queue()

    def read():
        for line in stream:
            lines.put(line)
        lines.put('')

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=1)
        except queue.Empty:
            yield None
            continue
        if not line:
            return
        yield line


def run_experiment(experiment, chosen, progress):
    """Computes an experiment and shows its progress; its messages follow at its end. Returns its exit status."""
    with tempfile.TemporaryFile() as messages:
        running = subprocess.Popen(run_sh(experiment, chosen), stdout=subprocess.PIPE, stderr=messages,
                                   encoding='utf-8')
        current = experiment
        for line in events(running.stdout):
            if line is not None:
                event, unit, _ = line.split()
                current = f"{experiment} {unit.split('/')[-1]}"
                if event in ('done', 'found'):
                    progress.finish(unit, event == 'found', current)
                elif event == 'wait' and not progress.is_terminal:
                    say(f'waiting for another run in {chosen.out}')
            progress.show_bar(current)
        status = running.wait()
        progress.clear()
        messages.seek(0)
        sys.stderr.write(messages.read().decode('utf-8', 'replace'))
        return status


def stop(*_):
    raise Stopped


def main(arguments):
    command = ' '.join(['scripts/figures', *arguments])
    try:
        chosen = options.parse(arguments)
        for file in chosen.english, chosen.french:
            if not (file.is_file() and os.access(file, os.R_OK)):
                raise options.UsageError(f"'{file}' cannot be read")
    except options.UsageError as error:
        say(f'{error}\nusage: scripts/figures {options.USAGE}')
        return 2
    if chosen.help:
        print(__doc__, end='')
        return 0
    chosen.make_absolute()

    try:
        return run_all(chosen, command)
    except files.WriteFailed as error:
        say(error)
    except OSError as error:
        say(files.explain(error, chosen.out))
    return 1


def run_all(chosen, command):
    """Builds sbeam, computes the experiments and writes the page. Returns the exit status."""
    for script in 'setup', 'build':
        if subprocess.run([TOP / 'scripts' / script], cwd=TOP).returncode != 0:
            return 1
    os.environ['PATH'] = f"{TOP / 'build'}:{os.environ['PATH']}"
    chosen.out.mkdir(parents=True, exist_ok=True)
    progress = Progress()
    if not list_units(chosen, progress):
        return 1
    progress.start()
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
        signal.signal(number, stop)
    try:
        for experiment in EXPERIMENTS:
            if run_experiment(experiment, chosen, progress) != 0:
                say(f'{experiment} failed; finished units are kept')
                return 1
            say(chosen.out / experiment, sys.stdout)
    except Stopped:
        progress.clear()
        say('stopped; the same command continues from here')
        return 130
    report.write(chosen.out, chosen.quick, command)
    say(f'{chosen.out}/report.html ({progress.seconds()} s; {progress.n_found} of {len(progress.costs)} units were '
        'finished before)', sys.stdout)
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
