package rueidisson_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/multimap"
	"github.com/rueidisson/rueidisson/queue"
	"github.com/rueidisson/rueidisson/queue/reliable"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/stream"
)

// bulky is an object with many elements: how it is filled, and each way to go through it.
type bulky struct {
	fill func(ctx context.Context, c *rueidisson.Client, name string, values []string) error
	ways []way
	most int // bytes of an element, if there is a bound: see TestNoCommandKeepsTheServerForLong
}

// manyElements is more than there are.
const manyElements = 1_000_000

// way goes through an object, and returns how many elements came.
type way struct {
	name string
	run  func(ctx context.Context, c *rueidisson.Client, name string) (int, error)
}

func counted[T any](all iter.Seq2[T, error]) (n int, err error) {
	for _, err := range all {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// numbered is values by their numbers.
func numbered(values []string) map[string]string {
	all := make(map[string]string, len(values))
	for i, v := range values {
		all[strconv.Itoa(i)] = v
	}
	return all
}

var bulkies = map[string]bulky{
	"map": {
		fill: func(ctx context.Context, c *rueidisson.Client, name string, values []string) error {
			return rmap.New[string, string](c, name, rmap.WithCodec(codec.Text)).PutMany(ctx, numbered(values))
		},
		ways: []way{
			{"all", func(ctx context.Context, c *rueidisson.Client, name string) (int, error) {
				return counted(rmap.New[string, string](c, name, rmap.WithCodec(codec.Text)).All(ctx))
			}},
			{"keys", func(ctx context.Context, c *rueidisson.Client, name string) (int, error) {
				return counted(rmap.New[string, string](c, name, rmap.WithCodec(codec.Text)).Keys(ctx))
			}},
			{"get many", func(ctx context.Context, c *rueidisson.Client, name string) (int, error) {
				m := rmap.New[string, string](c, name, rmap.WithCodec(codec.Text))
				n, err := m.Len(ctx)
				if err != nil {
					return 0, err
				}
				keys := make([]string, n)
				for i := range keys {
					keys[i] = strconv.Itoa(i)
				}
				got, err := m.GetMany(ctx, keys...)
				return len(got), err
			}},
		},
	},
	"cache": {
		fill: func(ctx context.Context, c *rueidisson.Client, name string, values []string) error {
			return rmap.NewCache[string, string](c, name, rmap.WithCodec(codec.Text)).PutMany(ctx, numbered(values), rmap.WithTTL(time.Hour))
		},
		ways: []way{
			{"all timed", func(ctx context.Context, c *rueidisson.Client, name string) (int, error) {
				return counted(rmap.NewCache[string, string](c, name, rmap.WithCodec(codec.Text)).AllTimed(ctx))
			}},
			{"keys", func(ctx context.Context, c *rueidisson.Client, name string) (int, error) {
				return counted(rmap.NewCache[string, string](c, name, rmap.WithCodec(codec.Text)).Keys(ctx))
			}},
			{"sweep", func(ctx context.Context, c *rueidisson.Client, name string) (int, error) {
				m := rmap.NewCache[string, string](c, name, rmap.WithCodec(codec.Text))
				keys, err := textsOf(m.Keys(ctx))
				for _, k := range keys {
					if err == nil {
						_, err = m.Touch(ctx, k, rmap.WithTTL(time.Millisecond))
					}
				}
				for n := int64(1); err == nil && n > 0; time.Sleep(50 * time.Millisecond) {
					n, err = m.Len(ctx)
				}
				return len(keys), err
			}},
		},
	},
	"list multimap": {
		fill: func(ctx context.Context, c *rueidisson.Client, name string, values []string) (err error) {
			m := multimap.NewList[string, string](c, name, multimap.WithCodec(codec.Text))
			for i, some := range slices.Collect(slices.Chunk(values, 200)) {
				for _, v := range some {
					err = errors.Join(err, m.Put(ctx, strconv.Itoa(i), v))
				}
			}
			return err
		},
		ways: []way{{"all", func(ctx context.Context, c *rueidisson.Client, name string) (int, error) {
			return counted(multimap.NewList[string, string](c, name, multimap.WithCodec(codec.Text)).All(ctx))
		}}},
	},
	"queue": {
		fill: func(ctx context.Context, c *rueidisson.Client, name string, values []string) error {
			_, err := queue.New[string](c, name, queue.WithCodec(codec.Text)).Offer(ctx, values...)
			return err
		},
		ways: []way{
			{"values", func(ctx context.Context, c *rueidisson.Client, name string) (int, error) {
				return counted(queue.New[string](c, name, queue.WithCodec(codec.Text)).Values(ctx))
			}},
			{"drain", func(ctx context.Context, c *rueidisson.Client, name string) (int, error) {
				all, err := queue.New[string](c, name, queue.WithCodec(codec.Text)).Drain(ctx)
				return len(all), err
			}},
		},
	},
	"taken by number": {
		fill: func(ctx context.Context, c *rueidisson.Client, name string, values []string) error {
			_, err := queue.New[string](c, name, queue.WithCodec(codec.Text)).Offer(ctx, values...)
			return err
		},
		ways: []way{{"poll n", func(ctx context.Context, c *rueidisson.Client, name string) (int, error) {
			all, err := queue.New[string](c, name, queue.WithCodec(codec.Text)).PollN(ctx, manyElements)
			return len(all), err
		}}},
	},
	"awaited by number": {
		fill: func(ctx context.Context, c *rueidisson.Client, name string, values []string) error {
			_, err := queue.New[string](c, name, queue.WithCodec(codec.Text)).Offer(ctx, values...)
			return err
		},
		ways: []way{{"take n", func(ctx context.Context, c *rueidisson.Client, name string) (int, error) {
			all, err := queue.New[string](c, name, queue.WithCodec(codec.Text)).TakeN(ctx, manyElements)
			return len(all), err
		}}},
	},
	"bounded queue": {
		fill: func(ctx context.Context, c *rueidisson.Client, name string, values []string) error {
			q := queue.NewBounded[string](c, name, queue.WithCodec(codec.Text))
			_, err := q.TrySetCapacity(ctx, len(values))
			for some := range slices.Chunk(values, 10) {
				_, more := q.Offer(ctx, some...)
				err = errors.Join(err, more)
			}
			return err
		},
		ways: []way{
			{"values", func(ctx context.Context, c *rueidisson.Client, name string) (int, error) {
				return counted(queue.NewBounded[string](c, name, queue.WithCodec(codec.Text)).Values(ctx))
			}},
			{"poll n", func(ctx context.Context, c *rueidisson.Client, name string) (int, error) {
				all, err := queue.NewBounded[string](c, name, queue.WithCodec(codec.Text)).PollN(ctx, manyElements)
				return len(all), err
			}},
		},
	},
	"ring buffer": {
		fill: func(ctx context.Context, c *rueidisson.Client, name string, values []string) error {
			q := queue.NewRing[string](c, name, queue.WithCodec(codec.Text))
			err := q.SetCapacity(ctx, len(values))
			for some := range slices.Chunk(values, 10) {
				_, more := q.Offer(ctx, some...)
				err = errors.Join(err, more)
			}
			return err
		},
		ways: []way{
			{"oldest", func(ctx context.Context, c *rueidisson.Client, name string) (int, error) {
				all, err := queue.NewRing[string](c, name, queue.WithCodec(codec.Text)).Oldest(ctx, manyElements)
				return len(all), err
			}},
			{"newest", func(ctx context.Context, c *rueidisson.Client, name string) (int, error) {
				all, err := queue.NewRing[string](c, name, queue.WithCodec(codec.Text)).Newest(ctx, manyElements)
				return len(all), err
			}},
			{"drain", func(ctx context.Context, c *rueidisson.Client, name string) (int, error) {
				all, err := queue.NewRing[string](c, name, queue.WithCodec(codec.Text)).Drain(ctx)
				return len(all), err
			}},
		},
	},
	"priority queue": {
		fill: func(ctx context.Context, c *rueidisson.Client, name string, values []string) error {
			scored := make([]queue.Scored[string], len(values))
			for i, v := range values {
				scored[i] = queue.Scored[string]{Value: v, Score: float64(i)}
			}
			_, err := queue.NewPriority[string](c, name, queue.WithCodec(codec.Text)).OfferAll(ctx, scored...)
			return err
		},
		ways: []way{
			{"values", func(ctx context.Context, c *rueidisson.Client, name string) (int, error) {
				return counted(queue.NewPriority[string](c, name, queue.WithCodec(codec.Text)).Values(ctx))
			}},
			{"poll n", func(ctx context.Context, c *rueidisson.Client, name string) (int, error) {
				all, err := queue.NewPriority[string](c, name, queue.WithCodec(codec.Text)).PollN(ctx, manyElements)
				return len(all), err
			}},
		},
	},
	"stream": {
		fill: func(ctx context.Context, c *rueidisson.Client, name string, values []string) (err error) {
			s := stream.New[string, string](c, name, stream.WithCodec(codec.Text))
			for _, v := range values {
				_, more := s.Add(ctx, map[string]string{"v": v})
				err = errors.Join(err, more)
			}
			return err
		},
		ways: []way{
			{"range", func(ctx context.Context, c *rueidisson.Client, name string) (int, error) {
				return counted(stream.New[string, string](c, name, stream.WithCodec(codec.Text)).Range(ctx, "-", "+"))
			}},
			{"reverse", func(ctx context.Context, c *rueidisson.Client, name string) (int, error) {
				return counted(stream.New[string, string](c, name, stream.WithCodec(codec.Text)).Reverse(ctx, "+", "-"))
			}},
		},
	},
	"delayed queue": {
		fill: func(ctx context.Context, c *rueidisson.Client, name string, values []string) (err error) {
			q := queue.NewDelayed[string](c, name, queue.WithCodec(codec.Text))
			for _, v := range values {
				_, more := q.Offer(ctx, v, time.Hour)
				err = errors.Join(err, more)
			}
			return err
		},
		ways: []way{{"waiting", func(ctx context.Context, c *rueidisson.Client, name string) (int, error) {
			return counted(queue.NewDelayed[string](c, name, queue.WithCodec(codec.Text)).Waiting(ctx))
		}}},
	},
	"set multimap": {
		most: 50_000,
		fill: func(ctx context.Context, c *rueidisson.Client, name string, values []string) (err error) {
			m := multimap.NewSet[string, string](c, name, multimap.WithCodec(codec.Text))
			for i, some := range slices.Collect(slices.Chunk(values, 200)) {
				for _, v := range some {
					_, more := m.Put(ctx, strconv.Itoa(i), v)
					err = errors.Join(err, more)
				}
			}
			return err
		},
		ways: []way{{"all", func(ctx context.Context, c *rueidisson.Client, name string) (int, error) {
			return counted(multimap.NewSet[string, string](c, name, multimap.WithCodec(codec.Text)).All(ctx))
		}}},
	},
	"reliable queue": {
		fill: func(ctx context.Context, c *rueidisson.Client, name string, values []string) error {
			_, err := reliable.New[string](c, name, reliable.WithCodec(codec.Text)).AddAll(ctx, values)
			return err
		},
		ways: []way{
			{"messages", func(ctx context.Context, c *rueidisson.Client, name string) (int, error) {
				return counted(reliable.New[string](c, name, reliable.WithCodec(codec.Text)).Messages(ctx, reliable.Ready))
			}},
			{"take", func(ctx context.Context, c *rueidisson.Client, name string) (n int, err error) {
				q := reliable.New[string](c, name, reliable.WithCodec(codec.Text))
				for {
					m, err := q.Poll(ctx)
					if errors.Is(err, reliable.ErrEmpty) {
						return n, nil
					}
					if err == nil {
						err = m.Ack(ctx)
					}
					if err != nil {
						return n, err
					}
					n++
				}
			}},
		},
	},
}

func textsOf(all iter.Seq2[string, error]) (got []string, err error) {
	for v, err := range all {
		if err != nil {
			return got, err
		}
		got = append(got, v)
	}
	return got, nil
}

// mostServerTime is for how long a command keeps the server.
var mostServerTime = redistest.Scaled(5 * time.Millisecond)

// mostElements of a megabyte take the server longer on many a machine.
const mostElements = 3

// TestNoCommandKeepsTheServerForLong judges what the server itself computes, also for the
// answer: the clock of a busy machine says nothing. Elements of a megabyte of set multimaps are not
// judged: SSCAN answers with all of a bucket of the server's hash table, and a script copies what it reads.
func TestNoCommandKeepsTheServerForLong(t *testing.T) {
	t.Parallel()
	for _, size := range []int{100, 50_000, 1_000_000} {
		count := min(redistest.Count(t, 2500, 50_000), redistest.Count(t, 12_000_000, 200_000_000)/size)
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Version("8.0"))
			metered := redistest.Meter(t, server)
			c, err := rueidisson.Wrap(metered)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, c.Close(context.Background())) })
			plain := waiterClient(t, server.Addr())
			values := make([]string, count)
			for i := range values {
				n := strconv.Itoa(i)
				values[i] = n + strings.Repeat("x", size-len(n))
			}
			for kind, of := range bulkies {
				if of.most > 0 && size > of.most {
					continue
				}
				t.Log(kind)
				of.judge(t, metered, c, plain, values)
			}
		})
	}
}

