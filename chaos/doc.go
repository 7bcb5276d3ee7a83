// Package chaos tests what the library promises under faults.
//
// Processes of several goroutines use a few objects through proxies, while a nemesis breaks what stands between them and the
// server, or the server itself, or the processes. Each process appends what it does to a record. When the round is over,
// oracles read the records. They know the promises and nothing of the library's inside.
//
// Other witnesses take part in a round without a load of their own. A watcher reads the owners of names from the server. So a hold that is
// trusted after the server has given it away is found, and a name that is free while a call waits for it. A bystander holds a lock, and
// compares the PINGs of the server with those of an idle one. When all rounds of a run with -for are over, processes must have no more
// subscriptions, goroutines, connections and memory than before, and no key may last that is no data. A run of 20 minutes or more also
// fails if its last quarter has a tenth more of them, or of the server's memory and the keys of holds, than its second.
//
// No verdict rests on a bare time. What was late while a process stood still, or while an idle server was late, too, is not judged.
//
// # What a run shows
//
// An oracle that finds nothing proves little: a round may never have come near a defect. So a round counts its chances. A
// chance is a moment at which a defect would have shown, such as a lock that passes from a process that died to another one.
// A run fails if an object that is tested had no chance.
//
// The run also finds seeds. A seed is a known defect in one place. The proxies exchange a script for a wrong one, or the processes
// run a library that was compiled from a wrong file. A run fails if an oracle does not find a seed in time.
//
// A run with -mutants removes lines of scripts, one at a time. It prints the share that the oracles found, and the lines that nothing
// missed.
//
// # Topologies
//
// The servers are one server, a master and its replica under Sentinels, a cluster of three masters with replicas, or the five of a red
// lock. A process of a topology has a proxy before each server. After some faults not all is promised: a server that is restarted
// without its data forgets holds, and so does a replica that takes over. A nemesis says what is promised then. What oracles
// find of the rest is counted, and is no violation. Bystanders, and what judges waiters and leftovers, are with one server alone.
//
// # Commands
//
//	go test ./chaos                                  # short rounds of each object, and the seeds in scripts
//	go test ./chaos -args -for 10m                   # all seeds, and as many rounds as there is time for
//	go test ./chaos -args -only fair,killed,8.0      # some objects, nemeses and topologies
//	go test ./chaos -args -seed 7                    # names, choices and the order of nemeses of an earlier run
//	go test ./chaos -args -only fair,cut -round 7    # one round, see what a failure prints
//	go test ./chaos -args -mutants 40 -for 10m       # mutants, for so long at most
//
// A flag that a run cannot follow ends it with one line and exit code 2.
//
// # What it does not show
//
// An object uses each constructor of the library, except those that a test names with the reason. Jepsen's tools, loss of packets between
// servers and steps of clients' clocks are not part of it.
//
// The order in which a fair lock is granted is not judged. Nor is a limiter that grants less than its rate, a waiter of a latch, of a stream
// or of an election that finds by itself what nobody told it, and the time to live of a bucket, which Update keeps.
package chaos
