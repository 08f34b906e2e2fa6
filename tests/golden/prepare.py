#!/usr/bin/env python3
"""Prepare known answers of fairseq for tests/test_reference.c: prepare.py GOLDEN OUT

Each folder GOLDEN/fairseq-fconv-* holds a checkpoint, its dictionaries and reference.npz, made by the code
published with the paper: source ids, teacher-forced decoder inputs, logits, and hypotheses of beam search
without length normalisation. OUT/NAME gets model.safetensors and reference.safetensors. Needs numpy.
"""
import glob
import os
import subprocess
import sys

import numpy as np

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'tools')
sys.path.insert(0, TOOLS)
import modelfile  # noqa: E402


def convert(folder, out):
    dictionaries = sorted(glob.glob(folder + '/dict.*.txt'))  # en before fr: the source comes first
    if len(dictionaries) != 2:
        sys.exit(f'prepare: {folder}: {len(dictionaries)} files dict.*.txt, expected two')
    subprocess.run([sys.executable, os.path.join(TOOLS, 'convert_fairseq.py'), folder + '/checkpoint.pt',
                    '--source-dict', dictionaries[0], '--target-dict', dictionaries[1], '-o', out], check=True)


def read_reference(path):
    """The tensors of a reference file: s0_beam5_1_tokens is s0.beam5.1.tokens there."""
    tensors = {}
    with np.load(path) as arrays:
        for key, array in arrays.items():
            name = key.replace('_', '.').replace('.src', '.source').replace('.prev', '.previous')
            tensors[name] = np.atleast_1d(array).astype('<i4' if array.dtype.kind == 'i' else '<f4')
    return tensors


def main():
    if len(sys.argv) != 3:
        sys.exit('usage: prepare.py GOLDEN OUT')
    folders = sorted(glob.glob(os.path.join(sys.argv[1], 'fairseq-fconv-*')))
    if not folders:
        sys.exit(f'prepare: {sys.argv[1]}: no folder fairseq-fconv-* inside')
    for folder in folders:
        out = os.path.join(sys.argv[2], os.path.basename(folder))
        os.makedirs(out, exist_ok=True)
        convert(folder, out + '/model.safetensors')
        modelfile.write(out + '/reference.safetensors', read_reference(folder + '/reference.npz'),
                        {'sbeam-reference': '1'})


if __name__ == '__main__':
    main()
