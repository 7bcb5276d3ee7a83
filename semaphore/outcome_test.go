package semaphore

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// ledger writes down what is refused, unknown, or given up.
type ledger struct {
	mu  sync.Mutex
	all []string
}

func (l *ledger) note(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, fmt.Sprintf(format, args...))
}

func (l *ledger) take() (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all, l.all = l.all, nil
	return all
}

func (l *ledger) Refused(kind, name string) { l.note("refused %s %s", kind, name) }

func (l *ledger) Unknown(kind, name, operation string, _ error) {
	l.note("unknown %s %s: %s", kind, name, operation)
}

func (l *ledger) GaveUp(g core.GaveUp) {
	l.note("gave up %s %s: %s %d", g.Kind, g.Name, g.Op, g.Amount)
}

// TestSemaphoreObserverIsToldOfRefusalsAndUnknownOutcomes, of each call once.
func TestSemaphoreObserverIsToldOfRefusalsAndUnknownOutcomes(t *testing.T) {
	t.Parallel()
	told := new(ledger)
	tells := func(c *core.Config) { c.Outcomes, c.Deferrals = told, told }
	r, proxy := faulty(t, enginetest.ShortSends, tells)
	r.set(1)
	p := &permitRig{NewPermits(r.e, r.of.key+"p"), t, r.raw, r.e}
	p.set(1)
	for range 2 {
		r.refused(2)
	}
	require.ErrorIs(t, r.TryAcquire(t.Context(), 2, WithWait(300*time.Millisecond)), ErrNotAcquired)
	_, err := p.TryAcquireN(t.Context(), 2)
	require.ErrorIs(t, err, ErrNotAcquired)
	plain, leased := "semaphore "+r.of.key, "permit "+p.of.key
	require.Equal(t, []string{"refused " + plain, "refused " + plain, "refused " + plain, "refused " + leased}, told.take())
	proxy.BlackHole()
	require.ErrorIs(t, r.SetPermits(t.Context(), 3), ErrUnknown)
	require.ErrorIs(t, r.Release(t.Context(), 1), ErrUnknown)
	_, err = p.TryAcquire(t.Context())
	require.ErrorIs(t, err, ErrUnknown)
	require.Equal(t, []string{"unknown " + plain + ": set permits", "unknown " + plain + ": release", "unknown " + leased + ": try acquire"}, told.take())
	proxy.Restore()
	r.take(1)
	require.Empty(t, told.take())
}

// TestSemaphoreObserverIsToldOfAReleaseThatWasGivenUp: the server refuses it until the
// client closes.
func TestSemaphoreObserverIsToldOfAReleaseThatWasGivenUp(t *testing.T) {
	t.Parallel()
	told := new(ledger)
	server := redistest.Start(t)
	c := core.Config{ClientID: owner.NewClient(), WatchdogTimeout: time.Minute, Deferrals: told}
	enginetest.ShortSends(&c)
	raw := server.Client(t)
	e, err := locking.New(t.Context(), raw, c)
	require.NoError(t, err)
	r := (&rig{New(e, redistest.Name(t)), t, raw, e}).set(5)
	r.take(2)
	r.do("CONFIG", "SET", "min-replicas-to-write", "1")
	require.ErrorIs(t, r.Release(t.Context(), 2), ErrDeferred)
	require.ErrorContains(t, r.e.Close(context.Background()), "release 2")
	require.Equal(t, []string{"gave up semaphore " + r.of.key + ": release 2"}, told.take())
}
