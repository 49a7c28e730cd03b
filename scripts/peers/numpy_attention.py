"""Attention forward and backward by whole matrices in numpy, as textbooks have it: the textbook's speed on a
CPU, and the fp64 truth of the other contestants. Tensors are [batch, head, row, column]."""
import numpy as np


def visible_of(shape):
    """[seqlen_q, seqlen_k], 1 where the query sees the key, also where it sees them all."""
    rows, columns = np.arange(shape.seqlen_q)[:, None], np.arange(shape.seqlen_k)
    return (columns <= rows + shape.diagonal).astype(np.float32)


def forward(q, k, v, scale, visible):
    """(O, P). A query that sees no key has P = 0."""
    s = np.matmul(q, k.swapaxes(-1, -2)) * scale
    s = np.where(visible > 0, s, -1e9)
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    p = p / p.sum(axis=-1, keepdims=True)
    p[..., ~visible.any(axis=-1), :] = 0
    return np.matmul(p, v), p


def backward(q, k, v, d_o, o, p, scale):
    """(dQ, dK, dV)."""
    d = (d_o * o).sum(axis=-1, keepdims=True)
    dp = np.matmul(d_o, v.swapaxes(-1, -2))
    ds = p * (dp - d)
    dq = np.matmul(ds, k) * scale
    dk = np.matmul(ds.swapaxes(-1, -2), q) * scale
    return dq, dk, np.matmul(p.swapaxes(-1, -2), d_o)


def attention(tensors, scale, visible):
    """(O, dQ, dK, dV) of (Q, K, V, dO), in their type."""
    q, k, v, d_o = tensors
    o, p = forward(q, k, v, scale, visible)
    return o, *backward(q, k, v, d_o, o, p, scale)


def truth(tensors, scale, visible):
    """(O, dQ, dK, dV) in fp64, one head at a time: memory for a few matrices of one head."""
    q, k, v, d_o = tensors
    results = tuple(np.empty(like.shape) for like in (d_o, q, k, v))
    for head in np.ndindex(q.shape[:2]):
        found = attention([tensor[head].astype(np.float64) for tensor in tensors], scale, visible)
        for result, part in zip(results, found):
            result[head] = part
    return results


def distance(actual, expected):
    """The largest ||a - e|| / ||e|| of pairs of arrays, in fp64; NaN where any is."""
    errors = []
    for a, e in zip(actual, expected):
        error, norm = np.linalg.norm((a - e).ravel()), np.linalg.norm(e.ravel())
        errors.append(0.0 if error == 0 else error / norm if norm > 0 else np.inf)
    return float(np.max(errors))
