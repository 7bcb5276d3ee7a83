package lock

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

//go:embed lua/*.lua
var lua embed.FS

var (
	acquireScript = scripts.Must(lua, "lua/acquire.lua")
	releaseScript = scripts.Must(lua, "lua/release.lua")
	buryScript    = scripts.Must(lua, "lua/bury.lua")
	movingScript  = scripts.Must(lua, "lua/acquire_moving.lua")
	fencedScript  = scripts.Must(lua, "lua/acquire_fenced.lua")
	reserveScript = scripts.Must(lua, "lua/reserve.lua")
	unlockScript  = scripts.Must(lua, "lua/unlock.lua")
	exportScript  = scripts.Must(lua, "lua/export.lua")
	joinScript    = scripts.Must(lua, "lua/join.lua")
	leaveScript   = scripts.Must(lua, "lua/leave.lua")
	forceScript   = scripts.Must(lua, "lua/force.lua")
	inspectScript = scripts.Must(lua, "lua/inspect.lua")
	setScript     = scripts.Must(lua, "lua/guard_set.lua")
	hsetScript    = scripts.Must(lua, "lua/guard_hset.lua")
)

// acquiring is acquireScript without a retry during a slot migration: movingScript is used then.
var acquiring = send.NoMigrationRetry(acquireScript)

// movingLease is the lease that movingScript takes: longer than the next round trip, and short for
// a lock without a holder.
const movingLease = 3 * time.Second

// latchMillis is the time to live of latches and tombstones.
var latchMillis = strconv.FormatInt(core.Millis(send.RequestMemory), 10)

// protocol is the reentrant lock of one name on the server, or the fenced one.
type protocol struct {
	e      *locking.Engine
	name   string // mapped
	others string // the names derived from it, in one piece: each hold keeps them
	fenced bool   // its holds have fencing tokens

	gone, queue uint32 // where they begin in others
}

func newProtocol(e *locking.Engine, mapped string) *protocol {
	channel, gone := keys.LockChannel(mapped), keys.Tombstones(mapped)
	return &protocol{
		e: e, name: mapped, others: channel + gone + keys.FairQueue(mapped),
		gone: uint32(len(channel)), queue: uint32(len(channel) + len(gone)),
	}
}

// tombstones returns the key of the owners that were released.
func (p *protocol) tombstones() string { return p.others[p.gone:p.queue] }

// fairQueue returns the key of the waiters of a fair lock of that name.
func (p *protocol) fairQueue() string { return p.others[p.queue:] }

func (p *protocol) Key() core.Key { return core.Key{Kind: p.Label(), Name: p.name} }

func (p *protocol) Renewal() *lease.Renewal { return lease.LockRenewal }

func (p *protocol) Label() string {
	if p.Fences() {
		return "fenced"
	}
	return "lock"
}

func (p *protocol) Channel() string { return p.others[:p.gone] }

func (p *protocol) Acquire(ctx context.Context, a locking.Try) (locking.Tried, error) {
	if p.Fences() {
		return p.acquireFenced(ctx, a)
	}
	owner, lease := a.Owner, a.Lease
	on, args := []string{p.name, p.tombstones(), p.fairQueue()}, []string{p.e.Millis(lease), owner}
	if p.e.ReplicaAcks > 0 {
		return p.acquireAcked(ctx, owner, acquireScript, on, args, tried)
	}
	answer, err := p.e.Run(ctx, acquiring, on, args)
	if send.Moving(err) && p.left(ctx) == nil {
		t, moving := p.acquireMoving(ctx, owner, lease)
		if errors.Is(err, core.ErrOutcomeUnknown) {
			return doubted(t, moving)
		}
		return t, moving
	}
	if err != nil {
		return locking.Tried{}, err
	}
	return tried(answer)
}

// left returns why the caller stopped waiting for an acquire. The lock that it may have acquired is
// then released in the background: an acquire that does not see the tombstone must not go further.
func (p *protocol) left(ctx context.Context) error {
	if ctx.Err() != nil {
		return core.ContextError(ctx)
	}
	return p.e.Open()
}

// doubted returns an answer that came after a send whose reply was lost and which may still arrive.
func doubted(t locking.Tried, err error) (locking.Tried, error) {
	t.Replayed = true
	if err != nil && !errors.Is(err, core.ErrOutcomeUnknown) {
		err = fmt.Errorf("%w: %w", core.ErrOutcomeUnknown, err)
	}
	return t, err
}

// acquireMoving is Acquire during a slot migration: two scripts of one key each.
func (p *protocol) acquireMoving(ctx context.Context, owner string, length time.Duration) (locking.Tried, error) {
	answer, err := p.e.Run(ctx, movingScript, []string{p.name}, []string{p.e.Millis(min(length, movingLease)), owner})
	if err != nil {
		return locking.Tried{}, err
	}
	won, err := tried(answer)
	if !won.Free {
		return won, err
	}
	if err := p.left(ctx); err != nil {
		return locking.Tried{}, fmt.Errorf("%w: %w", core.ErrOutcomeUnknown, err) // it holds, for a moment
	}
	keys, args := lease.LockRenewal.Add(nil, nil, p.Key(), owner, length)
	answer, err = p.e.Run(ctx, lease.LockRenewal.Script, keys, args)
	if err != nil {
		return locking.Tried{}, fmt.Errorf("%w: %w", core.ErrOutcomeUnknown, err) // it may hold the lock, too
	}
	renewed, err := answer.AsIntSlice()
	return locking.Tried{
		Free:     len(renewed) == 1 && renewed[0] == 1, // else the short lease has ended
		Started:  answer.Started,
		Replayed: won.Replayed || answer.Replayed,
	}, err
}

