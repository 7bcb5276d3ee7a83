// Package semaphore is the counting semaphore of a fleet, Go and Java: a number
// of permits under a name, of which processes take some and give them back. It
// is Redisson's RSemaphore, on the same key.
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
// # Whom it trusts
//
// Permits have no owner. Whoever reaches the name can give back what it never
// took, which mints permits, and set, reduce or delete them: Release,
// SetPermits, AddPermits, Drain and Delete are for programs that are trusted with
// it. And nobody gives back what a process that died had taken.
//
// # What it guarantees
//
// No more permits are granted than there are, whatever happens between the
// client and the server: a request may be sent twice and arrive late. The server
// remembers the last request of each of the few exchanges that a client may have
// under way about a name, for 45 s after it; a second run of that changes
// nothing, and an older one is refused. If the answer to a request stays out,
// the client asks until it is known what became of it: what was taken for a
// caller that was told [ErrUnknown] goes back, and what was to be given is given
// once. So the sum of free and taken permits stays.
//
// A cancelled or timed-out acquire leaves nothing taken: what its request may
// still win goes to the next waiter of its process, or back.
//
// Within a process those who wait are served in the order of their arrival,
// whatever they ask for: a large request is not starved by the small ones behind
// it. Processes take turns; the server does not know who waits, so a request for
// many permits can be starved by other processes that take few.
//
// # What it does not guarantee
//
// A process that dies with permits, or in the moment in which it has been granted
// some, has taken them for good. So has one whose request was not answered, if
// the server then stays silent for 45 s.
//
// A failover may forget what the last moments took or gave: the number of permits
// may be off by that for ever. rueidisson.WithReplicaAcks lowers the risk for
// what is taken. A server that evicts keys may forget the semaphore.
//
// Nothing knows that a name is that of another object which keeps a number, such
// as Redisson's permit semaphore or latch: one name, one kind.
//
// # Hand-over inside the process
//
// A release gives its permits to the next goroutine of the same client that
// waits for exactly so many, without a call: on the server they stay taken. It
// does so a bounded number of times, and for a bounded time, before it asks the
// server again (rueidisson.WithHandover). It follows that permits which are taken
// away with AddPermits, or deleted, or whose time to live ends, may be handed on
// for that long.
//
// # In Redis
//
//	name                                      string: how many permits are free, below 0 after a reduction
//	redisson_sc:{name}                        channel: how many are free, when some were given
//	rueidisson_lane:{name}:<client id>:<n>    string: the last request of an exchange, 45 s
//
// The braces in derived keys are there in Redis: a hash tag. A name with braces
// of its own is not wrapped in others. Java reads the numbers as 32 bits, so there
// are at most 2^31-1 permits.
package semaphore
