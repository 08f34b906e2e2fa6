#!/usr/bin/env python3
"""Computes Figure 4 of the paper: estimates of the entropy of the translations of three sentences."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from lib.estimate_draws import Estimate  # noqa: E402

if __name__ == '__main__':
    sys.exit(Estimate(__file__, f='entropy').main(sys.argv[1:]))
