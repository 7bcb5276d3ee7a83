// Package redlock is one lock on several servers that know nothing of each other; more than half of them have
// to grant it. It stays available while a minority is dead, silent or restarting.
//
//	red := redlock.New(a.Lock("job"), b.Lock("job"), c.Lock("job")) // clients of three servers
//	err := lock.Do(ctx, red, work)
//
// It is the idea of RedissonRedLock, which Redisson has deprecated, with the parts that RedissonRedLock lacks. It returns a
// [lock.Hold] that can do everything except [lock.Hold.Token]: a hold of several locks cannot be joined.
//
// # What it guarantees
//
// The hold is trusted while a quorum of its members is, each by its own lease, margin and watchdog:
// there is no other validity. The clocks are compared at each [lock.Hold.Err]. Members that did not answer, were busy, or
// have lost their part are asked again while the lock is held, and join. When fewer than a quorum are left, the whole hold
// is lost: its contexts end first, and then the other members are released, so that a program that does not notice blocks
// no other client.
//
// This is what a hold with h of n members survives. No other client gets the lock while at most h -
// n/2 (n/2 rounded up) of these restart without their data within a lease. Any number of members
// may be dead, silent, or restart with their data. Of five members, two may restart empty if all
// five are held, and none if three are held. For example, two servers are down, and the other three
// grant the lock. One of the three restarts empty, and the two return. Then three servers know of
// no holder.
//
// # The restart guard
//
// Therefore a server has to be up for as long as the longest lease before its grant counts towards
// a new quorum, see [WithRestartGuard]. The guard reads INFO's uptime_in_seconds, so it detects
// restarts. It does not detect
//
//   - FLUSHALL and DEL;
//   - a clock of the server that is set forward while it runs;
//   - a failover to a replica that has missed the grant;
//   - data that was lost while the server ran on.
//
// Servers that have all just been started grant nothing for that time. [RestartedError] names the
// server, and the time from which it counts. A member that joins a hold which has its quorum is not
// checked: it is held, whatever its server had forgotten before.
//
// # What it does not guarantee
//
// Do not use a red lock where one server is enough, with replicas that acknowledge
// (rueidisson.WithReplicaAcks). That is nearly everywhere: a red lock is for an outage of that
// server that must not stop the work. Martin Kleppmann's argument against it applies to every lock
// with a lease. A holder that is paused between its last look at the clock and its write writes as
// if it held the lock, however many servers have granted it. A red lock also depends on clocks that
// run at about the same rate on all of its servers, and it has no number that rises with each
// holder. With such a number, a fencing token, a store can refuse the writes of the older holder.
// Fencing protects where no clock can, with a lock on one server, too. A red lock has no fencing
// token of its own.
//
// Members that are clients of one server, or of servers that share a machine or a
// disk, are no majority of anything. The library cannot detect this. If one of the clients closes,
// the hold loses its member and stays valid with the others. The client's Close waits for the
// unlock as for any hold.
//
// Locks of one name on several servers have to be given in the same order everywhere.
//
// # Cost
//
// An acquire is one script call for each member, all in one round trip, and so is a release. The uptime follows the
// acquire in the same round trip, but on a cluster.
//
// See docs/guide/locks.md for programs and costs, and docs/redis.md for keys and commands. A red lock
// writes the keys of its members, and nothing else.
package redlock
