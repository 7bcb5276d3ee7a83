package queue

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

var weightyKinds = map[string]func(e *locking.Engine, name string) enginetest.Weighty{
	"queue": func(e *locking.Engine, name string) enginetest.Weighty {
		q := New[string](e, name, WithCodec(codec.Text))
		return enginetest.Weighty{
			Fill: func(ctx context.Context, v string) error { _, err := q.Offer(ctx, v); return err },
			Ways: map[string]func(ctx context.Context) ([]string, error){
				"1 values": func(ctx context.Context) ([]string, error) {
					return redistest.Yielded(q.Values(ctx), func(v string) string { return v })
				},
				"2 drain": q.Drain,
			},
		}
	},
	"priority queue": func(e *locking.Engine, name string) enginetest.Weighty {
		q := NewPriority[string](e, name, WithCodec(codec.Text))
		value := func(v Scored[string]) string { return v.Value }
		return enginetest.Weighty{
			Fill: func(ctx context.Context, v string) error {
				n, _ := strconv.Atoi(strings.TrimRight(v, "x"))
				_, err := q.Offer(ctx, v, float64(n))
				return err
			},
			Ways: map[string]func(ctx context.Context) ([]string, error){
				"1 values": func(ctx context.Context) ([]string, error) { return redistest.Yielded(q.Values(ctx), value) },
				"2 drain": func(ctx context.Context) (got []string, err error) {
					all, err := q.Drain(ctx)
					for _, v := range all {
						got = append(got, v.Value)
					}
					return got, err
				},
			},
		}
	},
	"delayed queue": func(e *locking.Engine, name string) enginetest.Weighty {
		q := NewDelayed[string](e, name, WithCodec(codec.Text))
		at := time.Hour
		return enginetest.Weighty{
			Fill: func(ctx context.Context, v string) error {
				at += time.Second
				_, err := q.Offer(ctx, v, at)
				return err
			},
			Ways: map[string]func(ctx context.Context) ([]string, error){
				"waiting": func(ctx context.Context) ([]string, error) {
					return redistest.Yielded(q.Waiting(ctx), func(w Waiting[string]) string { return w.Value })
				},
			},
		}
	},
}

// TestQueueWalkAnswersAreBoundedByBytes, and none is missing or twice there. What a drain
// takes is bounded, too.
func TestQueueWalkAnswersAreBoundedByBytes(t *testing.T) {
	t.Parallel()
	enginetest.AnswersAreBounded(t, weightyKinds)
}

// offering and polling are the calls of a queue of texts that TestAHandleRemembersLongElements makes.
type (
	offering func(v string) error
	polling  func(n int) ([]string, error)
)

// listed makes them of a queue on a list.
func listed(t *testing.T, q interface {
	Offer(context.Context, ...string) (int64, error)
	PollN(context.Context, int) ([]string, error)
}) (offering, polling) {
	return func(v string) error { _, err := q.Offer(t.Context(), v); return err },
		func(n int) ([]string, error) { return q.PollN(t.Context(), n) }
}

// manyOf makes a queue from which several elements may be taken at once.
var manyOf = map[string]func(t *testing.T, e *locking.Engine, name string) (offering, polling){
	"queue": func(t *testing.T, e *locking.Engine, name string) (offering, polling) {
		return listed(t, New[string](e, name, WithCodec(codec.Text)))
	},
	"bounded": func(t *testing.T, e *locking.Engine, name string) (offering, polling) {
		q := NewBounded[string](e, name, WithCodec(codec.Text))
		_, err := q.TrySetCapacity(t.Context(), 100)
		require.NoError(t, err)
		return listed(t, q)
	},
	"ring": func(t *testing.T, e *locking.Engine, name string) (offering, polling) {
		q := NewRing[string](e, name, WithCodec(codec.Text))
		require.NoError(t, q.SetCapacity(t.Context(), 100))
		return listed(t, q)
	},
	"priority": func(t *testing.T, e *locking.Engine, name string) (offering, polling) {
		q := NewPriority[string](e, name, WithCodec(codec.Text))
		return func(v string) error { _, err := q.Offer(t.Context(), v, 1); return err },
			func(n int) ([]string, error) {
				all, err := q.PollN(t.Context(), n)
				var vs []string
				for _, one := range all {
					vs = append(vs, one.Value)
				}
				return vs, err
			}
	},
}

// TestAHandleRemembersLongElements, also of an answer that had fewer than it was asked for, and
// when short ones came after them.
func TestAHandleRemembersLongElements(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for kind, of := range manyOf {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := &redistest.Weighed{Client: raw}
			e, name := engineOn(t, c), redistest.Name(t)
			defer raw.Do(context.Background(), raw.B().Del().Key(name).Build())
			offer, pollN := of(t, e, name)
			three := func() {
				t.Helper()
				for i := range 3 {
					require.NoError(t, offer(strconv.Itoa(i)+strings.Repeat("x", 900_000)))
				}
				got, err := pollN(100)
				require.NoError(t, err)
				require.Len(t, got, 3)
			}
			require.NoError(t, offer("x"))
			_, err := pollN(1)
			require.NoError(t, err)
			three() // by one command, since nothing is known of long ones
			c.Most.Store(0)
			three()
			require.Less(t, c.Most.Swap(0), int64(1<<20))
			for range 3 {
				require.NoError(t, offer("x"))
				_, err := pollN(1)
				require.NoError(t, err)
			}
			three()
			require.Less(t, c.Most.Swap(0), int64(1<<20))
		})
	}
}

// TestManyCallersShareWhatIsKnownOfLengths: none of them takes away what another has noted.
func TestManyCallersShareWhatIsKnownOfLengths(t *testing.T) {
	t.Parallel()
	for range 100 {
		var l lengths
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() { l.saw(poller.Item{Text: strings.Repeat("x", 1000*i)}) })
		}
		all.Wait()
		require.Greater(t, l.longest.Load(), int64(7000*2/5)) // seven answers of shorter ones may have followed
		require.LessOrEqual(t, l.longest.Load(), int64(7000))
	}
}

// TestOnlySoManyTakersAreAskedFor as have about a megabyte.
func TestOnlySoManyTakersAreAskedFor(t *testing.T) {
	t.Parallel()
	l := &takers{}
	for range 200 {
		l.enter(t.Context())
	}
	for bytes, want := range map[int64]int{0: 16, 1: mostPops, 100: mostPops, 100_000: 10, 600_000: 1, 20 << 20: 1} {
		require.Equal(t, want, l.ask(expected(bytes)), bytes)
	}
}
