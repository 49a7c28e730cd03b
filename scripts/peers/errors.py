"""The fp64 truth of the gradients, and distances between tensors."""
import torch


def relative_l2(actual, expected):
    """||actual - expected|| / ||expected|| in fp64; 0 where both are zero."""
    expected = expected.double()
    error, norm = (actual.double() - expected).norm().item(), expected.norm().item()
    return 0.0 if error == 0 else error / norm if norm > 0 else float("inf")


def distance(actual, expected):
    """The largest relative L2 distance of dQ, dK and dV; NaN where any is."""
    errors = [relative_l2(*pair) for pair in zip(actual, expected)]
    return float("nan") if any(error != error for error in errors) else max(errors)


def truth(shape, tensors):
    """dQ, dK and dV in fp64 of (Q, K, V, dO) by explicit products, one key head at a time: its memory is some
    [nhead_q / nhead_k, seqlen_q, seqlen_k] matrices. A query that sees no key has P = 0."""
    q, k, v, d_o = tensors
    group = shape.nhead_q // shape.nhead_k
    rows = torch.arange(shape.seqlen_q, device="cuda")[:, None]
    hidden = torch.arange(shape.seqlen_k, device="cuda") > rows + shape.diagonal
    dq, dk, dv = (torch.empty(like.shape, dtype=torch.float64, device="cuda") for like in (q, k, v))
    for batch in range(shape.batch):
        for head in range(shape.nhead_k):
            queries = slice(head * group, (head + 1) * group)
            # [group, seqlen_q, hdim], and [seqlen_k, hdim] of the one head that they share.
            heads_q, heads_do = q[batch, queries].double(), d_o[batch, queries].double()
            head_k, head_v = k[batch, head].double(), v[batch, head].double()
            scores = (shape.scale * heads_q @ head_k.T).masked_fill(hidden, float("-inf"))
            p = (scores - scores.logsumexp(-1, keepdim=True)).exp().masked_fill(hidden, 0.0)
            d = (heads_do * (p @ head_v)).sum(-1, keepdim=True)
            ds = p * (heads_do @ head_v.T - d)
            dq[batch, queries] = shape.scale * ds @ head_k
            dk[batch, head] = shape.scale * (ds.mT @ heads_q).sum(0)
            dv[batch, head] = (p.mT @ heads_do).sum(0)
    return dq, dk, dv
