package counter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// did is what a client asked of a counter in a history.
type did struct {
	op   string
	a, b int64
}

// told is what it was told.
type told struct {
	unknown bool
	n       int64
	yes     bool
}

// model is a counter as it should be: the state is its number. An operation whose outcome is unknown was done at some time, or
// never: it has no end.
var model = porcupine.NondeterministicModel{
	Init: func() []any { return []any{int64(0)} },
	Step: func(state, in, out any) []any {
		now, what, answer := state.(int64), in.(did), out.(told)
		next, n, yes := now, int64(0), false
		switch what.op {
		case "add":
			next, n = now+what.a, now+what.a
		case "swap":
			next, n = what.a, now
		case "raise":
			if yes = now < what.a; yes {
				next = what.a
			}
		case "compare":
			if yes = now == what.a; yes {
				next = what.b
			}
		case "get":
			n = now
		}
		switch {
		case answer.unknown:
			return []any{now, next}
		case answer.n != n || answer.yes != yes:
			return nil
		}
		return []any{next}
	},
}

const (
	historians = 6
	mostDoubts = 5 // beyond which there are too many orders to look at
)

// record has clients use a counter, and returns what they saw, and how many outcomes are unknown.
func record(t *testing.T, c *Counter, each int, between func()) (h []porcupine.Operation, doubts int) {
	t.Helper()
	began := time.Now()
	var mu sync.Mutex
	var all sync.WaitGroup
	for client := range historians {
		all.Go(func() {
			for range each {
				what, ctx := did{a: rand.Int64N(5) - 2}, context.Background()
				var answer told
				var err error
				call := int64(time.Since(began))
				switch rand.IntN(6) {
				case 0:
					what.op, what.a = "swap", rand.Int64N(50)
					answer.n, err = c.Swap(ctx, what.a)
				case 1:
					what.op, what.a = "raise", rand.Int64N(50)
					answer.yes, err = c.Raise(ctx, what.a)
				case 2:
					what.op, what.b = "compare", rand.Int64N(50)
					if what.a, err = c.Get(ctx); err == nil {
						call = int64(time.Since(began))
						answer.yes, err = c.CompareAndSwap(ctx, what.a, what.b)
					}
				case 3:
					what.op = "get"
					answer.n, err = c.Get(ctx)
				default:
					what.op = "add"
					answer.n, err = c.Add(ctx, what.a)
				}
				ret := int64(time.Since(began))
				if err != nil {
					assert.ErrorIs(t, err, ErrOutcomeUnknown)
					answer, ret = told{unknown: true}, math.MaxInt64
				}
				mu.Lock()
				if err != nil {
					doubts++
				}
				h = append(h, porcupine.Operation{ClientId: client, Input: what, Call: call, Output: answer, Return: ret})
				mu.Unlock()
				if between != nil && rand.IntN(8) == 0 {
					between()
				}
			}
		})
	}
	all.Wait()
	return h, doubts
}

func TestHistoriesAreThoseOfACounter(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]Option{"plain": nil, "slots": {WithRequestIDs()}, "ttl": {WithTTL(time.Hour)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t)
			for i := range redistest.Count(t, 4, 200) {
				c := New(engineOn(t, server.Client(t)), fmt.Sprint(named(t, server.Client(t)), i), opts...)
				h, doubts := record(t, c, 100, nil)
				require.Zero(t, doubts)
				require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(model.ToModel(), h, soon))
			}
			checked := 0
			for i := 0; checked < redistest.Count(t, 4, 200); i++ {
				require.Less(t, i, 20*(checked+2), "too many doubts")
				through := &faulty{Client: server.Client(t)}
				c := New(engineOn(t, through), fmt.Sprint(named(t, server.Client(t)), i), opts...)
				through.on.Store(true)
				h, doubts := record(t, c, 10, through.deliver)
				through.on.Store(false)
				if doubts > mostDoubts {
					continue
				}
				require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(model.ToModel(), h, soon), "%d doubts", doubts)
				checked++
			}
		})
	}
}

