// Package reliable is a queue whose messages are kept until they are acknowledged:
// what job queues and SQS are used for. Its format is its own; Redisson has
// such a queue only in its paid edition.
//
//	orders := reliable.New[Order](c, "orders")
//	id, err := orders.Add(ctx, order, reliable.WithGroup("customer:7"))
//
//	m, err := orders.Receive(ctx)
//	if err != nil {
//		return err
//	}
//	if err := pack(m.Context(ctx), m.Value); err != nil {
//		return m.Nack(ctx, err) // it comes again, after a while
//	}
//	return m.Ack(ctx)
//
// [Queue.Serve] does that with a number of goroutines:
//
//	err := orders.Serve(ctx, func(ctx context.Context, m *reliable.Message[Order]) error {
//		return pack(ctx, m.Value)
//	}, reliable.WithConcurrency(64))
//
// # What it promises
//
// A message is accepted once Add has returned. [ErrOutcomeUnknown] is perhaps: repeat it with
// a dedup key ([WithDedup]).
//
// Each message is handled at least once. A message is redelivered only in these cases: its lease
// expired before the ack had reached the server, since its consumer died, was paused or was
// cut off; after a Nack, or a Release; if an Add with an unknown outcome was repeated; or if a
// failover, or a restart without the last writes, has forgotten an ack or a take.
// rueidisson.WithReplicaAcks makes a failover lose fewer messages.
//
// Each delivery has a number of its own ([Message.Delivery]), which its lease, its renewals
// and its settling carry. So a request that is repeated late does nothing to the next
// holder of the message. If a take was forgotten, a second consumer gets the message
// while the first still works on it. The first learns that by its next renewal, a third of the
// lease later: its contexts end with [ErrLost]. A store that keeps the highest Delivery of
// each ID can refuse the older one.
//
// A consumer holds a message under a lease, which the client renews for all of its
// messages together, at a third of it. When renewals fail, the message's contexts end
// with [ErrLost] before the server may give it to another, whatever the network is
// doing. In a process that was paused [Message.Err] and Err of the context report that
// at once; see package lock, whose holds are trusted in the same way. The
// server's clock counts leases and delays. If it is set forward, leases expire early. If
// it is set back, the messages of dead processes, and delayed ones, wait for as much longer.
//
// Requests may be sent twice and arrive late: the server remembers the last one of each
// of the few exchanges that a client may have under way, with its answer, for 45 s.
//
// Within a priority the message that was added first is delivered first. Messages that are
// redelivered, after a Nack or an expired lease, have no place in that order. Within a group
// ([WithGroup]) the order is strict: the next message is ready, after those that are ready
// already, when the one before is done or buried.
//
// Ids rise. An id that a failover has made the queue forget is given to no other message, unless more than a thousand
// messages a second were added on average, or the clock of the new master is late.
//
// # What it does not promise
//
// A server that evicts keys loses messages, or parts of them: rueidisson.New warns of such a server. Every
// operation refuses a queue whose format is higher than 2, before anything is changed. Times are the
// server's, except when a message was added: that is its header's.
//
// # Terms
//
// How often a message is tried, how long it waits after each failed attempt and how many of
// the dead are kept are [Terms] of the queue. It keeps those that its first consumers were
// given. A handle that is given none takes those of the queue. One that is given others is
// refused with [ErrOtherTerms] before it takes anything: so no consumer buries or drops what
// another was told to keep. [Queue.SetTerms] changes them, as a deploy does, and [Queue.ResetTerms]
// takes them back. A message may have its own ([WithAttempts], [WithBackoff], [WithTimeout]). A
// lease concerns only its consumer, so each may have its own.
//
// # Failing
//
// A message whose lease expired counts an attempt, as one with a Nack does, and is redelivered at once. From
// the second time on it waits as after a Nack, since it may be what kills its consumers.
//
// A message that has had its attempts ([WithMaxAttempts]) is buried with its cause. A message
// that cannot be decoded into the queue's type, also because its codec panics, fails its attempt:
// after a rolling deploy another process may read it. The dead letters are limited by number and
// age ([WithDeadLimit]). [Queue.Messages] lists them, [Queue.Redrive] redrives them, and
// [Queue.Dead] delivers them to handlers of their own.
//
// # Answers
//
// [Message.AckWith] keeps a result for a time, under the id of the message, if the ack
// counts; [Queue.Await] waits for it. [Queue.Transfer] adds a message and waits for its ack. [Queue.Remove] says for certain that no consumer has had
// a message, and [Queue.Cancel] takes a message from its holder. [Queue.Reschedule],
// [Queue.RunNow] and [Queue.SetPriority] change a waiting message.
//
// A message can be settled by another process than the one that took it, by its
// [Message.Token]: a web hook, or the next step of a workflow. [Message.Detach] ends its renewal, so
// that the first process need not stay.
//
// # Together
//
// Adds of one process that come while others are on their way are sent together, up to
// 1,000 messages. A consumer settles messages and takes new ones in one exchange. Each client
// has one exchange under way for each queue. So many goroutines cost the server little more than
// one.
//
// Waiters are notified. The messages of a process that has died are redelivered to a waiting process within a
// second of the expiry of their leases.
//
// # What it is not
//
// There is no cron: add the next message when one is done, or from an election's leader. Results are kept for a time;
// [WithKeepDone] keeps a history of messages that are done. [ServeAll] has the same handlers serve several queues, one
// before the other or by weight. [WithMaxInFlight] is of a queue, [WithGroupInFlight] of each group.
//
// # Cost
//
// Add takes one script call, shared by concurrent calls of the process. A consumer takes and settles in
// one script call for all its handlers.
//
// See docs/guide/reliable-queue.md for programs, tuning and costs, and docs/reliable-wire.md for keys.
package reliable
