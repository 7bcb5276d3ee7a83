package queue

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// slowRate has the link of an engine carry 2 MB in the second that its sends have.
const slowRate = 2 << 20

// sized is texts of so many kilobytes.
func sized(kilobytes ...int) (vs []string) {
	for _, n := range kilobytes {
		vs = append(vs, strings.Repeat("x", n<<10))
	}
	return vs
}

// TestQueueWalkReadsAnElementThatIsLongerThanTheOnesBefore, though those were large, too.
func TestQueueWalkReadsAnElementThatIsLongerThanTheOnesBefore(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t, redistest.Version("8.0"))
	name, want := redistest.Name(t), sized(100, 100, 100, 100, 6<<10)
	_, err := New[string](engineOn(t, server.Client(t)), name, WithCodec(codec.Text)).Offer(t.Context(), want...)
	require.NoError(t, err)
	got, err := redistest.Yielded(New[string](enginetest.Slow(t, server, slowRate), name, WithCodec(codec.Text)).Values(t.Context()), func(v string) string { return v })
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// TestARingBufferIsReadThatHasALongElement, of which a handle knows nothing.
func TestARingBufferIsReadThatHasALongElement(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t, redistest.Version("8.0"))
	q := ringOn(t, engineOn(t, server.Client(t)), 10)
	want := sized(1, 6<<10, 1)
	_, err := q.Offer(t.Context(), want...)
	require.NoError(t, err)
	for how, look := range map[string]func(*Ring[string], context.Context, int) ([]string, error){
		"oldest": (*Ring[string]).Oldest, "newest": (*Ring[string]).Newest,
	} {
		got, err := look(NewRing[string](enginetest.Slow(t, server, slowRate), q.Name(), WithCodec(codec.Text)), t.Context(), 3)
		require.NoError(t, err, how)
		require.True(t, slices.Equal(want, got), how)
	}
}

// TestElementsOfAMegabyteAreTakenOneByOne: one takes a seventh of a send's time, together they would take twice as long
// as that.
func TestElementsOfAMegabyteAreTakenOneByOne(t *testing.T) {
	t.Parallel()
	const rate, elements = 8 << 20, 14
	server := redistest.Shared(t, redistest.Version("8.0"))
	want := sized(slices.Repeat([]int{1200}, elements)...)
	for how, take := range map[string]func(e *locking.Engine, name string) ([]string, error){
		"poll n": func(e *locking.Engine, name string) ([]string, error) {
			return New[string](e, name, WithCodec(codec.Text)).PollN(context.Background(), 2*elements)
		},
		"take n": func(e *locking.Engine, name string) ([]string, error) {
			return New[string](e, name, WithCodec(codec.Text)).TakeN(context.Background(), elements)
		},
		"polls at once": func(e *locking.Engine, name string) (got []string, _ error) {
			q := New[string](e, name, WithCodec(codec.Text))
			first, err := q.Poll(context.Background())
			rest, errs := make([]string, elements-1), make([]error, elements-1)
			var polls sync.WaitGroup
			for i := range rest {
				polls.Go(func() { rest[i], errs[i] = q.Poll(context.Background()) })
			}
			polls.Wait()
			return append(rest, first), errors.Join(append(errs, err)...)
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			redistest.Within(t, time.Second, func() time.Duration {
				name := redistest.Name(t)
				_, err := New[string](engineOn(t, server.Client(t)), name, WithCodec(codec.Text)).Offer(t.Context(), want...)
				require.NoError(t, err)
				got, err := take(enginetest.Slow(t, server, rate), name)
				t.Logf("%d elements: %v", len(got), err)
				late := errors.Is(err, ErrOutcomeUnknown) && errors.Is(err, context.DeadlineExceeded)
				late = late || err == nil && len(got) == elements-1 // a take waits on if its first answer is lost
				if late {
					return time.Minute // the time was not enough, which is no fault of a process that stood still
				}
				require.NoError(t, err)
				require.Len(t, got, len(want))
				require.True(t, slices.Equal(want, got))
				return 0
			})
		})
	}
}

