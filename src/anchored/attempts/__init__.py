"""The parent's side: start a program with the boundary in it, watch it, judge it by what is in the store."""

from anchored.attempts.configuration import Project, read_project, recorded_environment
from anchored.attempts.launch import Child, Launch, launch
from anchored.attempts.record import Recorded, record
from anchored.attempts.replay import Replay, ReplayRequest, replay
from anchored.attempts.verdict import Verdict
from anchored.attempts.watch import Ended, Timing, watch

__all__ = [
    "Child",
    "Ended",
    "Launch",
    "Project",
    "Recorded",
    "Replay",
    "ReplayRequest",
    "Timing",
    "Verdict",
    "launch",
    "read_project",
    "record",
    "recorded_environment",
    "replay",
    "watch",
]
