"""The planners: what decides the next step of a run. `port` is the interface, one module or package each."""
