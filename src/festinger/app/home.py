"""Where does this deployment keep its things, and which key seals them?

Known before any room is open and without loading one: a door asks for the key before it listens.
"""

import os
from pathlib import Path

from festinger.app.tools import Tools
from festinger.settings.live import LiveSettings
from festinger.settings.master_key import MasterKey, master_key
from festinger.store.paths import Layout, default_home


def home_of(settings: LiveSettings) -> Path:
    own = settings.now.home
    return Path(own).expanduser() if own else default_home(euid=os.geteuid(), person=Path.home())


def master_key_of(settings: LiveSettings, tools: Tools) -> MasterKey:
    """The master key of this deployment, made at the first start."""
    return master_key(
        settings.deployment.environment,
        Path(settings.now.secrets.key_file),
        data=Layout(home=home_of(settings)).data,
        entropy=tools.entropy,
    )
