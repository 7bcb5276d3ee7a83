// Package fairlock is the fair lock: one holder at a time over all processes of a fleet, Go and
// Java, and first come, first served over all of them. It is Redisson's RedissonFairLock, on the
// same keys.
//
// Its holds are those of package lock, with the same promises, errors and options: [lock.Hold],
// [lock.Do], [lock.WithLease], [lock.WithWait]. What package lock says of trust, loss, re-entry and
// late requests is true here, too. The difference is the order.
// different is who comes next.
//
// # Order
//
// Each waiter has one place in a queue on the server, whatever its process. It has the place when
// the server has confirmed it. From then on no later waiter acquires the lock before it. A try
// without a wait takes no place and overtakes no living waiter.
//
// There is no hand-over inside a process in addition to that order. But a release gives the lock to
// the front of the queue, in the same step, if that is a waiter of the releasing process with a
// watchdog lease. Else the release notifies the front, on a channel of the front's process.
//
// A waiter whose context ends, or whose wait is over, leaves the queue at once. If the lock is
// free, the next waiter is notified. A hold that was granted in that moment is passed to the next
// waiter, or released.
//
// # Waiters that die
//
// While a process has waiters, the oldest of them reports twice a second that the process is alive,
// and checks whose turn it is. Therefore
//
//   - a process that was killed is passed over by the release itself, because nothing listens
//     on its channel. On a cluster a slot migration ends subscriptions, so a missing listener
//     is proof only for a process that was heard on the node that has the slot. A process that
//     died right after a migration counts as silent. So does every killed process with plain
//     channels;
//   - a process that is silent, stopped or cut off, is passed over 1.4 s after its last report,
//     if a waiter of this library, or a newcomer, is there to detect it;
//   - a Java thread that died at the front is passed over after two notifications, 0.9 s apart,
//     without a listener, while a waiter of this library is there; on a cluster with plain
//     channels after its own deadline;
//   - a waiter that was passed over although it lives comes back at the front.
//
// The round trip time changes none of that while it is less than a second: a process that needs
// longer is silent in between. An increase of the delay from one report to the next by 0.25 s or
// more does: it looks like a server that stopped. A process that reports this renews the time of
// each other process, once. A process that was killed then counts as a silent one, and that may
// take 1.4 s more.
//
// After an outage of the server, in which no report could arrive, all processes have their time
// again, once: an outage or a failover that keeps the queue costs no waiter its place. The
// exception is an outage of at most 0.9 s with an unlock before the front listens again: the front
// may lose its turn, and comes back at the front. A server that stops for a third of the watchdog
// timeout ends subscriptions, too. If that is less than 0.9 s, the front may lose its turn to the
// next waiter, and comes back at the front. All processes also have their time again when the
// server's clock was set back.
//
// The server's clock measures the leases, which is forced by the shared format. If it is set back
// by an hour, the present lease lasts for an hour more if its holder dies. ForceUnlock takes the
// lock away.
//
// A queue whose processes have all died stays until another caller asks for the lock. A waiter
// passes over it in 1.4 s. The first try without a wait starts that time for the dead processes,
// and later tries pass over them if they come within two days. Where only such tries come, the
// server remembers the queue's processes for these two days.
//
// # Next to Java
//
// Redisson drops a front whose deadline has passed by the clock of a Java process, and takes 300 s
// off every deadline when it grants the lock. The processes of this library renew the deadlines of
// their waiters for as long as they wait. They add as much as the Java threads ahead can take off,
// and 10 s for clocks that are ahead. If that was not enough, the waiter comes back at the front,
// and from then on its deadlines have more reserve.
//
// The shared format forces two more limits. If only Java waits, a dead front of this library is
// passed over when the sleep of the Java thread ends, after the lease of the holder at most. And
// Java threads ask without a pause while the lock is free and the front is slow to acquire it.
//
// # What it does not guarantee
//
// The limits of package lock apply. In addition, two waiters that ask at the same time, before
// either has its place, have no order. A waiter with a fixed lease is notified instead of given the
// lock. A hold cannot be joined ([lock.Hold.Token]).
//
// The scripts of a fair lock need several keys. During a slot migration holds stay valid, and
// acquires and releases wait for its end; the client completes such a release in the background.
// Processes cannot report then that they are alive, so all get the time to do so when the migration
// ends, with each migration again. A Java thread at the front that has not subscribed again within
// a second counts as dead. It joins the queue again when its own sleep ends. Eviction of the queue
// (maxmemory-policy allkeys-*) forgets the order: the waiters come back in any order.
//
// # Families
//
// A fair lock is a family of its own. The use of its name for a plain or a fenced lock returns
// [lock.ErrWrongKind] where that is detected, see package lock.
//
// # In Redis
//
//	name                               hash: owner -> hold count, with the lease as its time to live
//	redisson_lock_queue:{name}         list: owners of the waiters, the next one first
//	redisson_lock_timeout:{name}       zset: the deadline of each waiter, ms
//	redisson_lock__channel:{name}:*    channel of a waiter: 0 when it is its turn; ours listen there only while queued after Java
//	rueidisson_fair:{name}:*           channel of a client: the owner whose turn it is
//	rueidisson_fair_alive:{name}       zset: clients of this library with waiters, until when they are alive, and on a
//	                                   cluster the epoch of the server to which they reported it; 10 s,
//	                                   two days where only tries ask
//	rueidisson_fair_idle:{name}        string: a Java thread that did not hear its notification, and since when; 5 s
//	rueidisson_gone:{name}             zset: owners that were released, by time
//
// The owner is "<client id>:<decimal>", as for the reentrant lock. The decimal of a waiter of this
// library has 19 digits; that of a Java thread has fewer.
package fairlock
