"""Words of registry records about each way to collect: who adds noise, who is trusted, how noise is protected."""

from __future__ import annotations

from dataclasses import dataclass

from curator.methods.base import Method

_CHACHA = "Noise comes from ChaCha20 and HMAC-SHA256, keyed by the device's secret, the question and the data"


@dataclass(frozen=True)
class DeploymentModel:
    """One way to collect, in the words of a record.

    Args:
        name: ``Local``, ``Central`` or ``Federated``: names of the registry.
        actors: Who is there, and who is trusted with what.
        releases: How often data are asked for.
        post_processing: What is done with the protected data.
        implementation: Measures against floating point, timing and other leaks.
    """

    name: str
    actors: str
    releases: str
    post_processing: str
    implementation: tuple[str, ...]


_REPORTS = DeploymentModel(
    "Local",
    "Each person's device adds noise to its own report. The curator is not trusted: it sees reports and public facts. "
    "A person trusts the own device and its app. Who takes part, when, and the sizes of messages are not hidden.",
    "Each device answers one question about an attribute; a ledger on the device enforces it.",
    "Reconstruction, training and prediction use the reports and public facts alone.",
    (
        "Floating point: reports are drawn on whole numbers and thresholds; losses are computed exactly and rounded up",
        "Timing: within a release the code path does not depend on the data; nanoseconds were not measured",
        f"Platform: {_CHACHA}; a leaked secret reveals the device's answers",
    ),
)
_NOISY_UPDATES = DeploymentModel(
    "Federated",
    "Each person's device adds noise to its updates of a network. The server is not trusted: it sees noisy updates. "
    "A person trusts the own device and its app. Who takes part, when, and the sizes of messages are not hidden.",
    "Each device answers in the rounds of its turn; the figures count all of these answers.",
    "Averages of the noisy updates, and the network that they make.",
    (
        "Floating point: an update is put on a grid of whole numbers, and its noise is drawn there exactly",
        "Timing: not examined",
        f"Platform: {_CHACHA}; a leaked secret reveals the device's answers",
    ),
)
_NOISY_MODELS = DeploymentModel(
    "Federated",
    "The server is trusted: it sees the updates of all devices in clear. Private are the models that it sends out, "
    "against everybody who sees them.",
    "The server sends out a model after each round; the figures count all rounds.",
    "The last model is the product.",
    (
        "Floating point: no measure; Flower adds noise in floating point, and the figures are for real numbers",
        "Timing: not examined",
        "Platform: not examined",
    ),
)
_OWNER = DeploymentModel(
    "Central",
    "The owner is trusted: it holds the raw records. Private are the labels that it releases, against everybody who "
    "sees them.",
    "The owner releases labels once; the figures count all labels.",
    "The student is trained on the released labels and public data.",
    (
        "Floating point: no measure; Laplace noise is drawn in floating point, and the figures are for real numbers",
        "Timing: not examined",
        "Platform: not examined",
    ),
)
_GRAPH_OWNER = DeploymentModel(
    "Central",
    "The owner is trusted: it holds the raw records and the graph. Private is what networks and predictions say about "
    "others, against everybody who sees them.",
    "The owner adds noise to the sums over neighbours once, and keeps them; the figures count all sums and trainings.",
    "The networks are trained on the kept sums, and the predictions are made from them.",
    (
        "Floating point: no measure; Gaussian noise is drawn in floating point, and the figures are for real numbers",
        "Timing: not examined",
        "Platform: not examined",
    ),
)
_MODELS = {
    ("untrusted curator", "curator"): _REPORTS,
    ("untrusted curator", "devices"): _NOISY_UPDATES,
    ("trusted curator", "devices"): _NOISY_MODELS,
    ("trusted curator", "owner"): _OWNER,
    ("trusted curator", "graph owner"): _GRAPH_OWNER,
}  # by the method's `trust` and `trained_by`


def model_of(method: type[Method]) -> DeploymentModel:
    """Return the way in which a method collects.

    Raises:
        ValueError: one line, for a way that no method with a guarantee has.
    """
    found = _MODELS.get((method.trust, method.trained_by))
    if found is None:
        raise ValueError(f"{method.name}: the registry has no deployment model for trust {method.trust!r} where "
                         f"{method.trained_by!r} trains")  # fmt: skip
    return found
