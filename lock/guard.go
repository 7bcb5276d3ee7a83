package lock

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/rueidisson/rueidisson/fence"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Guard writes one key of Redis for the holders of one fenced lock, and refuses
// the late ones: a write with an older token than one that has written already is
// [ErrStale], and nothing is changed. So is one with an equal token of another
// owner; tokens that were made without an owner (fence.New) have the same, "".
//
// The check and the write are one script. The highest token of each lock stands
// beside the key, in its slot, and never in the value: the key is read, and by
// others written, as any. It stays when the value is deleted or expires, since a
// late writer may come after that. Keys that are guarded by several locks have a
// number for each. A server that evicts keys without a time to live (allkeys-*)
// may forget it, and the next token passes, whichever it is.
//
// Who holds the lock may write as often as it likes, and for each write that is
// answered there is one: a request that the network brings late, up to 45 s after
// its answer was lost, changes nothing.
//
// The ACL of the user needs the key, and those beside it.
type Guard struct {
	e       *locking.Engine
	key     string // mapped
	of      string // the name of the lock as the caller wrote it
	lock    string // mapped
	highest string // where the highest tokens are
	gone    string // where the tombstones are
	bad     error
}

// NewGuard returns a guard. Programs outside of this module call
// rueidisson.Client.FenceGuard.
func NewGuard(c Client, key, lock string) *Guard {
	e := c.Engine()
	g := &Guard{e: e, key: e.Map(key), of: lock, lock: e.Map(lock)}
	g.highest, g.gone = keys.FenceGuard(g.key), keys.Tombstones(g.key)
	if g.bad = object.CheckName(e, g.key); g.lock == "" {
		g.bad = fmt.Errorf("%w: empty name of the lock", ErrInvalidArgument)
	}
	return g
}

// Key returns the key that is guarded, as it stands in Redis.
func (g *Guard) Key() string { return g.key }

// Set makes value the string at the key, as SET does: without a time to live.
//
// Cost: one script call. Wire: SET key; hash {key}:rueidisson_fence, lock ->
// token and owner.
// Errors: [ErrStale], as a [StaleError] with both numbers, also if the reply was
// lost and a newer holder wrote before this was sent again; [ErrInvalidArgument] for the
// zero token and one of another lock; ctx's, which bounds the round trip;
// [ErrOutcomeUnknown] if the reply was lost, when it may have been written; [ErrClosed];
// those of Redis.
func (g *Guard) Set(ctx context.Context, token fence.Token, value string) error {
	return g.failed("set", g.write(ctx, setScript, token, value))
}

// HSet sets fields of the hash at the key, all of them or none.
//
// Cost, wire and errors: as [Guard.Set], with HSET; no fields at all are an
// ErrInvalidArgument.
func (g *Guard) HSet(ctx context.Context, token fence.Token, fields map[string]string) error {
	if len(fields) == 0 {
		return g.failed("hset", fmt.Errorf("%w: no fields", ErrInvalidArgument))
	}
	pairs := make([]string, 0, 2*len(fields))
	for field, value := range fields {
		pairs = append(pairs, field, value)
	}
	return g.failed("hset", g.write(ctx, hsetScript, token, pairs...))
}

func (g *Guard) write(ctx context.Context, by *scripts.Script, token fence.Token, values ...string) error {
	if err := g.usable(ctx, token); err != nil {
		return err
	}
	request := send.NewRequest()
	_, err, answered := send.Await(g.e.Sender, ctx, 0, func() (struct{}, error) {
		return struct{}{}, g.send(ctx, by, token, request, values)
	})
	if !answered {
		g.buryLater(request)
		err = core.Left(err)
	}
	return err
}

// usable checks what a write needs.
func (g *Guard) usable(ctx context.Context, token fence.Token) error {
	bad := g.bad
	switch {
	case bad != nil:
	case token.IsZero():
		bad = fmt.Errorf("%w: the zero fencing token", ErrInvalidArgument)
	case token.Lock() != g.of:
		bad = fmt.Errorf("%w: %w: %q, and the key is guarded by %q", ErrInvalidArgument, fence.ErrOtherLock, token.Lock(), g.of)
	}
	return object.Usable(ctx, g.e, bad)
}

// send writes once, as far as anybody can tell: where a send of it may arrive yet,
// it is buried before the caller goes on.
func (g *Guard) send(ctx context.Context, by *scripts.Script, token fence.Token, request string, values []string) error {
	args := slices.Concat([]string{g.lock, strconv.FormatInt(token.Number(), 10), token.Owner(), request}, values)
	answer, err := g.e.Run(ctx, by, []string{g.key, g.highest, g.gone}, args)
	if err == nil && answer.Replayed || send.MayHaveRun(err) {
		if g.bury(ctx, request) != nil {
			g.buryLater(request)
		}
	}
	if err != nil || answer.Nil {
		return err
	}
	return g.stale(token, answer)
}

func (g *Guard) bury(ctx context.Context, request string) error {
	_, err := g.e.Run(context.WithoutCancel(ctx), buryScript, []string{g.gone}, []string{request, latchMillis})
	return err
}

func (g *Guard) buryLater(request string) {
	g.e.CleanUpLater(g.key, time.Now().Add(send.RequestMemory), func(ctx context.Context) error { return g.bury(ctx, request) })
}

// stale returns the refusal that answer tells.
func (g *Guard) stale(token fence.Token, answer send.Answer) error {
	said, err := answer.AsStrSlice()
	if err != nil || len(said) != 2 {
		return fmt.Errorf("guard answered %v: %w", said, err)
	}
	highest, err := strconv.ParseInt(said[0], 10, 64)
	if err != nil {
		return err
	}
	return &StaleError{Lock: g.of, Token: token.Number(), Highest: highest}
}

// failed names the operation and the key.
func (g *Guard) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %q: %w", op, g.key, err)
}

// StaleError is an [ErrStale] with its numbers: errors.As finds it in what a
// [Guard] returns, as *StaleError.
type StaleError struct {
	Lock    string // whose tokens they are
	Token   int64  // that of the write which was refused
	Highest int64  // that of a write which was not; equal where the owner is another
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("%v: %d of lock %q, and %d has written", ErrStale, e.Token, e.Lock, e.Highest)
}

func (e *StaleError) Unwrap() error { return ErrStale }
