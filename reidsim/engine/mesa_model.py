"""The mesa model of a scenario: one publisher policy, played step by step."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reidsim.agents.model import ReidentificationModel
from reidsim.core.errors import InputError, locating
from reidsim.engine.scenario import Scenario, without_folder
from reidsim.scenarios.kind import kind_of
from reidsim.scenarios.scenario import SOURCE


class model(ReidentificationModel):  # noqa: N801 - used like a function; batch_run and SolaraViz need a class
    """The mesa model of a scenario and one publisher policy.

    Each step is a round (see `reidsim.Scenario.rounds`); a scenario without section ``agents`` has one round. Of
    several draws of records or of rounds, the model is the first. Its measures equal those of `reidsim.run`.

    Parameters
    ----------
    scenario : Scenario, str, Path or mapping
        A scenario, or a source as in `Scenario.load`.
    policy : str
        Name of the publisher's policy.
    rng : int, optional
        Seed of all random draws, as mesa calls it; the scenario's ``seed`` if not given.
    model_reporters, agent_reporters, agenttype_reporters : mapping, optional
        Further values to collect after each round, by name, as in `mesa.DataCollector`.
    **kwargs : object
        Other values of the scenario by name, as in `Scenario.with_`: ``seed=1``, ``loss=600``, ``agents__rounds=5``.

    Attributes
    ----------
    agents : mesa.AgentSet
        Publisher, adversaries and data subjects.
    subjects : mesa.AgentSet
        The data subjects, with attributes ``participates``, ``harm``, ``expected_risk``, ``strategy`` and ``risk``.
    datacollector : mesa.DataCollector
        Measures of each round, and the table ``adversaries``.

    Raises
    ------
    InputError
        If a value or file cannot be used, the policy cannot be played in rounds, or the kind of scenario has no rounds.

    See Also
    --------
    Scenario : description of a study, with method `rounds`, which plays all policies.

    Examples
    --------
    >>> import pandas, reidsim
    >>> scenario = reidsim.Scenario.from_frames(
    ...     pandas.DataFrame({"age": [30, 34, 52], "sex": ["F", "F", "M"]}),
    ...     hierarchies={"age": reidsim.intervals(5), "sex": "suppress"},
    ...     economics={"benefit": 100, "loss": 300, "gain": 60, "cost": 40},
    ... )
    >>> model = reidsim.model(scenario, policy="basic", agents__rounds=3)
    >>> model.run_model()
    >>> model.subjects.agg("risk", max)
    0.0
    """

    # From mesa 3.5 on, SolaraViz replaces an argument `scenario` unless this attribute of a model is empty.
    scenario = None

    def __init__(
        self,
        scenario: Scenario | str | Path | Mapping[str, Any],
        policy: str,
        *,
        rng: int | None = None,
        model_reporters: Mapping[str, Any] | None = None,
        agent_reporters: Mapping[str, Any] | None = None,
        agenttype_reporters: Mapping[type, Mapping[str, Any]] | None = None,
        # SolaraViz of mesa 3.3 accepts parameters that are not in the signature only under this name.
        **kwargs: object,
    ) -> None:
        if rng is not None:
            if "seed" in kwargs:
                raise InputError("two seeds", source=SOURCE, where="rng", found=rng, expected="either rng or seed")
            kwargs["seed"] = rng
        if "policies" in kwargs:
            raise InputError("a model plays one policy", source=SOURCE, where="policies", expected="one policy name")
        loaded = scenario if isinstance(scenario, Scenario) else Scenario.load(scenario)
        loaded = loaded.with_(policies=[policy], **kwargs)
        kind = kind_of(loaded.scenario)
        try:
            study = kind.build(loaded)
            with locating(loaded.path):
                name = kind.policies_of(loaded.scenario)[0]
                setting = kind.settings(study)(name, 0, 0)
        except InputError as error:
            raise without_folder(error, loaded.path, loaded.place) from None
        super().__init__(
            setting,
            name,
            model_reporters=model_reporters,
            agent_reporters=agent_reporters,
            agenttype_reporters=agenttype_reporters,
        )
        self.scenario = None
