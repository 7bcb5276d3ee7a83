// Package queue is queues that a fleet shares, Go and Java: typed, on the keys of
// Redisson's queues, byte for byte.
//
//	orders := queue.New[Order](c, "orders")
//	if _, err := orders.Offer(ctx, order); err != nil {
//		return err
//	}
//	next, err := orders.Take(ctx) // Poll does not wait: queue.ErrEmpty
//
// A [Queue] is a list whose both ends are used. It serves for Redisson's RQueue, RDeque,
// RBlockingQueue and RBlockingDeque. A [Bounded] has a capacity, and callers that offer
// to a full one wait: RBoundedBlockingQueue. A [Ring] keeps the newest elements up to its
// capacity, and drops the oldest: RRingBuffer. The elements of a [Priority] come by their
// scores: RScoredSortedSet.
// Elements of a [Delayed] wait before they are moved into such a list; with
// [WithRedissonFormat] it is RDelayedQueue.
// A log that keeps its elements, which groups of consumers read, is in package stream.
//
// # What it promises
//
// An element is taken by one taker at most: nothing comes twice. A caller that gives
// up loses nothing: an element on its way to it is put back at the end that it came
// from, until the server has it again, also while the client closes. An element
// that is put back may come after one that another process took meanwhile. An element of a
// priority queue is put back with its score, unless it was offered with another meanwhile.
//
// A delayed element is moved once, however many clients move at once, and whatever reply is
// lost; it is never lost between waiting and the queue. It is not moved before it is due by the
// clock of the client that moves it. An offer whose reply was lost is done once. If it returns
// [ErrOutcomeUnknown], it is done once or never: not later. Data among the elements that is no
// element is set aside and reported, and delays nothing.
//
// A bounded queue never has more elements than its capacity. What is offered, polled,
// taken, removed and drained changes the elements and the free slots in one step, so
// that no slot is lost when a connection breaks or a process dies. On a cluster a freed
// slot is announced on plain and on sharded channels: Java's put listens to the one,
// and its own poll tells the other.
//
// # What it does not promise
//
// What was taken is gone from the server. A connection that breaks can lose what was in
// flight on it: one element, or where several wait for, or poll, one queue as many, up
// to 100. An element that takes longer on its way than a send has, which is 3 s for
// about 24 MB, is lost, too, unless the handle has taken such before. A process that
// dies loses what it took, and a failover what the new master did not know. The log
// says when that may have happened. Offers and takes are sent once; when a reply is
// lost they say [ErrOutcomeUnknown], and may have been done. A Java process that dies between
// a take that had to wait and the release of its slot leaves that occupied:
// [Bounded.Reconcile] brings it back. Elements of a delayed queue stay where they
// are while no client moves them. Elements that are due at the same millisecond are
// moved in no order. What is due while the slot of the queue moves waits for the end of
// that. There is no order between processes but that of the server.
//
// # Waiting
//
// [Queue.Take], [Queue.TakeLast], [TakeAny] and [Queue.Consume] wait. All waiters of a process share one
// connection for each server, so a process may have any number of takers, of any number of queues. The
// waiters of one queue are served in the order in which they came. Where there are more names than
// connections, names are polled: an element waits longer then.
//
// # Together
//
// Offers of one process to one end of a queue that come while others are on their way
// are sent as one command. So are polls: up to 100 of them, and about a megabyte if
// elements are as long as the longest of late. The elements of each offer stay together, in
// the order in which the offers came. If a reply is lost, all calls that were sent together
// return [ErrOutcomeUnknown].
//
// # Delays
//
//	orders := queue.NewDelayed[Order](c, "orders")
//	_, err := orders.Offer(ctx, order, 15*time.Minute)
//	next, err := orders.Take(ctx)
//
// Elements of a delayed queue wait next to the queue of that name, and are moved to its tail
// when they are due. They are stored in a format of our own, in which a move and a removal cost
// the logarithm of their number. With [WithRedissonFormat] they are stored as RDelayedQueue
// does, which Java shares: a list in the order of the offers. The server walks through that list
// to each element that is due or removed out of that order, 14 ns for each that it passes, 14 ms
// of 1,000,000. A client that moves looks at both formats, so that it also moves what Java, or a
// handle of the other format, has offered. There is no order between the formats. Java gets what
// is due in both, and sees only what waits in its own.
//
// No server moves elements. Clients do: each client that offered to the queue, until it is closed; one that
// waits in [Delayed.Take]; and one that runs [Delayed.Keep], or rueidisson queue keep. So a fleet whose
// producers come and go needs a process that keeps. The guide has the limits. Times are those of the clients'
// clocks, as in Redisson: keep them synchronized.
//
// # Sequences
//
// An error of a sequence that wraps rueidisson.ErrNotice, such as an element that does
// not decode, does not end it. Any other error is its last element.
//
//	for v, err := range orders.Consume(ctx) {
//		switch {
//		case errors.Is(err, rueidisson.ErrNotice): // it does not decode, and is off the queue
//			log.Print(err)
//		case err != nil:
//			return err // and the sequence is over
//		default:
//			handle(v)
//		}
//	}
//
// # Elements
//
// They are msgpack unless rueidisson.WithCodec, [WithCodec] or [WithValueCodec] say otherwise; both sides
// must use the same codec, since nothing in Redis names it. What another codec has written comes as a
// *[codec.DecodeError] with its bytes, as it is off the queue already, and the others are read.
//
// See docs/guide/queues.md for programs, waits, delays and costs, docs/migrating.md for codecs and the methods
// of Redisson, and docs/redis.md for keys and commands.
package queue
