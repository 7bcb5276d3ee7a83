package send

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
)

// Outage is what the exchanges of a process about one name have come to of late.
// All who wait for the name share one: an outage is told to them together, and
// none is told that it was refused unless the server has refused. The zero value
// is ready for use.
type Outage struct {
	failing atomic.Bool // whether times is above 0

	mu      sync.Mutex
	since   time.Duration // of the first failure since the last answer
	failed  time.Duration // of the last failure
	refused time.Duration // of the last refusal by the server
	times   int           // failures since the last answer
	why     error         // the last failure
	no      bool          // whether the server has refused at all
}

// Refused notes that the server has answered, and that what is waited for is not
// there.
func (o *Outage) Refused(s *Sender) {
	now := s.Now().Mono
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answered()
	o.refused, o.no = now, true
}

// Answered notes that the server has answered.
func (o *Outage) Answered() {
	if o == nil || !o.failing.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answered()
}

func (o *Outage) answered() {
	o.times, o.why = 0, nil
	o.failing.Store(false)
}

// Failed notes that an exchange has failed. It returns for how long they have,
// and how long to pause. Those of a slot that moves do not count: what comes
// after them begins anew. Nor does one of which nobody has heard for long.
func (o *Outage) Failed(s *Sender, err error) (lasted, pause time.Duration) {
	now := s.Now().Mono
	o.mu.Lock()
	defer o.mu.Unlock()
	o.why = err
	o.failing.Store(true)
	return o.lasts(now, Moving(err), s.stale()), jittered(min(50*time.Millisecond<<min(o.times, 10), time.Second))
}

// lasts counts a failure, and returns for how long they have gone on.
func (o *Outage) lasts(now time.Duration, moving bool, stale time.Duration) time.Duration {
	if o.times == 0 || moving || now-o.failed > stale {
		o.since = now
	}
	o.times++
	o.failed = now
	return now - o.since
}

// stale returns after how long without an exchange an outage is over: those who wait
// ask more often.
func (s *Sender) stale() time.Duration { return 2*s.SendTimeout() + LongestSleep }

// GivenUp returns why a waiter has given up after that time, nil if none has. One that
// has waited since gives up, too: to ask one after the other would take each of
// them as long as a silent server takes.
func (o *Outage) GivenUp(s *Sender, since time.Duration) error {
	if o == nil || !o.failing.Load() {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.times == 0 || o.failed < since || o.failed-o.since <= s.WatchdogTimeout || !Transient(o.why) {
		return nil
	}
	return o.why
}

// GaveUp notes that a waiter has borne an outage for long enough, of which it was told in
// another way: those who have waited give up together with it.
func (o *Outage) GaveUp(s *Sender, err error) {
	now := s.Now().Mono
	o.mu.Lock()
	defer o.mu.Unlock()
	o.times, o.why = o.times+1, err
	o.since, o.failed = now-s.WatchdogTimeout-1, now
	o.failing.Store(true)
}

// Ended returns the error of a wait that ended with err. It changes only the one that
// [core.Within] ends a wait with. ErrNotAcquired is the server's answer: it takes a
// refusal that is no older than a sleep, and no failure since. After a failure the
// error is that failure. Without an answer it stays context.DeadlineExceeded.
func (o *Outage) Ended(s *Sender, err error) error {
	switch {
	case !errors.Is(err, core.ErrWaitOver):
		return err
	case o == nil:
		if why := s.silent(0); why != nil {
			return fmt.Errorf("%w: %w", ErrUnreached, why)
		}
		return err
	}
	now := s.Now().Mono
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.times > 0 && now-o.failed <= s.stale():
		return fmt.Errorf("%w: %w", ErrUnreached, o.why)
	case s.silent(o.refused) != nil:
		return fmt.Errorf("%w: %w", ErrUnreached, s.silent(o.refused))
	case o.no && now-o.refused <= freshest:
		return core.ErrNotAcquired
	}
	return err
}

