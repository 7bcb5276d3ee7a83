// Package queue is queues that a fleet shares, Go and Java: typed, on the keys of
// Redisson's queues, byte for byte.
//
//	orders := rueidisson.Queue[Order](c, "orders")
//	if _, err := orders.Offer(ctx, order); err != nil {
//		return err
//	}
//	next, err := orders.Poll(ctx) // queue.ErrEmpty: there is none
//
// A [Queue] is a list of which both ends are used: Redisson's RQueue, RDeque,
// RBlockingQueue and RBlockingDeque are all of it.
//
// # What it promises
//
// An element is taken by one taker at most: nothing comes twice. A caller that gives
// up loses nothing: what was on its way to it goes back to the end that it came
// from, until the server has it again, also while the client closes. An element
// that is put back may come after one that another process took meanwhile.
//
// # What it does not promise
//
// What was taken is gone from the server: a connection that breaks can lose what
// was in flight on it, a process that dies what it took, and a failover what the new
// master did not know. Offers and takes are sent once; when a reply is lost they say
// [ErrUnknown], and may have been done. There is no order between processes but that
// of the server.
//
// # Elements
//
// They are msgpack unless rueidisson.WithCodec, [WithCodec] or [WithValueCodec] say
// otherwise; both sides must use the same codec, since nothing in Redis names it.
// What another codec has written comes as a *[codec.DecodeError] with its bytes,
// as it is off the queue already, and the others are read.
//
//	here                                   there
//	WithCodec(codec.Text)                  StringCodec.INSTANCE
//	elements of codec.JSON                 new TypedJsonJacksonCodec(T.class)
//	scalars of codec.Msgpack               new MsgPackJacksonCodec()
//	WithCodec(codec.Kryo5), of scalars     Redisson's default, Kryo5Codec
//
// # In Redis
//
//	name                          list: the elements, the head on the left
//	rueidisson_queue_done:{name}:*    string: that something was put back, 45 s at most
//
// The braces in derived keys are there in Redis: a hash tag. A name with braces of
// its own is not wrapped in others.
package queue
