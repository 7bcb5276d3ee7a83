package queue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/poller"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// scoredTexts is a priority queue of strings as they are.
func scoredTexts(t testing.TB, raw rueidis.Client) *Priority[string] {
	t.Helper()
	return NewPriority[string](engineOn(t, raw), named(t, raw), WithCodec(codec.Text))
}

// members is what a priority queue has in Redis, as "member=score".
func members(t testing.TB, raw rueidis.Client, key string) (all []string) {
	t.Helper()
	got, err := raw.Do(t.Context(), raw.B().Zrange().Key(key).Min("0").Max("-1").Withscores().Build()).AsZScores()
	require.NoError(t, err)
	for _, s := range got {
		all = append(all, s.Member+"="+score(s.Score))
	}
	return all
}

func ranked(t testing.TB, q *Priority[string], v string, score float64) {
	t.Helper()
	_, err := q.Offer(t.Context(), v, score)
	require.NoError(t, err)
}

func TestAPriorityQueueComesByScores(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := scoredTexts(t, raw)
		added, err := q.Offer(t.Context(), "c", 3)
		require.NoError(t, err)
		require.True(t, added)
		n, err := q.OfferAll(t.Context(), Scored[string]{"a", -1.5}, Scored[string]{"c", 4}, Scored[string]{"b", 1e300}, Scored[string]{"d", 0})
		require.NoError(t, err)
		require.EqualValues(t, 3, n)
		added, err = q.Offer(t.Context(), "c", 2)
		require.NoError(t, err)
		require.False(t, added, "equal elements are one")
		added, err = q.OfferIfAbsent(t.Context(), "c", 9)
		require.NoError(t, err)
		require.False(t, added)
		added, err = q.OfferIfAbsent(t.Context(), "e", 2)
		require.NoError(t, err)
		require.True(t, added)
		require.Equal(t, []string{"a=-1.5", "d=0", "c=2", "e=2", "b=1e+300"}, members(t, raw, q.Name()))

		for _, c := range []struct {
			want Scored[string]
			op   func(context.Context) (Scored[string], error)
		}{
			{Scored[string]{"a", -1.5}, q.Peek},
			{Scored[string]{"b", 1e300}, q.PeekLast},
			{Scored[string]{"a", -1.5}, q.Poll},
			{Scored[string]{"b", 1e300}, q.PollLast},
			{Scored[string]{"d", 0}, q.Take},
			{Scored[string]{"e", 2}, q.TakeLast},
		} {
			got, err := c.op(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		}
		f, there, err := q.Score(t.Context(), "c")
		require.NoError(t, err)
		require.True(t, there)
		require.EqualValues(t, 2, f)
		_, there, err = q.Score(t.Context(), "z")
		require.NoError(t, err)
		require.False(t, there)
		gone, err := q.Remove(t.Context(), "c", "z")
		require.NoError(t, err)
		require.EqualValues(t, 1, gone)
		for _, op := range []func(context.Context) (Scored[string], error){q.Poll, q.PollLast, q.Peek, q.PeekLast} {
			_, err := op(t.Context())
			require.ErrorIs(t, err, ErrEmpty)
			require.ErrorContains(t, err, q.Name())
		}
		_, err = q.PollN(t.Context(), 3)
		require.ErrorIs(t, err, ErrEmpty)
		for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			_, err := q.Offer(t.Context(), "a", f)
			require.ErrorIs(t, err, ErrInvalidArgument)
			_, err = q.OfferAll(t.Context(), Scored[string]{"b", 1}, Scored[string]{"a", f})
			require.ErrorIs(t, err, ErrInvalidArgument)
		}
		require.Empty(t, members(t, raw, q.Name()))
	})
}

// TestScoresAreExact, and those that only others write are read.
func TestScoresAreExact(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := scoredTexts(t, raw)
		for _, f := range []float64{0.1, 1.0 / 3, 1 << 53, -1<<53 + 1, math.MaxFloat64, 1e-300, 1730000000123.4567} {
			ranked(t, q, "a", f)
			got, there, err := q.Score(t.Context(), "a")
			require.NoError(t, err)
			require.True(t, there)
			require.Equal(t, f, got)
			peeked, err := q.Peek(t.Context())
			require.NoError(t, err)
			require.Equal(t, f, peeked.Score)
			taken, err := q.Take(t.Context())
			require.NoError(t, err)
			require.Equal(t, f, taken.Score)
		}
		for _, f := range []string{"inf", "-inf"} {
			require.NoError(t, raw.Do(t.Context(), raw.B().Arbitrary("ZADD").Keys(q.Name()).Args(f, "a").Build()).Error())
			want, err := strconv.ParseFloat(f, 64)
			require.NoError(t, err)
			got, err := q.Poll(t.Context())
			require.NoError(t, err)
			require.Equal(t, want, got.Score)
		}
	})
}

