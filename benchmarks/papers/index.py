"""Index of the pages in ``docs/results``: subject, headline and command of each.

    python -m benchmarks.papers.index

The figures of a headline are read from the page itself, so the index cannot disagree with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from benchmarks import RESULTS
from benchmarks.markdown import table

NAME = "README.md"


@dataclass(frozen=True)
class IndexLine:
    """A line of the index.

    Args:
        page: File name.
        shows: Subject of the page.
        figures: Regular expression that finds the headline's figures in the page.
        headline: Headline, with a place for each group of ``figures``.
        command: Command that writes the page, or that makes the figures of a page written by hand; of a study that
            was made once, the command that shows its script.
    """

    page: str
    shows: str
    figures: str
    headline: str
    command: str


_THREE = r"(\d+) agree, (\d+) are above a published lower bound and (\d+) are off"
_COUNTS = rf"^(\d+) of (\d+) cells were run\. Of (\d+) published [^|]*?{_THREE}"
_AGREEMENT = "{1} of {2} cells were run; of {3} figures {4} agree, {5} are above a lower bound, {6} are off"
LINES = (
    IndexLine("agreement.md", "The papers' figures beside ours", rf"Of all (\d+) published figures [^|]*?^{_THREE}",
              "{2} of {1} figures agree, {3} are above a lower bound, {4} are off", "make tables"),
    *(IndexLine(f"{paper}.md", shows, _COUNTS, _AGREEMENT,
                f"python -m benchmarks.papers.tables {paper}")
      for paper, shows in (
          ("hogs", "HoGS: Table III, and private features"), ("rgnn", "RGNN: Table 1 and the ablation"),
          ("lpgnn", "LPGNN: Table 3, and the version with labels"), ("solitude", "Solitude: Table 3"),
          ("blink", "Blink and its baselines"),
      )),
    *(IndexLine(f"{method}.md", f"{name}: beside null models on five graphs, and beside an oracle on Cora",
                r"^(\d+) of (\d+) figures agree with the oracle\. (\d+) of (\d+) cells",
                "{1} of {2} figures agree with the oracle; {3} of {4} cells are above every null model",
                f"python -m benchmarks.papers.public_graph {method}")
      for method, name in (("upgnet", "UPGNet"), ("privge", "PrivGE"))),
    IndexLine("sbp.md", "`sbp` beside the papers' methods and null models, on the same reports",
              r"^Of (\d+) goals (\d+) were reached, (\d+) were missed",
              "{2} of {1} goals reached, {3} missed", "git show 54ab255:benchmarks/paired/sbp_page.py"),
    IndexLine("value.md", "What the private data gained: the papers' models beside null models",
              r"^In (\d+) of (\d+) cells", "In {1} of {2} cells the model is above every null model",
              "git show beb5ceca813d:benchmarks/papers/value.py"),
    IndexLine("privgnn.md", "PrivGnn and PATE: accuracy, and the best that the noise allows",
              r"settings\. In (\d+)\s+of\s+(\d+)\s+it\s+lies\s+above",
              "The paper's accuracy is above that of perfect teachers in {1} of {2} settings",
              "python -m benchmarks.papers.tables_privgnn"),
    IndexLine("figures.md", "The papers' figures, on Cora and CiteSeer", r"(\d+) of (\d+) points were run",
              "{1} of {2} points were run", "make figures"),
    IndexLine("compare.md", "Several methods on the same people",
              r"^HoGS has ([\d.]+ ± [\d.]+) %, without privacy ([\d.]+ ± [\d.]+) %",
              "HoGS {1} %, without privacy {2} %", "git show beb5ceca813d:benchmarks/papers/compare_page.py"),
    IndexLine("federated.md", "Federated training: accuracy and bytes",
              r"A training device sends and receives about ([\d,]+) times",
              "A training device sends and receives about {1} times the bytes of a reporting device",
              "ldpsim run --method silo-fedgcn --dataset cora --split file --repeats 10"),
    IndexLine("stress.md", "Recovery by repeated questions, with and without a protection",
              r"^\| none \| 1,000 \| ([\d.]+) [\s\S]*?^\| refuse \| 1,000 \| ([\d.]+) ",
              "After 1,000 asks: {1} % of the bits without a protection, {2} % with `refuse`",
              "ldpsim stress --dataset cora --adversary new-run"),
    IndexLine("stress-all.md", "Every adversary and fault, up to 1,000 asks",
              r"^(\d+) of (\d+) rows", "{1} of {2} rows agree with theory",
              "git show beb5ceca813d:benchmarks/papers/stress_all.py"),
    IndexLine("poison.md", "Devices that lie: six methods on Cora, and what defences save",
              r"(\d+) of (\d+) rows with a law agree with it\. Lies cost\s+at least 5 points more than silence for "
              r"([^.]*)\.",
              "{1} of {2} rows agree with their law; lies cost at least 5 points more than silence for {3}",
              "git show beb5ceca813d:benchmarks/poison/run.py"),
    IndexLine("audits.md", "Claimed against held: public programs on graphs, and randomisers of two libraries",
              r"^Of (\d+) rows (\d+) are above [\s\S]*?^Of (\d+) rows (\d+) are contradicted",
              "Programs on graphs: {2} of {1} rows above the stated figure; randomisers: {4} of {3} rows contradicted",
              "python -m benchmarks.audits.claims"),
    IndexLine("links.md", "Link prediction on Cora: `privge` beside re-runs, and four other methods",
              r"^(\d+) of (\d+) rows are measurably above", "{1} of {2} rows are measurably above their best null",
              "git show beb5ceca813d:benchmarks/papers/links.py"),
    IndexLine("trust-or-ask.md", "GAP and ProGAP beside the public code, and beside asking everybody once",
              r"(\d+) of (\d+) figures agree with the public code", "{1} of {2} figures agree with the public code",
              "python -m benchmarks.papers.gap"),
    IndexLine("model-inference.md", "Attacks on the models that runs publish, beside the guarantees",
              r"^Of (\d+) rows with a guarantee (\d+) stay below it", "{2} of {1} rows with a guarantee stay below it",
              "git show beb5ceca813d:benchmarks/audits/released.py"),
    IndexLine("generated.md", "The generated graphs beside real ones",
              r"clustering ([\d.]+), homophily ([\d.]+) and an AUC of friends' features of ([\d.]+\d);",
              "The generated graph: clustering {1}, homophily {2}, AUC of friends' features {3}",
              "git show beb5ceca813d:benchmarks/papers/generated_page.py"),
    IndexLine("rebuild.md", "Graphs rebuilt from what runs publish, beside public data and the bound of an edge",
              r"^Of (\d+) rows (\d+) have a bound for an edge\. [\s\S]*? Of (\d+) rows without a delta (\d+) pass",
              "{2} of {1} rows have a bound for an edge; of {3} that are judged {4} pass",
              "git show beb5ceca813d:benchmarks/audits/rebuild.py"),
    IndexLine("scale.md", "Growth with the number of people: CPU seconds and memory by phase",
              r"^The largest run has ([\d,]+) people[\s\S]*?lies between ([\d.]+) and ([\d.]+\d)",
              "Up to {1} people; exponents of time {2} to {3}", "python -m benchmarks.speed.bench_scale"),
    IndexLine("worth.md", "Intervals of likely worth, which `ldpsim plan` gave before",
              r"held for (\d+ of \d+) figures: (\d+ of \d+) of methods",
              "On real graphs {1} figures lay in their interval", "git show 59d3ed2:benchmarks/speed/bench_worth.py"),
    IndexLine("vote.md", "vote: one small question, all that a person reports protected",
              r"^Of (\d+) goals (\d+) were reached, (\d+) were missed and (\d+) were not",
              "Of {1} goals {2} were reached, {3} were missed, {4} were not run",
              "git show 54ab255:benchmarks/paired/vote_page.py"),
    IndexLine("feature-share.md", "The share of the budget for private features: the rule of `--feature-share auto`",
              r"Mean regret ([\d.]+) points, largest [\d.]+; of share 0 everywhere\s+([\d.]+)",
              "Mean regret {1} points on generated graphs, of share 0 {2}",
              "git show 54ab255:benchmarks/paired/feature_share_page.py"),
    IndexLine("hogs-hops.md", "HoGS with other numbers of feature reconstructions and thresholds",
              r"validation prefers l 0 in (\d+ of \d+) lines",
              "With public features validation prefers l 0 in {1} cells",
              "git show 54ab255:benchmarks/papers/hops_hogs.py"),
    IndexLine("hogs-defaults.md", "HoGS's defaults beside the settings they replaced", r"Defaults: (.*?)\.$",
              "Defaults: {1}", "git show 54ab255:benchmarks/papers/defaults_hogs.py"),
)  # fmt: skip
HEAD = """# Results

A script wrote each page from runs that were made, or the page names the commands of its runs. The tables are CSV
files beside the pages. `make tables` and `make figures` run what is missing. `python -m benchmarks.papers.index`
writes this index. It reads the figures of each headline from the page."""


def headline(line: IndexLine, text: str) -> str:
    """Return a page's headline, with the figures that stand in its text.

    Raises:
        ValueError: The page does not hold the figures.
    """
    found = re.search(line.figures, text, re.MULTILINE)
    if found is None:
        raise ValueError(f"{line.page} does not hold the figures of its headline")
    return line.headline.format("", *found.groups())


def index(folder: Path) -> str:
    """Return the index of a folder's pages."""
    rows = []
    for line in LINES:
        if (folder / line.page).is_file():
            said = headline(line, (folder / line.page).read_text())
            rows.append((f"[{line.page}]({line.page})", line.shows, said, f"`{line.command}`"))
    return f"{HEAD}\n\n{table(('page', 'subject', 'headline', 'command'), rows)}\n"


def write_index(folder: Path = RESULTS) -> None:
    """Write the index of a folder's pages."""
    (folder / NAME).write_text(index(folder))


if __name__ == "__main__":
    write_index()
