package counter

import (
	"context"
	"strconv"

	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// Counter is a handle on the counter of one name: an integer of 64 bits, which is 0 while it is not there. It has no state,
// so any number of goroutines may use it, and all handles on one name are the same counter.
type Counter struct {
	common
	h    *hub
	adds *adds
	ttl  int64 // ms; 0: none
}

// New returns a handle on the counter of that name.
func New(c Client, name string, opts ...Option) *Counter {
	cfg, err := resolve(opts)
	h, o := newObject(c, "counter", "counter", name, whole.Alone, err)
	adds := h.plain
	if cfg.counted {
		adds = h.counted
	}
	return &Counter{common{o}, h, adds, cfg.ttl}
}

// Get returns the number, 0 if there is no counter.
//
// Cost: one command. Errors: [ErrDecode] if the key holds a text that is no integer; ctx's error and cause;
// [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's. Source: RAtomicLong.get.
func (c *Counter) Get(ctx context.Context) (n int64, err error) {
	if err = c.o.Usable(ctx); err == nil {
		n, err = whole.Read(ctx, c.o, integerOf, get)
	}
	return n, c.failed("read", err)
}

// Add adds n, which may be negative, and returns the sum. It keeps a time to live.
//
// Calls of one client that come while others are under way are sent together, as one addition of their sum. Each gets the sum
// after its own call, as if they had come one after the other. If ctx ends before the call is sent, nothing is added. If ctx
// ends later, n is added, or the call fails for all; the error then wraps [ErrOutcomeUnknown].
//
// Add is sent once. After ErrOutcomeUnknown n may have been added or not. With [WithRequestIDs] a request is sent again, and
// counts once; after ErrOutcomeUnknown the client goes on until n is added, so do not call again.
//
// Cost: one command, or a share of one; with WithTTL or WithRequestIDs one script call, or a share of one.
// Errors: [ErrInvalidArgument] if the sum would leave int64; [ErrDecode]; [ErrOutcomeUnknown]; ctx's error and cause;
// [ErrClosed]; Redis' and the network's. Source: RAtomicLong.addAndGet, incrementAndGet, decrementAndGet.
func (c *Counter) Add(ctx context.Context, n int64) (sum int64, err error) {
	if err = c.o.Usable(ctx); err == nil {
		sum, err = c.adds.do(ctx, c.o.Key, addition{n: n, ttl: c.ttl})
	}
	return sum, c.failed("add to", err)
}

// Set sets the number, whatever the key holds, and removes a time to live. With [WithTTL] a new one begins.
//
// Cost: one command. Errors: [ErrOutcomeUnknown], also if ctx ends before the answer; ctx's error and cause;
// [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's. Source: RAtomicLong.set.
func (c *Counter) Set(ctx context.Context, n int64) error {
	err := c.o.Usable(ctx)
	if err == nil {
		_, err = whole.Write(ctx, c.o, ignored, set, c.o.Keys, c.withTTL(decimal(n))...)
	}
	return c.failed("set", err)
}

// SetIfAbsent sets the number if the key holds nothing, and reports whether it did. With [WithTTL] the counter expires.
//
// Cost and errors: as [Counter.Set]. Source: RAtomicLong.compareAndSet(0, n), which also sets a counter that is 0.
func (c *Counter) SetIfAbsent(ctx context.Context, n int64) (did bool, err error) {
	if err = c.o.Usable(ctx); err == nil {
		did, err = whole.Write(ctx, c.o, answered, set, c.o.Keys, append(c.withTTL(decimal(n)), "NX")...)
	}
	return did, c.failed("set", err)
}

// Swap sets the number, and returns the one before. It removes a time to live; with [WithTTL] a new one begins. A text that
// is no integer stays.
//
// Cost: one script call. Errors: [ErrDecode]; as [Counter.Set]. Source: RAtomicLong.getAndSet.
func (c *Counter) Swap(ctx context.Context, n int64) (was int64, err error) {
	return c.integer(ctx, "swap", swapScript, decimal(n), decimal(c.ttl))
}

// Take deletes the counter, and returns its number, 0 if there was none. A text that is no integer stays.
//
// Cost: one script call. Errors: as [Counter.Swap]. Source: RAtomicLong.getAndDelete.
func (c *Counter) Take(ctx context.Context) (was int64, err error) {
	return c.integer(ctx, "take", takeScript)
}

// CompareAndSwap sets the number to n if it is was, and reports whether it did. 0 is also that of no counter. It keeps a time
// to live.
//
// Cost: one script call. Errors: [ErrDecode]; as [Counter.Set]. Source: RAtomicLong.compareAndSet, which removes a time to
// live.
func (c *Counter) CompareAndSwap(ctx context.Context, was, n int64) (did bool, err error) {
	return c.yes(ctx, "compare and swap", compareSwapScript, decimal(was), decimal(n), decimal(c.ttl))
}

// CompareAndDelete deletes the counter if its number is was, and reports whether it did.
//
// Cost: one script call. Errors: [ErrDecode]; as [Counter.Set]. Source: ours.
func (c *Counter) CompareAndDelete(ctx context.Context, was int64) (did bool, err error) {
	return c.yes(ctx, "compare and delete", compareDeleteScript, decimal(was))
}

// Raise sets the number to n if it is below n, and reports whether it did. No counter counts as 0. It keeps a time to live.
//
// Cost: one script call. Errors: [ErrDecode]; as [Counter.Set]. Source: RAtomicLong.setIfLess(n, n), which compares doubles:
// above 2^53 it is wrong.
func (c *Counter) Raise(ctx context.Context, n int64) (did bool, err error) {
	return c.yes(ctx, "raise", boundScript, "raise", decimal(n), decimal(c.ttl))
}

// Lower sets the number to n if it is above n, as [Counter.Raise] does if it is below. Source: RAtomicLong.setIfGreater(n, n).
func (c *Counter) Lower(ctx context.Context, n int64) (did bool, err error) {
	return c.yes(ctx, "lower", boundScript, "lower", decimal(n), decimal(c.ttl))
}

// integer runs a script whose answer is the text of a number.
func (c *Counter) integer(ctx context.Context, op string, by send.Operation, args ...string) (n int64, err error) {
	if err = c.o.Usable(ctx); err == nil {
		n, err = whole.Write(ctx, c.o, integerOf, by, c.o.Keys, args...)
	}
	return n, c.failed(op, err)
}

// yes runs a script that says whether it changed something.
func (c *Counter) yes(ctx context.Context, op string, by send.Operation, args ...string) (did bool, err error) {
	if err = c.o.Usable(ctx); err == nil {
		did, err = whole.Write(ctx, c.o, send.Yes, by, c.o.Keys, args...)
	}
	return did, c.failed(op, err)
}

// withTTL returns the arguments of SET for a number.
func (c *Counter) withTTL(number string) []string {
	if c.ttl == 0 {
		return []string{number}
	}
	return []string{number, "PX", decimal(c.ttl)}
}

func (c *Counter) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	return c.h.failed(c.o, op, c.h.explain(context.Background(), c.o.Key, err))
}

// ignored takes an answer that says nothing.
func ignored(_ send.Answer, err error) (struct{}, error) { return struct{}{}, err }

// answered reports whether SET did what it was asked to.
func answered(got send.Answer, err error) (bool, error) { return err == nil && !got.Nil, err }

// integerOf returns the number of a text, 0 if there is none.
func integerOf(got send.Answer, err error) (int64, error) {
	text, there, err := send.Text(got, err)
	if !there {
		return 0, err
	}
	return parsed(text, err)
}

// parsed returns the integer of a text to which a server can add.
func parsed(text string, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	n, bad := strconv.ParseInt(text, 10, 64)
	var spelled [20]byte
	if bad != nil || string(strconv.AppendInt(spelled[:0], n, 10)) != text {
		return 0, foreign("integer", int64(len(text)))
	}
	return n, nil
}
