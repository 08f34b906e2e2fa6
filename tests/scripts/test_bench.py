"""Tests how scripts/bench measures, counts and writes; no benchmark is run."""
import contextlib
import io
import os
import subprocess
import tempfile
import unittest
from decimal import Decimal
from pathlib import Path
from unittest import mock

import parts
import results
import run as bench
import timing

MACHINE = ('0123456789ab+', 'A "fast" CPU', 'gcc 12.2.0', 'avx2')


class Writing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / 'results'
        self.results = results.Results(self.folder, MACHINE)

    def test_texts_are_quoted_and_numbers_keep_their_digits(self):
        rows = [self.results.row('fig1.json', 3, results.number(0.5, '.3f'), Decimal('0.0123456789012345678')),
                self.results.peer_row('torch 2.13', 'x', 5, 1, 2)]
        self.results.write('a.csv', ['model', 'k', 'seconds', 'ratio'], rows)
        self.assertEqual((self.folder / 'a.csv').read_text(), '''\
commit,cpu,compiler,kernels,model,k,seconds,ratio
"0123456789ab+","A ""fast"" CPU","gcc 12.2.0","avx2","fig1.json",3,0.500,0.0123456789012345678
"0123456789ab+","A ""fast"" CPU","torch 2.13","","x",5,1,2
''')

    def test_a_failure_keeps_the_old_file(self):
        self.results.write('a.csv', ['k'], [[1]])
        with self.assertRaises(ZeroDivisionError):
            self.results.write('a.csv', ['k'], ([1 / n] for n in (1, 0)))
        self.assertEqual((self.folder / 'a.csv').read_text().split('\n')[1], '1')

    def test_gguf_takes_the_fastest_round_of_each_program(self):
        def record(rate, search=None):
            return {'tokens_per_second': Decimal(rate), 'search_ms': Decimal(search or 0), 'step_ms': Decimal(10)}

        rounds = [{'sbs': record(90, 1), 'rows': record(100), 'same': record(120), 'default': record(200)},
                  {'sbs': record(100, 2), 'rows': record(80), 'same': record(125), 'default': record(160)}]
        numbers = parts.gguf_numbers(rounds)
        self.assertEqual([str(number) for number in numbers],
                         ['100.0', '100.0', '125.0', '200.0', '1.000', '0.800', '0.500', '0.2000'])

    def test_share_of_kept_rows(self):
        self.assertEqual(parts.share_kept(timing.read_json('{"rows":80,"evaluated":60,"seconds":0.04}')), 0.25)

    def test_fewest_rows_counts_each_continued_prefix_once(self):
        def sequence(end, *tokens):
            return {'tokens': list(tokens), 'end': end}

        cases = (([sequence('eos')], 1),                        # the root
                 ([sequence('leaf', 7)], 1),                    # the root
                 ([sequence('eos', 7)], 2),                     # the root, 7
                 ([sequence('max-len', 7, 8)], 2),              # the root, 7
                 ([sequence('eos', 7, 8), sequence('eos', 7), sequence('leaf', 9, 8)], 4))  # the root, 7, 7 8, 9
        for sequences, expected in cases:
            with self.subTest(sequences=sequences):
                self.assertEqual(parts.fewest_rows({'sequences': sequences}), expected)

    def test_order_takes_the_fastest_round_and_the_median(self):
        numbers = parts.order_numbers([(2.5, 100, 150, 120), (2, 100, 150, 120), (9, 100, 150, 120)])
        self.assertEqual([str(number) for number in numbers], ['100', '2.000', '2.500', '150', '120', '1.2500'])

    def test_cursor_compares_the_halves(self):
        line = ('{"case":"chain","inputs":1,"sequences":100,"rows":300,"first_ms":1.000,"half_ms":20.000,'
                '"last_ms":50.000,"search_bytes":12345,"peak_mib":7.5,"growth_mib":0.0}')
        for text, per_sequence, growth in ((line, '123', '0.0'), (line.replace('12345', 'null'), '', '0.0'),
                                           (line.replace('0.0}', 'null}'), '123', '')):
            numbers = parts.cursor_numbers(timing.read_json(text))
            self.assertEqual([str(number) for number in numbers],
                             ['chain', '1', '100', '300', '1.000', '20.000', '50.000', '0.02', '1.500', per_sequence,
                              '7.5', growth])
            self.assertEqual(len(numbers), len(parts.CURSOR_COLUMNS))


    def test_allow_writes_the_columns_of_its_program(self):
        record = {column: Decimal(i) for i, column in enumerate(parts.ALLOW_COLUMNS)}
        written = {}
        fake = mock.Mock(row=lambda *numbers: numbers, write=lambda *file: written.update([(file[0], file[1:])]))
        with mock.patch.object(parts, 'json_lines', lambda command: [record]), contextlib.redirect_stdout(io.StringIO()):
            parts.allow(fake)
        columns, rows = written['allow.csv']
        self.assertEqual(columns, parts.ALLOW_COLUMNS)
        self.assertEqual(rows, [tuple(map(Decimal, range(len(columns))))] * len(parts.ALLOW_CASES))


