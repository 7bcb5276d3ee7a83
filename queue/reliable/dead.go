package reliable

import "unique"

// Dead returns a handle on the same queue that takes the messages which are dead, the one that was buried
// first before the others: [Queue.Receive], [Queue.ReceiveN], [Queue.Poll], [Queue.Consume], [Queue.Serve] and
// [Queue.ServeBatch] of it. Its other methods are those of the queue.
//
// Whoever takes a dead message has it under a lease, as any other. Meanwhile it is [Running]: [Queue.Redrive],
// [Queue.Purge] and the bound of [WithDeadLimit] leave it alone. Its Attempt is the next one. It ends in one of
// these ways:
//   - [Message.Ack], or a handler that returns nil: it is gone.
//   - [Message.Nack], a handler that returns an error, [Discard], [WithTimeout] or a lease that ran out: it stays
//     dead, with the new cause. Dead gives it again after the backoff of that attempt. Until then it is among the first to go
//     where there are more of the dead than [WithDeadLimit] says.
//   - [Message.Nack] with [WithDelay], or [RetryIn]: it is tried again by the consumers of the queue, after
//     that time, as after [Queue.Redrive]. One whose unique key another message has by now stays dead.
//   - [Message.Release], or [Snooze]: it stays dead, at its place, or Dead gives it again after the delay. The
//     attempt does not count.
//
// A message comes to a handler of the dead at most five seconds after it was buried. [Queue.Pause] and [WithMaxInFlight]
// hold for the dead, too. Cost: each process that waits looks every five seconds.
func (q *Queue[T]) Dead() *Queue[T] {
	d := *q
	d.cfg.dead = true
	if d.bad == nil {
		d.policy = unique.Make(d.cfg.policy())
	}
	return &d
}

// ways returns how the consumer takes, as step.lua has it.
func (p policy) ways() string {
	switch {
	case p.dead:
		return "d"
	case p.fair:
		return "f"
	}
	return "-"
}
