"""The parts of scripts/bench. Each prints what it measures and writes its CSV files; bench/README.md says what
question each answers."""
import csv
import os
import statistics
import subprocess
import tempfile
from decimal import Decimal
from pathlib import Path

from results import number
from timing import fastest, json_lines, read_json, seconds, take_turns

SBEAM = 'build/sbeam'
SENTENCE = 'I was about to throw the box away when I heard something moving inside it.'


def say(text):
    print(text, flush=True)


def find_python(*modules):
    """Returns the Python that has these modules, or '' if there is none."""
    return subprocess.run(['scripts/find-python', *modules], stdout=subprocess.PIPE, encoding='utf-8').stdout.strip()


# --- search ---

def search(results):
    say('search: milliseconds a step, smallest of interleaved repeats')
    say('{:>5} {:>7} {:>4} {:>9} {:>9} {:>9} {:>11} {:>8} {:>9}'.format(
        'k', 'vocab', 'T', 'sbs', 'beam', 'logsumexp', 'algorithm 1', 'sbs/lse', 'alg1/sbs'))
    records = []
    for record in json_lines([SBEAM, 'bench', 'search', '-f', 'jsonl']):
        records.append(record)
        say('{k:5d} {vocab:7d} {temperature:4} {sbs_ms:9.3f} {beam_ms:9.3f} {logsumexp_ms:9.3f} {algorithm1_ms:11.2f} '
            '{sbs_over_logsumexp:8.2f} {algorithm1_over_sbs:9.1f}'.format(**record))
    results.write('search.csv', records[0], [results.row(*record.values()) for record in records])


def draws(results):
    n = 1000000
    best, = fastest([SBEAM, 'draw', '-m', 'models/fig1.json', '-k', 3, '--draws', n, '--seed', 1, '-f', 'jsonl'])
    rate = number(n / best, '.0f')
    say(f'draws: {rate} a second (models/fig1.json, k = 3, JSON lines, one thread)')
    results.write('draws.csv', ['model', 'k', 'draws', 'seconds', 'draws_per_second'],
                  [results.row('fig1.json', 3, n, number(best, '.6g'), rate)])


def arpa(results):
    model = os.environ.get('SBEAM_ARPA')
    if not model:
        say('arpa: skipped; name a word model: SBEAM_ARPA=model.arpa.gz scripts/bench')
        return
    n = 20
    draw = [SBEAM, 'draw', '-m', model, '-k', 20, '--max-len', 20, '--min-len', 20, '--draws', n, '--seed', 1,
            '-f', 'jsonl']
    rows = sum(record['model_rows'] for record in json_lines(draw))
    # `info` only loads the model; the time of search is that of the draws minus that of `info`.
    load, = fastest([SBEAM, 'info', '-m', model])
    both, = fastest(draw)
    load_s, each, rate = number(load, '.3f'), number((both - load) / n, '.4f'), number(rows / (both - load), '.0f')
    results.write('arpa.csv', ['model', 'load_s', 'k', 'words', 'draws', 'rows', 'seconds_per_draw', 'rows_per_second'],
                  [results.row(Path(model).name, load_s, 20, 20, n, rows, each, rate)])
    say(f'arpa: loads in {load_s} s; k = 20 continuations of 20 words in {each} s; {rate} rows a second')


def fair_blas():
    """Variables for OpenBLAS: one thread, and the kernels of this processor. On a virtual machine OpenBLAS may take the
    processor for a much older one."""
    flags = Path('/proc/cpuinfo').read_text(encoding='utf-8', errors='replace').split()
    core = 'SKYLAKEX' if 'avx512vl' in flags else 'HASWELL' if 'avx2' in flags else None
    return {'OPENBLAS_NUM_THREADS': '1', **({'OPENBLAS_CORETYPE': core} if core else {})}


