"""Reads the options that scripts/figures and every run.sh take.

--quick       takes few sentences and small k, to see that everything works
--out DIR     sets the folder of the results
--data EN FR  takes other sentences and references
--list        lists the units and does not compute them (only run.sh)
"""
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

TOP = Path(__file__).resolve().parent.parent.parent
EVERYDAY = TOP / 'experiments/data'
USAGE = '[--quick] [--out DIR] [--data EN FR]'


class UsageError(Exception):
    """The arguments are wrong; the message says how."""


@dataclass
class Options:
    quick: bool = False
    help: bool = False
    list_units: bool = False
    out: Optional[Path] = None
    english: Path = EVERYDAY / 'everyday.en'
    french: Path = EVERYDAY / 'everyday.fr'

    def make_absolute(self):
        self.out, self.english, self.french = (
            Path(os.path.realpath(path)) for path in (self.out, self.english, self.french))

    def as_arguments(self):
        """Returns the arguments that give a run.sh the same options."""
        arguments = ['--quick'] if self.quick else []
        return arguments + ['--out', str(self.out), '--data', str(self.english), str(self.french)]


def parse(arguments, takes_list=False):
    """Returns the Options, with paths as they were given. Raises UsageError for the first wrong argument."""
    options = Options()
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word == '--quick':
            options.quick = True
        elif word == '--list' and takes_list:
            options.list_units = True
        elif word in ('--help', '-h'):
            options.help = True
            break
        elif word == '--out':
            if not words or not words[0]:
                raise UsageError('--out needs a folder')
            options.out = Path(words.pop(0))
        elif word == '--data':
            if len(words) < 2:
                raise UsageError('--data needs two files: sentences and references')
            options.english = Path(words.pop(0))
            options.french = Path(words.pop(0))
        else:
            raise UsageError(f"unknown argument '{word}'")
    if options.out is None:
        options.out = TOP / ('build/figures' if options.quick else 'experiments')
    return options
