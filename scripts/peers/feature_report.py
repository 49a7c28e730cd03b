"""The table of the features: each shape against the fastest peer that has them. No torch."""
from peers.features import ATOMIC, FEATURES
from peers.plan import OURS, geometric_mean
from peers.report import line, number, ratio_text

METHOD = ("TFLOP/s counts visible pairs, exactly, (6 hdim_q + 4 hdim_v) operations a pair and head, over the "
          "median.\nRatio: the fastest peer's time / ours, median of the rounds (least..largest); above 1, "
          "fmha_bwd is faster.\nEvery call is a replayed CUDA graph where PyTorch can capture it. With "
          "dropout, which draws differently in each library, only norms of gradients are compared.")
TIMING_COLUMNS = ("feature", "D", "case", "S", "B", "H", "kernel", f"{OURS} TFLOP/s", "fastest peer",
                  "its TFLOP/s", "ratio", "others' TFLOP/s")


def timing_line(row):
    shape, fastest = row.shape, row.fastest
    others = [f"{name} {row.tflops(name):.1f}" for name in row.samples if name not in (OURS, fastest)]
    return line([shape.feature, shape.widths, shape.case, shape.lengths, str(shape.batch), str(shape.nhead_q),
                 row.family or "n/a", number(row.tflops(OURS), ".1f"), fastest or "n/a",
                 number(fastest and row.tflops(fastest), ".1f"),
                 ratio_text(row, fastest) if fastest else "n/a", ", ".join(others)])


def text_of(what, rows, ratio):
    """The geometric mean and the worst of the rows that have a ratio."""
    compared = [row for row in rows if ratio(row) is not None]
    if not compared:
        return f"{what}: n/a"
    worst = min(compared, key=ratio)
    mean = geometric_mean([ratio(row) for row in compared])
    return (f"{what}: geometric mean {mean:.3f} of {len(compared)} shapes; "
            f"worst {ratio(worst):.3f} at {worst.shape}")


def summary(rows):
    """A line a feature, and of what a peer lacks."""
    lines = []
    for feature in dict.fromkeys(row.shape.feature for row in rows):
        inside = [row for row in rows if row.shape.feature == feature]
        lines.append(text_of(f"{feature}, against the fastest peer", inside,
                             lambda row: row.ratio(row.fastest)))
        if any(row.samples.get(ATOMIC) for row in inside):
            lines.append(text_of(f"{feature}, against our atomic sums", inside,
                                 lambda row: row.ratio(ATOMIC)))
        lines += [f"{feature}, {peer}: n/a: {reason}" for peer, reason in FEATURES[feature].lacks.items()]
    return "\n".join(lines)
