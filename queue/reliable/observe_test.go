package reliable

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

type observedKey struct{}

// around is an observer of handlers that writes down what it is told, by the header of the
// message.
type around struct {
	mu   sync.Mutex
	told map[string][]core.Handled
}

func (a *around) Handling(ctx context.Context, h core.Handling) (context.Context, func(core.Handled)) {
	name := h.Header["name"]
	switch name {
	case "observer panics":
		if h.Attempt == 1 {
			panic("no span")
		}
	case "no context":
		return nil, nil
	}
	return context.WithValue(ctx, observedKey{}, h), func(is core.Handled) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.told == nil {
			a.told = map[string][]core.Handled{}
		}
		a.told[name] = append(a.told[name], is)
	}
}

func (a *around) of(name string) []core.Handled {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]core.Handled(nil), a.told[name]...)
}

// all is how often it was told something.
func (a *around) all() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, told := range a.told {
		n += len(told)
	}
	return n
}

// watchedBy is the same queue by another client, with an observer of handlers.
func (r *rig) watchedBy(a *around) *rig {
	e, err := locking.New(r.t.Context(), r.raw, core.Config{
		ClientID: owner.NewClient(), WatchdogTimeout: 30 * time.Second, Linger: time.Second, Values: codec.Text, Handlers: a,
	})
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = locking.Close(context.Background(), e) })
	other := &rig{t: r.t, raw: r.raw, e: e}
	other.Queue = New[string](other.e, r.name, WithMaxAttempts(2), WithBackoff(func(int) time.Duration { return 0 }))
	return other
}

// TestCombinedCallsAreTold to an observer: also those that look for results, and those that cancel what a Transfer has left.
func TestCombinedCallsAreTold(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		const kind = "reliable queue"
		var told enginetest.Batches
		q := &rig{t: t, raw: r.raw, e: engineOn(t, r.raw, told.To)}
		q.Queue = New[string](q.e, r.name)
		id := q.adds("a", WithDelay(time.Hour))
		require.Equal(t, []int{1}, told.Take(kind))
		_, err := q.Result(t.Context(), id)
		require.ErrorIs(t, err, ErrPending)
		require.Equal(t, []int{1}, told.Take(kind))
		how, err := q.withdraw(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, byte('1'), how)
		require.Equal(t, []int{1}, told.Take(kind))

		const n = 200
		var all sync.WaitGroup
		for range n {
			all.Go(func() {
				_, err := q.Result(t.Context(), id)
				assert.ErrorIs(t, err, ErrNotFound)
			})
		}
		all.Wait()
		sum := 0
		for _, calls := range told.Take(kind) {
			sum += calls
		}
		require.Equal(t, n, sum)
	})
}

func TestAnObserverAroundHandlers(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		a, broken := &around{}, errors.New("broken")
		q := r.watchedBy(a)
		var released atomic.Bool
		handle := func(ctx context.Context, m *Message[string]) error {
			switch m.Value {
			case "acked", "no context", "observer panics":
				return nil
			case "retried", "buried":
				return broken
			case "panics":
				panic("bang")
			case "goes":
				runtime.Goexit()
			case "acks":
				return m.Ack(ctx)
			case "nacks":
				return m.Nack(ctx, broken)
			case "releases":
				if released.CompareAndSwap(false, true) {
					return m.Release(ctx)
				}
			case "acks and fails":
				return errors.Join(m.Ack(ctx), broken)
			case "too slow":
				<-ctx.Done()
				return context.Cause(ctx)
			case "lost":
				return r.Cancel(context.WithoutCancel(ctx), m.ID)
			}
			return nil
		}
		stop := q.serves(func(ctx context.Context, m *Message[string]) error {
			if h, seen := ctx.Value(observedKey{}).(core.Handling); seen {
				assert.Equal(t, core.Handling{Queue: r.of.key, ID: m.ID, Attempt: m.Attempt, Header: m.Header}, h)
			} else {
				assert.Equal(t, "no context", m.Value)
			}
			return handle(ctx, m)
		}, WithConcurrency(4))
		var all []string
		add := func(name string, opts ...AddOption) {
			all = append(all, name)
			r.adds(name, append(opts, WithHeader("name", name))...)
		}
		for _, name := range []string{
			"acked", "no context", "observer panics", "retried", "panics", "goes", "acks", "nacks", "releases", "acks and fails", "lost",
		} {
			add(name)
		}
		add("too slow", WithTimeout(10*time.Millisecond))
		redistest.Eventually(t, func() bool { return a.all() == 17 }, soon, time.Millisecond)
		require.NoError(t, stop())

		outcomes := map[string]string{}
		for _, name := range all {
			for _, is := range a.of(name) {
				if outcomes[name] += fmt.Sprintf("%s %v %v; ", is.Outcome, is.Err, is.Unsettled); is.Took < 0 {
					t.Errorf("%s took %v", name, is.Took)
				}
			}
		}
		require.Equal(t, map[string]string{
			"acked":           "acked <nil> <nil>; ",
			"observer panics": "acked <nil> <nil>; ",
			"retried":         "retried broken <nil>; buried broken <nil>; ",
			"panics":          "retried panic: bang <nil>; buried panic: bang <nil>; ",
			"goes":            fmt.Sprintf("retried %v <nil>; buried %v <nil>; ", errGone, errGone),
			"acks":            "acked <nil> <nil>; ",
			"nacks":           "retried <nil> <nil>; buried <nil> <nil>; ",
			"releases":        "released <nil> <nil>; acked <nil> <nil>; ",
			"acks and fails":  "acked broken <nil>; ",
			"too slow":        fmt.Sprintf("retried %v <nil>; buried %v <nil>; ", ErrTimeout, ErrTimeout),
			"lost":            fmt.Sprintf("lost <nil> %v; ", ErrCancelled),
		}, outcomes)
	})
}

// TestAHandlerThatAcknowledgesBehindTheEndOfItsClient is told of, too.
func TestAHandlerThatAcknowledgesBehindTheEndOfItsClient(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		a := &around{}
		q := r.watchedBy(a)
		begun, closed := make(chan struct{}), make(chan struct{})
		stop := q.serves(func(ctx context.Context, m *Message[string]) error {
			close(begun)
			<-closed
			return m.Ack(ctx)
		})
		r.adds("a", WithHeader("name", "a"))
		redistest.Done(t, begun)
		now, cancel := context.WithCancel(t.Context())
		cancel()
		assert.Error(t, locking.Close(now, q.e), "a message is left to its lease")
		close(closed)
		require.ErrorIs(t, stop(), ErrClosed)
		told := a.of("a")
		require.Len(t, told, 1)
		require.Equal(t, "failed", told[0].Outcome)
		require.ErrorIs(t, told[0].Err, ErrClosed)
		require.ErrorIs(t, told[0].Unsettled, ErrClosed)
	})
}
