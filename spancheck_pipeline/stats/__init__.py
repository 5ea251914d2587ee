"""The formulas behind every rate, interval and test, with their sources.

One run's rates and means are in ``rates.py``, rates over cases that share clusters in ``clustered.py``, two runs over
the same cases in ``paired.py`` and ``flips.py``, judges against people in ``judged.py``, a judge's rate without its
errors in ``corrected.py``. Which cases enter a number lives in ``decision/scorecard.py`` and
``decision/comparison.py``; what a number leads to in ``decision/gate.py``. Heavy libraries are imported by the function
that needs them, so that importing this package stays fast.
"""

from __future__ import annotations

from spancheck_pipeline.stats.clustered import (
    ClusterInterval,
    DecidingBound,
    deciding_bound,
    intra_cluster_correlation,
    wilson_clustered,
)
from spancheck_pipeline.stats.corrected import prediction_powered, rogan_gladen
from spancheck_pipeline.stats.flips import Cells, Flips, fewest_units
from spancheck_pipeline.stats.judged import (
    Bin,
    Concord,
    Confusion,
    Estimate,
    balanced_interval,
    best_threshold,
    brier,
    calibration_error,
    concord,
    kappa,
    reliability,
)
from spancheck_pipeline.stats.paired import (
    cases_needed,
    detectable_drop,
    holm,
    independent_pairs,
    paired_difference,
    power_to_see,
    sees_drop,
    worse_by_chance,
)
from spancheck_pipeline.stats.rates import (
    CONFIDENCE,
    FEW_CLUSTERS,
    Interval,
    Mean,
    mean_interval,
    pass_hat_k,
    quantile,
    t_quantile,
    wilson,
)

__all__ = [
    "CONFIDENCE",
    "FEW_CLUSTERS",
    "Bin",
    "Cells",
    "ClusterInterval",
    "Concord",
    "Confusion",
    "DecidingBound",
    "Estimate",
    "Flips",
    "Interval",
    "Mean",
    "balanced_interval",
    "best_threshold",
    "brier",
    "calibration_error",
    "cases_needed",
    "concord",
    "deciding_bound",
    "detectable_drop",
    "fewest_units",
    "holm",
    "independent_pairs",
    "intra_cluster_correlation",
    "kappa",
    "mean_interval",
    "paired_difference",
    "pass_hat_k",
    "power_to_see",
    "prediction_powered",
    "quantile",
    "reliability",
    "rogan_gladen",
    "sees_drop",
    "t_quantile",
    "wilson",
    "wilson_clustered",
    "worse_by_chance",
]
