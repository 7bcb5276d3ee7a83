package election

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Leader returns the leader at this moment, as the master sees it; [Leader.None] reports that there
// is none. Its term may have ended when the answer arrives. Gap is never set. ctx bounds the round
// trip.
//
// Cost: one script call.
// Errors: ctx's, [lock.ErrClosed], [lock.ErrInvalidArgument], [lock.ErrWrongKind], and those of
// Redis.
// Source: no object of Redisson.
func (el *Election) Leader(ctx context.Context) (Leader, error) {
	if err := el.askable(ctx); err != nil {
		return Leader{}, el.failed("leader of", err)
	}
	s, err, _ := send.Await(el.p.e.Sender, ctx, 0, func() (sight, error) { return el.p.leader(ctx) })
	if err != nil {
		return Leader{}, el.failed("leader of", err)
	}
	leader, err := el.leader(s)
	return leader, el.failed("leader of", err)
}

// Candidate is a process that waits to be elected.
type Candidate struct {
	// Owner is the text in Redis, "<client id>:<decimal>".
	Owner string
	// Mine says that the candidate belongs to this client.
	Mine bool
}

// Candidates returns the candidates at this moment, the next one first, as the master sees them.
// Some may have died: they are passed over when their turn comes. ctx bounds the round trip.
//
// Cost: one script call, which reads the whole queue. Errors: as [Election.Leader].
// Source: the queue of Redisson's fair lock.
func (el *Election) Candidates(ctx context.Context) ([]Candidate, error) {
	if err := el.askable(ctx); err != nil {
		return nil, el.failed("candidates of", err)
	}
	waiters, err := el.line.Queue(ctx)
	if err != nil {
		return nil, el.failed("candidates of", within(err))
	}
	all := make([]Candidate, len(waiters))
	for i, w := range waiters {
		all[i] = Candidate{Owner: w.Owner, Mine: w.Mine}
	}
	return all, nil
}

// Depose ends the term of the leader, lets the next candidate be elected, and reports whether there
// was a leader. The candidates stay. The leader learns it at its next renewal, a third of the
// watchdog timeout away, or when it resigns. Until then it works on, next to its successor, whose
// fencing token is higher. The request is sent once: after [lock.ErrOutcomeUnknown] the leader may
// have been deposed. ctx bounds the round trip.
//
// Cost: three script calls.
// Errors: as [Election.Leader].
// Source: RedissonFairLock.forceUnlock.
func (el *Election) Depose(ctx context.Context) (led bool, err error) {
	if err := el.askable(ctx); err != nil {
		return false, el.failed("depose", err)
	}
	s, err, answered := send.Await(el.p.e.Sender, ctx, 0, func() (sight, error) { return el.p.leader(ctx) })
	if err != nil || !answered {
		return false, el.failed("depose", err)
	}
	if led, err = el.line.ForceUnlock(ctx); err != nil {
		return led, el.failed("depose", within(err))
	}
	if led && s.owner != "" {
		// Observers detect the change without this message, only later.
		_ = el.p.depart(context.WithoutCancel(ctx), s.owner)
	}
	return led, nil
}

// askable checks what a one-shot call needs.
func (el *Election) askable(ctx context.Context) error {
	return object.Usable(ctx, el.p.e, el.bad)
}
