// Package bench measures rueidisson beside floors that were measured in the
// same run: a machine's noise then hits both.
//
// # Floors
//
// floor is the least that the same lock can cost: two Lua scripts for the same
// hash, the same time to live and the same message, sent through rueidis with
// the same options, without watchdog, trust, replay guard, or local queue. Its
// owner is a text that is made once. Where goroutines of one process compete,
// floor has them queue on a Go channel, in order, so that each turn costs one
// acquire and one release that nobody competes with: one script call of each
// kind per hand-over, and not one try that fails.
//
// rueidislock is the lock of the rueidis project with KeyMajority 1 and
// NoLoopTracking, its fastest settings. PING is what a round trip costs.
//
// # Running
//
//	go test -run '^$' -bench .                                 # everything, for benchstat
//	go test -run TestRatios -v -args -ratios                   # the ratios, as a table; some minutes
//	go test -run TestRatios -v -args -ratios -only wake        # some of its rows
//	go test -run TestRatios -v -args -ratios -rounds 101 -slice 100ms -only 'own keys'
//	go test -run TestRatios -v -args -ratios -redisson -docs ../docs -load 'a busy machine'
//
// The last one also measures Redisson on a JVM, and writes what it measured into docs/speed.json: what each row measured
// last. docs/speed.md and the chart docs/img/speed.svg are made from that file. A goal is met, missed, or open: the middle
// half of the ratios contains the bound. What is open is measured again with 31 slices.
//
// Locks of hot keys, those of other libraries too, guard a number in memory that processes share. A change that is lost
// was made by two holders at a time: ours fail the run, those of the others are told.
//
// The table interleaves the two sides in short slices (ours, floor, floor,
// ours, …). A ratio is the median of the ratios of neighbouring slices, so that
// a machine which gets slower for a while slows both; the middle half of them
// beside it shows how much noise there was. The table never fails: a number
// that a busy machine decides is no assertion. The CPU time of a pair hardly
// depends on the machine's other work, and says whether a difference in time is
// real. Benchmarks report cmds/op, the script calls that the server counted.
//
// Everything runs under contexts that can end, one for each goroutine, as every
// request has one of its own.
package bench
