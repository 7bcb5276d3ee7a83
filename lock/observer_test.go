package lock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// recorder is an observer that writes everything down as short texts, and can
// be waited on.
type recorder struct {
	mu     sync.Mutex
	events []event
	news   chan struct{} // closed and replaced when something happens
}

type event struct {
	what string // "acquired", "acquired handed", "script acquire"
	name string
	ctx  context.Context
	took time.Duration
	n    int
	err  error
}

func newRecorder() *recorder { return &recorder{news: make(chan struct{})} }

var _ rueidisson.Observer = (*recorder)(nil)

func (r *recorder) note(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	close(r.news)
	r.news = make(chan struct{})
}

func handedText(what string, handed bool) string {
	if handed {
		return what + " handed"
	}
	return what
}

func (r *recorder) WaitStarted(ctx context.Context, kind, name string) {
	r.note(event{what: "wait started " + kind, name: name, ctx: ctx})
}

func (r *recorder) WaitEnded(ctx context.Context, kind, name string, waited time.Duration, err error) {
	r.note(event{what: "wait ended " + kind, name: name, ctx: ctx, took: waited, err: err})
}

func (r *recorder) Acquired(ctx context.Context, kind, name string, handed bool) {
	r.note(event{what: handedText("acquired "+kind, handed), name: name, ctx: ctx})
}

func (r *recorder) Released(ctx context.Context, kind, name string, handed bool) {
	r.note(event{what: handedText("released "+kind, handed), name: name, ctx: ctx})
}

func (r *recorder) Lost(kind, name string, cause error) {
	r.note(event{what: "lost " + kind, name: name, err: cause})
}

func (r *recorder) Renewed(holds int, took time.Duration, err error) {
	r.note(event{what: "renewed", took: took, n: holds, err: err})
}

func (r *recorder) ScriptRan(ctx context.Context, script string, took time.Duration, sends int, err error) {
	r.note(event{what: "script " + script, ctx: ctx, took: took, n: sends, err: err})
}

func (r *recorder) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = nil
}

// all are the events of that kind so far, and what is closed at the next one.
func (r *recorder) all(what string) (events []event, news <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.what == what {
			events = append(events, e)
		}
	}
	return events, r.news
}

func (r *recorder) count(what string) int {
	events, _ := r.all(what)
	return len(events)
}

// await returns when at least n such events have happened.
func (r *recorder) await(t testing.TB, what string, n int) []event {
	t.Helper()
	late := time.After(patience)
	for {
		events, news := r.all(what)
		if len(events) >= n {
			return events
		}
		select {
		case <-news:
		case <-late:
			t.Fatalf("%d of %d %q within %v; all there is: %v", len(events), n, what, patience, r)
		}
	}
}

func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	texts := make([]string, len(r.events))
	for i, e := range r.events {
		texts[i] = fmt.Sprintf("%s %s n=%d err=%v", e.what, e.name, e.n, e.err)
	}
	return fmt.Sprintf("%q", texts)
}

// texts are the events without scripts, in order.
func (r *recorder) texts() (out []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.name != "" {
			out = append(out, e.what)
		}
	}
	return out
}

type traceKey struct{}

func TestTheObserverIsToldOfAnUncontendedPair(t *testing.T) {
	t.Parallel()
	c := tap(t, redistest.Shared(t).Addr())
	name := redistest.Name(t)
	ctx := context.WithValue(t.Context(), traceKey{}, "trace")
	hold, err := c.Lock(name).Lock(ctx)
	require.NoError(t, err)
	inner, err := c.Lock(name).Lock(hold.Context(ctx))
	require.NoError(t, err)
	require.NoError(t, inner.Unlock(ctx))
	require.NoError(t, hold.Unlock(ctx))
	require.Equal(t, []string{"acquired lock", "released lock"}, c.seen.texts(), "nobody waited, and a re-entry is no hold")
	for _, what := range []string{"acquired lock", "released lock", "script acquire", "script release"} {
		events := c.seen.await(t, what, 1)
		require.Len(t, events, 1)
		require.Equal(t, "trace", events[0].ctx.Value(traceKey{}), "%s has the caller's values", what)
		require.NoError(t, events[0].err)
	}
	ran := c.seen.await(t, "script acquire", 1)[0]
	require.Equal(t, 1, ran.n)
	require.Positive(t, ran.took)
}

func TestTheObserverIsToldOfOneWaitPerCallerThatWaits(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	hold := mustLock(t, locktest.Open(t, server.Addr()).Lock(name))
	c := tap(t, server.Addr(), generous)
	const waiters = 4
	first := start(t.Context(), c.Lock(name))
	awaitAsleep(t, c)
	order := []<-chan result{first}
	for range waiters - 1 {
		order = append(order, queue(t.Context(), c.Lock(name)))
	}
	require.Equal(t, waiters, c.seen.count("wait started lock"))
	require.Zero(t, c.seen.count("wait ended lock"))
	mustUnlock(t, hold)
	for _, waiting := range order {
		r := await(t, waiting)
		require.NoError(t, r.err)
		mustUnlock(t, r.hold)
	}
	require.Equal(t, waiters, c.seen.count("wait started lock"), "%v", c.seen)
	ended := c.seen.await(t, "wait ended lock", waiters)
	require.Len(t, ended, waiters)
	for _, e := range ended {
		require.NoError(t, e.err)
		require.Positive(t, e.took)
	}
	require.Equal(t, 1, c.seen.count("acquired lock"))
	require.Equal(t, waiters-1, c.seen.count("acquired lock handed"))
	require.Equal(t, waiters-1, c.seen.count("released lock handed"))
	require.Equal(t, 1, c.seen.count("released lock"))
}

