"""A swarm that stands in a file: agents, handoffs, policies and limits in TOML or YAML, checked with the place of each mistake.

`load_config` reads one; `Reloading` reads it again whenever it changes. A file holds data: the only code that it can name are functions of
modules that the caller allows, and conditions in CEL.
"""

from .editor import json_schema
from .loading import Configuration, load_config
from .problems import ConfigFileError, Problem
from .reloading import Reloading

__all__ = ["ConfigFileError", "Configuration", "Problem", "Reloading", "json_schema", "load_config"]
