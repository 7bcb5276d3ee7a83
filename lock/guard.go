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

// Guard writes one key of Redis for the holders of one fenced lock, and refuses late holders. A
// write with an older token than one that has written already returns [ErrStale] and changes
// nothing. So does a write with an equal token of another owner. Tokens that were made without an
// owner (fence.New) all have the owner "".
//
// The check and the write are one script. The highest token of each lock is stored in a key next to
// the guarded one, in the same slot, and never in the value. So any client can read the guarded
// key, and other clients can write it, as any other key. The highest token stays when the value is
// deleted or expires, because a late writer may come after that. If several locks guard one key,
// each has its own highest token. A server that evicts keys without a time to live (allkeys-*) may
// forget the highest token. The next token is then accepted, whatever its number.
//
// A holder may write any number of times. Each write that is answered is done once: a request that
// the network delivers late, up to 45 s after its answer was lost, changes nothing.
//
// The ACL of the user needs the key and the keys that are derived from it.
type Guard struct {
	e       *locking.Engine
	key     string // mapped
	of      string // the name of the lock as the caller wrote it
	lock    string // mapped
	highest string // where the highest tokens are
	gone    string // where the tombstones are
	bad     error
}

// NewGuard returns a guard of a key, for the holders of a fenced lock. Programs call
// client.FenceGuard(key, lock), which returns the same. NewGuard is for packages that take a
// [Client] and do not import rueidisson.
func NewGuard(c Client, key, lock string) *Guard {
	e := c.Engine()
	g := &Guard{e: e, key: e.Map(key), of: lock, lock: e.Map(lock)}
	g.highest, g.gone = keys.FenceGuard(g.key), keys.Tombstones(g.key)
	if g.bad = object.CheckName(e, g.key); g.lock == "" {
		g.bad = fmt.Errorf("%w: empty name of the lock", ErrInvalidArgument)
	}
	return g
}

// Key returns the guarded key, as it is in Redis.
func (g *Guard) Key() string { return g.key }

// Set makes value the string at the key, as SET does: without a time to live. ctx bounds the round
// trip.
//
// Cost: one script call.
// Errors: [ErrStale], as a [StaleError] with both numbers, also if the reply was lost and a newer
// holder wrote before the request was repeated; [ErrInvalidArgument] for the zero token and for a
// token of another lock; ctx's; [ErrOutcomeUnknown] if the reply was lost, when the value may have
// been written; [ErrClosed]; those of Redis.
func (g *Guard) Set(ctx context.Context, token fence.Token, value string) error {
	return g.failed("set", g.write(ctx, setScript, token, value))
}

// HSet sets fields of the hash at the key, all of them or none.
//
// Cost, wire and errors: as [Guard.Set], with HSET. Without fields HSet returns ErrInvalidArgument.
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

// send makes one attempt at the write. If a request of it may still arrive, send buries it before
// it returns.
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

// stale returns the refusal in answer.
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

// failed adds the operation and the key to err.
func (g *Guard) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %q: %w", op, g.key, err)
}

// StaleError wraps [ErrStale] and has the numbers. errors.As finds it in the errors of a [Guard],
// as *StaleError.
type StaleError struct {
	Lock    string // the lock of both tokens
	Token   int64  // the token of the refused write
	Highest int64  // the highest token that has written; equal to Token if only the owners differ
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("%v: %d of lock %q, and %d has written", ErrStale, e.Token, e.Lock, e.Highest)
}

func (e *StaleError) Unwrap() error { return ErrStale }
