package latch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// DoubleBarrier is a handle on the double barrier of one name: parties begin work together, and end
// it together. It has no state. Any number of goroutines may use it, and all handles on one name
// are the same double barrier.
type DoubleBarrier struct{ b *Barrier }

// NewDoubleBarrier returns a handle on the double barrier of that name. Programs call
// client.DoubleBarrier(name, parties), which returns the same. NewDoubleBarrier is for packages
// that take a [Client] and do not import rueidisson.
func NewDoubleBarrier(c Client, name string, parties int) *DoubleBarrier {
	e := c.Engine()
	return &DoubleBarrier{NewBarrier(e, name, parties)}
}

// Name returns the name that the handle was made with, before any mapping.
func (d *DoubleBarrier) Name() string { return d.b.name }

// Parties returns the number of parties that have to enter.
func (d *DoubleBarrier) Parties() int { return d.b.parties }

// Enter arrives and waits until all parties have arrived, as [Barrier.Await] does; ctx bounds the
// wait. The party is a member then, until [Member.Leave] or until its lease ends. Parties that
// arrive while members are inside enter as a generation of their own.
//
// Use a name either for Enter or for [Barrier.Await]. In a generation with parties of both, Enter
// may return [ErrLost], and Leave may wait until a lease ends.
//
// Cost: one script call to arrive, one when the generation ends, shared by all of a process, and
// one to become a member; one more for the last party. A member is renewed at a third of the
// watchdog timeout.
// Errors: as Barrier.Await; [ErrLost] if this process learned of the opening after the lease of its
// party had ended.
// Source: the double barriers of Curator and etcd; Redisson has none.
func (d *DoubleBarrier) Enter(ctx context.Context) (*Member, error) {
	err := d.b.usable(ctx)
	var m *Member
	if err == nil && !d.b.h.e.During(func() { m, err = d.enter(ctx) }) {
		err = ErrClosed
	}
	return m, d.b.failed("enter", err)
}

func (d *DoubleBarrier) enter(ctx context.Context) (*Member, error) {
	p := d.b.participant()
	p.opens, p.inside = true, true
	if _, err := d.b.h.await(ctx, p); err != nil {
		return nil, err
	}
	m := &Member{d: d, owner: p.generation + "/" + p.id, leaving: make(chan struct{}, 1), lost: make(chan struct{})}
	if err := m.begin(ctx); err != nil {
		return nil, err
	}
	return m, nil
}

// Member is a party between [DoubleBarrier.Enter] and [Member.Leave]. All methods may be
// called from any goroutine.
type Member struct {
	d     *DoubleBarrier
	owner string // "<generation>/<party>"
	grant *lease.Grant

	leaving chan struct{} // has a token while a Leave calls the server

	mu    sync.Mutex
	left  bool
	until time.Time // until when its lease could be trusted as it left
	doubt bool      // a call of Leave may have arrived, and was not answered
	gone  bool      // the server heard of it before its lease ended
	late  error     // why it had ended before it left
	cause error     // why it ended without a Leave
	lost  chan struct{}
}

// begin renews the lease of a party whose generation has opened, and so learns how long it is
// trusted.
func (m *Member) begin(ctx context.Context) error {
	e, as := m.d.b.h.e, (*membership)(m)
	lease := e.WatchdogTimeout
	got, err, answered := send.Await(e.Sender, ctx, time.Second, func() (send.Answer, error) {
		on, args := memberRenewal.Add(nil, nil, as.Key(), m.owner, lease)
		return e.Run(context.WithoutCancel(ctx), memberRenewal.Script, on, args)
	})
	var said []int64
	if err == nil && answered {
		said, err = got.AsIntSlice()
	}
	switch {
	case len(said) == 1 && said[0] == 1:
		m.grant = e.NewGrant(as, m.owner, got.Started, lease, lease/3, watchdog.Instant{}, as)
		return nil
	case len(said) == 1:
		return fmt.Errorf("%w: %w", ErrLost, watchdog.ErrGone)
	}
	e.GiveBackLater(as, m.owner, lease)
	return fmt.Errorf("%w: the barrier opened, and this party leaves it: %w", ErrOutcomeUnknown, err)
}

