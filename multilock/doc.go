// Package multilock holds several locks as one.
//
// [Multi] is all or nothing: Redisson's RedissonMultiLock over locks of any kind and client of this
// library. [Group] is many locks under one name. Both return a [lock.Hold] that can do everything except
// [lock.Hold.Token]: a hold of several locks cannot be joined. Package redlock is one lock on several servers; more than
// half of them have to agree.
//
//	both := multilock.Multi(c.Lock("account:7"), c.Lock("account:12"))
//	err := lock.Do(ctx, both, transfer)
//
// # What is guaranteed
//
// A hold of several locks is made of holds of its members. Each of these is what it would be by
// itself: its own client renews it, it is trusted until its own lease ends less the margin, and it
// is replayed and released in the same way. The hold of several has no keys and no lease of its
// own. It is trusted while every member is, compared by the clocks at each [lock.Hold.Err]. When that ends, the whole hold is lost: its contexts end first, and then
// the other members are released, so that a program that does not notice blocks no other client.
//
// # Order
//
// A waiter for a member of a Multi holds the members whose names in Redis come before it, and none
// that come after it. So two locks of several cannot wait for each other, whatever the order in
// which their members were given. The name is the only order that all processes know, because
// client ids are new in each process. Therefore locks of one name on several servers have to be
// given in the same order everywhere.
//
// # What is not guaranteed
//
// There is no moment at which all members are acquired at once: another client may see one of them
// held and the next one free. The promise is that no other client holds any of them while the hold
// is trusted.
//
// Two clients of one server are two owners. A hold of one lock by both of them is not possible: it
// waits for itself until its context ends. Locking a member under the context of another hold,
// outside of the order of names, can deadlock as with any locks.
//
// A hold of several has no fencing token of its own. If a member is a fenced lock, locking that
// member under the hold's context re-enters it, without a command, and gives its token.
//
// RedissonMultiLock acquires its members in the order in which they were given, and gives up and
// starts again after a while. So it does not deadlock with holders of this library, but next to
// them it may have to start again often.
//
// # Groups of values
//
// [Group] is any number of locks under one name. One script acquires several of them at once. It is
// Redisson's lock of getMultiLock(group, values), on its keys. A value is stored as a hash of its
// UTF-8 bytes; to share a group with Java, give the Java client a codec for strings. [Group.Of] is
// a [lock.Locker], and it returns a hold with all promises of a hold: the values are acquired all
// or none. A release that finds one value taken over by another client releases the others and
// returns [ErrLost]. Redisson leaves them held, and renews only the first holder of each of its
// processes: here each holder is renewed.
//
// The format contains the time of the clients. A client whose clock is ahead by more than the rest
// of a lease takes over what another client holds. A client whose clock is late waits for longer.
// Keep the clocks of all clients that share a group together, to less than a twentieth of the
// shortest lease. Where Java does not take part, [Multi] does not depend on clocks. The trust in a
// hold is counted from before the client read the time in its request, also if the request is sent
// several times.
//
// A name is the name of a group or of a lock, not of both. A lock with the name of a held group
// returns [lock.ErrWrongKind], and so does a group with the name of a held lock. Waiters alone are
// not detected.
//
// See docs/guide/locks.md for programs and costs, and docs/redis.md for keys and commands. A lock of several
// writes the keys of its members, and nothing else.
package multilock