def gemm(results):
    say('gemm: billions of operations a second, largest of interleaved repeats; one thread')
    measured = subprocess.run(['build/tests/bench_gemm'], stdout=subprocess.PIPE, encoding='utf-8',
                              env={**fair_blas(), **os.environ})
    if measured.returncode != 0:
        return  # it printed the reason
    header, *rows = csv.reader(measured.stdout.splitlines())
    for row in [header, *rows]:
        say('{:>5} {:>8} {:>7} {:>22} {:>8}'.format(*row))
    results.write('gemm.csv', header, [results.row(*map(Decimal, row[:3]), row[3], Decimal(row[4])) for row in rows])


# --- decoding with translation models, compared with PyTorch ---

DECODE_CASES = ((1, '5,20,80,320', '5,20', 5), (16, '20', '20', 2))  # batch, k, k of PyTorch, repeats
# Without these settings PyTorch returns its buffers to the system after each step and gets them again, cleared. They
# make it up to three times as fast if rows are long.
KEEP_BUFFERS = {'MALLOC_MMAP_THRESHOLD_': '8589934592', 'MALLOC_TRIM_THRESHOLD_': '8589934592',
                'MALLOC_TOP_PAD_': '268435456'}


def decode_records(vocab, python, with_torch):
    """Yields the records of sbeam and of PyTorch, in turn."""
    model = Path(f'build/bench-{vocab}.safetensors')
    if not model.exists() or model.stat().st_size == 0:
        subprocess.run([python, 'bench/random_fconv.py', model, '--vocab', str(vocab)], check=True)
    for batch, ks, peer_ks, repeats in DECODE_CASES:
        common = ['--batch', batch, '--method', 'sbs,beam', '--repeats', repeats]
        yield from json_lines([SBEAM, 'bench', 'decode', '-m', model, '-k', ks, *common, '-f', 'jsonl'])
        if with_torch:
            yield from json_lines([python, 'bench/torch_decode.py', model, '-k', peer_ks, *common],
                                  env={**os.environ, **KEEP_BUFFERS})


def decode(results):
    torch = ''
    python = find_python('numpy', 'torch')
    if python:
        torch = subprocess.run([python, '-c', 'import torch; print(torch.__version__)'], stdout=subprocess.PIPE,
                               encoding='utf-8', check=True).stdout.strip()
    else:
        say('decode: without PyTorch, which scripts/setup --with torch installs')
        python = find_python('numpy')
        if not python:
            say('decode: skipped; there is no Python with NumPy')
            return
    say('decode: milliseconds a step of 5 + 5 layers of width 256, smallest of the repeats; one thread')
    say('{:<8} {:<6} {:>7} {:>5} {:>5} {:>9} {:>9} {:>9} {:>9}'.format(
        'program', 'method', 'vocab', 'batch', 'k', 'step', 'model', 'search', 'tokens/s'))
    for vocab in 8000, 32000:
        rows = []
        for record in decode_records(vocab, python, bool(torch)):
            say('{program:<8} {method:<6} {vocab:7d} {batch:5d} {k:5d} {step_ms:9.2f} {model_ms:9.2f} {search_ms:9.2f} '
                '{tokens_per_second:9.0f}'.format(**record))
            is_peer = record['program'] == 'torch'
            rows.append(results.peer_row(f'torch {torch}', *record.values()) if is_peer
                        else results.row(*record.values()))
        results.write(f'decode-{vocab}.csv', record, rows)


# --- repeated draws with a cache ---

def share_kept(stats):
    """Returns the share of rows that came from the cache, by the numbers of --cache-stats."""
    return 1 - stats['evaluated'] / stats['rows']


