# Figure 4: f is -log p, so what is estimated is the entropy.
quantity = "entropy (nats)"
load "../estimate_plot.gp"
