# SPDX-License-Identifier: BSD-2-Clause
"""What the model knows of one process: its objects, and what each has gone through.

What is open is kept as a set of possibilities (the states of an EP, how far its queues have come)
or as bounds (a size). An object of which the model has lost track says why in `lost`: rules do not
judge it, nor what depends on it.
"""

from bisect import insort
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

NULL = "DAT_HANDLE_NULL"

UNCONNECTED = "DAT_EP_STATE_UNCONNECTED"
RESERVED = "DAT_EP_STATE_RESERVED"
PASSIVE = "DAT_EP_STATE_PASSIVE_CONNECTION_PENDING"
ACTIVE = "DAT_EP_STATE_ACTIVE_CONNECTION_PENDING"
TENTATIVE = "DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING"
CONNECTED = "DAT_EP_STATE_CONNECTED"
DISCONNECT_PENDING = "DAT_EP_STATE_DISCONNECT_PENDING"
DISCONNECTED = "DAT_EP_STATE_DISCONNECTED"
COMPLETION_PENDING = "DAT_EP_STATE_COMPLETION_PENDING"

# States that only the header has count as their plain state (GEN-7).
PLAIN_STATE = {
    "DAT_EP_STATE_UNCONFIGURED_UNCONNECTED": UNCONNECTED,
    "DAT_EP_STATE_UNCONFIGURED_RESERVED": RESERVED,
    "DAT_EP_STATE_UNCONFIGURED_PASSIVE": PASSIVE,
    "DAT_EP_STATE_UNCONFIGURED_TENTATIVE": TENTATIVE,
}


class Obj:
    """An object of the API, alive or destroyed."""

    __slots__ = ("alive", "context", "ia", "kind", "lost", "name", "serial")

    def __init__(self, kind: str, name: str, ia: "Ia | None") -> None:
        self.kind = kind
        self.name = name
        self.ia = ia
        self.alive = True
        self.lost = ""
        self.context: int | None = 0  # None: not known
        self.serial = 0


class Ia(Obj):
    """An open IA, with what it and its provider declare."""

    __slots__ = ("async_evd", "async_own", "attr", "parameters", "registered")

    def __init__(self, name: str) -> None:
        super().__init__("ia", name, None)
        self.ia = self
        self.async_evd: str | None = None
        self.async_own = True
        self.attr: Mapping[str, Any] = {}
        self.parameters: dict[str, Any] = {}
        self.registered = True  # by dat.conf, as the run opens it


class Pz(Obj):
    """A protection zone."""

    __slots__ = ("users",)

    def __init__(self, name: str, ia: Ia | None) -> None:
        super().__init__("pz", name, ia)
        self.users: set[Obj] = set()


class Lmr(Obj):
    """A registered region. `bound` are the RMRs that are bound to it, `maybe` those that may be."""

    __slots__ = ("bound", "length", "maybe", "mem_type", "privileges", "pz", "told")

    def __init__(self, name: str, ia: Ia | None) -> None:
        super().__init__("lmr", name, ia)
        self.pz: Pz | None = None
        self.privileges: frozenset[str] = frozenset()
        self.length: int | None = None
        self.mem_type = ""
        self.told: dict[str, Any] = {}
        self.bound: set[Obj] = set()
        self.maybe: set[Obj] = set()


class Rmr(Obj):
    """An RMR; `binding` is what it was last bound to, None where it is not bound or not known."""

    __slots__ = ("binding", "known", "pz")

    def __init__(self, name: str, ia: Ia | None) -> None:
        super().__init__("rmr", name, ia)
        self.pz: Pz | None = None
        self.binding: dict[str, Any] | None = None
        self.known = True


class Cno(Obj):
    """A CNO. `triggers` bounds the notifications that were not taken."""

    __slots__ = ("agent", "certain", "doubt", "evds", "possible", "woken_at")

    def __init__(self, name: str, ia: Ia | None) -> None:
        super().__init__("cno", name, ia)
        self.agent: Any = None
        self.evds: set[Evd] = set()  # those that have it, or had it
        self.certain = False  # whether a notification is there that was not taken
        self.possible: dict[str, int] = {}  # by EVD, how many notifications there may be
        self.doubt = ""  # why notifications are not judged
        self.woken_at: float = -1e18  # when a wait last took a notification


