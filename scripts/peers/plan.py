"""What is compared: shapes, their exact work, the order of measurements, what follows from them. No torch."""
import math
import statistics
from dataclasses import asdict, dataclass, field

# Each in the order of the C interface's numbers (kernels/library.h).
DTYPES = ("fp16", "bf16")
MASKS = ("no_mask", "top_left", "bottom_right")
LAYOUTS = ("bhsd", "bshd")

OURS = "fmha_bwd"
PEERS = ("cuDNN", "FA2")

HIDDEN = 2048  # nhead_q * hdim
TOKENS = 16384  # batch * the longer sequence
AGREEMENT = 2e-2  # largest relative L2 distance of two right results in fp16 or bf16
WORSE = 1.05  # an error larger than the peer's by this is worse


class Failure(Exception):
    """Ends the program, or one shape, with an exit code of the project's."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Shape:
    """Q, dO [batch, nhead_q, seqlen_q, hdim]; K, V [batch, nhead_k, seqlen_k, hdim]; `layout` is their order
    in memory."""
    batch: int
    nhead_q: int
    nhead_k: int
    seqlen_q: int
    seqlen_k: int
    hdim: int
    mask: str
    dtype: str
    layout: str

    @property
    def hdim_v(self):
        return self.hdim

    @property
    def scale(self):
        return 1 / math.sqrt(self.hdim)

    @property
    def rows(self):
        """(batch, rows of Q, rows of K) of the tensors."""
        return self.batch, self.seqlen_q, self.seqlen_k

    @property
    def members(self):
        """{member of fmha_bwd_problem: value} besides the extents, types and the mask's name."""
        return {}

    @property
    def diagonal(self):
        """Query i sees the keys j <= i + diagonal."""
        return {"no_mask": self.seqlen_k - 1, "top_left": 0,
                "bottom_right": self.seqlen_k - self.seqlen_q}[self.mask]

    @property
    def pairs(self):
        """Visible pairs of a query and a key, of one head of one sequence."""
        return sum(min(max(i + self.diagonal + 1, 0), self.seqlen_k) for i in range(self.seqlen_q))

    @property
    def flops(self):
        """Of the backward: five products over the visible pairs, two operations a multiply-add."""
        return 10 * self.batch * self.nhead_q * self.hdim * self.pairs

    @property
    def forward_flops(self):
        """Of the forward: two products."""
        return 4 * self.batch * self.nhead_q * self.hdim * self.pairs

    @property
    def lengths(self):
        """"512", or "300x700" where they differ."""
        return str(self.seqlen_q) if self.seqlen_q == self.seqlen_k else f"{self.seqlen_q}x{self.seqlen_k}"

    def __str__(self):
        return (f"{self.dtype} D={self.hdim} {self.mask} S={self.lengths} B={self.batch} H={self.nhead_q} "
                f"Hk={self.nhead_k}")


def shapes(dtypes, hdims, masks, lengths, nhead_k=None, layout="bshd", batch=None):
    """Every combination. `lengths` are (seqlen_q, seqlen_k); the batch makes up TOKENS unless given, the
    heads HIDDEN. Failure 2 where nhead_k does not divide the heads."""
    found = []
    for dtype in dtypes:
        for hdim in hdims:
            heads = max(1, HIDDEN // hdim)
            if heads % (nhead_k or heads) != 0:
                raise Failure(2, f"--nhead-k: {nhead_k} does not divide the {heads} heads of --hdims {hdim}")
            for mask in masks:
                for seqlen_q, seqlen_k in lengths:
                    sequences = batch or max(1, TOKENS // max(seqlen_q, seqlen_k))
                    found.append(Shape(sequences, heads, nhead_k or heads, seqlen_q, seqlen_k, hdim, mask,
                                       dtype, layout))
    return found


def rotated(names, rounds):
    """The order of each round: every name once, a different one first each time."""
    shifts = [i % len(names) for i in range(rounds)]
    return [list(names[shift:]) + list(names[:shift]) for shift in shifts]


def calls_for(target_ms, call_ms):
    """How many calls back to back make up one sample; at least 3."""
    return max(3, round(target_ms / max(call_ms, 1e-3)))


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(value) for value in values))


def is_worse(ours, peer):
    """Whether our error is larger than the peer's by more than 5%; where the peer has none (None or not
    finite), whether it is larger than AGREEMENT. A NaN of ours is worse."""
    limit = AGREEMENT if peer is None or not math.isfinite(peer) else WORSE * peer
    return not ours <= limit


@dataclass
class Row:
    """The measurements of one shape."""
    shape: Shape
    family: str = ""
    samples: dict = field(default_factory=dict)  # name: milliseconds of a call, one a round
    calls: dict = field(default_factory=dict)  # name: calls a sample
    missing: dict = field(default_factory=dict)  # name: why it was not measured

    def median(self, name):
        """Milliseconds; None where it was not measured."""
        return statistics.median(self.samples[name]) if self.samples.get(name) else None

    def tflops(self, name):
        median = self.median(name)
        return None if median is None else self.shape.flops / median / 1e9

    def ratios(self, peer):
        """The peer's time over ours, round by round; above 1 we are faster. Empty where either is missing."""
        return [theirs / ours for theirs, ours in zip(self.samples.get(peer, []), self.samples.get(OURS, []))]

    def ratio(self, peer):
        ratios = self.ratios(peer)
        return statistics.median(ratios) if ratios else None

    @property
    def names(self):
        return (OURS, *PEERS)

    def record(self):
        """Plain data, raw samples included."""
        names = self.names
        return asdict(self) | {
            "flops": self.shape.flops,
            "median_ms": {name: self.median(name) for name in names},
            "tflops": {name: self.tflops(name) for name in names},
            "ratio": {peer: self.ratio(peer) for peer in names if peer != OURS}}
