package standby

import (
	"context"
	"sync/atomic"
	"time"
)

// Breaker keeps requests from waiting for a server that does not answer.
type Breaker struct {
	until   atomic.Int64 // nobody asks before; monotonic, 0 while all is well
	probing atomic.Bool
}

// RestFor is how long nobody asks after a failure.
const RestFor = time.Second

// admit reports whether the server is asked. A probe is the only one that does.
func (k *Breaker) admit(now time.Duration) (ask, probe bool) {
	until := time.Duration(k.until.Load())
	switch {
	case until == 0:
		return true, false
	case now < until:
		return false, false
	}
	probe = k.probing.CompareAndSwap(false, true)
	return probe, probe
}

// ended takes note of what a request has found out. One whose caller left has
// found out nothing.
func (k *Breaker) ended(now time.Duration, what finding, probe bool) {
	switch {
	case what == silent:
		k.until.Store(int64(now + RestFor))
	case what == answered && k.until.Load() != 0:
		k.until.Store(0)
	}
	if probe {
		k.probing.Store(false)
	}
}

type finding int

const (
	answered finding = iota
	silent
	nothing
)

// Patience is for how long a server is asked.
type Patience struct {
	Within time.Duration
	Now    func() time.Duration // monotonic
	// Silent says whether an error shows that the server does not answer; late,
	// that the time is over.
	Silent func(err error, late bool) bool
}

// Instead asks the server, and decides instead if that is silent for a time, or
// is known to be.
func Instead(ctx context.Context, k *Breaker, p Patience, ask func(context.Context) error, instead func() error) error {
	asked, probe := k.admit(p.Now())
	if !asked {
		return instead()
	}
	limited, cancel := context.WithTimeout(ctx, p.Within)
	defer cancel()
	err := ask(limited)
	what := p.found(ctx, limited, err)
	k.ended(p.Now(), what, probe)
	if what != silent {
		return err
	}
	return instead()
}

// found is what the end of a request says about the server.
func (p Patience) found(ctx, limited context.Context, err error) finding {
	switch {
	case err == nil:
		return answered
	case ctx.Err() != nil:
		return nothing
	case p.Silent(err, limited.Err() != nil):
		return silent
	}
	return answered
}
