package locktest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/lock"
)

// Process is one client of the server under test: what another process would
// be. Lockers of one name are the same lock, from whichever Process they come.
type Process interface {
	Locker(name string) lock.Locker
	Close(ctx context.Context) error
}

// Rivalled is a Process whose Lockers do not exclude each other: it says which
// Locker of a name excludes them.
type Rivalled interface {
	Process
	Rival(name string) lock.Locker
}

// rival returns the Locker that p's of that name excludes, and is excluded by: itself
// as a rule.
func rival(p Process, name string) lock.Locker {
	if r, shares := p.(Rivalled); shares {
		return r.Rival(name)
	}
	return p.Locker(name)
}

// shares reports whether several may have the lock at once.
func shares(p Process) bool {
	_, shares := p.(Rivalled)
	return shares
}

// Suite says how to reach what is tested.
type Suite struct {
	// Start returns a fresh Process whose watchdog has that timeout. It is
	// closed when the test ends.
	Start func(t testing.TB, watchdog time.Duration) Process
	// Mute is as Start, of a Process whose servers may fall silent, and answer again.
	Mute func(t testing.TB, watchdog time.Duration) (p Process, silence, restore func())
	// Name returns a name that nobody else uses.
	Name func(t testing.TB) string
}

// long is a lease that no test outlives, short one that each can wait for, and
// kept one that a busy machine still renews in time. A wait of inVain has an
// answer of the server before it ends, also on a busy machine.
const (
	long  = 30 * time.Second
	short = 400 * time.Millisecond
	kept  = 5 * time.Second

	inVain = 3 * time.Second
)

// Run runs the suite.
func (s Suite) Run(t *testing.T) {
	for _, group := range []struct {
		name  string
		tests map[string]func(*testing.T, Suite)
	}{
		{"exclusion", exclusion}, {"waiting", waiting}, {"holding", holding},
		{"reentry", reentry}, {"leases", leases}, {"ending", ending},
	} {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			for name, test := range group.tests {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(t, s)
				})
			}
		})
	}
}

// ample is a lease that is long for those, too, whose leases stand on the server
// in steps of the watchdog's.
const ample = 3 * time.Minute

// pair returns one lock as two processes see it: what one has, the other cannot.
func (s Suite) pair(t *testing.T, watchdog time.Duration) (here, there lock.Locker) {
	t.Helper()
	name := s.Name(t)
	return s.Start(t, watchdog).Locker(name), rival(s.Start(t, watchdog), name)
}

// within is pair for one process.
func (s Suite) within(t *testing.T, watchdog time.Duration) (l, other lock.Locker) {
	t.Helper()
	p, name := s.Start(t, watchdog), s.Name(t)
	return p.Locker(name), rival(p, name)
}

// rivals returns what excludes a lock, in its own process and in another one.
func (s Suite) rivals(t *testing.T, watchdog time.Duration) (l lock.Locker, others []lock.Locker) {
	t.Helper()
	here, name := s.Start(t, watchdog), s.Name(t)
	return here.Locker(name), []lock.Locker{rival(here, name), rival(s.Start(t, watchdog), name)}
}

func (s Suite) one(t *testing.T, watchdog time.Duration) lock.Locker {
	t.Helper()
	return s.Start(t, watchdog).Locker(s.Name(t))
}

// requireFree tries a lock that nobody holds, and that no call of this process asks for.
func requireFree(t *testing.T, l lock.Locker) {
	t.Helper()
	hold, err := l.TryLock(Bounded(t))
	require.NoError(t, err)
	Unlock(t, hold)
}

func await(t *testing.T, ch <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(20 * time.Second):
		require.Fail(t, "never happened: "+what)
	}
}
