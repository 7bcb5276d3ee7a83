// Package rueidissontest gives unit tests a client of rueidisson without a
// server at hand: it talks to one that runs inside the test process, starts
// empty, and is gone when the test ends.
//
//	func TestOrders(t *testing.T) {
//		c := rueidissontest.NewClient(t)
//		svc := orders.New(c)
//		...
//	}
//
// The code under test cannot tell it from another client. It speaks over TCP on
// 127.0.0.1 and runs the same scripts as everywhere; several clients of one
// [Server] are to each other what several processes are.
//
// # Time
//
// Two clocks matter to a hold. The server's decides when a key expires; the
// machine's decides how long a client trusts what it holds, when it renews, and
// how long it sleeps while it waits.
//
// By default the server's clock is the machine's, and a lease of 200 ms is over
// after 200 ms. [Server.Forward] jumps ahead. With [WithManualClock] the
// server's clock does nothing else: it stays where it is until it is moved.
//
// Only the server can be moved. What that can show:
//
//   - What the next client finds after a holder has crashed: Forward past the lease,
//     and the lock is free. Its waiters are woken and acquire it.
//   - How code takes the loss of a hold: Forward past the lease, and the server no
//     longer knows it. The holder learns that when it unlocks, and else at its next
//     renewal, which comes in the machine's time: within a third of the watchdog
//     timeout, so give such a test a short one,
//     rueidisson.WithWatchdogTimeout(300*time.Millisecond). A hold with a fixed
//     lease is not renewed, and learns it when it unlocks.
//   - What has expired in a cache (rmap.Cache), and what is due in a delayed queue,
//     which count in the clients' time: that of a client of NewClient moves with the
//     server's.
//   - Rules in server time, such as a rate limit's: a second passes in no time.
//
// What it cannot show: that a hold's context ends before the server gives the
// lock away. That promise compares the two clocks, and Forward sets them apart
// on purpose: between it and the next renewal the old holder still trusts what
// another may have. Nor does time that does not move on the server stop the
// client: a fixed lease of 50 ms expires for its holder after 50 ms, though the key
// stays until the clock is moved or the hold is unlocked. Tests of the promise
// itself need a real server, or the default clock and real waiting.
//
// A client does not work inside a bubble of testing/synctest, because it waits
// for the network there.
//
// # What the server cannot do
//
// It is miniredis, a reimplementation for tests, not Redis:
//
//   - no Cluster and no Sentinel: names that break slots are accepted, and
//     [github.com/rueidisson/rueidisson.WithShardedPubSub] changes nothing;
//   - no replicas: with [github.com/rueidisson/rueidisson.WithReplicaAcks] every
//     acquire fails with lock.ErrNotReplicated, as it should;
//   - no version: that a server is too old is not noticed, because it does not say;
//   - no persistence, eviction or ACL: a failover, a restart that forgets, or a
//     denied command are to be tested elsewhere;
//   - keys expire when a command comes by, and the clock moves by 1 ms at least;
//   - it looks at every key once per millisecond of use, and scripts run in an
//     interpreter: it says nothing about speed, and ten thousand keys are too many;
//   - no times to live of fields: rmap.NewTTLMap, and a multimap with WithNativeExpiry, return errors.ErrUnsupported; use
//     rmap.NewCache;
//   - no sharded channels: topic.NewSharded fails;
//   - no CLIENT TRACKING: a near cache that is tracked keeps no copies, says so in its Stats, and reads its map;
//   - no INFO of a restart: a red lock needs redlock.WithRestartGuard(0);
//   - no struct or cmsgpack in scripts, which matters only to code that talks to it past rueidisson.
package rueidissontest
