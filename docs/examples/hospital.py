"""Three raw tables as users have them: a hospital's export, a table from R, one from Excel.

``python docs/examples/hospital.py FOLDER`` writes hospital.csv, trial.csv and transplants.csv.
Nobody in them is real: every value is drawn at random, from a seed.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
import pandas as pd

FIRST = ["Anna", "Bärbel", "Chloë", "Dieter", "Émile", "Fritz", "Gül", "Hans", "Inès", "Jürgen"]
LAST = ["Müller", "Schmidt", "O'Neill", "Dupont", "Öztürk", "Weiß", "Nowak", "Larsen", "Groß"]
NOTES = [
    "admitted via emergency room",
    "complains of fatigue; no fever",
    'says he feels "fine"',
    "ECG normal, seen by Dr. Weber",
    "5 mg tolerated well",
    "mother had colon cancer (62)",
    "second line refused",
    "transfer from Köln",
]
Column = np.ndarray


def hospital(n_patients: int = 1440, seed: int = 0) -> bytes:
    """Export 1,500 rows of cancer patients: semicolons, latin-1, and whatever people type."""
    rng = np.random.default_rng(seed)
    age = rng.normal(64, 11, n_patients).clip(22, 95)
    stage = rng.choice(4, n_patients, p=[0.3, 0.3, 0.25, 0.15])
    creatinine = rng.lognormal(0, 0.35, n_patients)
    crp = rng.lognormal(2, 0.9, n_patients)
    smoker = rng.random(n_patients) < 0.3
    risk = [
        0.55 * (stage - 1) + 0.25 * (np.log(crp) - 2),
        0.07 * (age - 64) + 0.5 * smoker + 0.9 * np.log(creatinine),
    ]
    latent = rng.exponential(1 / (np.exp(np.stack(risk)) / np.array([[75.0], [140.0]])))
    end_of_study, lost = rng.uniform(12, 96, n_patients), rng.exponential(400, n_patients)
    ends = np.vstack([latent, end_of_study, lost])
    months = ends.min(axis=0).round(1).clip(0.1)
    status = np.array(["died of cancer", "died other", "alive", "lost to follow-up"])
    status = status[ends.argmin(axis=0)]
    died = np.char.startswith(status, "died")
    diagnosed = pd.Timestamp("2012-01-01") + pd.to_timedelta(rng.integers(0, 2500, n_patients), "D")
    born = diagnosed - pd.to_timedelta((age * 365.25).astype(int), "D")
    ended = diagnosed + pd.to_timedelta((months * 30.44).round().astype(int), "D")

    table = pd.DataFrame(
        {
            "Patient ID": [f"K{number:07d}" for number in rng.permutation(10**7 - 1)[:n_patients]],
            "Name": [f"{rng.choice(LAST)}, {rng.choice(FIRST)}" for _ in range(n_patients)],
            "Date of birth": born.strftime("%d.%m.%Y"),
            "Date of diagnosis": diagnosed.strftime("%Y-%m-%d"),
            "Hospital": "Klinikum Süd",
            "Ward": rng.choice(["007", "012", "031", "110"], n_patients),
            "Age": age.round().astype(int),
            "Sex": rng.choice(["männlich", "weiblich"], n_patients),
            "BMI": _spoiled(rng, _commas(rng.normal(26, 4, n_patients), 1), {"999": 0.06}),
            "Stage": _spoiled(rng, np.array(["I", "II", "III", "IV"])[stage], {"unknown": 0.05}),
            "Grade": _spoiled(rng, rng.choice(["low", "high"], n_patients), {"-": 0.1, "": 0.05}),
            "Smoker": _spoiled(rng, np.where(smoker, "yes", "no"), {"Yes": 0.02, "unknown": 0.08}),
            "Creatinine": _spoiled(
                rng,
                np.where(creatinine < 0.6, "<0,6", _commas(creatinine, 2)),
                {"unknown": 0.04, "n/a": 0.02},
            ),
            "CRP": _spoiled(rng, _units(_commas(crp, 1), "mg/l"), {"-": 0.08}),
            "Hemoglobin": _units(_commas(rng.normal(12.8, 1.8, n_patients), 1), "g/dl"),
            "Platelets": _thousands(rng.normal(250_000, 80_000, n_patients).clip(9_000)),
            "HER2": "",
            "Notes": [_note(rng) for _ in range(n_patients)],
            "Date of death": np.where(died, ended.strftime("%d.%m.%Y"), ""),
            "Follow-up (months)": _commas(months, 1),
            "Status": status,
        }
    )
    twice = table.sample(1500 - n_patients, random_state=seed)  # exported once per admission
    table = pd.concat([table, twice]).sample(frac=1, random_state=seed)
    return table.to_csv(sep=";", index=False, lineterminator="\r\n").encode("latin-1")


def trial(n_patients: int = 600, seed: int = 1) -> bytes:
    """Write a trial as R's ``write.csv`` does: row names, NA, and a status of 1 or 2."""
    rng = np.random.default_rng(seed)
    age = rng.normal(62, 9, n_patients).round()
    ecog = rng.choice(4, n_patients, p=[0.3, 0.45, 0.2, 0.05]).astype(float)
    loss = rng.normal(9, 12, n_patients).round()
    hazard = np.exp(0.02 * (age - 62) + 0.45 * ecog) / 600
    dies, censored = rng.exponential(1 / hazard), rng.uniform(100, 1100, n_patients)
    ecog[rng.random(n_patients) < 0.02] = np.nan
    loss[rng.random(n_patients) < 0.06] = np.nan
    table = pd.DataFrame(
        {
            "inst": rng.integers(1, 34, n_patients),
            "time": np.minimum(dies, censored).round().clip(1),
            "status": np.where(dies < censored, 2, 1),
            "age": age,
            "sex": rng.integers(1, 3, n_patients),
            "ph.ecog": ecog,
            "wt.loss": loss,
        },
        index=pd.RangeIndex(1, n_patients + 1).astype(str),
    )
    whole = table.astype("Int64").astype(object).where(table.notna(), "NA")
    text = whole.to_csv(index_label="", quoting=csv.QUOTE_NONNUMERIC)
    return text.replace('"NA"', "NA").encode()


