"""Results files of `fmha_bwd bench` with made-up numbers, for tests of its readers and for looking at a page.

    made_up_results.py FOLDER    writes h200.json, baseline.json, other.json and emulated.json
"""
import json
import math
import random
import sys
from pathlib import Path

PEAK = {"fp16": 989.4e12, "bf16": 989.4e12, "fp32": 66.9e12}
TOP = {"no_mask": 560.0, "top_left": 470.0, "bottom_right:256,0": 310.0}  # TFLOPS of long sequences


def visible_pairs(mask, seqlen):
    if mask == "no_mask":
        return seqlen * seqlen
    if mask == "top_left":
        return seqlen * (seqlen + 1) // 2
    return sum(min(query, 256) + 1 for query in range(seqlen))  # bottom_right:256,0


def a_round(rng, ms, throttled=False):
    def samples(count, mean):
        return [mean * (1.0 + abs(rng.gauss(0.0, 0.004))) for _ in range(count)]

    return {"single_ms": samples(5, ms * 1.05 + 0.004), "batch_ms": samples(6, ms),
            "graph_ms": samples(4, ms * 0.99) if ms < 1.0 else [], "batch_passes": 16, "stopped": "steady",
            "slow_clock": 1 if throttled else 0, "throttled": throttled,
            "telemetry": {"clock_mhz": 1980.0 - rng.randrange(120), "clock_source": "counters",
                          "power_watts": 640.0 + rng.randrange(50),
                          "temperature_c": 61.0, "throttle": ["power cap"] if throttled else []}}


def a_case(rng, index, mask, dtype, seqlen, hdim=128, rounds=9, speed=1.0, peak=True):
    batch, heads = 4, 16
    pairs = visible_pairs(mask, seqlen)
    flops = float(batch * heads * 10 * hdim * pairs)
    tflops = TOP[mask] * seqlen / (seqlen + 900.0) * (1.0 if dtype == "fp16" else 0.985) * (hdim / 128) ** 0.4
    name = f"{mask}/{dtype}/B{batch}/H{heads}/S{seqlen}/D{hdim}"
    options = f"--batch {batch} --nhead {heads} --seqlen {seqlen} --hdim {hdim}"
    return {"name": name, "index": index, "operation": "backward",
            "command": f"fmha_bwd bench --mask {mask} --dtype {dtype} {options}",
            "mask": mask, "dtype": dtype, "layout": "bshd", "batch": batch, "nhead_q": heads,
            "nhead_k": heads, "seqlen_q": seqlen, "seqlen_k": seqlen, "seqlens_q": [], "seqlens_k": [],
            "hdim_q": hdim, "hdim_v": hdim, "extras": "", "fill": "normal std=0.1 seed=42",
            "input_checksum": f"{rng.getrandbits(64):016x}", "kernel": "hopper", "device_index": 0,
            "verification": "full" if seqlen <= 2048 else "sample", "all_pairs": seqlen * seqlen,
            "visible_pairs": pairs, "flops": flops, "flops_dense": flops * seqlen * seqlen / pairs,
            "bytes": float(batch * heads * seqlen * (8 * 2 * hdim + 4)),
            "peak_flops": PEAK[dtype] if peak else 0.0, "error": "", "exit_code": 0,
            "rounds": [a_round(rng, flops / tflops * 1e-9 / speed * (1.0 + 0.002 * rng.random()))
                       for _ in range(rounds)]}


def context(**changes):
    made = {"schema_version": 2, "version": "0.1.0", "revision": "v0.1.0-41-ge8e0f33",
            "command": "fmha_bwd bench --mask no_mask,top_left,bottom_right:256,0 --dtype fp16,bf16 "
                       "--batch 4 --nhead 16 --seqlen 512:16384:*2 --hdim 64,128 --output h200.json",
            "started": "2025-03-14T09:26:53Z", "host": "node-17", "cpu": "Xeon Platinum 8480C", "cpus": 112,
            "platform": "nvidia", "device": "NVIDIA H200", "arch": "sm_90", "driver": "570.86.15",
            "runtime": "CUDA 13.0", "emulated": False, "multiprocessors": 132, "max_clock_mhz": 1980.0,
            "memory_gbytes_per_s": 4814.5, "cache_bytes": 62914560, "power_cap_watts": 700.0,
            "telemetry": "nvml", "cache": "rotate", "warmup_seconds": 0.5, "samples": None,
            "min_seconds": 0.5, "max_seconds": 5.0, "rounds": 9, "interleaved": True, "in_turn": ""}
    return made | changes


def results(seed=1, speeds=None, cases=None, **changes):
    """`speeds` maps parts of case names to how much faster these are; `cases` overrides the sweep."""
    rng = random.Random(seed)
    made = cases or [(mask, dtype, seqlen, hdim) for hdim in (64, 128) for mask in TOP
                     for dtype in ("fp16", "bf16") for seqlen in (512, 1024, 2048, 4096, 8192, 16384)]
    own = context(**changes)
    known = not own["emulated"]
    listed = []
    for index, one in enumerate(made):
        item = a_case(rng, index, *one, rounds=own["rounds"], peak=known)
        speed = math.prod(factor for part, factor in (speeds or {}).items() if part in item["name"])
        if speed != 1.0:
            item = a_case(rng, index, *one, rounds=own["rounds"], speed=speed, peak=known)
        listed.append(item)
    return {"context": {"date": own["started"], "host_name": own["host"], "fmha_bwd": own},
            "benchmarks": [], "cases": listed}


def failed(item, error="verification: dQ is wrong at 12 of 8388608 places", exit_code=1):
    item.update(error=error, exit_code=exit_code, verification="full", rounds=[])


def h200():
    made = results(seed=1)
    failed(made["cases"][-1])
    for place in (3, 4):
        made["cases"][3]["rounds"][place]["throttled"] = True
    return made


def emulated():
    return results(seed=4, rounds=3, speeds={"": 1e-6}, platform="emulator", device="emulated gfx942",
                   arch="gfx942", driver="", runtime="", emulated=True, max_clock_mhz=0.0,
                   memory_gbytes_per_s=0.0, power_cap_watts=None, telemetry="none: the emulator has none",
                   cases=[(mask, "fp16", seqlen, 64) for mask in TOP for seqlen in (64, 128, 256)])


def write_all(folder):
    made = {"h200": h200(), "emulated": emulated(),
            "baseline": results(seed=2, revision="v0.1.0-30-gc429000",
                                speeds={"top_left/fp16/B4/H16/S4096/D128": 1.06,
                                        "no_mask/bf16/B4/H16/S1024/D64": 0.93}),
            "other": results(seed=3, revision="v0.1.0-40-g6fbe304", speeds={"": 0.9, "D64": 0.95})}
    del made["baseline"]["cases"][5]
    made["h200"]["cases"] = [item for item in made["h200"]["cases"] if item["index"] != 9]
    for name, one in made.items():
        (Path(folder) / f"{name}.json").write_text(json.dumps(one))


if __name__ == "__main__":
    write_all(sys.argv[1])
