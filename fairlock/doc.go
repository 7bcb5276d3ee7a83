// Package fairlock is the fair lock: one holder at a time over all processes of
// a fleet, Go and Java, and first come, first served over all of them. It is
// Redisson's RedissonFairLock, on the same keys.
//
// Its holds are those of package lock, with the same promises, errors and
// options: [lock.Hold], [lock.Do], [lock.WithLease], [lock.WithWait]. What that
// page says of trust, loss, re-entry and late requests holds here, too. What is
// different is who comes next.
//
// # Order
//
// Each waiter has one place in a queue on the server, in whatever process it
// is. It has its place when the server has answered that; from then on nobody
// who comes later has the lock before it. A try without a wait takes no place
// and overtakes nobody who is alive.
//
// There is no hand-over inside a process beside that order. But the release of
// a process gives the lock, in the same step, to the front of the queue if that
// is a waiter of its own with a watchdog lease; else it tells the front, on a
// channel of the front's process.
//
// A waiter whose context ends, or whose wait is over, leaves at once, and if the
// lock is free the next one is told. A hold that it was given in that moment
// goes on to the next, or back.
//
// # Waiters that die
//
// While a process has waiters, the oldest of them says twice a second that the
// process is alive, and looks whose turn it is. It follows that
//
//   - a process that was killed is passed over by the release itself, as nobody
//     hears that it is its turn. On a cluster subscriptions end with a slot that
//     moves: it is proof of one that was heard where the slot is. One that died right
//     behind a move counts as a silent one, and so does any with plain channels;
//   - a process that is silent, stopped or cut off, is passed over 1.4 s after
//     it was last heard of, as long as a waiter of this library, or a newcomer,
//     is there to see it;
//   - a Java thread that died at the front is passed over when it was told twice,
//     0.9 s apart, and nobody heard it, while a waiter of this library is there;
//     on a cluster with plain channels when its own deadline has passed;
//   - a waiter that was passed over though it lives comes back at the front.
//
// How long the way to the server takes changes nothing of that, as long as a round
// trip takes less than a second: a process that needs longer is silent in between.
// What does is a way that becomes longer from one word to the next by 0.25 s or
// more, which looks like a server that stood still. A process that says so gives
// each other one its time anew, once: one that was killed then counts as a silent
// one, and that may take 1.4 s more.
//
// When the server itself was away, so that nobody has been heard of, all have
// that time anew, once: an outage or a failover that keeps the queue costs nobody
// its place. One that is over within 0.9 s, with an unlock before who is first listens
// again, may cost it its turn; it comes back at the front. A server that stands still ends subscriptions, too, a third of the
// watchdog timeout later: if that is less than 0.9 s, who is first may lose its turn
// to the next by it, and comes back at the front. All have their time anew when the
// server's clock was set back, too. Leases are as long as its clock says, which is
// forced by the shared format: one that is set back by an hour makes the lease that
// stands then last for an hour more, if its holder dies. ForceUnlock takes it away.
//
// A queue of which every process has died stays until somebody asks for the lock.
// Who waits passes over it in 1.4 s. Of tries without a wait, the first gives its
// processes that time, and those after it pass over them, if they come within two
// days. So long the server remembers it where only such tries come.
//
// # Beside Java
//
// Redisson drops a front whose deadline has passed by the clock of a Java
// process, and takes 300 s off every deadline when it grants the lock. The
// processes of this library write the deadlines of their waiters anew for as
// long as they wait, with so much more as the Java threads ahead can take off,
// and with 10 s for clocks that are ahead. If that was not enough, the waiter
// comes back at the front, and from then on deadlines have more.
//
// Two more things are forced by the shared format. Where only Java waits, a front
// of this library that died is passed over when the sleep of the Java thread
// ends, after the lease of the holder at most. And Java threads ask without a pause
// while the lock is free and the front is slow to take it.
//
// # What it does not guarantee
//
// All that package lock does not. Two waiters that ask at the same time, before
// either has its place, have no order. A waiter with a fixed lease is told and
// not given the lock. Nobody can take part in a hold ([lock.Hold.Token]).
//
// The scripts of a fair lock need several keys: while a slot moves, holds live
// on, and acquires and releases wait for its end; a release goes on by itself.
// Nobody can say meanwhile that it is alive, and all get the time to say it when
// the move ends, with each move anew. A Java thread at the front that has not
// subscribed again within a second counts as dead, and joins the queue anew when
// its own sleep ends. Eviction of the queue (maxmemory-policy allkeys-*) forgets
// the order; the waiters come back in any.
//
// # Families
//
// A fair lock is a family of its own: a plain or a fenced lock under its name is
// [lock.ErrWrongKind] where that can be seen, see package lock.
//
// # In Redis
//
//	name                               hash: owner -> hold count, with the lease as its time to live
//	redisson_lock_queue:{name}         list: owners that wait, the next one first
//	redisson_lock_timeout:{name}       zset: until when each of them is waited for, ms
//	redisson_lock__channel:{name}:*    channel of a waiter: 0 when it is its turn; ours listen there behind Java only
//	rueidisson_fair:{name}:*           channel of a client: the owner whose turn it is
//	rueidisson_fair_alive:{name}       zset: clients of this library with waiters, until when they are alive, and on a
//	                                   cluster the epoch of the server to which they said so; 10 s,
//	                                   two days where only tries ask
//	rueidisson_fair_idle:{name}        string: a Java thread that was told in vain, and since when; 5 s
//	rueidisson_gone:{name}             zset: owners that were given back, by time
//
// The owner is "<client id>:<decimal>", as for the reentrant lock: the decimal
// of a waiter of this library has 19 digits, which that of no Java thread has.
package fairlock
