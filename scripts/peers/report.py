"""Tables, files and plots of the measurements. No torch; matplotlib only in plot()."""
import csv
import json
from pathlib import Path

from peers.plan import OURS, PEERS, geometric_mean

METHOD = ("TFLOP/s counts 10 x batch x heads x hdim x visible pairs, exactly (causal: S(S+1)/2), over the "
          "median.\nRatio: the peer's time / ours, median of the rounds (least..largest); above 1, fmha_bwd "
          "is faster.")
TIMING_COLUMNS = ("D", "mask", "S", "B", "H", "kernel", *(f"{name} TFLOP/s" for name in (OURS, *PEERS)),
                  *(f"ratio to {peer}" for peer in PEERS))
ACCURACY_COLUMNS = ("dtype", "D", "mask", "S", "tensor", OURS, *PEERS, "verdict")


def line(cells):
    return "| " + " | ".join(cells) + " |"


def head(columns):
    return line(columns) + "\n|" + "---|" * len(columns)


def number(value, form):
    return "n/a" if value is None else format(value, form)


def ratio_text(row, peer):
    ratios = row.ratios(peer)
    return f"{row.ratio(peer):.3f} ({min(ratios):.3f}..{max(ratios):.3f})" if ratios else "n/a"


def timing_line(row):
    shape = row.shape
    heads = str(shape.nhead_q) if shape.nhead_q == shape.nhead_k else f"{shape.nhead_q}/{shape.nhead_k}"
    return line([str(shape.hdim), shape.mask, shape.lengths, str(shape.batch), heads, row.family or "n/a",
                 *(number(row.tflops(name), ".1f") for name in (OURS, *PEERS)),
                 *(ratio_text(row, peer) for peer in PEERS)])


def summary(rows):
    """A line a peer: the geometric mean of the ratios, and the worst row."""
    lines = []
    for peer in PEERS:
        compared = [row for row in rows if row.ratio(peer) is not None]
        if not compared:
            lines.append(f"Against {peer}: n/a")
            continue
        worst = min(compared, key=lambda row: row.ratio(peer))
        mean = geometric_mean([row.ratio(peer) for row in compared])
        lines.append(f"Against {peer}: geometric mean {mean:.3f} of {len(compared)} shapes; "
                     f"worst {worst.ratio(peer):.3f} at {worst.shape}")
    return "\n".join(lines)


def product_line(rate, rows):
    """`rate` is a matrix product's in TFLOP/s; the fastest of our rows is held against it."""
    ours = max((row for row in rows if row.tflops(OURS) is not None), key=lambda row: row.tflops(OURS),
               default=None)
    text = f"A bf16 product of 8192 x 8192 matrices in this run: {rate:.1f} TFLOP/s"
    return text if ours is None else (f"{text}; our fastest row reaches {ours.tflops(OURS) / rate:.1%} of it "
                                      f"({ours.shape})")


def accuracy_line(shape, tensor, errors, worse):
    """`errors` is {name: relative L2 error}; a name that is missing is n/a."""
    return line([shape.dtype, str(shape.hdim), shape.mask, shape.lengths, tensor,
                 *(number(errors.get(name), ".3e") for name in (OURS, *PEERS)), "worse" if worse else "ok"])


def write_files(base, context, rows):
    """base.json: the context and each row with its raw samples; base.csv: a line a sample."""
    records = [row.record() for row in rows]
    Path(base).parent.mkdir(parents=True, exist_ok=True)
    with open(f"{base}.json", "w", encoding="utf-8") as file:
        json.dump({"schema": 1, "context": context, "rows": records}, file, indent=1)
    with open(f"{base}.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        shape_columns = list(records[0]["shape"]) if records else []
        writer.writerow([*shape_columns, "name", "kernel", "round", "calls", "ms"])
        for record in records:
            for name, samples in record["samples"].items():
                kernel = record["family"] if name == OURS else ""
                for index, sample in enumerate(samples):
                    writer.writerow([*record["shape"].values(), name, kernel, index, record["calls"][name],
                                     f"{sample:.6f}"])


def plot(path, rows, title):
    """TFLOP/s over the sequence length: a panel for each hdim and mask, a line for each library."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot

    hdims = sorted({row.shape.hdim for row in rows})
    masks = list(dict.fromkeys(row.shape.mask for row in rows))
    ticks = sorted({row.shape.seqlen_q for row in rows})
    figure, panels = pyplot.subplots(len(hdims), len(masks), squeeze=False, sharex=True, sharey=True,
                                     figsize=(4.5 * len(masks), 3.2 * len(hdims)), layout="constrained")
    for panel, (hdim, mask) in zip(panels.flat, ((hdim, mask) for hdim in hdims for mask in masks)):
        inside = [row for row in rows if (row.shape.hdim, row.shape.mask) == (hdim, mask)]
        for name, marker in zip((OURS, *PEERS), "os^"):
            points = sorted((row.shape.seqlen_q, row.tflops(name)) for row in inside if row.samples.get(name))
            panel.plot([x for x, _ in points], [y for _, y in points], marker=marker, label=name)
        panel.set_title(f"hdim {hdim}, {mask}", fontsize="medium")
        panel.set_xscale("log", base=2)
        panel.set_xticks(ticks, [str(tick) for tick in ticks])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
    for panel in panels[-1]:
        panel.set_xlabel("sequence length")
    for panel in panels[:, 0]:
        panel.set_ylabel("TFLOP/s")
    panels[0, 0].set_ylim(bottom=0)  # of all panels, and only now: it ends the fitting to what is drawn
    panels[0, 0].legend()
    figure.suptitle(title)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