// acquireAcked undoes an acquire that too few replicas confirmed.
func (p *protocol) acquireAcked(ctx context.Context, owner string, by *scripts.Script, on, args []string, read func(send.Answer) (locking.Tried, error)) (locking.Tried, error) {
	answer, acks, err := p.e.RunAcked(ctx, by, on, args)
	if err != nil {
		return locking.Tried{}, err
	}
	t, err := read(answer)
	if err != nil || !t.Free || acks >= int64(p.e.ReplicaAcks) {
		return t, err
	}
	err = fmt.Errorf("%w: %d of %d within %v", ErrNotReplicated, acks, p.e.ReplicaAcks, p.e.AckTimeout)
	if _, undo := p.GiveBack(context.WithoutCancel(ctx), owner); undo != nil {
		err = fmt.Errorf("%w: %w: undoing the acquire: %w", core.ErrOutcomeUnknown, err, undo)
	}
	return locking.Tried{}, err
}

func tried(answer send.Answer) (locking.Tried, error) {
	t := locking.Tried{Free: answer.Nil, Started: answer.Started, Replayed: answer.Replayed}
	if t.Free {
		return t, nil
	}
	left, err := answer.AsInt64()
	t.Left = time.Duration(left) * time.Millisecond
	return t, err
}

func (p *protocol) Release(ctx context.Context, owner string) (lease.Released, error) {
	args := []string{owner, p.Channel()}
	if publish := p.e.Publish(); publish != "publish" {
		args = append(args, publish)
	}
	answer, err := p.e.Run(ctx, releaseScript, []string{p.name}, args)
	if err != nil {
		return lease.Released{}, err
	}
	reached, err := answer.AsInt64()
	return lease.Released{Held: reached >= 0, Reached: int(max(0, reached)), Replayed: answer.Replayed}, err
}

// GiveBack runs two scripts of one key each, and not one of both, so that it works during a slot
// migration. The tombstone comes first: an acquire that arrives after it takes nothing, and one
// that arrived before is released.
func (p *protocol) GiveBack(ctx context.Context, owner string) (lease.Released, error) {
	if err := bury(ctx, p.e, p.tombstones(), owner); err != nil {
		return lease.Released{}, err
	}
	return p.Release(ctx, owner)
}

func (p *protocol) Unlock(ctx context.Context, owner, request string, lease time.Duration) (held bool, err error) {
	latch := keys.UnlockLatch(p.name, request)
	answer, err := p.e.Run(ctx, unlockScript,
		[]string{p.name, latch},
		[]string{owner, p.Channel(), p.e.Publish(), p.e.Millis(lease), latchMillis})
	if err != nil {
		return false, err
	}
	if !answer.Nil && !answer.Replayed && !send.OnCleanup(ctx) {
		p.e.Drop(latch) // sent once and answered: it is not needed any more
	}
	return !answer.Nil, nil
}

func (p *protocol) Export(ctx context.Context, private, exported string) (bool, error) {
	return p.truth(p.e.Run(ctx, exportScript, []string{p.name}, []string{private, exported}))
}

func (p *protocol) Join(ctx context.Context, owner, request string, lease time.Duration) (locking.Tried, error) {
	latch := keys.JoinLatch(p.name, request)
	answer, err := p.e.Run(ctx, joinScript,
		[]string{p.name, latch},
		[]string{owner, p.e.Millis(lease), latchMillis})
	joined, err := p.truth(answer, err)
	if joined {
		p.e.SawToken(p.name, fenceOf(owner))
	}
	return locking.Tried{Free: joined, Fence: fenceOf(owner), Started: answer.Started, Replayed: answer.Replayed, Latch: latch}, err
}

func (p *protocol) Leave(ctx context.Context, owner, request string) error {
	_, err := p.e.Run(ctx, leaveScript,
		[]string{p.name, keys.JoinLatch(p.name, request)},
		[]string{owner, p.Channel(), p.e.Publish(), latchMillis})
	return err
}

func (p *protocol) truth(answer send.Answer, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := answer.AsInt64()
	return n == 1, err
}

// force takes the lock away. It is sent once.
func (p *protocol) force(ctx context.Context) (bool, error) {
	return p.truth(p.e.Run(ctx, forceScript, []string{p.name}, []string{p.Channel(), p.e.Publish()}))
}

// inspect returns the present holder; its owner is empty if there is none.
func (p *protocol) inspect(ctx context.Context) (Holder, error) {
	answer, err := p.e.Run(ctx, inspectScript, []string{p.name}, nil)
	if err != nil || answer.Nil {
		return Holder{}, err
	}
	fields, err := answer.ToArray()
	if err != nil || len(fields) != 3 {
		return Holder{}, fmt.Errorf("inspect.lua answered %v: %w", fields, err)
	}
	owner, _ := fields[0].ToString()
	count, _ := fields[1].AsInt64()
	left, err := fields[2].AsInt64()
	h := Holder{Owner: owner, Count: int(count), Remaining: time.Duration(left) * time.Millisecond}
	if left < 0 {
		h.Remaining = -1
	}
	client, _, _ := strings.Cut(owner, ":")
	h.Mine = client == p.e.IDs.Client()
	return h, err
}
