package locking

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/send"
)

// attempt is an acquire that may outlive its caller. It is used again, unless
// its caller has left it alone.
type attempt struct {
	send.Flight[Tried]
	fly func()
	ctx context.Context
	p   Protocol
	try Try
}

func newAttempt() *attempt {
	a := &attempt{Flight: send.Flight[Tried]{Landed: make(chan struct{}, 1)}}
	a.Call = func() (Tried, error) { return a.p.Acquire(a.ctx, a.try) }
	a.fly = a.Run
	return a
}

// attempt returns one that nobody uses.
func (e *Engine) attempt() *attempt {
	if a, _ := e.attempts.Get().(*attempt); a != nil {
		return a
	}
	return newAttempt()
}

// used lets another use a, which has answered.
func (e *Engine) used(a *attempt) {
	a.ctx, a.p, a.try, a.Result, a.Err = nil, nil, Try{}, Tried{}, nil
	e.attempts.Put(a)
}

// outliving asks for the lock, for no longer than its caller is there and a
// moment more. If it has not been answered by then, a is left alone. Who is going
// to wait has another goroutine ask in any case: a stack that something was sent
// on stays several times as large for as long as the wait lasts.
func (a *attempt) outliving(e *Engine, ctx context.Context) (answered bool) {
	a.ctx = ctx
	if ctx.Done() == nil && !a.try.Queue {
		a.Result, a.Err = a.Call()
		return true
	}
	return a.Lands(e.Sender, ctx, send.Grace, a.fly)
}

// inCrowd asks for the lock on the caller's goroutine, while many calls of the process are under way: the
// question goes out together with theirs. It is left like one on another goroutine.
func (a *attempt) inCrowd(e *Engine, ctx context.Context) (answered bool) {
	l := &send.Leaving{Context: ctx, Over: ctx.Done(), Closing: e.Closing(), Patience: send.Grace}
	a.ctx = l
	a.Result, a.Err = a.Call()
	return !l.Left()
}

// acquireOutliving makes one attempt, from its question to its answer.
func acquireOutliving(e *Engine, ctx context.Context, p Protocol, try Try) (tried Tried, err error, answered bool) {
	a := e.attempt()
	a.p, a.try = p, try
	ask := (*attempt).outliving
	if !try.Again && e.Crowded() && !send.Followed(ctx) {
		ask = (*attempt).inCrowd
	}
	if !ask(a, e, ctx) {
		return tried, e.WhyEnded(ctx), false
	}
	tried, err = a.Result, a.Err
	e.used(a)
	return tried, err, true
}
