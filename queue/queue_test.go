package queue

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
)

// texts is a queue of strings as they are.
func texts(t testing.TB, raw rueidis.Client) *Queue[string] {
	t.Helper()
	return New[string](engineOn(t, raw), named(t, raw), WithCodec(codec.Text))
}

// contents is what a queue has in Redis.
func contents(t testing.TB, raw rueidis.Client, key string) []string {
	t.Helper()
	all, err := raw.Do(t.Context(), raw.B().Lrange().Key(key).Start(0).Stop(-1).Build()).AsStrSlice()
	require.NoError(t, err)
	return all
}

func offered(t testing.TB, q *Queue[string], vs ...string) {
	t.Helper()
	n, err := q.Offer(t.Context(), vs...)
	require.NoError(t, err)
	require.Positive(t, n)
}

func TestBothEnds(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := texts(t, raw)
		n, err := q.Offer(t.Context(), "c", "d")
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
		n, err = q.OfferFirst(t.Context(), "b", "a")
		require.NoError(t, err)
		require.EqualValues(t, 4, n)
		n, err = q.OfferIfExists(t.Context(), "e", "f", "g")
		require.NoError(t, err)
		require.EqualValues(t, 7, n)
		require.Equal(t, []string{"a", "b", "c", "d", "e", "f", "g"}, contents(t, raw, q.Name()))

		for _, c := range []struct {
			want string
			op   func(context.Context) (string, error)
		}{{"a", q.Peek}, {"g", q.PeekLast}, {"a", q.Poll}, {"g", q.PollLast}, {"b", q.Peek}, {"f", q.PeekLast}} {
			got, err := c.op(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		}
		some, err := q.PollN(t.Context(), 3)
		require.NoError(t, err)
		require.Equal(t, []string{"b", "c", "d"}, some)
		some, err = q.PollN(t.Context(), 3)
		require.NoError(t, err)
		require.Equal(t, []string{"e", "f"}, some)
	})
}

func TestAnEmptyQueueSaysSo(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := texts(t, raw)
		for _, op := range []func(context.Context) (string, error){
			q.Poll, q.PollLast, q.Peek, q.PeekLast,
			func(ctx context.Context) (string, error) { return q.MoveTo(ctx, q) },
			func(ctx context.Context) (string, error) { _, err := q.PollN(ctx, 1); return "", err },
			func(ctx context.Context) (string, error) { _, err := q.PollN(ctx, 7); return "", err },
		} {
			_, err := op(t.Context())
			require.ErrorIs(t, err, ErrEmpty)
			require.ErrorContains(t, err, q.Name())
		}
		n, err := q.OfferIfExists(t.Context(), "a")
		require.NoError(t, err)
		require.Zero(t, n)
		all, err := q.Drain(t.Context())
		require.NoError(t, err)
		require.Empty(t, all)
		n, err = q.Offer(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
		there, err := q.Exists(t.Context())
		require.NoError(t, err)
		require.False(t, there)
	})
}

func TestWhatIsDoneToAWholeQueue(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := texts(t, raw)
		other := New[string](q.q.h.e, named(t, raw), WithCodec(codec.Text))
		offered(t, q, "a", "b", "a", "c", "a")
		n, err := q.Remove(t.Context(), "a", -1)
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		n, err = q.Remove(t.Context(), "a", 0)
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
		n, err = q.Remove(t.Context(), "z", 1)
		require.NoError(t, err)
		require.Zero(t, n)

		offered(t, other, "x")
		moved, err := q.MoveTo(t.Context(), other)
		require.NoError(t, err)
		require.Equal(t, "b", moved)
		require.Equal(t, []string{"x", "b"}, contents(t, raw, other.Name()))
		moved, err = other.MoveTo(t.Context(), other)
		require.NoError(t, err)
		require.Equal(t, "x", moved)
		require.Equal(t, []string{"b", "x"}, contents(t, raw, other.Name()))

		left, err := q.Remaining(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, -1, left)
		yes, err := q.Expire(t.Context(), time.Hour)
		require.NoError(t, err)
		require.True(t, yes)
		left, err = q.Remaining(t.Context())
		require.NoError(t, err)
		require.Positive(t, left)
		yes, err = q.Persist(t.Context())
		require.NoError(t, err)
		require.True(t, yes)

		yes, err = q.Rename(t.Context(), other.Name())
		require.NoError(t, err)
		require.True(t, yes)
		require.Equal(t, []string{"c"}, contents(t, raw, other.Name()))
		yes, err = q.Rename(t.Context(), other.Name())
		require.NoError(t, err)
		require.False(t, yes)
		yes, err = other.Delete(t.Context())
		require.NoError(t, err)
		require.True(t, yes)
	})
}

