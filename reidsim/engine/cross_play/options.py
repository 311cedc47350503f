"""What is asked for of cross-play besides the scenario."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reidsim.linkage.number_checks import check_share


@dataclass(frozen=True)
class CrossPlayOptions:
    """Options of cross-play.

    Parameters
    ----------
    knowledge : str, optional
        Knowledge recipe of the adversary with partial knowledge; that of the scenario, if not given.
    stages : str, optional
        Attack recipe of the adversary who attacks in stages; that of the scenario, if not given.
    attack_rate : float
        Probability with which the random adversary attacks a record.

    Raises
    ------
    InputError
        If the rate is not one.
    """

    knowledge: str | None = None
    stages: str | None = None
    attack_rate: float = 0.5

    def __post_init__(self) -> None:
        check_share("attack_rate", self.attack_rate)
        # A file given with a call is one of the working folder, not of the scenario's, wherever runs are done.
        if self.knowledge is not None and Path(self.knowledge).suffix == ".toml":
            object.__setattr__(self, "knowledge", str(Path(self.knowledge).absolute()))
        if self.stages is not None:
            object.__setattr__(self, "stages", str(Path(self.stages).absolute()))

    @property
    def facts(self) -> dict[str, Any]:
        """The options as plain data, for manifests."""
        return {"knowledge": self.knowledge, "stages": self.stages, "attack_rate": self.attack_rate}
