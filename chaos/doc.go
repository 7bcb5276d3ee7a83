// Package chaos tests what the library promises under faults.
//
// Processes of several goroutines use a few objects through proxies, while a nemesis breaks what stands between them and the
// server, or the server itself, or the processes. Each process appends what it does to a record. When the round is over,
// oracles read the records. They know the promises and nothing of the library's inside.
//
// # What a run shows
//
// An oracle that finds nothing proves little: a round may never have come near a defect. So a round counts its chances. A
// chance is a moment at which a defect would have shown, such as a lock that passes from a process that died to another one.
// A run fails if an object that is tested had no chance.
//
// The run also finds seeds. A seed is a known defect: the proxies exchange a script for one that is wrong in one place. A run
// fails if an oracle does not find a seed in time.
//
// # Topologies
//
// The servers are one server, a master and its replica under Sentinels, a cluster of three masters with replicas, or the five of a red
// lock. A process of a topology has a proxy before each server. After some faults not all is promised: a server that is restarted
// without its data forgets holds, and so does a replica that takes over. A nemesis says what is promised then. What oracles
// find of the rest is counted, and is no violation.
//
// # Commands
//
//	go test ./chaos                                # short rounds of each object, and the seeds
//	go test ./chaos -args -for 10m                 # as many rounds as there is time for
//	go test ./chaos -args -only fair,killed        # some objects, nemeses and topologies
//	go test ./chaos -args -seed 7                  # names, choices and the order of nemeses of an earlier run
//
// # What it does not show
//
// The objects are locks of all kinds, elections, both semaphores, the latch, the
// limiter, Compute of a map, near caches, and the plain, the bounded and the reliable queue. Jepsen's tools, loss of packets between
// servers and steps of clients' clocks are not part of it.
package chaos
