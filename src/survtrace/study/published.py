"""What the paper printed: its tables 2 and 3, to be shown beside what is measured."""

from __future__ import annotations

from collections.abc import Mapping

CONCORDANCE = ("C25", "C50", "C75")

Printed = Mapping[str, tuple[float | None, float | None, float | None]]

PUBLISHED: dict[tuple[str, str], Printed] = {
    ("metabric", "1"): {
        "CPH": (0.628, 0.627, 0.632),
        "DeepSurv": (0.660, 0.648, 0.644),
        "DeepHit": (0.712, 0.657, 0.603),
        "RSF": (0.698, 0.658, 0.630),
        "PC-Hazard": (0.713, 0.680, 0.644),
        "DSM": (0.707, 0.663, 0.636),
        "w/o MTL": (0.722, 0.686, 0.649),
        "SurvTRACE": (0.728, 0.690, 0.655),
    },
    ("support", "1"): {
        "CPH": (0.549, 0.564, 0.586),
        "DeepSurv": (0.594, 0.591, 0.605),
        "DeepHit": (0.650, 0.602, 0.574),
        "RSF": (0.660, 0.621, 0.602),
        "PC-Hazard": (0.652, 0.620, 0.607),
        "DSM": (0.640, 0.609, 0.596),
        "w/o MTL": (0.665, 0.630, 0.614),
        "SurvTRACE": (0.670, 0.633, 0.617),
    },
    ("seer", "2"): {
        "CS-PC-Hazard": (0.774, 0.769, 0.766),
        "DeepHit": (0.763, 0.748, 0.724),
        "DSM": (0.765, 0.761, 0.750),
        "w/o IPS": (0.789, 0.780, 0.768),
        "w/o MTL": (0.793, 0.784, 0.768),
        "SurvTRACE": (0.797, 0.788, 0.775),
    },
    ("seer", "1"): {
        "CS-CPH": (0.828, 0.799, 0.781),
        "CS-PC-Hazard": (0.895, 0.875, 0.858),
        "DeepHit": (0.896, 0.875, 0.853),
        "DSM": (0.895, 0.873, 0.856),
        "w/o IPS": (0.902, 0.882, 0.864),
        "w/o MTL": (0.903, 0.881, 0.863),
        "SurvTRACE": (0.904, 0.883, 0.866),
    },
}
"""Concordance at the three horizons by data set, cause (of SEER: 1 breast, 2 heart) and method."""


def printed(data: str, cause: object, method: str, score: str) -> float | None:
    """Look up the number the paper printed, if it did.

    Examples
    --------
    >>> printed("metabric", 1, "SurvTRACE", "C25"), printed("flchain", 1, "SurvTRACE", "C25")
    (0.728, None)
    """
    if score not in CONCORDANCE:
        return None
    row = PUBLISHED.get((data, str(cause)), {}).get(method)
    return None if row is None else row[CONCORDANCE.index(score)]
