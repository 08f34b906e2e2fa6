# Plots Figure 4: f is -log p, so its expectation is the entropy.
quantity = "entropy (nats)"
load "../estimate_plot.gp"
