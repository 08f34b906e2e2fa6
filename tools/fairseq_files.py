"""Reads the two kinds of fairseq files that a conversion needs: checkpoints and dictionaries."""
import argparse
import re
import sys

import numpy as np

import modelfile
import torch_file

SPECIAL = ['<Lua-heritage>', '<pad>', '</s>', '<unk>']  # the first ids of every dictionary
PAD, EOS, UNK = 1, 2, 3
# Ids that get probability zero. fairseq itself excludes only pad. Id 0 never occurs in training (ids counted
# from 1 in Lua; it is <s> in newer versions) and has only what label smoothing gives it, some 1e-6.
UNUSED = (0, PAD)
OVERWRITE = ' #fairseq:overwrite'


def read_checkpoint(path):
    """Returns a map of arrays and the arguments (None if there are none)."""
    state = torch_file.read(path)
    if not isinstance(state, dict) or not isinstance(state.get('model'), dict):
        raise modelfile.FileError(f'{path}: no "model" inside; expected a checkpoint of fairseq')
    arrays = {name: array for name, array in state['model'].items() if isinstance(array, np.ndarray)}
    args = state.get('args')
    if args is None and isinstance(state.get('cfg'), dict):  # since version 0.10
        args = state['cfg'].get('model')
        args = argparse.Namespace(**args) if isinstance(args, dict) else args
    if not isinstance(args, argparse.Namespace):
        print(f'{path}: no arguments inside; assuming the usual residual for every layer', file=sys.stderr)
        args = None
    return arrays, args


def read_dictionary(path):
    """Returns the texts of all ids. Lines are "token count", split at the last blank.

    If tokens are equal, the last one keeps the text, as in fairseq. The others stay, because they have
    embeddings; their ids are appended to their texts, which no input contains.
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
    # A token cannot contain a blank if blanks separate tokens; nor could it in fairseq.
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
        print(f'{path}: id {i}, "{word}", is a duplicate or empty; renamed to "{words[i]}"', file=sys.stderr)
    return words


def lines(words):
    return ''.join(word + '\n' for word in words).encode('utf-8')
