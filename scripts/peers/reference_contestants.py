"""What scripts/compare_reference.py measures: our reference, and products and attention of other libraries on
the same arrays. A contestant is (name, f(threads), call without arguments)."""
import math
from pathlib import Path

import numpy as np

from peers import blas, numpy_attention
from peers.plan import Failure
from peers.reference_plan import AGREEMENT, GEMM, NUMPY, OURS, TORCH


def free_bytes():
    """Memory that is free without swapping; 0 where the system does not say."""
    try:
        for text in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
            if text.startswith("MemAvailable:"):
                return 1024 * int(text.split()[1])
    except OSError:
        pass
    return 0


class Peers:
    """The libraries beside ours: numpy and its BLAS, PyTorch where it is installed, and each of `paths`.
    `gemms` is [(name, f(threads), f(real, A, B, C), which gives the call)]; `notes` say what is not there."""

    def __init__(self, paths):
        self.notes = []
        own = blas.of_numpy()
        if own is None or own.set_threads is None:
            self.notes.append("numpy: its BLAS, or how to set its threads, is not known")
        self.set_numpy_threads = own.set_threads if own and own.set_threads else lambda count: None
        self.gemms = [(f"{GEMM}numpy's {own.name if own else 'BLAS'}", self.set_numpy_threads,
                       lambda real, a, b, c: lambda: np.matmul(a, b, out=c))]
        self.versions = {"numpy": np.__version__, "torch": None}
        try:
            from peers import torch_cpu
            self.torch = torch_cpu
            self.versions["torch"] = torch_cpu.version()
            self.gemms.append((f"{GEMM}PyTorch {self.versions['torch']}", torch_cpu.set_threads,
                               lambda real, a, b, c: torch_cpu.product(a, b, c)))
        except ImportError as error:
            self.torch = None
            self.notes.append(f"without PyTorch: {error}")
        for path in paths:
            library = blas.Blas(path)
            if library.set_threads is None:
                raise Failure(2, f"--blas: {path}: it has no function for the number of threads")
            name = GEMM + library.name
            if any(name == taken for taken, *_ in self.gemms):
                name += f" {path}"
            self.gemms.append((name, library.set_threads, library.product))


def inputs(shape, seed=42):
    """Q, K, V and dO in fp32, standard normal."""
    generator = np.random.default_rng(seed)
    queries = (shape.batch, shape.nhead_q, shape.seqlen_q, shape.hdim)
    keys = (shape.batch, shape.nhead_k, shape.seqlen_k, shape.hdim)
    return [generator.standard_normal(size, np.float32) for size in (queries, keys, keys, queries)]


def scale_of(shape):
    """Of the scores, in the precision of the C interface, so that it is the same for all."""
    return float(np.float32(shape.scale))


def ours(case, library, tensors, expected):
    """[(name, f(threads), call)]. Failure 1 where the results are not those of fp64."""
    forward, backward, results = library.passes(case, tensors)
    forward()
    backward()
    error = numpy_attention.distance(results, expected)
    if not error <= AGREEMENT[case.real]:
        raise Failure(1, f"O or gradients differ from fp64's by {error:.3e} (relative L2)")
    return [(name, lambda count: None, call) for name, call in zip(OURS, (forward, backward))]


def gemms(row, peers):
    """[(name, f(threads), call)] of those whose product is right; the others are noted in `row`."""
    a, b, c = blas.operands(row.case.real, row.case.gemm_size)
    contestants = []
    for name, set_threads, product in peers.gemms:
        try:
            call = product(row.case.real, a, b, c)
        except Failure as failure:
            row.missing[name] = str(failure)
            continue
        c.fill(math.nan)
        set_threads(row.case.threads)
        call()
        error = blas.product_error(a, b, c)
        if error <= AGREEMENT[row.case.real]:
            contestants.append((name, set_threads, call))
        else:
            row.missing[name] = f"its product differs from fp64's by {error:.3e} (relative L2)"
    return contestants


def attentions(row, peers, tensors, expected):
    """[(name, f(threads), call)] of the peers' attention, checked against (O, dQ, dK, dV) in fp64."""
    case, shape = row.case, row.case.shape
    scale = scale_of(shape)
    tensors = [tensor.astype(f"f{case.real // 8}") for tensor in tensors]
    candidates, available = [], free_bytes()
    if case.numpy_bytes <= available / 2:
        visible = numpy_attention.visible_of(shape)
        candidates.append((NUMPY, peers.set_numpy_threads,
                           lambda: numpy_attention.attention(tensors, scale, visible)))
    else:
        row.missing[NUMPY] = (f"its matrices take {case.numpy_bytes / 2**30:.1f} GiB, more than half of the "
                              f"{available / 2**30:.1f} GiB that are free")
    if peers.torch:
        try:
            peers.torch.set_threads(case.threads)
            candidates.append((TORCH, peers.torch.set_threads,
                               peers.torch.attention_backward(shape, tensors, scale)))
        except (Failure, RuntimeError, TypeError, AttributeError) as error:
            row.missing[TORCH] = (str(error).splitlines() or [type(error).__name__])[0]
    contestants = []
    for name, set_threads, call in candidates:
        set_threads(case.threads)
        error = numpy_attention.distance(call()[-3:], expected[-3:])
        if error <= AGREEMENT[case.real]:
            contestants.append((name, set_threads, call))
        else:
            row.missing[name] = f"its gradients differ from fp64's by {error:.3e} (relative L2)"
    return contestants
