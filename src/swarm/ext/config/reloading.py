"""A configuration that is read again whenever a file of it changes. Runs that have begun keep the version they began with."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import Event, Lock, Thread, current_thread
from types import TracebackType

from ...errors import ConfigError
from .functions import Modules
from .loading import Configuration, read

logger = logging.getLogger("swarm.config")
_LOOK_EVERY = 1_000  # milliseconds; some file systems tell nobody of changes, and a few small files are quickly read
_STILL = 0.1  # seconds in which nothing may change before a file is taken as written to its end


class Reloading:
    """The newest version of a configuration that could be read.

    A thread waits for changes of the file and of those it names; no event loop is needed. A version that is broken is told (a line at level
    ERROR of the logger "swarm.config", and `on_error`), and the last good one stays. Functions are not imported again.

    Args:
        path, modules, folders, environ: as for `load_config`.
        on_change: called with each new version, in that thread.
        on_error: called with what is wrong with a version, in that thread.

    Raises:
        ConfigFileError: there is something wrong with the first version.
        ConfigError: an extra is not installed.

    Attributes:
        error: what is wrong with the file as it is now, or None.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        modules: Modules = (),
        folders: Sequence[str | os.PathLike[str]] = (),
        environ: Mapping[str, str] | None = None,
        on_change: Callable[[Configuration], object] | None = None,
        on_error: Callable[[ConfigError], object] | None = None,
    ) -> None:
        try:
            from watchfiles import watch
        except ImportError as error:
            raise ConfigError("Reloading needs an extra: pip install 'openswarm[config]'") from error
        self._watch = watch
        self._path = Path(path)
        self._given = (modules, [Path(folder) for folder in folders], os.environ if environ is None else environ)
        self._on_change, self._on_error = on_change, on_error
        self.error: ConfigError | None = None
        self._lock = Lock()
        self._closed = Event()
        self._seen = {self._path: _digest(self._path)}
        files: list[Path] = []
        self._current = read(self._path, *self._given, files)
        self._remember(files)
        self._thread = Thread(target=self._wait, name=f"swarm.config {self._path.name}", daemon=True)
        self._thread.start()

    @property
    def config(self) -> Configuration:
        """The newest version that could be read. Take it once for each conversation, so that all of it is of one version."""
        return self._current

    def reload(self) -> bool:
        """Look now whether a file has changed, and read it if so.

        Returns:
            whether there is a new version.
        """
        with self._lock:
            now = self._digests()
            if now == self._seen:
                return False
            self._seen = now
            files: list[Path] = []
            try:
                found, error = read(self._path, *self._given, files), None
            except ConfigError as failure:
                found, error = None, failure
            self._remember(files)
            self.error = error
            if found is not None:
                self._current = found
        if found is not None:
            logger.info("%s was read again", self._path)
            self._tell(self._on_change, found)
        elif error is not None:
            logger.error("%s has changed and cannot be used, so the last good version stays:\n%s", self._path, error)
            self._tell(self._on_error, error)
        return found is not None

    def close(self) -> None:
        """Stop to wait for changes. The last version stays in `config`."""
        self._closed.set()
        if self._thread is not current_thread():
            self._thread.join()

    def __enter__(self) -> Reloading:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def _remember(self, files: list[Path]) -> None:
        """Know the files of the version that was read; what they held was looked at before it was read, as far as they were known."""
        self._seen = {path: self._seen.get(path) or _digest(path) for path in dict.fromkeys(files)}

    def _tell(self, callback: Callable[..., object] | None, about: object) -> None:
        if callback is None:
            return
        try:
            callback(about)
        except Exception:
            logger.exception("what was to be told of a change of %s failed", self._path)

    def _wait(self) -> None:
        while not self._closed.is_set():
            folders = self._folders()
            with suppress(OSError):  # a folder that is gone for a moment
                for _ in self._watch(
                    *folders,
                    watch_filter=None,
                    recursive=False,
                    stop_event=self._closed,
                    rust_timeout=_LOOK_EVERY,
                    yield_on_timeout=True,
                    raise_interrupt=False,
                ):
                    self._look()
                    if self._folders() != folders:
                        break
            self._closed.wait(0.2)
            self._look()

    def _look(self) -> None:
        try:
            if self._settled():
                self.reload()
        except Exception:
            logger.exception("%s cannot be read again, so the last good version stays", self._path)

    def _settled(self) -> bool:
        """Wait until files that have changed are written: the first half of one may be valid, and lack the rules of the second."""
        seen, now = self._seen, self._digests()
        while now != seen:
            seen = now
            if self._closed.wait(_STILL):
                return False
            now = self._digests()
        return True

    def _digests(self) -> dict[Path, str]:
        return {path: _digest(path) for path in self._seen}

    def _folders(self) -> list[Path]:
        return sorted({path.absolute().parent for path in self._seen})


def _digest(path: Path) -> str:
    """What tells one content of a file from another; of a file that cannot be read, its own."""
    try:
        return sha256(path.read_bytes()).hexdigest() if path.is_file() else "no file"
    except OSError as error:
        return type(error).__name__
