#!/usr/bin/env python3
"""The CPU reference of fmha_bwd against matrix products, PyTorch's CPU attention and numpy.

Loads libfmha_bwd_reference.so, and in the same process measures, in turn, round after round, each with the
same number of threads and in the same precision: our forward and backward; a large square matrix product of
numpy's BLAS, PyTorch's and every --blas; PyTorch's backward of scaled_dot_product_attention; the attention of
scripts/peers/numpy_attention.py, which holds whole matrices of scores. All results are compared with fp64
first; what is wrong is not timed. Prints a Markdown table and the worst ratios.

A library chooses kernels for the CPU that it was written for: see "library" in the table, and what steers
it (OPENBLAS_CORETYPE, BLIS_ARCH_TYPE: the header says what is set). oneDNN's libdnnl.so counts as a --blas.

Exit codes: 0 done; 1 wrong results of ours; 2 bad usage; 3 nothing ran; 6 a runtime error.
"""
import argparse
import datetime
import math
import os
import platform
import shlex
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from peers import reference_plan, reference_report, report  # noqa: E402
from peers.options import at_least, lengths, list_of  # noqa: E402
from peers.plan import MASKS, OURS as PROGRAM, Failure, rotated  # noqa: E402
from peers.reference_plan import GEMM, Row, Samples  # noqa: E402

STEERING = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "BLIS_ARCH_TYPE", "MKL_ENABLE_INSTRUCTIONS",
            "ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
            "BLIS_NUM_THREADS", "MKL_NUM_THREADS")


def complain(message):
    print(f"compare_reference: {message}", file=sys.stderr, flush=True)


def real_of(text):
    if text not in ("32", "64"):
        raise argparse.ArgumentTypeError(f"'{text}' is not 32 or 64")
    return int(text)


def threads_of(text):
    """A number of at least 1, or None of "all"."""
    return None if text == "all" else at_least(1)(text)


def arguments_from(argv):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--library", type=Path, default=Path("build/release/libfmha_bwd_reference.so"), metavar="PATH",
        help="default: %(default)s")
    add("--real", type=list_of(real_of), default=[32, 64], metavar="BITS,...",
        help="of the arithmetic; default: 32,64")
    add("--masks", type=list_of(str, MASKS), default=list(MASKS[:2]), metavar="MASK,...",
        help=f"of {', '.join(MASKS)}; default: no_mask,top_left")
    add("--threads", type=list_of(threads_of), default=[1, None], metavar="N,...",
        help="numbers, or all; default: 1,all")
    add("--batch", type=at_least(1), default=1, metavar="N", help="default: %(default)s")
    add("--nhead", type=at_least(1), default=8, metavar="N", help="default: %(default)s")
    add("--seqlen", type=lengths, default=(2048, 2048), metavar="S", help="or SqxSk; default: 2048")
    add("--hdim", type=at_least(1), default=128, metavar="D", help="default: %(default)s")
    add("--blas", type=Path, action="append", default=[], metavar="PATH",
        help="another library with cblas_sgemm and cblas_dgemm, or dnnl_sgemm; may be repeated")
    add("--gemm-sizes", type=list_of(at_least(1)), default=[4096, 3072], metavar="N32,N64",
        help="of the matrix products in fp32 and in fp64; default: 4096,3072")
    add("--rounds", type=at_least(1), default=5, metavar="N", help="default: %(default)s")
    add("--target-ms", type=at_least(0.01, float), default=300.0, metavar="MS",
        help="least time of a sample; default: %(default)g")
    add("--clock", choices=("wall", "cpu"), default="wall",
        help="cpu: the process's, for one thread on a machine where other programs run; default: wall")
    add("--output", type=Path, metavar="FILE", help="writes JSON with all samples")
    given = parser.parse_args(argv)
    if len(given.gemm_sizes) != 2:
        parser.error("argument --gemm-sizes: two sizes, of fp32 and of fp64")
    if given.clock == "cpu" and given.threads != [1]:
        parser.error("argument --clock: cpu is for --threads 1")
    return given


