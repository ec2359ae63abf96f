"""MLflow: one run of the experiment that has the dataset's name, by a tracking server or a store of its own."""

import os

from workbench.errors import WorkbenchError
from workbench.trackers.run_record import TrackedRun

AT_ONCE = 1000  # values that a server takes in one request
PARAMETERS_AT_ONCE, LONGEST = 100, 6000  # parameters that it takes, and letters of one


def write(entry: TrackedRun, place: str) -> str:
    """Make a run of the experiment `entry.dataset` at the server or store `place`; it has no user, no source and no times but of now."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # the client would tell its makers of its use
    from mlflow.entities import Metric, Param
    from mlflow.exceptions import MlflowException
    from mlflow.tracking import MlflowClient

    try:
        client = MlflowClient(place)
        known = client.get_experiment_by_name(entry.dataset)
        experiment = client.create_experiment(entry.dataset) if known is None else known.experiment_id
        run = client.create_run(experiment, run_name=entry.run, tags={"workbench.run": entry.run, "workbench.mark": entry.mark}).info.run_id
        points = [(name, step, value) for name, series in entry.series.items() for step, value in series]
        points += [(name, 0, value) for name, value in entry.values.items()]
        metrics = [Metric(name, value, 0, step) for name, step, value in points]
        parameters = [Param(name, value[:LONGEST]) for name, value in entry.parameters.items()]
        for start in range(0, len(parameters), PARAMETERS_AT_ONCE):
            client.log_batch(run, params=parameters[start : start + PARAMETERS_AT_ONCE])
        for start in range(0, len(metrics), AT_ONCE):
            client.log_batch(run, metrics=metrics[start : start + AT_ONCE])
        client.set_terminated(run)
    except MlflowException as error:
        raise WorkbenchError(f"Expected a tracking server or store that answers at {place!r}, got: {error.message}") from None
    return run
