#!/usr/bin/env python3
"""Write the tables of this folder with sacreBLEU: make_table.py [FOLDER]

Reads *.hyp, *.ref (alternatives between tabs) and tokens.txt, and writes corpus.tsv, sentences.tsv and
tokens.tsv with the values of the sacrebleu that Python finds. Numbers have 17 digits.
"""
import logging
import os
import re
import sys

import sacrebleu
from sacrebleu.metrics import BLEU

TOKENIZERS = ('13a', 'intl', 'char', 'none')
SMOOTHINGS = (('none', None), ('floor', None), ('floor', 0.0), ('floor', 0.317), ('add-k', None),
              ('add-k', 0.0), ('add-k', 0.731), ('exp', None))
CORPORA = ('main', 'short', 'none')


def read_lines(path):
    with open(path, encoding='utf-8', newline='\n') as file:
        return [line.rstrip('\n') for line in file]


def read_corpus(folder, name):
    """Hypotheses, and for each a list of references."""
    hypotheses = read_lines(os.path.join(folder, name + '.hyp'))
    references = [line.split('\t') for line in read_lines(os.path.join(folder, name + '.ref'))]
    assert len(hypotheses) == len(references)
    return hypotheses, references


def as_documents(references):
    """sacreBLEU's form: a list of segments for each reference, None where a segment has fewer."""
    most = max(len(alternatives) for alternatives in references)
    return [[a[i] if i < len(a) else None for a in references] for i in range(most)]


def show(value):
    return 'default' if value is None else '%.17g' % value


def unescape(text):
    return re.sub(r'\\(.)', lambda match: {'t': '\t', 'n': '\n', 'r': '\r'}.get(match[1], match[1]), text)


def write_corpora(folder):
    with open(os.path.join(folder, 'corpus.tsv'), 'w', encoding='utf-8') as table:
        print('corpus', 'tokenizer', 'smoothing', 'value', 'effective', 'score', 'bp', 'p1', 'p2', 'p3', 'p4',
              'hyp_len', 'ref_len', 'signature', sep='\t', file=table)
        for name in CORPORA:
            hypotheses, references = read_corpus(folder, name)
            for tokenizer in TOKENIZERS:
                for smoothing, value in SMOOTHINGS:
                    for effective in (False, True):
                        metric = BLEU(tokenize=tokenizer, smooth_method=smoothing, smooth_value=value,
                                      effective_order=effective)
                        bleu = metric.corpus_score(hypotheses, as_documents(references))
                        print(name, tokenizer, smoothing, show(value), int(effective), show(bleu.score),
                              show(bleu.bp), *map(show, bleu.precisions), bleu.sys_len, bleu.ref_len,
                              metric.get_signature(), sep='\t', file=table)


def write_sentences(folder):
    with open(os.path.join(folder, 'sentences.tsv'), 'w', encoding='utf-8') as table:
        print('corpus', 'segment', 'tokenizer', 'smoothing', 'value', 'score', sep='\t', file=table)
        for name in CORPORA:
            hypotheses, references = read_corpus(folder, name)
            for i, hypothesis in enumerate(hypotheses):
                for tokenizer in TOKENIZERS:
                    for smoothing, value in SMOOTHINGS:
                        metric = BLEU(tokenize=tokenizer, smooth_method=smoothing, smooth_value=value,
                                      effective_order=True)
                        print(name, i, tokenizer, smoothing, show(value),
                              show(metric.sentence_score(hypothesis, references[i]).score),
                              sep='\t', file=table)


def write_tokens(folder):
    """The words of each text; the one call to what sacreBLEU keeps to itself."""
    with open(os.path.join(folder, 'tokens.tsv'), 'w', encoding='utf-8', newline='\n') as table:
        print('tokenizer', 'text', 'words', sep='\t', file=table)
        for text in read_lines(os.path.join(folder, 'tokens.txt')):
            for tokenizer in TOKENIZERS:
                words = BLEU(tokenize=tokenizer)._preprocess_segment(unescape(text)).split()
                print(tokenizer, text, ' '.join(words).replace('\\', '\\\\'), sep='\t', file=table)


def main():
    logging.disable(logging.CRITICAL)
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    write_corpora(folder)
    write_sentences(folder)
    write_tokens(folder)
    print('sacrebleu', sacrebleu.__version__)


main()
