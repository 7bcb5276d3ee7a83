package rwlock

import (
	"context"
	"strconv"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/lockkit"
)

// writer is the write side on the server. Its owners have a suffix there, as Redisson's have.
type writer struct {
	*server
	last bool // waiting writers do not hold readers back
}

var _ locking.Downgrading = writer{}

const (
	// claimFor is how long a claim counts. A writer that died while it waited holds readers back
	// for that long.
	claimFor = time.Second
	// claimEvery is how often a claim is renewed.
	claimEvery = claimFor / 2
	// clearEvery is how often a waiting writer checks for readers whose leases have ended;
	// Try.Thorough requests it.
	clearEvery = time.Second
	// turnFor is how long readers that waited during a write go first.
	turnFor = 20 * time.Millisecond
)

var turnMillis = strconv.FormatInt(core.Millis(turnFor), 10)

func digit(yes bool) string {
	if yes {
		return "1"
	}
	return "0"
}

func writeOwner(owner string) string { return owner + ":write" }

// writeRenewal is the renewal of every lock, with the owner as it is stored there.
var writeRenewal = &lease.Renewal{
	Script: lease.LockRenewal.Script,
	Add: func(on, args []string, key core.Key, owner string, d time.Duration) (k, a []string) {
		return lease.LockRenewal.Add(on, args, key, writeOwner(owner), d)
	},
}

func (w writer) Renewal() *lease.Renewal { return writeRenewal }

func (w writer) Label() string { return writeKind }

// Readers returns the other side.
func (w writer) Readers() locking.Protocol { return reader{w.server} }

// Acquire checks, once a second of a wait, for readers that died. The last reader of Redisson would
// do that, and ours does not.
func (w writer) Acquire(ctx context.Context, a locking.Try) (locking.Tried, error) {
	if a.Thorough {
		w.clear(ctx)
	}
	claim, look := "0", clearEvery
	if !w.last && a.Queue {
		claim, look = strconv.FormatInt(core.Millis(claimFor), 10), claimEvery
	}
	t, err := w.acquire(ctx, w, a.Owner, writeAcquireScript,
		[]string{w.name, w.gone, w.claims, w.turn, w.waiting},
		[]string{w.e.Millis(a.Lease), writeOwner(a.Owner), w.client(), claim, digit(a.Sharers)})
	if t.Left < 0 || t.Left > look { // a negative time means none
		t.Left = look
	}
	return t, err
}

func (w writer) Release(ctx context.Context, owner string) (lease.Released, error) {
	return released(w.e.Run(ctx, writeReleaseScript,
		[]string{w.name, w.waiting, w.turn},
		[]string{writeOwner(owner), w.channel, w.e.Publish(), turnMillis}))
}

func (w writer) GiveBack(ctx context.Context, owner string) (lease.Released, error) {
	if err := lockkit.Bury(ctx, w.e, w.gone, writeOwner(owner)); err != nil {
		return lease.Released{}, err
	}
	return w.Release(ctx, owner)
}

// ReleaseTo does the downgrade: the first candidate reads from then on.
func (w writer) ReleaseTo(ctx context.Context, owner string, next []locking.Candidate) (locking.HandoverResult, error) {
	to := next[0]
	answer, err := w.e.Run(ctx, downgradeScript,
		[]string{w.name, w.mark(to.Owner), w.waiting, w.turn},
		[]string{writeOwner(owner), to.Owner, w.e.Millis(to.Lease), w.channel, w.e.Publish(), turnMillis})
	r, err := released(answer, err)
	g := locking.HandoverResult{Released: r, Started: answer.Started}
	if r.Held {
		g.Owner = to.Owner
	}
	return g, err
}

// Quit removes the claim of a client that no longer waits.
func (w writer) Quit(ctx context.Context) error {
	if w.last {
		return nil
	}
	_, err := w.e.Run(ctx, withdrawScript, []string{w.claims}, []string{w.client(), w.channel, w.e.Publish()})
	return err
}
