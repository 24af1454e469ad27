"""A simulated year: the answers of each ARK of a small world on each day, for the tests of status."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from crawler.history.rechecking import RecheckPolicy
from crawler.model.observations import ChainEnd, Hop, Observation, Question
from extractors.model.ark import Ark

BEGINNING = datetime(2026, 1, 1, 6, tzinfo=UTC)
DAYS = 365
#: Days without any network, days on which one provider was down, and days on which one blocked arkaudit.
NETWORK_DOWN = range(120, 124)
PROVIDER_DOWN = range(60, 65)
KEPT_OUT = range(150, 200)
DIES, MOVES = 200, 250
FLAPS = range(230, 300)
#: The one that flaps is watched every day; a failing one is asked again after two days.
POLICY = RecheckPolicy(host={"flapping.example": {"healthy": 1, "failing": 1}})
HOSTS = ("steady", "outage", "guarded", "dying", "moving", "flapping", "other", "third")
ARKS_A_HOST = 3


@dataclass(frozen=True, slots=True)
class Subject:
    """One ARK of the world, at one URL."""

    host: str
    number: int

    @property
    def ark(self) -> Ark:
        return Ark(str(20000 + HOSTS.index(self.host)), f"x{self.number}")

    @property
    def url(self) -> str:
        return f"http://{self.host}.example/{self.ark}"

    def answer(self, day: int) -> tuple[int | None, str]:
        """Return the status (None for silence) and the landing URL of this day."""
        if day in NETWORK_DOWN:
            return None, self.url
        match self.host:
            case "outage" if day in PROVIDER_DOWN:
                return None, self.url
            case "guarded" if day in KEPT_OUT:
                return 403, self.url
            case "dying" if day >= DIES:
                return 404, self.url
            case "flapping" if day in FLAPS and day // 5 % 2:
                return 500, self.url
            case "moving" if day >= MOVES:
                return 200, f"http://new.example/{self.number}"
        return 200, self.url


WORLD = [Subject(host, number) for host in HOSTS for number in range(ARKS_A_HOST)]


def start_of_day(day: int) -> datetime:
    return BEGINNING + timedelta(days=day)


def observations_on(subjects: Iterable[Subject], day: int) -> Iterator[Observation]:
    """Return the observations of a run on this day, one each second."""
    for number, subject in enumerate(subjects):
        at = (start_of_day(day) + timedelta(seconds=number)).isoformat(timespec="milliseconds")
        status, landing = subject.answer(day)
        hops = [Hop(subject.url, "GET", at, status, error=None if status else "no word in time")]
        if landing != subject.url:
            hops = [Hop(subject.url, "GET", at, 302, location=landing), Hop(landing, "GET", at, status)]
        yield Observation(
            subject.ark,
            subject.url,
            Question.OBJECT,
            subject.url,
            tuple(hops),
            ChainEnd.ANSWERED if status else ChainEnd.TIMEOUT,
            text=f"the page of {subject.ark}",
        )
