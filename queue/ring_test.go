package queue

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// ringOn is a ring buffer of texts, which the test's end deletes.
func ringOn(t testing.TB, e *locking.Engine, capacity int) *Ring[string] {
	t.Helper()
	q := NewRing[string](e, redistest.Name(t), WithCodec(codec.Text))
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

func TestARingBufferKeepsTheNewest(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := ringOn(t, engineOn(t, raw), 3)
		has := func(want ...string) {
			t.Helper()
			require.Equal(t, strings.Join(want, " "), strings.Join(contents(t, raw, q.Name()), " "))
		}
		set, err := q.TrySetCapacity(t.Context(), 9)
		require.NoError(t, err)
		require.False(t, set)
		n, err := q.Offer(t.Context(), "a", "b")
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
		n, err = q.Offer(t.Context(), "c", "d")
		require.NoError(t, err)
		require.EqualValues(t, 3, n)
		has("b", "c", "d")
		n, err = q.Offer(t.Context(), "1", "2", "3", "4", "5")
		require.NoError(t, err)
		require.EqualValues(t, 3, n)
		has("3", "4", "5")

		some, err := q.Oldest(t.Context(), 2)
		require.NoError(t, err)
		require.Equal(t, []string{"3", "4"}, some)
		some, err = q.Newest(t.Context(), 2)
		require.NoError(t, err)
		require.Equal(t, []string{"4", "5"}, some)
		some, err = q.Newest(t.Context(), 7)
		require.NoError(t, err)
		require.Equal(t, []string{"3", "4", "5"}, some)

		require.NoError(t, q.SetCapacity(t.Context(), 5))
		has("3", "4", "5")
		require.NoError(t, q.SetCapacity(t.Context(), 2))
		has("4", "5")
		capacity, err := q.Capacity(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 2, capacity)

		v, err := q.PeekLast(t.Context())
		require.NoError(t, err)
		require.Equal(t, "5", v)
		v, err = q.Peek(t.Context())
		require.NoError(t, err)
		require.Equal(t, "4", v)
		v, err = q.Poll(t.Context())
		require.NoError(t, err)
		require.Equal(t, "4", v)
		gone, err := q.Remove(t.Context(), "5", 0)
		require.NoError(t, err)
		require.EqualValues(t, 1, gone)
		_, err = q.Poll(t.Context())
		require.ErrorIs(t, err, ErrEmpty)
		_, err = q.Offer(t.Context(), "6", "7")
		require.NoError(t, err)
		some, err = q.PollN(t.Context(), 5)
		require.NoError(t, err)
		require.Equal(t, []string{"6", "7"}, some)
		_, err = q.Offer(t.Context(), "8", "9")
		require.NoError(t, err)
		some, err = q.Drain(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"8", "9"}, some)
	})
}

func TestWhatIsDoneToAWholeRingBuffer(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := ringOn(t, engineOn(t, raw), 2)
		_, err := q.Offer(t.Context(), "a")
		require.NoError(t, err)
		yes, err := q.Expire(t.Context(), time.Hour)
		require.NoError(t, err)
		require.True(t, yes)
		require.NoError(t, q.SetCapacity(t.Context(), 4))
		for _, key := range q.q.Keys {
			left, err := raw.Do(t.Context(), raw.B().Pttl().Key(key).Build()).AsInt64()
			require.NoError(t, err)
			require.Positive(t, left, key)
		}
		yes, err = q.Persist(t.Context())
		require.NoError(t, err)
		require.True(t, yes)
		to := NewRing[string](q.q.h.e, redistest.Name(t), WithCodec(codec.Text))
		yes, err = q.Rename(t.Context(), to.Name())
		require.NoError(t, err)
		require.True(t, yes)
		_, err = q.Offer(t.Context(), "a")
		require.ErrorIs(t, err, ErrNoCapacity)
		yes, err = to.Clear(t.Context())
		require.NoError(t, err)
		require.True(t, yes)
		n, err := to.Offer(t.Context(), "1", "2", "3", "4", "5")
		require.NoError(t, err)
		require.EqualValues(t, 4, n)
		yes, err = to.Delete(t.Context())
		require.NoError(t, err)
		require.True(t, yes)
		_, err = to.Offer(t.Context(), "a")
		require.ErrorIs(t, err, ErrNoCapacity)
		require.ErrorContains(t, err, to.Name())
		_, err = to.Capacity(t.Context())
		require.ErrorIs(t, err, ErrNoCapacity)
		require.Empty(t, contents(t, raw, to.Name()))
	})
}

// TestManyOfferToARingBuffer at once: what goes out together stays in order, and
// each is told a size that there may be.
func TestManyOfferToARingBuffer(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := ringOn(t, engineOn(t, raw), 10)
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				n, err := q.Offer(t.Context(), "a", "b", "c")
				assert.NoError(t, err)
				assert.True(t, n >= 3 && n <= 10, n)
			})
		}
		all.Wait()
		require.Equal(t, "c a b c a b c a b c", strings.Join(contents(t, raw, q.Name()), " "))
		var many []string
		for i := range 12_345 {
			many = append(many, decimal(int64(i)))
		}
		require.NoError(t, q.SetCapacity(t.Context(), 7000))
		n, err := q.Offer(t.Context(), many...)
		require.NoError(t, err)
		require.EqualValues(t, 7000, n)
		require.Equal(t, many[len(many)-7000:], contents(t, raw, q.Name()))
	})
}

