"""Run all benchmarks one after the other, which takes hours: python -m benchmarks."""

from . import (
    boosting,
    boosting_cheaper,
    engine_quality,
    engine_speed,
    kills,
    newton_fairlearn,
    newton_quality,
    newton_scale,
    peers_run,
    scale,
    startup,
    threads,
    torch_adult,
    torch_steps,
)

NEWTON = (engine_speed, threads, newton_scale, newton_quality, newton_fairlearn, engine_quality, peers_run)
BEYOND = (boosting, boosting_cheaper, torch_steps, torch_adult, kills, scale, startup)

for part in (*NEWTON, *BEYOND):
    part.main()
