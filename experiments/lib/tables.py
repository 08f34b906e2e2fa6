"""Reads and writes CSV files."""
import csv

from lib import files


def read_rows(path):
    """Returns the rows of a file without a header, as lists of text."""
    with open(path, encoding='utf-8', newline='') as file:
        return list(csv.reader(file))


def read_table(path):
    """Returns the rows of a file with a header, as dictionaries of text."""
    with open(path, encoding='utf-8', newline='') as file:
        return list(csv.DictReader(file))


def write_rows(file, rows):
    csv.writer(file, lineterminator='\n').writerows(rows)


def write_table(path, columns, rows):
    """Writes a file with a header, completely or not at all; columns are separated by commas."""
    with files.whole(path) as file:
        file.write(columns + '\n')
        write_rows(file, rows)


def claim(text, outcomes):
    """Returns a row of claims.csv: the claim, the number of cases in which it held and of all cases."""
    outcomes = list(outcomes)
    return [text, sum(map(bool, outcomes)), len(outcomes)]
