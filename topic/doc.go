// Package topic sends messages to all subscribers, typed, and shared with Redisson's topics.
//
//	prices := topic.New[Price](c, "prices")
//	listening, err := prices.Listen(ctx) // what is published from now on arrives
//	…
//	go func() {
//		for p, err := range listening.Messages(ctx) {
//			…
//		}
//	}()
//	_, err = prices.Publish(ctx, Price{"tea", 3})
//
// # What it promises
//
// A [Topic] reaches the subscribers of that moment, and no others: no message is stored. A [Pattern] receives the
// messages of all topics whose names match a pattern. A [Sharded] is for a cluster with many messages: its
// messages stay within the shard of its name, while those of a Topic are sent to every node.
//
// A [Reliable] keeps its messages until every subscriber has handled them: at least once for each, across lost
// connections, and for a [Durable] name also across times without a subscriber.
//
// # What it does not promise
//
// A topic delivers a message to the processes that are subscribed when the server gets it, at most once. There is
// one exception: on a cluster a message of a topic or a pattern may come twice while its slot moves. Messages that
// one process publishes one after the other arrive in that order. There is no order between processes. A cluster
// passes messages on between its nodes without a receipt: a message that is lost between two nodes is not
// reported. Publish counts the processes that were subscribed, not the loops that got the message.
//
// Messages of a reliable topic come in its order, with two exceptions. Messages of a Durable name come later, after
// newer ones, if their delivery was lost with a connection or a process left them unhandled. That is a watchdog
// timeout after they were delivered. A subscription that joins others of its client may begin with older messages
// that another subscription has left; of those between them and its own first message it gets none that others have.
//
// A failover may forget the last messages and acknowledgements of a reliable topic: some are lost, and others come
// again. During a slot migration a Publish returns an error after three seconds at most. Subscribers wait for the end.
//
// # Listening
//
// A loop over Subscribe listens from its beginning to its end. [Topic.Listen] returns a [Subscription] that exists
// already: messages that are published from then on arrive, however late the loop begins.
//
// A publisher does not wait for a subscriber: messages wait in a buffer, 256 of them unless [WithBuffer] says
// otherwise, and when one more comes, the oldest is dropped.
//
// A loop gets errors for what it did not get; they do not end it. They wrap rueidisson.ErrNotice; any other error
// is the last element.
//
//	for p, err := range prices.Subscribe(ctx) {
//		var lagged *topic.LaggedError
//		switch {
//		case errors.As(err, &lagged): // lagged.Missed messages came too fast
//		case errors.Is(err, topic.ErrDisconnected): // nothing comes until the client is connected again
//		case errors.Is(err, topic.ErrInterrupted): // it is connected again: look at the truth again
//		case errors.Is(err, topic.ErrDecode): // somebody publishes something else
//		case errors.Is(err, rueidisson.ErrNotice): // any other notice, such as the ErrReconnected of a Reliable
//		case err != nil:
//			return err // and the loop is over
//		default:
//			show(p)
//		}
//	}
//
// [WithStatus] reports when a subscription begins, is lost and is restored, also while no loop reads.
// [Pattern.ActiveNames] lists the channels that have subscribers.
//
// [ErrDisconnected] comes once when a subscription is lost: its connection was cut, its server died or failed
// over, or its slot has moved. The client connects again on its own, for as long as the loop lasts.
// [ErrReconnected] and [ErrInterrupted], which are one error, come once when the subscription is back. Messages
// that are published after that notice arrive. Messages that were published after the interruption may arrive
// before the notice.
//
// # Reliable
//
// A process that subscribes to a [Reliable] has one group on its stream, for all its loops. A message is handled
// when the loop asks for the next one, and acknowledged when every loop of the process has handled it: then it is
// never sent to this group again. A message that was not handled is redelivered: to another loop of the process,
// or after a lost connection.
//
// A Durable name loses nothing when its process dies. Its messages are redelivered to the next subscriber, a
// watchdog timeout after the process was last heard of; so all processes of a name need the same timeout. A group
// without a name dies with its process, and is deleted ten minutes after the process was last heard of. The first
// subscriber gets what the topic still has.
//
// A loop gets an [ErrDisconnected] when the server is not reached, and an [ErrReconnected] when it is again. It
// misses no message in between.
//
// [Durable.Deliveries] yields messages that carry their outcomes. A message that fails is redelivered when its
// backoff is over, and delays no other meanwhile. After its last attempt it is a dead letter: [Durable.Dead] lists
// those, [Durable.Redrive] redelivers them, to that name only, and [Durable.PurgeDead] deletes them. Continue
// without an outcome is a [Delivery.Nack].
//
// [Durable.ReplayFrom] sets a name to a message or a time. It reaches back as far as the topic still has messages: a
// topic keeps only those that a subscriber needs.
//
// A stream keeps what a group has not acknowledged, or not read, also for a group that has just died;
// [WithMaxLength] bounds that. With [WithFullPolicy] a Publish is refused if it would drop what a subscriber still
// needs. [Durable.Lag] returns how many messages a name has not handled.
//
// Messages that the topic drops before a process of a Durable name had them are counted, and the name gets a
// [LaggedError]. A publish happens once, however often the call had to be sent.
//
// Channels and payloads are those of Redisson. Both sides must use the same codec.
//
// # Cost
//
// Publish takes one command, or one script call of a reliable topic. All subscriptions of a client share one
// connection for each node.
//
// See docs/guide/streams-and-topics.md for programs, limits and connections, docs/migrating.md for codecs and the
// methods of Redisson, and docs/redis.md for keys and commands.
package topic
