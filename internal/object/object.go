// Package object checks what the handles of all objects check before they send anything: their options, their names, and
// the context of a call. It names the object in the errors of its operations.
package object

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/send"
)

var (
	errNilContext = fmt.Errorf("%w: nil context", core.ErrInvalidArgument)
	// ErrNilOption refuses an option that is nil.
	ErrNilOption = fmt.Errorf("%w: a nil option", core.ErrInvalidArgument)
	errNoName    = fmt.Errorf("%w: empty name", core.ErrInvalidArgument)
)

// Client is what hands out the engine: *rueidisson.Client, and the engine itself to what objects are made of.
type Client interface {
	// Engine is for the packages of this module.
	Engine() *locking.Engine
}

// Options applies options to a configuration, in their order, up to the first that cannot be used.
func Options[O comparable, C any](defaults C, opts []O, apply func(O, *C) error) (C, error) {
	if len(opts) == 0 {
		return defaults, nil // which stays off the heap
	}
	c := defaults
	err := Apply(&c, opts, apply)
	return c, err
}

// Apply applies options to what c points at, as [Options] does.
func Apply[O comparable, C any](c *C, opts []O, apply func(O, *C) error) error {
	var none O
	for _, o := range opts {
		if o == none {
			return ErrNilOption
		}
		if err := apply(o, c); err != nil {
			return err
		}
	}
	return nil
}

// CheckName returns an error if no object can have the key of that name.
func CheckName(e *locking.Engine, key string) error { return CheckNameBy(e, key, keys.OnCluster) }

// CheckNameBy is [CheckName] for an object whose further keys need more of a name on a cluster.
func CheckNameBy(e *locking.Engine, key string, onCluster func(string) error) error {
	if key == "" {
		return errNoName
	}
	if !e.Cluster() {
		return nil
	}
	if err := onCluster(key); err != nil {
		return fmt.Errorf("%w: name %q cannot be used on a cluster: %w", core.ErrInvalidArgument, key, err)
	}
	return nil
}

// CheckAlone returns an error if no object of one key can have it: any slot of a cluster will do.
func CheckAlone(e *locking.Engine, key string) error {
	if err := CheckNameBy(e, key, func(string) error { return nil }); err != nil {
		return err
	}
	return e.Fits(len(key))
}

// CheckContext refuses a nil context.
func CheckContext(ctx context.Context) error { return Checked(ctx, nil) }

// Checked returns what keeps a call from being made, whatever the client is up to: a nil context, and then bad, the
// error of a handle.
func Checked(ctx context.Context, bad error) error {
	if ctx == nil {
		return errNilContext
	}
	return bad
}

// Usable checks what every operation needs: a context, a handle without an error of its own, a client that is
// open, and time.
func Usable(ctx context.Context, e *locking.Engine, bad error) error {
	if err := Checked(ctx, bad); err != nil {
		return err
	}
	if err := e.Open(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return core.ContextError(ctx)
	}
	return nil
}

// Ask makes a call if it is [Usable], and waits for the answer until ctx ends. The call goes on then, and
// the error wraps ErrOutcomeUnknown.
func Ask[T any](ctx context.Context, e *locking.Engine, bad error, call func() (T, error)) (result T, err error) {
	if err := Usable(ctx, e, bad); err != nil {
		return result, err
	}
	return send.Writing(e.Sender, ctx, call)
}

// Failed names the operation, the kind of object and its name in an error that is not nil. A lock has no kind: its
// operations say what it is. A [codec.DecodeError] has the name already.
func Failed(op, kind, name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*codec.DecodeError)):
		return fmt.Errorf("%s %s %w", op, kind, err)
	case kind == "":
		return fmt.Errorf("%s %q: %w", op, name, err)
	}
	return fmt.Errorf("%s %s %q: %w", op, kind, name, err)
}

// longestQuote is how much of a key an error shows.
const longestQuote = 64

// Quoted returns a key, or its beginning, in quotes.
func Quoted(key string) string {
	if len(key) > longestQuote {
		return strconv.Quote(key[:longestQuote]) + "…"
	}
	return strconv.Quote(key)
}

// Typed names the key in an error that says that it is of another type.
func Typed(key string, err error) error {
	if !send.WrongType(err) {
		return err
	}
	return fmt.Errorf("key %q: %w", key, err)
}

// Together returns an error if key and other are in different slots of a cluster, where no command can have both.
func Together(e *locking.Engine, key, other string) error {
	if !e.Cluster() {
		return nil
	}
	if err := keys.OnCluster(other); err != nil || !e.SameSlot(key, other) {
		return fmt.Errorf("%w: %q is in another slot of the cluster: give both names one hash tag", core.ErrInvalidArgument, other)
	}
	return nil
}

// Renamed returns each key of an object, followed by that which it has under the new name.
func Renamed(e *locking.Engine, key, name string, keysOf func(key string) []string) ([]string, error) {
	mapped := e.Map(name)
	if mapped == "" {
		return nil, fmt.Errorf("%w: empty new name", core.ErrInvalidArgument)
	}
	if err := Together(e, key, mapped); err != nil {
		return nil, err
	}
	var pairs []string
	renamed := keysOf(mapped)
	for i, old := range keysOf(key) {
		pairs = append(pairs, old, renamed[i])
	}
	return pairs, nil
}

// Codec returns the codec that the options of a handle choose: given unless it is nil, else that of a family, or of the
// client's family without one.
func Codec[T any](e *locking.Engine, family *codec.Family, given any) (codec.Codec[T], error) {
	of := e.Family()
	if family != nil {
		of = *family
	}
	c, err := core.Given(given, codec.For[T](of))
	if err != nil {
		return c, err
	}
	return c, codec.Check(c)
}
