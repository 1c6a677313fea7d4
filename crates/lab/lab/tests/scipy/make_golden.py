"""Writes golden.json: what scipy and numpy say about the statistics of this crate.

Run:   python3 crates/lab/lab/tests/scipy/make_golden.py
Needs: numpy and scipy; made with the versions that golden.json names at its top.

Inputs come from fixed seeds and are rounded to few decimals, so that both sides read the very same
numbers. tests/suite/statistics_scipy.rs reads the file; it needs no Python.
"""

import json
import math
import pathlib

import numpy as np
import scipy
from scipy import stats

ALTERNATIVES = ("two-sided", "greater", "less")
random = np.random.default_rng(20240501)


def skewed(count, decimals=5):
    """Values like log ratios: a bell with a heavy upper tail."""
    values = random.normal(0.2, 1.0, count) + random.exponential(0.7, count)
    return np.round(values, decimals)


def numbers(values):
    return [float(value) for value in values]


def normal():
    points = np.round(np.concatenate([np.linspace(-37.5, 37.5, 61), random.normal(0, 2, 40)]), 4)
    shares = [10.0**-e for e in (1, 2, 3, 5, 8, 12, 16, 30, 60, 100, 200, 300)]
    shares += [1 - 10.0**-e for e in (2, 3, 5, 8, 12, 15)]
    shares += numbers(np.round(random.uniform(0.001, 0.999, 60), 6))
    return {
        "normal_cumulative": [[float(z), float(stats.norm.cdf(z))] for z in points],
        "normal_survival": [[float(z), float(stats.norm.sf(z))] for z in points],
        "normal_quantile": [[p, float(stats.norm.ppf(p))] for p in shares],
    }


def order():
    cases = []
    for count in (3, 4, 10, 31, 100, 500):
        values = skewed(count)
        shares = [0.0, 0.1, 0.25, 0.5, 0.9, 0.99, 1.0]
        winsorised = lambda share: float(
            np.std(np.asarray(stats.mstats.winsorize(values, limits=(share, share))), ddof=1)
        )
        cases.append(
            {
                "values": numbers(values),
                "median": float(np.median(values)),
                "skewness": float(stats.skew(values)),
                "quantiles": [
                    [q, float(np.quantile(values, q, method="inverted_cdf"))] for q in shares
                ],
                "winsorised": [[share, winsorised(share)] for share in (0.0, 0.05, 0.1, 0.25)],
            }
        )
    return {"order": cases}


def wilcoxon_case(values, shift, method):
    moved = values - shift
    answer = lambda alternative: stats.wilcoxon(
        moved,
        alternative=alternative,
        method=method,
        correction=True,
    )
    return {
        "values": numbers(values),
        "shift": shift,
        "statistic": float(answer("greater").statistic),
        "p": [float(answer(alternative).pvalue) for alternative in ALTERNATIVES],
    }


def wilcoxon():
    exact, approximate, tied = [], [], []
    for count in (1, 2, 5, 6, 8, 13, 20, 35, 50):
        for shift in (0.0, 0.5, 2.5):
            exact.append(wilcoxon_case(skewed(count), shift, "auto"))
    for count in (51, 80, 120, 200, 300, 1000):
        for shift in (0.0, 0.5, 1.5):
            approximate.append(wilcoxon_case(skewed(count), shift, "asymptotic"))
    # More, since zeros are dropped and 51 must remain.
    for count in (80, 200, 500):
        for shift in (0.0, 0.5):
            # Steps of a half: many ties and zeros, all exactly representable.
            values = np.round(2 * skewed(count, 3)) / 2
            approximate.append(wilcoxon_case(values, shift, "asymptotic"))
    for count in (4, 7, 10, 13):
        for shift in (0.0, 0.5):
            # scipy runs through all assignments of signs here.
            values = np.round(2 * skewed(count, 3)) / 2
            tied.append(wilcoxon_case(values, shift, "auto"))
    for count in (15, 16):
        # Beyond its default of 13 on request: this crate always does so.
        values = np.round(2 * skewed(count, 3)) / 2
        every = stats.PermutationMethod(n_resamples=2**count)
        tied.append(wilcoxon_case(values, 0.0, every))
    return {
        "wilcoxon_exact": exact,
        "wilcoxon_approximate": approximate,
        "wilcoxon_tied": tied,
    }


