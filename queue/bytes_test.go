package queue

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// weighty is a queue of texts: what fills it, and each way to go through all of it.
type weighty struct {
	fill func(ctx context.Context, v string) error
	ways map[string]func(ctx context.Context) ([]string, error)
}

// yielded is what a walk yields, by what each is of it.
func yielded[T any](all iter.Seq2[T, error], text func(T) string) (got []string, err error) {
	for v, err := range all {
		if err != nil {
			return got, err
		}
		got = append(got, text(v))
	}
	return got, nil
}

var weightyKinds = map[string]func(e *engine.Engine, name string) weighty{
	"queue": func(e *engine.Engine, name string) weighty {
		q := New[string](e, name, WithCodec(codec.Text))
		return weighty{
			func(ctx context.Context, v string) error { _, err := q.Offer(ctx, v); return err },
			map[string]func(ctx context.Context) ([]string, error){
				"1 values": func(ctx context.Context) ([]string, error) {
					return yielded(q.Values(ctx), func(v string) string { return v })
				},
				"2 drain": q.Drain,
			},
		}
	},
	"priority queue": func(e *engine.Engine, name string) weighty {
		q := NewPriority[string](e, name, WithCodec(codec.Text))
		value := func(v Scored[string]) string { return v.Value }
		return weighty{
			func(ctx context.Context, v string) error {
				n, _ := strconv.Atoi(strings.TrimRight(v, "x"))
				_, err := q.Offer(ctx, v, float64(n))
				return err
			},
			map[string]func(ctx context.Context) ([]string, error){
				"1 values": func(ctx context.Context) ([]string, error) { return yielded(q.Values(ctx), value) },
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
	"delayed queue": func(e *engine.Engine, name string) weighty {
		q := NewDelayed[string](e, name, WithCodec(codec.Text))
		at := time.Hour
		return weighty{
			func(ctx context.Context, v string) error {
				at += time.Second
				_, err := q.Offer(ctx, v, at)
				return err
			},
			map[string]func(ctx context.Context) ([]string, error){
				"waiting": func(ctx context.Context) ([]string, error) {
					return yielded(q.Waiting(ctx), func(w Waiting[string]) string { return w.Value })
				},
			},
		}
	},
	"stream": func(e *engine.Engine, name string) weighty {
		s := NewStream[string, string](e, name, WithCodec(codec.Text))
		value := func(e Entry[string, string]) string { return e.Fields["v"] }
		return weighty{
			func(ctx context.Context, v string) error { _, err := s.Add(ctx, map[string]string{"v": v}); return err },
			map[string]func(ctx context.Context) ([]string, error){
				"range": func(ctx context.Context) ([]string, error) { return yielded(s.Range(ctx, "", ""), value) },
			},
		}
	},
}

// TestQueueWalkAnswersAreBoundedByBytes, and none is missing or twice there. What a drain
// takes is bounded, too.
func TestQueueWalkAnswersAreBoundedByBytes(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for kind, of := range weightyKinds {
		for _, size := range []int{20, 100_000} {
			t.Run(kind+"/"+strconv.Itoa(size), func(t *testing.T) {
				t.Parallel()
				name, want := redistest.Name(t), []string(nil)
				q := of(engineOn(t, raw), name)
				for i := range 60 {
					v := strconv.Itoa(i + 100)
					want = append(want, v+strings.Repeat("x", size-len(v)))
					require.NoError(t, q.fill(t.Context(), want[i]))
				}
				c := &redistest.Weighed{Client: raw}
				ways := of(engineOn(t, c), name).ways
				for _, way := range slices.Sorted(maps.Keys(ways)) { // a drain is the last
					got, err := ways[way](t.Context())
					require.NoError(t, err, way)
					require.Equal(t, want, got, way)
					require.Less(t, c.Most.Swap(0), int64(2<<20), way)
				}
			})
		}
	}
}
