"""How well sides of pieces fit: measures, costs, candidates."""
