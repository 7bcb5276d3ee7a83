package queue

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// boundedOn is a bounded queue of texts with a capacity, which the test's end
// deletes.
func boundedOn(t testing.TB, e *locking.Engine, capacity int) *Bounded[string] {
	t.Helper()
	q := NewBounded[string](e, redistest.Name(t), WithCodec(codec.Text))
	if capacity > 0 {
		set, err := q.TrySetCapacity(t.Context(), capacity)
		require.NoError(t, err)
		require.True(t, set)
	}
	t.Cleanup(func() {
		for _, key := range q.q.Keys {
			e.Redis.Do(context.Background(), e.Redis.B().Del().Key(key).Build())
		}
	})
	return q
}

func requireFree(t testing.TB, q *Bounded[string], want int64) {
	t.Helper()
	free, err := q.Free(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, free)
}

func TestBounded(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := boundedOn(t, engineOn(t, raw), 4)
		set, err := q.TrySetCapacity(t.Context(), 9)
		require.NoError(t, err)
		require.False(t, set)
		n, err := q.Offer(t.Context(), "a", "b", "a")
		require.NoError(t, err)
		require.EqualValues(t, 3, n)
		requireFree(t, q, 1)
		n, err = q.TryOffer(t.Context(), "c")
		require.NoError(t, err)
		require.EqualValues(t, 4, n)
		_, err = q.TryOffer(t.Context(), "d")
		require.ErrorIs(t, err, ErrFull)
		require.ErrorContains(t, err, q.Name())
		_, err = q.TryOffer(t.Context(), "d", WithWait(500*time.Millisecond)) // in which a busy machine answers
		require.ErrorIs(t, err, ErrFull)
		gone, err := q.Remove(t.Context(), "a", 0)
		require.NoError(t, err)
		require.EqualValues(t, 2, gone, "where Java counts none")
		requireFree(t, q, 2)
		v, err := q.Peek(t.Context())
		require.NoError(t, err)
		require.Equal(t, "b", v)
		v, err = q.Poll(t.Context())
		require.NoError(t, err)
		require.Equal(t, "b", v)
		v, err = q.Take(t.Context())
		require.NoError(t, err)
		require.Equal(t, "c", v)
		requireFree(t, q, 4)
		_, err = q.Poll(t.Context())
		require.ErrorIs(t, err, ErrEmpty)
		n, err = q.Offer(t.Context(), "e", "f", "g")
		require.NoError(t, err)
		require.EqualValues(t, 3, n)
		some, err := q.PollN(t.Context(), 2)
		require.NoError(t, err)
		require.Equal(t, []string{"e", "f"}, some)
		some, err = q.Drain(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"g"}, some)
		requireFree(t, q, 4)

		offeredTo(t, q, "h", "i", "j")
		require.NoError(t, q.Reconcile(t.Context(), 2))
		requireFree(t, q, -1)
		_, err = q.TryOffer(t.Context(), "k")
		require.ErrorIs(t, err, ErrFull)
		yes, err := q.Expire(t.Context(), time.Hour)
		require.NoError(t, err)
		require.True(t, yes)
		require.NoError(t, q.Reconcile(t.Context(), 5))
		left, err := raw.Do(t.Context(), raw.B().Pttl().Key(keys.BoundedSlots(q.Name())).Build()).AsInt64()
		require.NoError(t, err)
		require.Positive(t, left)
		to := redistest.Name(t)
		yes, err = q.Rename(t.Context(), to)
		require.NoError(t, err)
		require.True(t, yes)
		moved := NewBounded[string](q.q.h.e, to, WithCodec(codec.Text))
		requireFree(t, moved, 2)
		yes, err = moved.Delete(t.Context())
		require.NoError(t, err)
		require.True(t, yes)
		_, err = moved.Offer(t.Context(), "a")
		require.ErrorIs(t, err, ErrNoCapacity)
		_, err = moved.TryOffer(t.Context(), "a", WithWait(time.Hour))
		require.ErrorIs(t, err, ErrNoCapacity)
		_, err = moved.Free(t.Context())
		require.ErrorIs(t, err, ErrNoCapacity)
	})
}

func offeredTo(t testing.TB, q *Bounded[string], vs ...string) {
	t.Helper()
	_, err := q.Offer(t.Context(), vs...)
	require.NoError(t, err)
}

