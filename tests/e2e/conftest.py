"""Servers of the tests keep nothing in the home folder: data_dir is below a folder that is removed at the end."""

import atexit
import os
import shutil
import tempfile

os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="weir-state-")
os.environ.pop("STATE_DIRECTORY", None)
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)
