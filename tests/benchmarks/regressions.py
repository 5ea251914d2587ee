"""Simulated nights behind the tables of docs/statistics.md: false alarms, power, drift. Prints them in half a minute.

    python tests/benchmarks/regressions.py

A case passes with a chance of its own, drawn from Beta(8, 1) (mean .89), and a night is one draw a case. Everything is
seeded.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from spancheck_pipeline import stats
from spancheck_pipeline.stats.paired import mcnemar_worse

SEED = 20261130
ALPHA = 0.05
p_value = lru_cache(maxsize=None)(mcnemar_worse)


def night(rng, chance, drop=0.0):
    return rng.random(chance.shape) < np.maximum(0, chance - drop)


def p_of(old, new):
    return p_value(int((old & ~new).sum()), int((~old & new).sum()))


def fails(p_values):
    return min(stats.holm(p_values)) <= ALPHA


def unchanged(n, graders, baselines, nights=4000):
    """Share of nights failed on an unchanged system, by us and by the rule "lower than yesterday" on any grader."""
    rng = np.random.default_rng([SEED, n, graders, baselines])
    ours = raw = 0
    for _ in range(nights):
        p_values, is_lower = [], False
        for _ in range(graders):
            chance = rng.beta(8, 1, n)
            new = night(rng, chance)
            olds = [night(rng, chance) for _ in range(baselines)]
            p_values += [p_of(old, new) for old in olds]
            is_lower |= bool(new.sum() < olds[0].sum())
        ours += fails(p_values)
        raw += is_lower
    return ours / nights, raw / nights


def power(n, graders, baselines, drop, nights=4000):
    """Share of nights failed where one of the graders has truly dropped against every baseline."""
    rng = np.random.default_rng([SEED, n, graders, baselines, round(drop * 1000)])
    seen = 0
    for _ in range(nights):
        p_values = []
        for grader in range(graders):
            chance = rng.beta(8, 1, n)
            new = night(rng, chance, drop if grader == 0 else 0.0)
            p_values += [p_of(night(rng, chance), new) for _ in range(baselines)]
        seen += fails(p_values)
    return seen / nights


def drift(n, baselines, per_night=0.01, nights=20, runs=1000):
    """Share of drifting systems failed within so many nights; the last good run moves on with each that passes."""
    rng = np.random.default_rng([SEED, n, baselines])
    caught = 0
    for _ in range(runs):
        chance = rng.beta(8, 1, n)
        release = last_good = night(rng, chance)
        for i in range(1, nights + 1):
            new = night(rng, chance, per_night * i)
            olds = [release] if baselines == 1 or last_good is release else [release, last_good]
            if fails([p_of(old, new) for old in olds]):
                caught += 1
                break
            last_good = new
    return caught / runs


def only_yesterday(n, per_night=0.01, nights=20, runs=1000):
    """The same drift watched against the night before alone."""
    rng = np.random.default_rng([SEED, n, 99])
    caught = 0
    for _ in range(runs):
        chance = rng.beta(8, 1, n)
        last = night(rng, chance)
        for i in range(1, nights + 1):
            new = night(rng, chance, per_night * i)
            if fails([p_of(last, new)]):
                caught += 1
                break
            last = new
    return caught / runs


if __name__ == "__main__":
    print("unchanged: cases, graders, baselines → ours, lower than yesterday")
    for n in (50, 200, 1000):
        for graders, baselines in ((1, 1), (1, 2), (4, 1), (4, 2)):
            print(n, graders, baselines, *(f"{share:.3f}" for share in unchanged(n, graders, baselines)), flush=True)
    print("power: cases, graders, baselines, drop → ours")
    for n in (50, 200, 1000):
        for graders in (1, 2, 4, 8):
            shares = [power(n, graders, baselines, 0.10, nights=2000) for baselines in (1, 2)]
            print(n, graders, *(f"{share:.3f}" for share in shares), flush=True)
    print("drift of a point a night at 200 cases, within 20 nights: release; release and last good; yesterday alone")
    print(f"{drift(200, 1):.3f} {drift(200, 2):.3f} {only_yesterday(200):.3f}")