// TestAnOfferWaitsForRoom, whoever makes it.
func TestAnOfferWaitsForRoom(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := boundedOn(t, engineOn(t, raw), 2)
		for name, free := range map[string]func(ctx context.Context) error{
			"poll":      func(ctx context.Context) error { _, err := q.Poll(ctx); return err },
			"take":      func(ctx context.Context) error { _, err := q.Take(ctx); return err },
			"remove":    func(ctx context.Context) error { _, err := q.Remove(ctx, "a", 1); return err },
			"drain":     func(ctx context.Context) error { _, err := q.Drain(ctx); return err },
			"reconcile": func(ctx context.Context) error { return q.Reconcile(ctx, 3) },
		} {
			_, err := q.Drain(t.Context())
			require.NoError(t, err)
			require.NoError(t, q.Reconcile(t.Context(), 2))
			offeredTo(t, q, "a", "b")
			result := make(chan error)
			go func() {
				_, err := q.Offer(t.Context(), "c")
				result <- err
			}()
			redistest.Eventually(t, func() bool { return q.q.h.e.Subscribed(q.q.channel) }, soon, time.Millisecond)
			require.NoError(t, free(t.Context()), name)
			require.NoError(t, <-result, name)
		}
	})
}

// TestATakeThatWaitedFreesItsSlot.
func TestATakeThatWaitedFreesItsSlot(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := boundedOn(t, engineOn(t, raw), 1)
		for i := range 5 {
			result := make(chan string)
			go func() {
				v, err := q.Take(t.Context())
				assert.NoError(t, err)
				result <- v
			}()
			redistest.Eventually(t, func() bool { return q.q.h.poller.Waiting(announced, q.q.Key) }, soon, time.Millisecond)
			offeredTo(t, q, decimal(int64(i)))
			require.Equal(t, decimal(int64(i)), <-result)
			requireFree(t, q, 1)
		}
	})
}

// TestTheCapacityIsNeverExceeded by many who offer and take, on two clients.
func TestTheCapacityIsNeverExceeded(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		const capacity = 5
		q := boundedOn(t, engineOn(t, raw), capacity)
		other := NewBounded[string](engineOn(t, raw), q.Name(), WithCodec(codec.Text))
		elements := redistest.Count(t, 200, 5000)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var takers, offers sync.WaitGroup
		b := newBooks()
		for i := range 8 {
			takers.Go(func() {
				for v, err := range []*Bounded[string]{q, other}[i%2].Consume(ctx) {
					if err == nil {
						b.take(v, nil)
					}
				}
			})
			offers.Go(func() {
				for n := i; n < elements; n += 8 {
					v := decimal(int64(n))
					b.mu.Lock()
					b.offered[v] = true
					b.mu.Unlock()
					size, err := []*Bounded[string]{q, other}[i/2%2].Offer(t.Context(), v)
					assert.NoError(t, err)
					assert.LessOrEqual(t, size, int64(capacity))
				}
			})
		}
		offers.Wait()
		require.Eventually(t, func() bool { return b.taken() == elements }, soon, time.Millisecond)
		cancel()
		takers.Wait()
		require.Zero(t, b.check(t))
		requireFree(t, q, capacity)
	})
}

// TestBoundedQueueTakeLosesNoSlotWhenRepliesAreLost of the commands by which it waits
// and takes: an element may be lost, and its slot is free.
func TestBoundedQueueTakeLosesNoSlotWhenRepliesAreLost(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		const capacity = 4
		raw := server.Client(t)
		client, proxy := through(t, server)
		q := boundedOn(t, engineOn(t, raw), capacity)
		mine := NewBounded[string](engineOn(t, client, shortSends), q.Name(), WithCodec(codec.Text))
		ctx, cancel := context.WithCancel(t.Context())
		var takers sync.WaitGroup
		defer takers.Wait()
		defer cancel()
		for range 3 {
			takers.Go(func() {
				for range mine.Consume(ctx) {
				}
			})
		}
		for _, waits := range []redistest.Match{redistest.Command("BLPOP", "BLMOVE"), redistest.MatchScript(boundedPoll.Body())} {
			for i := range capacity {
				redistest.Eventually(t, func() bool { return blocksOn(t, raw) }, soon, time.Millisecond)
				lost := proxy.DropReply(redistest.All(waits, redistest.Arg(q.Name())), 1)
				offering, late := context.WithTimeout(t.Context(), soon)
				_, err := q.Offer(offering, decimal(int64(i)))
				late()
				require.NoError(t, err, "there is no room any more")
				lost.Await(t)
			}
		}
		redistest.Eventually(t, func() bool { n, err := q.Len(t.Context()); return err == nil && n == 0 }, soon, time.Millisecond)
		requireFree(t, q, capacity)
	})
}

