// Package counter is counters and ids that a fleet shares, Go and Java, on the keys of Redisson's objects.
//
//	hits := counter.New(c, "hits")
//	n, err := hits.Add(ctx, 1)
//
//	orders := counter.NewIDs(c, "orders")
//	id, err := orders.Next(ctx) // seldom a round trip
//
// # Which one do I need?
//
//   - A [Counter] is an integer of 64 bits: RAtomicLong. Its Add returns the sum. Calls of a process that come together are one
//     request.
//   - An [Adder] adds to the same number without a round trip, and does not return the sum: a count of requests, of bytes.
//   - A [Float] is a floating point number: RAtomicDouble.
//   - [IDs] hands out integers, each only once: RIdGenerator.
//   - A [Distinct] counts different values, such as visitors, with an error of about 1 %, in 12 KB: RHyperLogLog.
//
// A stock is no counter: nothing keeps a counter from going below zero. Use a semaphore (package semaphore), whose TryAcquire
// refuses. A limit of requests in a time is a rate limiter (package ratelimiter). An id that must not be guessed, or that a
// process makes while the server is away, is a random UUID. An id of [IDs] is short, rises within a process, and tells how
// many there are.
//
// # What it guarantees
//
// Each operation of a Counter or a Float is one step on the server. Integers are exact over all of int64: no script computes
// with them, because Lua's numbers are doubles, which are wrong above 2^53. A sum that would leave int64 is refused, and
// changes nothing.
//
// Adds of a Counter that come while others of the client are under way are sent together. Each gets the sum after it, as if
// they had come one after the other. A call counts wholly or not at all.
//
// With [WithRequestIDs] each add counts once. The server remembers the last request of each exchange for 45 s, so a request
// may be sent again, and may arrive late or twice. The sum of all adds that returned nil or [ErrOutcomeUnknown] is exact.
//
// An Adder has the same guarantee for what it has sent. Close of the client sends the rest, and names in its error what the
// server did not take.
//
// No two calls of IDs get the same id, over all processes, Go and Java. Before a client takes a block, the server's number is
// raised to the end of the client's last block. So a client does not hand out an id twice, even if the server has forgotten
// its last writes.
//
// # What it does not guarantee
//
//   - Other writes are sent once. If a reply is lost they return [ErrOutcomeUnknown]: the operation was done or not. A read is
//     sent again.
//   - An add with WithRequestIDs whose outcome is unknown may count up to 45 s later, also after a Set or a Delete. If its
//     process dies, or the server is silent for longer, it counts once or not at all. A server that evicts or forgets the
//     slot may count it twice.
//   - A process that is killed loses what its Adders added in the last 100 ms, or since the server was there last.
//   - A failover, or a restart of a server that had not saved its last writes, forgets the last adds. Then two clients may get
//     the same ids, each of a block that the server forgot. rueidisson.WithReplicaAcks lowers the risk: a block counts only
//     when replicas have acknowledged it.
//   - A server that evicts keys may evict a counter, which is 0 then, and the block size of ids, which is 5,000 then. If it
//     evicts the number of an id generator, ids begin at 1 again, except for clients that have taken ids in the last minute:
//     they raise it.
//   - Ids have gaps: a process that ends leaves the rest of its block, and a lost reply a block.
//   - Ids of IDs rise within one client only. A client with a large block hands out low ids late.
//
// # What the key holds
//
// The key of a Counter, an Adder and IDs holds decimal text as INCRBY writes it. Another text, such as 5.0, +5 or an empty one,
// is an error that wraps [ErrDecode]; it stays, until Set replaces it or Delete removes it. The type of object is not checked:
// a counter, a semaphore and an id generator all keep an integer. Use each name for one of them.
//
// See docs/guide/values.md for costs, and docs/redis.md for keys and commands.
package counter
