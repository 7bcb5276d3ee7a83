// Package semaphore is the counting semaphore of a fleet, Go and Java: a number
// of permits under a name, of which processes take some and give them back.
//
// There are two kinds, on the keys of Redisson's. [Semaphore] is RSemaphore: its
// permits are mere numbers, such as a stock. [PermitSemaphore] is
// RPermitExpirableSemaphore: each permit has an id, a lease, and a holder who is
// told when it is lost, so that a process which dies gives its permits back.
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
// Permits of a [Semaphore] have no owner. Whoever reaches the name can give back
// what it never took, which mints permits, and set, reduce or delete them: Release,
// SetPermits, AddPermits, Drain and Delete are for programs that are trusted with
// it. And nobody gives back what a process that died had taken.
//
// # What it guarantees
//
// No more permits are granted than there are, whatever happens between the
// client and the server: the client may send a request twice, and a send may arrive
// late. The server remembers the last request that changed something, of each of the
// few exchanges that a client may have under way about a name, for 45 s. A second
// run of that changes nothing, and an older request is refused. If the answer to a request stays out,
// the client asks until it is known what became of it: what was taken for a
// caller that was told [ErrOutcomeUnknown] goes back, and what was to be given is given
// once. So the sum of free and taken permits stays. The server also knows when this
// library set the permits: what is to go back from before that is dropped. A release that
// its caller repeats counts twice, unless it has an id ([WithRequestID]).
//
// A cancelled or timed-out acquire leaves nothing taken: what its request may
// still win goes to the next waiter of its process, or back.
//
// Within a process those who wait are served in the order of their arrival,
// whatever they ask for: a large request is not starved by the small ones behind
// it. Processes take turns; the server does not know who waits, so a request for
// many permits can be starved by other processes that take few, unless all have handles
// with [WithFleetOrder].
//
// # What it does not guarantee
//
// A process that dies with permits, or in the moment in which it has been granted
// some, has taken them for good. So has a client that is closed before its permits
// were released: Close waits for no holder of them, and gives back only what is
// granted while it runs. So has one whose request was not answered, if the server
// then stays silent for 45 s.
//
// A refused acquire writes nothing, so the server does not remember it. The client
// settles what it sent twice itself. A proxy or a transport that delivers requests
// twice can have such a copy take permits for nobody, which are missing for ever.
// Other refused requests are remembered, unless the server is full, but for releases with
// ids of their own, which their callers may repeat.
//
// A failover, or a restart of a server that had not saved its last writes, may forget
// what the last moments took or gave: the number of permits may be off by that for
// ever. rueidisson.WithReplicaAcks lowers the risk of a failover for what is taken. A
// server that evicts keys may forget the semaphore.
//
// Redisson does not note when it sets permits. Where it set a semaphore anew, a take from
// before that whose answer was lost goes back all the same, and a release from before that
// counts if the server takes it within 45 s. One that it takes later is given up, also where
// nothing was set anew. But Redisson's delete leaves the note of this library. So where that
// had set permits of the name before, a release from before the new setting counts whenever
// the server takes it, unless [Semaphore.Delete] came between.
//
// The server's clock tells whether permits were set before or after a request of which nobody
// knows what became of it. If it is set back, a setting from before that has a time to come. Until
// the clock has come there, such requests are seen to as if Redisson had set the permits: what
// was taken goes back, and a release is done within 45 s, and given up and told later. If the
// permits were set while it was under way, it counts beside them. A request that is under way
// in the moment in which the clock is set back, or comes by the time of the setting again, may be
// dropped: what it was to give, and what it took, is missing for ever. A clock that is set forward
// by more than 45 s makes the server forget requests: a further send of one that is under
// way counts again.
//
// Nothing knows that a name is that of another object which keeps a number: a
// semaphore of the other kind, or a latch. One name, one kind.
//
// # Hand-over inside the process
//
// A release gives its permits to the next goroutine of the same client that
// waits for exactly so many, without a call: on the server they stay taken. It
// does so a bounded number of times for each that the server has granted to a
// waiter, and for a bounded time, before it asks the server again
// (rueidisson.WithHandover). It follows that permits which are taken away with
// AddPermits, or deleted, or whose time to live ends, may be handed on for that
// long.
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
// A [Permit] is to its work what a hold is to that of a lock. It is trusted until
//
//	trustedUntil = attemptStarted + lease - margin
//
// where attemptStarted is taken before the request left, and margin is a twentieth
// of the lease, at least 2 ms. At that moment it is lost, whatever the network is
// doing: its contexts end with cause [ErrLost], before the server gives the permit
// to another. Unless it was acquired [WithLease], it is renewed at a third of the
// watchdog timeout, for as long as its process and one connection to the server
// last. What a process that died held comes back after one lease, as soon as
// somebody asks; until then it harms nobody.
//
// [PermitSemaphore.AcquireN] takes several permits in one step, all or none.
// [PermitSemaphore.Adopt] takes over a permit of another process by its id. [WithLabel]
// says who holds a permit, to whoever lists them.
//
// Nobody can mint a permit: each id is given back once. Requests may be sent twice,
// and arrive late: an acquire of an id that is there changes nothing but a shorter
// lease, and one that was given back is refused by a tombstone for 45 s. But nobody
// is asked who he is: whoever reaches the name can release what is not his by
// [PermitSemaphore.ReleaseID], and set, reduce or delete permits. A holder learns
// of it at the next renewal; one with a fixed lease, which is not renewed, at
// [Permit.Extend] or [Permit.Release] only.
//
// A server that evicts keys may forget who holds permits, but not how many are free:
// those are then missing until [PermitSemaphore.SetPermits] counts anew. If it forgets
// the number only, whoever sets it anew counts those that are held.
//
// The end of a lease is counted by the server's clock. Redisson compares it with the
// clock of its own machine: a JVM that is ahead takes permits early, by as much as
// it is ahead. One that is renewed has at least two thirds of the watchdog timeout
// left, 20 s by default, as long as renewals get through; one with a fixed lease has
// no such room.
//
// A server's clock that is set forward ends leases early by as much, so that a
// permit may be granted which another is trusted with still: one that is renewed
// until its next renewal, which says that it is gone, within a third of the
// watchdog timeout; one with a fixed lease until its own end, of which each holder
// judges by its own clock. One that is set back grants nothing twice: what a process
// that died held comes back later by as much, and who is there releases as ever.
//
// A failover, or a restart that loses data, may forget the last permits, and then
// more are granted than there are, until their holders are told at their next
// renewals: for a lease at most. rueidisson.WithReplicaAcks lowers the risk.
//
// A permit is not handed over inside the process, since its id may be known
// elsewhere; but a release and the next acquire of its process go out in one call,
// as often and as long as rueidisson.WithHandover allows.
//
// # In Redis
//
//	name                                      string: how many permits are free, below 0 after a reduction
//	{name}:timeout                            zset: ids of permits with leases, 16 bytes each -> end of the lease, ms
//	rueidisson_gone:{name}                    zset: ids that were given back before their acquire was answered
//	rueidisson_label:{name}                   hash: ids of permits with labels -> label
//	redisson_sc:{name}                        channel: how many are free, when some were given
//	rueidisson_lane:{name}:<client id>:<n>    string: the last request of an exchange, 45 s
//	rueidisson_request:{name}:<id>            string: how many a release gave that its caller may repeat
//	rueidisson_order:{name}                   the keys of a fair lock of that name, see [WithFleetOrder]
//	rueidisson_set:{name}                     string: when this library set the permits, µs of the server's clock
//
// The braces in derived keys are there in Redis: a hash tag. A name with braces
// of its own is not wrapped in others. Java reads the numbers as 32 bits, so there
// are at most 2^31-1 permits.
package semaphore
