"""Runs the command sbeam and reads what it prints. Every unit is made of this output."""
import json
import os
import re
import subprocess
import tempfile

NUMBER = re.compile(r'[-+0-9.e]+')


class CommandFailed(Exception):
    """A command ended with a status other than 0, which is `status` as a shell gives it."""

    def __init__(self, returncode):
        self.status = returncode if returncode >= 0 else 128 - returncode
        super().__init__(f'status {self.status}')


def n_processors():
    return len(os.sched_getaffinity(0))


def sbeam(*commands, lines=()):
    """Runs commands as a pipeline, each a list of arguments for sbeam, and yields the lines that the last one
    prints. The first one reads `lines`. Raises CommandFailed at the end if any of them failed."""
    with tempfile.TemporaryFile() as given:
        given.writelines(map(encode, lines))
        given.seek(0)
        source = given
        running = []
        try:
            for command in commands:
                running.append(subprocess.Popen(['sbeam', *map(str, command)], stdin=source, stdout=subprocess.PIPE))
                source.close()
                source = running[-1].stdout
            for line in source:
                yield decode(line)
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


# Sentences may have bytes that are not UTF-8; they go to sbeam as they are.
def encode(line):
    return (line + '\n').encode('utf-8', 'surrogateescape')


def decode(line):
    return line.decode('utf-8', 'surrogateescape').rstrip('\n')


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
    """Yields tuples of the values of these columns, as text, from the lines of `sbeam draw -f tsv`."""
    lines = iter(lines)
    names = next(lines).split('\t')
    places = [names.index(column) for column in columns]
    for line in lines:
        values = line.split('\t')
        yield tuple(values[place] for place in places)
