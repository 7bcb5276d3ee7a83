// Package core is the lowest floor of a client: its settings, the errors that programs
// branch on, owner ids, the clock, the goroutines that Close waits for, and the
// observers. It sends nothing to a server.
//
// The floors stand on each other, and each embeds the one below:
//
//	locking.Engine   acquisitions, the queue of a process, hand-over, holds
//	  wait.Waits     subscriptions, and waits that look when something is heard
//	    lease.Keeper leases: renewal, trust, loss
//	      send.Sender  one exchange with a server: retries, topology, cleanup
//	        core.Core  settings, errors, goroutines, observers
//
// What a floor has, all floors above it have. An object gets the Engine. What starts or ends a floor is a
// function of its package, not a method, so that neither an object nor a program has it: locking.New and
// locking.Close call it.
//
// # The order in which a client ends
//
//	Shut           new calls fail with ErrClosed, waiters wake; cleanup tasks run once more
//	watchdog ends  no more renewals; the contexts of holds end with ErrClosed
//	AwaitHolders   until the last hold is released or its lease is over
//	hub ends       no more messages
//	End            goroutines end; the connection closes, if it is the client's own
//
// The context of Close bounds all of it: CutShort ends the exchanges under way when it has ended.
package core
