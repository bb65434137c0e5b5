"""The daemon: one supervisor, one worker process a session, and clients, over Unix sockets.

`supervisor`, `worker` and `follower` are machines without I/O: messages in, messages out. `protocol` says what the
messages are. The shell around them (`serving`, `working`, `following`) moves bytes and decides nothing.
"""
