"""Score of a result: accuracy, or the AUC of links; and the words about what links are protected."""

from __future__ import annotations

from strategies.results.scores import about_links, score_name, scores_of


def record(status: str = "bounded") -> dict[str, object]:
    links = {"test": {"auc": 0.8, "average_precision": 0.7}, "val": {"auc": 0.9, "average_precision": 0.6},
             "per_repeat": [0.7, 0.9], "std": 0.1}  # fmt: skip
    return {"accuracy": {"test": None}, "links": links, "privacy": {"holds": {"relationship": {"status": status}}}}


def test_links_take_the_place_of_accuracy() -> None:
    assert score_name(record()) == "AUC"
    assert scores_of(record()) == {"test": 0.8, "val": 0.9, "macro_f1": None, "std": 0.1, "per_repeat": [0.7, 0.9]}


def test_a_result_without_links_has_its_accuracy() -> None:
    plain = {"accuracy": {"test": 0.5}}
    assert score_name(plain) == "accuracy" and scores_of(plain) == {"test": 0.5} and about_links(plain) is None


def test_public_edges_are_said_to_protect_no_link() -> None:
    assert "protects no link" in str(about_links(record("unprotected")))
    assert "protects no link" not in str(about_links(record()))
