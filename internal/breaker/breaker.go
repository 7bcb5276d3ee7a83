package breaker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Breaker keeps requests from waiting for a server that does not answer. One slow
// reply does not open it: most of what ends within a second has to fail, or all of
// what ends if that comes seldom. Its zero value is closed.
//
//	closed ── failures prevail ──► open ── rest is over ──► one probe asks
//	  ▲                             ▲                          │     │
//	  │                             └── it fails, rest doubles ┘     │
//	  └───────────────────────── an answer ──────────────────────────┘
//
// A general breaker (sony/gobreaker) has one rest of fixed length, and a lock that
// each request takes.
type Breaker struct {
	until   atomic.Int64 // no request asks before; monotonic, 0 while it is closed
	probing atomic.Bool

	slice   atomic.Int64 // the present one, counted since the clock began
	answers atomic.Int64 // in it
	row     atomic.Int64 // failures since the last answer

	mu     sync.Mutex
	counts [slices]count // of slice n at n % slices; the answers of the present one are not in it yet
	rest   time.Duration // the next one
}

type count struct{ answers, failures int64 }

const (
	window = time.Second
	slices = 10

	// leastFailures is how many requests have failed at least when it opens.
	leastFailures = 5

	// FirstRest is how long no request asks after it has opened. Each probe that fails
	// doubles that, up to LongestRest.
	FirstRest   = 50 * time.Millisecond
	LongestRest = time.Second
)

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
	switch what {
	case answered:
		k.answered(now)
	case silent:
		k.failed(now, probe)
	}
	if probe {
		k.probing.Store(false)
	}
}

// answered counts an answer. The first of them closes the breaker, which then knows
// nothing of the outage.
func (k *Breaker) answered(now time.Duration) {
	if k.row.Load() != 0 {
		k.row.Store(0)
	}
	if k.until.Load() != 0 {
		k.close()
	}
	if k.slice.Load() != int64(now/(window/slices)) {
		k.mu.Lock()
		k.turn(now)
		k.mu.Unlock()
	}
	k.answers.Add(1)
}

func (k *Breaker) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.counts, k.rest = [slices]count{}, 0
	k.until.Store(0)
}

// failed counts a failure, and opens the breaker where failures prevail. What fails
// while it is open was sent before, but for the probe.
func (k *Breaker) failed(now time.Duration, probe bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.turn(now)
	k.counts[k.slice.Load()%slices].failures++
	row, open := k.row.Add(1), k.until.Load() != 0
	if probe && open || !open && k.prevail(row) {
		k.rest = min(max(2*k.rest, FirstRest), LongestRest)
		k.until.Store(int64(now + k.rest))
	}
}

// turn begins the slice of now. The mutex is held.
func (k *Breaker) turn(now time.Duration) {
	is := int64(now / (window / slices))
	was := k.slice.Load()
	if is <= was {
		return
	}
	k.counts[was%slices].answers += k.answers.Swap(0)
	for n := was + 1; n <= min(is, was+slices); n++ {
		k.counts[n%slices] = count{}
	}
	k.slice.Store(is)
}

// prevail reports whether at least half of what ended in the window has failed, or,
// where nothing was answered in it, enough since the last answer.
func (k *Breaker) prevail(row int64) bool {
	failures, answers := int64(0), k.answers.Load()
	for _, c := range k.counts {
		failures += c.failures
		answers += c.answers
	}
	if answers == 0 {
		failures = row
	}
	return failures >= leastFailures && failures >= answers
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

// Instead asks the server, and decides instead if that is silent for so long, or is
// known to be.
func Instead(ctx context.Context, k *Breaker, p Patience, ask func(context.Context) error, instead func() error) error {
	return k.Ask(ctx, p, ask, func(error) error { return instead() })
}

// Ask is Instead that tells why: the error of what was asked, or nil if the server
// was not asked, since it is known to be silent.
func (k *Breaker) Ask(ctx context.Context, p Patience, ask func(context.Context) error, instead func(error) error) error {
	asked, probe := k.admit(p.Now())
	if !asked {
		return instead(nil)
	}
	limited, cancel := context.WithTimeout(ctx, p.Within)
	defer cancel()
	what, err := k.asks(ctx, limited, p, ask, probe)
	if what != silent {
		return err
	}
	return instead(err)
}

// asks asks the server. A request that panics has found out nothing.
func (k *Breaker) asks(ctx, limited context.Context, p Patience, ask func(context.Context) error, probe bool) (what finding, err error) {
	what = nothing
	defer func() { k.ended(p.Now(), what, probe) }()
	unasked := false
	err = ask(context.WithValue(limited, unaskedKey{}, &unasked))
	what = p.found(ctx, limited, err)
	if what == answered && unasked {
		what = nothing
		Unasked(ctx)
	}
	return what, err
}

type unaskedKey struct{}

// Unasked says of a request that is answered without the server: it shows nothing
// about that. ctx is the one that the request was given.
func Unasked(ctx context.Context) {
	if unasked, ok := ctx.Value(unaskedKey{}).(*bool); ok {
		*unasked = true
	}
}

// found returns what the end of a request says about the server.
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
