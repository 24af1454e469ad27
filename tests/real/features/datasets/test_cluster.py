"""Datasets by Dask: the rows of one process, whichever worker, driver or scheduler is killed."""

import os
import signal
from pathlib import Path

import psutil
import pytest

from arkaudit.features.datasets.cluster import local_client, require_dask
from arkaudit.features.datasets.passes import READ
from tests.real.features.datasets.dask_world import Cluster, children_of, driver, wait_for_end
from tests.real.features.datasets.dataset_world import content_of, rows_in, write_documents
from tests.real.loopback import run_command
from tests.real.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc")
ROOT = Path(__file__).parents[4]
_ARK = "ark:12148/btv1b8449691v"
_PDFS = ROOT / "tools" / "corpus" / "dev" / "documents" / "pdf"


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents that make ten parts of one mebibyte."""
    folder = tmp_path_factory.mktemp("papers")
    for path in write_documents(folder, 11):
        if path.suffix == ".txt":
            path.write_text(path.read_text() + "\n" + "words " * 120_000)
    return folder


@pytest.fixture(scope="module")
def whole(papers: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Return the content of the dataset that one process makes of these documents."""
    out = tmp_path_factory.mktemp("whole") / "ds"
    done = run_command("dataset", "make", papers, "--out", out, "--part-size", "1", "--workers", "1")
    assert done.returncode == 0, done.stderr
    return content_of(out)


def parts_read(out: Path) -> int:
    return len(list((out / READ).glob("*.parquet")))


def test_workers_of_this_machine_make_the_same(tmp_path: Path, papers: Path, whole: dict[str, list[str]]) -> None:
    code, said = wait_for_end(driver(tmp_path / "ds", "2", papers))
    assert (code, said.count("\n")) == (0, 2), said
    assert content_of(tmp_path / "ds") == whole


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_of_this_machine_listen_on_loopback(workers: int) -> None:
    require_dask()
    with local_client(workers) as client:
        assert len(client.nthreads()) == workers
        own = psutil.Process()
        sockets = [socket for process in (own, *own.children(True)) for socket in process.net_connections("tcp")]
        assert {socket.laddr.ip for socket in sockets if socket.status == psutil.CONN_LISTEN} == {"127.0.0.1"}


def test_workers_that_are_killed_cost_no_row_and_no_other_part(
    tmp_path: Path, papers: Path, whole: dict[str, list[str]]
) -> None:
    """Killed as they begin, between the file and the answer, and as the answer is fetched, which then fails once."""
    kills = ["begun@1", "published@3", "fetched@4"]
    patience = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "3"}
    with Cluster(tmp_path / "cluster", 2, FAULTS=" ".join([*kills, "again@4"]), **patience) as cluster:
        code, said = wait_for_end(driver(tmp_path / "ds", cluster.address, papers))
        assert code == 0, said
        assert cluster.faults == sorted([*kills, "again@4"])
        assert len(cluster.begun) <= parts_read(tmp_path / "ds") + len(kills), "each has one thread"
    assert content_of(tmp_path / "ds") == whole


def test_a_file_that_ends_all_workers_is_named(tmp_path: Path) -> None:
    """PDFs are the others: by Dask, the processes of workers may not begin others by `multiprocessing`."""
    pdfs = sorted(_PDFS.glob("*.pdf"))[:2]
    (tmp_path / "poison.txt").write_text(_ARK + "\n" + "words " * 180_000)
    places = (tmp_path / "poison.txt", *pdfs)
    with Cluster(tmp_path / "cluster", 1, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="1") as cluster:
        code, said = wait_for_end(driver(tmp_path / "ds", cluster.address, *places))
    assert (code, said.count("\n")) == (3, 1), said
    assert "the dataset is not finished: all workers ended that had the parts that begin with " in said
    assert str(tmp_path / "poison.txt") in said
    code, said = wait_for_end(driver(tmp_path / "ds", "1", *places))
    assert code == 0, said
    assert [row["ark"] for row in rows_in(tmp_path / "ds", "mentions") if row["document"] == str(places[0])] == [_ARK]


