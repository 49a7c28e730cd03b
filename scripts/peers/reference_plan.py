"""What scripts/compare_reference.py compares, and what follows from its samples. Neither numpy nor torch."""
import statistics
from dataclasses import asdict, dataclass, field

from peers.plan import Shape

FORWARD, BACKWARD = "forward", "backward"
OURS = (FORWARD, BACKWARD)
TORCH, NUMPY = "PyTorch", "numpy"  # PyTorch: its backward; numpy: its forward and backward
GEMM = "GEMM: "  # and the library

# Largest relative L2 distance from the fp64 truth of a result in fp32, in fp64.
AGREEMENT = {32: 1e-4, 64: 1e-10}
# CPUs in use, over threads: above, the number of threads does not hold; below, they waited.
CPUS_OF_THREADS = (0.85, 1.1)
# numpy_attention.py holds at most this many matrices of [batch, head, seqlen_q, seqlen_k] at a time.
NUMPY_MATRICES = 4


@dataclass(frozen=True)
class Case:
    """`real` is the width of the arithmetic in bits: 32 or 64. The GEMM is of gemm_size^3."""
    shape: Shape
    real: int
    threads: int
    gemm_size: int

    @property
    def numpy_bytes(self):
        """What numpy's attention needs for its matrices."""
        shape = self.shape
        pairs = shape.batch * shape.nhead_q * shape.seqlen_q * shape.seqlen_k
        return NUMPY_MATRICES * self.real // 8 * pairs

    def __str__(self):
        return f"fp{self.real} {self.shape.mask} {self.threads} thread{'s' if self.threads > 1 else ''}"


def cases(given, threads):
    """Every combination of types, masks and `threads`, a list of counts."""
    seqlen_q, seqlen_k = given.seqlen
    return [Case(Shape(given.batch, given.nhead, given.nhead, seqlen_q, seqlen_k, given.hdim, mask,
                       f"fp{real}", "bhsd"), real, count, given.gemm_sizes[0 if real == 32 else 1])
            for real in given.real for mask in given.masks for count in threads]


@dataclass
class Samples:
    """One of each a round, in seconds of a call."""
    wall: list = field(default_factory=list)
    cpu: list = field(default_factory=list)  # of all threads of the process

    @property
    def cpus(self):
        """How many were at work on average."""
        return sum(self.cpu) / sum(self.wall)


@dataclass
class Row:
    """The measurements of a case."""
    case: Case
    clock: str = "wall"  # the member of Samples that counts
    samples: dict = field(default_factory=dict)  # name: Samples
    calls: dict = field(default_factory=dict)  # name: calls a sample
    missing: dict = field(default_factory=dict)  # name: why it was not measured

    def seconds(self, *names):
        """Round by round, of all `names` together; empty where one is missing."""
        if any(name not in self.samples for name in names):
            return []
        return [sum(times) for times in zip(*(getattr(self.samples[name], self.clock) for name in names))]

    def flops(self, *names):
        shape = self.case.shape
        return sum({FORWARD: shape.forward_flops, BACKWARD: shape.flops}.get(name, 2 * self.case.gemm_size**3)
                   for name in names)

    def gflops(self, *names):
        """Of `names` one after the other, over the median time; None where one is missing."""
        seconds = self.seconds(*names)
        return self.flops(*names) / statistics.median(seconds) / 1e9 if seconds else None

    @property
    def best_gemm(self):
        """The name of the fastest, by the median; None without any."""
        names = [name for name in self.samples if name.startswith(GEMM)]
        return max(names, key=self.gflops, default=None)

    def gemm_ratios(self):
        """Our rate, forward and backward together, over that of the best GEMM, round by round."""
        best = self.best_gemm
        if best is None:
            return []
        ours, theirs = self.flops(*OURS), self.flops(best)
        return [ours / seconds / (theirs / gemm)
                for seconds, gemm in zip(self.seconds(*OURS), self.seconds(best))]

    def time_ratios(self, peer):
        """The peer's time over ours, round by round; above 1 we are faster."""
        ours = (BACKWARD,) if peer == TORCH else OURS
        return [theirs / seconds for theirs, seconds in zip(self.seconds(peer), self.seconds(*ours))]

    def doubts(self):
        """A line of those that had more CPUs than threads, and one of those that had fewer. Much of numpy's
        attention has one thread."""
        least, most = (bound * self.case.threads for bound in CPUS_OF_THREADS)
        cpus = {name: samples.cpus for name, samples in self.samples.items()}
        more = [name for name in cpus if not cpus[name] <= most]
        fewer = [name for name in cpus if name != NUMPY and not cpus[name] >= least]
        for names, meaning in ((more, "the number of threads does not hold"),
                               (fewer, "threads waited, or other programs ran")):
            if names:
                used = ", ".join(f"{name} {cpus[name]:.2f}" for name in names)
                yield f"{meaning} (CPUs in use: {used})"

    def record(self):
        """Plain data, raw samples included."""
        everything = {"gemm": self.gemm_ratios(), TORCH: self.time_ratios(TORCH),
                      NUMPY: self.time_ratios(NUMPY)}
        return asdict(self) | {
            "gflops": {name: self.gflops(name) for name in self.samples if name not in (TORCH, NUMPY)}
            | {"forward + backward": self.gflops(*OURS)},
            "best_gemm": self.best_gemm,
            "ratio": {name: statistics.median(ratios) for name, ratios in everything.items() if ratios},
            "cpus": {name: samples.cpus for name, samples in self.samples.items()},
            "doubts": list(self.doubts())}