// Err returns nil while the others wait for this member when they leave. Else it returns why not:
// [ErrLost], or [ErrClosed]. It compares the clocks at each call, and does no I/O.
func (m *Member) Err() error {
	if left, err := m.ended(); left || err != nil {
		return err
	}
	if err := m.grant.Err(); err != nil {
		return err
	}
	_, err := m.ended() // the client may have been closed
	return err
}

// ended reports whether the member has left, and why it has ended without that, as far as it is
// known here. If the server has not answered a Leave until the lease was over, it is unknown
// whether the others waited.
func (m *Member) ended() (left bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.doubt && !m.gone && m.late == nil && time.Now().After(m.until) {
		m.late = fmt.Errorf("%w: %w", ErrLost, watchdog.ErrGone)
	}
	if m.left {
		return true, m.late
	}
	return false, m.cause
}

// Lost returns a channel that is closed when the lease of the member ends before it has left, or its client
// closes. [Member.Err] then says which.
func (m *Member) Lost() <-chan struct{} { return m.lost }

// Leave reports that this member has done its work, and waits until all others of its generation
// have left or have died. A member that died is detected when its lease ends. The end of ctx ends
// only the wait, not the report: Leave may be called again, to continue waiting. It returns at most
// 250 ms after ctx ends.
//
// A waiter sleeps until the last member has left, until the first lease ends, or for 5 s at most.
// If the server does not answer, it waits for up to a watchdog timeout.
//
// Cost: one script call to leave. A waiter makes another at once, and one when the last member has
// left; the waiters of a process share both.
// Errors: ctx's error and cause; [ErrLost] if the lease had ended, so that the others may have left
// before, or if the server did not answer until the lease had ended, when that is unknown;
// [ErrInvalidArgument] for a nil ctx; [ErrDeferred] if the server refused or did not answer, or not
// before ctx ended, when the client continues until it does or the lease ends; [ErrClosed]; those
// of Redis and of the network.
// Source: the double barriers of Curator and etcd.
func (m *Member) Leave(ctx context.Context) (err error) {
	if ctx == nil {
		return m.d.b.failed("leave", object.CheckContext(ctx))
	}
	if !m.d.b.h.e.During(func() { err = m.leave(ctx) }) {
		err = ErrClosed
	}
	return m.d.b.failed("leave", err)
}

func (m *Member) leave(ctx context.Context) error {
	inside := int64(0)
	err := m.d.b.h.e.GoOn(ctx, func() (err error) {
		inside, err = m.say(ctx)
		return err
	})
	if err != nil || inside == 0 { // inside is not valid while the report is deferred
		return err
	}
	generation, _, _ := strings.Cut(m.owner, "/")
	return await(ctx, &m.d.b.h.insides, m.d.b.of.key, generation)
}

// say tells the server that the member leaves, and returns how many members are still inside. One
// Leave at a time does, so that the others know what the first has learned. A Leave whose ctx ends
// before its turn does not call the server.
func (m *Member) say(ctx context.Context) (inside int64, err error) {
	select {
	case m.leaving <- struct{}{}:
	default:
		select {
		case m.leaving <- struct{}{}:
		case <-ctx.Done():
			return 0, fmt.Errorf("%w: %w", ErrDeferred, core.ContextError(ctx))
		}
	}
	defer func() { <-m.leaving }()
	if late := m.finish(); late != nil {
		return 0, late
	}
	said, replayed, err := m.depart(context.WithoutCancel(ctx))
	if err != nil {
		e := m.d.b.h.e
		m.mu.Lock()
		m.doubt = true
		m.mu.Unlock()
		e.GiveBackLater((*membership)(m), m.owner, e.WatchdogTimeout)
		return 0, send.Deferred(err)
	}
	return said[1], m.heard(said[0] == 1, replayed)
}

