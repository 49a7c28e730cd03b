"""Table and file of scripts/compare_reference.py. Neither numpy nor torch."""
import json
import statistics
from pathlib import Path

from peers.plan import OURS as PROGRAM
from peers.reference_plan import BACKWARD, FORWARD, GEMM, NUMPY, OURS, TORCH
from peers.report import line, number

METHOD = (f"GFLOP/s of {PROGRAM} counts visible pairs exactly: 4 x batch x heads x hdim x pairs of the "
          "forward, 10 x of the backward,\nover the median time. \"of GEMM\": forward and backward together, "
          "over the best GEMM. PyTorch: its backward's time / ours.\nnumpy: the time of its forward and "
          "backward / ours, with as many threads. Ratios: median of the rounds (least..largest).")
COLUMNS = ("real", "mask", "threads", "forward", "backward", "both", "best GEMM", "library", "of GEMM",
           "PyTorch", "numpy")


def ratio_text(ratios, form):
    """`form` is that of a number, such as "{:.2f}"."""
    if not ratios:
        return "n/a"
    median, least, largest = map(form.format, (statistics.median(ratios), min(ratios), max(ratios)))
    return f"{median} ({least}..{largest})"


def row_line(row):
    case, best = row.case, row.best_gemm
    return line([f"fp{case.real}", case.shape.mask, str(case.threads),
                 *(number(row.gflops(*names), ".1f") for names in ((FORWARD,), (BACKWARD,), OURS)),
                 number(best and row.gflops(best), ".1f"), best[len(GEMM):] if best else "n/a",
                 ratio_text(row.gemm_ratios(), "{:.1%}"),
                 *(ratio_text(row.time_ratios(peer), "{:.2f}") for peer in (TORCH, NUMPY))])


def summary(rows):
    """A line for each that is compared with: the worst row by the median."""
    lines = []
    for name, ratios_of, form in (("the best GEMM", lambda row: row.gemm_ratios(), ".1%"),
                                  (TORCH, lambda row: row.time_ratios(TORCH), ".2f"),
                                  (NUMPY, lambda row: row.time_ratios(NUMPY), ".2f")):
        medians = [(statistics.median(ratios_of(row)), row) for row in rows if ratios_of(row)]
        if medians:
            worst, row = min(medians, key=lambda pair: pair[0])
            lines.append(f"Against {name}: at least {worst:{form}} (at {row.case})")
        else:
            lines.append(f"Against {name}: n/a")
    return "\n".join(lines)


def write_file(path, context, rows):
    """The context, and each row with its raw samples."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schema": 1, "context": context, "rows": [row.record() for row in rows]}, file, indent=1)
