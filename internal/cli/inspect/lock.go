package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/values"
)

// LockState has what Redis keeps under the name of a lock of any kind.
type LockState struct {
	Name   string
	fields map[string]string // of the lock's hash
	left   int64             // ms; -1: no end, -2: no hash
	queue  []string          // those who wait for a fair lock
	fence  int64             // the last token of a fenced lock; 0: none
	term   map[string]string // what the last leader of an election has said; empty: there was none for a day
}

// LockKind is a kind of lock as inspect and force-unlock find it.
type LockKind struct {
	Name    string
	is      func(s *LockState) bool
	waiting func(ctx context.Context, c *rueidisson.Client, name string) (int, error)
	Force   func(ctx context.Context, c *rueidisson.Client, name string) (bool, error)
}

// lockKinds are asked in this order. What is nothing else is a plain lock.
var lockKinds = []LockKind{
	{"rwlock", func(s *LockState) bool { return s.fields["mode"] != "" }, rwWaiting, nil},
	{"election", func(s *LockState) bool { return len(s.term) > 0 }, nil, fairForce},
	{"fair", func(s *LockState) bool { return len(s.queue) > 0 }, nil, fairForce},
	{"fenced", func(s *LockState) bool { return s.fence > 0 }, plainWaiting, plainForce},
	{"lock", func(s *LockState) bool { return true }, plainWaiting, plainForce},
}

func rwWaiting(ctx context.Context, c *rueidisson.Client, name string) (int, error) {
	return c.RWLock(name).Waiting(ctx)
}

func plainWaiting(ctx context.Context, c *rueidisson.Client, name string) (int, error) {
	return c.Lock(name).Waiting(ctx)
}

func plainForce(ctx context.Context, c *rueidisson.Client, name string) (bool, error) {
	return c.Lock(name).ForceUnlock(ctx)
}

func fairForce(ctx context.Context, c *rueidisson.Client, name string) (bool, error) {
	return c.FairLock(name).ForceUnlock(ctx)
}

// Kind returns what s is of.
func (s *LockState) Kind() LockKind {
	return lockKinds[slices.IndexFunc(lockKinds, func(k LockKind) bool { return k.is(s) })]
}

// Nothing reports that Redis knows the name as no lock.
func (s *LockState) Nothing() bool {
	return len(s.fields) == 0 && len(s.queue) == 0 && s.fence == 0 && len(s.term) == 0
}

// WithLock runs do on a client of its own and on what Redis has under name.
func WithLock(ctx context.Context, t *tool.Tool, name string, do func(c *rueidisson.Client, s *LockState) error) error {
	c, err := t.Connect()
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	redis, err := t.Dial()
	if err != nil {
		return exit.Failed(err)
	}
	defer redis.Close()
	s, err := readState(ctx, redis, name)
	if err != nil {
		return exit.Failed(fmt.Errorf("inspect %q: %w", name, err))
	}
	return do(c, s)
}

// readState asks for all of it in one exchange.
func readState(ctx context.Context, redis rueidis.Client, name string) (*LockState, error) {
	b := redis.B()
	answers := redis.DoMulti(ctx,
		b.Hgetall().Key(name).Build(),
		b.Pttl().Key(name).Build(),
		b.Lrange().Key(Prefixed("redisson_lock_queue", name)).Start(0).Stop(-1).Build(),
		b.Get().Key(Prefixed("redisson_lock_token", name)).Build(),
		b.Hgetall().Key(Prefixed("rueidisson_term", name)).Build(),
	)
	s := &LockState{Name: name}
	var errs [5]error
	s.fields, errs[0] = answers[0].AsStrMap()
	s.left, errs[1] = answers[1].AsInt64()
	s.queue, errs[2] = answers[2].AsStrSlice()
	s.fence, errs[3] = answers[3].AsInt64()
	if rueidis.IsRedisNil(errs[3]) {
		errs[3] = nil
	}
	s.term, errs[4] = answers[4].AsStrMap()
	return s, errors.Join(errs[:]...)
}

// Mode is of a read-write lock: read or write.
func (s *LockState) Mode() string { return s.fields["mode"] }

// leader returns who leads an election and has said so, nil if nobody has.
func (s *LockState) leader() *leaderFound {
	owner := s.term["owner"]
	if _, holds := s.fields[owner]; owner == "" || !holds {
		return nil
	}
	token, _ := strconv.ParseInt(s.term["token"], 10, 64)
	l := &leaderFound{Fence: token}
	l.Value, l.Base64 = values.Readable(s.term["value"])
	return l
}

// holders returns the holders of the lock, sorted by name.
func (s *LockState) holders() (all []holderFound) {
	for owner, text := range s.fields {
		if owner == "mode" {
			continue
		}
		count, _ := strconv.Atoi(text)
		all = append(all, holderFound{owner, count, s.left})
	}
	slices.SortFunc(all, func(a, b holderFound) int { return strings.Compare(a.Owner, b.Owner) })
	return all
}

// waiters returns those who are queued, in their order.
func (s *LockState) waiters(c *rueidisson.Client) (all []waiterFound) {
	for _, owner := range s.queue {
		client, number, _ := strings.Cut(owner, ":")
		all = append(all, waiterFound{owner, clientOf(number), client == c.ID()})
	}
	return all
}

// clientOf tells whose an owner is by its number: no Java thread has one of 19
// digits, and all of ours have.
func clientOf(number string) string {
	if len(number) == 19 {
		return "go"
	}
	return "java"
}

// holderFound is one of those who hold a lock.
type holderFound struct {
	Owner       string `json:"owner"`
	Count       int    `json:"count"`
	RemainingMS int64  `json:"remaining_ms"`
}

func (h holderFound) remaining() string {
	if h.RemainingMS < 0 {
		return "without end"
	}
	return (time.Duration(h.RemainingMS) * time.Millisecond).String()
}

// leaderFound is who leads an election.
type leaderFound struct {
	Value  string `json:"value"`
	Base64 bool   `json:"base64,omitempty"`
	Fence  int64  `json:"fence"`
}

// waiterFound is one of those who wait in Redis.
type waiterFound struct {
	Owner  string `json:"owner"`
	Client string `json:"client"`
	Own    bool   `json:"own"`
}
