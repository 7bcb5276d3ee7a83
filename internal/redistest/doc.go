// Package redistest gives tests the world that they run against: real Redis and Valkey servers, alone, as a
// Cluster or under Sentinels, a miniredis with a real clock, a proxy that breaks connections on purpose, and
// real child processes.
//
// # Servers
//
// [Start] runs a server of one's own, which may be killed, paused and restarted. [Shared] gives the server that all
// tests of a package share, which may not. Both listen on 127.0.0.1 only, and nothing outlives the test process:
// whatever was started is killed by its own process id when the test ends, and on Linux by the kernel if
// the test process itself is killed.
//
// The binaries are those that the variables REDIS_SERVER_7, REDIS_SERVER_8 and VALKEY_SERVER_8 name, else
// redis-server-7, redis-server-8 and valkey-server-8 in .servers/bin of the module, where "make servers" puts them,
// else, for 7.0, the redis-server on PATH. A test whose server is missing is skipped, unless
// RUEIDISSON_REQUIRE_SERVERS=1 says that it has to fail.
//
// # TestMain
//
// Every package that uses this one hands its TestMain over, which stops the shared servers, looks for leaked
// goroutines, and turns the process into a child when [StartChild] has started it:
//
//	func TestMain(m *testing.M) {
//		redistest.Main(m, redistest.Children{"holder": holder})
//	}
//
//	func holder(p *redistest.Parent) {
//		p.Say("ready")
//		line, _ := p.Hear()
//		p.Say("heard %s", line)
//	}
//
// # Faults
//
// [NewProxy] stands between a client and a server and understands what they say to each other, so that "the reply to
// that script is lost" and "that request arrives late" are one line each. For a Cluster or for Sentinels, [Through]
// leads the client's connections through proxies. [RecordScripts] is a client that notes which scripts it calls, and can
// hold it up around them.
//
// # Everyday and soak
//
// Everything that belongs to one object, tests of its own package and of those that only it uses, takes at most a minute
// in `make test`, with the race detector. What is worth more than that, statistics, long fleets, a hundred thousand
// rounds, says both counts, and `make soak` runs every test with the larger one and prints which:
//
//	for range redistest.Count(t, 200, 100_000) {
//
// Nothing else depends on the switch (RUEIDISSON_SOAK=1): a test does the same in both, and asserts the same.
package redistest
