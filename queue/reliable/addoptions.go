package reliable

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
)

// An AddOption changes one Add.
type AddOption interface{ applyAdd(*putting) error }

// putting is what the options of an Add say.
type putting struct {
	delay, expiry, period int64 // ms; 0: none
	at                    int64 // ms since 1970; 0: none
	priority              int
	attempts              int // 0: as the queue has it
	backoff               func(attempt int) time.Duration
	waits                 string // of backoff
	once, unique, group   string
	awaited               bool // its end is kept for a while: see Queue.Transfer
	head                  header
	text                  string // all but the head as add.lua has it, with a 0 for what of its keys is that of the message
}

// noOptions is most messages'.
var noOptions putting

// own returns the terms of the message, as options.lua has them.
func (p *putting) own() string {
	attempts, awaited := "", ""
	if p.attempts > 0 {
		attempts = decimal(p.attempts)
	}
	if p.awaited {
		awaited = ":t"
	}
	if attempts == "" && p.waits == "" && awaited == "" {
		return ""
	}
	return ":" + attempts + ":" + p.waits + awaited
}

// A TimeOption says when a message comes, to [Queue.Add] and [Queue.Reschedule].
type TimeOption interface {
	AddOption
	applyTime(p *putting) error
}

// A DelayOption is a TimeOption that is for [Message.Nack] and [Message.Release], too.
type DelayOption interface {
	TimeOption
	NackOption
	ReleaseOption
}

// WithDelay makes a message wait for d before it is delivered: one that is added, one whose
// attempt has failed, or one that is given back. The server's clock counts it, in milliseconds.
func WithDelay(d time.Duration) DelayOption { return delayOption(d) }

type delayOption time.Duration

func (d delayOption) applyAdd(p *putting) error {
	p.delay, p.at = core.Millis(max(time.Duration(d), 0)), 0
	return checkDelay(time.Duration(d))
}

func (d delayOption) applyTime(p *putting) error { return d.applyAdd(p) }

func (d delayOption) applyNack(n *nacking) error {
	n.delay = time.Duration(d)
	return checkDelay(time.Duration(d))
}

func (d delayOption) applyRelease(r *releasing) error {
	r.delay = time.Duration(d)
	return checkDelay(r.delay)
}

func checkDelay(d time.Duration) error {
	if d < 0 || d > core.LongestLease {
		return fmt.Errorf("%w: delay %v is outside of 0 to %v", ErrInvalidArgument, d, core.LongestLease)
	}
	return nil
}

// WithAt has a message wait until t. What has passed is no wait. The server's clock
// says when that is.
func WithAt(t time.Time) TimeOption { return atOption(t) }

type atOption time.Time

func (o atOption) applyAdd(p *putting) error {
	t := time.Time(o)
	p.at, p.delay = max(t.UnixMilli(), 0), 0
	if until := time.Until(t); until > core.LongestLease {
		return fmt.Errorf("%w: %v is more than %v away", ErrInvalidArgument, t, core.LongestLease)
	}
	return nil
}

func (o atOption) applyTime(p *putting) error { return o.applyAdd(p) }

// WithPriority lets a message pass those of lower priority: 0, the lowest, to 255. See [WithFairPriorities].
func WithPriority(n int) AddOption {
	return addOption(func(p *putting) error {
		p.priority = n
		if n < 0 || n > 255 {
			return fmt.Errorf("%w: priority %d is outside of 0 to 255", ErrInvalidArgument, n)
		}
		return nil
	})
}

// WithGroup has the messages of a group handled one after the other (several at once with [WithGroupInFlight]), in the order in
// which they were added, retries included. The next is not delivered until the one before
// was acknowledged, buried or removed. Delayed messages join their group when they are due. A
// group has 1 to 256 bytes without NUL.
func WithGroup(group string) AddOption {
	return addOption(func(p *putting) error {
		p.group = group
		return checkKey("group", group)
	})
}

// WithDedup refuses, with [ErrDuplicate], a message whose key another was added with
// less than ttl ago. A key has 1 to 256 bytes without NUL.
func WithDedup(key string, ttl time.Duration) AddOption {
	return addOption(func(p *putting) error {
		p.once, p.period = key, core.Millis(ttl)
		if err := send.CheckTTL("time of a dedup key", ttl); err != nil {
			return err
		}
		return checkKey("dedup key", key)
	})
}

// WithUnique refuses, with [ErrDuplicate], a message whose key another has that is not
// done yet: acknowledged, buried, expired or removed. A key has 1 to 256 bytes
// without NUL.
func WithUnique(key string) AddOption {
	return addOption(func(p *putting) error {
		p.unique = key
		return checkKey("unique key", key)
	})
}

// WithExpiry drops a message that was not delivered within d: it is deleted when its turn
// comes, and is counted as expired. A message that was delivered once does not expire.
func WithExpiry(d time.Duration) AddOption {
	return addOption(func(p *putting) error {
		p.expiry = core.Millis(d)
		return send.CheckTTL("expiry", d)
	})
}

// WithTimeout bounds each attempt at a message: when d has passed since a consumer was
// given it, or its [BatchHandler] has begun, its contexts end with [ErrTimeout], and the attempt has failed.
func WithTimeout(d time.Duration) AddOption {
	return addOption(func(p *putting) error {
		p.head.Timeout = core.Millis(d)
		return send.CheckTTL("timeout", d)
	})
}

// WithAttempts buries the message when its n-th attempt has failed, whatever [WithMaxAttempts] says.
func WithAttempts(n int) AddOption {
	return addOption(func(p *putting) error {
		p.attempts = n
		return within("attempts", int64(n), mostAttempts)
	})
}

// WithHeader gives a message a header of its own, such as a trace. All of them
// together have at most 64 kB.
func WithHeader(key, value string) AddOption {
	return addOption(func(p *putting) error {
		if p.head.Values == nil {
			p.head.Values = make(map[string]string)
		}
		p.head.Values[key] = value
		return nil
	})
}

const longestKey = 256

func checkKey(what, key string) error {
	switch {
	case key == "" || len(key) > longestKey:
		return fmt.Errorf("%w: a %s has 1 to %d bytes, not %d", ErrInvalidArgument, what, longestKey, len(key))
	case strings.IndexByte(key, 0) >= 0:
		return fmt.Errorf("%w: a %s has no NUL", ErrInvalidArgument, what)
	}
	return nil
}

type addOption func(*putting) error

func (o addOption) applyAdd(p *putting) error { return o(p) }

func resolveAdd(opts []AddOption, log *slog.Logger) (*putting, error) {
	if len(opts) == 0 {
		return &noOptions, nil
	}
	p := new(putting)
	if err := object.Apply(p, opts, AddOption.applyAdd); err != nil {
		return nil, err
	}
	if p.backoff != nil {
		waits, err := waitsOf(p.backoff, log)
		if err != nil {
			return nil, err
		}
		p.waits = textOfWaits(waits)
	}
	if p.delay == 0 && p.expiry == 0 && p.at == 0 && p.priority == 0 && p.once == "" && p.unique == "" && p.group == "" &&
		p.attempts == 0 && p.waits == "" && !p.awaited {
		return p, nil // there is nothing to tell the server
	}
	p.text = strings.Join([]string{
		"0", decimal(p.delay), decimal(p.at), decimal(p.priority), decimal(p.expiry), decimal(p.period),
		decimal(len(p.unique)) + p.own(), p.unique + p.group,
	}, "|")
	return p, nil
}
