"""Explains sampling without replacement in five pictures.

    PYTHONPATH=python python3 python/examples/03_walkthrough.py --out pictures

The program prints what each picture shows, and writes the pictures as PNG files into the folder
that you name, or into a temporary one whose name it prints. It needs matplotlib and takes about 15
seconds; --quick takes 4.
"""
import argparse
import itertools
import tempfile
from pathlib import Path

import matplotlib
matplotlib.use("Agg")  # files, no window
import matplotlib.pyplot as plt
import numpy as np

import sbeam

MODELS = Path(__file__).resolve().parents[2] / "models"
# The colours of Okabe and Ito, and marks that also differ without colour.
SAMPLE = dict(color="#d55e00", marker="s", linestyle="--", label="independent samples")
SBS = dict(color="#0072b2", marker="o", label="without replacement")
SBS_RAW = dict(color="#56b4e9", marker="o", linestyle="-.", markerfacecolor="white",
               label="without replacement, unbiased")
plt.rcParams.update({
    "figure.dpi": 110, "font.size": 11, "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": True, "grid.color": "#dddddd", "axes.axisbelow": True, "axes.titlesize": 12,
    "lines.markersize": 5, "legend.frameon": False, "figure.constrained_layout.use": True})


def repeats(quick):
    """1. Independent samples repeat themselves"""
    [draw] = sbeam.draw(MODELS / "weather.json", k=200, method="sample", seed=1)
    k = np.arange(1, 201)
    different = [len({s.tokens for s in draw[:n]}) for n in k]
    figure, panel = plt.subplots(figsize=(6.5, 4.2))
    panel.plot(k, k, **SBS, markevery=20)
    panel.plot(k, different, **SAMPLE, markevery=20)
    panel.set(xlabel="sequences drawn (weather.json)", ylabel="different ones among them")
    panel.legend(loc="upper left")
    print("%d of 200 independent samples are different; without replacement all are"
          % different[-1])
    return figure


def law(quick):
    """2. The frequencies of draws agree with the exact probabilities

    The first sequence is drawn by the probabilities of the model, the second by the probabilities
    of the rest, and so on. For a tree of eight leaves everything can be computed."""
    [whole] = sbeam.draw(MODELS / "fig1.json", k=8, seed=1)  # all leaves
    leaves = sorted(s.text for s in whole)
    p = dict((s.text, np.exp(s.log_p)) for s in whole)
    included = dict.fromkeys(leaves, 0.0)
    for a, b, c in itertools.permutations(leaves, 3):
        q = p[a] * p[b] / (1 - p[a]) * p[c] / (1 - p[a] - p[b])
        for leaf in (a, b, c):
            included[leaf] += q
    n = 5000 if quick else 50000
    draws = sbeam.draw(MODELS / "fig1.json", k=3, draws=n, seed=2)
    first = [np.mean([d[0].text == leaf for d in draws]) for leaf in leaves]
    among = [np.mean([leaf in {s.text for s in d} for d in draws]) for leaf in leaves]
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True)
    for panel, title, exact, found in (
            (panels[0], "is the first sequence", [p[leaf] for leaf in leaves], first),
            (panels[1], "is among the first three", [included[leaf] for leaf in leaves], among)):
        panel.bar(range(8), exact, color="#cccccc", label="exact probability")
        panel.plot(range(8), found, **dict(SBS, linestyle="", label="frequency in %d draws" % n))
        panel.set_xticks(range(8), [leaf.replace(" ", "") for leaf in leaves])
        panel.set(title=title, xlabel="leaf of the tree")
        panel.grid(axis="x", visible=False)
        print("%s: frequency and probability differ by %.4f at most; chance allows about %.4f"
              % (title, np.abs(np.subtract(exact, found)).max(), 2.7 * 0.5 / n ** 0.5))
    panels[0].set_ylabel("probability")
    panels[0].legend(loc="upper left")
    return figure


def prefix(quick):
    """3. A larger draw begins with the smaller ones

    The noise belongs to the sequences, not to the search. With the same seed, a larger k therefore
    continues the list of a smaller one."""
    lists = [[s.text.replace(" ", "") for s in sbeam.draw(MODELS / "fig1.json", k=k, seed=5)[0]]
             for k in range(1, 9)]
    figure, panel = plt.subplots(figsize=(7.5, 4.2))
    colours = plt.get_cmap("Blues")(np.linspace(0.55, 0.1, 8))
    for k, texts in enumerate(lists, 1):
        for position, text in enumerate(texts, 1):
            panel.add_patch(plt.Rectangle((position - 0.47, k - 0.42), 0.94, 0.84,
                                          color=colours[lists[-1].index(text)]))
            panel.text(position, k, text, ha="center", va="center")
    panel.set(xlim=(0.4, 8.6), ylim=(8.6, 0.4), xlabel="position in the draw",
              ylabel="k, number of sequences", xticks=range(1, 9), yticks=range(1, 9))
    panel.grid(False)
    print("every draw begins with the smaller one: %s"
          % all(long[:len(short)] == short for short, long in zip(lists, lists[1:])))
    return figure


