"""Files that a configuration names: a path of another kind is refused at once, in one line."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from arkaudit.configuration.config_files import load
from arkaudit.features.identity.signing import read_key
from extractors.model.errors import ArkauditError
from reports.store.inventory import read_inventory
from reports.store.known_problems import read_known


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    path.symlink_to(path.name + "d")
    os.mknod(path.with_name(path.name + "d"), stat.S_IFSOCK | 0o600)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**30)


def _with_certificates(path: Path) -> None:
    load(None, {"network.ca_file": path})


@pytest.mark.parametrize(
    "read",
    [read_key, read_known, read_inventory, _with_certificates],
    ids=["key", "known", "inventory", "certificates"],
)
@pytest.mark.parametrize(
    ("place", "words"),
    [
        (_pipe, "it is a pipe, not a file"),
        (_socket, "it is a socket, not a file"),
        (_device, "it is a device, not a file"),
        (Path.mkdir, "it is a folder, not a file"),
        (_huge, "it is longer than"),
    ],
    ids=["pipe", "socket", "device", "folder", "huge"],
)
def test_non_regular_file_is_refused_at_once(
    read: Callable[[Path], object], place: Callable[[Path], None], words: str, tmp_path: Path
) -> None:
    path = tmp_path / "named"
    place(path)
    with pytest.raises(ArkauditError) as refusal:
        read(path)
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "text", ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
)
def test_a_file_without_certificates_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    path.write_text(text)
    with pytest.raises(ArkauditError, match="there is no file of certificates at"):
        _with_certificates(path)