class Machines(unittest.TestCase):
    def test_kernels(self):
        self.assertEqual(results.kernels_of('sbeam 0.1.0 (plain kernels)\nwith llama.cpp'), 'plain')
        self.assertEqual(results.kernels_of(''), '')

    def test_compiler(self):
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / 'build/meson-logs/meson-log.txt'
            log.parent.mkdir(parents=True)
            log.write_text('C compiler for the host machine: cc (gcc 12.2.0 "cc (Debian) 12.2.0")\n')
            self.assertEqual(results.compiler_of(folder), 'gcc 12.2.0')

    def test_a_folder_without_commits(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(results.commit_of(folder), 'unknown')


class Timing(unittest.TestCase):
    def test_commands_take_turns_and_the_fastest_counts(self):
        order = []
        times = iter([5, 50, 3, 70, 4, 60])
        with mock.patch.object(timing, 'seconds', lambda command: order.append(command) or next(times)):
            self.assertEqual(timing.fastest('a', 'b'), [3, 50])
        self.assertEqual(''.join(order), 'ababab')

    def test_streams_of_a_measured_command(self):
        with tempfile.TemporaryFile('w+') as given, tempfile.TemporaryFile('w+') as taken:
            given.write('some lines')
            given.seek(0)
            self.assertGreater(timing.seconds(['cat'], stdin=given, stdout=taken), 0)
            taken.seek(0)
            self.assertEqual(taken.read(), 'some lines')

    def test_json_lines_keep_their_digits(self):
        command = ['echo', '{"k":5,"step_ms":0.10000000000000000555}']
        record, = timing.json_lines(command)
        self.assertEqual((record['k'], str(record['step_ms'])), (5, '0.10000000000000000555'))

    def test_a_failed_command_is_never_a_result(self):
        messages = io.StringIO()
        with contextlib.redirect_stderr(messages), self.assertRaises(subprocess.CalledProcessError):
            timing.seconds(['sh', '-c', 'echo reason >&2; exit 3'])
        self.assertEqual(messages.getvalue(), 'reason\n')
        with self.assertRaises(subprocess.CalledProcessError):
            list(timing.json_lines(['sh', '-c', 'echo "{}"; exit 3']))


class Arguments(unittest.TestCase):
    def test_an_unknown_part_is_refused_before_any_work(self):
        messages = io.StringIO()
        with contextlib.redirect_stderr(messages), mock.patch.object(os, 'chdir', side_effect=AssertionError):
            self.assertEqual(bench.main(['search', 'serach']), 2)
        self.assertEqual(messages.getvalue(),
                         "bench: 'serach' is none of search, draws, arpa, gemm, decode, cache, order, gguf, hf, allow\n")
