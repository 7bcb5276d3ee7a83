// Package semaphore is the counting semaphore of a fleet, Go and Java: a number of permits under a
// name, which processes acquire and release.
//
// There are two kinds, on the keys of Redisson's. [Semaphore] is RSemaphore: its permits are mere
// numbers, such as a stock. [PermitSemaphore] is RPermitExpirableSemaphore: each permit has an id,
// a lease, and a holder that is notified when the permit is lost. So the permits of a process that
// dies come back.
//
//	stock := c.Semaphore("stock:42")
//	if _, err := stock.TrySetPermits(ctx, 500); err != nil {
//		return err
//	}
//	switch err := stock.TryAcquire(ctx, 1); {
//	case errors.Is(err, semaphore.ErrNotAcquired):
//		return soldOut
//	case err != nil:
//		return err
//	}
//
// # What it guarantees
//
// No more permits are granted than there are, whatever happens between the client and the server. A
// client may send a request twice, and a request may arrive late. Each client has a few exchanges
// under way about a name. For each of these the server remembers, for 45 s, the last request that
// changed something. A second run of that request changes nothing, and an older request is refused.
//
// If the answer to a request is missing, the client asks until the outcome is known. Permits that
// were taken for a caller that got [ErrOutcomeUnknown] go back, and permits that were to be
// released are released once. So the sum of free and taken permits stays the same. The server also
// knows when this library set the permits: permits from before that are not added. A release that
// its caller repeats counts twice, unless it has an id ([WithRequestID]).
//
// A cancelled or timed-out acquire takes no permits. Permits that its request may still get are
// given to the next waiter of its process, or released.
//
// Within a process waiters are served in the order of their arrival, whatever they ask for: small
// requests do not starve a large one that came before them. Processes take turns. The server does
// not know the waiters, so other processes that take few permits can starve a request for many,
// unless all have handles with [WithFleetOrder].
//
// # What it does not guarantee
//
// Some permits stay taken for ever:
//
//   - those of a process that dies while it has them, or in the moment in which they are
//     granted;
//   - those of a client that is closed before they are released: Close does not wait for their
//     holders, and releases only what is granted while it runs;
//   - those of a request that was not answered, if the server then stays silent for 45 s.
//
// A refused acquire is not remembered: a proxy that delivers it twice can take permits without a holder.
// Permits that were set anew, and a server's clock that is set, may make the number wrong: see the guide.
//
// A failover, or a restart of a server that had not saved its last writes, may forget the last
// takes and releases: the number of permits may be wrong by these for ever.
// rueidisson.WithReplicaAcks lowers the risk of a failover for takes. A server that evicts keys may
// forget the semaphore.
//
// The type of a name is not checked if another object keeps a number there, too: a semaphore of the
// other kind, or a latch. Use each name for one kind only.
//
// # Trust
//
// Permits of a [Semaphore] have no owner. A client that can reach the name can release permits that
// it never acquired, which creates permits, and can set, reduce or delete them. Release,
// SetPermits, AddPermits, Drain and Delete are for programs that are trusted with that. The permits
// of a process that died are not released.
//
// # Permits with leases
//
//	p, err := c.PermitSemaphore("reports").Acquire(ctx)
//	if err != nil {
//		return err
//	}
//	defer func() { err = errors.Join(err, p.Release(ctx)) }()
//	return report(p.Context(ctx))
//
// A [Permit] is for its work what a hold of a lock is. It is trusted until
//
//	trustedUntil = attemptStarted + lease - margin
//
// where attemptStarted is the time before the request was sent, and margin is a twentieth of the
// lease, at least 2 ms. At that moment it is lost, whatever the network does: its contexts end with
// cause [ErrLost], before the server grants the permit to another client. Unless it was acquired
// [WithLease], it is renewed at every third of the watchdog timeout, for as long as its process and
// one connection to the server last. The permits of a process that died come back after one lease,
// at the next request; until then they stay taken.
//
// [PermitSemaphore.AcquireN] acquires several permits in one step, all or none.
// [PermitSemaphore.Adopt] takes over a permit of another process by its id. [WithLabel] adds a text
// about the holder, which a list of the permits shows.
//
// Permits cannot be created by a release: each id is released once. Requests may be sent twice, and
// arrive late. An acquire of an id that is stored already changes nothing, except that it may
// extend a shorter lease. A late acquire of a released id is refused by a tombstone for 45 s.
//
// But the caller's identity is not checked. A client that can reach the name can release the permit
// of another by [PermitSemaphore.ReleaseID], and can set, reduce or delete permits. A holder learns
// that at the next renewal. A holder with a fixed lease, which is not renewed, learns it at
// [Permit.Extend] or [Permit.Release] only.
//
// A server that evicts keys may forget the holders of permits, but not the number of free ones. The
// evicted permits are then missing until [PermitSemaphore.SetPermits] counts anew. If the server
// forgets only the number, setting it anew counts the held permits.
//
// The server's clock measures the leases. Redisson compares them with the clock of its own machine:
// a JVM whose clock is ahead takes permits early, by as much as it is ahead. A renewed permit has
// at least two thirds of the watchdog timeout left, 20 s by default, as long as renewals succeed. A
// permit with a fixed lease has no such reserve.
//
// A server's clock that is set forward ends leases early by as much, so a permit may be granted while
// another holder still trusts it. A clock that is set back grants no permit twice.
//
// A failover, or a restart that loses data, may forget the last permits. Then more are granted than
// there are, until their holders learn it at their next renewals: for a lease at most.
// rueidisson.WithReplicaAcks lowers the risk.
//
// See docs/guide/synchronizers.md for clocks, costs and the hand-over inside a process, and docs/redis.md
// for keys and commands.
package semaphore