// floor returns the CPU time of the server for a script that only returns an element of that size.
func floor(t *testing.T, metered *redistest.Metered, value string) time.Duration {
	t.Helper()
	name := redistest.Name(t)
	require.NoError(t, metered.Do(t.Context(), metered.B().Set().Key(name).Value(value).Ex(time.Minute).Build()).Error())
	metered.Most()
	read := metered.B().Eval().Script("return redis.call('get', KEYS[1])").Numkeys(1).Key(name).Build()
	require.NoError(t, metered.Do(t.Context(), read).Error())
	took, _ := metered.Most()
	return took
}

// judge fills the object and goes through it, in each way. What the machine does beside
// may make a command take longer, and so the shortest of several rounds counts, and a command may always take as long as
// a few scripts that return one element.
func (of bulky) judge(t *testing.T, metered *redistest.Metered, c, plain *rueidisson.Client, values []string) {
	t.Helper()
	const rounds = 8
	shortest, by, may := map[string]time.Duration{}, map[string]string{}, mostServerTime
	for round, over := 0, true; over && round < rounds; round++ {
		name := redistest.Name(t)
		require.NoError(t, of.fill(t.Context(), plain, name, values))
		over, may = false, max(may, mostElements*floor(t, metered, values[0]))
		for _, way := range of.ways {
			metered.Most()
			n, err := way.run(t.Context(), c, name)
			require.NoError(t, err, way.name)
			require.Equal(t, len(values), n, way.name)
			if most, what := metered.Most(); round == 0 || most < shortest[way.name] {
				shortest[way.name], by[way.name] = most, what
			}
			over = over || shortest[way.name] > may
		}
	}
	for _, way := range of.ways {
		t.Logf("%s: %d of %d bytes, at most %v by %s", way.name, len(values), len(values[0]), shortest[way.name], by[way.name])
		assert.LessOrEqual(t, shortest[way.name], may, "%s: %s", way.name, by[way.name])
	}
}

