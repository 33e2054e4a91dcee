"""Measurements, as ratios within one run; never a test. `docs/performance.md` holds method and figures."""
