"""Code that the experiments share: options, units, commands, tables, progress and the page of results."""

EXPERIMENTS = ('diversity', 'bleu-estimate', 'entropy-estimate', 'naive', 'evaluations', 'exactness')