// TestMoreThanOneCommandTakes offers, walks and drains what takes several parts.
func TestMoreThanOneCommandTakes(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := texts(t, raw)
		var many []string
		for i := range 12_345 {
			many = append(many, decimal(int64(i)))
		}
		n, err := q.Offer(t.Context(), many...)
		require.NoError(t, err)
		require.EqualValues(t, len(many), n)
		var walked []string
		for v, err := range q.Values(t.Context()) {
			require.NoError(t, err)
			walked = append(walked, v)
		}
		require.Equal(t, many, walked)
		got, err := q.Drain(t.Context())
		require.NoError(t, err)
		require.Equal(t, many, got)
		large := []string{strings.Repeat("x", 700_000), strings.Repeat("y", 700_000)}
		n, err = q.Offer(t.Context(), large...)
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
		got, err = q.Drain(t.Context())
		require.NoError(t, err)
		require.Equal(t, large, got)
	})
}

// TestWhatDoesNotDecodeComesWithItsBytes, and the rest go on.
func TestWhatDoesNotDecodeComesWithItsBytes(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := texts(t, raw)
		numbers := New[int](q.q.h.e, q.Name(), WithCodec(codec.Text))
		bad := func(err error) {
			var undecoded *codec.DecodeError
			require.ErrorAs(t, err, &undecoded)
			require.ErrorIs(t, err, ErrDecode)
			require.Equal(t, "no number", string(undecoded.Bytes))
			require.Equal(t, q.Name(), undecoded.Name)
			require.NotContains(t, err.Error(), "no number\"")
		}
		for range 3 {
			offered(t, q, "1", "no number", "2")
		}
		some, err := numbers.PollN(t.Context(), 3)
		bad(err)
		require.Equal(t, []int{1, 2}, some)
		one, err := numbers.Poll(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, one)
		_, err = numbers.Peek(t.Context())
		bad(err)
		_, err = numbers.Poll(t.Context())
		bad(err)
		var walked []int
		var undecoded int
		for v, err := range numbers.Values(t.Context()) {
			if err != nil {
				bad(err)
				undecoded++
				continue
			}
			walked = append(walked, v)
		}
		require.Equal(t, []int{2, 1, 2}, walked)
		require.Equal(t, 1, undecoded)
		all, err := numbers.Drain(t.Context())
		bad(err)
		require.Equal(t, []int{2, 1, 2}, all)
		left, err := q.Len(t.Context())
		require.NoError(t, err)
		require.Zero(t, left)
	})
}

// TestAnotherTypeUnderTheKeyIsNamed.
func TestAnotherTypeUnderTheKeyIsNamed(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		q := texts(t, raw)
		require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(q.Name()).Value("x").Build()).Error())
		_, offer := q.Offer(t.Context(), "a")
		_, poll := q.Poll(t.Context())
		_, peek := q.Peek(t.Context())
		_, length := q.Len(t.Context())
		_, drain := q.Drain(t.Context())
		_, remove := q.Remove(t.Context(), "a", 1)
		for _, err := range []error{offer, poll, peek, length, drain, remove} {
			require.ErrorContains(t, err, "is no list")
			require.ErrorContains(t, err, q.Name())
			require.False(t, errors.Is(err, ErrOutcomeUnknown))
		}
	})
}
