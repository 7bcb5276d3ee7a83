package rmap

import (
	"context"
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
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// input is one operation on one key, and output what it answered.
type (
	input struct {
		op, key string
		a, b    int
	}
	output struct {
		n       int
		did     bool
		unknown bool
	}
	// cell is what stands under a key.
	cell struct {
		there bool
		n     int
	}
)

// after is what the operation makes of a cell, and what it answers.
func (in input) after(c cell) (cell, output) {
	was := output{n: c.n, did: c.there}
	switch in.op {
	case "get":
		return c, was
	case "put":
		return cell{true, in.a}, output{}
	case "swap":
		return cell{true, in.a}, was
	case "take":
		return cell{}, was
	case "cas":
		if c == (cell{true, in.a}) {
			return cell{true, in.b}, output{did: true}
		}
		return c, output{}
	case "absent":
		if c.there {
			return c, output{n: c.n}
		}
		return cell{true, in.a}, output{n: in.a, did: true}
	case "replace":
		if c.there {
			return cell{true, in.a}, output{did: true}
		}
		return c, output{}
	case "compute":
		if c.n >= 5 {
			return cell{}, output{}
		}
		return cell{true, c.n + 1}, output{n: c.n + 1, did: true}
	}
	panic(in.op)
}

// do is the operation on a map.
func (in input) do(ctx context.Context, m *Map[string, int]) (out output, err error) {
	switch in.op {
	case "get":
		out.n, out.did, err = m.Get(ctx, in.key)
	case "put":
		err = m.Put(ctx, in.key, in.a)
	case "swap":
		out.n, out.did, err = m.Swap(ctx, in.key, in.a)
	case "take":
		out.n, out.did, err = m.Take(ctx, in.key)
	case "cas":
		out.did, err = m.CompareAndSwap(ctx, in.key, in.a, in.b)
	case "absent":
		out.n, out.did, err = m.PutIfAbsent(ctx, in.key, in.a)
	case "replace":
		out.did, err = m.Replace(ctx, in.key, in.a)
	case "compute":
		out.n, out.did, err = m.Compute(ctx, in.key, func(old int, _ bool) (int, Verdict, error) {
			if old >= 5 {
				return 0, Delete, nil
			}
			return old + 1, Store, nil
		})
	}
	return out, err
}

var cells = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		by := map[string][]porcupine.Operation{}
		for _, op := range history {
			by[op.Input.(input).key] = append(by[op.Input.(input).key], op)
		}
		var parts [][]porcupine.Operation
		for _, part := range by {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return cell{} },
	Step: func(state, in, out any) (bool, any) {
		next, answer := in.(input).after(state.(cell))
		return out.(output).unknown || answer == out.(output), next
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprint(in, " ", out) },
}

// history is what several goroutines of two clients did, and when.
type history struct {
	began time.Time
	mu    sync.Mutex
	all   []porcupine.Operation
	lost  int
}

func (h *history) now() int64 { return int64(time.Since(h.began)) }

// record does one operation. One whose answer was lost may be done at any time
// after its call, or never, which is as good as at the very end.
func (h *history) record(ctx context.Context, client int, m *Map[string, int], in input) error {
	call := h.now()
	out, err := in.do(ctx, m)
	end := h.now()
	if errors.Is(err, ErrOutcomeUnknown) {
		out, end = output{unknown: true}, math.MaxInt64
	} else if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if out.unknown {
		h.lost++
	}
	h.all = append(h.all, porcupine.Operation{ClientId: client, Input: in, Call: call, Output: out, Return: end})
	return nil
}

var ops = []string{"get", "get", "put", "swap", "take", "cas", "cas", "absent", "replace", "compute", "compute"}

func randomInput() input {
	return input{ops[rand.IntN(len(ops))], string(rune('a' + rand.IntN(3))), rand.IntN(5), rand.IntN(5)}
}

// TestHistoriesAreLinearizable loses replies under goroutines of two clients
// that use the same few entries.
func TestHistoriesAreLinearizable(t *testing.T) {
	t.Parallel()
	plain := func(e *locking.Engine, key string, opts ...MapOption) *Map[string, int] {
		return New[string, int](e, key, opts...)
	}
	native := func(e *locking.Engine, key string, opts ...MapOption) *Map[string, int] {
		return &Map[string, int]{NewTTLMap[string, int](e, key, append(maptest.As[TTLMapOption](opts), WithTTL(time.Hour))...).wholeMap}
	}
	for name, c := range map[string]struct {
		of      func(e *locking.Engine, key string, opts ...MapOption) *Map[string, int]
		version string
		opts    []MapOption
	}{
		"without ids":         {plain, "7.0", nil},
		"with ids":            {plain, "7.0", []MapOption{WithRequestIDs()}},
		"native, without ids": {native, "8.0", nil},
		"native, with ids":    {native, "8.0", []MapOption{WithRequestIDs()}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t, redistest.Version(c.version))
			for range redistest.Count(t, 3, 300) {
				h := runHistory(t, server, func(e *locking.Engine, key string) *Map[string, int] { return c.of(e, key, c.opts...) })
				require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(cells, h.all, 20*time.Second))
				if c.opts == nil {
					require.Positive(t, h.lost, "no reply was lost")
				} else {
					require.Zero(t, h.lost, "each write is seen through")
				}
			}
		})
	}
}

func runHistory(t *testing.T, server *redistest.Server, of func(e *locking.Engine, key string) *Map[string, int]) *history {
	t.Helper()
	raw := server.Client(t)
	key := maptest.Named(t, raw)
	h := &history{began: time.Now()}
	var all sync.WaitGroup
	for i := range 2 {
		client, proxy := maptest.Through(t, server)
		m := of(maptest.EngineOn(t, client), key)
		proxy.DropReply(sometimes(key), 1<<30)
		for j := range 4 {
			all.Go(func() {
				for range 40 {
					assert.NoError(t, h.record(t.Context(), 4*i+j, m, randomInput()))
				}
			})
		}
	}
	all.Wait()
	return h
}

// sometimes matches what is about a map, but no request so often that a client
// gives it up.
func sometimes(key string) redistest.Match {
	var mu sync.Mutex
	lost := map[string]int{}
	return func(cmd []string) bool {
		mu.Lock()
		defer mu.Unlock()
		text := strings.Join(cmd, " ")
		if !slices.Contains(cmd, key) || lost[text] == 2 || rand.IntN(40) > 0 {
			return false
		}
		lost[text]++
		return true
	}
}

// TestAHistoryThatIsNotLinearizableIsSeen: a check that cannot fail shows
// nothing.
func TestAHistoryThatIsNotLinearizableIsSeen(t *testing.T) {
	t.Parallel()
	put := porcupine.Operation{Input: input{op: "put", key: "a", a: 1}, Output: output{}, Call: 0, Return: 1}
	get := porcupine.Operation{Input: input{op: "get", key: "a"}, Output: output{n: 2, did: true}, Call: 2, Return: 3}
	require.False(t, porcupine.CheckOperations(cells, []porcupine.Operation{put, get}))
	get.Output = output{n: 1, did: true}
	require.True(t, porcupine.CheckOperations(cells, []porcupine.Operation{put, get}))
}
