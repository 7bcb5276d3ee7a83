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
// Ids rise, and none is below the server's clock in milliseconds. So an id that a failover has
// made the queue forget is given to no other message. This fails if more than a thousand
// messages a second were added on average, or if the clock of the new master is late.
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
// A message whose lease expired counts an attempt, as one with a Nack does, and is redelivered
// at once. From the second time on it waits as after a Nack, since it may be what kills its
// consumers. A message that has only waited in the dead process for a handler ([WithPrefetch])
// also counts the first attempt, because nothing says whether a handler had begun. From the
// second attempt on the server is told before a handler begins: attempts that did not begin
// do not count, though they have a number. With a single attempt nothing is prefetched. The
// messages of other handlers of the process count an attempt.
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
// counts; [Queue.Await] waits for it. [Queue.Remove] says for certain that no consumer has had
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
// Waiters are notified: a message wakes as many processes as are needed. One of the waiting
// processes is the keeper of the time for delays and leases, and another is its deputy. So the
// messages of a process that has died are redelivered to a waiting process within a second of
// the expiry of their leases, even if the dead process was the keeper. While nothing happens
// each waiting process looks every five seconds.
//
// # In Redis
//
//	rueidisson_queue_body:{name}      hash: id → 1, when it was added, six bytes, value; or 2, length of the header, header in MessagePack, value
//	rueidisson_queue_ready:{name}     list: ids that are ready, of priority 0
//	rueidisson_queue_prio:{name}      zset: those of higher priorities
//	rueidisson_queue_due:{name}       zset: ids that are delayed, or to be tried again → when, ms
//	rueidisson_queue_lease:{name}     zset: id:attempt:delivery:client of a held message → when its lease expires, ms
//	rueidisson_queue_owners:{name}    hash: number of a client that has messages → client id, pid, host; back; number+ → how many it has
//	rueidisson_queue_tries:{name}     hash: id → attempts that have failed, id+ → how many of them do not count,
//	                                  id! → the one at which a handler is, id# → when it was buried, of one that [Queue.Dead] has given; if there are any
//	rueidisson_queue_opt:{name}       hash: id → priority, expiry, unique key, group, own terms, if there are any
//	rueidisson_queue_head:{name}      hash: group → the id that is under way; group, NUL, id of further ones, if there may be some; group, NUL → how many
//	rueidisson_queue_order:{name}     zset: group, NUL, id of those that wait for their turn
//	rueidisson_queue_unique:{name}    hash: unique key → id
//	rueidisson_queue_once:{name}:*    string: a dedup key
//	rueidisson_queue_dead:{name}      zset: id → when it was buried, or is for a handler of the dead again, ms
//	rueidisson_queue_error:{name}     hash: id → attempts, and the last cause
//	rueidisson_queue_meta:{name}      hash: the last id, the number of the last delivery, the format (2), the terms, and counters; stays
//	rueidisson_queue_progress:{name}  hash: id → what [Message.SetProgress] has said, as JSON
//	rueidisson_queue_finished:{name}  hash: id → what is kept of a message that is done, if the terms say so; of one that was cancelled, its member of lease, a minute longer than that
//	rueidisson_queue_finished_until:{name}   zset: such ids → until when, ms; both end with the last of them
//	rueidisson_queue_pause:{name}     string: nothing is taken
//	rueidisson_queue_idle:{name}      zset: clients that wait → since when, ms; deleted with the last of them
//	rueidisson_queue_keeper:{name}, rueidisson_queue_deputy:{name}   strings: who of them keeps the time
//	rueidisson_queue_result:{name}:*  string: the result of a message, for its time
//	rueidisson_queue_done:{name}:*    string: the answer to a Remove, Redrive and such, until it has come
//	rueidisson_queue_lane:{name}:*    string: the last request of an exchange, 45 s
//	rueidisson_queue_wake:{name}:*    channels: each of a client that waits
//	rueidisson_queue_done_ids:{name}  channel: ids of messages that have a result, or ended without an ack
//	rueidisson_queue_cancelled:{name} channel: messages that were cancelled, as the leases have them
//
// A server that evicts keys loses their contents. The parts of a queue are keys each, so it
// may lose a part of many messages at once: rueidisson.New warns of such a server. Without a
// body a message is lost. Without its place (ready, prio, due, lease) it is never delivered, and
// its group and its unique key wait for it until [Queue.Cancel] removes it. Without its options
// it is a message without any. Messages that are added afterwards are not affected, except those
// that wait for a group or a unique key that is lost in this way; [Queue.Delete] frees it.
//
// Leases of an older version (id, or id:attempt) expire, and their messages are redelivered.
// Consumers of such a version cannot take messages next to those of this one. Every operation
// refuses a queue whose format is higher than 2, before anything is changed.
//
// Times are the server's, but when a message was added: that is its header's. A queue
// that was emptied leaves its counters, and one that was deleted its last id and its last delivery.
// Results stay for their time.
//
// # What it is not
//
// There is no cron: add the next message when one is done, or from an election's leader.
// Results are kept for a time; [WithKeepDone] keeps a history of messages that are done. [ServeAll] has the same handlers serve
// several queues, one before the other or by weight. [WithMaxInFlight] is
// of a queue, [WithGroupInFlight] of each group.
package reliable