def transplants(n_patients: int = 800, seed: int = 2) -> bytes:
    """Write a register as a German Excel does: a byte order mark, semicolons, comma decimals."""
    rng = np.random.default_rng(seed)
    age, ischemia = rng.normal(51, 13, n_patients).clip(18, 80), rng.gamma(9, 1.4, n_patients)
    hazard = np.stack([np.exp(0.08 * (ischemia - 12)) / 18, np.exp(0.06 * (age - 51)) / 25])
    latent, censored = rng.exponential(1 / hazard), rng.uniform(1, 12, n_patients)
    first = latent.min(axis=0)
    table = pd.DataFrame(
        {
            "Alter": age.round(1),
            "Ischämiezeit": ischemia.round(2),
            "Kreatinin": rng.lognormal(0.4, 0.4, n_patients).round(2),
            "Blutgruppe": rng.choice(["A", "B", "AB", "0"], n_patients, p=[0.43, 0.11, 0.05, 0.41]),
            "Spende": rng.choice(["postmortal", "lebend"], n_patients, p=[0.75, 0.25]),
            "Jahre": np.minimum(first, censored).round(2).clip(0.01),
            "Ereignis": np.where(first < censored, latent.argmin(axis=0) + 1, 0),
        }
    )
    text = table.to_csv(sep=";", decimal=",", index=False, lineterminator="\r\n")
    return text.encode("utf-8-sig")


def write(folder: str | Path) -> list[Path]:
    """Write the three tables to a folder."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tables = {"hospital": hospital(), "trial": trial(), "transplants": transplants()}
    for name, content in tables.items():
        (folder / f"{name}.csv").write_bytes(content)
    return [folder / f"{name}.csv" for name in tables]


def _commas(values: Column, digits: int) -> Column:
    return np.array([f"{value:.{digits}f}".replace(".", ",") for value in values], dtype=object)


def _units(texts: Column, unit: str) -> Column:
    return np.array([f"{text} {unit}" for text in texts], dtype=object)


def _thousands(values: Column) -> Column:
    return np.array([f"{value:,.0f}".replace(",", ".") for value in values], dtype=object)


def _spoiled(rng: np.random.Generator, values: Column, marks: dict[str, float]) -> Column:
    """Replace a share of the values by each mark."""
    values = values.astype(object)
    for mark, share in marks.items():
        values[rng.random(len(values)) < share] = mark
    return values


def _note(rng: np.random.Generator) -> str:
    return "; ".join(rng.choice(NOTES, rng.integers(0, 4), replace=False))


if __name__ == "__main__":
    print(*write(sys.argv[1] if len(sys.argv) > 1 else "."), sep="\n")
