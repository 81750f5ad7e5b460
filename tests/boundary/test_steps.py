"""Steps: what comes after what by the framework's word, found when the later event begins."""

import threading

from anchored.boundary import Step
from anchored.boundary.lanes import watch_lanes
from anchored.boundary.steps import current_step
from anchored.events import Edge


def test_a_step_depends_on_the_last_event_of_each_step_before_it_and_only_once() -> None:
    """Issue 4: order of tasks. What is last is asked when the event begins, since ends may be written late."""
    first, second = Step(after=(), kind="task_order"), Step(after=(), kind="task_order")
    after = Step(after=(first, second), kind="task_order")
    assert after.edges() == ()
    first.last = 3
    assert after.edges() == (Edge(position=3, kind="task_order"),)
    second.last = 5
    assert [edge.position for edge in after.edges()] == [3, 5]
    after.begun = True
    assert after.edges() == ()


def test_a_thread_works_on_the_step_that_started_it() -> None:
    """A bare thread has no context variables of its own starter."""
    watch_lanes()
    step = Step(after=(), kind="task_order")
    found: list[Step | None] = []
    with step.inside():
        thread = threading.Thread(target=lambda: found.append(current_step()))
        thread.start()
    thread.join()
    assert found == [step]
    assert current_step() is None
