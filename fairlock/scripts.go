package fairlock

import (
	"context"
	"embed"
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
	leaveScript   = scripts.Must(lua, "lua/leave.lua")
	keepScript    = scripts.Must(lua, "lua/keep.lua")
	forceScript   = scripts.Must(lua, "lua/force.lua")
	waitersScript = scripts.Must(lua, "lua/waiters.lua")
)

// aliveMillis is the time for which a process counts as alive after a report.
var aliveMillis = strconv.FormatInt(core.Millis(locking.Alive), 10)

// tombstoneMillis is the time to live of a tombstone.
var tombstoneMillis = strconv.FormatInt(core.Millis(send.RequestMemory), 10)

// kindFair is the kind of its holds, unless another object is made of them.
const kindFair = "fair"

// protocol is the fair lock of one name on the server.
type protocol struct {
	e     *locking.Engine
	kind  string
	name  string   // mapped
	on    []string // the keys of most scripts: the lock, its queue, deadlines and processes; then the tombstones
	told  string   // channel of Redisson's waiters, without the owner
	turns string   // channel of ours, without the client
	own   string   // channel of this client
	token string   // key of the fencing counter; "": no tokens are wanted
}

var _ locking.Queued = (*protocol)(nil)

func newProtocol(e *locking.Engine, mapped string) *protocol {
	turns := keys.FairTurns(mapped)
	return &protocol{
		e: e, kind: kindFair, name: mapped,
		on: []string{
			mapped, keys.FairQueue(mapped), keys.FairDeadlines(mapped), keys.FairAlive(mapped), keys.Tombstones(mapped),
		},
		told: keys.LockChannel(mapped), turns: turns, own: turns + ":" + e.IDs.Client(),
	}
}

// four returns the keys of scripts that do not read tombstones, and more after them.
func (p *protocol) four(more ...string) []string { return append(p.on[:4:4], more...) }

func (p *protocol) Key() core.Key { return core.Key{Kind: p.kind, Name: p.name} }

func (p *protocol) Renewal() *lease.Renewal { return lease.LockRenewal }

func (p *protocol) Label() string { return p.kind }

func (p *protocol) Channel() string { return p.Turns() }

func (p *protocol) Turns() string { return p.own }

func (p *protocol) Told(owner string) string { return p.told + ":" + owner }

// Wake checks the payload, because any client may publish anything on a channel.
func (p *protocol) Wake(payload string) string {
	if !strings.HasPrefix(payload, p.e.IDs.Client()+":") || !ours(payload) {
		return ""
	}
	return payload
}

// ours tells an owner of this library from an owner of Redisson, as queue.lua does.
func ours(owner string) bool {
	if len(owner) != ownerLength {
		return false
	}
	return strings.Trim(owner[clientLength+1:], "0123456789") == ""
}

const (
	clientLength = 36
	ownerLength  = clientLength + 1 + 19 // the decimals of ours have 19 digits
)

// modes of acquire.lua
const (
	once  = "0"
	queue = "1"
	again = "2"
)

func (p *protocol) Acquire(ctx context.Context, a locking.Try) (locking.Tried, error) {
	mode := once
	if a.Queue && a.Again {
		mode = again
	} else if a.Queue {
		mode = queue
	}
	on := p.on
	if p.token != "" {
		on = append(on[:5:5], p.token)
	}
	args := append([]string{p.e.Millis(a.Lease), a.Owner, mode, aliveMillis, p.slack(a.Slack)}, p.seen()...)
	if p.e.Cluster() {
		args = append(args, p.proof(), p.own)
	}
	if p.e.ReplicaAcks > 0 {
		return p.acquireAcked(ctx, a.Owner, on, args)
	}
	answer, err := p.e.Run(ctx, acquireScript, on, args)
	if err != nil {
		return locking.Tried{}, p.named(ctx, err)
	}
	return p.tried(answer)
}

// seen returns the argument of scripts that may raise the counter of fencing tokens.
func (p *protocol) seen() []string {
	if p.token == "" {
		return nil
	}
	return []string{p.e.HighestToken(p.name)}
}

// leastSlack is how much later a deadline is than Redisson's clocks need it, at first.
const leastSlack = 10 * time.Second

func (p *protocol) slack(d time.Duration) string {
	return strconv.FormatInt(core.Millis(max(d, leastSlack)), 10)
}

// acquireAcked undoes an acquire that too few replicas confirmed.
func (p *protocol) acquireAcked(ctx context.Context, owner string, on, args []string) (locking.Tried, error) {
	answer, acks, err := p.e.RunAcked(ctx, acquireScript, on, args)
	if err != nil {
		return locking.Tried{}, p.named(ctx, err)
	}
	t, err := p.tried(answer)
	if err != nil || !t.Free || acks >= int64(p.e.ReplicaAcks) {
		return t, err
	}
	err = fmt.Errorf("%w: %d of %d within %v", core.ErrNotReplicated, acks, p.e.ReplicaAcks, p.e.AckTimeout)
	if _, undo := p.GiveBack(context.WithoutCancel(ctx), owner); undo != nil {
		err = fmt.Errorf("%w: %w: undoing the acquire: %w", core.ErrOutcomeUnknown, err, undo)
	}
	return locking.Tried{}, err
}

