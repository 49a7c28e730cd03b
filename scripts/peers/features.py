"""The wider problem space as data: each feature's shapes, and the peers in PyTorch that have it. No torch."""
from dataclasses import dataclass

from peers.library import UNBOUNDED, WINDOW_TOP_LEFT
from peers.plan import HIDDEN, PEERS, TOKENS, Row, Shape

FLEX = "Flex"
ALL_PEERS = (*PEERS, FLEX)
ATOMIC = "fmha_bwd atomic"  # ours, not deterministic

# Sums of TOKENS.
MIXED = (4096, 512, 2048, 777, 1, 3072, 1023, 255, 2560, 2040)
SHORT = tuple(64 + 6 * i for i in range(64)) + (192,)
# Sums of 8192.
PACKED = (3000, 100, 1200, 8, 2000, 692, 1192)


@dataclass(frozen=True)
class FeatureShape(Shape):
    """A shape with equal lengths of queries and keys, and its features; empty or zero is none."""
    feature: str = ""
    columns_v: int = 0  # of V and O; 0: hdim
    window: tuple = ()  # (left, right)
    sequences: tuple = ()  # group mode: a length each
    documents: tuple = ()  # lengths of the documents of each sequence
    softcap: float = 0.0
    alibi: bool = False
    sink: bool = False
    dropout: float = 0.0
    deterministic: bool = False

    @property
    def hdim_v(self):
        return self.columns_v or self.hdim

    @property
    def causal(self):
        return self.mask == "top_left"

    @property
    def rows(self):
        return (1, sum(self.sequences), sum(self.sequences)) if self.sequences else super().rows

    @property
    def parts(self):
        """Lengths of what sees only itself, of one sequence; of all of them in group mode."""
        return self.sequences or self.documents or (self.seqlen_q,)

    @property
    def members(self):
        found = {name: value for name in ("softcap", "alibi", "sink", "dropout", "deterministic")
                 if (value := getattr(self, name))}
        if self.window:
            found |= {"mask": WINDOW_TOP_LEFT, "window_left": self.window[0], "window_right": self.window[1]}
        if self.sequences:
            found |= {"seqlens_q": self.sequences, "seqlens_k": self.sequences}
        if self.documents:
            ends = [sum(self.documents[:i + 1]) for i in range(len(self.documents) - 1)]
            found |= {"document_ends": ends, "documents": len(ends)}
        return found

    @property
    def pairs(self):
        left, right = self.window or (UNBOUNDED, 0 if self.causal else UNBOUNDED)
        return sum(min(i + right, length - 1) - max(i - left, 0) + 1
                   for length in self.parts for i in range(length))

    @property
    def flops(self):
        return self.rows[0] * self.nhead_q * self.pairs * (6 * self.hdim + 4 * self.hdim_v)

    @property
    def case(self):
        """What the feature is in this shape."""
        texts = [f"window {self.window[0]},{self.window[1]}" if self.window
                 else "causal" if self.causal else "full"]
        texts += [f"{len(self.sequences)} sequences"] if self.sequences else []
        texts += [f"{len(self.documents)} documents"] if self.documents else []
        texts += [f"cap {self.softcap:g}"] if self.softcap else []
        texts += [f"p {self.dropout:g}"] if self.dropout else []
        return ", ".join(texts)

    @property
    def widths(self):
        return str(self.hdim) if self.hdim == self.hdim_v else f"{self.hdim}/{self.hdim_v}"

    def __str__(self):
        return f"{self.feature}: D={self.widths} {self.case} S={self.lengths} B={self.batch} H={self.nhead_q}"


@dataclass(frozen=True)
class Feature:
    """`lacks` are the peers that do not have it, and why; `rows` the members of its shapes."""
    lacks: dict
    rows: tuple

    @property
    def peers(self):
        return tuple(peer for peer in ALL_PEERS if peer not in self.lacks)


def of(hdim, seqlen, mask="top_left", **members):
    return {"hdim": hdim, "seqlen": seqlen, "mask": mask} | members


def causal_rows(**members):
    """The shapes of a feature of the scores."""
    return (of(128, 8192, **members), of(128, 2048, **members), of(64, 8192, **members))


NO_SCORES = "PyTorch's operator has no such scores"
PACKED_CUDNN = "PyTorch 2.11's operator for packed rows gives wrong gradients; its varlen_attn avoids it"
FEATURES = {
    "window": Feature({"cuDNN": "PyTorch's operator has no window"}, (
        of(128, 8192, window=(1023, 0)), of(128, 2048, window=(255, 0)), of(128, 8192, window=(512, 512)),
        of(64, 8192, window=(1023, 0)))),
    "varlen": Feature({"cuDNN": PACKED_CUDNN}, (
        of(128, 0, sequences=MIXED), of(128, 0, sequences=SHORT), of(128, 0, "no_mask", sequences=MIXED),
        of(64, 0, sequences=MIXED))),
    "hdim": Feature({FLEX: "slower than cuDNN at hdim 64 and 128; not compiled for others"}, tuple(
        of(hdim, seqlen, mask, columns_v=columns_v)
        for seqlen, mask in ((8192, "top_left"), (2048, "top_left"), (8192, "no_mask"))
        for hdim, columns_v in ((192, 128), (256, 256), (96, 96), (192, 192)))),
    "deterministic": Feature({"cuDNN": "its bits differ from run to run (at five of six shapes)"}, (
        *causal_rows(deterministic=True), of(128, 8192, "no_mask", deterministic=True))),
    "dropout": Feature({FLEX: "it cannot change P behind the softmax"}, (
        *causal_rows(dropout=0.1), of(128, 8192, "no_mask", dropout=0.1))),
    "softcap": Feature({"cuDNN": NO_SCORES, "FA2": NO_SCORES}, causal_rows(softcap=30.0)),
    "sink": Feature({"cuDNN": NO_SCORES, "FA2": NO_SCORES}, (
        *causal_rows(sink=True), of(64, 8192, sink=True, window=(127, 0)))),
    "alibi": Feature({"cuDNN": "only as a bias [head, S, S] in bf16, too coarse for the distances",
                      "FA2": "PyTorch's backward takes no slopes"}, causal_rows(alibi=True)),
    "document": Feature({"cuDNN": PACKED_CUDNN}, (
        of(128, 8192, documents=PACKED), of(128, 8192, "no_mask", documents=PACKED),
        of(64, 8192, documents=PACKED))),
}
QUICK = 2  # of each feature's rows


def shapes(names, dtype="bf16", layout="bshd", quick=False):
    """Of the features, in the order of FEATURES; heads and batch make up HIDDEN and TOKENS."""
    found = []
    for name, feature in FEATURES.items():
        if name not in names and "all" not in names:
            continue
        for row in feature.rows[:QUICK] if quick else feature.rows:
            members = dict(row)
            seqlen, sequences = members.pop("seqlen"), members.get("sequences", ())
            longest, heads = max(seqlen, *sequences, 0), HIDDEN // members["hdim"]
            batch = len(sequences) or TOKENS // seqlen
            found.append(FeatureShape(batch, heads, heads, longest, longest, dtype=dtype,
                                      layout=layout, feature=name, **members))
    return found


class FeatureRow(Row):
    """The measurements of a feature's shape, against the peers that have the feature."""

    @property
    def names(self):
        return tuple(self.samples)

    @property
    def fastest(self):
        """The peer of the least median; None where none was measured."""
        measured = [peer for peer in ALL_PEERS if self.samples.get(peer)]
        return min(measured, key=self.median, default=None)
