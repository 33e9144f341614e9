"""The genetic algorithm of the paper: populations, selection, crossover, and the loop."""
