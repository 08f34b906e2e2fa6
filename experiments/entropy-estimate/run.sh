#!/bin/bash
# Figure 4 of the paper: estimates of the entropy of three translations.
# Options: experiments/units.sh
f=entropy
. "$(dirname "$0")/../estimate_draws.sh"