class Posted(NamedTuple):
    """A software event that is queued, and when its dat_evd_post_se was made."""

    pointer: Any
    begin: float  # microseconds
    end: float


class Notice:
    """What is known of an EVD's notifications (oracle/notices.py)."""

    __slots__ = (
        "armed_at",
        "attached",
        "bare",
        "bare_at",
        "clear",
        "last_at",
        "posted",
        "shut",
    )

    def __init__(self) -> None:
        self.attached: str | None = None  # the name of its CNO
        self.armed_at: float = 0  # since when it may notify this
        self.bare: Any = None  # its stand when it was last found empty
        self.bare_at: float = -1e18  # it was empty then, or later, and nothing was taken since
        self.last_at: float = -1e18  # when an event was last posted to it, or taken
        self.posted = 0  # software events
        # By CNO: its stand when the CNO had no notification, and when it could notify it no more.
        self.clear: dict[str, Any] = {}
        self.shut: dict[str, Any] = {}


class Evd(Obj):
    """An event dispatcher and its queue, as far as software events fill it."""

    __slots__ = (
        "cno",
        "empty_at",
        "enabled",
        "feeders",
        "flags",
        "hidden",
        "notice",
        "qlen",
        "qlen_least",
        "qlen_most",
        "software",
        "taken",
        "waitable",
    )

    def __init__(self, name: str, ia: Ia | None) -> None:
        super().__init__("evd", name, ia)
        self.cno: str | None = NULL
        self.enabled: bool | None = True
        self.waitable: bool | None = True
        self.flags: frozenset[str] | None = frozenset()
        self.qlen: int | None = None  # what a query last told
        self.qlen_least = 1
        self.qlen_most: int | None = None
        self.software: list[Posted] = []  # events that are queued
        self.feeders: set[tuple[Obj, str]] = set()
        self.empty_at: float = -1e18  # when it was last found empty
        self.notice = Notice()
        self.hidden = False  # whether other events than software ones may be queued
        self.taken = 0


class Srq(Obj):
    """A shared receive queue."""

    __slots__ = (
        "armed",
        "available",
        "doubt",
        "due",
        "due_at",
        "due_made",
        "eps",
        "events",
        "events_least",
        "fresh",
        "held",
        "iov",
        "low_watermark",
        "marks",
        "outstanding",
        "parameters",
        "peak",
        "posted",
        "pz",
        "reaped",
        "resized",
        "room",
        "set_at",
        "size",
        "size_least",
        "size_most",
        "size_told",
        "told_at",
        "undue",
        "waiting",
    )

    def __init__(self, name: str, ia: Ia | None) -> None:
        super().__init__("srq", name, ia)
        self.pz: Pz | None = None
        self.size: int | None = None  # the size, where a query has told it since it last changed
        self.size_told = False  # whether a query has ever told it rightly
        self.size_least = 0
        self.size_most: int | None = None
        # The clause that the next size breaks if it is wrong, where a query had told the size, and
        # then dat_srq_resize was called; and the number of that call.
        self.resized: tuple[str, int] | None = None
        self.iov: int | None = None
        self.low_watermark: int | None = 0
        # Which the mark may be, of an SRQ that was made with another one than 0 (SRQ-8).
        self.marks: frozenset[int] = frozenset()
        # When receives were reaped since a mark was set whose event is still to become due: no more
        # of the last ones than the mark says.
        self.reaped: list[float] = []
        self.posted: list[Receive] = []  # not reaped
        self.peak = 0  # the most of them that there ever were
        self.eps: set[Ep] = set()
        self.events = 0  # watermark events that may come
        self.due = 0  # those of them that must have come
        self.due_made = False  # the first of these is that of the mark it was made with
        self.due_at: float = 0
        self.undue = False  # whether the event of the present mark is still to become due
        self.set_at: float = 0  # when the present mark was set
        self.armed = False
        # What was told since a receive was last posted or reaped, or the state of an EP changed.
        self.available: int | None = None
        self.held: dict[Ep, int] = {}
        self.told_at: float = 1e18
        self.doubt = ""  # why the number of outstanding receives is not known
        # In doubt: how many of those posted since are surely outstanding; None where not known.
        self.fresh: int | None = None
        self.parameters: dict[str, Any] = {}

    def changes(self) -> None:
        """What was told of its receives may hold no longer."""
        self.available = None
        self.held.clear()
        self.told_at = 1e18

    def reaps(self, at: float) -> None:
        """A receive was reaped. With as many as the mark, no fewer than the mark were there."""
        mark = self.low_watermark
        if self.undue and mark:
            insort(self.reaped, at)
            del self.reaped[:-mark]

    def loses(self, why: str) -> None:
        """Some of the receives so far may not be reaped any more; later ones are not among them."""
        if not self.doubt or self.fresh is not None:
            self.fresh = 0
        self.doubt = why

    @property
    def outstanding_now(self) -> int | None:
        """Receives posted and not reaped; None where it is not known."""
        return None if self.doubt else len(self.posted)

    @property
    def outstanding_least(self) -> int:
        """The fewest receives that are outstanding; the most are `posted`."""
        if not self.doubt:
            return len(self.posted)
        known = not any(ep.lost or ep.doubt for ep in self.eps)
        return (self.fresh or 0) if known else 0