// TestALongLineTakesElementsOfAMegabyte to its end, and another queue of the client is served meanwhile.
func TestALongLineTakesElementsOfAMegabyte(t *testing.T) {
	t.Parallel()
	const takers = 40
	server := redistest.Start(t, redistest.Version("8.0"))
	e := engineOn(t, server.Client(t))
	q, other := New[string](e, "long", WithCodec(codec.Text)), New[string](e, "other", WithCodec(codec.Text))
	want := sized(slices.Repeat([]int{1024}, takers)...)
	got := make(chan string, takers)
	ctx, cancel := context.WithTimeout(t.Context(), redistest.Soon)
	defer cancel()
	var taking sync.WaitGroup
	for range takers {
		taking.Go(func() {
			v, err := q.Take(ctx)
			assert.NoError(t, err)
			got <- v
		})
	}
	redistest.Eventually(t, func() bool { return q.q.h.poller.InLine(poller.Head, q.q.Key) == takers }, redistest.Soon, time.Millisecond)
	filling := New[string](engineOn(t, server.Client(t)), "long", WithCodec(codec.Text))
	_, err := filling.Offer(t.Context(), want...)
	require.NoError(t, err)
	_, err = other.Offer(t.Context(), "x")
	require.NoError(t, err)
	v, err := other.Take(ctx)
	require.NoError(t, err)
	require.Equal(t, "x", v)
	taking.Wait()
	close(got)
	for v := range got {
		require.Len(t, v, 1<<20)
	}
	require.Less(t, server.CommandCalls(t, "lpop"), int64(3*takers), "no pops for nobody")
}

// drains are the kinds that can be drained, each filled and drained.
var drains = map[string]func(fill, drain *locking.Engine, name string, vs []string) ([]string, error){
	"queue": func(fill, drain *locking.Engine, name string, vs []string) ([]string, error) {
		if _, err := New[string](fill, name, WithCodec(codec.Text)).Offer(context.Background(), vs...); err != nil {
			return nil, err
		}
		return New[string](drain, name, WithCodec(codec.Text)).Drain(context.Background())
	},
	"priority queue": func(fill, drain *locking.Engine, name string, vs []string) (got []string, err error) {
		q := NewPriority[string](fill, name, WithCodec(codec.Text))
		for i, v := range vs {
			if _, err := q.Offer(context.Background(), v, float64(i)); err != nil {
				return nil, err
			}
		}
		all, err := NewPriority[string](drain, name, WithCodec(codec.Text)).Drain(context.Background())
		for _, v := range all {
			got = append(got, v.Value)
		}
		return got, err
	},
	"bounded queue": func(fill, drain *locking.Engine, name string, vs []string) ([]string, error) {
		q := NewBounded[string](fill, name, WithCodec(codec.Text))
		if _, err := q.TrySetCapacity(context.Background(), 100); err != nil {
			return nil, err
		}
		if _, err := q.Offer(context.Background(), vs...); err != nil {
			return nil, err
		}
		return NewBounded[string](drain, name, WithCodec(codec.Text)).Drain(context.Background())
	},
	"ring buffer": func(fill, drain *locking.Engine, name string, vs []string) ([]string, error) {
		q := NewRing[string](fill, name, WithCodec(codec.Text))
		if _, err := q.TrySetCapacity(context.Background(), 100); err != nil {
			return nil, err
		}
		if _, err := q.Offer(context.Background(), vs...); err != nil {
			return nil, err
		}
		return NewRing[string](drain, name, WithCodec(codec.Text)).Drain(context.Background())
	},
}

// TestDrainLosesNoLargeElements: one is asked for first, and each has time for what the one
// before had.
func TestDrainLosesNoLargeElements(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t, redistest.Version("8.0"))
	tests := map[string]func(t *testing.T){}
	for kind, of := range drains {
		tests[kind] = func(t *testing.T) {
			var want []string
			for i, v := range sized(300, 700, 700, 700, 2400) {
				want = append(want, decimal(int64(i))+v) // a sorted set has none twice
			}
			redistest.Within(t, time.Second, func() time.Duration {
				got, err := of(engineOn(t, server.Client(t)), enginetest.Slow(t, server, slowRate), redistest.Name(t), want)
				if errors.Is(err, ErrOutcomeUnknown) && errors.Is(err, context.DeadlineExceeded) {
					return time.Minute // the time was not enough, which is no fault of a process that stood still
				}
				require.NoError(t, err)
				require.Equal(t, want, got)
				return 0
			})
		}
	}
	redistest.Together(t, tests)
}
