"""All texts of a consent sheet, each in every language; a new language is one more field of :class:`Text`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple


class Text(NamedTuple):
    """One text in each language; ``{name}`` stands for a figure or a list."""

    en: str
    de: str


LANGUAGES = Text._fields

TEXTS: Mapping[str, Text] = {
    "title": Text(
        "What your device is asked, and what its answer tells",
        "Was Ihr Gerät gefragt wird und was seine Antwort verrät",
    ),
    "lead.question": Text(
        "Read this before your device answers. It follows from the rules of your device (its policy) and from the "
        "question.",
        "Lesen Sie das, bevor Ihr Gerät antwortet. Es folgt aus den Regeln Ihres Geräts (policy) und aus der Frage.",
    ),
    "lead.policy": Text(
        "Read this before your device answers. It follows from the rules of your device (its policy), and it holds for "
        "every question that they let through. All other devices are taken to have the same rules.",
        "Lesen Sie das, bevor Ihr Gerät antwortet. Es folgt aus den Regeln Ihres Geräts (policy) und gilt für jede "
        "Frage, die sie zulassen. Für alle anderen Geräte werden dieselben Regeln angenommen.",
    ),
    "role.everybody": Text("Everybody ({people} people)", "Alle ({people} Personen)"),
    "role.volunteer": Text("Volunteers ({people} of {n} people)", "Freiwillige ({people} von {n} Personen)"),
    "role.other": Text("Everybody else ({people} of {n} people)", "Alle anderen ({people} von {n} Personen)"),
    "role.numbers": Text("Their public numbers: {numbers}", "Ihre öffentlichen Nummern: {numbers}"),
    # What is asked
    "asked": Text("What is asked", "Was gefragt wird"),
    "asked.question": Text(
        "Your device is asked once. The question is about: {what}.",
        "Ihr Gerät wird einmal gefragt. Die Frage betrifft: {what}.",
    ),
    "asked.or": Text("; or: ", "; oder: "),
    "asked.stages": Text(
        "It answers in {stages} steps. The odds below are about all of them together.",
        "Es antwortet in {stages} Schritten. Die Zahlen unten gelten für alle zusammen.",
    ),
    "asked.policy": Text(
        "Your device answers at most once about each of these, and about nothing else: {what}.",
        "Ihr Gerät antwortet je höchstens einmal hierzu und zu nichts anderem: {what}.",
    ),
    "asked.nothing": Text("Your device is asked nothing.", "Ihr Gerät wird nichts gefragt."),
    "asked.noise": Text(
        "Chance changes the answer before it leaves your device: {what}. The true values stay there.",
        "Der Zufall verändert die Antwort, bevor sie Ihr Gerät verlässt: {what}. Die wahren Werte bleiben dort.",
    ),
    "asked.not": Text("Not asked: {what}.", "Nicht gefragt: {what}."),
    "asked.refused": Text(
        "With these rules your device refuses this question all the same: it goes beyond a cap.",
        "Mit diesen Regeln lehnt Ihr Gerät diese Frage trotzdem ab: Sie überschreitet eine Grenze.",
    ),
    "adjacency": Text("your list of neighbours", "Ihre Nachbarliste"),
    "features": Text("all your features", "alle Ihre Merkmale"),
    "label": Text("your label", "Ihr Label"),
    # What is in clear
    "clear": Text("What is in clear", "Was im Klartext ist"),
    "clear.values": Text(
        "As it is, without any change: {what}. Nothing protects it. Whoever gets it sees it.",
        "Genau so, wie es ist, ohne jede Änderung: {what}. Nichts schützt das. Wer es bekommt, sieht es.",
    ),
    "clear.nothing": Text(
        "None of your values leaves your device as it is.", "Keiner Ihrer Werte verlässt Ihr Gerät so, wie er ist."
    ),
    "clear.label": Text(
        "The labels of some people are public in this collection. If yours is one of them, nothing protects it.",
        "Die Labels mancher Personen sind in dieser Erhebung öffentlich. Ist Ihres dabei, schützt es nichts.",
    ),
    "clear.always": Text(
        "The collector sees the number of your device, that it answered, and when.",
        "Wer fragt, sieht die Nummer Ihres Geräts, dass es geantwortet hat und wann.",
    ),
    "clear.others": Text(
        "Others may have you in their lists. Their devices answer about these lists.",
        "Andere können Sie in ihren Listen haben. Deren Geräte antworten zu diesen Listen.",
    ),
    # Odds
    "odds": Text("How often could somebody guess right?", "Wie oft könnte jemand richtig raten?"),
    "odds.note": Text(
        "Somebody knows everything else, and wants to tell A from B about you. Of 100 people who answer like this, "
        "that guess is right at most so many times. Without any answer it is right 50 times: pure chance.",
        "Jemand weiß alles andere und will bei Ihnen A von B unterscheiden. Bei 100 Menschen, die so antworten, stimmt "
        "die Vermutung höchstens so oft. Ganz ohne Antwort stimmt sie 50 Mal: reiner Zufall.",
    ),
    "odds.column.what": Text("About", "Worüber"),
    "odds.column.guess": Text("A or B?", "A oder B?"),
    "odds.column.times": Text("Right of 100 times, at most", "Richtig von 100 Mal, höchstens"),
    "odds.weak": Text("no meaningful protection", "kein nennenswerter Schutz"),
    "odds.open": Text("NOT PROTECTED", "NICHT GESCHÜTZT"),
    "odds.public": Text("NOT PROTECTED where it is public", "NICHT GESCHÜTZT, wo es öffentlich ist"),
    "odds.beyond": Text(
        "Your rules let other questions through too. With them a guess could be right more often: {what}.",
        "Ihre Regeln lassen auch andere Fragen zu. Damit könnte eine Vermutung öfter stimmen: {what}.",
    ),
    "odds.experts": Text("For experts, epsilon at most: {what}.", "Für Fachleute, Epsilon höchstens: {what}."),
    "odds.infinite": Text("infinite", "unendlich"),
    "bit_adjacency": Text("one entry of your list", "ein Eintrag Ihrer Liste"),
    "bit_adjacency.guess": Text(
        "Is a certain person in it, or not?", "Steht eine bestimmte Person darin oder nicht?"
    ),
    "bit_feature": Text("one of your features", "eines Ihrer Merkmale"),
    "bit_feature.guess": Text("Does it have this value, or that one?", "Hat es diesen Wert oder jenen?"),
    "relationship": Text("one connection, by all answers about it", "eine Verbindung, aus allen Antworten dazu"),
    "relationship.guess": Text(
        "Are you and a certain person connected, or not?", "Sind Sie und eine bestimmte Person verbunden oder nicht?"
    ),
    "vector": Text("all your features together", "alle Ihre Merkmale zusammen"),
    "vector.guess": Text("Which of two sets of features is yours?", "Welche von zwei Merkmalslisten ist Ihre?"),
    "label.level": Text("your label alone", "Ihr Label allein"),
    "label.guess": Text("Which of two labels is yours?", "Welches von zwei Labels ist Ihres?"),
    "user": Text("all that your device answers", "alles, was Ihr Gerät antwortet"),
    "user.guess": Text("Which of two whole records is yours?", "Welcher von zwei ganzen Datensätzen ist Ihrer?"),
    "node": Text(
        "all that your device and others answer about you", "alles, was Ihr Gerät und andere über Sie antworten"
    ),
    "node.guess": Text("Which of two people are you?", "Welche von zwei Personen sind Sie?"),
    # What cannot be taken back
    "back": Text("What cannot be taken back", "Was sich nicht zurücknehmen lässt"),
    "back.answer": Text(
        "The answer. Whoever has it may keep it and pass it on.",
        "Die Antwort. Wer sie hat, kann sie behalten und weitergeben.",
    ),
    "back.odds": Text(
        "The odds above stay as they are, whatever somebody computes from the answer later.",
        "Die Zahlen oben bleiben, wie sie sind, was auch immer jemand später aus der Antwort berechnet.",
    ),
    "back.again": Text(
        "Do not enrol a second device with the same data: it answers once more, and guessing gets easier.",
        "Richten Sie mit denselben Daten kein zweites Gerät ein: Es antwortet noch einmal, und Raten wird leichter.",
    ),
    # A second question
    "second": Text("What happens on a second question", "Was bei einer zweiten Frage geschieht"),
    "second.refuse": Text(
        "If the same collection repeats its question, it gets the same answer, bit for bit, and learns nothing new.",
        "Wiederholt dieselbe Erhebung ihre Frage, bekommt sie dieselbe Antwort, Bit für Bit, und erfährt nichts Neues.",
    ),
    "second.replay": Text(
        "Whoever repeats the question gets the same answer, bit for bit, and nobody learns anything new about you.",
        "Wer die Frage wiederholt, bekommt dieselbe Antwort, Bit für Bit, und niemand erfährt Neues über Sie.",
    ),
    "second.other": Text(
        "Any other question about what was answered gets a refusal.",
        "Jede andere Frage zu dem, was beantwortet ist, wird abgelehnt.",
    ),
    # Who gets the answer
    "receiver": Text("Who gets the answer", "Wer die Antwort bekommt"),
    "receiver.any": Text(
        "Any collector who asks first: no key is pinned (--collector-key).",
        "Wer zuerst fragt: Es ist kein Schlüssel festgelegt (--collector-key).",
    ),
    "receiver.pinned": Text(
        "Only the collector with this public key: {key}",
        "Nur, wer diesen öffentlichen Schlüssel hat: {key}",
    ),
}  # fmt: skip

_FIGURE = re.compile(r"\d[\d,.]*\d|\d")
_TO_GERMAN = str.maketrans(",.", ".,")


def checked_language(given: str) -> str:
    """Return the language if there is one of this name.

    Raises:
        ValueError: for another one.
    """
    if given not in LANGUAGES:
        raise ValueError(f"--language must be one of {', '.join(LANGUAGES)}, not {given!r}")
    return given


def said(language: str, key: str, /, **parts: str) -> str:
    """Return a text with its figures.

    >>> said("de", "role.everybody", people=figure("de", "2,708"))
    'Alle (2.708 Personen)'
    """
    text: str = getattr(TEXTS[key], language)
    return text.format(**parts)


def figure(language: str, written: str) -> str:
    """Return an English figure as the language writes it: ``1,000.5`` is ``1.000,5`` in German.

    >>> figure("de", "1,000.5"), figure("en", "1,000.5")
    ('1.000,5', '1,000.5')
    """
    if language == "en":
        return written
    return _FIGURE.sub(lambda found: found.group().translate(_TO_GERMAN), written)
