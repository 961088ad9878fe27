"""What a tool is told, as terms: every flag is understood, harmless, or refused."""

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator

from planopt.documents.exchange import Heard
from planopt.errors import Diagnostic, meant
from planopt.exchange.tool import Flag, Terms, Tool, term
from planopt.exchange.words import settings

_THOUSANDS = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SHORT = re.compile(r"(\d+(?:\.\d+)?)([kKmMgGtT])")
_FLAG = re.compile(r"-(?![\d.])")
"""What a word begins with that is no value: numbers may be below 0."""


class Hearing:
    """What is heard of a command line or a file."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool
        self.terms: Terms = {}
        self.environment: dict[str, str] = {}
        self.heard: list[Heard] = []
        self.problems: list[Diagnostic] = []
        self._flags: dict[str, list[Flag]] = {}
        for each in tool.flags:
            for spelling in each.spellings:
                self._flags.setdefault(spelling, []).append(each)

    def words(self, words: list[str]) -> None:
        """Hear the words behind a program."""
        left = deque(words)
        while left:
            word = left.popleft()
            if not _FLAG.match(word):
                self._said("", word)
                continue
            name, equals, value = word.partition("=")
            flag = self._spelled(name)
            values = [value] if equals else []
            takes = self.tool.listed.flags.get(flag)
            alone = takes.switch if takes else self._is_switch(flag)
            while left and not (equals or alone or _FLAG.match(left[0])):
                values.append(left.popleft())
                if not flag or flag in self._flags:
                    break
            self._said(flag, " ".join(values) if values else None)

    def settings(self, said: Iterable[tuple[str, object]]) -> None:
        """Hear the settings of a file."""
        for name, value in said:
            own = name in self._flags or self._known(name)
            known = own or self.tool.shape == "yaml"
            flag = name if known else self._spelled(f"--{name.replace('_', '-')}")
            if isinstance(value, bool):
                no = f"--no-{flag[2:]}" if flag[:2] == "--" else flag
                self._said(flag if value else no, None if value else "false")
            elif value is not None:
                self._said(flag, str(value))

    def _is_switch(self, flag: str) -> bool:
        own = self._flags.get(flag, [])
        on = flag.replace("--no-", "--", 1)
        takes = self.tool.listed.flags.get(on)
        off = on != flag and takes is not None and takes.switch
        return off or any(each.switch for each in own)

    def _known(self, flag: str) -> bool:
        of = self.tool
        return flag in of.listed.flags or flag in of.harmless or flag in of.refused

    def _spelled(self, word: str) -> str:
        """Return a flag as the tables have it: in full, with dashes."""
        dashed = word[:2] + word[2:].replace("_", "-")
        for flag in (word, dashed):
            if flag in self._flags or self._known(flag):
                return flag
        begins = [each for each in self.tool.listed.flags if each.startswith(dashed)]
        return begins[0] if word[:2] == "--" and len(begins) == 1 else word

    def _said(self, flag: str, value: str | None) -> None:
        of = self.tool
        on = flag.replace("--no-", "--", 1)
        inside = any(flag.startswith(f"{each}.") for each in of.harmless)
        if flag in of.ignored and value is not None:
            self._inside(flag, value)
        elif flag in self._flags:
            for each in self._flags[flag]:
                self._read(each, flag, value)
        elif flag in of.refused or on in of.refused:
            self._refuse(flag, value, of.refused.get(flag) or of.refused[on])
        elif inside or {flag, on} & {*of.harmless, *self._flags}:
            self._hear(flag, value, None)
        elif self._known(on):
            why = "planopt does not know whether it changes memory or layout"
            self._refuse(flag, value, f"{why}; leave it out if it does not")
        else:
            near = meant(flag, of.listed.flags)
            self._refuse(flag, value, near, f"no flag of {of.name} {of.version}")

    def _inside(self, flag: str, value: str) -> None:
        """Hear an object of JSON by its keys."""
        try:
            document = json.loads(value)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            self._refuse(flag, value, "write an object of JSON")
            return
        for name, each in settings(document):
            self._said(f"{flag}.{name}", str(each))

    def _hear(self, flag: str, value: str | None, term: str | None) -> None:
        said = Heard(flag=flag or None, value=value, term=term)
        if said not in self.heard:
            self.heard.append(said)

    def _refuse(
        self,
        flag: str,
        value: str | None,
        help: str | None,
        message: str = "planopt has no word for what this flag says",
        accepted: str | None = None,
    ) -> None:
        problem = Diagnostic(
            code="E304",
            message=message,
            field=flag or None,
            value=value,
            accepted=accepted,
            help=help,
        )
        if problem not in self.problems:
            self.problems.append(problem)

    def _read(self, row: Flag, flag: str, value: str | None) -> None:
        if row.flag == "" and row.term in self.terms and flag == "":
            self._refuse(flag, value, "quote values with blanks", "a word of no flag")
            return
        self._hear(flag, value, row.term)
        kind = term(row.term).kind
        if row.shell is not None:
            return
        if row.equals is not None:
            if value in (None, "true", "True"):
                self.terms[row.term] = row.equals
            return
        if row.switch or (row.values and value is None):
            if value in (None, "true", "True"):
                self.terms.setdefault(row.term, row.means or "yes")
            return
        if value is None:
            self._refuse(flag, None, "say its value", "a flag without its value")
        elif row.values:
            self._translate(row, flag, value)
        elif kind == "text" or not isinstance(_number(value), str):
            self.terms[row.term] = _number(value)
        else:
            self._refuse(flag, value, None, "a value that is no number")
        said = self.terms.get(row.term, 1)
        if kind == "count" and not (isinstance(said, int) and said > 0):
            self._refuse(flag, value, None, "a value that is no count", "1, 2, 3 ...")

    def _translate(self, row: Flag, flag: str, value: str) -> None:
        """Take the tool's word for planopt's."""
        words = {_plain(each): own for own, each in reversed(row.values.items())}
        words |= {_plain(each): own for each, own in row.reads.items()}
        if row.write != "{value}":
            self.terms[row.term] = value  # A name that has the word in it.
        elif _plain(value) not in words:
            known = ", ".join(dict.fromkeys((*row.values.values(), *row.reads)))
            self._refuse(flag, value, None, accepted=known)
        elif words[_plain(value)]:
            self.terms[row.term] = words[_plain(value)]


def _plain(value: str) -> str:
    """Tell words apart without blanks in JSON, and by any case."""
    try:
        return json.dumps(json.loads(value), sort_keys=True)
    except ValueError:
        return value.lower()


def _number(value: str) -> str | int | float:
    """Read a number, also a short one such as ``16k``."""
    short = _SHORT.fullmatch(value)
    if short:
        factor = _THOUSANDS.get(short[2]) or _BINARY[short[2]]
        return int(float(short[1]) * factor)
    try:
        return int(value)
    except ValueError:
        pass
    try:
        return float(value)
    except ValueError:
        return value


def defaults(tool: Tool, terms: Terms) -> Iterator[tuple[str, str | int | float]]:
    """List what the tool takes where nothing is said."""
    for each in tool.flags:
        if each.default is not None and each.term not in terms:
            yield each.term, _number(each.default)
