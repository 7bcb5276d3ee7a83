package queue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// input is one operation, and output what it answered.
type (
	input  struct{ op, v string }
	output struct {
		v       string // what was taken; "" for none
		unknown bool
	}
)

// deques is a queue of both ends. Its state is its elements, with a space behind
// each.
var deques = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, in, out any) (bool, any) {
		was, op, got := state.(string), in.(input), out.(output)
		switch op.op {
		case "offer":
			return true, was + op.v + " "
		case "first":
			return true, op.v + " " + was
		}
		elements := strings.Fields(was)
		if len(elements) == 0 {
			return got.unknown || op.op == "poll" && got.v == "", was
		}
		at := 0
		if strings.HasSuffix(op.op, "last") {
			at = len(elements) - 1
		}
		took := elements[at]
		left := strings.Join(slices.Delete(elements, at, at+1), " ") + " "
		return got.unknown || got.v == took, strings.TrimLeft(left, " ")
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

// does is one operation on a queue.
type does interface {
	do(ctx context.Context, in input) (v string, err error)
}

// list is a queue of both ends.
type list struct{ *Queue[string] }

func (q list) do(ctx context.Context, in input) (v string, err error) {
	switch in.op {
	case "offer":
		_, err = q.Offer(ctx, in.v)
	case "first":
		_, err = q.OfferFirst(ctx, in.v)
	case "poll":
		v, err = q.Poll(ctx)
	case "take":
		v, err = q.Take(ctx)
	case "take last":
		v, err = q.TakeLast(ctx)
	}
	if errors.Is(err, ErrEmpty) {
		err = nil
	}
	return v, err
}

// record does one operation. One whose answer was lost may be done at any time
// after its call, or never, which is as good as at the very end.
func (h *history) record(ctx context.Context, client int, q does, in input) error {
	call := h.now()
	v, err := q.do(ctx, in)
	end, out := h.now(), output{v: v}
	if errors.Is(err, ErrOutcomeUnknown) {
		out, end = output{unknown: true}, math.MaxInt64
	} else if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, porcupine.Operation{ClientId: client, Input: in, Call: call, Output: out, Return: end})
	return nil
}

// lose says that a connection was cut, which may have lost an element of each end.
func (h *history) lose() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost++
	for _, op := range []string{"take", "take", "take last"} {
		h.all = append(h.all, porcupine.Operation{Input: input{op: op}, Call: 0, Output: output{unknown: true}, Return: math.MaxInt64, ClientId: 100 + len(h.all)})
	}
}

// TestHistoriesAreLinearizable cuts connections under goroutines of two clients
// that offer, poll and wait.
func TestHistoriesAreLinearizable(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	for i := range redistest.Count(t, 20, 1000) {
		t.Run(strconv.Itoa(i), func(t *testing.T) { // whose proxies end with it
			h := runHistory(t, server, []string{"offer", "first", "poll"}, func(e *locking.Engine, key string) does {
				return list{New[string](e, key, WithCodec(codec.Text))}
			})
			require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(deques, h.all, 30*time.Second))
		})
	}
}

// runHistory has two clients do some of these operations, and take.
func runHistory(t *testing.T, server *redistest.Server, ops []string, queue func(e *locking.Engine, key string) does) *history {
	t.Helper()
	raw := server.Client(t)
	key := named(t, raw)
	h := &history{began: time.Now()}
	var all, takers sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	direct := queue(engineOn(t, raw), key)
	for i := range 2 {
		client, proxy := through(t, server)
		q := queue(engineOn(t, client), key)
		for j, op := range []string{"take", "take last"} {
			takers.Go(func() {
				for range 4 {
					assert.NoError(t, h.record(ctx, 10*i+j, q, input{op: op}))
				}
			})
		}
		all.Go(func() {
			for n := range 8 {
				in := input{ops[rand.IntN(len(ops))], fmt.Sprintf("%d%d", i, n)}
				assert.NoError(t, h.record(ctx, 10*i+5, q, in))
			}
		})
		if i == 0 {
			all.Go(func() {
				time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
				h.lose()
				proxy.CutAll()
			})
		}
	}
	all.Wait()
	done := make(chan struct{})
	go func() { takers.Wait(); close(done) }()
	for n := 0; ; n++ { // until all takers have something
		select {
		case <-done:
			return h
		case <-time.After(20 * time.Millisecond):
			require.NoError(t, h.record(ctx, 50, direct, input{"offer", strconv.Itoa(100 + n)}))
		}
	}
}