func (p *protocol) tried(answer send.Answer) (locking.Tried, error) {
	t := locking.Tried{Started: answer.Started, Replayed: answer.Replayed}
	if token, err := answer.AsInt64(); err == nil {
		t.Free, t.Fence = true, token
		p.e.SawToken(p.name, token)
		return t, nil
	}
	refusal, err := answer.AsIntSlice()
	if err != nil || len(refusal) != 3 {
		return t, fmt.Errorf("acquire.lua answered %v: %w", refusal, err)
	}
	t.Left, t.Hint, t.Clock = millis(refusal[0]), refusal[1], millis(refusal[2])
	return t, nil
}

// telling returns the arguments of scripts that notify the front of the queue.
func (p *protocol) telling() []string {
	return []string{p.e.Publish(), p.proof(), p.told, p.turns}
}

// proof returns what a missing listener proves: nothing ("0"), that the process has died ("1"), or
// that only together with what the node that has the slot has seen ("2").
func (p *protocol) proof() string {
	switch {
	case !p.e.CountsAll():
		return "0"
	case p.e.Cluster():
		return "2"
	}
	return "1"
}

func flag(is bool) string {
	if is {
		return "1"
	}
	return "0"
}

func (p *protocol) Release(ctx context.Context, owner string) (lease.Released, error) {
	granted, err := p.ReleaseTo(ctx, owner, nil)
	return granted.Released, err
}

func (p *protocol) ReleaseTo(ctx context.Context, owner string, next []locking.Candidate) (locking.HandoverResult, error) {
	on := p.four()
	if p.token != "" {
		on = p.four(p.token)
	}
	args := append(append([]string{owner}, p.telling()...), aliveMillis)
	args = append(args, p.seen()...)
	for _, c := range next {
		args = append(args, c.Owner, p.e.Millis(c.Lease))
	}
	answer, err := p.e.Run(ctx, releaseScript, on, args)
	if err != nil {
		return locking.HandoverResult{}, err
	}
	g, err := granted(answer)
	p.e.SawToken(p.name, g.Fence)
	return g, err
}

func granted(answer send.Answer) (locking.HandoverResult, error) {
	g := locking.HandoverResult{Started: answer.Started}
	g.Held, g.Replayed = true, answer.Replayed
	if reached, err := answer.AsInt64(); err == nil {
		g.Held, g.Reached = reached >= 0, int(max(0, reached))
		return g, nil
	}
	grant, err := answer.ToArray()
	if err != nil || len(grant) != 3 {
		return g, fmt.Errorf("release.lua answered %v: %w", grant, err)
	}
	if g.Owner, err = grant[0].ToString(); err != nil {
		return g, err
	}
	if g.Fence, err = grant[1].AsInt64(); err != nil {
		return g, err
	}
	by, err := grant[2].AsInt64()
	g.Held = by == 1
	return g, err
}

// ways to leave, see leave.lua
const (
	place  = "queue"
	quit   = "quit"
	buried = "bury"
)

func (p *protocol) Quit(ctx context.Context, owner string) error {
	_, err := p.leave(ctx, owner, quit)
	return err
}

func (p *protocol) Skip(ctx context.Context, owner string) error {
	_, err := p.leave(ctx, owner, place)
	return err
}

func (p *protocol) GiveBack(ctx context.Context, owner string) (lease.Released, error) {
	return p.leave(ctx, owner, buried)
}

func (p *protocol) leave(ctx context.Context, owner, way string) (lease.Released, error) {
	args := append(append([]string{owner, way}, p.telling()...), aliveMillis, tombstoneMillis)
	answer, err := p.e.Run(ctx, leaveScript, p.on, args)
	if err != nil {
		return lease.Released{}, err
	}
	was, err := answer.AsInt64()
	return lease.Released{Held: was == 2, Replayed: answer.Replayed}, err
}

func (p *protocol) Keep(ctx context.Context, k locking.Heartbeat) (locking.HeartbeatReply, error) {
	args := append([]string{p.e.IDs.Client(), aliveMillis, p.slack(k.Slack)}, p.telling()...)
	args = append(append(args, flag(p.e.Subscribed(p.own)), strconv.Itoa(int(k.Walk)), strconv.FormatInt(k.Clock.Milliseconds(), 10)), k.Lost...)
	answer, err := p.e.Run(ctx, keepScript, append(p.on[:5:5], keys.FairIdle(p.name)), args)
	if err != nil {
		return locking.HeartbeatReply{}, err
	}
	return kept(answer)
}

func kept(answer send.Answer) (k locking.HeartbeatReply, err error) {
	fields, err := answer.ToArray()
	if err != nil || len(fields) < 5 {
		return k, fmt.Errorf("keep.lua answered %v: %w", fields, err)
	}
	var numbers [5]int64
	for _, i := range []int{0, 2, 3, 4} {
		if numbers[i], err = fields[i].AsInt64(); err != nil {
			return k, err
		}
	}
	k.Owner, _ = fields[1].ToString()
	k.Free, k.Left = numbers[0] == -2, millis(numbers[0])
	k.Soon, k.Found = millis(numbers[2]), int(numbers[3])
	k.Clock, k.Started = millis(numbers[4]), answer.Started
	for _, place := range fields[5:] {
		owner, _ := place.ToString()
		k.Places = append(k.Places, owner)
	}
	return k, nil
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// force takes the lock away. It is sent once.
func (p *protocol) force(ctx context.Context) (bool, error) {
	args := append(append([]string{p.e.IDs.Client()}, p.telling()...), aliveMillis)
	answer, err := p.e.Run(ctx, forceScript, p.four(), args)
	if err != nil {
		return false, err
	}
	n, err := answer.AsInt64()
	return n == 1, err
}
