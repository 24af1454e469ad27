"""Replace files as a whole, with their mode, owner, ACL and attributes, and only if they have not changed meanwhile."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from arkaudit.features.fix.sources import Unfixable
from crawler.model.durable_files import make_durable


def reason_to_leave(path: Path) -> str:
    """Return the reason why the file at *path* can't be replaced; empty if it can."""
    try:
        status = path.lstat()
    except OSError as problem:
        return problem.strerror or str(problem)
    if stat.S_ISLNK(status.st_mode):
        return "it is a symbolic link; name the file that it leads to"
    if status.st_nlink > 1:
        return "it has several names (hard links), and only one of them would be corrected"
    if not status.st_mode & 0o222 or not os.access(path, os.W_OK):
        return "it is read-only"
    return ""


def work_tree(path: Path) -> Path | None:
    """Return the folder of the git work tree with the file at *path*, or None."""
    return next((folder for folder in path.absolute().parents if (folder / ".git").exists()), None)


def reason_to_leave_tree(tree: Path | None) -> str:
    """Return the reason why files in a work tree are not replaced: uncommitted changes; empty without any, or for None."""
    if tree is None:
        return ""
    try:
        is_changed = _git(
            tree, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all", "--no-renames"
        )
    except (OSError, subprocess.CalledProcessError):
        return f"git can't list uncommitted changes of {tree}; --force corrects its files all the same"
    return f"{tree} has uncommitted changes; commit them, or give --force" if is_changed else ""


def _git(folder: Path, *arguments: str) -> bytes:
    """Return the output of git with *arguments* in a folder. Raises OSError and CalledProcessError.

    Git is configured to run no filter, file monitor, hook or transport.
    """
    # A hook runs with the variables of another work tree.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_ALLOW_PROTOCOL": "none", "GIT_OPTIONAL_LOCKS": "0"}
    command = ("git", "-C", str(folder))
    filter_arguments = ("config", "--null", "--name-only", "--get-regexp", r"^filter\.")
    filter_output = subprocess.run(
        (*command, *filter_arguments), capture_output=True, env=environment, check=False
    ).stdout
    filter_names = os.fsdecode(filter_output).split("\0")[:-1]
    settings = {name: "false" if name.endswith(".required") else "" for name in filter_names}
    settings |= {"core.fsmonitor": "false", "core.hooksPath": os.devnull}
    environment["GIT_CONFIG_COUNT"] = str(len(settings))
    for number, (name, value) in enumerate(settings.items()):
        environment |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return subprocess.run((*command, *arguments), capture_output=True, env=environment, check=True).stdout


def part_path(path: Path) -> Path:
    """Return the path of the temporary file with the new content of the file at *path*."""
    return path.with_name(f".arkaudit-fix-{sha256(os.fsencode(path.name)).hexdigest()[:16]}.part")


def remove_parts(files: Iterable[Path]) -> None:
    """Remove the temporary files for *files* that a killed run has left, unless another run is writing them."""
    for part_file in map(part_path, files):
        with suppress(OSError, Unfixable), _open(part_file, os.O_RDWR) as descriptor:
            _lock(descriptor)
            part_file.unlink()


def replace_file(path: Path, old_bytes: bytes, new_bytes: bytes) -> None:
    """Replace the content of a file, *old_bytes*, by *new_bytes*. Raises `Unfixable` and OSError without a change."""
    part_file, status = part_path(path), path.lstat()
    with _open(part_file, os.O_RDWR | os.O_CREAT | os.O_EXCL) as descriptor:
        try:
            _lock(descriptor)
            with open(descriptor, "wb", closefd=False) as file:
                file.write(new_bytes)
            _copy_attributes(path, status, descriptor)
            os.fsync(descriptor)
            if part_file.read_bytes() != new_bytes:
                raise Unfixable("it was not stored as written")
            # Nothing may come between this and the renaming.
            if path.read_bytes() != old_bytes or _identity(path.lstat()) != _identity(status):
                raise Unfixable("it has changed since it was read; run arkaudit fix again")
            part_file.replace(path)
        except BaseException:
            part_file.unlink(missing_ok=True)
            raise
    make_durable(path.parent)


@contextmanager
def _open(part_file: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(part_file, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    """Lock an open file against other runs. Raises `Unfixable` if another run holds the lock."""
    import fcntl  # not on Windows

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Unfixable("another arkaudit fix is correcting it") from None


def _identity(status: os.stat_result) -> tuple[object, ...]:
    """Return the fields of a status that differ after a change by another program, without the time of access."""
    return (*status[:7], status.st_mtime_ns, status.st_ctime_ns)


def _copy_attributes(path: Path, status: os.stat_result, descriptor: int) -> None:
    """Give an open file the mode, owner, ACL and extended attributes of *path*. Raises `Unfixable`."""
    if not hasattr(os, "listxattr"):
        raise Unfixable("its ACL and attributes can't be read on this system; use --patch")
    try:
        if _owner(os.fstat(descriptor)) != _owner(status):
            os.fchown(descriptor, *_owner(status))
        os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
        attributes = _attributes(path)
        for name in _attributes(descriptor).keys() - attributes.keys():
            os.removexattr(descriptor, name)
        for name, value in attributes.items():
            os.setxattr(descriptor, name, value)
    except OSError as problem:
        raise Unfixable(f"its owner, ACL or attributes can't be copied: {problem.strerror}") from None
    new_status = os.fstat(descriptor)
    if (new_status.st_mode, _owner(new_status), _attributes(descriptor)) != (
        status.st_mode,
        _owner(status),
        attributes,
    ):
        raise Unfixable("its mode, owner, ACL or attributes can't be copied")


def _owner(status: os.stat_result) -> tuple[int, int]:
    return status.st_uid, status.st_gid


def _attributes(file: Path | int) -> dict[str, bytes]:
    """Return the extended attributes of a file, with its ACL; empty on a file system without any."""
    try:
        return {name: os.getxattr(file, name) for name in os.listxattr(file)}
    except OSError as problem:
        if problem.errno == errno.ENOTSUP:
            return {}
        raise