func TestMoreThanOneCommandTakesOfAPriorityQueue(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := scoredTexts(t, raw)
		var many []Scored[string]
		for i := range 12_345 {
			many = append(many, Scored[string]{decimal(int64(i)), float64(i)})
		}
		n, err := q.OfferAll(t.Context(), many...)
		require.NoError(t, err)
		require.EqualValues(t, len(many), n)
		n, err = q.Len(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, len(many), n)
		var walked []Scored[string]
		for v, err := range q.Values(t.Context()) {
			require.NoError(t, err)
			walked = append(walked, v)
		}
		require.Equal(t, many, walked)
		some, err := q.PollN(t.Context(), 5)
		require.NoError(t, err)
		require.Equal(t, many[:5], some)
		all, err := q.Drain(t.Context())
		require.NoError(t, err)
		require.Equal(t, many[5:], all)
	})
}

func TestScoredElementsThatDoNotDecode(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := scoredTexts(t, raw)
		numbers := NewPriority[int](q.q.h.e, q.Name(), WithCodec(codec.Text))
		bad := func(err error) {
			t.Helper()
			var undecoded *codec.DecodeError
			require.ErrorAs(t, err, &undecoded)
			require.Equal(t, "no number", string(undecoded.Bytes))
			require.Equal(t, q.Name(), undecoded.Name)
		}
		fill := func() {
			ranked(t, q, "1", 1)
			ranked(t, q, "no number", 2)
			ranked(t, q, "3", 3)
		}
		fill()
		some, err := numbers.PollN(t.Context(), 3)
		bad(err)
		require.Equal(t, []Scored[int]{{1, 1}, {3, 3}}, some)
		fill()
		var walked []Scored[int]
		for v, err := range numbers.Values(t.Context()) {
			if err != nil {
				bad(err)
				continue
			}
			walked = append(walked, v)
		}
		require.Equal(t, []Scored[int]{{1, 1}, {3, 3}}, walked)
		all, err := numbers.Drain(t.Context())
		bad(err)
		require.Equal(t, []Scored[int]{{1, 1}, {3, 3}}, all)
		fill()
		var came []int
		ctx, cancel := context.WithCancel(within(t))
		defer cancel()
		for v, err := range numbers.Consume(ctx) {
			switch {
			case errors.Is(err, ErrDecode):
				bad(err)
				require.EqualValues(t, 2, v.Score)
			case err == nil:
				came = append(came, v.Value)
			}
			if v.Value == 3 {
				break
			}
		}
		require.Equal(t, []int{1, 3}, came)
	})
}

// TestAnotherTypeUnderAPriorityQueueIsNamed, to those who wait, too.
func TestAnotherTypeUnderAPriorityQueueIsNamed(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		good := scoredTexts(t, raw)
		bad := NewPriority[string](good.q.h.e, named(t, raw), WithCodec(codec.Text))
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
			assert.Equal(t, "good", v.Value)
		}()
		inLine(t, good, lowest)
		inLine(t, bad, lowest)
		require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(bad.Name()).Value("x").Build()).Error())
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond) // which has the command sent anew
		defer cancel()
		_, err := NewPriority[string](good.q.h.e, named(t, raw), WithCodec(codec.Text)).Take(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, <-result, "is no sorted set")
		ranked(t, good, "good", 1)
		<-done
		for _, op := range []func() error{
			func() error { _, err := bad.Offer(t.Context(), "a", 1); return err },
			func() error { _, err := bad.Poll(t.Context()); return err },
			func() error { _, err := bad.Peek(t.Context()); return err },
			func() error { _, err := bad.Len(t.Context()); return err },
			func() error { _, err := bad.Take(t.Context()); return err },
		} {
			err := op()
			require.ErrorContains(t, err, "is no sorted set")
			require.ErrorContains(t, err, bad.Name())
			require.False(t, errors.Is(err, ErrOutcomeUnknown))
		}
	})
}

