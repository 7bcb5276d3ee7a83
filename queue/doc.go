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
// A [Stream] is a log that keeps its entries, and a [Group] has the consumers that share
// them: RStream.
//
// # Waiting
//
// [Queue.Take], [Queue.TakeLast], [TakeAny] and [Queue.Consume] wait. All waiters of a process
// share one connection for each server; it blocks in BLPOP for every queue that has waiters.
// Waiters at the tail share another connection, and so do those of priority queues (BZPOPMIN).
// The waiters of one queue are
// served in the order in which they came, and no busy queue starves the others. So a
// process may have any number of takers, of any number of queues. The connection is
// kept while there is a waiter, and a second longer. It comes from the pool of the client,
// see rueidis.ClientOption.BlockingPoolSize.
//
// Consumers of streams who wait share another connection, whatever their groups: it
// blocks in XREAD, takes nothing, and tells them to look. They also listen to what others of
// their group give back.
//
// On a cluster a connection serves the queues of one slot, and of bounded queues, whose
// elements are announced by BLMOVE, one queue on any server. There are up to 16 connections for
// each node, see rueidisson.WithBlockedConnections. Where more are needed, the last connection
// of the node polls the queues that have none: by LLEN, ZCARD or XREAD of each name, many in a
// pipeline, and a pop where there is something. A client asks so about 22,000 times a second,
// so that an element waits for up to 25 ms, with 2,000 names for about 90 ms and with 10,000
// for about 450 ms, and for as long as it takes to pop what others had before. That costs 4 to
// 5 % of a core of the client and as much of all servers together. Queues that share a hash
// tag share a slot. The same holds beyond 1,000 names of a slot.
//
// A user who may not run CLIENT ID and CLIENT UNBLOCK, and a server that has none of
// them, is asked anew every 50 ms while there is a waiter.
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
// No server moves elements. Clients do: each client that offered to the queue, until
// it is closed; one that waits in [Delayed.Take]; and one that runs
// [Delayed.Keep], or rueidisson queue keep. So a fleet whose producers come and go,
// and whose consumers take from the plain queue, or in Java by RBlockingQueue, needs
// a process that keeps. A client looks when the first element is due, when it is notified of
// an earlier one, and every 5 s: a notification can be lost, and Redisson's own movers wait
// for ever then. All queues of a client use one timer; up to eight of a server are
// moved at the same time, each at most every 5 ms unless more than 100 elements are
// due.
//
// Of the queues that it has offered to and that are empty a client looks after the
// first 100; the others it leaves until it offers there again. With more than 1,000
// that it does not keep or take from it looks at each less often than every 5 s,
// at what it knows to be due in time still.
//
// Times are those of the clients' clocks, as in Redisson: keep them synchronized. A client whose
// clock is ahead moves elements of others early by as much. A client whose clock is late leaves
// them to others.
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
// # Sequences
//
// An error of a sequence that wraps rueidisson.ErrNotice, such as an element that does
// not decode, does not end it. Any other error is its last element.
//
// [Group.Consume] and [Group.Messages] have a complete loop each. That of the others:
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
// They are msgpack unless rueidisson.WithCodec, [WithCodec] or [WithValueCodec] say
// otherwise; both sides must use the same codec, since nothing in Redis names it. The
// fields of a [Stream] are text unless [WithFieldCodec] or [WithCodecs] say otherwise.
// What another codec has written comes as a *[codec.DecodeError] with its bytes,
// as it is off the queue already, and the others are read.
//
//	here                                   there
//	WithCodec(codec.Text)                  StringCodec.INSTANCE
//	elements of codec.JSON                 new TypedJsonJacksonCodec(T.class)
//	scalars of codec.Msgpack               new MsgPackJacksonCodec()
//	WithCodec(codec.Kryo5), of scalars     Redisson's default, Kryo5Codec
//	WithCodecs(f, f), of a stream          one codec for fields and values
//
// # The operations of Redisson
//
// Those of each object, and what they are here. A reason stands where there is none.
// Asynchronous, reactive and RxJava twins are goroutines. A timeout is one of the context.
//
//	RQueue                                 Queue
//	add, offer, addAll                     Offer
//	poll; poll(limit)                      Poll; PollN
//	remove(), element                      Poll, Peek: ErrEmpty is what they throw
//	peek                                   Peek
//	pollLastAndOfferFirstTo                Move(ctx, Tail, other, Head)
//	readAll, iterator, toArray             Values
//	contains; remove(o)                    Contains; Remove
//	containsAll, removeAll, retainAll      none: they compare all elements with all, in the server
//	size; isEmpty                          Len; Exists
//	clear, delete                          Delete
//	expire, clearExpire, remainTimeToLive  Expire, Persist, Remaining
//	isExists; rename                       Exists; Rename
//	renamenx, copy, move(db), migrate,     none: they are commands of the key, which any client has
//	dump, restore, touch, sizeInMemory
//	addListener(ObjectListener)            none: keyspace notifications, which have to be enabled on
//	                                       the server and may be lost
//
//	RDeque                                 Queue
//	addFirst, push; addLast                OfferFirst; Offer
//	addLastIfExists                        OfferIfExists
//	addFirstIfExists                       none: LPUSHX
//	pollFirst, pop; pollLast               Poll; PollLast
//	pollFirst(limit); pollLast(limit)      PollN; PollLastN
//	peekFirst, getFirst; peekLast, getLast Peek; PeekLast
//	removeFirst, removeLast                Poll, PollLast
//	removeFirstOccurrence                  Remove(ctx, v, 1)
//	removeLastOccurrence                   Remove(ctx, v, -1)
//	move(DequeMoveArgs)                    Move
//	descendingIterator                     none: Values goes from the head on
//
//	RBlockingQueue, RBlockingDeque         Queue
//	put, offer(timeout), putFirst, putLast Offer, OfferFirst: there is always room
//	remainingCapacity                      none: there is no bound
//	take, poll(timeout), takeFirst         Take
//	takeLast, pollLast(timeout)            TakeLast
//	pollFromAny, pollFromAnyWithName,      TakeAny
//	pollFirstFromAny
//	pollLastFromAny                        none
//	pollFirstFromAny(duration, count)      TakeN, of one queue
//	pollLastFromAny(duration, count)       none
//	pollLastAndOfferFirstTo(timeout),      TakeMove(ctx, Tail, other, Head)
//	takeLastAndOfferFirstTo
//	move(timeout, args)                    TakeMove
//	drainTo; drainTo(max)                  Drain; PollN
//	subscribeOnElements,                   Consume
//	subscribeOnFirstElements
//	subscribeOnLastElements                a loop over TakeLast
//	unsubscribe                            the loop's end
//
//	RBoundedBlockingQueue                  Bounded
//	trySetCapacity; remainingCapacity      TrySetCapacity; Free
//	add, offer; offer(timeout)             TryOffer; TryOffer with WithWait
//	put                                    Offer
//	take, poll(timeout); poll; poll(limit) Take; Poll; PollN
//	peek; remove(o); drainTo; readAll      Peek; Remove; Drain; Values
//	size; expire and its kin; delete       Len; Expire, Persist, Remaining; Delete
//	pollFromAny, pollLastAndOfferFirstTo,  none: an element would leave without its slot
//	takeLastAndOfferFirstTo
//	contains                               none
//
//	RDelayedQueue                          Delayed
//	offer(e, delay)                        Offer
//	poll, which takes before the time      Remove, Waiting
//	readAll, iterator; size                Waiting; Len
//	remove(o)                              Remove
//	contains, containsAll, removeAll,      none: Waiting walks what waits
//	retainAll, pollLastAndOfferFirstTo
//	destroy                                Close of the client ends its moves
//	expire and its kin                     none: each element has an end of its own
//
//	RPriorityQueue, RPriorityDeque         Priority, not shared: it is RScoredSortedSet's sorted
//	and RPriorityBlockingQueue             set. Redisson's is a list that is kept in order under a lock
//	add, offer                             Offer, OfferAll, with a score
//	poll, take; pollLast, takeLast         Poll, Take; PollLast, TakeLast
//	peek; peekLast                         Peek; PeekLast
//	readAll, iterator                      Values
//	remove(o); size                        Remove; Len
//	comparator, trySetComparator           none: a comparator is a class of Java
//	pollLastAndOfferFirstTo                none: no command moves between sorted sets and lists
//
//	RRingBuffer                            Ring
//	trySetCapacity; setCapacity            TrySetCapacity; SetCapacity
//	capacity                               Capacity
//	remainingCapacity                      none: Capacity less Len, and what is full drops the oldest
//	add, offer, addAll                     Offer
//	poll; poll(limit); peek                Poll; PollN; Peek
//	readOldest; readNewest                 Oldest; Newest
//	readAll; remove(o); clear; delete      Values; Remove; Clear; Delete
//	size; expire and its kin               Len; Expire, Persist, Remaining
//
//	RStream                                Stream, Group
//	add(StreamAddArgs)                     Stream.Add, WithID, WithMaxLength
//	range; rangeReversed                   Stream.Range; Stream.Reverse
//	read                                   Stream.ReadFrom
//	read of several streams                one loop for each: all of a client share a connection
//	size; remove                           Stream.Len; Stream.Remove
//	trim, trimNonStrict                    Stream.Trim, TrimBefore; WithMaxLength
//	getInfo; listGroups                    Stream.Info; Stream.Groups
//	createGroup; removeGroup               Group.Create; Group.Destroy
//	updateGroupMessageId                   Group.SetID
//	readGroup                              Group.Consume, Group.Messages
//	readGroup of several streams           one loop for each
//	ack                                    Group.Ack, Message.Ack
//	getPendingInfo, listPending            Group.Pending
//	claim; autoClaim                       Group.Claim; Group.AutoClaim
//	fastClaim, fastAutoClaim               none: they answer with IDs alone
//	createConsumer                         none: the first read makes it
//	removeConsumer; listConsumers          Group.RemoveConsumer; Group.Consumers
//
// # In Redis
//
//	name                          list: the elements, the head on the left
//	name                          sorted set: those of a priority queue, with their scores
//	name                          stream: entries, and groups of consumers
//	redisson_bqs:{name}           string: how many elements a bounded queue has room for
//	redisson_sc:redisson_bqs:{name}   channel: the same number, when there is more room
//	redisson_rb:{name}            string: how many elements a ring buffer holds
//	rueidisson_lane:{name}:*      string: the last offers of a client to a ring buffer or a delayed queue, 45 s
//	rueidisson_delay_dues:{name}       zset: what waits in our own format: ids by when they are due, ms
//	rueidisson_delay_elements:{name}   hash: id → element
//	rueidisson_delay_index:{name}      zset: the ids, those of equal elements next to each other
//	rueidisson_delay_channel:{name}    channel: when the first is due, ms
//	redisson_delay_queue:{name}   list: what waits in Redisson's format, packed, in the order of the offers
//	redisson_delay_queue_timeout:{name}   zset: the same, by when it is due, ms
//	redisson_delay_queue_channel:{name}   channel: when the first is due, ms
//	rueidisson_delay_queue_aside:{name}   list: the last 1,000 that were found there and were no packed elements
//	rueidisson_stream_dead:{name}:<group>   stream: what a group has put aside, the last 10,000
//	rueidisson_stream_returned:{name}   channel: the group whose entries were returned
//	rueidisson_queue_done:{name}:*    string: that something was put back, released or put aside, or the answer to a redrive or purge, 45 s at most
//
// The braces in derived keys are there in Redis: a hash tag. A name with braces of
// its own is not wrapped in others.
package queue