def errors(quick):
    """4. Weights turn a draw into an estimate

    The picture shows the error of the mean length of a holiday, estimated from k holidays: the root
    mean square over many draws."""
    sizes, n = [2, 4, 8, 16, 32, 64, 128, 256], 60 if quick else 400
    [whole] = sbeam.draw(MODELS / "weather.json", k=400, max_len=5)  # there are 363
    short = sum(np.exp(s.log_p) * len(s.tokens) for s in whole)
    figure, panels = plt.subplots(1, 2, figsize=(9.5, 4.4), sharey=True)
    for panel, title, max_len, truth in (
            (panels[0], "holidays of any length", 200, 5.0),
            (panels[1], "holidays of at most 5 days", 5, short)):
        common = dict(k=sizes[-1], max_len=max_len, draws=n, seed=3)
        squares = {name: np.zeros(len(sizes)) for name in ("sbs", "mc", "sbs-normalised")}
        for method, names in (("sample", ["mc"]), ("sbs", ["sbs", "sbs-normalised"])):
            for draw in sbeam.draw(MODELS / "weather.json", method=method, **common):
                log_p, lengths = draw.arrays()["log_p"], [len(s.tokens) for s in draw]
                thresholds = [s.g for s in draw] + [draw.kappa]
                for (i, k), name in itertools.product(enumerate(sizes), names):
                    # The first k sequences are a draw of k; its threshold is the G of the next.
                    part = dict(log_p=log_p[:k], kappa=thresholds[k])
                    value = sbeam.estimate(part, lengths[:k], name).value
                    squares[name][i] += (value - truth) ** 2 / n
        for name, look in (("sbs", SBS_RAW), ("mc", SAMPLE),
                           ("sbs-normalised", dict(SBS, label="without replacement, normalised"))):
            panel.loglog(sizes, squares[name] ** 0.5, **look)
        panel.set_xticks(sizes, sizes)
        panel.set_yticks([0.01, 0.1, 1], ["0.01", "0.1", "1"])
        panel.minorticks_off()
        panel.set(title="%s, %.2f on average" % (title, truth), xlabel="k, number of sequences")
        mc, sbs = (squares[name][-1] ** 0.5 for name in ("mc", "sbs-normalised"))
        print("%s, k = %d: an error of %.4f days by independent samples, %.4f without replacement"
              % (title, sizes[-1], mc, sbs))
    panels[0].set_ylabel("error of the mean length (days)")
    panels[0].legend(loc="lower left")
    return figure


def temperatures(quick):
    """5. Sampling without replacement helps most at low temperatures

    The picture shows translations of one sentence. At a low temperature independent samples find
    only a few different ones."""
    sentence, k, n = "Where is the train station?", 20, 3 if quick else 20
    grid = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    common = dict(k=k, temperature=grid, draws=n, seed=4, cache=64)
    with sbeam.Model() as model:
        samples = sbeam.draw(model, sentence, method="sample", **common)
        draws = sbeam.draw(model, sentence, **common)
    different = [len({s.tokens for s in d}) for d in samples]
    mass = [100 * np.exp(d.arrays()["log_p"]).sum() for d in draws]
    figure, panels = plt.subplots(1, 2, figsize=(9.5, 3.8))
    panels[0].plot(grid, np.full(len(grid), k), **SBS)
    panels[0].plot(grid, np.reshape(different, (-1, n)).mean(1), **SAMPLE)
    panels[0].set(title="different translations among %d" % k, ylim=(0, k + 1.5),
                  yticks=range(0, k + 1, 5))
    panels[0].legend(loc="center left")
    panels[1].plot(grid, np.reshape(mass, (-1, n)).mean(1), **SBS)
    panels[1].set(title="probability of the %d different ones (%%)" % k, ylim=(0, 105))
    for panel in panels:
        panel.set_xlabel("temperature")
    for temperature in (0.1, 0.5, 1.0):
        texts = [s.text for s in draws[grid.index(temperature) * n]]
        print("temperature %g: %s" % (temperature, " | ".join(texts[:3])))
    return figure


def main():
    parser = argparse.ArgumentParser(description="sampling without replacement in five pictures")
    parser.add_argument("--out", type=Path, help="the folder for the pictures")
    parser.add_argument("--quick", action="store_true", help="fewer draws")
    given = parser.parse_args()
    out = given.out or Path(tempfile.mkdtemp(prefix="sbeam-"))
    out.mkdir(parents=True, exist_ok=True)
    for i, show in enumerate((repeats, law, prefix, errors, temperatures), 1):
        title = show.__doc__.splitlines()[0]
        print(title)
        figure = show(given.quick)
        figure.suptitle(title[3:])
        figure.savefig(out / ("%d_%s.png" % (i, show.__name__)))
        plt.close(figure)
        print()
    print("pictures: %s" % out)


if __name__ == "__main__":
    main()