// inLine returns when somebody stands in line for the queue.
func inLine[T any](t testing.TB, q *Priority[T], from *end) {
	t.Helper()
	redistest.Eventually(t, func() bool { return q.q.h.poller.Waiting(from.kind, q.q.Key) }, soon, time.Millisecond)
}

func TestTakersOfAPriorityQueueWaitInOrder(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := scoredTexts(t, raw)
		const takers = 10
		for _, from := range []*end{lowest, highest} {
			take := q.Take
			if from == highest {
				take = q.TakeLast
			}
			got := make([]string, takers)
			var all sync.WaitGroup
			for i := range takers {
				all.Go(func() {
					v, err := take(t.Context())
					assert.NoError(t, err)
					got[i] = v.Value
				})
				redistest.Eventually(t, func() bool { return q.q.h.poller.InLine(from.kind, q.q.Key) == i+1 }, soon, time.Millisecond)
			}
			var offers []Scored[string]
			var want []string
			for i := range takers {
				want = append(want, decimal(int64(i)))
				f := float64(i)
				if from == highest {
					f = -f
				}
				offers = append(offers, Scored[string]{want[i], f})
			}
			_, err := q.OfferAll(t.Context(), offers...)
			require.NoError(t, err)
			all.Wait()
			require.Equal(t, want, got)
		}
	})
}

// TestWhatNobodyTookIsPutBackWithItsScore, once, and does not overwrite what was
// offered meanwhile.
func TestWhatNobodyTookIsPutBackWithItsScore(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		client, proxy := through(t, server)
		e := engineOn(t, client, shortSends)
		q := NewPriority[string](e, redistest.Name(t), WithCodec(codec.Text))
		ranked(t, q, "b", 7)
		lost := proxy.DropReply(redistest.MatchScript(backScript.Body()), 1)
		e.During(func() {
			q.q.h.putBack(lowest, q.q.Key, []poller.Item{{Text: "a", Score: 0.1}, {Text: "b", Score: 1}, {Text: "c", Score: -1e300}})
		})
		lost.Await(t)
		raw := server.Client(t)
		require.Eventually(t, func() bool { n, err := q.Len(t.Context()); return err == nil && n == 3 }, soon, time.Millisecond)
		require.NoError(t, locking.Close(t.Context(), e))
		require.Equal(t, []string{"c=-1e+300", "a=0.1", "b=7"}, members(t, raw, q.Name()))
	})
}

// TestATakeOfAPriorityQueueThatGivesUpTookNothing.
func TestATakeOfAPriorityQueueThatGivesUpTookNothing(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := scoredTexts(t, raw)
		pushes := redistest.Count(t, 100, 3000)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var mu sync.Mutex
		got := map[string]int{}
		for i := range 32 {
			all.Go(func() {
				take := []func(context.Context) (Scored[string], error){q.Take, q.TakeLast, q.Poll}[i%3]
				for k := 0; ctx.Err() == nil; k++ {
					short, done := context.WithTimeout(ctx, time.Duration(200+(i*61+k*97)%1800)*time.Microsecond)
					v, err := take(short)
					done()
					if err == nil {
						assert.Equal(t, v.Value, score(v.Score))
						mu.Lock()
						got[v.Value]++
						mu.Unlock()
					}
				}
			})
		}
		for i := range pushes {
			ranked(t, q, decimal(int64(i)), float64(i))
		}
		redistest.Eventually(t, func() bool {
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
		for _, m := range members(t, raw, q.Name()) {
			i, _ := strconv.Atoi(m[:len(m)/2])
			require.Equal(t, fmt.Sprintf("%d=%d", i, i), m)
			got[decimal(int64(i))]++
		}
		require.Len(t, got, pushes)
		for v, n := range got {
			require.Equal(t, 1, n, v)
		}
	})
}