def cache(results):
    say('cache: 30 draws of k = 50 of one sentence, the shipped model, one thread; seconds, fastest of three')
    form = '{:>5} {:>8} {:>8} {:>6} {:>8}'
    say(form.format('T', 'without', 'with', 'ratio', 'kept'))
    rows = []
    for temperature in '0.05', '0.1', '0.2', '0.5', '1':
        draw = [SBEAM, 'draw', '-k', 50, '--draws', 30, '-T', temperature, '--seed', 1, '-f', 'jsonl', SENTENCE]
        with tempfile.NamedTemporaryFile('r', encoding='utf-8') as stats:
            plain, cached = fastest(draw, [*draw, '--cache', 512, '--cache-stats', stats.name])
            kept = share_kept(read_json(stats.read()))
        numbers = number(plain, '.3f'), number(cached, '.3f'), number(plain / cached, '.2f'), number(kept, '.3f')
        rows.append(results.row(Decimal(temperature), 50, 30, *numbers))
        say(form.format(temperature, *numbers[:3], f'{100 * kept:.1f} %'))
    results.write('cache.csv', ['temperature', 'k', 'draws', 'seconds_without', 'seconds_with', 'ratio', 'rows_kept'],
                  rows)


# --- level search and best-first search ---

MODEL = 'models/enfr-everyday.safetensors'
SENTENCES = 'tests/data/enfr-everyday/sources.txt'
LEVEL, BEST_FIRST = ('level', ''), ('best-first', 'auto')  # search, parallel
EVERY_SEARCH = (LEVEL, BEST_FIRST, ('best-first', 1), ('best-first', 4), ('best-first', 8))
ORDER_CASES = ((20, EVERY_SEARCH, 3), (100, (LEVEL, BEST_FIRST), 2))  # k, searches, rounds
ORDER_COLUMNS = ['k', 'temperature', 'search', 'parallel', 'sentences', 'seconds', 'seconds_median', 'rows',
                 'fewest_rows', 'rows_over_fewest', 'level_over_this']
# glibc raises the size from which it returns memory to the system whenever a block is freed. With a fixed size the
# peak memory of a second cursor is that of the first, unless memory leaks.
RETURN_BUFFERS = {'MALLOC_MMAP_THRESHOLD_': '131072'}
CURSOR_CASES = (('draw', MODEL, 100, '0.3', SENTENCES), ('chain', 'models/weather.json', 100000),
                ('chain', 'models/weather.json', 1000000), ('flat', 3200), ('flat', 32000))
CURSOR_COLUMNS = ['case', 'inputs', 'sequences', 'rows', 'first_ms', 'half_ms', 'last_ms', 'first_over_last',
                  'second_half_over_first', 'bytes_per_sequence', 'peak_mib', 'growth_mib']


def fewest_rows(record):
    """Returns the number of prefixes that any search must evaluate to find the sequences of a draw: all that a
    sequence continues, by a token or by its end."""
    prefixes = set()
    for sequence in record['sequences']:
        tokens = tuple(sequence['tokens'])
        n_steps = len(tokens) + (sequence['end'] == 'eos')
        prefixes.update(tokens[:n] for n in range(n_steps))
    return len(prefixes)


def order_numbers(runs):
    """Returns the columns of a search from `sentences` to `rows_over_fewest`, by the results of draw_in_order."""
    times, counts = zip(*((time, counts) for time, *counts in runs))
    n, rows, fewest = counts[0]
    return [n, number(min(times), '.3f'), number(statistics.median(times), '.3f'), rows, fewest,
            number(rows / fewest, '.4f')]


def draw_in_order(k, temperature, search, parallel):
    """Draws for each sentence. Returns the time of the command and the numbers of draws, rows and fewest rows."""
    option = ['--parallel', parallel] if parallel else []
    with open(SENTENCES, 'rb') as inputs, tempfile.TemporaryFile('w+', encoding='utf-8') as out:
        time = seconds([SBEAM, 'draw', '-m', MODEL, '-k', k, '-T', temperature, '--search', search, *option,
                        '--seed', 1, '-f', 'jsonl'], stdin=inputs, stdout=out)
        out.seek(0)
        counts = [(1, record['model_rows'], fewest_rows(record)) for record in map(read_json, out)]
    return [time, *map(sum, zip(*counts))]


