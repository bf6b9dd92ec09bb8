"""Run of a local method (one private report a device, a graph, a network) or of a reference (no report).

devices -> reports -> graph -> network
"""

from __future__ import annotations

import time

from curator.methods import Question, Reference
from curator.methods.local.lp_and import lp_and
from curator.reports.reports import Reports
from devices.facts import Split
from strategies.people.owned_graph import own
from strategies.results import evaluation
from strategies.results.outcome import Outcome
from strategies.rounds.collect_once import Collected
from strategies.runs.asking import ask_devices, public_knowledge
from strategies.runs.run import Run, Scene
from strategies.setup.run_setup import RunSetup


class OneReportRun(Run):
    """One question to every device; with ``--from-reports``, the answers of an earlier run."""

    def check(self, setup: RunSetup) -> None:
        """Check that the method's questions can be asked, or that kept reports are of these people."""
        kept = setup.options.from_reports
        if kept is None:
            self.questions(setup, setup.repeats[0].split, "check")
        elif Reports.load(kept).facts != setup.population.facts:
            raise ValueError(f"--from-reports {kept}: these reports are of another population")

    def questions(self, setup: RunSetup, split: Split, collection: str) -> tuple[Question, ...]:
        """Return the method's questions."""
        if isinstance(setup.method, Reference) or setup.options.from_reports is not None:
            return ()
        return setup.method.questions(setup.population.facts, split, setup.budget, collection)

    def work(self, scene: Scene) -> Outcome:
        """Ask, reconstruct the graph and train on it."""
        setup, tell = scene.setup, scene.tell
        options, population, method = setup.options, setup.population, setup.method
        questions, collected, reports = self._reports(scene)
        tell("reconstruct", None)
        started = time.perf_counter()
        nulls = {}
        if reports is None:
            assert isinstance(method, Reference)
            graph = method.from_owned(own(population, scene.split, trust="none"))
            own_features = "features" in method.reads
        else:
            public = public_knowledge(population, scene.split, options, method)
            graph = method.reconstruct(reports, public)
            own_features = reports.features is None
            if reports.adjacency is not None:
                nulls["lp_and"] = lp_and(reports, public)
        seconds = {"collect": collected.seconds, "reconstruct": time.perf_counter() - started}
        degrees = evaluation.degrees(graph, population, reports)
        del reports
        tell("train", None)
        trained = method.train(
            graph,
            settings=setup.settings.training,
            classes=population.facts.classes,
            seed=scene.seeds.training,
            device=options.device,
        )
        return Outcome(
            guarantee=method.guarantee(population.facts, questions, setup.budget),
            seconds={**seconds, "train": trained.seconds},
            predictions=trained.predictions,
            model=trained.model,
            collected=collected,
            reconstruction={
                **evaluation.reconstruction(graph, population, own_features=own_features),
                "degrees": degrees,
            },
            null_predictions=nulls,
        )

    def _reports(self, scene: Scene) -> tuple[tuple[Question, ...], Collected, Reports | None]:
        """Return the questions, the result of the collection, and the reports (None for a reference)."""
        options, facts = scene.setup.options, scene.setup.population.facts
        if isinstance(scene.setup.method, Reference):
            return (), Collected(), None
        scene.tell("collect", None)
        if options.from_reports is not None:
            reports = Reports.load(options.from_reports)
            return (Question(reports.query()),), Collected(), reports
        questions, collected = ask_devices(scene)
        reports = Reports.from_bytes(facts, questions, collected.answers)
        collected.answers.clear()
        if options.save_reports:
            reports.save(scene.place("reports"))
        return questions, collected, reports