// TestHoldLivesBesideLargeWalks on a slow link: its renewals do not wait behind the
// answers, and rueidis does not close their connection.
func TestHoldLivesBesideLargeWalks(t *testing.T) { // and beside no other test of this process, which has little time for it
	const walkers, entries = 8, 40
	lease, lasts := redistest.Scaled(time.Second), time.Duration(redistest.Count(t, 20, 3600))*time.Second
	server := redistest.Shared(t, redistest.Version("8.0"))
	name := redistest.Name(t)
	fill := rmap.New[string, string](waiterClient(t, server.Addr()), name, rmap.WithCodec(codec.Text))
	for i := range entries {
		require.NoError(t, fill.Put(t.Context(), strconv.Itoa(i), strings.Repeat("x", 256<<10)))
	}
	redistest.Within(t, lease, func() (lost time.Duration) {
		option := rueidis.ClientOption{InitAddress: []string{server.Addr()}, DisableCache: true, ForceSingleClient: true}
		redistest.Slow(8 << 20)(&option)
		c, err := rueidisson.New(option, rueidisson.WithWatchdogTimeout(lease))
		require.NoError(t, err)
		defer func() { _ = c.Close(t.Context()) }()
		hold, err := c.Lock(name + "-lock").Lock(t.Context())
		require.NoError(t, err)
		held := hold.Context(t.Context())
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var walking sync.WaitGroup
		walks, slow, failed := atomic.Int64{}, atomic.Int64{}, make(chan error, walkers)
		for range walkers {
			walking.Go(func() { // ends with ctx
				for ctx.Err() == nil {
					n, err := counted(rmap.New[string, string](c, name, rmap.WithCodec(codec.Text)).All(ctx))
					switch {
					case err == nil && n >= entries:
						walks.Add(1)
					case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded): // the machine was too slow for a PING in a send's time
						slow.Add(1)
					case ctx.Err() == nil:
						failed <- fmt.Errorf("%d of %d entries: %w", n, entries, err)
						return
					}
				}
			})
		}
		began := time.Now()
		redistest.Eventually(t, func() bool { // a walk, however slow the machine is
			return held.Err() != nil || time.Since(began) > lasts && walks.Load() > 0 || len(failed) > 0
		}, lasts+redistest.Soon, 10*time.Millisecond)
		if held.Err() != nil {
			lost = 2 * lease
			t.Logf("the hold is lost: %v", hold.Err())
		}
		cancel()
		walking.Wait()
		t.Logf("%d walks of %d MB in %v, and %d that found the server silent", walks.Load(), entries/4, time.Since(began), slow.Load())
		close(failed)
		for err := range failed {
			require.NoError(t, err, "a walk")
		}
		require.True(t, lost > 0 || walks.Load() > 0, "there were no walks")
		_ = hold.Unlock(t.Context())
		return lost
	})
}
