// Package multilock holds several locks as one.
//
// [Multi] is all or nothing: Redisson's RedissonMultiLock over locks of any kind
// and client of this library. It is a [lock.Locker], and what it returns is a
// [lock.Hold] with all that such a hold can do, but [lock.Hold.Token]: nobody can
// take part in a hold of several.
//
//	both := multilock.Multi(c.Lock("account:7"), c.Lock("account:12"))
//	err := lock.Do(ctx, both, transfer)
//
// # What it guarantees
//
// A hold of several is made of holds of its members, and each of these is what
// it would be by itself: renewed by its own client, trusted until its own lease
// ends less the margin, replayed and given back in the same way. It has no keys,
// scripts and leases of its own. It is trusted while every member is, compared by
// the clocks at each [lock.Hold.Err]. When one is lost the whole is: its contexts
// end first, and then the other members are given back, so that a program that
// does not notice blocks nobody.
//
// Whoever waits for a member has those whose names in Redis come before, and none
// behind: two locks of several cannot wait for each other, whatever the order is
// in which they were given. Client ids are new in each process, so the name is
// all that everybody knows. It follows that locks of one name on several servers
// have to be given in the same order everywhere.
//
// # What it does not guarantee
//
// There is no moment at which all members are taken at once: another may see one
// of them held and the next one free. What is promised is that nobody else holds
// any of them while the hold is trusted.
//
// Two clients of one server are two owners: a hold of a lock by the one and of
// the same lock by the other cannot come about, and waits for itself until its
// context ends. Locking a member under the context of another hold, outside of
// the order of names, can deadlock as with any locks.
//
// RedissonMultiLock takes its members in the order in which they were given and
// gives up and begins anew after a while, so it deadlocks with nobody either; but
// it may have to begin anew often beside holders that keep to an order.
//
// # In Redis
//
// What the members write, see package lock, and nothing else.
package multilock
