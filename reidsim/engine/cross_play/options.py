"""What is asked for of cross-play besides the scenario."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from reidsim.errors import InputError, require_among
from reidsim.games.double_oracle import Sum
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
    equilibrium : bool
        Whether optimal mixtures and equilibria of the payoffs are computed.
    double_oracle : {"zero-sum", "general-sum"}, optional
        Add best replies to mixtures until nobody has more than the tolerance to gain: against the adversary who hurts
        the defender most, or the one who gains most itself.
    tolerance : float
        Of the double oracle, in currency units per record.

    Raises
    ------
    InputError
        If one of them is none.
    """

    knowledge: str | None = None
    stages: str | None = None
    attack_rate: float = 0.5
    equilibrium: bool = False
    double_oracle: Sum | None = None
    tolerance: float = 0.01

    def __post_init__(self) -> None:
        check_share("attack_rate", self.attack_rate)
        if self.double_oracle is not None:
            require_among("no such game", (self.double_oracle,), get_args(Sum), where="double_oracle")
        if not 0 < self.tolerance < float("inf"):
            raise InputError("not a tolerance", where="tolerance", found=self.tolerance, expected="an amount above 0")
        # A file given with a call is one of the working folder, not of the scenario's, wherever runs are done.
        if self.knowledge is not None and Path(self.knowledge).suffix == ".toml":
            object.__setattr__(self, "knowledge", str(Path(self.knowledge).absolute()))
        if self.stages is not None:
            object.__setattr__(self, "stages", str(Path(self.stages).absolute()))

    @property
    def facts(self) -> dict[str, Any]:
        """The options as plain data, for manifests."""
        told: dict[str, Any] = {"knowledge": self.knowledge, "stages": self.stages, "attack_rate": self.attack_rate}
        if self.equilibrium:
            told["equilibrium"] = True
        if self.double_oracle is not None:
            told |= {"double_oracle": self.double_oracle, "tolerance": self.tolerance}
        return told
