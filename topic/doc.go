// Package topic sends messages to all subscribers, typed, and shared with
// Redisson's topics.
//
//	prices := topic.New[Price](c, "prices")
//	go func() {
//		for p, err := range prices.Subscribe(ctx) {
//			…
//		}
//	}()
//	_, err := prices.Publish(ctx, Price{"tea", 3})
//
// # Which one do I need
//
// A [Topic] reaches the subscribers of that moment, and no others: no message is
// stored. A [Pattern] receives the messages of all topics whose names match a pattern. A
// [Sharded] is for a cluster with many messages: its messages stay within the
// shard of its name, while those of a Topic are sent to every node.
//
// A [Reliable] keeps its messages until every subscriber has handled them: at
// least once for each, across lost connections, and for a [Durable] name also across
// times without a subscriber.
//
// # Listening
//
// A loop over Subscribe listens from its beginning to its end. [Topic.Listen]
// returns a [Subscription] that exists already: messages that are published from then on
// arrive, however late the loop begins.
//
// All subscriptions of a client to a name share one of the server's, and all topics
// of a client share one connection on each node (sharded ones another), opened for
// the first and closed after the last. A message comes once over the wire, and
// is decoded for each subscriber, which may change what it got. A publisher does not wait for a
// subscriber: messages wait in a buffer, 256 of them unless [WithBuffer] says
// otherwise, and when one more comes, the oldest is dropped.
//
// A loop gets errors for what it did not get; they do not end it. They wrap
// rueidisson.ErrNotice; any other error is the last element.
//
//	for p, err := range prices.Subscribe(ctx) {
//		var lagged *topic.LaggedError
//		switch {
//		case errors.As(err, &lagged): // lagged.Missed messages came too fast
//		case errors.Is(err, topic.ErrDisconnected): // nothing comes until the client is connected again
//		case errors.Is(err, topic.ErrInterrupted): // it is connected again: look at the truth again
//		case errors.Is(err, topic.ErrDecode): // somebody publishes something else
//		case err != nil:
//			return err // and the loop is over
//		default:
//			show(p)
//		}
//	}
//
// [WithStatus] reports when a subscription begins, is lost and is restored, also while no loop
// reads. [Pattern.ActiveNames] lists the channels that have subscribers.
//
// [ErrDisconnected] comes once when a subscription is lost: its connection was cut, its
// server died or failed over, or its slot has moved. The client connects again on its own,
// for as long as the loop lasts. [ErrReconnected] and [ErrInterrupted], which are one error,
// come once when the subscription is back. Messages that are published after that notice
// arrive. Messages that were published after the interruption may arrive before the notice.
//
// # Reliable
//
// A process that subscribes to a [Reliable] has one group on its stream, for all its
// loops. A message is handled when the loop asks for the next one, and acknowledged when
// every loop of the process has handled it: then it is never sent to this group again. A message
// that was not handled is redelivered: to another loop of the process, or after a lost
// connection.
//
// A Durable name loses nothing when its process dies. Its messages are redelivered to the next
// subscriber, a watchdog timeout after the process was last heard of; so all processes of a name
// need the same timeout. A group without a name dies with its process, and is deleted ten
// minutes after the process was last heard of. The first subscriber gets what the topic still has.
//
// A loop gets an [ErrDisconnected] when the server is not reached, and an [ErrReconnected] when
// it is again. It misses no message in between.
//
//	for m, err := range orders.Durable("billing").Subscribe(ctx) {
//		switch {
//		case errors.Is(err, rueidisson.ErrNotice): // a lost connection, a LaggedError, an ErrInterrupted, or it does not decode
//			log.Print(err)
//		case err != nil:
//			return err // and the loop is over
//		default:
//			bill(m) // it is handled when the loop asks for the next
//		}
//	}
//
// [Durable.Deliveries] yields messages that carry their outcomes. A message that fails is
// redelivered when its backoff is over, and delays no other meanwhile. After its last attempt it
// is a dead letter: [Durable.Dead] lists those, [Durable.Redrive] redelivers them, to that name
// only, and [Durable.PurgeDead] deletes them. Continue without an outcome is a [Delivery.Nack].
//
//	for m, err := range orders.Durable("billing").Deliveries(ctx, topic.WithMaxAttempts(5)) {
//		switch {
//		case errors.Is(err, topic.ErrDecode): // m has an ID and no value
//			err = m.Bury(ctx, err)
//		case errors.Is(err, rueidisson.ErrNotice): // a lost connection, a LaggedError, or an ErrInterrupted
//			log.Print(err)
//			continue
//		case err != nil:
//			return err // and the loop is over
//		default:
//			if err = bill(ctx, m.Value); err != nil {
//				err = m.Nack(ctx, err)
//			} else {
//				err = m.Ack(ctx)
//			}
//		}
//		if err != nil {
//			log.Print(err) // it comes again
//		}
//	}
//
// [Durable.ReplayFrom] has a name go on from a message or a time, as far as the topic still has what was published:
// it keeps what a subscriber has use for, and nothing else.
//
// At most 300 messages of a topic are on their way through a process: a loop that
// takes long holds up the others of its process. What waits there for a loop of a
// Durable name for a watchdog timeout is given to other processes of the name. The
// process reads no more until one of its loops asks for the next message. A message
// that a loop has stays with it for as long as the process lives.
//
// A stream keeps what a group has not acknowledged, or not read, also for a group that has
// just died; [WithMaxLength] bounds that. With [WithFullPolicy] a Publish is refused if it would
// drop what a subscriber still needs. [Durable.Lag] returns how many messages a name has not
// handled.
//
// Messages that the topic drops before a process of a Durable name had them are counted, and the
// name gets a [LaggedError]. A process handles messages that are dropped while it has them,
// even if they wait for a loop that hangs. If it gives them back unhandled, or has failed at
// them, they are counted. Those that are lost with a process that dies may be neither. A publish
// happens once, however often the call had to be sent.
//
// A Java process that cleans up next to ours drops messages that were delivered to one of our
// groups and not acknowledged. If that process dies then, its messages are lost, as they would
// be to Java's.
//
// # Shared with Java
//
// Channels and payloads are Redisson's, and both sides must use the same codec:
//
//	here                        there
//	WithCodec(codec.Text)       getTopic(name, StringCodec.INSTANCE)
//	WithCodec(codec.JSON)       getTopic(name, new TypedJsonJacksonCodec(T.class))
//	WithCodec(codec.Msgpack)    getTopic(name, new MsgPackJacksonCodec()), of scalars
//	WithCodec(codec.Kryo5)      getTopic(name), of scalars
//
// A Java listener is given a message only if its class is the listener's:
// addListener(String.class, …) hears nothing of a number. A Publish of Java knows no
// [WithMaxLength]: the next of ours bounds the topic again.
//
// # What it does not promise
//
// A message is for who listens when the server gets it. It comes at most once,
// except that one may come twice to a topic or a pattern on a cluster while its slot
// moves. A process that publishes one message after the other is heard in that
// order; several are not in any. A cluster passes messages on between its nodes
// without a receipt: one that two nodes have lost on their way nobody is told of.
// Receivers are processes that were subscribed, not loops that got it.
//
// Messages of a reliable topic come in its order, with these exceptions. Those of a
// Durable name whose delivery was lost with a connection, or that a process left
// unhandled, come later, after newer ones: a watchdog timeout after they were
// delivered. A subscription that joins others of its client may begin with older
// messages that another subscription has left; of those between them and its own first
// message it gets none that others have.
//
// A failover may forget the last messages and acknowledgements of a reliable topic:
// some are lost, and others come again. While its slot moves, a Publish is an error
// after three seconds at most, and who listens, or wants to, waits for the end.
//
// # The operations of Redisson
//
// Those of each object, and what they are here. A reason stands where there is none.
//
//	RTopic, RShardedTopic                  Topic, Sharded
//	publish                                Publish
//	addListener(class, MessageListener)    Subscribe, Listen
//	addListener(StatusListener)            WithStatus
//	removeListener, removeAllListeners     the loop's end, Subscription.Close
//	countListeners; countSubscribers       CountListeners; CountSubscribers
//	getChannelNames                        Name
//
//	RPatternTopic                          Pattern
//	addListener(class, listener)           Subscribe, Listen: Message has the channel
//	addListener(PatternStatusListener)     WithStatus
//	removeListener, removeAllListeners     the loop's end, Subscription.Close
//	getActiveTopics                        ActiveNames
//	getPatternNames                        Pattern
//
//	RReliableTopic                         Reliable
//	publish                                Publish
//	addListener(class, listener)           Subscribe, Listen; Durable for one that outlives its processes
//	removeListener, removeAllListeners     the loop's end, ReliableSubscription.Close
//	countListeners; countSubscribers       CountListeners; CountSubscribers
//	size; delete                           Len; Delete
//	expire, clearExpire,                   none: a topic that ends takes messages along which a
//	remainTimeToLive                       subscriber has not had
//	rename, renamenx                       none: who listens would not follow
//	copy, move(db), migrate, dump,         none: they are commands of the key, which any client has
//	restore, touch, sizeInMemory
//	headers of a message                   none: listeners of Java decode every field of an entry. They
//	                                       belong into the value, or into a message of a reliable queue
//
// # In Redis
//
// Nothing: a topic is a channel, and its name is the channel's. A name mapper maps
// names of topics, and no patterns. Any name will do, on a cluster, too. But of a
// reliable topic:
//
//	name               stream: field m of each entry is a message; groups, with one consumer each
//	{name}:timeout     zset: group → until when it is kept, ms; a Durable one has no end
//	rueidisson_topic_holders:{name}   hash: the first message, and how many groups have use for it, for a second
//	rueidisson_topic_missed:{name}    hash: durable name → messages that it has missed and was not told of
//	rueidisson_stream_dead:{name}:<durable name>   stream: messages that it has put aside, the last 10,000
//	rueidisson_topic_again:{name}:<durable name>   stream: those that come to it again, with one group
//	rueidisson_queue_done:{name}:*   string: that a message was given back or put aside, or the answer to a redrive or purge, 45 s at most
//	rueidisson_lane:{name}:*    string: the last request of an exchange, 45 s
//
// Its names on a cluster have no braces, or a well-formed first hash tag. The times are
// of the clients' clocks, as Redisson's.
//
// One connection to each server reads all reliable topics of a client. The server announces on
// it which of them have changed, by CLIENT TRACKING. Only those are read: a message costs the
// same however many topics a client listens to. A topic without announcements is read every
// second, and a client with more than a hundred topics reads a hundred of them in a second. If
// the server does not announce changes, or has no room to remember what to announce, a client
// reads up to a thousand topics in a second. The deletion of a group by another client is found
// by that, or with the next message. A Durable name is read every second.
//
// A message is announced to each process that listens to its topic: for a Durable name all ask,
// and one gets it. One exchange brings 256 KB of a topic; a topic of longer messages is read by a
// connection of its own.
//
// Where the client speaks RESP2, or its user is denied CLIENT TRACKING or PTTL, connections
// wait by XREAD: one for the topics of a server, or up to 1,000 of them, and on a cluster
// one for those of each slot. There are up to 16 for each node, see
// rueidisson.WithBlockedConnections; where there is more to listen to, the last one polls
// the rest, see package queue. Where XREAD is denied, too,
// topics are read every 50 ms.
//
// A topic that the server refuses to read, such as one that an ACL denies, delays no other, and
// is tried again every second.
package topic