def order(results):
    say('order: 100 sentences, the shipped model, one thread; seconds, fastest of the rounds, in which the searches '
        'take turns')
    form = '{:>5} {:>5} {:<11} {:>9} {:>8} {:>8} {:>9} {:>9} {:>8} {:>11}'
    say(form.format('k', 'T', 'search', 'parallel', 'seconds', 'median', 'rows', 'fewest', '/fewest', 'level/this'))
    rows = []
    for k, searches, n_rounds in ORDER_CASES:
        for temperature in '0.1', '0.3', '1':
            turns = take_turns(lambda search: draw_in_order(k, temperature, *search), searches, n_rounds)
            numbers = [order_numbers(runs) for runs in turns]
            for search, measured in zip(searches, numbers):
                ratio = number(numbers[0][1] / measured[1], '.3f')
                rows.append(results.row(k, Decimal(temperature), *search, *measured, ratio))
                say(form.format(k, temperature, *search, *measured[1:], ratio))
    results.write('order.csv', ORDER_COLUMNS, rows)
    cursor(results)


def cursor_numbers(record):
    """Returns a row of cursor.csv from a line of bench_cursor."""
    first, half, last, n_bytes = (record[key] for key in ('first_ms', 'half_ms', 'last_ms', 'search_bytes'))
    per_sequence = '' if n_bytes is None else number(n_bytes / record['sequences'], '.0f')
    growth = '' if record['growth_mib'] is None else record['growth_mib']
    return [*(record[key] for key in ('case', 'inputs', 'sequences', 'rows')), first, half, last,
            number(first / last, '.4g'), number((last - half) / half, '.3f'), per_sequence, record['peak_mib'], growth]


def cursor(results):
    say('order: when the first sequence, the one in the middle and the last are known; milliseconds')
    form = '{:<6} {:>9} {:>9} {:>9} {:>9} {:>11} {:>11} {:>11} {:>9} {:>7}'
    say(form.format('case', 'sequences', 'first', 'middle', 'last', 'first/last', '2nd/1st', 'bytes/seq.', 'peak MiB',
                    'growth'))
    rows = []
    for case in CURSOR_CASES:
        record, = json_lines(['build/tests/bench_cursor', *case], env={**os.environ, **RETURN_BUFFERS})
        numbers = cursor_numbers(record)
        rows.append(results.row(*numbers))
        say(form.format(numbers[0], numbers[2], *numbers[4:]))
    results.write('cursor.csv', CURSOR_COLUMNS, rows)


# --- decoding with GGUF models, compared with llama.cpp by itself ---

GGUF_COLUMNS = ['model', 'k', 'len', 'sbs', 'rows', 'llama_same', 'llama_default', 'sbs_over_rows', 'sbs_over_same',
                'sbs_over_default', 'search_share']
GGUF_K = 16
N_ROUNDS = 4


def gguf_round(model, length, repeats):
    """Returns the records of one round, in which the programs take turns; each counts its fastest repeat. SBS and the
    bare rows are interleaved in one process."""
    common = ['-k', GGUF_K, '--len', length, '--repeats', repeats]
    ours = json_lines([SBEAM, 'bench', 'decode', '-m', model, '--method', 'sbs,rows', *common, '-f', 'jsonl'])
    records = {record['method']: record for record in ours}
    records['same'], = json_lines(['build/tests/bench_llama', model, *common, '--f32'])
    records['default'], = json_lines(['build/tests/bench_llama', model, *common])
    return records


def gguf_numbers(rounds):
    """Returns the tokens per second of the fastest round of each program, their ratios and the share of search."""
    fastest_round = {name: max((records[name] for records in rounds), key=lambda record: record['tokens_per_second'])
                     for name in ('sbs', 'rows', 'same', 'default')}
    sbs, *others = (float(record['tokens_per_second']) for record in fastest_round.values())
    share = fastest_round['sbs']['search_ms'] / fastest_round['sbs']['step_ms']
    return [*(number(rate, '.1f') for rate in (sbs, *others)), *(number(sbs / rate, '.3f') for rate in others),
            number(share, '.4f')]