class Receive:
    """A receive that was posted. `length` is the room of its vector, None where not recorded."""

    __slots__ = (
        "at",
        "bad_from",
        "cookie",
        "length",
        "lmrs",
        "maybe_bad",
        "n",
        "segments",
        "unsignalled",
    )

    def __init__(self, cookie: Any, length: int | None, segments: int) -> None:
        self.cookie = cookie
        self.length = length
        self.segments = segments
        self.maybe_bad = False
        self.unsignalled = False
        self.lmrs: tuple[str, ...] = ()
        self.n = 0  # of the call that posted it
        self.at: float = 0
        self.bad_from: int | None = None  # the first byte that must not be moved


class Request(Receive):
    """A send, an RDMA or a bind."""

    __slots__ = ("begin", "flushed", "kind", "memory", "reach", "rmr", "suppressed", "turn")

    def __init__(self, kind: str, cookie: Any, length: int | None, segments: int) -> None:
        super().__init__(cookie, length, segments)
        self.kind = kind
        self.suppressed = False
        self.flushed = False
        self.rmr = ""
        self.reach: Any = None  # of an RDMA: what it may reach (windows.py)
        self.memory: Mapping[str, Any] = {}  # what the record has of its bytes
        self.turn = 0
        self.begin: float = 0  # of the call that posted it


class HighMarks:
    """The high watermarks of an EP; None is one that is infinite, or not known."""

    __slots__ = (
        "ahead",
        "events",
        "former",
        "hard",
        "known",
        "least_hard",
        "lowest",
        "reaped",
        "set_at",
        "sets",
        "soft",
        "told",
    )

    def __init__(self) -> None:
        self.known = True
        self.soft: int | None = None
        self.hard: int | None = None
        self.set_at: float = 0  # when they were last set
        self.told = False  # whether an event has come since
        self.sets = 0  # of a mark that is not infinite: each may raise one event
        self.events = 0
        self.lowest: int | None = None  # of the marks whose events may come
        self.former = 0  # those among them that were replaced
        self.least_hard: int | None = None  # of all that there ever were
        self.ahead: int | None = None  # receives that the EP has told to have taken
        self.reaped: list[float] = []  # when receives of messages were


