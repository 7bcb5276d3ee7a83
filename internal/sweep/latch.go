package sweep

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/send"
)

const (
	// Lateness is how long at most who was denied the latch comes behind its end: a
	// process of Redisson's comes some milliseconds behind it, would have it for
	// another five seconds, and drops a hundred entries.
	Lateness = 10 * time.Millisecond

	// mostAhead is how far the clock of this process may be ahead of the server's. Beyond
	// that it would sweep what lives for the others of the fleet.
	mostAhead = 5 * time.Second
)

var errAhead = errors.New("the clock of this process is ahead of the server's: it sweeps nothing")

// aheadError is the error of a visit by a process whose clock is so far ahead of the server's.
type aheadError struct {
	error
	by time.Duration
}

func (e *aheadError) Unwrap() error { return e.error }

// Latch has what scripts with latch.lua are told, and what follows from their answers.
type Latch struct {
	e      *locking.Engine
	what   string       // that is swept, for the log
	warned atomic.Int64 // when it was logged that the clock is ahead, by Mono
}

// NewLatch returns the latch of the sweeps of a client, of what is called so in the log.
func NewLatch(e *locking.Engine, what string) *Latch { return &Latch{e: e, what: what} }

// Kept is how long the latch is a sweeper's after a batch, as scripts take it.
var Kept = strconv.FormatInt(Period.Milliseconds(), 10)

// Clock returns the caller's clock, as scripts take it.
func (l *Latch) Clock() string { return strconv.FormatInt(l.e.Wall(), 10) }

// MostAhead returns how far the clock may be ahead, as scripts take it. A clock that somebody moves by hand says what time it is.
func (l *Latch) MostAhead() string {
	if l.e.Clock != nil {
		return ""
	}
	return strconv.FormatInt(mostAhead.Milliseconds(), 10)
}

// Early returns when to come again, and the error of a visit by a process whose clock is ahead of the server's by so many ms: the
// object is left to processes whose clocks are right. It logs that once in a minute.
func (l *Latch) Early(ms int64) (wait time.Duration, why error) {
	by := time.Duration(ms) * time.Millisecond
	why = &aheadError{fmt.Errorf("%w, by %v", errAhead, by), by}
	now := l.e.Mono()
	if last := l.warned.Load(); (last == 0 || now-time.Duration(last) > LongestBackoff) && l.warned.CompareAndSwap(last, int64(now)) {
		l.e.Logger.Warn("expired entries of "+l.what+" are not swept", "err", why)
	}
	return LongestBackoff - rand.N(LongestBackoff/4), why
}

// Denied returns when to come again, as another process has the latch for so many ms.
func Denied(ms int64) time.Duration {
	return time.Duration(max(ms, 0))*time.Millisecond + rand.N(Lateness)
}

// Answered fills in a visit by the answer of a script with latch.lua: how many have gone, 1 if there are more, and when the next is
// due; -1 and for how long another process has the latch; or -2 and how far the clock is ahead.
func (l *Latch) Answered(v *Visit, parts []rueidis.RedisMessage) {
	gone, err := parts[0].AsInt64()
	var more int64
	if err == nil {
		more, err = parts[1].AsInt64()
	}
	switch {
	case err != nil:
		v.Err = err
	case gone == -2:
		v.Wait, v.Err = l.Early(more)
	case gone < 0:
		v.Busy, v.Wait = true, Denied(more)
	default:
		v.Expired, v.More = gone, more == 1
		var next string
		if next, v.Err = parts[2].ToString(); v.Err == nil {
			v.Next, v.Err = Due(next)
		}
	}
}

// Expecting makes a write of what ends at a time, ms, unless that is 0, and tells expect of that time if it may have been done.
func Expecting[A any](ctx context.Context, e *locking.Engine, at int64, expect func(at int64), call func(context.Context) (A, error)) (answer A, err error) {
	tell := func(err error) {
		if at > 0 && (err == nil || errors.Is(err, core.ErrOutcomeUnknown)) {
			expect(at)
		}
	}
	answer, err = send.Sent(e.Sender, ctx, func(ctx context.Context) (A, error) {
		answer, err := call(ctx)
		tell(err)
		return answer, err
	})
	if err != nil { // it may be done later than the call has returned
		tell(err)
	}
	return answer, err
}
