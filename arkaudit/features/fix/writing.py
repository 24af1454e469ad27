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
    """Return why the file at *path* is not replaced; empty if it may be."""
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
    """Return the folder of the git work tree that a file is in, or None."""
    return next((folder for folder in path.absolute().parents if (folder / ".git").exists()), None)


def reason_to_leave_tree(tree: Path | None) -> str:
    """Return why files in a work tree are not replaced; empty if git has all changes, or there is no work tree."""
    if tree is None:
        return ""
    try:
        is_changed = _git(
            tree, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all", "--no-renames"
        )
    except (OSError, subprocess.CalledProcessError):
        return f"git can't list uncommitted changes of {tree}; --force corrects its files all the same"
    return f"{tree} has uncommitted changes; commit them, or give --force" if is_changed else ""


def _git(folder: Path, *words: str) -> bytes:
    """Return the output of git in a folder. Raises OSError and CalledProcessError.

    It runs no filter, monitor of files, hook, or transport of a partial clone.
    """
    # A hook runs with the variables of another work tree.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_ALLOW_PROTOCOL": "none", "GIT_OPTIONAL_LOCKS": "0"}
    command = ("git", "-C", str(folder))
    listing = ("config", "--null", "--name-only", "--get-regexp", r"^filter\.")
    listed = subprocess.run((*command, *listing), capture_output=True, env=environment, check=False).stdout
    filters = os.fsdecode(listed).split("\0")[:-1]
    settings = {name: "false" if name.endswith(".required") else "" for name in filters}
    settings |= {"core.fsmonitor": "false", "core.hooksPath": os.devnull}
    environment["GIT_CONFIG_COUNT"] = str(len(settings))
    for number, (name, value) in enumerate(settings.items()):
        environment |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return subprocess.run((*command, *words), capture_output=True, env=environment, check=True).stdout


def part_of(path: Path) -> Path:
    """Return the path at which the new content of a file is written, before it takes the place of the old one."""
    return path.with_name(f".arkaudit-fix-{sha256(os.fsencode(path.name)).hexdigest()[:16]}.part")


def remove_parts(files: Iterable[Path]) -> None:
    """Remove the new contents of *files* that a killed run has left, unless another run is writing them."""
    for part in map(part_of, files):
        with suppress(OSError, Unfixable), _open(part, os.O_RDWR) as descriptor:
            _lock(descriptor)
            part.unlink()


def replace_file(path: Path, old: bytes, new: bytes) -> None:
    """Replace the content *old* of a file by *new*.

    Raises `Unfixable` and OSError; the file is then as it was before.
    """
    part, status = part_of(path), path.lstat()
    with _open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL) as descriptor:
        try:
            _lock(descriptor)
            with open(descriptor, "wb", closefd=False) as file:
                file.write(new)
            _copy_attributes(path, status, descriptor)
            os.fsync(descriptor)
            if part.read_bytes() != new:
                raise Unfixable("it was not stored as written")
            # Nothing may come between this and the renaming.
            if path.read_bytes() != old or _identity(path.lstat()) != _identity(status):
                raise Unfixable("it has changed since it was read; run arkaudit fix again")
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    make_durable(path.parent)


@contextmanager
def _open(part: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(part, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    """Keep other runs from an open file. Raises `Unfixable` if one has it."""
    import fcntl  # not on Windows

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Unfixable("another arkaudit fix is correcting it") from None


def _identity(status: os.stat_result) -> tuple[object, ...]:
    """Return all of a status that another program may change, without the time of reading."""
    return (*status[:7], status.st_mtime_ns, status.st_ctime_ns)


def _copy_attributes(path: Path, status: os.stat_result, descriptor: int) -> None:
    """Give an open file the mode, owner, ACL and extended attributes of *path*. Raises `Unfixable`."""
    if not hasattr(os, "listxattr"):
        raise Unfixable("its ACL and attributes can't be read on this system; use --patch")
    try:
        if _owner(os.fstat(descriptor)) != _owner(status):
            os.fchown(descriptor, *_owner(status))
        os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
        wanted = _attributes(path)
        for name in _attributes(descriptor).keys() - wanted.keys():
            os.removexattr(descriptor, name)
        for name, value in wanted.items():
            os.setxattr(descriptor, name, value)
    except OSError as problem:
        raise Unfixable(f"its owner, ACL or attributes can't be copied: {problem.strerror}") from None
    created = os.fstat(descriptor)
    if (created.st_mode, _owner(created), _attributes(descriptor)) != (status.st_mode, _owner(status), wanted):
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
