// Package latch is the countdown latch of a fleet, Go and Java: a count under a name, which some
// processes count down and others wait for. It is Redisson's RCountDownLatch, on the same key. In
// addition there is a [Barrier], which Redisson does not have: a place where a number of parties
// wait for each other, again and again.
//
//	ready := c.Latch("ready")
//	if _, err := ready.TrySetCount(ctx, 12); err != nil { // the coordinator
//		return err
//	}
//	if _, err := ready.CountDownOnce(ctx, "shard 7"); err != nil { // each shard
//		return err
//	}
//	if err := ready.Await(ctx); err != nil { // a waiter for all of them
//		return err
//	}
//
// A latch that was never armed is open, which is Redisson's rule: arm it before the waiters start.
// A latch that has opened can be armed again.
//
// # What it guarantees
//
// A count down counts once, whatever happens between the client and the server: a request may be
// sent twice and may arrive late. Each client has a few exchanges under way about a name. The
// server remembers the last request of each of these for 45 s after it. A second run of that
// request changes nothing, and an older one is refused. If the answer is missing, the client asks
// until the count down is done. A caller that repeats a count down gives it an id
// ([WithRequestID]).
//
// Each repeated send says how old the request is, and the server knows when this library armed the
// latch. So a repeated send does not count in a later arming. A party that counts down by
// CountDownOnce counts once for each arming, also from a process that was started again.
//
// No waiter passes before the latch has opened. A waiter at the time of an opening passes, also if
// the latch is armed again at once. A message may be late, of an earlier round or lost: the state
// on the server decides. Without a message a waiter checks after 5 s at most, and as soon as a lost
// subscription is back.
//
// # What it does not guarantee
//
// A latch has no owner: a client that can reach the name may count it down, arm and delete it. A
// process that dies before its count down leaves the latch closed: give Await a context that ends,
// or the latch a time to live ([WithTTL]). A count down that is not answered, by a server that then
// stays silent for 45 s, may be missing.
//
// If the network delays a first send until the latch was armed anew, it counts in the new arming.
// Redisson does not note when it arms a latch. In an arming by Redisson that followed an opening or
// deletion by this library within 45 s, a repeated send does not count. After 45 s no repeated send
// counts there, and the client gives the count down up. A latch that this library had armed, and
// that Java opened and armed anew while no client of this library saw it open, counts as armed at
// the earlier time. A repeated send counts there if it is younger than that, also after 45 s.
//
// Those times are of the server's clock. If the clock is set back, times that were noted before are
// unusable until the clock has reached them again. Until then a repeated send is treated as if
// Redisson had armed the latch. If the time of the last opening is unusable, too, the send does not
// count, and the caller, or the observer, is notified. After that, for as long as the request is
// old, a repeated send may be treated as one from before the arming, and not count.
//
// A failover, or a restart of a server that had not saved its last writes, may forget the last
// moments: a count down, which is missing then, or an arming. A forgotten latch is open. Count
// downs do not wait for replicas. A server that evicts keys may forget a latch, which opens it:
// policies allkeys-* any latch, and volatile-* one that has a time to live. The parties of such a
// latch may be evicted, too, and may then count again. The memory of requests and of the last
// opening has a time to live, so volatile-* policies evict it, too: then a request that is sent
// again may count twice.
//
// Waiters in Java and here can miss an opening by Java that is followed at once by an arming. An
// arming by Java does not reset the parties of CountDownOnce: arm with this library where that is
// used. The parties are stored as long as the latch. Parties that remain after an opening by Java
// are deleted when this library next reads the open latch, counts it down, arms or deletes it.
//
// # The barrier
//
// All parties of a generation pass, or none. Each has a lease, of a watchdog timeout, which its
// client renews while it waits. A party that dies is detected when its lease ends, and breaks its
// generation for all. So does a party whose context ends or whose client closes. Only the server
// decides whether a generation has opened, and one that it does not know to have opened is broken.
// So a party that was cut off, or stopped, for longer than 45 s beyond its generation's end may get
// ErrBroken although others have passed. A party that gives up while the server does not answer
// gets [ErrOutcomeUnknown].
//
// With [WithAction] the last party runs an action before any of them passes, at most once for each
// generation.
//
// A failover may forget the last arrivals, whose parties then get ErrBroken. It may also forget the
// end of a generation: some parties may have passed, and the others get ErrBroken. An eviction has
// the same effects.
//
// Leases end by the server's clock, and only grow. If the clock is set back, the leases of parties
// that died last longer by as much. For that long they hold up their generation, and the parties
// that leave a double barrier. If the clock is set forward, leases end early: the generation
// breaks, and members get [ErrLost].
//
// # The double barrier
//
// Parties of a [DoubleBarrier] begin work together and end it together. Each enters as at a
// barrier. It is a member then, under a lease that is renewed until it leaves. Parties that leave
// wait until no member of their generation is left. A member that died counts as left when its
// lease ends, and a member that was cut off for that long gets [ErrLost]. A party whose Enter
// returned ErrOutcomeUnknown is no member: its client makes it leave as soon as the server answers.
// Until then the others wait, for a lease at most.
//
//	m, err := c.DoubleBarrier("phase", 12).Enter(ctx)
//	if err != nil {
//		return err
//	}
//	err = work(ctx)
//	return errors.Join(err, m.Leave(ctx))
//
// A failover, or an eviction, may forget the members: parties that leave then do not wait for them.
//
// # One name, one kind
//
// The type of a name is not checked if another object keeps a number there, such as a semaphore.
// Use each name for one kind only. A barrier and a double barrier are two kinds, too.
//
// See docs/guide/synchronizers.md for programs and costs, and docs/redis.md for keys and commands.
package latch
