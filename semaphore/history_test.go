package semaphore

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// did is what a client asked of a semaphore in a history.
type did struct {
	kind kind // take or give
	n    int64
}

// result is what it was told.
type result uint8

const (
	refusedIt result = iota
	done
	unknown
)

// history is what clients did on one name, and when.
type history struct {
	total  int64
	exact  bool // nobody was refused but for want of permits
	mu     sync.Mutex
	of     []porcupine.Operation
	doubts int
}

func (h *history) now(epoch time.Time) int64 { return int64(time.Since(epoch)) }

func (h *history) add(client int, what did, call, ret int64, how result) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if how == unknown {
		h.doubts++
		ret = math.MaxInt64 // a give is done once, at some time; a take goes back
	}
	if how != unknown || what.kind == give {
		h.of = append(h.of, porcupine.Operation{ClientId: client, Input: what, Call: call, Output: how, Return: ret})
	}
}

// model is a semaphore as it should be: the state is how many permits are free.
func (h *history) model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return h.total },
		Step: func(state, in, out any) (bool, any) {
			free, what := state.(int64), in.(did)
			switch {
			case what.kind == give:
				return true, free + what.n
			case out == done:
				return free >= what.n, free - what.n
			}
			return !h.exact || free < what.n, free
		},
	}
}

// overlap is how many permits were certainly held at a time: from the return of
// a take to the call of its give.
func (h *history) overlap() (most int64) {
	type edge struct{ at, n int64 }
	var edges []edge
	for _, o := range h.of {
		switch what := o.Input.(did); {
		case what.kind == give:
			edges = append(edges, edge{o.Call, -what.n})
		case o.Output == done:
			edges = append(edges, edge{o.Return, what.n})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return int(a.n - b.n)
	})
	var held int64
	for _, e := range edges {
		held += e.n
		most = max(most, held)
	}
	return most
}

func (h *history) check() error {
	if most := h.overlap(); most > h.total {
		return fmt.Errorf("%d permits were held at a time, of %d", most, h.total)
	}
	if got := porcupine.CheckOperationsTimeout(h.model(), h.of, soon); got != porcupine.Ok {
		return fmt.Errorf("a history of %d operations, %d in doubt: %v", len(h.of), h.doubts, got)
	}
	return nil
}

const (
	historians = 8
	mostDoubts = 4 // beyond which there are too many orders to look at
)

// record has clients take and give on a fresh name.
func record(t *testing.T, c rueidis.Client, name string, each int, deliver func()) *history {
	h := &history{total: 6, exact: deliver == nil}
	r := rigOn(t, c, name)
	require.NoError(t, r.SetPermits(t.Context(), h.total))
	epoch := time.Now()
	var all sync.WaitGroup
	for client := range historians {
		all.Go(func() {
			for range each {
				n := 1 + rand.Int64N(2)
				call := h.now(epoch)
				err := r.TryAcquire(context.Background(), n)
				how := outcome(t, err)
				h.add(client, did{take, n}, call, h.now(epoch), how)
				if deliver != nil && rand.IntN(8) == 0 {
					deliver()
				}
				if how != done {
					continue
				}
				call = h.now(epoch)
				err = r.Release(context.Background(), n)
				h.add(client, did{give, n}, call, h.now(epoch), outcome(t, err))
			}
		})
	}
	all.Wait()
	return h
}

func outcome(t *testing.T, err error) result {
	switch {
	case err == nil:
		return done
	case errors.Is(err, ErrOutcomeUnknown), errors.Is(err, ErrDeferred):
		return unknown
	}
	assert.ErrorIs(t, err, ErrNotAcquired)
	return refusedIt
}

// bent is a client whose server runs another script in the place of one.
type bent struct {
	rueidis.Client
	sha, body string
}

func bend(c rueidis.Client, s *scripts.Script, right, wrong string) bent {
	sum := sha1.Sum([]byte(s.Body()))
	return bent{c, hex.EncodeToString(sum[:]), strings.Replace(s.Body(), right, wrong, 1)}
}

func (b bent) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	if words := cmd.Commands(); words[0] == "EVALSHA" && words[1] == b.sha {
		words = slices.Clone(words)
		return b.Client.Do(ctx, b.Client.B().Eval().Script(b.body).Numkeys(2).Key(words[3:5]...).Arg(words[5:]...).Build())
	}
	return b.Client.Do(ctx, cmd)
}

// faultyHistory is one under lost replies, late and second sends.
func faultyHistory(t *testing.T, c rueidis.Client, name string, each int) *history {
	through := &chaos{Client: c}
	warm := rigOn(t, through, name+":warm").set(1) // the scripts are known
	warm.take(1)
	warm.give(1)
	through.on.Store(true)
	h := record(t, through, name, each, through.deliver)
	through.on.Store(false)
	through.deliver()
	return h
}

func TestHistoriesAreThoseOfASemaphore(t *testing.T) {
	t.Parallel()
	t.Run("without faults", func(t *testing.T) {
		t.Parallel()
		for i := range redistest.Count(t, 8, 400) {
			h := record(t, redistest.Shared(t).Client(t), fmt.Sprint(redistest.Name(t), i), 1_000/historians, nil)
			require.NoError(t, h.check())
		}
	})
	t.Run("with faults", func(t *testing.T) {
		t.Parallel()
		checked := 0
		for i := range redistest.Count(t, 4, 200) {
			h := faultyHistory(t, redistest.Shared(t).Client(t), fmt.Sprint(redistest.Name(t), i), 400/historians)
			if h.doubts <= mostDoubts {
				require.NoError(t, h.check())
				checked++
			}
		}
		require.NotZero(t, checked)
	})
}

// TestAWrongHistoryIsSeen: with a script that is wrong, by both checks. What the first
// is wrong about takes three equal requests between others in one call, which about one
// history in ten has.
func TestAWrongHistoryIsSeen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script       *scripts.Script
		right, wrong string
		faults       bool
	}{
		"one too few for three or more": {moveScript, "took = now - size * k, took", "took = now - size * k + (k > 2 and 1 or 0), took", false},
		"one too few for two alone":     {takeScript, "'decrby', KEYS[1], took)", "'decrby', KEYS[1], took - (tonumber(took) > 1 and 1 or 0))", false},
		"releases twice on a replay":    {giveScript, "if known >= 0 then\n", "if known >= 0 then redis.call('incrby', KEYS[1], 2)\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, c.script.Body(), c.right)
			server := redistest.Shared(t)
			held, disorder := false, false
			for i := 0; !(held && disorder); i++ {
				require.Less(t, i, 500, "the checks see nothing wrong: %v, %v", held, disorder)
				on, fresh := bend(server.Client(t), c.script, c.right, c.wrong), fmt.Sprint(redistest.Name(t), i)
				var h *history
				if c.faults {
					h = faultyHistory(t, on, fresh, 400/historians)
				} else {
					h = record(t, on, fresh, 1_000/historians, nil)
				}
				held = held || h.overlap() > h.total
				if !disorder && h.doubts <= mostDoubts {
					disorder = porcupine.CheckOperationsTimeout(h.model(), h.of, soon) == porcupine.Illegal
				}
			}
		})
	}
}