// TestACapacityThatIsNone is refused, and of one that Java or somebody else has
// written nothing is done but what it says.
func TestACapacityThatIsNone(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := ringOn(t, engineOn(t, raw), 0)
		for _, n := range []int{0, -1, 1 << 31} {
			_, err := q.TrySetCapacity(t.Context(), n)
			require.ErrorIs(t, err, ErrInvalidArgument)
			require.ErrorIs(t, q.SetCapacity(t.Context(), n), ErrInvalidArgument)
			_, err = q.Newest(t.Context(), n)
			require.ErrorIs(t, err, ErrInvalidArgument)
		}
		_, err := q.Offer(t.Context(), "a")
		require.ErrorIs(t, err, ErrNoCapacity)
		require.Empty(t, contents(t, raw, q.Name()))
		key := keys.RingCapacity(q.Name())
		require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(key).Value("0").Build()).Error())
		n, err := q.Offer(t.Context(), "a", "b")
		require.NoError(t, err)
		require.Zero(t, n)
		require.Empty(t, contents(t, raw, q.Name()))
		require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(key).Value("ten").Build()).Error())
		_, err = q.Offer(t.Context(), "a")
		require.ErrorContains(t, err, "WRONGTYPE")
		require.ErrorContains(t, err, key)
		require.Empty(t, contents(t, raw, q.Name()))
		require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(key).Value("2").Build()).Error())
		require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(q.Name()).Value("x").Build()).Error())
		for _, op := range []func() error{
			func() error { _, err := q.Offer(t.Context(), "a"); return err },
			func() error { _, err := q.Poll(t.Context()); return err },
			func() error { return q.SetCapacity(t.Context(), 1) },
			func() error { _, err := q.Newest(t.Context(), 1); return err },
		} {
			err := op()
			require.ErrorContains(t, err, "is of another type")
			require.ErrorContains(t, err, q.Name())
			require.False(t, errors.Is(err, ErrOutcomeUnknown))
		}
	})
}

// TestAnOfferToARingBufferCountsOnce, though its reply is lost, and the same of a
// capacity that was set again meanwhile.
func TestAnOfferToARingBufferCountsOnce(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		client, proxy := through(t, server)
		q := ringOn(t, engineOn(t, client, shortSends), 3)
		for i, want := range []string{"0", "0 1", "0 1 2", "1 2 3"} {
			lost := proxy.DropReply(redistest.MatchScript(ringOffer.Body()), 1+i%2)
			_, err := q.Offer(t.Context(), decimal(int64(i)))
			lost.Await(t)
			require.NoError(t, err)
			require.Equal(t, want, strings.Join(contents(t, server.Client(t), q.Name()), " "))
		}
		lost := proxy.DropReply(redistest.MatchScript(ringCapacity.Body()), 1)
		require.NoError(t, q.SetCapacity(t.Context(), 2))
		lost.Await(t)
		require.Equal(t, "2 3", strings.Join(contents(t, server.Client(t), q.Name()), " "))
	})
}

// TestACopyOfAnOfferThatArrivesLate changes nothing any more.
func TestACopyOfAnOfferThatArrivesLate(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	client, proxy := through(t, server)
	q := ringOn(t, engineOn(t, client, shortSends), 5)
	held := proxy.HoldRequest(redistest.MatchScript(ringOffer.Body()))
	n, err := q.Offer(t.Context(), "a")
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	require.NoError(t, raw.Do(t.Context(), raw.B().Lpop().Key(q.Name()).Build()).Error())
	held.Release()
	_, err = q.Offer(t.Context(), "b")
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, contents(t, raw, q.Name()))
}

// pausing is a client that does something behind each answer.
type pausing struct {
	rueidis.Client
	behind func()
}

func (p pausing) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	res := p.Client.Do(ctx, cmd)
	p.behind()
	return res
}

// TestTheNewestAreThoseOfOneMoment: few elements come by one call, also of a new handle. Of
// many bytes none comes twice, whatever is offered between two calls.
func TestTheNewestAreThoseOfOneMoment(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q, next, calls := ringOn(t, engineOn(t, raw), 30), 0, 0
		offer := func(bytes int) {
			_, err := q.Offer(t.Context(), decimal(int64(next+100))+strings.Repeat("x", bytes))
			require.NoError(t, err)
			next++
		}
		behind := func() { calls++ }
		e := engineOn(t, pausing{raw, func() { behind() }})
		other := func() *Ring[string] { return NewRing[string](e, q.Name(), WithCodec(codec.Text)) }
		numbers := func(texts []string, err error) (all []string) {
			t.Helper()
			require.NoError(t, err)
			for _, text := range texts {
				all = append(all, strings.TrimRight(text, "x"))
			}
			return all
		}
		for range 40 {
			offer(10)
		}
		require.Len(t, numbers(other().Newest(t.Context(), 1)), 1) // the server has the script then
		calls = 0
		for n, want := range map[int]string{1: "139", 3: "137 138 139", 10: "130 131 132 133 134 135 136 137 138 139"} {
			require.Equal(t, want, strings.Join(numbers(other().Newest(t.Context(), n)), " "))
		}
		require.Equal(t, "110 111", strings.Join(numbers(other().Oldest(t.Context(), 2)), " "))
		require.Len(t, numbers(other().Newest(t.Context(), 99)), 30)
		require.Equal(t, 5, calls)

		for range 30 {
			offer(200_000)
		}
		reads := map[string]func() ([]string, error){
			"newest": func() ([]string, error) { return other().Newest(t.Context(), 30) },
			"oldest": func() ([]string, error) { return other().Oldest(t.Context(), 30) },
		}
		for how, look := range reads {
			calls = 0
			require.Len(t, numbers(look()), 30, how)
			require.Greater(t, calls, 4, how)
			behind = func() { offer(200_000) }
			got := numbers(look())
			behind = func() { calls++ }
			require.Greater(t, len(got), 15, how)
			for i, number := range got[1:] {
				require.Less(t, got[i], number, how)
			}
		}
	})
}