def cpu_model():
    try:
        for text in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if text.startswith("model name"):
                return text.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def context_of(given, library, peers):
    steering = {name: os.environ[name] for name in STEERING if name in os.environ}
    return {"cpu": cpu_model(), "cpus": len(os.sched_getaffinity(0)), "simd": library.simd,
            "library": str(given.library.resolve()), **peers.versions, "environment": steering,
            "gemms": [name[len(GEMM):] for name, *_ in peers.gemms], "python": platform.python_version(),
            "command": shlex.join(sys.argv),
            "rounds": given.rounds, "target_ms": given.target_ms, "clock": given.clock,
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")}


def measure(row, contestants, rounds, target_ms):
    """Fills the row's samples: rounds of one sample of each, of at least about `target_ms`. A call before
    each is not timed: meanwhile the threads of the last one, which may spin, come to rest."""
    by_name = {name: (set_threads, call) for name, set_threads, call in contestants}
    for name, (set_threads, call) in by_name.items():
        set_threads(row.case.threads)
        call()
        start = time.perf_counter()
        call()
        row.calls[name] = math.ceil(target_ms / 1e3 / max(time.perf_counter() - start, 1e-6))
        row.samples[name] = Samples()
    for order in rotated(list(by_name), rounds):
        for name in order:
            set_threads, call = by_name[name]
            set_threads(row.case.threads)
            call()
            count = row.calls[name]
            wall, cpu = time.perf_counter(), time.process_time()
            for _ in range(count):
                call()
            row.samples[name].cpu.append((time.process_time() - cpu) / count)
            row.samples[name].wall.append((time.perf_counter() - wall) / count)


def compare(given, cases, library, peers, context):
    from peers import numpy_attention
    from peers import reference_contestants as contestants

    print(reference_report.METHOD + "\n")
    print(report.head(reference_report.COLUMNS), flush=True)
    rows, truths, code = [], {}, 0
    for case in cases:
        shape, row = case.shape, Row(case, given.clock)
        tensors = contestants.inputs(shape)
        if shape.mask not in truths:
            truths[shape.mask] = numpy_attention.truth(tensors, contestants.scale_of(shape),
                                                       numpy_attention.visible_of(shape))
        expected = truths[shape.mask]
        try:
            measure(row, contestants.ours(case, library, tensors, expected)
                    + contestants.gemms(row, peers)
                    + contestants.attentions(row, peers, tensors, expected), given.rounds, given.target_ms)
        except Failure as failure:
            if failure.code not in (1, 3):
                raise
            code = max(code, failure.code == 1)
            row.missing[PROGRAM] = str(failure)
        for name, reason in row.missing.items():
            complain(f"{case}: {name}: {reason}")
        for doubt in row.doubts():
            complain(f"{case}: {doubt}")
        print(reference_report.row_line(row), flush=True)
        rows.append(row)
        if given.output:
            reference_report.write_file(given.output, context, rows)
    print("\n" + reference_report.summary(rows))
    return int(code) or (0 if any(row.samples for row in rows) else 3)


def run(given):
    try:
        from peers.reference_contestants import Peers
        from peers.reference_library import ReferenceLibrary
    except ImportError as error:
        raise Failure(3, f"numpy is needed: {error}") from None
    library = ReferenceLibrary(given.library.resolve())
    peers = Peers(given.blas)
    for note in peers.notes:
        complain(note)
    context = context_of(given, library, peers)
    counts = [count or context["cpus"] for count in given.threads]
    cases = reference_plan.cases(given, list(dict.fromkeys(counts)))
    print(f"{context['cpu']}, {context['cpus']} CPUs; fmha_bwd: {context['simd']}; "
          f"numpy {context['numpy']}; PyTorch {context['torch'] or 'n/a'}\n"
          f"B={given.batch} H={given.nhead} S={cases[0].shape.lengths} D={given.hdim}; "
          f"{given.clock} time; GEMM {given.gemm_sizes[0]} in fp32, {given.gemm_sizes[1]} in fp64: "
          f"{', '.join(context['gemms'])}")
    if context["environment"]:
        print("Set: " + ", ".join(f"{name}={value}" for name, value in context["environment"].items()))
    print()
    if "OPENBLAS_CORETYPE" in os.environ:
        complain(f"OPENBLAS_CORETYPE={os.environ['OPENBLAS_CORETYPE']} forces OpenBLAS's kernels: "
                 "it may be slower than it is")
    return compare(given, cases, library, peers, context)


def main():
    try:
        return run(arguments_from(sys.argv[1:]))
    except Failure as failure:
        complain(failure)
        return failure.code
    except (OSError, MemoryError, RuntimeError) as error:  # a report that cannot be written, PyTorch's
        complain((str(error).splitlines() or [type(error).__name__])[0])
        return 6


if __name__ == "__main__":
    sys.exit(main())
