"""What is on its way to one client: frames up to a bound, so that a client that does not read makes nobody wait.

A connection has room for so many frames that it has not read. Beyond that its frames are dropped, and noted. When it
has read everything it is told of what it lost: an empty tree frame that starts at the newest cursor, which is beyond
its own, so it subscribes again; and a null event with the newest sequence number. Answers and endings are never
dropped and need no room here. Source: seed S1, wire, 3.
"""

from __future__ import annotations

from eukhe.daemon.protocol import Detached, Ended, Frame, lost

FRAMES_MAX = 256


class Outbox:
    """Of one connection. `room` is a number of frames."""

    def __init__(self, room: int = FRAMES_MAX) -> None:
        self._room = room
        self._unread = 0
        self._lost: dict[tuple[type[Frame], str], Frame] = {}

    def offer(self, frame: Frame) -> list[Frame]:
        """A frame is to go out: what is to be sent now."""
        if isinstance(frame, Ended | Detached):
            return [frame]
        if self._unread < self._room:
            self._unread += 1
            return [frame]
        self._lost[type(frame), frame.session] = lost(frame)
        return []

    def drained(self) -> list[Frame]:
        """The client has read everything that was on its way: what is to be sent now."""
        self._unread = 0
        owed, self._lost = self._lost, {}
        return [one for frame in owed.values() for one in self.offer(frame)]

    def forget(self, kind: type[Frame], session: str) -> None:
        """Nobody needs to hear of lost frames of this kind: the client begins anew, or has ended it."""
        self._lost.pop((kind, session), None)
