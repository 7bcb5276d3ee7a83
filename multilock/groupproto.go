package multilock

import (
	"context"
	"embed"
	"fmt"
	"slices"
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
	groupAcquireScript = scripts.Must(lua, "lua/group_acquire.lua")
	groupReleaseScript = scripts.Must(lua, "lua/group_release.lua")
	buryScript         = scripts.Must(lua, "lua/bury.lua")
)

// groupRenewal is the renewal of every hold of values.
var groupRenewal = &lease.Renewal{Script: scripts.Must(lua, "lua/group_renew.lua"), Dated: true,
	Add: func(on, args []string, key core.Key, owner string, left time.Duration) (k, a []string) {
		name, fields := keys.GroupOf(key.Name)
		args = append(args, owner, millis(left), nowMillis(), strconv.Itoa(len(fields)))
		return append(on, name), append(args, fields...)
	}}

func millis(d time.Duration) string { return strconv.FormatInt(core.Millis(d), 10) }

// nowMillis returns the time of the client, which the format needs.
func nowMillis() string { return strconv.FormatInt(time.Now().UnixMilli(), 10) }

// groupProtocol is some values of a group on the server.
type groupProtocol struct {
	e       *locking.Engine
	name    string   // mapped
	fields  []string // of the values, each once and in order
	key     core.Key // of the values, in the slot of the group: waiters for the same values queue in their process
	channel string
	freed   string // channel: which fields were released
	gone    string // key of the tombstones
}

var _ locking.Announcing = (*groupProtocol)(nil)

func newGroupProtocol(e *locking.Engine, mapped string, values []string) *groupProtocol {
	fields := make([]string, len(values))
	for i, value := range values {
		fields[i] = keys.GroupField(value)
	}
	slices.Sort(fields)
	fields = slices.Compact(fields)
	key := core.Key{Kind: core.GroupKind, Name: keys.GroupValues(mapped, fields)}
	return &groupProtocol{e, mapped, fields, key, keys.LockChannel(mapped), keys.GroupChannel(mapped), keys.Tombstones(mapped)}
}

func (p *groupProtocol) Key() core.Key { return p.key }

func (p *groupProtocol) Renewal() *lease.Renewal { return groupRenewal }

func (p *groupProtocol) Label() string { return "group" }

func (p *groupProtocol) Channel() string { return p.channel }

func (p *groupProtocol) Announced() string { return p.freed }

// Announces reports whether one of the released fields is of this lock.
func (p *groupProtocol) Announces(freed string) bool {
	for field := range strings.SplitSeq(freed, " ") {
		if _, mine := slices.BinarySearch(p.fields, field); mine {
			return true
		}
	}
	return false
}

func (p *groupProtocol) Acquire(ctx context.Context, a locking.Try) (locking.Tried, error) {
	// The lease ends at the time that is written here plus its length, however often
	// these bytes are sent: it is trusted from before that time was read.
	began := p.e.Now()
	tried, err := p.ask(ctx, a)
	tried.Started = began
	return tried, err
}

func (p *groupProtocol) ask(ctx context.Context, a locking.Try) (locking.Tried, error) {
	on := []string{p.name, p.gone}
	args := append([]string{p.e.Millis(a.Lease), a.Owner, nowMillis()}, p.fields...)
	if p.e.ReplicaAcks > 0 {
		return p.acquireAcked(ctx, a.Owner, on, args)
	}
	answer, err := p.e.Run(ctx, groupAcquireScript, on, args)
	if err != nil {
		return locking.Tried{}, err
	}
	return triedGroup(answer)
}

// acquireAcked undoes an acquire that too few replicas confirmed.
func (p *groupProtocol) acquireAcked(ctx context.Context, owner string, on, args []string) (locking.Tried, error) {
	answer, acks, err := p.e.RunAcked(ctx, groupAcquireScript, on, args)
	if err != nil {
		return locking.Tried{}, err
	}
	if !answer.Nil || acks >= int64(p.e.ReplicaAcks) {
		return triedGroup(answer)
	}
	err = fmt.Errorf("%w: %d of %d within %v", core.ErrNotReplicated, acks, p.e.ReplicaAcks, p.e.AckTimeout)
	if _, undo := p.GiveBack(context.WithoutCancel(ctx), owner); undo != nil {
		err = fmt.Errorf("%w: %w: undoing the acquire: %w", core.ErrOutcomeUnknown, err, undo)
	}
	return locking.Tried{}, err
}

func triedGroup(answer send.Answer) (locking.Tried, error) {
	t := locking.Tried{Free: answer.Nil, Started: answer.Started, Replayed: answer.Replayed}
	if t.Free {
		return t, nil
	}
	left, err := answer.AsInt64()
	t.Left = time.Duration(left) * time.Millisecond
	return t, err
}

func (p *groupProtocol) Release(ctx context.Context, owner string) (lease.Released, error) {
	answer, err := p.e.Run(ctx, groupReleaseScript, []string{p.name}, append([]string{owner, p.channel, p.e.Publish(), p.freed}, p.fields...))
	if err != nil {
		return lease.Released{}, err
	}
	reached, err := answer.AsInt64()
	return lease.Released{Held: reached >= 0, Reached: int(max(0, reached)), Replayed: answer.Replayed}, err
}

// GiveBack runs two scripts of one key each, so that it works during a slot migration. The
// tombstone comes first: an acquire that arrives after it takes nothing.
func (p *groupProtocol) GiveBack(ctx context.Context, owner string) (lease.Released, error) {
	if _, err := p.e.Run(ctx, buryScript, []string{p.gone}, []string{owner, millis(send.RequestMemory)}); err != nil {
		return lease.Released{}, err
	}
	return p.Release(ctx, owner)
}
