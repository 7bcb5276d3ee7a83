// Package locking is the highest floor of a client: how a caller gets a lock, how a
// process hands it over, and how it is released. [New] puts the floors together.
// Objects get an [Engine] and a name, and contain only their own logic.
//
// # A caller on its way to a hold
//
//	Acquire ──► turn is free ──► head ──► asks ──┬─ won ──────────────► hold
//	   │                          ▲  ▲           └─ refused: subscribes,
//	   │                          │  │              waits, asks again
//	   └─► queued in the process ─┘  │
//	             │   turn given on   │
//	             └─ hold handed over ┴─ it ended on its way: asks as head
//
// At most one goroutine of a process, the head, asks the server about a name; it has the
// turn. The others queue ([handover.Queue]) and send nothing. Whoever ends without a hold
// gives the turn on, and whoever inherits it looks itself.
//
// # A release
//
//	Release ──► other seats stay (shared) ─────────────────► hold stays
//	   │
//	   ├─► a local waiter, half of the lease left, fewer ───► hold passes to it
//	   │   than Handovers, within HandoverTime                (the server hears nothing)
//	   ├─► the same with too little lease: renew first ─────► hold passes
//	   └─► else ────────────────────────────────────────────► release script, then the
//	                                                          turn goes on
//
// A release that is not answered is repeated until the server has answered or has
// forgotten the owner ([lease.Keeper.GiveBackLater]).
//
// # Locks whose queue is on the server
//
// A [Queued] lock (fair_acquire.go) has no head: each waiter has a place in the server's
// queue, and asks once in its turn.
//
//	ask ── free ──► hold
//	 │
//	 └─ queued ──► waits ──► told by a release ──► asks ──► hold
//	                 │ every 0.5 s the front of the process says
//	                 │ that it lives (fair_keep.go)
//	                 └─ place lost ──► brought back, in front of later ones
//
// A release gives the lock to the first waiter that hears it. A process that has not
// said for [Alive] that it lives is passed over. This is part of this package and not of one
// below or above, since its waiters, holds and hand-over are those of all locks.
package locking
