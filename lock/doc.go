// Package lock is the reentrant lock: one holder at a time over all processes of a fleet, Go and Java. It is
// Redisson's RLock, on the same keys. [Lock.Lock] returns a [Hold], the unit of ownership.
//
// # What it guarantees
//
// The server is the authority. The lock is held by the owner in the lock's hash until the key expires. A hold is
// trusted until
//
//	trustedUntil = attemptStarted + lease - margin
//
// where attemptStarted is the time before the request was sent, and margin is a twentieth of the lease, at least 2
// ms. At that moment the hold is lost, whatever the network does: [Hold.Lost] closes, and the hold's contexts end
// with cause [ErrLost]. The client checks the monotonic clock and the wall clock, because the monotonic clock
// stops in a suspended machine. [Hold.Err], and Err of the hold's contexts, compare the clocks at each call.
// Contexts derived from them end a timer's delay later, or up to 100 ms after a suspended machine woke.
//
// The watchdog renews a hold at every third of its lease. Such a hold lasts as long as its process and one
// connection to the server. A renewal that fails is tried again within the lease, on another connection.
//
// Requests may be sent twice, and may arrive late, without harm. A repeated acquire of an owner that is stored
// already changes nothing, except that it may extend a shorter lease. A late acquire of an owner that was released
// is refused by a tombstone. A late release does not find its owner. A lock that a cancelled wait may have
// acquired is handed to the next waiter of its process, or released.
//
// A server that is out of memory, whose disk fails or whose ACL is being reloaded refuses requests for a while. A
// server without memory still renews, extends, exports and unlocks; it refuses only acquires. Other refused
// requests are repeated: by the call itself for up to three seconds, and a release after that by the client until
// the lease ends.
//
// A cluster may move a name's slot to another node. Meanwhile holds stay valid, waiters keep waiting, and the lock
// is acquired and released as always. A join, the unlock of a hold that was exported or joined, and an acquire
// that replicas have to confirm wait for the end: docs/redis.md has the details.
//
// # What it does not guarantee
//
// A failover, or a restart that loses data, may forget a hold. Its holder learns that at the next renewal; until
// then another client may hold the lock too. A process that is paused may, when it resumes, start another
// operation under a derived context before that context ends. Only the store that is written to can refuse such a
// writer: see [Fenced], [Guard] and package fence.
//
// In a network partition an old master may stay in service next to the promoted one. A holder on the old master's
// side is renewed for as long as the partition lasts, and another client may acquire the lock on the other side.
// Neither is notified. With min-replicas-to-write 1, and min-replicas-max-lag below the lease in seconds, the old
// master refuses renewals once its replicas have gone, and the hold ends with its lease. The same is true of
// rueidisson.WithReplicaAcks with Renewals: a renewal counts only when replicas have confirmed it. When the client
// is made, it logs each master that has replicas and accepts writes without them. A cluster needs no setting: a
// master that is cut off from most other masters refuses writes after cluster-node-timeout.
//
// A server that evicts keys with a time to live (maxmemory-policy volatile-* or allkeys-*) may give the lock to a
// second holder while the first is healthy.
//
// The margin covers clocks that run at slightly different rates, and the time that it takes to stop. It does not
// cover a server clock that jumps.
//
// Within a process the lock is acquired in order of arrival. Between processes there is no order, but they take
// turns.
//
// Latches and tombstones are kept for 45 s. A request that arrives later, because the network delayed it for
// longer, is not recognised. During a slot migration tombstones cannot be read: an acquire that arrives so late
// then takes the lock for three seconds, without a holder.
//
// # The hold
//
// A hold belongs to the code that has the value. It is not tied to a goroutine or to the handle. The context given
// to Lock bounds the wait only. [Hold.Context] makes the context for the work. It ends with the hold, and it
// carries the hold: locking the same name under it re-enters instead of waiting for itself. [Detach] makes a
// context for workers that must exclude their holder and each other.
//
// [Do] does all of that in one call. It joins the error of the unlock to the error of the work. Without Do, check
// the error of the unlock too: [ErrLost] there says that the work may have overlapped with the work of another
// holder.
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
// A nested call with a context that does not carry the hold waits for itself. After a watchdog timeout the client
// logs that at Warn, once for each hold. Without rueidisson.WithLogger the warning is written to
// [log/slog.Default].
//
// # Families
//
// A lock and a fenced lock are one family: they use the same hash and the same messages, here and in Redisson, so
// they exclude each other under one name. A fair lock and a read-write lock are families of their own. Under one
// name, locks of different families would not exclude or not wake each other. An operation that detects this
// returns [ErrWrongKind], which names the other family. It is detected
//
//   - in a context that carries a hold of the other family;
//   - while this client has a hold or a waiter of it;
//   - on the server, while a read-write lock or a group is held, or while a waiter for a fair
//     lock is queued.
//
// Two cases are not detected: a fair lock that another process holds and that has no waiters; and, during a slot
// migration, its waiters. A waiter for a fair lock that died stays queued until another caller asks for that fair
// lock, or until it is force unlocked.
//
// # Between processes
//
// [Hold.Token] makes a hold joinable, and [Lock.Join] takes part in it. Join also takes part in a hold of a Java
// thread. The first guarantee does not cover a joined Java hold: Redisson replaces the lease when its thread
// re-enters or unlocks.
//
// # Cost
//
// Acquire and release: one script call each. Re-entry and hand-over: 0. Renewal: one for up to 100 holds.
//
// See docs/guide/locks.md for the hand-over inside a process, and docs/redis.md for keys and commands.
package lock
