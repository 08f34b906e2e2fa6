# Plots Figure 3.
quantity = "expected BLEU (0 to 100)"
load "../estimate_plot.gp"
