// Package multilock holds several locks as one.
//
// [Multi] is all or nothing: Redisson's RedissonMultiLock over locks of any kind
// and client of this library. [Red] is one lock on several servers, of which more
// than half have to agree. [Group] is many locks under one name. What they return is a
// [lock.Hold] with all that such a hold can do, but [lock.Hold.Token]: nobody can
// take part in a hold of several.
//
//	both := multilock.Multi(c.Lock("account:7"), c.Lock("account:12"))
//	err := lock.Do(ctx, both, transfer)
//
// # What is guaranteed
//
// A hold of several is made of holds of its members, and each of these is what
// it would be by itself: renewed by its own client, trusted until its own lease
// ends less the margin, replayed and given back in the same way. It has no keys,
// leases of its own. It is trusted while every member is, or a quorum of a red
// lock, compared by the clocks at each [lock.Hold.Err]. When that ends the whole is
// lost: its contexts end first, and then the other members are given back, so that
// a program that does not notice blocks nobody.
//
// # Order
//
// Whoever waits for a member of a Multi has those whose names in Redis come before, and none
// behind: two locks of several cannot wait for each other, whatever the order is
// in which they were given. Client ids are new in each process, so the name is
// all that everybody knows. It follows that locks of one name on several servers
// have to be given in the same order everywhere.
//
// # What is not guaranteed
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
// A hold of several has no fencing token of its own. Where a member is a fenced
// lock, locking that under the hold's context re-enters it, without a command, and
// gives its token.
//
// RedissonMultiLock takes its members in the order in which they were given and
// gives up and begins anew after a while, so it deadlocks with nobody either; but
// it may have to begin anew often beside holders that keep to an order.
//
// # Red locks
//
// [Red] is one lock on several servers that know nothing of each other, of which
// more than half have to grant it: the idea of RedissonRedLock, which Redisson
// has deprecated, with what it lacks. It goes on while a minority is dead, silent
// or restarting.
//
//	red := multilock.Red(a.Lock("job"), b.Lock("job"), c.Lock("job")) // clients of three servers
//	err := lock.Do(ctx, red, work)
//
// The hold is trusted while a quorum of its members is, each by its own lease,
// margin and watchdog: there is no other validity. Members that did not answer,
// were busy, or have lost it are asked again while it is held, and join.
//
// What it survives, with h of n members held: nobody else gets the lock while at
// most h - n/2 (n/2 rounded up) of these restart without their data within a
// lease, and however many are dead, silent, or restart with their data. Of five,
// that is two if all are held, and none if three are: if two servers are down,
// three grant the lock, one of these restarts empty and the two return, then
// three servers know of no holder.
//
// Therefore a server has to be up for as long as the longest lease before its
// grant counts towards a new quorum, see [WithRestartGuard]. Its own word is
// taken for that, INFO's uptime_in_seconds: it sees restarts, and neither FLUSHALL
// and DEL, a clock of the server that is set forward while it runs, nor a failover to a replica that has missed the grant, nor data that
// was lost while the server ran on. Servers that have all just been started grant
// nothing for that time. [RestartedError] says which server is meant and from when
// it counts. A member that joins a hold which has its quorum is not asked: it is
// held, whatever its server had forgotten before.
//
// Do not use it where one server, with replicas that acknowledge
// (rueidisson.WithReplicaAcks), is enough, which is nearly everywhere: it is
// there for an outage of that server that must not stop the work. Martin
// Kleppmann's argument against it holds for every lock with a lease: a holder that
// is paused between its last look at the clock and its write writes as if it held
// the lock, however many servers have granted it. And a red lock counts on clocks
// that run at about the same rate on all of its servers, without giving out a
// number that rises with each holder, by which what is written to could refuse the
// older one. Fencing is that number: it keeps out what no clock can, also beside a
// lock on one server, and a red lock has none of its own.
//
// Members of a red lock that are clients of one server, or of servers that share
// a machine or a disk, are no majority of anything. This cannot be seen from here.
// If one of the clients closes, its member is lost to the hold, which goes on; its
// Close waits for the unlock as for any hold.
//
// # Groups of values
//
// [Group] is any number of locks under one name, of which several are taken at
// once by one script: Redisson's lock of getMultiLock(group, values), on its keys.
// A value stands there as a hash of its UTF-8 bytes; to share a group with Java,
// give the Java client a codec for strings. [Group.Of] is a [lock.Locker], and
// what it returns is a hold as any, with all that is promised for one: nothing is
// taken by half, and a release that finds one value taken over by somebody else
// gives the others back and is [ErrLost]. Redisson leaves them, and renews only
// the first holder of each of its processes: here each is.
//
// The format has the time of the clients in it. A client whose clock is ahead by
// more than what is left of a lease takes over what another holds, and one whose
// clock is behind waits for longer: keep the clocks of all who share a group
// together, to less than a twentieth of the shortest lease. Where Java does not
// take part, [Multi] does not depend on clocks. A hold is trusted from before the
// time was read that its request contains, also if that is sent several times.
//
// A name is that of a group, or of a lock, and not of both: a lock of the name of
// a group that is held is [lock.ErrWrongKind], and so is the group of a lock that is.
// Those who only wait are not seen.
//
// # In Redis
//
// What the members write, see package lock, and nothing else. The restart guard
// reads INFO server, in a script. Of a group:
//
//	name                            hash: for each value its field -> owner, field:owner:expire_time -> ms,
//	                                field:owner:lock_count -> 1; with the longest lease as its time to live
//	redisson_lock__channel:{name}   channel: 00 when values become free, which Redisson reads as its own 0
//	rueidisson_group:{name}         channel: the fields of the values that became free, 0 if these are many
//	rueidisson_gone:{name}          zset: owners that were given back, by time
package multilock