// TestBoundedQueueTakeTellsOfALossThoseWhoLeave while the answer is out that may have had their element, and nobody else.
func TestBoundedQueueTakeTellsOfALossThoseWhoLeave(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	client, proxy := through(t, server)
	q := boundedOn(t, engineOn(t, raw), 4)
	mine := NewBounded[string](engineOn(t, client, shortSends), q.Name(), WithCodec(codec.Text))
	takes := func() (leave context.CancelFunc, ended chan error) {
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		ended = make(chan error, 1)
		go func() {
			_, err := mine.Take(ctx)
			ended <- err
		}()
		return cancel, ended
	}
	inLine := func(n int) func() bool {
		return func() bool {
			l := mine.q.h.takers.Get(mine.q.Key)
			defer mine.q.h.takers.Put(mine.q.Key, l)
			l.mu.Lock()
			defer l.mu.Unlock()
			return len(l.line) == n && l.asked == 0
		}
	}
	stays, stayed := takes()
	pops := redistest.All(redistest.MatchScript(boundedPoll.Body()), redistest.Arg(q.Name()))
	proxy.AwaitCount(t, pops, 2) // the second is behind its place in line
	redistest.Eventually(t, inLine(1), soon, time.Millisecond)
	leaves, left := takes()
	redistest.Eventually(t, inLine(2), soon, time.Millisecond)
	lost := proxy.DropReply(pops, 1, redistest.Silent())
	offeredTo(t, q, "a", "b")
	lost.Await(t)
	leaves()
	err := redistest.Done(t, left)
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	require.ErrorIs(t, err, context.Canceled)
	redistest.Eventually(t, func() bool { return inLine(1)() && mine.q.h.poller.Waiting(announced, mine.q.Key) }, soon, time.Millisecond)
	stays()
	err = redistest.Done(t, stayed)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrOutcomeUnknown)
}

// TestBoundedQueueTakeOnAFullServer waits, though the server refuses the command by
// which it does.
func TestBoundedQueueTakeOnAFullServer(t *testing.T) {
	t.Parallel()
	raw := redistest.Start(t).Client(t)
	q, log := boundedOn(t, engineOn(t, raw), 2), new(enginetest.Log)
	short := func(c *core.Config) { c.WatchdogTimeout = time.Second }
	mine := NewBounded[string](engineOn(t, raw, log.To, short), q.Name(), WithCodec(codec.Text))
	redistest.Do(t, raw, "CONFIG", "SET", "maxmemory", "1")
	result := make(chan error, 1)
	go func() {
		v, err := mine.Take(t.Context())
		assert.Equal(t, "a", v)
		result <- err
	}()
	redistest.Eventually(t, func() bool { return takersOf(mine) == 1 }, soon, time.Millisecond)
	select {
	case err := <-result:
		t.Fatalf("Take ended: %v", err)
	case <-time.After(2 * time.Second): // longer than an outage is borne
	}
	redistest.Do(t, raw, "CONFIG", "SET", "maxmemory", "0")
	losses := func() int { return strings.Count(log.String(), "an element may be lost") }
	for tries := 0; len(result) == 0; tries++ {
		require.Less(t, tries, 5, "the answers to so many takes were lost")
		before := losses()
		offeredTo(t, q, "a")
		redistest.Eventually(t, func() bool { return len(result) > 0 || losses() > before }, soon, time.Millisecond)
	}
	require.NoError(t, <-result)
	_, err := q.Drain(t.Context()) // an element is left if a lost answer brought none
	require.NoError(t, err)
	requireFree(t, q, 2)
}

// TestBoundedQueueTakersAreServedInOrder, and the callers that leave are passed over.
func TestBoundedQueueTakersAreServedInOrder(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		const callers = 30
		q := boundedOn(t, engineOn(t, raw), callers)
		results := make([]chan taken, callers)
		leave := make([]context.CancelFunc, callers)
		for i := range callers {
			results[i] = make(chan taken, 1)
			ctx, cancel := context.WithCancel(t.Context())
			leave[i] = cancel
			defer cancel()
			go func() {
				v, err := q.Take(ctx)
				results[i] <- taken{v, err}
			}()
			redistest.Eventually(t, func() bool { return takersOf(q) == i+1 }, soon, time.Millisecond)
		}
		for i := 0; i < callers; i += 3 { // the first, too
			leave[i]()
			require.ErrorIs(t, (<-results[i]).err, context.Canceled)
		}
		n := 0
		for i := range callers {
			if i%3 > 0 {
				offeredTo(t, q, decimal(int64(i)))
				require.Equal(t, taken{text: decimal(int64(i))}, <-results[i])
				n++
			}
		}
		requireFree(t, q, callers)
		require.Equal(t, callers*2/3, n)
	})
}

