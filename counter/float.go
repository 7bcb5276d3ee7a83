package counter

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// Float is a handle on a floating point number under a name, which is 0 while it is not there. It has no state, so any number
// of goroutines may use it. The server adds with more digits than a float64 has, and keeps 17 after the point.
type Float struct {
	common
	h *hub
}

// NewFloat returns a handle on the float of that name.
func NewFloat(c Client, name string) *Float {
	h, o := newObject(c, "float", "float", name, whole.Alone, nil)
	return &Float{common{o}, h}
}

// Get returns the number, 0 if there is none.
//
// Cost: one command. Errors: [ErrDecode] if the key holds a text that is no number, or one that float64 does not have; ctx's
// error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's. Source: RAtomicDouble.get.
func (f *Float) Get(ctx context.Context) (v float64, err error) {
	if err = f.o.Usable(ctx); err == nil {
		v, err = whole.Read(ctx, f.o, floatOf, get)
	}
	return v, f.failed("read", err)
}

// Add adds v, and returns the sum. It keeps a time to live. Adds are not sent together, because the sum of floats depends on
// their order.
//
// Cost: one command. Errors: [ErrInvalidArgument] if v is NaN or infinite, or the sum would be; [ErrDecode];
// [ErrOutcomeUnknown], also if ctx ends before the answer; ctx's error and cause; [ErrClosed]; Redis' and the network's.
// Source: RAtomicDouble.addAndGet.
func (f *Float) Add(ctx context.Context, v float64) (sum float64, err error) {
	if err = f.usable(ctx, v); err == nil {
		sum, err = whole.Write(ctx, f.o, floatOf, incrbyfloat, f.o.Keys, spelled(v))
	}
	return sum, f.failed("add to", err)
}

// Set sets the number, whatever the key holds, and removes a time to live.
//
// Cost: one command. Errors: [ErrInvalidArgument] if v is NaN or infinite; [ErrOutcomeUnknown], also if ctx ends before the
// answer; ctx's error and cause; [ErrClosed]; Redis' and the network's. Source: RAtomicDouble.set.
func (f *Float) Set(ctx context.Context, v float64) error {
	err := f.usable(ctx, v)
	if err == nil {
		_, err = whole.Write(ctx, f.o, ignored, set, f.o.Keys, spelled(v))
	}
	return f.failed("set", err)
}

// Swap sets the number, and returns the one before. It removes a time to live. A text that is no number stays.
//
// Cost: one script call. Errors: [ErrDecode]; as [Float.Set]. Source: RAtomicDouble.getAndSet.
func (f *Float) Swap(ctx context.Context, v float64) (was float64, err error) {
	if err = f.usable(ctx, v); err == nil {
		was, err = whole.Write(ctx, f.o, floatOf, floatSwapScript, f.o.Keys, spelled(v))
	}
	return was, f.failed("swap", err)
}

// CompareAndSwap sets the number to v if it equals was, however it is written, and reports whether it did. 0 is also that of
// no float. It keeps a time to live.
//
// Cost: one script call. Errors: [ErrDecode]; as [Float.Set]. Source: RAtomicDouble.compareAndSet, which removes a time to
// live.
func (f *Float) CompareAndSwap(ctx context.Context, was, v float64) (did bool, err error) {
	if err = f.usable(ctx, was, v); err == nil {
		did, err = whole.Write(ctx, f.o, send.Yes, floatCompareScript, f.o.Keys, spelled(was), spelled(v))
	}
	return did, f.failed("compare and swap", err)
}

// usable checks what every operation needs, and the numbers that it is given.
func (f *Float) usable(ctx context.Context, vs ...float64) error {
	for _, v := range vs {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%w: NaN, or an infinite number", ErrInvalidArgument)
		}
	}
	return f.o.Usable(ctx)
}

func (f *Float) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	return f.h.failed(f.o, op, f.h.explain(context.Background(), f.o.Key, err))
}

// spelled returns a number as Java reads it: without an exponent, and with the fewest digits that are v.
func spelled(v float64) string {
	if v == 0 {
		return "0" // and not -0
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// floatOf returns the number of a text, 0 if there is none.
func floatOf(got send.Answer, err error) (float64, error) {
	text, there, err := send.Text(got, err)
	if !there || err != nil {
		return 0, err
	}
	v, bad := strconv.ParseFloat(text, 64)
	if bad != nil || strings.Trim(text, "0123456789+-.eE") != "" { // such as nan, or 0x1p4
		return 0, foreign("number", int64(len(text)))
	}
	return v, nil
}
