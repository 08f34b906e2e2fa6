#!/bin/bash
# Figure 3 of the paper: estimates of the expected sentence BLEU of three translations.
# Options: experiments/units.sh
f=bleu
. "$(dirname "$0")/../estimate_draws.sh"
