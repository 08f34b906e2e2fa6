#!/usr/bin/env python3
"""Computes Figure 3 of the paper: estimates of the expected sentence BLEU of three sentences."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib.estimate_draws import Estimate  # noqa: E402

if __name__ == '__main__':
    sys.exit(Estimate(__file__, f='bleu').main(sys.argv[1:]))