def test_a_driver_and_a_scheduler_that_are_killed_are_resumed(
    tmp_path: Path, papers: Path, whole: dict[str, list[str]]
) -> None:
    with Cluster(tmp_path / "first", 2, seconds=2) as cluster:
        process = driver(tmp_path / "ds", cluster.address, papers)
        wait_until(lambda: parts_read(tmp_path / "ds") >= 1, "a part")
        process.kill()
        process.communicate()
        process = driver(tmp_path / "ds", cluster.address, papers)
        wait_until(lambda: parts_read(tmp_path / "ds") >= 4, "four parts")
        cluster.scheduler.kill()
        code, said = wait_for_end(process)
    resuming, ended = said.splitlines()
    assert (code, resuming.startswith("arkaudit: resuming: ")) == (3, True), said
    assert ended.endswith("the scheduler is gone; the same command resumes it")
    before = {path.name: path.stat().st_ino for path in (tmp_path / "ds" / READ).glob("*.parquet")}
    with Cluster(tmp_path / "second", 2) as cluster:
        process = driver(tmp_path / "ds", cluster.address, papers)
        code, said = wait_for_end(process)
        assert code == 0, said
        assert not {key for key, _ in cluster.begun} & {name.partition(".")[0] for name in before}
    assert content_of(tmp_path / "ds") == whole
    assert (
        before.items() <= {path.name: path.stat().st_ino for path in (tmp_path / "ds" / READ).glob("*.parquet")}.items()
    )


def test_cluster_without_workers_is_reported(tmp_path: Path, papers: Path) -> None:
    with Cluster(tmp_path / "cluster", 0) as cluster:
        process = driver(tmp_path / "ds", cluster.address, papers)
        assert process.stderr is not None
        assert process.stderr.readline() == "arkaudit: the cluster has no worker: waiting for one\n"
        process.send_signal(signal.SIGINT)
        code, _ = wait_for_end(process)
    assert code == 130


def test_a_worker_that_is_cut_off_publishes_nothing_twice(
    tmp_path: Path, papers: Path, whole: dict[str, list[str]]
) -> None:
    settings = {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "3s"}
    with Cluster(tmp_path / "cluster", 2, seconds=0.3, nannies=False, **settings) as cluster:
        process = driver(tmp_path / "ds", cluster.address, papers)
        wait_until(lambda: len(cluster.at_work) == 2, "two workers at work")
        stopped = cluster.at_work[0]
        os.kill(stopped, signal.SIGSTOP)
        code, said = wait_for_end(process)
        assert code == 0, said
        [late] = [worker for worker in cluster.workers if worker.pid == stopped]
        late.send_signal(signal.SIGCONT)
        late.wait(PATIENCE_S)
        assert len(cluster.begun) > len({key for key, _ in cluster.begun}), "another did its part again"
    assert content_of(tmp_path / "ds") == whole


def test_a_worker_of_another_version_is_refused(tmp_path: Path, papers: Path) -> None:
    with Cluster(tmp_path / "cluster", 1, FAULTS_VERSION="0.0.7") as cluster:
        code, said = wait_for_end(driver(tmp_path / "ds", cluster.address, papers))
        assert (code, said.count("\n")) == (2, 1), said
        assert "a worker of the cluster can't be used: it has arkaudit 0.0.7, unlike this command" in said
        assert not cluster.begun


def test_an_interrupt_ends_all_with_one_line(tmp_path: Path, papers: Path, whole: dict[str, list[str]]) -> None:
    process = driver(tmp_path / "ds", "2", papers)
    wait_until(lambda: parts_read(tmp_path / "ds") >= 1 or process.poll() is not None, "a part")
    left = children_of(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    code, said = wait_for_end(process)
    assert (code, len(said.strip().splitlines())) in ((130, 1), (0, 2)), said
    assert left
    wait_until(lambda: not [pid for pid in left if Path(f"/proc/{pid}").exists()], "an end of all processes")
    assert run_command("dataset", "make", papers, "--out", tmp_path / "ds", "--part-size", "1").returncode == 0
    assert content_of(tmp_path / "ds") == whole


def test_no_scheduler_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    code, said = wait_for_end(driver(tmp_path / "ds", "tcp://127.0.0.1:9", tmp_path / "a.txt"))
    assert (code, said.count("\n")) == (2, 1), said
    assert "the Dask scheduler at tcp://127.0.0.1:9 can't be used" in said
    assert not (tmp_path / "ds").exists()


@pytest.mark.parametrize("given", ["0", "1000", "tcp//x"])
def test_malformed_scheduler_is_a_mistake(tmp_path: Path, given: str) -> None:
    done = run_command("dataset", "make", tmp_path, "--out", tmp_path / "ds", f"--workers={given}")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
