package timeseries

import (
	"fmt"
	"strconv"
	"time"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/send"
)

// An Option changes a handle. If an option is invalid, such as a codec of another
// type, every operation of the handle returns [ErrInvalidArgument].
type Option interface{ applyHandle(*config) error }

// An AddOption changes one call that adds entries.
type AddOption interface{ applyAdd(*adding) error }

// A TTLOption changes one call. As an option of the handle it changes all that add entries.
type TTLOption interface {
	Option
	AddOption
}

// config is what the options of a handle say.
type config struct {
	codec  any           // a codec.Codec[T]; nil: of the family
	family *codec.Family // nil: the client's
	ttl    time.Duration
}

// adding is what the options of one call say.
type adding struct {
	ttl   time.Duration // 0: for ever
	label string
}

// WithCodec sets the codec of the values and of the labels, as
// rueidisson.WithCodec does for all objects of a client.
func WithCodec(f codec.Family) Option {
	return option(func(c *config) error {
		c.family, c.codec = &f, nil
		return nil
	})
}

// WithValueCodec sets the codec of the values to one of the
// program's own. Labels keep that of the client, or of a [WithCodec] before it. [WithCodec] takes a family, which has a codec for each type.
func WithValueCodec[T any](c codec.Codec[T]) Option {
	return option(func(cfg *config) error {
		cfg.codec = c
		return codec.Check(c)
	})
}

// WithTTL sets the time to live of what one call adds, or as an option of the handle of what every call
// adds. It is counted in whole milliseconds, rounded up. Operations return
// [ErrInvalidArgument] if it is below a millisecond or above 100 years of 365 days.
//
// WithTTL(0) lets entries stay, whatever the handle says.
func WithTTL(d time.Duration) TTLOption { return ttlOption(d) }

// WithLabel gives what one call adds a label, which comes with it. An empty one is none.
func WithLabel(label string) AddOption {
	return addOption(func(a *adding) error {
		a.label = label
		return nil
	})
}

type option func(*config) error

func (o option) applyHandle(c *config) error { return o(c) }

type addOption func(*adding) error

func (o addOption) applyAdd(a *adding) error { return o(a) }

type ttlOption time.Duration

func (o ttlOption) applyHandle(c *config) error { c.ttl = time.Duration(o); return o.check() }
func (o ttlOption) applyAdd(a *adding) error    { a.ttl = time.Duration(o); return o.check() }

func (o ttlOption) check() error {
	if o == 0 {
		return nil
	}
	return send.CheckTTL("time to live", time.Duration(o))
}

// A RangeOption changes one walk.
type RangeOption interface{ applyRange(*ranging) error }

// ranging is how entries are walked.
type ranging struct {
	back  bool
	limit int64 // of entries
}

// WithDescending begins with the last entry.
func WithDescending() RangeOption {
	return rangeOption(func(r *ranging) error {
		r.back = true
		return nil
	})
}

// WithLimit ends a walk after n entries.
func WithLimit(n int64) RangeOption {
	return rangeOption(func(r *ranging) error {
		if n < 0 {
			return fmt.Errorf("%w: a limit of %d entries", ErrInvalidArgument, n)
		}
		r.limit = n
		return nil
	})
}

type rangeOption func(*ranging) error

func (o rangeOption) applyRange(r *ranging) error { return o(r) }

// decimal returns a number for commands.
func decimal(n int64) string { return strconv.FormatInt(n, 10) }
