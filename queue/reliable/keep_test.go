package reliable

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestMessageThatIsDoneIsFoundForItsTime, however it was acknowledged, with what it was added with.
func TestMessageThatIsDoneIsFoundForItsTime(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r = r.with(WithKeepDone(time.Hour))
		ctx := t.Context()
		ids := []int64{
			r.adds("plain"), r.adds("result"), r.adds("token", WithGroup("g|1"), WithUnique("u"), WithHeader("k", "v")), r.adds("retried"),
		}
		began := time.Now()
		plain := r.gets("plain")
		require.NoError(t, plain.Ack(ctx))
		require.NoError(t, r.gets("result").AckWith(ctx, []byte("42"), time.Minute))
		detached := r.gets("token")
		require.NoError(t, detached.Detach(ctx, time.Hour))
		require.NoError(t, r.Ack(ctx, detached.Token()))
		require.NoError(t, r.gets("retried").Nack(ctx, errAgain, WithDelay(0)))
		r.acks("retried")
		for i, value := range []string{"plain", "result", "token", "retried"} {
			info := r.holds(ids[i], Done)
			got, err := r.Decode(info)
			require.NoError(t, err)
			require.Equal(t, value, got)
			require.WithinDuration(t, began, info.When, soon)
			require.WithinDuration(t, began, info.AddedAt, soon)
			require.NotZero(t, info.Delivery)
			require.Zero(t, info.Owner)
		}
		require.Equal(t, plain.Delivery, r.holds(ids[0], Done).Delivery)
		token := r.holds(ids[2], Done)
		require.Equal(t, "g|1", token.Group)
		require.Equal(t, "u", token.Unique)
		require.Equal(t, map[string]string{"k": "v"}, token.Header)
		require.Equal(t, 1, r.holds(ids[3], Done).Attempts)
		require.ErrorIs(t, r.Cancel(ctx, ids[0]), ErrNotFound)
		r.adds("same", WithUnique("u"))

		r.do("ZADD", r.part("finished_until"), "1", decimal(ids[0])) // its time has come
		_, err := r.Find(ctx, ids[0])
		require.ErrorIs(t, err, ErrNotFound)
		r.acks("same")
		r.holds(ids[1], Done)
		n, err := asInt(r.do("HLEN", r.part("finished")))
		require.NoError(t, err)
		require.EqualValues(t, 4, n, "what has ended was taken out")
		left, err := asInt(r.do("PTTL", r.part("finished")))
		require.NoError(t, err)
		require.InDelta(t, time.Hour.Milliseconds(), left, float64(soon.Milliseconds()))
		there, err := r.Delete(ctx)
		require.NoError(t, err)
		require.True(t, there)
		r.leaves()
	})
}

// TestMessagesThatAreDoneAreBounded in their number.
func TestMessagesThatAreDoneAreBounded(t *testing.T) {
	t.Parallel()
	r := rigOn(t, redistest.Shared(t).Client(t)).with(WithKeepDone(time.Hour))
	const most = 100_000
	r.do("EVAL", `for i = 1, 100 do
		local all, ends = {}, {}
		for j = 1, 1000 do
			local id = i * 1000 + j
			all[2*j-1], all[2*j], ends[2*j-1], ends[2*j] = id, 'd 1 1 1 0 ', 9000000000000, id
		end
		redis.call('hset', KEYS[1], unpack(all))
		redis.call('zadd', KEYS[2], unpack(ends))
	end`, "2", r.part("finished"), r.part("finished_until"))
	r.adds("a")
	r.acks("a")
	for _, command := range []string{"HLEN finished", "ZCARD finished_until"} {
		words := strings.Fields(command)
		n, err := asInt(r.do(words[0], r.part(words[1])))
		require.NoError(t, err)
		require.EqualValues(t, most, n)
	}
}

// TestMessagesThatAreDoneAreBoundedAlsoWhereSomeEnd with each exchange.
func TestMessagesThatAreDoneAreBoundedAlsoWhereSomeEnd(t *testing.T) {
	t.Parallel()
	r := rigOn(t, redistest.Shared(t).Client(t)).with(WithKeepDone(time.Hour))
	const most = 100_000
	r.do("EVAL", `for i = 1, 101 do
		local all, ends = {}, {}
		for j = 1, 1000 do
			local id = i * 1000 + j
			all[2*j-1], all[2*j], ends[2*j-1], ends[2*j] = id, 'd 1 1 1 0 ', i == 1 and j <= 10 and 1 or 9000000000000, id
		end
		redis.call('hset', KEYS[1], unpack(all))
		redis.call('zadd', KEYS[2], unpack(ends))
	end`, "2", r.part("finished"), r.part("finished_until"))
	for i := range int64(2) {
		r.adds("a")
		r.acks("a")
		n, err := asInt(r.do("ZCARD", r.part("finished_until")))
		require.NoError(t, err)
		require.EqualValues(t, most+1000-200*(i+1), n, "201 go for the one that comes")
	}
	n, err := asInt(r.do("ZCOUNT", r.part("finished_until"), "-inf", "1"))
	require.NoError(t, err)
	require.Zero(t, n)
}

// TestAcksOfWhatIsKeptAreAMegabyteAtATime, since the server copies the bodies.
func TestAcksOfWhatIsKeptAreAMegabyteAtATime(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		together := func(q *rig) int {
			long := strings.Repeat("x", 700_000)
			var calls []*stepCall
			for range 2 {
				q.adds(long)
			}
			for range 2 {
				m := q.gets(long)
				defer func() { require.NoError(t, m.Ack(t.Context())) }()
				call := &stepCall{}
				call.Ask.settle = &settle{d: m.d}
				calls = append(calls, call)
			}
			return cutSteps(calls)
		}
		require.Equal(t, 2, together(r.beside("plain")))
		keeping := r.beside("keeping", WithKeepDone(time.Hour))
		require.Equal(t, 1, together(keeping))
		keeping.leaves()
	})
}

// TestTermsOfAnEarlierVersionAreUnderstood, which have no time for what is done.
func TestTermsOfAnEarlierVersionAreUnderstood(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, r *rig) {
		r.do("HSET", r.part("meta"), "terms", "7|||||1000 2000")
		other := r.other(WithKeepDone(time.Minute), WithMaxAttempts(7))
		other.isEmpty()
		r.isEmpty()
		terms, err := r.Terms(t.Context())
		require.NoError(t, err)
		require.Equal(t, Terms{MaxAttempts: 7, Backoff: []time.Duration{time.Second, 2 * time.Second}, KeepDone: time.Minute}, terms)
		_, err = r.other(WithKeepDone(time.Hour)).Poll(t.Context())
		require.ErrorIs(t, err, ErrOtherTerms)
	})
}