def sign():
    cases = []
    for above, below in [(0, 1), (3, 3), (5, 1), (9, 2), (20, 31), (31, 20), (500, 430), (40, 900)]:
        p = [
            float(stats.binomtest(above, above + below, 0.5, alternative=alternative).pvalue)
            for alternative in ALTERNATIVES
        ]
        cases.append({"above": above, "below": below, "p": p})
    intervals = []
    for count in (6, 8, 15, 40, 101, 400):
        values = np.sort(skewed(count))
        for confidence in (0.9, 0.95, 0.99):
            # scipy's own interval of a quantile is two-sided by equal tails, as this one.
            found = stats.quantile_test(values, q=float(np.median(values)), p=0.5)
            found = found.confidence_interval(confidence_level=confidence)
            if math.isfinite(found.low) and math.isfinite(found.high):
                ends = [float(found.low), float(found.high)]
                intervals.append(
                    {"values": numbers(values), "confidence": confidence, "interval": ends}
                )
    return {"sign": cases, "median_interval": intervals}


def walsh_interval(values, confidence):
    """By brute force: the Walsh averages between which scipy's test does not reject."""
    count = len(values)
    first, second = np.triu_indices(count)
    walsh = np.sort((values[first] + values[second]) / 2)
    alpha = 1 - confidence
    if count <= 50:
        distribution = stats._wilcoxon.WilcoxonDistribution(count)
        p = lambda statistic: 2 * float(distribution.cdf(statistic))
    else:
        mean = count * (count + 1) / 4
        spread = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
        p = lambda statistic: 2 * float(stats.norm.cdf((statistic + 0.5 - mean) / spread))
    rejected = -1
    while p(rejected + 1) <= alpha:
        rejected += 1
    if rejected < 0:
        return None
    return {
        "value": float(np.median(walsh)),
        "interval": [float(walsh[rejected]), float(walsh[-1 - rejected])],
        "reached": 1 - p(rejected),
    }


def hodges_lehmann():
    cases = []
    for count in (5, 6, 8, 12, 25, 50, 51, 120, 300):
        values = skewed(count)
        for confidence in (0.9, 0.95, 0.99):
            expected = walsh_interval(values, confidence)
            cases.append(
                {"values": numbers(values), "confidence": confidence, "expected": expected}
            )
    return {"hodges_lehmann": cases}


def holm():
    cases = []
    for count in (1, 2, 5, 20):
        p = np.round(random.uniform(0, 1, count) ** 3, 6)
        rank = np.argsort(p, kind="stable")
        steps = np.maximum.accumulate(p[rank] * (count - np.arange(count)))
        adjusted = np.empty(count)
        adjusted[rank] = np.minimum(steps, 1)
        cases.append({"p": numbers(p), "adjusted": numbers(adjusted)})
    return {"holm": cases}


def power():
    cases = []
    for sd, effect, alpha, share in [
        (0.008, 0.02, 0.01, 0.9),
        (0.018, 0.01, 0.01, 0.9),
        (0.05, -0.03, 0.05, 0.8),
    ]:
        z = stats.norm.ppf(1 - alpha / 2) + stats.norm.ppf(share)
        needed = math.ceil(1.15 * (z * sd / math.log1p(effect)) ** 2)
        beyond = math.exp(math.log1p(0.01) + z * sd / 5) - 1
        cases.append(
            {
                "sd": sd,
                "effect": effect,
                "alpha": alpha,
                "power": share,
                "pairs": needed,
                "beyond": beyond,
            }
        )
    return {"power": cases}


def bootstrap():
    cases = []
    for count in (60, 400):
        values = skewed(count)
        found = stats.bootstrap(
            (values,),
            np.median,
            method="percentile",
            n_resamples=20_000,
            confidence_level=0.95,
            rng=np.random.default_rng(7),
        )
        cases.append(
            {
                "values": numbers(values),
                "interval": [
                    float(found.confidence_interval.low),
                    float(found.confidence_interval.high),
                ],
                "error": float(found.standard_error),
            }
        )
    return {"bootstrap": cases}


def main():
    golden = {"scipy": scipy.__version__, "numpy": np.__version__}
    for part in (
        normal,
        order,
        wilcoxon,
        sign,
        hodges_lehmann,
        holm,
        power,
        bootstrap,
    ):
        golden.update(part())
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in golden.items()]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    pathlib.Path(__file__).with_name("golden.json").write_text(text)


if __name__ == "__main__":
    main()
