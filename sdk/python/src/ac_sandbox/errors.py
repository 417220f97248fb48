# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, as types.

An answer of acd that is a failure becomes an ApiError, of the class that stands
for its code, which is a stable word. No error has a token in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .api_types import Failure
    from .values import Result


class Error(Exception):
    """All errors of this package."""


class ConfigError(Error):
    """What was given, or the environment, does not say how to reach acd."""


class TransportError(Error):
    """acd cannot be reached, or the connection broke."""


class TransportTimeout(TransportError):
    """acd did not answer in time."""


class ProtocolError(Error):
    """An answer is not what the API describes."""


class ArchiveError(Error):
    """An archive that came from a sandbox is damaged, unsafe or too large."""


class ProgramError(Error):
    """The program `ac` is missing, or has failed."""

    def __init__(self, message: str, exit_code: int | None = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class ConflictsLeft(Error):
    """An apply has left conflicts; `said` is what it did."""

    def __init__(self, said: str) -> None:
        super().__init__(f"conflicts are left:\n{said}")
        self.said = said


class CommandFailed(Error):
    """A command has ended with another exit code than 0."""

    def __init__(self, result: Result) -> None:
        why = result.message or result.reason or "exited"
        super().__init__(f"exit code {result.exit_code} ({why})")
        self.result = result


_BY_CODE: dict[str, type[ApiError]] = {}
_BY_STATUS: dict[int, type[ApiError]] = {}


class ApiError(Error):
    """A failure that acd has answered."""

    def __init_subclass__(
        cls, codes: tuple[str, ...] = (), statuses: tuple[int, ...] = ()
    ) -> None:
        _BY_CODE.update(dict.fromkeys(codes, cls))
        _BY_STATUS.update(dict.fromkeys(statuses, cls))

    def __init__(self, status: int, failure: Failure) -> None:
        super().__init__(f"{failure['message']} ({failure['code']})")
        self.status = status
        self.code = failure["code"]
        self.message = failure["message"]
        self.failure = failure


class InvalidError(
    ApiError, codes=("invalid", "bad_url"), statuses=(400, 405, 416)
):
    """The request is not what the call takes; `key` names the member."""

    @property
    def key(self) -> str | None:
        return self.failure.get("key")


class UnauthorizedError(ApiError, codes=("unauthorized",), statuses=(401,)):
    """There is no token, or it is not known, has expired or was removed."""


class ForbiddenError(ApiError, codes=("forbidden",), statuses=(403,)):
    """The scope of the token does not cover the call."""


class DeniedError(ForbiddenError, codes=("denied", "read_only")):
    """The agent may not do that with a file, or the file system is read-only."""


class NotFoundError(
    ApiError,
    codes=("not_found", "volume_missing", "unknown_name"),
    statuses=(404,),
):
    """There is no such instance, file, snapshot or the like."""


class UnknownBlueprintError(NotFoundError, codes=("unknown_blueprint",)):
    """There is no such blueprint; the message lists those there are."""


class UnknownCommandError(NotFoundError, codes=("unknown_command",)):
    """The command was removed, or acd has been restarted."""


class ConflictError(
    ApiError,
    codes=("conflict", "name_collision", "no_instance", "stopped"),
    statuses=(409,),
):
    """The state of an instance, or something else, does not allow it now."""


class BusyError(ConflictError, codes=("busy",)):
    """It runs, starts, or its files are copied."""


class NotRunningError(ConflictError, codes=("not_running",)):
    """The instance does not run."""


class AlreadyRunningError(ConflictError, codes=("already_running",)):
    """The instance runs already."""


class PausedError(ConflictError, codes=("paused",)):
    """The instance is paused."""


class EndedError(ConflictError, codes=("ended", "stdin_closed")):
    """The command has ended, or takes no more input."""


class CredentialMissingError(ConflictError, codes=("credential_missing",)):
    """The vault does not have a credential that the blueprint names."""

    @property
    def credential(self) -> str | None:
        return self.failure.get("credential")


class ImageMissingError(ConflictError, codes=("image_missing",)):
    """The image of a blueprint has to be built."""

    @property
    def image(self) -> str | None:
        return self.failure.get("image")


class CanceledError(ConflictError, codes=("canceled", "removed")):
    """The instance, or the command, was removed meanwhile."""


class TooLargeError(ApiError, codes=("too_large",), statuses=(413,)):
    """The body of the request has more than 1 MiB."""


class RateLimitedError(ApiError, codes=("too_many",), statuses=(429,)):
    """Too many requests without a valid token."""


class InternalError(
    ApiError, codes=("internal", "snapshot_damaged"), statuses=(500,)
):
    """acd has failed."""


class UnsupportedError(ApiError, codes=("unsupported",), statuses=(501,)):
    """The runtime, or the form of the instance, cannot do that."""


class SandboxFailedError(ApiError, codes=("sandbox_failed",), statuses=(502,)):
    """The file server in the sandbox ended, or its answer is none."""


class UnavailableError(
    ApiError,
    codes=("unavailable", "engine_down", "gateway_down", "edge_down"),
    statuses=(503,),
):
    """Not now: try again later, or do what the message says."""


class StartingError(UnavailableError, codes=("starting",)):
    """acd, its engine or its gateway is starting."""


class DiskFullError(ApiError, codes=("disk_full",), statuses=(507,)):
    """The disk, or the disk limit of the instance, is full."""


class StdinFullError(UnavailableError, codes=("stdin_full",)):
    """1 MiB of input waits for the command to read it."""


def api_error(status: int, failure: Failure) -> ApiError:
    """Returns the error for a failure: by its code, else by its status."""
    cls = _BY_CODE.get(failure["code"]) or _BY_STATUS.get(status, ApiError)
    return cls(status, failure)
