package engine

import "context"

// attempt is an acquire that may outlive its caller. It is used again, unless
// its caller has left it alone.
type attempt struct {
	flight[Tried]
	fly func()
	ctx context.Context
	p   Protocol
	try Try
}

func newAttempt() *attempt {
	a := &attempt{flight: flight[Tried]{landed: make(chan struct{}, 1)}}
	a.call = func() (Tried, error) { return a.p.Acquire(a.ctx, a.try) }
	a.fly = a.run
	return a
}

// acquireOutliving asks for the lock, for no longer than its caller is there and
// a moment more.
func acquireOutliving(e *Engine, ctx context.Context, p Protocol, try Try) (tried Tried, err error, answered bool) {
	a, _ := e.attempts.Get().(*attempt)
	if a == nil {
		a = newAttempt()
	}
	a.ctx, a.p, a.try = ctx, p, try
	tried, err, answered = a.await(e, ctx, grace, a.fly)
	if answered {
		a.ctx, a.p, a.try, a.result, a.err = nil, nil, Try{}, Tried{}, nil
		e.attempts.Put(a)
	}
	return tried, err, answered
}
