package lock

import (
	"context"
	"strconv"
	"time"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/send"
)

// newFencedProtocol returns the fenced lock of a name.
func newFencedProtocol(e *locking.Engine, mapped string) *protocol {
	p := newProtocol(e, mapped)
	p.fenced = true
	return p
}

// Fences reports whether the holds have fencing tokens.
func (p *protocol) Fences() bool { return p.fenced }

// counter returns the key of the last fencing token. It is built when it is needed: most locks have
// none, and a process may hold very many of them.
func (p *protocol) counter() string { return keys.FenceToken(p.name) }

// acquireFenced takes in addition as many tokens as a chain of hand-overs is going to need. During
// a slot migration it waits: the counter is a second key.
func (p *protocol) acquireFenced(ctx context.Context, a locking.Try) (locking.Tried, error) {
	on := []string{p.name, p.tombstones(), p.fairQueue(), p.counter()}
	args := []string{p.e.Millis(a.Lease), a.Owner, strconv.Itoa(1 + a.Block), p.e.HighestToken(p.name)}
	read := func(answer send.Answer) (locking.Tried, error) {
		t, err := triedFenced(answer, a.Block)
		p.e.SawToken(p.name, t.Fence+int64(t.Block))
		return t, err
	}
	if p.e.ReplicaAcks > 0 {
		return p.acquireAcked(ctx, a.Owner, fencedScript, on, args, read)
	}
	answer, err := p.e.Run(ctx, fencedScript, on, args)
	if err != nil {
		return locking.Tried{}, err
	}
	return read(answer)
}

// triedFenced reads the answer of acquire_fenced.lua to a caller that wanted block tokens in
// addition to one.
func triedFenced(answer send.Answer, block int) (locking.Tried, error) {
	t := locking.Tried{Started: answer.Started, Replayed: answer.Replayed}
	last, err := answer.AsInt64()
	if err != nil {
		return t, err
	}
	if t.Free = last > 0; t.Free {
		t.Fence, t.Block = last-int64(block), block
		return t, nil
	}
	t.Left = time.Duration(-2-last) * time.Millisecond
	return t, nil
}

// Reserve takes n tokens for the waiters to which an owner hands the lock.
func (p *protocol) Reserve(ctx context.Context, owner string, n int) (last int64, err error) {
	answer, err := p.e.Run(ctx, reserveScript, []string{p.name, p.counter()}, []string{owner, strconv.Itoa(n), p.e.HighestToken(p.name)})
	if err != nil {
		return 0, err
	}
	last, err = answer.AsInt64()
	p.e.SawToken(p.name, last)
	return last, err
}

// fenceOf returns the fencing token of an exported owner, 0 if it has none.
func fenceOf(text string) int64 {
	id, err := owner.Parse(text)
	if err != nil {
		return 0
	}
	return id.Fence()
}
