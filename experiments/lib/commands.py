"""Runs the command sbeam and reads what it prints. Every unit is made of this output."""
import json
import operator
import os
import re
import subprocess
import tempfile

NUMBER = re.compile(r'[-+0-9.e]+')
# Sentences may have bytes that are not UTF-8; they go to sbeam as they are.
TEXT = {'encoding': 'utf-8', 'errors': 'surrogateescape'}


class CommandFailed(Exception):
    """A command ended with a status other than 0, which is `status` as a shell gives it."""

    def __init__(self, returncode):
        self.status = returncode if returncode >= 0 else 128 - returncode
        super().__init__(f'status {self.status}')


def n_processors():
    return len(os.sched_getaffinity(0))


def file_of(lines):
    """Returns an open file that holds the lines and is deleted when it is closed."""
    file = tempfile.TemporaryFile('w+', newline='\n', **TEXT)
    file.writelines(line + '\n' for line in lines)
    file.seek(0)
    return file


def sbeam(*commands, lines=()):
    """Runs commands as a pipeline, each a list of arguments for sbeam, and yields the lines that the last one
    prints. The first one reads `lines`. Raises CommandFailed at the end if any of them failed."""
    running = []
    source = file_of(lines)
    try:
        for command in commands:
            arguments = ['sbeam', *map(str, command)]
            running.append(subprocess.Popen(arguments, stdin=source, stdout=subprocess.PIPE, **TEXT))
            source.close()
            source = running[-1].stdout
        source.reconfigure(newline='\n')  # a carriage return does not end a line
        for line in source:
            yield line.rstrip('\n')
    except BaseException:
        for process in running:
            process.kill()
        raise
    finally:
        source.close()
        statuses = [process.wait() for process in running]
    for status in reversed(statuses):
        if status != 0:
            raise CommandFailed(status)


def read_record(line):
    """Returns a line of JSON as a dictionary. Numbers stay text, as sbeam wrote them."""
    return json.loads(line, parse_float=str, parse_int=str)


def fields(line, keys, digits=None):
    """Returns the values of keys of a line of JSON, as text; a key that is missing or null gives ''. Numbers
    longer than `digits` characters are shortened to `digits` digits."""
    record = read_record(line)
    return [as_text(record.get(key), digits) for key in keys]


def as_text(value, digits=None):
    if value is None:
        return ''
    if isinstance(value, bool):
        return str(value).lower()
    if digits and len(value) > digits and NUMBER.fullmatch(value):
        return f'{float(value):.{digits}g}'
    return value


def read_tsv(lines, *columns):
    """Yields the values of these columns, as a tuple of texts, from the lines of `sbeam draw -f tsv`. The values of a
    single column are not in a tuple."""
    lines = iter(lines)
    names = next(lines).split('\t')
    select = operator.itemgetter(*(names.index(column) for column in columns))
    for line in lines:
        yield select(line.split('\t'))
