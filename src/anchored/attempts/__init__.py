"""The parent's side: start a program with the boundary in it, watch it, judge it by what is in the store."""

from anchored.attempts.check import Checked, check_words, checked, run_check
from anchored.attempts.configuration import Project, current_folder, missing_keys, read_project, recorded_environment
from anchored.attempts.forking import ForkServer
from anchored.attempts.in_process import Run, record_block
from anchored.attempts.intervene import check_intervention, choose_intervention
from anchored.attempts.launch import Child, Launch, launch
from anchored.attempts.record import Recorded, record, unobserved
from anchored.attempts.replay import NotReproduced, Replay, ReplayRequest, changed_words, replay
from anchored.attempts.verdict import Verdict, said
from anchored.attempts.watch import Ended, Timing, watch

__all__ = [
    "Checked",
    "Child",
    "Ended",
    "ForkServer",
    "Launch",
    "NotReproduced",
    "Project",
    "Recorded",
    "Replay",
    "ReplayRequest",
    "Run",
    "Timing",
    "Verdict",
    "changed_words",
    "check_intervention",
    "check_words",
    "checked",
    "choose_intervention",
    "current_folder",
    "launch",
    "missing_keys",
    "read_project",
    "record",
    "record_block",
    "recorded_environment",
    "replay",
    "run_check",
    "said",
    "unobserved",
    "watch",
]
