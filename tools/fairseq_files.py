"""The two kinds of files of fairseq that a conversion reads: checkpoints and dictionaries."""
import argparse
import re
import sys

import numpy as np

import modelfile
import torch_file

SPECIAL = ['<Lua-heritage>', '<pad>', '</s>', '<unk>']  # the first ids of every dictionary
PAD, EOS, UNK = 1, 2, 3
# Outside the support. fairseq itself takes out pad alone; id 0 is never seen in training (ids counted
# from 1 in Lua; it is <s> in newer versions) and left with what label smoothing gives it, some 1e-6.
UNUSED = (0, PAD)
OVERWRITE = ' #fairseq:overwrite'


def read_checkpoint(path):
    """A map of arrays, the arguments (None where there are none)"""
    state = torch_file.read(path)
    if not isinstance(state, dict) or not isinstance(state.get('model'), dict):
        raise modelfile.FileError(f'{path}: no "model" inside; expected a checkpoint of fairseq')
    arrays = {name: array for name, array in state['model'].items() if isinstance(array, np.ndarray)}
    args = state.get('args')
    if args is None and isinstance(state.get('cfg'), dict):  # since version 0.10
        args = state['cfg'].get('model')
        args = argparse.Namespace(**args) if isinstance(args, dict) else args
    if not isinstance(args, argparse.Namespace):
        print(f'{path}: no arguments inside; every layer is taken to have the usual residual', file=sys.stderr)
        args = None
    return arrays, args


def read_dictionary(path):
    """The texts of all ids. Lines are "token count"; the last blank is the border.

    Of equal tokens the last one has the text, as in fairseq. The others are still there, since they have
    embeddings: their texts get their ids, which no input has.
    """
    words = list(SPECIAL)
    try:
        with open(path, encoding='utf-8', newline='\n') as file:
            for number, line in enumerate(file, 1):
                line = line.rstrip('\r\n')
                if line.endswith(OVERWRITE):
                    line = line[:-len(OVERWRITE)]
                word, blank, count = line.rpartition(' ')
                if not blank or not count.lstrip('-').isdigit():
                    raise modelfile.FileError(f'{path}:{number}: expected "token count", found "{line}"')
                words.append(word)
    except UnicodeDecodeError as error:
        raise modelfile.FileError(f'{path}: not UTF-8: {error}') from None
    return distinct(words, path)


def distinct(words, path):
    # A blank inside of a token cannot be typed where blanks lie between tokens; nor could it in fairseq.
    words = [re.sub('[\0\t\n\r ]', '_', word) for word in words]
    taken, last = set(words), {word: i for i, word in enumerate(words)}
    for i in range(len(SPECIAL), len(words)):
        word = words[i]
        if word and word not in SPECIAL and last[word] == i:
            continue
        words[i] = f'{word}<{i}>'
        while words[i] in taken:
            words[i] += '>'
        taken.add(words[i])
        print(f'{path}: id {i}, "{word}", is there twice or empty; it becomes "{words[i]}"', file=sys.stderr)
    return words


def lines(words):
    return ''.join(word + '\n' for word in words).encode('utf-8')
