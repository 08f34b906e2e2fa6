"""The frame of an experiment: a run.py derives a class from Experiment, which says what its units and tables are.

    class Diversity(Experiment):
        def settings(self):           # optional: sets numbers that depend on self.quick
        def units(self):              # yields Unit(NAME, COST, FUNCTION, ARGUMENT...)
        def tables(self):             # calls self.table(FILE, COLUMNS, ROWS) for each CSV file

    if __name__ == '__main__':
        sys.exit(Diversity(__file__).main(sys.argv[1:]))

main() computes the units that are not finished, then the tables, then the figures (plot.gp). Standard output reports
progress: "start UNIT COST" and "done UNIT COST", or "found UNIT COST"; "wait" while another run works in the same
folder. With --list it is "UNIT COST" for each unit, and "found" if it is finished. Exit status: 0, 1 if something
failed, 2 for wrong arguments, 130 if the run was stopped.
"""
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from lib import commands, files, options, tables, units

TOP = options.TOP
TRANSLATION_MODEL = TOP / 'models/enfr-everyday.safetensors'


class Failure(Exception):
    """The experiment cannot be computed; the message says why."""


class Experiment:
    models = None     # paths of the models that decide the results, from the top folder; None: the translation model
    parts = ()        # names of other files that decide them, from the folder of the experiment
    uses_data = True  # whether the sentences and references decide them
    pool_name = None  # experiments of one pool share units, and then their run.py must not decide them

    def __init__(self, script):
        self.script = Path(os.path.realpath(script))
        self.folder = self.script.parent
        self.name = self.folder.name

    def settings(self):
        """Sets what depends on the options."""

    def units(self):
        raise NotImplementedError

    def tables(self):
        raise NotImplementedError

    def rows(self, *names):
        """Returns the rows of the units named, one after the other."""
        return [row for name in names for row in self.pool.rows(name)]

    def table(self, file, columns, rows):
        tables.write_table(self.results / file, columns, rows)

    def read_table(self, file):
        return tables.read_table(self.results / file)

    # --- how a run goes ---

    def main(self, arguments):
        usage = f'usage: {Path(sys.argv[0]).with_suffix(".sh")} {options.USAGE} [--list]'
        try:
            chosen = options.parse(arguments, takes_list=True)
            chosen.make_absolute()
            if "'" in str(chosen.out):
                raise options.UsageError('--out must have no quote in its name')
        except options.UsageError as error:
            print(f'{self.name}: {error}\n{usage}', file=sys.stderr)
            return 2
        if chosen.help:
            print(usage)
            return 0
        try:
            self.open(chosen)
            if chosen.list_units:
                self.list_units()
            else:
                self.run()
        except (Failure, files.WriteFailed, units.UnitFailed) as error:
            print(f'{self.name}: {error}', file=sys.stderr)
            return 1
        except BrokenPipeError:  # the program that reads the progress was killed
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return 1
        except OSError as error:
            print(f'{self.name}: {files.explain(error, self.out)}', file=sys.stderr)
            return 1
        return 0

    def open(self, chosen):
        """Reads the data, and finds the units that belong to all the files that decide them."""
        self.quick, self.out = chosen.quick, chosen.out
        self.english, self.french = chosen.english, chosen.french
        self.results = self.out / self.name
        os.environ['LC_ALL'] = 'C.UTF-8'
        os.environ.setdefault('SBEAM_MODEL', str(TRANSLATION_MODEL))
        deciders = self.deciders()
        for file in deciders:
            if not (file.is_file() and os.access(file, os.R_OK)):
                raise Failure(f"'{file}' cannot be read")
        self.sentences = self.read_data() if self.uses_data else []
        program = shutil.which('sbeam')
        if program is None:
            raise Failure('sbeam is not in PATH; run scripts/figures, which puts it there')
        key = units.checksum([self.quick], [*deciders, program])
        self.pool = units.Pool(self.out, self.pool_name or self.name, key)
        self.settings()

    def deciders(self):
        files = [] if self.pool_name else [self.script]
        if self.uses_data:
            files += [self.english, self.french]
        models = [os.environ['SBEAM_MODEL']] if self.models is None else self.models
        files += [TOP / model for model in models]
        return files + [Path(commands.__file__)] + [self.folder / part for part in self.parts]

    def read_data(self):
        """Returns the sentences. Checks that there are references for each."""
        # As with `wc -l`, a line ends with a newline.
        english, french = (path.read_bytes().decode('utf-8', 'surrogateescape').split('\n')[:-1]
                           for path in (self.english, self.french))
        if len(english) != len(french):
            raise Failure(f"'{self.english}' has {len(english)} lines and '{self.french}' has {len(french)}: "
                          'expected equal numbers, a line is a sentence and its references')
        return english

    def list_units(self):
        for unit in self.units():
            found = 'found' if self.pool.is_finished(unit) else ''
            print(self.pool.id(unit), unit.cost, found)

    def run(self):
        self.results.mkdir(parents=True, exist_ok=True)
        self.pool.lock(on_wait=lambda: print('wait for-another-run 0', flush=True))
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            signal.signal(number, lambda *_: sys.exit(130))
        for unit in self.units():
            if self.pool.is_finished(unit):
                print('found', self.pool.id(unit), unit.cost, flush=True)
            else:
                print('start', self.pool.id(unit), unit.cost, flush=True)
                self.pool.compute(unit)
                print('done', self.pool.id(unit), unit.cost, flush=True)
        self.tables()
        self.plot()

    def plot(self):
        """Plots into a separate folder, and moves the figures only if all of them are whole, because gnuplot does not
        say that a disk is full."""
        folder = self.results / '.figures.part'
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            names = f"dir='{os.path.realpath(self.results)}'; to='{os.path.realpath(folder)}'"
            if subprocess.run(['gnuplot', '-e', names, 'plot.gp'], cwd=self.folder).returncode != 0:
                raise Failure('gnuplot failed on plot.gp; its message, if there is one, is above')
            figures = sorted(folder.glob('*.svg'))
            for figure in figures:
                if not figure.read_bytes().rstrip().endswith(b'</svg>'):
                    raise Failure(f"gnuplot could not write all of '{self.results / figure.name}'; is the disk full?")
            for figure in figures:
                os.replace(figure, self.results / figure.name)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
