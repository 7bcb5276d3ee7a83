// Package latch is the countdown latch of a fleet, Go and Java: a count under a
// name, which some count down and others wait for. It is Redisson's
// RCountDownLatch, on the same key. Beside it there is a [Barrier], of which
// Redisson has none: a place where so many parties wait for each other, again and
// again.
//
//	ready := c.Latch("ready")
//	if _, err := ready.TrySetCount(ctx, 12); err != nil { // the coordinator
//		return err
//	}
//	if _, err := ready.CountDownOnce(ctx, "shard 7"); err != nil { // each shard
//		return err
//	}
//	if err := ready.Await(ctx); err != nil { // whoever waits for all of them
//		return err
//	}
//
// A latch that was never armed is open, which is Redisson's rule: arm it before
// those are started who wait. One that has opened can be armed again.
//
// # What it guarantees
//
// A count down counts once, whatever happens between the client and the server:
// a request may be sent twice and arrive late. The server remembers the last
// request of each of the few exchanges that a client may have under way about a
// name, for 45 s after it; a second run of that changes nothing, and an older one
// is refused. If the answer stays out, the client asks on until the count down is
// done. A caller that repeats one gives it an id ([WithRequestID]). Each further send says how old the request is, and the server knows when this
// library armed the latch: so a further send counts in no later arming. A party that counts down by CountDownOnce counts once for each arming,
// also from a process that was started again.
//
// Nobody passes before the latch has opened, and who waited when it did passes,
// also if it is armed again at once: a message may be late, of an earlier round or
// lost, and what counts is what the server says then. Without a message a waiter
// looks after 5 s at most, and as soon as a subscription that was cut stands again.
//
// # What it does not guarantee
//
// Nobody owns a latch: whoever reaches the name may count it down, arm and delete
// it. A process that dies before its count down leaves the latch closed: give Await
// a context that ends, or the latch a time to live ([WithTTL]). A count down that is not answered, by a server that then
// stays silent for 45 s, may be missing.
//
// A first send that the network holds back until the latch was armed anew counts in
// that arming. Redisson does not note when it arms a latch: there a further send
// counts in no arming that followed an opening or deletion by this library within
// 45 s, and no further send counts after 45 s. The client gives that count down up then. A latch that this library had
// armed, and that Java opened and armed anew while nobody of this library saw it open, passes for armed at the earlier
// time: a further send counts there if it is younger than that, also after 45 s.
//
// Those times are of the server's clock. What it noted before it went back tells nothing until it has come there again:
// a further send counts as where Redisson armed the latch, and if the last opening is of such a time, too, it counts
// nothing, and the caller, or the observer, is told. Then, for as long as the request is old, a further send may be
// taken for one of before the arming, and count nothing.
//
// A failover, or a restart of a server that had not saved its last writes, may forget
// the last moments: a count down, which is missing then, or an arming, and a latch
// that was forgotten is open. No count down waits for replicas. A server that evicts keys may
// forget a latch, which opens it: policies allkeys-*, and volatile-* one that has a time
// to live. So may its parties, which may then count again. What has one,
// the memory of requests and of the last opening, volatile-* evict, too: then a
// request that is sent again may count twice.
//
// An opening by Java that is followed at once by an arming can be missed by those
// who wait, in Java and here. An arming by Java leaves the parties of CountDownOnce
// as they are: arm with this library where that is used. They live as long as the latch;
// what an opening by Java leaves of them goes when this library next looks at the
// open latch, counts it down, arms or deletes it.
//
// # The barrier
//
// All parties of a generation pass, or none. Each has a lease, of a watchdog
// timeout, which its client renews while it waits: one that dies is seen when that
// ends, and breaks its generation for all, as does one whose context ends or whose
// client closes. What became of a generation is the server's word alone, and what
// it does not know to have opened is broken: so a party that was cut off, or
// stopped, for longer than 45 s beyond its generation's end may find that broken
// which others have passed. One that gives up while the server does not answer
// cannot know it, and gets [ErrOutcomeUnknown].
//
// With [WithAction] the last party runs an action before any of them passes, once at most
// for each generation.
//
// A failover may forget the last arrivals, whose parties then get ErrBroken, and
// the end of a generation: some of it may have passed, and the others get
// ErrBroken. So may an eviction.
//
// Leases end by the server's clock, and only grow. If it goes back, those of parties that died last longer by as much as it
// went back: for so long they hold up their generation, and those that leave a double barrier. If it goes forward, leases
// end early: the generation breaks, and members get [ErrLost].
//
// # The double barrier
//
// Parties of a [DoubleBarrier] begin work together and end it together. Each enters as at
// a barrier, and is a member then, under a lease that is renewed until it leaves. Those
// that leave wait until no member of their generation is left. A member that died is
// gone when its lease ends, and one that was cut off for that long gets [ErrLost]. One whose Enter was ErrOutcomeUnknown is no
// member: its client says that it leaves as soon as the server answers, and until then the others wait, for a lease at most.
//
//	m, err := c.DoubleBarrier("phase", 12).Enter(ctx)
//	if err != nil {
//		return err
//	}
//	err = work(ctx)
//	return errors.Join(err, m.Leave(ctx))
//
// A failover may forget who is inside, and so may an eviction: those that leave then do
// not wait for them.
//
// # One name, one kind
//
// Nothing knows that a name is that of another object which keeps a number, such
// as a semaphore: one name, one kind. A barrier and a double barrier are two kinds, too.
//
// # In Redis
//
//	name                                             string: what is left to count down; none: open
//	redisson_countdownlatch__channel__{name}         channel: 1 armed, 0 open
//	rueidisson_lane:{name}:<client id>:<n>           string: the last request of an exchange, 45 s
//	rueidisson_request:{name}:<id>                   string: what a count down left that its caller may repeat
//	rueidisson_opened:{name}                         string: when it opened last, µs of the server's clock, 45 s
//	rueidisson_parties:{name}                        hash: who has counted down once, until it opens
//	rueidisson_armed:{name}                          string: when it was armed, µs of the server's clock, until it opens
//
// Of a barrier, 45 s longer than the last lease, or than its last generation:
//
//	name                                             hash: parties, gen, the number of the present generation; acts, who runs the action
//	{name}:waiting                                   zset: who waits, by the end of its lease
//	{name}:opened                                    zset: generations that opened, 45 s
//	{name}:arrival:<client id>:<n>                   string: the generation that a party has arrived for, and as which
//	{name}:inside:<generation>                       zset: members of a double barrier, by the end of their leases
//	rueidisson_barrier__channel:{name}               channel: the generation that ended, or has left
//
// The braces in derived keys are there in Redis: a hash tag. A name with braces
// of its own is not wrapped in others, but in the channel of a latch, as Redisson
// does it: on a cluster such a name is refused for a latch.
package latch