// TestConnectionsThatBreakUnderAPriorityQueue lose little, and nothing comes twice.
func TestConnectionsThatBreakUnderAPriorityQueue(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		client, proxy := through(t, server)
		e := engineOn(t, client, shortSends)
		q := NewPriority[string](e, redistest.Name(t), WithCodec(codec.Text))
		source := NewPriority[string](engineOn(t, server.Client(t)), q.Name(), WithCodec(codec.Text))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		b := newBooks()
		var all sync.WaitGroup
		const takers = 8
		for i := range takers {
			take := []func(context.Context) (Scored[string], error){q.Take, q.TakeLast}[i%2]
			all.Go(func() {
				for ctx.Err() == nil {
					if v, err := take(ctx); err == nil || ctx.Err() == nil {
						b.take(v.Value, err)
					}
				}
			})
		}
		elements, cuts := redistest.Count(t, 1000, 20_000), redistest.Count(t, 10, 40)
		for i := range elements {
			if i%(elements/cuts) == elements/cuts/2 {
				proxy.CutAll()
			}
			ranked(t, source, decimal(int64(i)), float64(i))
			b.mu.Lock()
			b.offered[decimal(int64(i))] = true
			b.mu.Unlock()
		}
		redistest.Eventually(t, func() bool {
			n, err := source.Len(t.Context())
			return err == nil && n == 0
		}, soon, 10*time.Millisecond)
		cancel()
		all.Wait()
		require.NoError(t, locking.Close(t.Context(), e)) // what was on its way to nobody is back then
		var left []string
		for v, err := range source.Values(t.Context()) {
			require.NoError(t, err)
			left = append(left, v.Value)
		}
		lost := b.check(t, left...)
		require.LessOrEqual(t, lost, takers*cuts, "more than one reply to each who waits")
		t.Logf("%d of %d elements lost by %d cuts", lost, elements, cuts)
		for _, err := range b.errs {
			if !strings.Contains(err.Error(), "connecting to wait") { // then nothing was asked for, and nothing is lost
				require.ErrorIs(t, err, ErrOutcomeUnknown)
			}
		}
	})
}

// TestCloseUnderAPriorityQueueLosesNothing.
func TestCloseUnderAPriorityQueueLosesNothing(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		direct := engineOn(t, server.Client(t, redistest.OnePipeline))
		q := NewPriority[string](direct, redistest.Name(t), WithCodec(codec.Text))
		connections := server.Connections(t)
		b := newBooks()
		for round := range redistest.Count(t, 5, 200) {
			client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr()}, ForceSingleClient: true})
			require.NoError(t, err)
			e := engineOn(t, client)
			mine := NewPriority[string](e, q.Name(), WithCodec(codec.Text))
			var all sync.WaitGroup
			for i := range 12 {
				all.Go(func() {
					for e.Open() == nil {
						v, err := []func(context.Context) (Scored[string], error){mine.Take, mine.TakeLast, mine.Poll}[i%3](t.Context())
						if err == nil {
							b.take(v.Value, nil)
						}
					}
				})
			}
			all.Go(func() {
				for i := range 50 {
					v := decimal(int64(round*1000 + i))
					b.mu.Lock()
					b.offered[v] = true
					b.mu.Unlock()
					ranked(t, q, v, float64(i))
				}
			})
			time.Sleep(time.Duration(round%7) * time.Millisecond)
			require.NoError(t, locking.Close(t.Context(), e))
			all.Wait()
			client.Close()
		}
		var left []string
		for v, err := range q.Values(t.Context()) {
			require.NoError(t, err)
			left = append(left, v.Value)
		}
		redistest.Eventually(t, func() bool { return server.Connections(t) <= connections }, soon, 10*time.Millisecond)
		require.Zero(t, b.check(t, left...))
	})
}

// TestPriorityQueuesShareABlockedConnection, also with each other.
func TestPriorityQueuesShareABlockedConnection(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	e := engineOn(t, server.Client(t, redistest.OnePipeline))
	before := server.Connections(t)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 50 {
		q := NewPriority[string](e, redistest.Name(t), WithCodec(codec.Text))
		for range 5 {
			all.Go(func() {
				_, err := q.Take(ctx)
				assert.ErrorIs(t, err, context.Canceled)
			})
		}
		inLine(t, q, lowest)
	}
	require.LessOrEqual(t, server.Connections(t), before+1)
	cancel()
	all.Wait()
	redistest.Eventually(t, func() bool { return server.Connections(t) <= before }, soon, 10*time.Millisecond)
}
