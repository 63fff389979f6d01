"""Run all benchmarks one after the other: python -m benchmarks."""

from . import engine_quality, engine_speed, newton_fairlearn, newton_quality, newton_scale, peers_run

for part in (engine_speed, newton_scale, newton_quality, newton_fairlearn, engine_quality, peers_run):
    part.main()
