"""People steer runs: pause, resume, extend, note; long runs go on in further executions."""
