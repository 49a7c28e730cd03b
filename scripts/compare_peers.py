#!/usr/bin/env python3
"""Attention backward of fmha_bwd against PyTorch's cuDNN and FlashAttention-2 on the same tensors.

Loads libfmha_bwd_nvidia.so into a PyTorch process. For each shape it first compares the gradients (a shape
whose gradients differ is not timed), then times the three in turn, round after round, the order rotated:
device events around calls back to back on one stream. Prints a Markdown table, the geometric means of the
ratios and the worst rows. --accuracy prints the errors against fp64 instead, and marks where ours are larger
than cuDNN's by more than 5%. --features times windows, variable lengths, other head dimensions,
determinism, dropout, soft-caps, sinks, ALiBi and documents against the fastest peer that has each: cuDNN,
FlashAttention-2, or FlexAttention, which is compiled first and needs a C compiler and Triton.

TFLOP/s counts 10 x batch x heads x hdim x visible pairs, exactly: causal is S(S+1)/2 pairs, not half of S*S.

Exit codes: 0 done; 1 wrong gradients, or worse errors; 2 bad usage; 3 nothing ran; 6 a device error.
"""
import argparse
import datetime
import importlib.util
import platform
import shlex
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from peers import feature_report, features, plan, report  # noqa: E402
from peers.library import Library  # noqa: E402
from peers.measure import agreeing, measure, product_tflops  # noqa: E402
from peers.options import at_least, lengths, list_of  # noqa: E402
from peers.plan import OURS, Failure  # noqa: E402

LENGTHS = "512,1024,2048,4096,8192,16384"


def complain(message):
    print(f"compare_peers: {message}", file=sys.stderr, flush=True)


def arguments_from(argv):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--library", type=Path, default=Path("build/release/libfmha_bwd_nvidia.so"), metavar="PATH",
        help="default: %(default)s")
    add("--kernel", default="auto", help="our kernel family; default: the fastest that supports the shape")
    add("--dtype", choices=plan.DTYPES, help="default: bf16; with --accuracy: both")
    add("--hdims", type=list_of(at_least(1)), metavar="D,...", help="default: 64,128")
    add("--seqlens", type=list_of(lengths), metavar="S,...",
        help=f"lengths, or SqxSk; default: {LENGTHS}; with --accuracy: 1024,300x700,700x300")
    add("--masks", type=list_of(str, plan.MASKS), metavar="MASK,...",
        help=f"of {', '.join(plan.MASKS)}; default: no_mask,top_left; with --accuracy: all")
    add("--nhead-k", type=at_least(1), metavar="N",
        help="key heads (grouped queries); default: as many as query heads")
    add("--layout", choices=plan.LAYOUTS, default="bshd",
        help="of every tensor in memory; default: %(default)s")
    add("--rounds", type=at_least(1), metavar="N", help="default: 7; with --features: 5")
    add("--target-ms", type=at_least(0.01, float), metavar="MS",
        help="device time of a sample; default: 40; with --features: 10")
    add("--settle-ms", type=at_least(0, float), metavar="MS",
        help="a contestant's own calls before each of its samples, so that clocks and power are of its own "
             "load; default: as long as a sample")
    add("--output", metavar="BASE", help="writes BASE.json and BASE.csv with all samples")
    add("--plot", type=Path, metavar="FILE",
        help="draws TFLOP/s over the sequence length as .png or .svg (needs matplotlib)")
    add("--features", type=list_of(str, (*features.FEATURES, "all")), metavar="FEATURE,...",
        help="times features on shapes of their own, against the fastest peer that has them, FlexAttention "
             f"among them: all, or of {', '.join(features.FEATURES)}")
    add("--accuracy", action="store_true", help="errors against fp64 instead of times (batch 2)")
    add("--quick", action="store_true", help="fewer lengths or shapes, and rounds")
    given = parser.parse_args(argv)
    if given.accuracy and (given.output or given.plot):
        parser.error("--output and --plot are of times, not of --accuracy")
    for name in ("accuracy", "plot", "hdims", "seqlens", "masks", "nhead_k"):
        if given.features and getattr(given, name):
            parser.error(f"--features has shapes of its own, and no --{name.replace('_', '-')}")
    fewer = given.quick or given.features
    given.hdims = given.hdims or [64, 128]
    given.rounds = given.rounds or (3 if given.quick else 5 if given.features else 7)
    given.target_ms = given.target_ms or (10.0 if fewer else 40.0)
    if given.settle_ms is None:
        given.settle_ms = given.target_ms
    if given.accuracy:
        default = "300x700" if given.quick else "1024,300x700,700x300"
    else:
        default = "1024,4096" if given.quick else LENGTHS
    given.seqlens = given.seqlens or list_of(lengths)(default)
    given.masks = given.masks or list(plan.MASKS if given.accuracy else plan.MASKS[:2])
    return given


def shapes_of(given):
    dtypes = [given.dtype] if given.dtype else list(plan.DTYPES) if given.accuracy else ["bf16"]
    return plan.shapes(dtypes, given.hdims, given.masks, given.seqlens, given.nhead_k, given.layout,
                       2 if given.accuracy else None)


def rows_of_features(given):
    return [features.FeatureRow(shape)
            for shape in features.shapes(given.features, given.dtype or "bf16", given.layout, given.quick)]