// freshest is how old a refusal may be that is an answer: the longest sleep, and
// the time of a look.
const freshest = LongestSleep + LongestSleep/10

// ErrUnasked is the ErrNotAcquired of a try that has not reached the server: another call of this process was ahead.
var ErrUnasked = fmt.Errorf("%w: another call of this process is asking", core.ErrNotAcquired)

// ErrUnreached says in the error of a wait that it has ended while the server was away, or refused to answer.
var ErrUnreached = errors.New("the wait is over and the server was not reached")

// Unanswered returns the error of a wait that ctx has ended. Why is the failure of its last exchange, and nil if
// that was answered.
func Unanswered(ctx context.Context, why error) error {
	if why == nil {
		return core.ContextError(ctx)
	}
	return fmt.Errorf("%w: %w: %w", core.ContextError(ctx), ErrUnreached, why)
}

// Because adds to the error of a wait that its context has ended why the server was not reached, if the last exchange, or
// the last send to the server, has failed.
func (o *Outage) Because(s *Sender, err error) error {
	if errors.Is(err, ErrUnreached) {
		return err
	}
	why := s.silent(0)
	if o != nil && o.failing.Load() {
		now := s.Now().Mono
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.times > 0 && now-o.failed <= s.stale() {
			why = o.why
		}
	}
	if why == nil {
		return err
	}
	return fmt.Errorf("%w: %w: %w", err, ErrUnreached, why)
}

// Refusal returns the error of a try that does not wait and is refused in this process,
// since another asks or holds: the last failure if the server is not reached.
func (o *Outage) Refusal() error {
	if o == nil || !o.failing.Load() {
		return core.ErrNotAcquired
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.why == nil {
		return core.ErrNotAcquired
	}
	return o.why
}

// Bear lets a wait outlast a server that is away for a moment: ctx says how long
// the caller is ready to wait. After a watchdog timeout it is the caller's
// business, but not while a slot moves, which takes as long as it takes.
func (s *Sender) Bear(ctx context.Context, o *Outage, name string, poke <-chan struct{}, err error) error {
	over := s.Over(ctx)
	if over != nil && errors.Is(err, context.Cause(ctx)) {
		return err // what ended is the wait, and no exchange
	}
	lasted, pause := o.Failed(s, err)
	if !Transient(err) || lasted > s.WatchdogTimeout {
		return err
	}
	if over == nil { // else what is heard is another's already
		s.Logger.Debug("waiting for the server", "name", name, "err", err)
		over = s.Sleep(ctx, pause, poke)
	}
	switch {
	case ctx.Err() == nil:
		return over // nil, or the client closes
	case errors.Is(err, ctx.Err()):
		return err
	}
	return fmt.Errorf("%w: %w: %w", over, ErrUnreached, err)
}

// LongestSleep caps every sleep of a waiter, unless Config.LongestSleep says
// otherwise, since a message is a hint and may be lost. It is jittered, so that
// the waiters of a fleet spread.
const LongestSleep = 5 * time.Second

// Nap returns how long to sleep when so much is left.
func (s *Sender) Nap(left time.Duration) time.Duration {
	if most := cmp.Or(s.LongestSleep, LongestSleep); left < 0 || left >= most {
		return jittered(most)
	}
	return left + time.Millisecond // the server expires at the next millisecond
}

// jittered returns d, up to a tenth less.
func jittered(d time.Duration) time.Duration { return d - rand.N(d/10+1) }

// Sleep waits for d, a poke, or the end.
func (s *Sender) Sleep(ctx context.Context, d time.Duration, poke <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-poke:
	case <-ctx.Done():
	case <-s.Closing():
	}
	return s.Over(ctx)
}

// Over returns why a wait has ended, if it has.
func (s *Sender) Over(ctx context.Context) error {
	if ctx.Err() != nil {
		return core.ContextError(ctx)
	}
	return s.Open()
}