// ranks is a priority queue of numbers, each of which is its score, too. Its state
// is they, in order.
var ranks = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, in, out any) (bool, any) {
		was, op, got := strings.Fields(state.(string)), in.(input), out.(output)
		if op.op == "offer" {
			if !slices.Contains(was, op.v) {
				was = append(was, op.v)
			}
			slices.SortFunc(was, func(a, b string) int { x, _ := strconv.Atoi(a); y, _ := strconv.Atoi(b); return x - y })
			return true, strings.Join(was, " ")
		}
		if len(was) == 0 {
			return got.unknown || strings.HasPrefix(op.op, "poll") && got.v == "", state
		}
		at := 0
		if strings.HasSuffix(op.op, "last") {
			at = len(was) - 1
		}
		took := was[at]
		return got.unknown || got.v == took, strings.Join(slices.Delete(was, at, at+1), " ")
	},
	DescribeOperation: deques.DescribeOperation,
}

// ranking is a priority queue.
type ranking struct{ *Priority[string] }

func (q ranking) do(ctx context.Context, in input) (string, error) {
	var v Scored[string]
	var err error
	switch in.op {
	case "offer":
		n, _ := strconv.Atoi(in.v)
		_, err = q.Offer(ctx, in.v, float64(n))
	case "poll":
		v, err = q.Poll(ctx)
	case "poll last":
		v, err = q.PollLast(ctx)
	case "take":
		v, err = q.Take(ctx)
	case "take last":
		v, err = q.TakeLast(ctx)
	}
	if errors.Is(err, ErrEmpty) {
		err = nil
	}
	return v.Value, err
}

// TestHistoriesOfPriorityQueuesAreLinearizable, too.
func TestHistoriesOfPriorityQueuesAreLinearizable(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	for i := range redistest.Count(t, 15, 1000) {
		t.Run(strconv.Itoa(i), func(t *testing.T) { // whose proxies end with it
			h := runHistory(t, server, []string{"offer", "offer", "poll", "poll last"}, func(e *locking.Engine, key string) does {
				return ranking{NewPriority[string](e, key, WithCodec(codec.Text))}
			})
			require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(ranks, h.all, 30*time.Second))
		})
	}
}

// TestAHistoryThatIsNotLinearizableIsSeen: a check that cannot fail shows
// nothing.
func TestAHistoryThatIsNotLinearizableIsSeen(t *testing.T) {
	t.Parallel()
	at := func(n int64, op, v, got string) porcupine.Operation {
		return porcupine.Operation{Input: input{op, v}, Output: output{v: got}, Call: n, Return: n + 1}
	}
	offers := []porcupine.Operation{at(0, "offer", "a", ""), at(2, "offer", "b", "")}
	require.True(t, porcupine.CheckOperations(deques, append(offers, at(4, "take", "", "a"), at(6, "take last", "", "b"))))
	require.False(t, porcupine.CheckOperations(deques, append(offers, at(4, "take", "", "b"))), "out of order")
	require.False(t, porcupine.CheckOperations(deques, append(offers, at(4, "take", "", "a"), at(6, "take last", "", "a"))), "twice")
	require.False(t, porcupine.CheckOperations(deques, append(offers, at(4, "poll", "", ""))), "lost")
	offers = []porcupine.Operation{at(0, "offer", "2", ""), at(2, "offer", "1", ""), at(3, "offer", "2", "")}
	require.True(t, porcupine.CheckOperations(ranks, append(offers, at(5, "take", "", "1"), at(7, "take last", "", "2"), at(9, "poll", "", ""))))
	require.False(t, porcupine.CheckOperations(ranks, append(offers, at(5, "take", "", "2"))), "out of order")
	require.False(t, porcupine.CheckOperations(ranks, append(offers, at(5, "take", "", "1"), at(7, "poll last", "", ""))), "lost")
}
