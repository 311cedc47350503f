"""Names and titles of the bundled scenarios and recipes."""

import pandas as pd

from reidsim.core.files import bundled_titles


def list() -> pd.DataFrame:
    """Return the bundled scenarios and populations.

    Returns
    -------
    DataFrame
        One row per file: ``kind`` (``scenarios``, ``populations``, ``background knowledge`` or ``social media``),
        ``name`` and ``title``.

    See Also
    --------
    show : text of a file.

    Examples
    --------
    >>> import reidsim
    >>> reidsim.list().query("name == 'wan2015'")["title"].tolist()
    ['Record-level re-identification game: Adult records in Tennessee']
    """
    rows = [(kind, name, title) for kind, titles in bundled_titles().items() for name, title in titles.items()]
    return pd.DataFrame(rows, columns=["kind", "name", "title"])
