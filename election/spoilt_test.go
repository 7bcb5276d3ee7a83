package election_test

import (
	"context"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func do(t testing.TB, raw rueidis.Client, words ...string) rueidis.RedisResult {
	t.Helper()
	res := raw.Do(context.Background(), raw.B().Arbitrary(words...).Build())
	require.NoError(t, res.Error())
	return res
}

// A counter that is none elects nobody, and takes nothing: neither from a free
// lock, nor for a candidate that is queued, nor from a leader on its way out.
func TestACounterThatIsNoneElectsNobody(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	raw, c := server.Client(t), locktest.Open(t, server.Addr())
	counter, el := "redisson_lock_token:{"+name+"}", c.Election(name)
	term := campaign(t, el, "a")
	later := campaignLater(t.Context(), el, "b")
	awaitCandidates(t, c, name, 1)
	do(t, raw, "DEL", counter)
	do(t, raw, "RPUSH", counter, "x")
	resign(t, term)
	require.ErrorContains(t, (<-later).err, counter)
	_, err := el.Campaign(t.Context(), "c")
	require.ErrorContains(t, err, counter)
	awaitCandidates(t, c, name, 0)
	n, err := do(t, raw, "EXISTS", name).AsInt64()
	require.NoError(t, err)
	require.Zero(t, n, "nobody holds it")
	do(t, raw, "DEL", counter)
	resign(t, campaign(t, el, "d"))
}

// What somebody else has put where the term is said is named, and left as it is.
func TestATermThatIsNoneIsNotBegun(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	raw, c := server.Client(t), locktest.Open(t, server.Addr())
	key, el := "rueidisson_term:{"+name+"}", c.Election(name)
	do(t, raw, "RPUSH", key, "x")
	_, err := el.Campaign(t.Context(), "a")
	require.ErrorContains(t, err, "WRONGTYPE")
	for _, err := range el.Observe(t.Context()) {
		require.ErrorContains(t, err, "WRONGTYPE")
	}
	left, err := do(t, raw, "PTTL", key).AsInt64()
	require.NoError(t, err)
	require.EqualValues(t, -1, left, "it is not ours to forget")
	held, err := c.FairLock(name).Locked(t.Context())
	require.NoError(t, err)
	require.False(t, held)
	do(t, raw, "DEL", key)

	do(t, raw, "HSET", key, "token", "seven", "owner", "nobody", "version", "x")
	w := observe(t, el)
	require.True(t, w.next().None())
	term := campaign(t, el, "b")
	w.value("b")
	do(t, raw, "HSET", key, "version", "x")
	require.NoError(t, term.SetValue(t.Context(), "c"))
	w.value("c")
	resign(t, term)
}