// A waiter that becomes the head of its process and goes on waiting has still
// waited once.
func TestTheObserverIsToldOnceOfAWaitThatGoesOnAsHead(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	hold := mustLock(t, locktest.Open(t, server.Addr()).Lock(name))
	c := tap(t, server.Addr())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	head := start(ctx, c.Lock(name))
	awaitAsleep(t, c)
	next := queue(t.Context(), c.Lock(name))
	cancel()
	require.ErrorIs(t, await(t, head).err, context.Canceled)
	c.seen.await(t, "script acquire", 3) // the next one is head now, and was told to wait
	mustUnlock(t, hold)
	r := await(t, next)
	require.NoError(t, r.err)
	mustUnlock(t, r.hold)
	require.Equal(t, 2, c.seen.count("wait started lock"), "%v", c.seen)
	ended := c.seen.await(t, "wait ended lock", 2)
	require.Len(t, ended, 2)
	require.ErrorIs(t, ended[0].err, context.Canceled)
	require.NoError(t, ended[1].err)
}

func TestTheObserverIsToldThatAWaitGaveUp(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	name := redistest.Name(t)
	mustLock(t, locktest.Open(t, server.Addr()).Lock(name))
	c := tap(t, server.Addr())
	_, err := c.Lock(name).TryLock(t.Context(), lock.WithWait(time.Second))
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	ended := c.seen.await(t, "wait ended lock", 1)
	require.ErrorIs(t, ended[0].err, lock.ErrNotAcquired, "as the caller is told")
	c.seen.reset()
	_, err = c.Lock(name).TryLock(t.Context())
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	require.Empty(t, c.seen.texts(), "who does not wait is not said to")
}

func TestTheObserverIsToldOfRenewalsAndLosses(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	c := tap(t, server.Addr(), rueidisson.WithWatchdogTimeout(6*time.Second))
	name := redistest.Name(t)
	hold := mustLock(t, c.Lock(name))
	renewed := c.seen.await(t, "renewed", 2)
	require.NoError(t, renewed[0].err)
	require.Equal(t, 1, renewed[0].n)
	require.Positive(t, renewed[0].took)
	_, err := locktest.Open(t, server.Addr()).Lock(name).ForceUnlock(t.Context())
	require.NoError(t, err)
	lost := c.seen.await(t, "lost lock", 1)
	require.ErrorIs(t, lost[0].err, lock.ErrLost)
	require.Equal(t, name, lost[0].name)
	<-hold.Lost()
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
	require.Equal(t, 1, c.seen.count("lost lock"))
	require.Zero(t, c.seen.count("released lock"), "it had ended before")
}

func TestTheObserverIsToldOfResends(t *testing.T) {
	t.Parallel()
	c := tap(t, redistest.Shared(t).Addr())
	name := redistest.Name(t)
	drop := c.proxy.DropReply(scriptNamed(t, "acquire"), 1)
	hold := mustLock(t, c.Lock(name))
	drop.Await(t)
	ran := c.seen.await(t, "script acquire", 1)
	require.Len(t, ran, 1, "one call, however often it is sent")
	require.Equal(t, 2, ran[0].n)
	require.NoError(t, ran[0].err)
	mustUnlock(t, hold)
}

func TestTheObserverIsToldOfAHandedHoldThatIsLost(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	c := tap(t, server.Addr(), generous, rueidisson.WithWatchdogTimeout(6*time.Second))
	name := redistest.Name(t)
	hold := mustLock(t, c.Lock(name))
	next := queue(t.Context(), c.Lock(name))
	mustUnlock(t, hold)
	r := await(t, next)
	require.NoError(t, r.err)
	c.seen.await(t, "acquired lock handed", 1)
	_, err := locktest.Open(t, server.Addr()).Lock(name).ForceUnlock(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, c.seen.await(t, "lost lock", 1)[0].err, lock.ErrLost)
	<-r.hold.Lost()
	require.True(t, errors.Is(r.hold.Err(), lock.ErrLost))
	require.ErrorIs(t, hold.Err(), lock.ErrReleased, "the one before had ended well")
}

func TestReentryAsksNobody(t *testing.T) {
	t.Parallel()
	c := tap(t, redistest.Shared(t).Addr())
	name := redistest.Name(t)
	hold := mustLock(t, c.Lock(name))
	ctx := hold.Context(t.Context())
	c.reset()
	for range 100 {
		inner, err := c.Lock(name).Lock(ctx)
		require.NoError(t, err)
		again, err := c.Lock(name).TryLock(inner.Context(ctx), lock.WithLease(time.Second))
		require.NoError(t, err)
		require.NoError(t, again.Unlock(ctx))
		require.NoError(t, inner.Unlock(ctx))
	}
	require.Empty(t, sent(c.proxy), "no command at all")
	require.Empty(t, c.seen.texts())
	longer, err := c.Lock(name).Lock(ctx, lock.WithLease(time.Hour))
	require.NoError(t, err)
	require.Equal(t, 1, c.proxy.Count(redistest.AnyScript()), "a longer lease has to be asked for")
	mustUnlock(t, longer)
	mustUnlock(t, hold)
	require.Equal(t, 1, c.calls(t, "release"))
}