def gguf(results):
    if not os.access('build/tests/bench_llama', os.X_OK):
        say('gguf: skipped; this build lacks llama.cpp (scripts/setup --with llama)')
        return
    say("gguf: tokens a second, k = 16, one thread, fastest of four rounds; the last column is the search's share")
    say("of a step. llama.cpp without search: rows in sbeam's session, a program with the same cache, one with its "
        'defaults')
    say('{:<18} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>8}'.format(
        'model', 'sbs', 'rows', 'same', 'default', '/rows', '/same', '/dflt', 'search'))
    models = [(os.environ['SBEAM_GGUF'], 64, 5)] if os.environ.get('SBEAM_GGUF') else []
    python = find_python('numpy')
    if python:
        models.append((random_gguf(python), 32, 2))
    rows = []
    for model, length, repeats in models:
        name = Path(model).name
        numbers = gguf_numbers([gguf_round(model, length, repeats) for _ in range(N_ROUNDS)])
        rows.append(results.row(name, GGUF_K, length, *numbers))
        say('{:<18} {:7.0f} {:7.0f} {:7.0f} {:7.0f} {:7.2f} {:7.2f} {:7.2f} {:6.1f} %'.format(
            name, *numbers[:-1], 100 * numbers[-1]))
    results.write('gguf.csv', GGUF_COLUMNS, rows)


def random_gguf(python):
    """Returns the path of a model of random weights, which is made the first time."""
    model = Path('build/bench-random.gguf')
    if not model.exists() or model.stat().st_size == 0:
        subprocess.run([python, 'bench/random_gguf.py', model], stdout=subprocess.DEVNULL, check=True)
    return str(model)


# --- models of Transformers ---

def hf(results):
    python = find_python('numpy', 'torch', 'transformers')
    if not python:
        say('hf: skipped; scripts/setup --with hf installs Transformers')
        return
    say('hf: tokens a second, fastest of three; beam is generate(num_beams=k) of Transformers; one thread')
    form = '{:<7} {:>11} {:>4} {:>8} {:>8} {:>6} {:>8} {:>8} {:>7}'
    say(form.format('model', 'parameters', 'k', 'sbeam', 'beam', 'ratio', 'step ms', 'model ms', 'search'))
    rows = []
    for record in json_lines([python, 'bench/hf_decode.py'], env={**os.environ, **KEEP_BUFFERS}):
        say(form.format(record['model'], record['parameters'], record['k'], record['sbeam_tokens_per_second'],
                        record['beam_tokens_per_second'], record['ratio'], record['step_ms'], record['model_ms'],
                        f"{record['search_share']:.1%}"))
        rows.append(results.row(*record.values()))
    results.write('hf.csv', record, rows)


# --- lists of permitted outputs ---

ALLOW_CASES = (('random', 1000000, 32000, 20, 1), ('random', 1000000, 32000, 20, 0.5), ('codes', 1000000, 32000, 20, 1),
               ('random', 10000, 32000, 100, 1))
ALLOW_COLUMNS = ['case', 'lines', 'vocab', 'k', 'temperature', 'load_s', 'mib', 'bytes_per_token', 'step_us',
                 'allow_step_us', 'ratio', 'widest_ratio']


def allow(results):
    say('allow: a list of permitted outputs; microseconds of search per step without and with it')
    form = '{:<7} {:>8} {:>6} {:>4} {:>4} {:>7} {:>7} {:>12} {:>9} {:>9} {:>6} {:>7}'
    say(form.format('case', 'lines', 'vocab', 'k', 'T', 'load s', 'MiB', 'bytes/token', 'without', 'with', 'ratio',
                    'widest'))
    rows = []
    for case in ALLOW_CASES:
        record, = json_lines(['build/tests/bench_allow', *case])
        numbers = [record[column] for column in ALLOW_COLUMNS]
        rows.append(results.row(*numbers))
        say(form.format(*map(str, numbers)))
    results.write('allow.csv', ALLOW_COLUMNS, rows)


PARTS = {part.__name__: part for part in (search, draws, arpa, gemm, decode, cache, order, gguf, hf, allow)}
