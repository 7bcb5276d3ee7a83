// Package lock is the reentrant lock: one holder at a time over all processes
// of a fleet, Go and Java. It is Redisson's RLock, on the same keys.
//
// # The hold
//
// [Lock.Lock] returns a [Hold], the unit of ownership. It belongs to whoever
// has it; nothing is tied to a goroutine or to the handle. The context given to
// Lock bounds the wait. The context that the work needs is made with
// [Hold.Context]: it ends with the hold, and it carries it, so that locking the
// same name under it re-enters instead of waiting for itself. Workers that must
// not get in beside their holder are given [Detach] of it.
//
// [Do] is all of that in one call, and joins the error of the unlock to that of
// the work. By hand, the unlock's error is as much worth having: [ErrLost] there
// is the one that says that the work may have overlapped with another's.
//
//	func charge(ctx context.Context, l *lock.Lock) (err error) {
//		hold, err := l.Lock(ctx)
//		if err != nil {
//			return err
//		}
//		defer func() { err = errors.Join(err, hold.Unlock(ctx)) }()
//		return bill(hold.Context(ctx))
//	}
//
// A nested call that is given another context than the hold's waits for itself.
// After a watchdog timeout the client logs that at Warn, once for each hold. Without
// rueidisson.WithLogger the warning goes to [log/slog.Default].
//
// # What it guarantees
//
// The server is the authority: the lock is held by the owner that stands in its
// hash, until the key's time to live ends. A hold is trusted until
//
//	trustedUntil = attemptStarted + lease - margin
//
// where attemptStarted is taken before the request left, and margin is a
// twentieth of the lease, at least 2 ms. At that moment the hold is lost,
// whatever the network is doing: [Hold.Lost] closes, its contexts end with
// cause [ErrLost]. The monotonic clock counts, and the wall clock is looked at
// too, since the first stands still in a suspended machine. [Hold.Err], and
// Err of the hold's contexts, compare the clocks at each call; contexts derived
// from them end a timer's delay later, or up to 100 ms after a suspended
// machine woke.
//
// While a hold is renewed by the watchdog, at a third of the lease, it lasts as
// long as its process and one connection to the server. Renewals that fail are
// tried again within the lease, on another connection.
//
// Requests may be sent twice, and arrive late, without harm: an acquire of an
// owner that stands already changes nothing but a shorter lease; one that was
// given back is refused by a tombstone; a release finds its owner gone. What a
// cancelled wait may have won goes to the next waiter of its process, or back.
//
// A server that is full, whose disk fails or whose ACL is being reloaded takes
// nothing for a while. One without memory still renews, extends, exports and
// unlocks, and refuses only who wants a lock. What else it refuses is said
// again: for up to three seconds by the call itself, and if that was to give a
// hold back, by the client until the lease ends.
//
// A cluster may move a name's slot to another node for as long as it likes, and
// back: holds live on, waiters wait on, the lock is taken and unlocked as ever.
// Only what has to be remembered in a second key waits for the end of the move:
// a join, the unlock of a hold that was exported or joined, which says so after
// three seconds at most and goes on by itself, and an acquire that replicas have
// to confirm.
//
// # What it does not guarantee
//
// A failover, or a restart that loses data, may forget a hold; its holder is
// told at the next renewal, and until then another may hold the lock too. A
// process that is paused may, when it goes on, start another operation under a
// derived context before that ends. Only what is written to can keep such a
// writer out: see [Fenced], [Guard] and package fence.
//
// In a network partition an old master may live on beside the one that was promoted.
// A holder on the old one's side is renewed for as long as the partition lasts, and
// on the other side another may have the lock: neither is told. With
// min-replicas-to-write 1, and min-replicas-max-lag below the lease in seconds, the
// old master refuses renewals once its replicas have gone, and the hold ends with its
// lease. So it does with rueidisson.WithReplicaAcks and Renewals: a renewal counts only
// when replicas have confirmed it. A master that has replicas and goes on without them
// is named in the log when the client is made. A cluster needs no setting: a master that
// is cut off from most others takes no writes after cluster-node-timeout.
//
// A server that evicts keys with a time to live (maxmemory-policy volatile-* or
// allkeys-*) may give the lock to a second holder while the first is healthy.
//
// The margin covers clocks that run at slightly different rates, and the time
// that it takes to stop. It does not cover a server whose clock jumps.
//
// Order is that of arrival within a process. Between processes there is none,
// but they take turns: whoever releases stands back for a moment, for one more
// of the others that listen than came lately. A moment for nobody is followed by
// nine times as long without one, so listeners that never come cost a tenth of
// the time at most.
//
// Latches and tombstones are kept for 45 s. A request that arrives later than
// that, which takes a network that holds on to it for longer, is not
// recognised. While a slot moves, tombstones are not seen: an acquire that
// arrives so late then takes the lock for nobody, for three seconds.
//
// # Hand-over inside the process
//
// Goroutines of one client that wait for one name queue locally, and only the
// first talks to the server. At an unlock the hold goes to the next of them
// without a round trip, a bounded number of times and for a bounded time per
// acquisition on the server (rueidisson.WithHandover); then it is released, so
// that other processes get their turn. All holds of such a chain have one owner
// on the server. It follows that
//
//   - after a force unlock, the holders of the chain learn it at the next
//     renewal or release on the server, not at a hand-over;
//   - a hold with a fixed lease is neither handed over nor given by hand-over;
//   - a hold that was made joinable with [Hold.Token], or joined, is not either;
//   - a hold is handed over only while it is trusted, and with less than half
//     of its lease left only after a renewal was answered.
//
// # Families
//
// A lock and a fenced one are one family: they are the same hash with the same
// messages, here and for Redisson, so they exclude each other under one name. A
// fair lock and a read-write lock are families of their own. Under one name they
// would not exclude or not wake each other, so mixing them is [ErrWrongKind], which
// names the family that is there, wherever it can be seen: in a context that
// carries a hold of it, while this client has a hold or a waiter of it, and on
// the server by a read-write lock or a group that is held or by somebody who waits for a
// fair one. It cannot be seen that a lock which another process holds is a fair
// one for which nobody waits; nor, while the slot moves, that somebody does. Who
// waited for a fair lock and died is in its queue until another asks for that, or
// it is forced.
//
// # Between processes
//
// [Hold.Token] makes a hold joinable, and [Lock.Join] takes part in it, also in
// a hold of a Java thread. A joined Java hold stands outside of the first
// guarantee: Redisson replaces the lease when its thread re-enters or unlocks.
//
// # In Redis
//
//	name                                      hash: owner -> hold count, with the lease as its time to live
//	redisson_lock__channel:{name}             channel: 0 when the lock becomes free
//	redisson_unlock_latch:{name}:<request>    string: the answer to one unlock of a shared hold
//	rueidisson_join_latch:{name}:<request>    string: the answer to one join
//	rueidisson_gone:{name}                    zset: owners that were given back, by time
//	redisson_lock_token:{name}                string: of a fenced lock, the last token
//	redisson_lock_queue:{name}                list: looked at only; the queue of a fair lock of that name
//
// The braces in derived keys are there in Redis: a hash tag. A name with braces
// of its own is not wrapped in others. The owner is
// "<client id>:<decimal>"; decimals from 2^62 are private holds, from 2^61 those
// that were made joinable, and below are Java threads.
package lock
