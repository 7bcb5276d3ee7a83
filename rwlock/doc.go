// Package rwlock is the read-write lock: any number of readers at once, or one
// writer, over all processes of a fleet, Go and Java. It is Redisson's
// RReadWriteLock, on the same keys.
//
// [Lock.Read] and [Lock.Write] are the sides. Each is a [lock.Locker], and its holds are
// [lock.Hold]s. What package lock says of leases, of contexts that end before another client can
// acquire the lock, of requests that are sent twice or arrive late, of failovers and of order is
// true here, too. This page describes the differences.
//
// # Readers of one process
//
// The readers of one process share one acquisition on the server. For the time of
// rueidisson.WithHandover from its start, a new reader joins it without a round trip. The next
// reader after that starts another acquisition, next to the first. The last reader of an
// acquisition releases it. While a writer of the process waits, no reader joins: readers that come
// after the writer wait for it. A reader with a fixed lease has an acquisition of its own.
//
// Therefore a force unlock of the read side, or a loss, ends all the holds of an acquisition, and
// [Lock.Readers] counts an acquisition once.
//
// # A read hold's lease
//
// All readers share the time to live of the name. Redisson's renewal sets it to its own watchdog
// timeout, also if it was longer. So the lease of a read hold is stored in steps of at most this
// client's watchdog timeout. The client renews the steps until the lease ends, also if
// [lock.WithLease] fixed the lease. A read hold is trusted for one step at most:
// [lock.Hold.Deadline] returns the end of the step. For this, the watchdog timeout must not be
// longer than Redisson's lockWatchdogTimeout (the defaults are the same). A fixed lease that is
// longer than a step needs renewals, and [lock.Hold.Expiring] warns when they fail.
//
// Each reader has a key of its own, which expires with its lease. The hold of a reader that died
// ends then: a waiting writer of this library checks once a second for readers whose own keys have
// expired, and drops them. If only Redisson's writers wait, the hold ends when the name expires.
//
// # Nested
//
// Under the context of a hold, each side re-enters its own. Under a write hold, the read side is
// acquired at once. If the write hold is unlocked first, that unlock replaces it with a read hold,
// in one step: no other writer gets in, and all waiting readers do. If that step is refused, or not
// answered, the unlock returns an error, and the readers stay under the write hold for as long as
// they last.
//
// A read hold does not become a write hold: the attempt returns [ErrUpgrade]. A writer that is not
// given the context of its own read hold waits for itself, as with a sync.RWMutex.
//
// # Order
//
// Within a process waiters acquire in order of arrival, and readers that are next to each other in
// that order enter together. A writer hands over to the next writer as a lock does, and to readers
// by the step above.
//
// Between processes a waiting writer goes before readers of this library that come after it. It
// reports itself in Redis every half a second, for a second: a writer that dies stops holding
// readers back within a second. For a second after a process has learned of such a writer, new
// readers of the process share an acquisition for a millisecond only.
//
// Readers do not starve. Readers that waited during a write go first after it, for 20 ms, also past
// writers of their own process that came before them. And a reader waits for writers for a watchdog
// timeout at most: then it enters past waiting writers, as Redisson's readers do, and past the
// writers of its own process.
//
// So a second read hold without the context of the first one can wait for a writer that waits for
// the end of the first one, as with a sync.RWMutex. The same is true if another service takes the
// second hold, in a call from the first one's holder. After a watchdog timeout the second one
// enters, and the client logs that (rueidisson.WithLogger). Under the context of the first hold it
// enters at once.
//
// Nothing in Redis holds back Redisson's readers. Measured on two cores, against Redisson threads
// that read in a loop: with two threads a writer waited 9 ms at the median; with four 0.3 s, and
// once 2 s; with sixteen it did not get in within 4 s.
//
// [WithReaderPreference] on the handle that writes selects Redisson's order: readers go past
// waiting writers, which may starve under a steady load of readers.
//
// # What it does not guarantee
//
// The weaknesses of the shared format remain where Redisson takes part. Its readers pass waiting
// writers. A reader of Redisson that died holds back Redisson's writers until the name expires.
// Redisson's readers that wait during a downgrade by Redisson are not notified.
//
// In Redisson, a lock of another family under the same name ignores this one. Here it returns
// [lock.ErrWrongKind], where that is detected.
//
// Each step needs two keys or more. During a slot migration holds stay valid, acquires wait, and
// what is unlocked meanwhile is released as soon as the migration is over.
//
// # In Redis
//
//	name                                      hash: mode -> read or write, owner -> hold count
//	{name}:<owner>:rwlock_timeout:1           string: a reader's lease is its time to live
//	redisson_rwlock:{name}                    channel: 0 from the last reader, 1 from a writer
//	rueidisson_rw_writers:{name}              zset: clients whose writers wait and go first, until when; 1 s
//	rueidisson_rw_readers:{name}              zset: clients whose readers wait, until when; 1 s
//	rueidisson_rw_turn:{name}                 zset: clients whose readers go first after a write; 20 ms
//	rueidisson_gone:{name}                    zset: owners that were released, by time
//
// A writer's owner ends in ":write".
package rwlock
