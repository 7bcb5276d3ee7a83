package writethrough

import (
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/send"
)

// An Option changes a [Map]. If an option is invalid, every operation of the Map
// returns [ErrInvalidArgument].
type Option interface{ apply(*config) error }

// config is what the options of a Map say.
type config struct {
	behind  bool
	batch   int
	delay   time.Duration
	retries time.Duration // 0: for ever
	dead    int           // so many are kept aside
	others  bool          // write
	backlog int
	wait    time.Duration // for room; 0: there is none
	timeout time.Duration
	many    int // changes of one call, through; 0: one, and one by one
}

// WithBehind has changes written to the map at once, and to the store later, in
// batches: of up to n changes and about 1 MB, or one change that is larger. A batch
// waits for 100 ms at most, counted from its first change, and for the call of the
// writer that is under way. See [New]. Without it the store is written first. n
// is from 1 to 1000.
func WithBehind(n int) Option {
	return option(func(c *config) error {
		c.behind, c.batch = true, n
		if n < 1 || n > 1000 {
			return fmt.Errorf("%w: batches of %d changes: from 1 to 1000", ErrInvalidArgument, n)
		}
		return nil
	})
}

// WithWriteDelay sets how long a change may wait for others to be written with:
// 100 ms without it, and at most an hour. It is for [WithBehind].
func WithWriteDelay(d time.Duration) Option {
	return option(func(c *config) error {
		c.delay = d
		if d < time.Millisecond || d > time.Hour {
			return fmt.Errorf("%w: a delay of %v is outside of 1ms to 1h", ErrInvalidArgument, d)
		}
		return nil
	})
}

// WithWriteTimeout sets how long one call of the writer may take. The default is 30 s. The
// context of the call ends then. In write-behind mode the call counts as refused, and other
// processes have their turn; this handle does not call the writer again before it returns. In
// write-through mode the operation waits for a call that ignores the end of its context, and keeps
// the lock of the entry, so that no older change is written after a newer one.
// Operations return [ErrInvalidArgument] if d is below a millisecond or above a day.
func WithWriteTimeout(d time.Duration) Option {
	return option(func(c *config) error {
		c.timeout = d
		if d < time.Millisecond || d > 24*time.Hour {
			return fmt.Errorf("%w: a write timeout of %v is outside of 1ms to 24h", ErrInvalidArgument, d)
		}
		return nil
	})
}

// WithMaxRetryTime gives up changes that the writer of this process has refused for d. They are
// tried once more one by one, and those that are refused then are dead, see [Map.Dead]. An
// outage of the store that takes longer costs changes: choose d longer than that. Without it
// they are tried for ever. All later changes wait for them, except for those that
// [Discard] says are of no use. A process that begins to try counts anew, and so does one whose
// turn others have used. Operations return [ErrInvalidArgument] if d is below a millisecond or
// above 100 years. It is for [WithBehind].
func WithMaxRetryTime(d time.Duration) Option {
	return option(func(c *config) error {
		c.retries = d
		return send.CheckTTL("retry time", d)
	})
}

// WithDeadLimit keeps at most n dead changes, see [Map.Dead]: the oldest go. Without
// it that is 10,000; a million is the most. It is for [WithBehind].
func WithDeadLimit(n int) Option {
	return option(func(c *config) error {
		c.dead = n
		if n < 1 || n > 1_000_000 {
			return fmt.Errorf("%w: %d dead changes: from 1 to 1,000,000", ErrInvalidArgument, n)
		}
		return nil
	})
}

// WithOthersWriting leaves the calls of the writer to other processes: this one queues changes, and
// its writer may be nil. It is for processes that do not reach the store, and needs [WithBehind].
func WithOthersWriting() Option {
	return option(func(c *config) error {
		c.others = true
		return nil
	})
}

// WithMaxBacklog sets how many changes may be queued, before writes return [ErrBacklog]. The
// default is a million. It is for [WithBehind].
func WithMaxBacklog(n int) Option {
	return option(func(c *config) error {
		c.backlog = n
		if n < 1 {
			return fmt.Errorf("%w: a backlog of %d", ErrInvalidArgument, n)
		}
		return nil
	})
}

// WithBacklogWait makes writes wait for up to d while the backlog is full, before they return
// [ErrBacklog]. The wait also ends with the context of the caller or with [Map.Close]; the
// write then returns an ErrBacklog that wraps the reason. One caller of the handle asks the
// server at a time, each 50 ms at the latest; the others wait in line. [Map.Redrive] does
// not wait. Operations return [ErrInvalidArgument] if d is below a millisecond or above 100
// years. It is for [WithBehind].
func WithBacklogWait(d time.Duration) Option {
	return option(func(c *config) error {
		c.wait = d
		return send.CheckTTL("backlog wait", d)
	})
}

type option func(*config) error

func (o option) apply(c *config) error { return o(c) }
