package reliable

import (
	"context"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Transfer adds a message, as [Queue.Add] does, and waits until a consumer has acknowledged it. It returns the id of the
// message.
//
// The wait ends with ctx. Then, and after any other error of the wait, Transfer cancels the message, as [Queue.Cancel] does. If the
// server is silent, it waits for the answer to that for a third of a watchdog timeout at most. The
// error says what became of the message:
//   - nil: it was acknowledged, perhaps after ctx had ended.
//   - [ErrRemoved] without [ErrTaken]: no consumer has had it, and none will.
//   - [ErrRemoved] with [ErrTaken]: a consumer held it, or had held it. It was not acknowledged, and is delivered no more. A
//     consumer that holds it gets [ErrCancelled]. Its work may be done, or half done.
//   - [ErrBuried]: its attempts were used up. It is among the dead, or a handler of [Queue.Dead] has it or has settled it.
//   - [ErrExpired]: it was not delivered within [WithExpiry]. This comes when a consumer would take it: without a consumer the wait
//     lasts until ctx ends.
//   - [ErrOutcomeUnknown]: it may have been acknowledged, have been cancelled, or be still in the queue. If the id is not
//     0, [Queue.Find] may tell. With the id 0 it may be that nothing was added. With [ErrNotFound] the
//     message has gone and nothing says how: the queue was deleted, or a server has forgotten the message or how it ended.
//   - Any other error comes with the id 0, and nothing was added: [ErrDuplicate], [ErrFull], [ErrInvalidArgument].
//
// A message that another Add has added is not waited for: [DuplicateError] has its id. A paused queue and a delay prolong the wait. The
// queue keeps for a minute how the message has ended, of at most 100,000 messages. So a lost notification delays Transfer by a few seconds.
//
// Cost: one script call to add, and two to look, each shared with concurrent calls of the process; one to cancel. One subscription
// and one timer for all waiters of a process on the queue. Errors: also ctx's error and cause, with
// rueidisson.ErrUnreached if the last exchange with the server has failed by then; [ErrClosed]; rueidisson.ErrNotReplicated
// with rueidisson.WithReplicaAcks, after which the message is cancelled; those of Redis.
//
// Source: RTransferQueue.transfer of Redisson, which waits until a consumer has taken the element. The two share no data.
func (q *Queue[T]) Transfer(ctx context.Context, v T, opts ...AddOption) (id int64, err error) {
	p, sealed, err := q.putting(ctx, append(opts[:len(opts):len(opts)], awaitedOption))
	a := adding{of: q.of, capacity: q.cfg.capacity, transfer: true}
	if err == nil {
		a.one[0], err = q.item(p, sealed, v)
	}
	if err == nil {
		err = ErrClosed
		q.h.e.During(func() { id, err = q.transfer(ctx, a) }) // Close waits, so that the message can be cancelled
	}
	return id, q.failed("transfer to", err)
}

// awaitedOption has the queue keep how a message ends.
var awaitedOption = addOption(func(p *putting) error {
	p.awaited = true
	return nil
})

func (q *Queue[T]) transfer(ctx context.Context, a adding) (id int64, err error) {
	got, err := q.h.adds.Do(ctx, q.of.key, a)
	if err == nil {
		id, err = got.of(0)
	}
	if id == 0 {
		return 0, err
	}
	if err == nil {
		var text string
		if text, err = q.awaited(ctx, id); err == nil {
			return id, ended(text[0], text[1:], nil)
		}
	}
	how, bad := q.withdraw(ctx, id)
	if bad != nil {
		return id, fmt.Errorf("%w: %w", ErrOutcomeUnknown, errors.Join(err, bad))
	}
	return id, ended(how, "", err)
}

// ended returns the error for a message that has ended, or was cancelled. How is a letter of result.lua or remove.lua. Why is the
// error of the wait, nil if there is none.
func ended(how byte, cause string, why error) error {
	var end error
	switch how {
	case 'r', 'a':
		return nil
	case 'b':
		end = ErrBuried
	case 'd', '3':
		end = buriedBy(cause)
	case 'e':
		end = ErrExpired
	case 'x', '1':
		end = ErrRemoved
	case 'c', '2':
		end = fmt.Errorf("%w: %w", ErrRemoved, ErrTaken)
	default:
		end = fmt.Errorf("%w: %w", ErrOutcomeUnknown, ErrNotFound)
	}
	if why == nil {
		return end
	}
	return fmt.Errorf("%w: %w", end, why)
}

// withdraw cancels a message, together with other calls, and returns the letter of remove.lua. Without an answer in time, or if a server
// refuses that for now, it goes on once more by itself.
func (q *Queue[T]) withdraw(ctx context.Context, id int64) (byte, error) {
	within, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*q.h.e.SendTimeout())
	defer stop()
	how, err := q.h.withdrawals.Do(within, q.of.key, asking{q.of, id})
	if err != nil && (within.Err() != nil || send.Transient(err)) {
		q.h.withdrawals.Post(q.of.key, asking{q.of, id})
	}
	return how, err
}

// transferLeft cancels a message whose Transfer has left before the add was answered.
func (h *hub) transferLeft(key string, a adding, got added) {
	if id, _ := got.of(0); a.transfer && id > 0 {
		h.withdrawals.Post(key, asking{a.of, id})
	}
}

type withdrawCall = combine.Call[asking, byte]

// mostWithdrawn bounds how long the cancellations of one script call keep the server: each takes it some 40 µs, and all of them one walk over
// the leases.
const mostWithdrawn = 32

// sendWithdrawals cancels messages together.
func (h *hub) sendWithdrawals(_ string, _ int, batch []*withdrawCall) error {
	of, ids := batch[0].Ask.of, make([]int64, len(batch))
	for i, c := range batch {
		ids[i] = c.Ask.id
	}
	latch := keys.QueueDone(of.key, h.requests.ID())
	got, err := h.e.Run(context.Background(), send.Identified{Script: removeScript}, of.on(latch),
		append([]string{send.MemoryMillis}, of.removing(h.e, notDead, ids...)...))
	if err == nil && !got.Replayed { // else an earlier send may still arrive
		h.requests.Forget(of.key, latch)
	}
	codes, err := oneText(got, err)
	if err == nil && len(codes) != len(batch) {
		err = errAnswer
	}
	if err != nil {
		return err
	}
	for i, c := range batch {
		c.Answer = codes[i]
	}
	return nil
}