class Ep(Obj):
    """An endpoint.

    `states` are those that it may have had when it was last seen. `streams` is the set of pairs
    (receives, requests) completed so far that explain the completions taken: more than one pair
    where both come on one EVD and look alike.
    """

    __slots__ = (
        "attr",
        "before",
        "changed",
        "connect_evd",
        "connections",
        "doubt",
        "ever",
        "high",
        "learned",
        "lossy",
        "marks",
        "origin",
        "pending",
        "pz",
        "receives",
        "recv_evd",
        "recv_evds",
        "request_evd",
        "request_evds",
        "requests",
        "reused_at",
        "rsp",
        "srq",
        "srq_reaped",
        "states",
        "strays",
        "streams",
        "was",
    )

    def __init__(self, name: str, ia: Ia | None) -> None:
        super().__init__("ep", name, ia)
        self.pz: Pz | None = None
        self.recv_evd: str | None = NULL  # None: not known
        self.request_evd: str | None = NULL
        self.connect_evd: str | None = NULL
        self.recv_evds: set[str] = set()  # all that it ever had
        self.request_evds: set[str] = set()
        self.srq: Srq | None = None
        self.attr: dict[str, Any] = {}
        self.was: dict[str, Any] = {}  # values that a change may have left as they were (EP-17)
        self.learned: dict[str, Any] = {}  # numbers above the request that were told
        self.states: frozenset[str] = frozenset((UNCONNECTED,))
        self.receives: list[Receive] = []
        self.requests: list[Request] = []
        self.streams: frozenset[tuple[int, int]] = frozenset(((0, 0),))
        self.lossy = (0, 0)  # up to which receive and request completions may be lost
        self.doubt = ""  # why completions are not judged
        self.connections: list[Connection] = []
        self.ever = False  # whether it was ever asked to connect, or may have been
        self.origin = "consumer"
        self.rsp: Sp | None = None
        self.marks = 0
        self.high = HighMarks()
        self.pending: list[tuple[Any, str]] = []  # answers that a later state may disprove
        self.changed: set[str] = set()  # what was changed in Unconnected
        self.before: dict[str, Any] = {}  # what the last such change of a parameter has replaced
        self.srq_reaped = 0
        # The call that made it, where an EP that is gone may have had its handle; 0: none may.
        self.reused_at = 0
        self.strays = 0  # completions of the SRQ that are its own, or of that EP

    def begins(self, connection: "Connection") -> None:
        """A connection of the EP begins, which may take receives of an SRQ. Those are never reaped
        where it has no EVD for them.
        """
        self.connections.append(connection)
        self.ever = True
        if self.srq is not None:
            self.srq.changes()
        if self.srq is not None and self.recv_evd in (None, NULL):
            self.srq.doubt = "an EP has no EVD for the receives that it takes"
            self.srq.fresh = None

    @property
    def connection(self) -> "Connection | None":
        """The latest attempt to connect."""
        return self.connections[-1] if self.connections else None


class Connection:
    """An attempt to connect, as one end sees it. `phase`: pending, up or over."""

    __slots__ = (
        "aborted",
        "accepted",
        "accepted_at",
        "acked",
        "active",
        "by_us",
        "data_given",
        "data_sent",
        "ended_at",
        "ep",
        "exact",
        "failed",
        "left_at",
        "local",
        "number",
        "other",
        "phase",
        "ports",
        "private_given",
        "private_sent",
        "qualifier",
        "reaped",
        "rejected",
        "request",
        "room",
        "sent",
    )

    def __init__(self, ep: Ep, active: bool) -> None:
        self.ep = ep
        self.active = active
        self.phase = "pending"
        self.qualifier: Any = None
        self.private_sent: int | None = None  # with the request or the acceptance
        self.private_given: int | None = None  # by the acceptance, to the end that asked
        self.data_sent: Any = None  # the private data, where it is recorded
        self.data_given: Any = None
        self.by_us = False  # this end has disconnected
        self.left_at: float | None = None  # when it began to, or its EP or IA to go
        self.failed = False  # whether a transfer of this end has failed
        self.aborted = False  # this end has given up before the connection was there
        self.accepted = False
        self.rejected = False
        self.local = False  # whether the service point is one of this process
        self.other: Connection | None = None
        self.request: Cr | None = None
        self.number = 0  # of the call that began it
        self.ports: dict[str, Any] = {}
        # Messages: length, end of the call, digest, begin of the call.
        self.sent: list[tuple[int | None, float, Any, float]] = []
        self.acked: list[float] = []  # of the first of them: when the success was reaped
        self.room: list[float] = []  # receives of its own: when posted
        self.reaped = 0  # receives that have completed to it with a message
        self.exact = True  # whether `reaped` and `sent` are known
        self.accepted_at: float | None = None
        self.ended_at: float | None = None  # when it was known to be at its end

    def leaves(self, at: float) -> None:
        """This end begins to give the connection up."""
        self.by_us = True
        self.lasts_to(at)

    def lasts_to(self, at: float) -> None:
        """What this end does from then on ends the connection, if nothing has before."""
        if self.left_at is None:
            self.left_at = at


