"""Speed: what solvers and tools cost, in time and memory; and whether solvers find the optimum."""
