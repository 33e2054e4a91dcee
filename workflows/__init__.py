"""The run: deterministic workflow code only. It decides; tools only observe.

Above it: `casebound` registers the workflow with a worker. Below it: `activities.contracts`,
`boundary`'s light modules and temporalio. No store, no tool and no model is ever imported here.
"""