def driver_version():
    try:
        return subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
                              capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown"


def context_of(torch, given):
    return {"device": torch.cuda.get_device_name(), "driver": driver_version(), "torch": torch.__version__,
            "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(),
            "python": platform.python_version(), "library": str(given.library.resolve()),
            "command": shlex.join(sys.argv),
            "rounds": given.rounds, "target_ms": given.target_ms, "settle_ms": given.settle_ms,
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")}


def contestants_for(row, library, family):
    """{name: call} of what computes the shape; empty where no peer does. Notes in `row` the peers that do
    not, and one that disagrees with the other and us. Failure 1 where no peer has our gradients."""
    from peers import contestants

    tensors = contestants.inputs(row.shape)
    our_call, row.family = contestants.ours(library, family, row.shape, tensors)
    calls, row.missing = contestants.peers(row.shape, tensors)
    return {OURS: our_call} | agreeing(row, our_call, calls) if calls else {}


def compare_times(given, rows, library, context, contestants_of=contestants_for, table=report):
    """Measures each of `rows`; `table` is peers/report.py, or a module like it."""
    print(table.METHOD + "\n")
    print(report.head(table.TIMING_COLUMNS), flush=True)
    done, code = [], 0
    for row in rows:
        try:
            calls = contestants_of(row, library, given.kernel)
            if calls:
                measure(row, calls, given.rounds, given.target_ms, given.settle_ms)
        except Failure as failure:
            if failure.code not in (1, 3):
                raise
            code = max(code, failure.code == 1)
            row.missing[OURS] = str(failure)
        for name, reason in row.missing.items():
            complain(f"{row.shape}: {name}: {reason}")
        print(table.timing_line(row), flush=True)
        done.append(row)
        if given.output:
            report.write_files(given.output, context, done)
    print("\n" + table.summary(rows))
    if given.plot and any(row.samples for row in rows):
        report.plot(given.plot, rows, f"Attention backward, {rows[0].shape.dtype}, {context['device']}")
    return int(code) or (0 if any(row.samples for row in rows) else 3)


def compare_features(given, rows, library, context):
    """On a stream of its own: work on the default one cannot be captured."""
    import torch
    from peers import feature_contestants, flex

    compiled = [row.shape for row in rows if features.FLEX in features.FEATURES[row.shape.feature].peers]
    if compiled:
        flex.prepare(compiled)
    with torch.cuda.stream(torch.cuda.Stream()):
        return compare_times(given, rows, library, context, feature_contestants.contestants_for,
                             feature_report)


def compare_accuracy(given, shapes, library):
    from peers import contestants
    from peers.errors import relative_l2, truth

    print("Relative L2 errors against fp64; inputs are standard normal.\n")
    print(report.head(report.ACCURACY_COLUMNS), flush=True)
    compared = worse = 0
    for shape in shapes:
        tensors = contestants.inputs(shape)
        calls, missing = contestants.peers(shape, tensors)
        try:
            calls[OURS] = contestants.ours(library, given.kernel, shape, tensors)[0]
        except Failure as failure:
            if failure.code != 3:
                raise
            missing[OURS] = str(failure)
        for name, reason in missing.items():
            complain(f"{shape}: {name}: {reason}")
        expected = truth(shape, tensors)
        gradients = {name: call() for name, call in calls.items()}
        for index, tensor in enumerate(("dQ", "dK", "dV")):
            errors = {name: relative_l2(found[index], expected[index])
                      for name, found in gradients.items()}
            is_worse = OURS in errors and plan.is_worse(errors[OURS], errors.get("cuDNN"))
            compared += OURS in errors
            worse += is_worse
            print(report.accuracy_line(shape, tensor, errors, is_worse), flush=True)
    print(f"\n{worse} of {compared} gradients are worse than cuDNN's by more than 5%")
    return 1 if worse else 0 if compared else 3


def run(given):
    rows = rows_of_features(given) if given.features else [plan.Row(shape) for shape in shapes_of(given)]
    library = Library(given.library.resolve())
    if given.plot and not importlib.util.find_spec("matplotlib"):
        raise Failure(3, "--plot: matplotlib is not installed")
    try:
        import torch
    except ImportError as error:
        raise Failure(3, f"PyTorch is needed: {error}") from None
    if not torch.cuda.is_available():
        raise Failure(6, "PyTorch finds no CUDA device")
    context = context_of(torch, given)
    print(f"{context['device']}, driver {context['driver']}, PyTorch {context['torch']}, "
          f"cuDNN {context['cudnn']}, layout {given.layout}\n")
    try:
        if given.accuracy:
            return compare_accuracy(given, [row.shape for row in rows], library)
        if given.features:
            return compare_features(given, rows, library, context)
        code = compare_times(given, rows, library, context)
        print(report.product_line(product_tflops(given.rounds, given.target_ms, given.settle_ms), rows))
        return code
    except RuntimeError as error:  # of CUDA, through PyTorch
        raise Failure(6, str(error).splitlines()[0]) from error


def main():
    try:
        return run(arguments_from(sys.argv[1:]))
    except Failure as failure:
        complain(failure)
        return failure.code
    except OSError as error:  # a report that cannot be written
        complain(error)
        return 6


if __name__ == "__main__":
    sys.exit(main())