// TestAWrongHistoryIsSeen: of a counter that forgets what it was told now and then.
func TestAWrongHistoryIsSeen(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	c := New(engineOn(t, raw), named(t, raw))
	h, _ := record(t, c, 40, func() { raw.Do(context.Background(), raw.B().Decr().Key(c.Name()).Build()) })
	require.Equal(t, porcupine.Illegal, porcupine.CheckOperationsTimeout(model.ToModel(), h, soon))
}

// TestSumAndUnknownBracketTheNumber: without request ids each lost reply is told, and the number is between what was told and
// that with all of the unknown.
func TestSumAndUnknownBracketTheNumber(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	through := &faulty{Client: server.Client(t)}
	raw := server.Client(t)
	c := New(engineOn(t, through), named(t, raw))
	through.on.Store(true)
	var mu sync.Mutex
	var sure, unknown int64
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range redistest.Count(t, 200, 10_000) {
				err := last(c.Add(context.Background(), 1))
				mu.Lock()
				switch {
				case err == nil:
					sure++
				case errors.Is(err, ErrOutcomeUnknown):
					unknown++
				default:
					assert.NoError(t, err)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	through.on.Store(false)
	through.deliver()
	n, err := New(engineOn(t, raw), c.Name()).Get(t.Context())
	require.NoError(t, err)
	require.Positive(t, unknown)
	require.True(t, n >= sure && n <= sure+unknown, "%d, told %d, unknown %d", n, sure, unknown)
}

// TestCounterModel: random operations in a row, and time that passes, against a number and its end.
func TestCounterModel(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		e := engineOn(t, raw)
		for _, opts := range [][]Option{nil, {WithRequestIDs()}, {WithTTL(time.Hour)}} {
			counterModel(t, raw, New(e, named(t, raw), opts...))
		}
	})
}

func counterModel(t *testing.T, raw rueidis.Client, c *Counter) {
	t.Helper()
	ctx, rnd := t.Context(), rand.New(rand.NewPCG(3, uint64(c.ttl)))
	var now int64
	there, ends := false, false
	number := func() int64 {
		if rnd.IntN(4) == 0 {
			return 1<<53 + rnd.Int64N(5) - 2
		}
		return rnd.Int64N(9) - 4
	}
	sets := func(n int64, end bool) { now, there, ends = n, true, end }
	for range redistest.Count(t, 300, 5_000) {
		n, m := number(), number()
		if rnd.IntN(2) == 0 {
			n = now
		}
		timed := c.ttl > 0
		switch rnd.IntN(10) {
		case 0, 1:
			is(t, now+m)(c.Add(ctx, m))
			sets(now+m, ends || timed)
		case 2:
			require.NoError(t, c.Set(ctx, m))
			sets(m, timed)
		case 3:
			is(t, !there)(c.SetIfAbsent(ctx, m))
			if !there {
				sets(m, timed)
			}
		case 4:
			is(t, now)(c.Swap(ctx, m))
			sets(m, timed)
		case 5:
			is(t, now)(c.Take(ctx))
			now, there, ends = 0, false, false
		case 6:
			is(t, now == n)(c.CompareAndSwap(ctx, n, m))
			if now == n {
				sets(m, ends || timed)
			}
		case 7:
			is(t, there && now == n)(c.CompareAndDelete(ctx, n))
			if there && now == n {
				now, there, ends = 0, false, false
			}
		case 8:
			is(t, now < m)(c.Raise(ctx, m))
			if now < m {
				sets(m, ends || timed)
			}
		case 9:
			is(t, now > m)(c.Lower(ctx, m))
			if now > m {
				sets(m, ends || timed)
			}
		}
		if rnd.IntN(20) == 0 && there {
			is(t, true)(c.Expire(ctx, time.Hour))
			ends = true
		}
		if rnd.IntN(40) == 0 && there { // its time is over
			is(t, true)(c.ExpireAt(ctx, time.Now().Add(-time.Minute)))
			now, there, ends = 0, false, false
		}
		is(t, now)(c.Get(ctx))
		is(t, there)(c.Exists(ctx))
		require.Equal(t, ends, ttlOf(t, raw, c.Name()) > 0)
	}
}
