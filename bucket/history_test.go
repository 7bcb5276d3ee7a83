package bucket

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

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// input is one operation on one bucket, and output what it answered.
type (
	input struct {
		op   string
		a, b int
	}
	output struct {
		n       int
		did     bool
		unknown bool
	}
	// cell is what a bucket has.
	cell struct {
		there bool
		n     int
	}
)

// after returns what the operation makes of a cell, and what it answers.
func (in input) after(c cell) (cell, output) {
	was := output{n: c.n, did: c.there}
	switch in.op {
	case "get":
		return c, was
	case "set":
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
	case "cad":
		if c == (cell{true, in.a}) {
			return cell{}, output{did: true}
		}
		return c, output{}
	case "absent":
		if c.there {
			return c, output{}
		}
		return cell{true, in.a}, output{did: true}
	case "exists":
		if c.there {
			return cell{true, in.a}, output{did: true}
		}
		return c, output{}
	case "update":
		if c.n >= 5 {
			return cell{}, output{}
		}
		return cell{true, c.n + 1}, output{n: c.n + 1, did: true}
	}
	panic(in.op)
}

// do does the operation.
func (in input) do(ctx context.Context, b *Bucket[int]) (out output, err error) {
	switch in.op {
	case "get":
		out.n, out.did, err = b.Get(ctx)
	case "set":
		err = b.Set(ctx, in.a)
	case "swap":
		out.n, out.did, err = b.Swap(ctx, in.a)
	case "take":
		out.n, out.did, err = b.Take(ctx)
	case "cas":
		out.did, err = b.CompareAndSwap(ctx, in.a, in.b)
	case "cad":
		out.did, err = b.CompareAndDelete(ctx, in.a)
	case "absent":
		out.did, err = b.SetIfAbsent(ctx, in.a)
	case "exists":
		out.did, err = b.SetIfExists(ctx, in.a)
	case "update":
		out.n, out.did, err = b.Update(ctx, func(old int, _ bool) (int, Verdict, error) {
			if old >= 5 {
				return 0, Delete, nil
			}
			return old + 1, Store, nil
		})
	}
	return out, err
}

var cells = porcupine.Model{
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
func (h *history) record(ctx context.Context, client int, b *Bucket[int], in input) error {
	call := h.now()
	out, err := in.do(ctx, b)
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

var ops = []string{"get", "get", "set", "swap", "take", "cas", "cas", "cad", "absent", "exists", "update", "update", "update"}

// TestHistoriesAreLinearizable loses replies under goroutines of two clients
// that use one bucket.
func TestHistoriesAreLinearizable(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t, redistest.Version(version))
			for range redistest.Count(t, 3, 300) {
				h := runHistory(t, server)
				require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(cells, h.all, 20*time.Second))
				require.Positive(t, h.lost, "no reply was lost")
			}
		})
	}
}

func runHistory(t *testing.T, server *redistest.Server) *history {
	t.Helper()
	key := fresh(t, server.Client(t))
	h := &history{began: time.Now()}
	var all sync.WaitGroup
	for i := range 2 {
		client, proxy := redistest.ThroughProxy(t, server)
		b := New[int](enginetest.On(t, client), key)
		proxy.DropReply(sometimes(key), 1<<30)
		for j := range 3 {
			all.Go(func() {
				for range 25 {
					in := input{ops[rand.IntN(len(ops))], rand.IntN(5), rand.IntN(5)}
					assert.NoError(t, h.record(t.Context(), 3*i+j, b, in))
				}
			})
		}
	}
	all.Wait()
	return h
}

// sometimes matches what is about a bucket, but no request so often that a client
// gives it up.
func sometimes(key string) redistest.Match {
	var mu sync.Mutex
	lost := map[string]int{}
	return func(cmd []string) bool {
		mu.Lock()
		defer mu.Unlock()
		text := strings.Join(cmd, " ")
		if !slices.Contains(cmd, key) || lost[text] == 2 || rand.IntN(30) > 0 {
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
	set := porcupine.Operation{Input: input{op: "set", a: 1}, Output: output{}, Call: 0, Return: 1}
	update := porcupine.Operation{Input: input{op: "update"}, Output: output{n: 3, did: true}, Call: 2, Return: 3}
	require.False(t, porcupine.CheckOperations(cells, []porcupine.Operation{set, update}))
	update.Output = output{n: 2, did: true}
	require.True(t, porcupine.CheckOperations(cells, []porcupine.Operation{set, update}))
}
