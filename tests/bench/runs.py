"""Rows of results for tests."""

import json

from jigsolve import PRESETS
from jigsolve.bench.results import ResultsFile, Run

PARAMETERS = json.dumps(PRESETS["paper"].to_dict() | {"piece": "28x28", "time_limit": None}, sort_keys=True)


def a_run(**changes):
    values = {
        "set": "432",
        "image": "a.png",
        "pieces": 432,
        "rows": 18,
        "columns": 24,
        "seed": 1,
        "preset": "paper",
        "parameters": PARAMETERS,
        "neighbour": 0.95,
        "direct": 0.9,
        "perfect": 0,
        "component": 0.8,
        "neighbour_identical": 0.97,
        "direct_identical": 0.93,
        "ceiling_neighbour": 0.98,
        "ceiling_direct": 0.99,
        "cost": 2000.5,
        "true_cost": 2010.25,
        "read_seconds": 0.1,
        "costs_seconds": 0.2,
        "candidates_seconds": 0.3,
        "evolve_seconds": 1.4,
        "refine_seconds": 0.0,
        "total_seconds": 2.0,
        "peak_megabytes": 200.0,
        "generations": 100,
        "stopped": "reached 100 generations",
        "costs_by_generation": "0:9000.00 1:5000.00 10:2100.00 100:2000.50",
        "threads": 2,
        "jobs": 1,
        "version": "0.1.0",
        "commit": "abc",
        "machine": "a machine",
    }
    return Run(**(values | changes))


def append(path, *runs):
    with ResultsFile(path) as results:
        for run in runs:
            results.append(run)
