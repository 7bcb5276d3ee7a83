package queue

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// soon bounds the time of what nothing holds up.
var soon = redistest.Soon

// within returns a context that ends soon.
var within = redistest.SoonContext

// untilWaiting returns when somebody stands in line for the queue.
func untilWaiting[T any](t testing.TB, q *Queue[T], k *poller.Kind) {
	t.Helper()
	require.Eventually(t, func() bool { return q.q.h.poller.Waiting(k, q.q.Key) }, soon, time.Millisecond)
}

func TestTakeWaitsForAnElement(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := texts(t, raw)
		offered(t, q, "there")
		got, err := q.Take(within(t))
		require.NoError(t, err)
		require.Equal(t, "there", got)
		for i, take := range []func(context.Context) (string, error){q.Take, q.TakeLast} {
			result := make(chan string)
			go func() {
				got, err := take(t.Context())
				assert.NoError(t, err)
				result <- got
			}()
			untilWaiting(t, q, []*poller.Kind{poller.Head, poller.Tail}[i])
			offered(t, q, "awaited")
			require.Equal(t, "awaited", <-result)
		}
	})
}

// TestManyTakersOfManyQueues share two connections, and each element comes once.
func TestManyTakersOfManyQueues(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		e := engineOn(t, raw)
		queues, each := 20, redistest.Count(t, 15, 500)
		var qs []*Queue[string]
		for range queues {
			qs = append(qs, New[string](e, named(t, raw), WithCodec(codec.Text)))
		}
		var got sync.Map
		var all sync.WaitGroup
		for i := range queues * each {
			all.Go(func() {
				take := qs[i%queues].Take
				if i%3 == 0 {
					take = qs[i%queues].TakeLast
				}
				v, err := take(t.Context())
				assert.NoError(t, err)
				_, twice := got.LoadOrStore(v, true)
				assert.False(t, twice, v)
			})
		}
		for i := range queues * each {
			offered(t, qs[i%queues], decimal(int64(i)))
		}
		all.Wait()
		for _, q := range qs {
			require.Empty(t, contents(t, raw, q.Name()))
		}
	})
}

// TestThoseWhoWaitAreServedInOrder.
func TestThoseWhoWaitAreServedInOrder(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := texts(t, raw)
		const takers = 20
		got := make([]string, takers)
		var all sync.WaitGroup
		for i := range takers {
			all.Go(func() {
				var err error
				got[i], err = q.Take(t.Context())
				assert.NoError(t, err)
			})
			redistest.Eventually(t, func() bool { return q.q.h.poller.InLine(poller.Head, q.q.Key) == i+1 }, soon, time.Millisecond, "taker %d waits", i)
		}
		var want []string
		for i := range takers {
			want = append(want, decimal(int64(i)))
		}
		offered(t, q, want...)
		all.Wait()
		require.Equal(t, want, got)
	})
}

func TestTakeAny(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		a := texts(t, raw)
		b := New[string](a.q.h.e, named(t, raw), WithCodec(codec.Text))
		offered(t, b, "1")
		v, from, err := TakeAny(within(t), a, b)
		require.NoError(t, err)
		require.Equal(t, "1", v)
		require.Same(t, b, from)
		done := make(chan struct{})
		go func() {
			defer close(done)
			v, from, err := TakeAny(t.Context(), a, b, a)
			assert.NoError(t, err)
			assert.Equal(t, "2", v)
			assert.Same(t, a, from)
		}()
		untilWaiting(t, a, poller.Head)
		offered(t, a, "2")
		<-done
		require.False(t, a.q.h.poller.Waiting(poller.Head, b.q.Key))
		_, _, err = TakeAny[string](within(t))
		require.ErrorIs(t, err, ErrInvalidArgument)
		_, _, err = TakeAny(within(t), a, nil)
		require.ErrorIs(t, err, ErrInvalidArgument)
	})
}

func TestConsume(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := texts(t, raw)
		numbers := New[int](q.q.h.e, q.Name(), WithCodec(codec.Text))
		offered(t, q, "1", "none", "2")
		ctx, cancel := context.WithCancel(within(t))
		defer cancel()
		var offers sync.WaitGroup
		defer offers.Wait()
		var got []int
		var errs []error
		for v, err := range numbers.Consume(ctx) {
			if err != nil {
				errs = append(errs, err)
				continue
			}
			if got = append(got, v); v == 2 {
				offers.Go(func() {
					_, err := q.Offer(t.Context(), "3")
					assert.NoError(t, err)
				})
			}
			if v == 3 {
				cancel()
			}
		}
		require.Equal(t, []int{1, 2, 3}, got)
		require.Len(t, errs, 2)
		require.ErrorIs(t, errs[0], ErrDecode)
		require.ErrorIs(t, errs[1], context.Canceled)
		offered(t, q, "4", "5")
		for v, err := range numbers.Consume(within(t)) {
			require.NoError(t, err)
			require.Equal(t, 4, v)
			break
		}
		require.Equal(t, []string{"5"}, contents(t, raw, q.Name()))
	})
}

// TestOneNameOfAnotherTypeFailsNobodyElse, though one command names all of them.
func TestOneNameOfAnotherTypeFailsNobodyElse(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		good := texts(t, raw)
		bad := New[string](good.q.h.e, named(t, raw), WithCodec(codec.Text))
		result := make(chan error)
		go func() {
			_, err := bad.Take(t.Context())
			result <- err
		}()
		done := make(chan struct{})
		go func() {
			defer close(done)
			v, err := good.Take(t.Context())
			assert.NoError(t, err)
			assert.Equal(t, "good", v)
		}()
		untilWaiting(t, good, poller.Head)
		untilWaiting(t, bad, poller.Head)
		require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(bad.Name()).Value("x").Build()).Error())
		other := New[string](good.q.h.e, named(t, raw), WithCodec(codec.Text))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond) // which has the command sent anew
		defer cancel()
		_, err := other.Take(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, <-result, "WRONGTYPE")
		offered(t, good, "good")
		<-done
	})
}

// TestATakeThatGivesUpTookNothing.
func TestATakeThatGivesUpTookNothing(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := texts(t, raw)
		pushes := redistest.Count(t, 100, 3000)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var mu sync.Mutex
		var got []string
		cancels := 0
		for i := range 32 {
			all.Go(func() {
				take := q.Take
				if i%2 == 0 {
					take = q.Poll
				}
				for k := 0; ctx.Err() == nil; k++ {
					short, done := context.WithTimeout(ctx, time.Duration(200+(i*61+k*97)%1800)*time.Microsecond)
					v, err := take(short)
					done()
					mu.Lock()
					if err == nil {
						got = append(got, v)
					} else {
						cancels++
					}
					mu.Unlock()
				}
			})
		}
		var want []string
		for i := range pushes {
			want = append(want, decimal(int64(i)))
			offered(t, q, want[i])
		}
		require.Eventually(t, func() bool {
			n, err := q.Len(t.Context())
			mu.Lock()
			defer mu.Unlock()
			return err == nil && int(n)+len(got) == pushes
		}, soon, 5*time.Millisecond)
		cancel()
		all.Wait()
		redistest.Eventually(t, func() bool { // what came for a caller that has left is on its way back
			n, err := q.Len(t.Context())
			return err == nil && int(n)+len(got) >= pushes
		}, soon, time.Millisecond)
		got = append(got, contents(t, raw, q.Name())...)
		slices.Sort(want)
		slices.Sort(got)
		require.Equal(t, want, got)
		t.Logf("%d pushes, %d cancels, none lost", pushes, cancels)
	})
}
