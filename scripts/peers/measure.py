"""Which contestants agree, and how long a call of each takes. torch is imported when a function is called."""
from peers import plan
from peers.plan import AGREEMENT, Failure


def agreeing(row, our_call, calls):
    """`calls`, {name: call} of the peers, without those whose gradients are not ours, which `row` notes.
    Failure 1 where no peer has ours."""
    from peers.errors import distance

    gradients = our_call()
    errors = {name: distance(gradients, call()) for name, call in calls.items()}
    agreed = {name: call for name, call in calls.items() if errors[name] <= AGREEMENT}
    if not agreed:
        texts = [f"{name}'s by {error:.3e}" for name, error in errors.items()]
        raise Failure(1, f"gradients of {row.family} differ from {', '.join(texts)} (relative L2)")
    for name in calls.keys() - agreed.keys():
        row.missing[name] = (f"its gradients differ from ours, which others share, by {errors[name]:.3e} "
                             "(relative L2)")
    return agreed


def measure(row, calls, rounds, target_ms, settle_ms):
    """Fills the row's samples: rounds of one sample of each, after a warm-up that also finds how many calls
    make up a sample of about `target_ms`. Each sample follows `settle_ms` of the same calls: a chip at its
    power limit runs the faster the less its last load drew."""
    from peers.contestants import milliseconds

    for name, call in calls.items():
        first = plan.calls_for(target_ms, milliseconds(call, 3))
        row.calls[name] = plan.calls_for(target_ms, milliseconds(call, first))
        row.samples[name] = []
    for order in plan.rotated(list(calls), rounds):
        for name in order:
            settling = round(row.calls[name] * settle_ms / target_ms)
            if settling > 0:
                milliseconds(calls[name], settling)
            row.samples[name].append(milliseconds(calls[name], row.calls[name]))


def product_tflops(rounds, target_ms, settle_ms, size=8192):
    """The rate of a bf16 product of two `size` x `size` matrices, median of the rounds: what a kernel made of
    such products can be held against."""
    import torch

    left, right = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    result = torch.empty_like(left)
    row = plan.Row(None)
    measure(row, {"product": lambda: torch.matmul(left, right, out=result)}, rounds, target_ms, settle_ms)
    return 2 * size**3 / row.median("product") / 1e9
