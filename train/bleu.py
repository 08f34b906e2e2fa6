#!/usr/bin/env python3
"""BLEU of translations of the test set, as sacreBLEU defines it.

    bleu.py sources --data DATA >sources.txt
    sbeam draw -m MODEL -f jsonl --method beam -k 5 - <sources.txt >beam.jsonl
    bleu.py score --data DATA beam.jsonl

The sources are the first 1,000 distinct lines of DATA/test.en in the order of the file. The references of one are
the lines of test.fr beside all lines of test.en that equal it; the figure in brackets takes the first alone.
HYPOTHESES has a line for each source: a translation, or a record of `sbeam draw -f jsonl`, whose first sequence
counts. Corpus level, mixed case, 13a tokenisation, n-grams up to 4, exponential smoothing (Papineni et al. 2002,
Post 2018).
"""
import argparse
import collections
import json
import math
import re
import sys

ORDER = 4

# The tokenisation of mteval-v13a: ASCII punctuation stands alone, but for an apostrophe and a hyphen, and but for
# a full stop or a comma between digits; a hyphen after a digit stands alone.
PUNCTUATION = re.compile(r'([{-~\[-` -&(-+:-@/])')
RULES = [(PUNCTUATION, r' \1 '), (re.compile(r'([^0-9])([.,])'), r'\1 \2 '),
         (re.compile(r'([.,])([^0-9])'), r' \1 \2'), (re.compile(r'([0-9])(-)'), r'\1 \2 ')]
ENTITIES = [('&quot;', '"'), ('&amp;', '&'), ('&lt;', '<'), ('&gt;', '>')]


def tokenize(line):
    line = line.replace('<skipped>', '')
    for entity, character in ENTITIES:
        line = line.replace(entity, character)
    line = f' {line} '
    for pattern, replacement in RULES:
        line = pattern.sub(replacement, line)
    return line.split()


def ngrams(words):
    """How often each n-gram of 1 to ORDER words occurs."""
    return collections.Counter(tuple(words[i:i + n]) for n in range(1, ORDER + 1) for i in range(len(words) - n + 1))


class Statistics:
    """What the sentences of a corpus add up to."""

    def __init__(self):
        self.matches, self.totals = [0] * ORDER, [0] * ORDER
        self.length = self.reference_length = 0

    def add(self, hypothesis, references):
        words, others = tokenize(hypothesis), [tokenize(reference) for reference in references]
        self.length += len(words)
        # The reference of the closest length, the shorter of two.
        self.reference_length += min((abs(len(other) - len(words)), len(other)) for other in others)[1]
        allowed = collections.Counter()
        for other in others:
            allowed |= ngrams(other)  # the most that any one reference has
        for gram, count in ngrams(words).items():
            self.matches[len(gram) - 1] += min(count, allowed[gram])
            self.totals[len(gram) - 1] += count

    def bleu(self):
        """In percent."""
        if self.matches[0] == 0 or self.totals[ORDER - 1] == 0:
            return 0.0
        logs, smoothing = 0.0, 1.0
        for matches, total in zip(self.matches, self.totals):
            if matches == 0:
                smoothing *= 2  # the first order without a match counts a half, the next a quarter
                matches = 1 / smoothing
            logs += math.log(matches / total)
        brevity = min(0.0, 1 - self.reference_length / self.length)
        return 100 * math.exp(brevity + logs / ORDER)


def corpus_bleu(hypotheses, references):
    """references: a list of texts for each hypothesis"""
    statistics = Statistics()
    for hypothesis, texts in zip(hypotheses, references):
        statistics.add(hypothesis, texts)
    return statistics.bleu()


def read_lines(path):
    with open(path, encoding='utf-8', newline='\n') as file:
        return [line.rstrip('\r\n') for line in file]


def read_test(folder, n):
    """The first n distinct sources and their references: {source: [references]} in the order of the file"""
    sources, targets = read_lines(folder + '/test.en'), read_lines(folder + '/test.fr')
    if len(sources) != len(targets):
        sys.exit(f'bleu: {folder}: test.en has {len(sources)} lines, test.fr {len(targets)}')
    references = collections.defaultdict(list)
    for source, target in zip(sources, targets):
        references[source].append(target)
    return dict(list(references.items())[:n])


def read_hypotheses(path):
    """A text a line, or a record a line."""
    lines = read_lines(path)
    if not all(line.startswith('{"') for line in lines):
        return lines
    records = [json.loads(line) for line in lines]
    return [record['sequences'][0]['text'] if record['sequences'] else '' for record in records]


def score(folder, path, n):
    references = list(read_test(folder, n).values())
    hypotheses = read_hypotheses(path)
    if len(hypotheses) != len(references):
        sys.exit(f'bleu: {path}: {len(hypotheses)} translations for {len(references)} sources')
    every = corpus_bleu(hypotheses, references)
    first = corpus_bleu(hypotheses, [texts[:1] for texts in references])
    print(f'BLEU {every:.1f} ({first:.1f}) of {len(hypotheses)} sentences with '
          f'{sum(map(len, references))} references')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest='command', required=True)
    for name, text in (('sources', 'print the sources'), ('score', 'print the BLEU of translations of them')):
        command = commands.add_parser(name, help=text)
        command.add_argument('--data', required=True, help='folder of test.en and test.fr')
        command.add_argument('-n', type=int, default=1000, help='number of sources (default %(default)s)')
        if name == 'score':
            command.add_argument('hypotheses', metavar='HYPOTHESES')
    args = parser.parse_args()
    try:
        if args.command == 'score':
            score(args.data, args.hypotheses, args.n)
        else:
            sys.stdout.reconfigure(encoding='utf-8')
            print('\n'.join(read_test(args.data, args.n)))
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f'bleu: {error}')
    except (json.JSONDecodeError, LookupError, TypeError) as error:
        sys.exit(f'bleu: {args.hypotheses}: expected records of `sbeam draw -f jsonl`: {error}')


if __name__ == '__main__':
    main()