// TestBoundedQueueOutageIsToldToAllTakersTogether.
func TestBoundedQueueOutageIsToldToAllTakersTogether(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw := server.Client(t)
	client, proxy := through(t, server)
	q := boundedOn(t, engineOn(t, client, func(c *core.Config) { c.WatchdogTimeout = 3 * time.Second }), 3)
	const callers = 20
	results := make(chan error, callers)
	for range callers {
		go func() {
			_, err := q.Take(t.Context())
			results <- err
		}()
	}
	redistest.Eventually(t, func() bool { return takersOf(q) == callers }, soon, time.Millisecond)
	redistest.Eventually(t, func() bool { return blocksOn(t, raw) }, soon, time.Millisecond)
	proxy.Refuse()
	proxy.CutAll()
	require.Error(t, <-results)
	together := time.After(soon) // less than if each caller bore it after the one before
	for range callers - 1 {
		select {
		case err := <-results:
			require.Error(t, err)
		case <-together:
			t.Fatal("a caller is not told with the others")
		}
	}
	proxy.Accept()
}

// blocksOn reports whether a connection blocks there now, to take or to be told. Its last command
// stands in the list also when it has been answered.
func blocksOn(t testing.TB, raw rueidis.Client) bool {
	t.Helper()
	list := redistest.Do(t, raw, "CLIENT", "LIST")
	text, err := list.ToString()
	require.NoError(t, err)
	return blocks.MatchString(text)
}

var blocks = regexp.MustCompile(`(?m) flags=[a-zA-Z]*b[a-zA-Z]* .* cmd=bl`)

// takersOf is how many callers of the process wait to take.
func takersOf(q *Bounded[string]) int {
	l := q.q.h.takers.Get(q.q.Key)
	defer q.q.h.takers.Put(q.q.Key, l)
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.line)
}

// TestALostReplyAboutABoundedQueue drops the reply to each operation once.
func TestALostReplyAboutABoundedQueue(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		for name, c := range map[string]struct {
			script  string
			do      func(context.Context, *Bounded[string]) error
			left    int // elements
			unknown bool
		}{
			"offer":     {boundedOffer.Body(), func(ctx context.Context, q *Bounded[string]) error { _, err := q.Offer(ctx, "c"); return err }, 3, true},
			"try offer": {boundedOffer.Body(), func(ctx context.Context, q *Bounded[string]) error { _, err := q.TryOffer(ctx, "c"); return err }, 3, true},
			"poll":      {boundedPoll.Body(), func(ctx context.Context, q *Bounded[string]) error { _, err := q.Poll(ctx); return err }, 1, true},
			"remove":    {boundedRemove.Body(), func(ctx context.Context, q *Bounded[string]) error { _, err := q.Remove(ctx, "a", 1); return err }, 1, true},
			"drain":     {boundedPoll.Body(), func(ctx context.Context, q *Bounded[string]) error { _, err := q.Drain(ctx); return err }, 1, true},
			"set": {boundedCapacity.Body(), func(ctx context.Context, q *Bounded[string]) error {
				_, err := q.TrySetCapacity(ctx, 9)
				return err
			}, 2, false},
			"reconcile": {boundedCapacity.Body(), func(ctx context.Context, q *Bounded[string]) error { return q.Reconcile(ctx, 5) }, 2, false},
		} {
			client, proxy := through(t, server)
			q := boundedOn(t, engineOn(t, client), 5)
			offeredTo(t, q, "a", "b")
			lost := proxy.DropReply(redistest.All(redistest.MatchScript(c.script), redistest.Arg(q.Name())), 1)
			err := c.do(t.Context(), q)
			lost.Await(t)
			require.Equal(t, c.unknown, errors.Is(err, ErrOutcomeUnknown), "%s: %v", name, err)
			n, err := q.Len(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, c.left, n, name)
			requireFree(t, q, 5-n)
		}
	})
}

// TestWhatABoundedQueueRefuses.
func TestWhatABoundedQueueRefuses(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := boundedOn(t, engineOn(t, raw), 0)
		for _, n := range []int{0, -1, 1 << 31} {
			_, err := q.TrySetCapacity(t.Context(), n)
			require.ErrorIs(t, err, ErrInvalidArgument)
			require.ErrorIs(t, q.Reconcile(t.Context(), n), ErrInvalidArgument)
		}
		_, err := q.Poll(t.Context())
		require.ErrorIs(t, err, ErrEmpty)
		_, err = q.TryOffer(t.Context(), "a", WithWait(-1))
		require.ErrorIs(t, err, ErrInvalidArgument)
		_, err = q.TryOffer(t.Context(), "a", nil)
		require.ErrorIs(t, err, ErrInvalidArgument)
		for _, foreign := range []string{"x", "1.5", "007", "99999999999999999999"} {
			slots := keys.BoundedSlots(q.Name())
			require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(slots).Value(foreign).Build()).Error())
			_, err = q.Offer(t.Context(), "a")
			require.ErrorContains(t, err, "WRONGTYPE")
			require.ErrorContains(t, err, q.Name())
			_, err = q.Poll(t.Context())
			require.ErrorContains(t, err, "WRONGTYPE")
		}
		n, err := q.Len(t.Context())
		require.NoError(t, err)
		require.Zero(t, n, "nothing was half done")
	})
}
