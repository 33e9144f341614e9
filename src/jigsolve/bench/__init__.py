"""The paper's experiments: image sets, runs, results, and the report that sets them beside published figures."""
