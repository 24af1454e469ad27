"""Files as LibreOffice converts them."""

import shutil
import subprocess
from pathlib import Path

from tests.waiting import PATIENCE_S


def convert(file: Path, form: str, out: Path) -> Path | None:
    """Return *file* in another format, written into the folder *out*; None if LibreOffice is not installed."""
    if shutil.which("soffice") is None:
        return None
    profile = f"-env:UserInstallation={(out.parent / 'profile').as_uri()}"
    command = ["soffice", profile, "--headless", "--convert-to", form, "--outdir", out, file]
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S)
    return out / f"{file.stem}.{form.partition(':')[0]}"
