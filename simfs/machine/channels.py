"""Simulated channels: ordered and closable, as a stream socket between two processes is.

What was sent before the end is still received after it, as with a socket whose other side has gone; what is sent after
the end is thrown away. Nothing is lost or reordered on the way. A `room` bounds how much may be on its way: `full` says
when a sender has to wait.
"""

from __future__ import annotations

from typing import Generic, TypeVar

Message = TypeVar("Message")


class Channel(Generic[Message]):
    """One direction of a connection. `room` is a number of messages, None for no bound."""

    def __init__(self, room: int | None = None) -> None:
        self.messages: list[Message] = []
        self.room = room
        self.closed = False

    @property
    def full(self) -> bool:
        """Whether a sender has to wait."""
        return self.room is not None and len(self.messages) >= self.room

    def send(self, message: Message) -> None:
        """Put a message on its way; asserts that there is room."""
        assert not self.full, "a sender did not wait for room"
        if not self.closed:
            self.messages.append(message)

    def receive(self) -> Message:
        """Take the oldest message."""
        return self.messages.pop(0)

    def close(self) -> None:
        """End it. What is on its way still arrives."""
        self.closed = True

    @property
    def ended(self) -> bool:
        """Whether the receiver has seen everything, and the end."""
        return self.closed and not self.messages
