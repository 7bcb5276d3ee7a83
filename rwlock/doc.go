// Package rwlock is the read-write lock: any number of readers at once, or one
// writer, over all processes of a fleet, Go and Java. It is Redisson's
// RReadWriteLock, on the same keys.
//
// [Lock.Read] and [Lock.Write] are the sides. Each is a [lock.Locker], and its
// holds are [lock.Hold]s: what package lock says of leases, of contexts that end
// before the server gives the lock away, of requests that are sent twice or
// arrive late, of failovers and of order holds here too. This page says what is
// different.
//
// # Readers of one process
//
// They share one acquisition on the server. For the time of
// rueidisson.WithHandover from its start, a reader that comes joins it without a
// round trip; the next one after that starts another beside it. The last one of
// an acquisition gives it back. No reader joins while a writer of the process
// waits: those who come behind it wait for it. A reader with a fixed lease has
// an acquisition of its own.
//
// It follows that a force unlock of the read side, or a loss, ends all the holds
// of an acquisition, and that [Lock.Readers] counts it once.
//
// # A read hold's lease
//
// All readers share the time to live of the name, and Redisson's renewal sets
// that to its own watchdog timeout, also if it was longer. So the lease of a read
// hold stands in Redis in steps of at most this client's watchdog timeout, which
// are renewed until its end, also if [lock.WithLease] fixed that; and it is
// trusted for a step at most: [lock.Hold.Deadline] is that of the step. For this
// the watchdog timeout must not be longer than Redisson's lockWatchdogTimeout
// (the defaults are the same). A fixed lease that is longer than a step needs a
// renewal, and warns by [lock.Hold.Expiring] when they fail.
//
// Each reader has a key of its own, which stands for as long as its lease. The
// hold of a reader that died ends with it: a writer of this library that waits
// looks once a second for readers whose own keys are gone, and drops them. Where
// only Redisson's writers wait, the name's time to live has to end.
//
// # Nested
//
// Under the context of a hold, each side re-enters its own. Under a write hold,
// the read side is taken at once, and if the write hold is unlocked first, that
// unlock puts a read hold in its place, in one step in which no other writer gets
// in, and all waiting readers do. If that step is refused, or not answered, the
// unlock says so, and the readers stand under the write hold for as long as they
// last. A read hold does not become a write hold: [ErrUpgrade]. A writer that is
// not given the context of its own read hold waits for itself, as with a
// sync.RWMutex.
//
// # Who goes first
//
// Within a process the order is that of arrival, and readers that stand next to
// each other go together. A writer hands over to the next writer as a lock does,
// and to readers by the step above.
//
// Between processes a writer that waits goes before readers of this library that
// come after it. It says so in Redis every half a second, for a second: one that
// dies stops holding readers back within a second. For a second after a process was
// told of such a writer, newcomers share its readers' acquisitions for a
// millisecond only.
//
// Readers do not starve. Those who waited during a write go first after it, for
// 20 ms, also past writers of their own process that came before them. And a reader
// stands back for a watchdog timeout at most: then it enters past writers that wait,
// as Redisson's does, and past those of its own process.
//
// So a second read hold that is not given the context of the first one waits for a
// writer that waits for the first one to end, as with a sync.RWMutex: also if the
// second one is taken by another service that the first one's holder calls. It goes
// on after a watchdog timeout, and the log names it then (rueidisson.WithLogger). Under
// the context of the hold it enters at once.
//
// Redisson's readers are not held back by anything that Redis keeps: beside two of
// its threads that read in a loop, on two cores, a writer waited 9 ms at the median,
// beside four 0.3 s and once 2 s, and beside sixteen it did not get in within 4 s.
//
// [WithReaderPreference] on the handle that writes is Redisson's order: readers go
// past writers that wait, which under a steady load of readers may starve.
//
// # What it does not guarantee
//
// The weaknesses of the shared format stay where Redisson takes part: its readers
// pass waiting writers; a reader of its that died holds back its writers until
// the name's time to live ends; its readers that wait during one of its own
// downgrades are not told.
//
// A lock of another family under the same name takes no notice of this one in
// Redisson. Here it is [lock.ErrWrongKind], where that can be seen.
//
// While a slot moves, holds live on; who wants the lock waits, and what is
// unlocked meanwhile is given back as soon as the move is over: each step needs
// two keys or more.
//
// # In Redis
//
//	name                                      hash: mode -> read or write, owner -> hold count
//	{name}:<owner>:rwlock_timeout:1           string: a reader's lease is its time to live
//	redisson_rwlock:{name}                    channel: 0 from the last reader, 1 from a writer
//	rueidisson_rw_writers:{name}              zset: clients whose writers wait and go first, until when; 1 s
//	rueidisson_rw_readers:{name}              zset: clients whose readers wait, until when; 1 s
//	rueidisson_rw_turn:{name}                 zset: those who go first after a write; 20 ms
//	rueidisson_gone:{name}                    zset: owners that were given back, by time
//
// A writer's owner ends in ":write".
package rwlock
