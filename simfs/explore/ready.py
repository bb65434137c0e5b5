"""A scenario after its setup: what every exploration and every replay of it starts from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simfs.disk.realdir import CannotLoad, load
from simfs.errors import SetupFailed
from simfs.explore.judge import raise_site
from simfs.explore.spec import Spec
from simfs.explore.stage import Before, run_alone
from simfs.machine.inode import Image


@dataclass(slots=True)
class Ready:
    """A scenario after its setup: what every exploration and every replay of it starts from."""

    spec: Spec
    attributes: dict[str, Any]
    base: Before


def first_image(spec: Spec) -> Image:
    """The disk that setup finds: empty, or what a real directory holds. Raises CannotLoad."""
    directory = spec.options["image"]
    try:
        return Image.empty() if directory is None else load(directory)
    except CannotLoad as error:
        raise CannotLoad(f"{spec.name} cannot start from image = {directory!r}: {error}") from error


def prepare(spec: Spec) -> Ready:
    """Run setup, alone; what it did is durable. Raises SetupFailed with its error and call site."""
    solo = run_alone(spec, spec.setup, {}, Before(first_image(spec), boot=0), sites=True)
    if solo.error is not None:
        if not isinstance(solo.error, Exception):
            raise solo.error
        site = raise_site(solo.error)
        raise SetupFailed(
            f"setup of {spec.name} raised {type(solo.error).__name__} at {site}: {solo.error}"
        ) from solo.error
    return Ready(spec, dict(spec.kept), Before(solo.machine.freeze(), (), 1, solo.machine.wall_ns))