class Sp(Obj):
    """A service point, public or reserved."""

    __slots__ = ("ep", "evd", "flag", "qualifier", "requests", "spent")

    def __init__(self, kind: str, name: str, ia: Ia | None) -> None:
        super().__init__(kind, name, ia)
        self.qualifier: Any = None
        self.evd: str = NULL
        self.flag: Any = None
        self.ep: Any = NULL
        self.requests = 0
        self.spent = False


class Cr(Obj):
    """A connection request that an event has told of."""

    __slots__ = ("asker", "ep", "parameters", "sp")

    def __init__(self, name: str, ia: Ia | None) -> None:
        super().__init__("cr", name, ia)
        self.sp: Sp | None = None
        self.ep: Any = None
        self.asker: Connection | None = None
        self.parameters: dict[str, Any] = {}


class Side:
    """One process: its objects by their names in the records."""

    __slots__ = (
        "accepts",
        "asked_by",
        "attributes",
        "cleared",
        "connects",
        "counts",
        "cut",
        "deferred",
        "gone",
        "ias",
        "last",
        "links",
        "minor_texts",
        "objects",
        "offset",
        "opaque",
        "opened",
        "overslept",
        "peer",
        "proven",
        "qualifiers",
        "reading",
        "registry",
        "serial",
        "texts",
        "threads",
        "trace",
        "who",
        "works",
    )

    def __init__(self, who: str, attributes: Mapping[str, Any]) -> None:
        self.who = who
        self.attributes = attributes
        self.objects: dict[str, Obj] = {}
        self.ias: list[Ia] = []
        self.counts: dict[str, int] = {}
        self.qualifiers: dict[Any, Sp] = {}
        self.connects: list[Connection] = []
        self.accepts: dict[str, Connection] = {}  # by the name of the request
        self.links: dict[int, str] = {}  # attempts of this process: requests of the peer
        self.asked_by: dict[str, int] = {}  # requests of this process: attempts of the peer
        self.offset: tuple[float, float] | None = None  # what peer times are less than ours
        self.proven: list[tuple[Any, str]] = []  # deviations that a later call has proven
        self.works: set[str] = set()  # parameters whose change had its effect (EP-17)
        self.deferred: list[tuple[str, Any, str, str]] = []
        self.cut = False
        self.threads = False
        self.serial = 0
        self.opened = 0  # IAs, over time
        self.opaque = False  # whether another process is part of the trace
        self.last: float = 0  # when the last call of the process ended
        self.peer: Side | None = None
        self.trace: Any = None
        self.reading = ""
        self.cleared = False  # whether the case has begun to clear up
        # By the number of a wait, what it has slept through: the wait, the clause, why.
        self.overslept: dict[int, tuple[Any, str, str]] = {}
        self.texts: dict[str, str] = {}  # by type of a return
        self.minor_texts: dict[tuple[str, str], str] = {}  # by type and subtype
        self.gone: list[Obj] = []
        self.registry: Any = None  # of a program of its own; False where it is not known

    def add(self, obj: Obj) -> None:
        """Enter a new object. Threads that make and free objects at once may record one by the name
        of another one, which had its handle.
        """
        if self.threads and obj.name in self.objects:
            obj.lost = "another object has had its name"
        self.serial += 1
        obj.serial = self.serial
        self.objects[obj.name] = obj
        self.counts[obj.kind] = self.counts.get(obj.kind, 0) + 1

    def end(self, obj: Obj) -> None:
        """The object is destroyed."""
        if obj.alive:
            obj.alive = False
            self.counts[obj.kind] = self.counts.get(obj.kind, 0) - 1

    def get(self, name: Any) -> Any:
        """The object of that name, alive or not; None where there is none."""
        return self.objects.get(name) if isinstance(name, str) else None

    def live(self, kind: str) -> Iterable[Any]:
        """The objects of a kind that are alive."""
        return [obj for obj in self.objects.values() if obj.alive and obj.kind == kind]