// finish ends the renewals, at the first Leave. It returns why the member had ended before
// it left.
func (m *Member) finish() (late error) {
	until := m.grant.Deadline()
	m.mu.Lock()
	first, late := !m.left, m.late
	if m.left = true; first {
		m.until = until
	}
	m.mu.Unlock()
	if first && !m.grant.Finish(core.ErrReleased) {
		late = m.grant.Err()
		m.mu.Lock()
		m.late = late // why the others may have left before this member
		m.mu.Unlock()
		if !errors.Is(late, watchdog.ErrGone) {
			m.grant.GiveBackLater() // a renewal without an answer may have extended the lease
		}
	}
	return late
}

// heard records the answer to a Leave: was says whether the member was still inside. It returns why
// the others may have left before.
func (m *Member) heard(was, replayed bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.late != nil || m.gone:
	case was, (replayed || m.doubt) && time.Now().Before(m.until): // an earlier send found it, before that
		m.gone = true
	default:
		m.late = fmt.Errorf("%w: %w", ErrLost, watchdog.ErrGone)
	}
	return m.late
}

// depart tells the server that the member leaves.
func (m *Member) depart(ctx context.Context) (said []int64, replayed bool, err error) {
	generation, id, _ := strings.Cut(m.owner, "/")
	return m.d.b.h.depart(ctx, m.d.b.of, generation, id)
}

// depart removes a party from the inside of a generation.
func (h *barriers) depart(ctx context.Context, of *site, generation, id string) (said []int64, replayed bool, err error) {
	got, err := h.e.Run(ctx, departScript, []string{keys.BarrierInside(of.key, generation)}, []string{of.channel, h.e.Publish(), id, generation})
	if err == nil {
		if said, err = got.AsIntSlice(); err == nil && len(said) != 2 {
			err = fmt.Errorf("depart.lua said %v", said)
		}
	}
	return said, got.Replayed, err
}

// membership is the member as the holder of its lease.
type membership Member

// Key returns the kind and the mapped name.
func (m *membership) Key() core.Key { return core.Key{Kind: barrierLabel, Name: m.d.b.of.key} }

// Renewal returns the renewal of all members.
func (m *membership) Renewal() *lease.Renewal { return memberRenewal }

// GiveBack makes the member leave.
func (m *membership) GiveBack(ctx context.Context, _ string) (lease.Released, error) {
	said, replayed, err := (*Member)(m).depart(ctx)
	if err != nil {
		return lease.Released{}, err
	}
	_ = (*Member)(m).heard(said[0] == 1, replayed) // [Member.Err] returns it
	return lease.Released{Held: said[0] == 1}, nil
}

// Ended handles the end of the lease, or of the client.
func (m *membership) Ended(cause error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cause == nil && !m.left {
		m.cause = cause
		close(m.lost)
	}
}

// memberRenewal extends the leases of members.
var memberRenewal = &lease.Renewal{
	Script: keepWaitingScript,
	Add: func(k, args []string, key core.Key, owner string, lease time.Duration) ([]string, []string) {
		generation, id, _ := strings.Cut(owner, "/")
		return append(k, keys.BarrierInside(key.Name, generation)), append(args, id, decimal(core.Millis(lease)), memory)
	},
}

// insideProtocol lets members that leave wait until no member of their generation is inside.
type insideProtocol struct {
	h  *barriers
	of *site
}

func (l *insideProtocol) key() core.Key { return core.Key{Kind: barrierLabel, Name: l.of.key} }

func (l *insideProtocol) channel() string { return l.of.channel }

// look ends the waits whose generation has left.
func (l *insideProtocol) look(ctx context.Context, g *waiters) (verdict, time.Duration, error) {
	of := g.generations()
	on := make([]string, len(of))
	for i, generation := range of {
		on[i] = keys.BarrierInside(l.of.key, generation)
	}
	got, err := l.h.e.Run(ctx, insideScript, on, nil)
	if err != nil {
		return nil, -1, err
	}
	said, err := got.AsIntSlice()
	switch {
	case err != nil:
		return nil, -1, err
	case len(said) != 1+len(of):
		return nil, -1, fmt.Errorf("inside.lua said %v", said)
	}
	inside := make(map[string]int64, len(of))
	for i, generation := range of {
		inside[generation] = said[1+i]
	}
	return func(w *waiter) (over bool, err error) {
		n, asked := inside[w.generation]
		return asked && n == 0, nil
	}, left(said[0]), nil
}
