package exchange

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// slowly is so slow that nothing comes back during a test.
func slowly(burst int64) Rate { return Rate{N: 1, Per: 30 * 24 * time.Hour, Burst: burst} }

// coreOn is a limiter whose batches the test makes itself.
func coreOn(t *testing.T, c rueidis.Client, r Rate) (*Core, *bucket.Rule) {
	t.Helper()
	e, err := locking.New(t.Context(), c, core.Config{ClientID: owner.NewClient(), WatchdogTimeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, locking.Close(context.Background(), e)) })
	limiter := HubOf(e).Core(redistest.Name(t))
	return limiter, limiter.rated(t, r)
}

// rated stores a rate.
func (c *Core) rated(t testing.TB, rate Rate) *bucket.Rule {
	t.Helper()
	r, err := resolve(rate)
	require.NoError(t, err)
	require.NoError(t, c.Set(t.Context(), Setting{Rule: r}))
	stored, err := c.Rule(t.Context())
	require.NoError(t, err)
	return stored
}

// on is a batch about a bucket.
func on(c *Core, state string, b batch) batch {
	for _, one := range b {
		one.Ask.Core, one.Ask.State = c, state
	}
	return b
}

// What a batch is told by the server is what its calls would have been told
// one by one: on one bucket all goes out together, on another each call alone.
func TestABatchGetsTheAnswersOfItsCalls(t *testing.T) {
	t.Parallel()
	c, r := coreOn(t, redistest.Shared(t).Client(t), slowly(20))
	rnd := rand.New(rand.NewPCG(3, 4))
	one, many := keys.BucketOf(c.Name, "together"), keys.BucketOf(c.Name, "alone")
	granted, refused := 0, 0
	rounds := redistest.Count(t, 45, 1_500)
	for round := range rounds {
		b := waitingAtTheFront(c, randomBatch(rnd, r))
		b = b[:cut(b)]
		require.NoError(t, c.send(one, on(c, one, b)))
		for _, mine := range b { // what is given back comes first in a batch
			if mine.Ask.Kind == bucket.Refund {
				require.NoError(t, c.send(many, on(c, many, batchOf(mine.Ask))))
			}
		}
		for i, mine := range b {
			if mine.Ask.Kind == bucket.Refund {
				continue
			}
			alone := batchOf(mine.Ask)
			require.NoError(t, c.send(many, on(c, many, alone)))
			require.Equal(t, alone[0].Answer.OK, mine.Answer.OK, "round %d, call %d of %d: %+v", round, i, len(b), mine.Ask)
			require.Equal(t, alone[0].Answer.decision(1).Remaining, mine.Answer.decision(1).Remaining, "round %d, call %d of %d: %+v", round, i, len(b), mine.Ask)
			if mine.Answer.OK {
				granted++
			} else {
				refused++
			}
		}
	}
	t.Logf("%d granted, %d refused", granted, refused)
	require.Greater(t, min(granted, refused), 10*rounds/3)
}

// waitingAtTheFront lets reservations wait for nothing or for ever: a wait in
// between would depend on when it is sent.
func waitingAtTheFront(c *Core, b batch) batch {
	for _, one := range b {
		if one.Ask.Kind == bucket.Reserve && one.Ask.Until > 0 {
			one.Ask.Until = Forever
		}
	}
	return b
}

func TestFiveOneOneWithThreeLeft(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]func(t *testing.T) rueidis.Client{
		"server": func(t *testing.T) rueidis.Client { return redistest.Shared(t).Client(t) },
		"miniredis": func(t *testing.T) rueidis.Client {
			c, err := rueidis.NewClient(redistest.Miniredis(t).ClientOption())
			require.NoError(t, err)
			t.Cleanup(c.Close)
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, r := coreOn(t, client(t), slowly(10))
			key := keys.BucketOf(c.Name, "u")
			require.NoError(t, c.send(key, on(c, key, batchOf(Ask{Want: bucket.Want{Rule: r, N: 7}}))))
			b := batchOf(Ask{Want: bucket.Want{Rule: r, N: 5}}, Ask{Want: bucket.Want{Rule: r, N: 1}}, Ask{Want: bucket.Want{Rule: r, N: 1}})
			require.NoError(t, c.send(key, on(c, key, b)))
			var allowed []bool
			var remaining []int64
			for _, one := range b {
				d := one.Answer.decision(one.Ask.N)
				allowed, remaining = append(allowed, d.Allowed), append(remaining, d.Remaining)
			}
			assert.Equal(t, []bool{false, true, true}, allowed)
			assert.Equal(t, []int64{3, 2, 1}, remaining)
		})
	}
}

// A batch by a rule that has changed is decided by the new one, all of it.
func TestABatchOfAnOldRuleIsDecidedByTheNewOne(t *testing.T) {
	t.Parallel()
	c, old := coreOn(t, redistest.Shared(t).Client(t), slowly(10))
	key := keys.BucketOf(c.Name, "u")
	c.rated(t, slowly(4))
	fresh, err := c.Rule(t.Context())
	require.NoError(t, err)
	require.NoError(t, c.send(key, on(c, key, batchOf(Ask{Want: bucket.Want{Rule: fresh, N: 1}}))))
	b := batchOf(Ask{Want: bucket.Want{Rule: old, N: 2}}, Ask{Want: bucket.Want{Rule: old, N: 2}}, Ask{Want: bucket.Want{Rule: old, N: 1}}, Ask{Want: bucket.Want{Rule: old, N: 5, Kind: bucket.Reserve, Until: Forever, Debt: old.Debt}})
	require.NoError(t, c.send(key, on(c, key, b)))
	var allowed []bool
	for _, one := range b {
		require.Equal(t, fresh.Rate, one.Answer.Rule.Rate)
		allowed = append(allowed, one.Answer.OK)
	}
	assert.Equal(t, []bool{true, false, true, false}, allowed, "the last asks for more than the new burst")
}
