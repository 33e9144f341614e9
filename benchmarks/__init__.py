"""Speed and accuracy of jigsolve, measured; results are committed in results/."""
