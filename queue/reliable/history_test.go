package reliable

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// input is one operation on a message, and output what it answered.
type (
	input struct {
		op      string // got, ack or nack
		value   string
		attempt int
	}
	output string // done, lost or unknown
)

// life is the state of a message.
type life struct {
	attempt int  // the last that somebody was given
	held    bool // by whoever was given it, as far as he may know
	done    bool
}

// messages is what the acknowledgements of a queue may look like: each attempt is given
// to one, after those before it, and only the last one settles.
var messages = porcupine.Model{
	Partition: func(all []porcupine.Operation) (parts [][]porcupine.Operation) {
		of := map[string][]porcupine.Operation{}
		for _, op := range all {
			v := op.Input.(input).value
			of[v] = append(of[v], op)
		}
		for _, part := range of {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return life{} },
	Step: func(state, in, out any) (bool, any) {
		s, op, got := state.(life), in.(input), out.(output)
		if op.op == "got" {
			return !s.done && op.attempt > s.attempt, life{attempt: op.attempt, held: true}
		}
		its := s.held && !s.done && s.attempt == op.attempt
		switch {
		case got == "lost", got == "unknown" && !its:
			return true, s
		case op.op == "ack":
			return its, life{attempt: s.attempt, done: true}
		}
		return its, life{attempt: s.attempt}
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprint(in, " ", out) },
}

// history is what several clients did, and when.
type history struct {
	began time.Time
	mu    sync.Mutex
	all   []porcupine.Operation
	count map[output]int
}

func (h *history) now() int64 { return int64(time.Since(h.began)) }

func (h *history) add(client int, in input, out output, call, end int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, porcupine.Operation{ClientId: client, Input: in, Output: out, Call: call, Return: end})
	h.count[out]++
}

// struck is how many settles an outage was in the way of.
func (h *history) struck() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count["lost"] + h.count["unknown"]
}

// handle works on a message for a while, whatever its context says, and settles it.
func (h *history) handle(client int, m *Message[string]) {
	h.add(client, input{"got", m.Value, m.Attempt}, "done", 0, h.now())
	time.Sleep(rand.N(60 * time.Millisecond))
	if rand.N(8) == 0 {
		time.Sleep(rand.N(1200 * time.Millisecond))
	}
	op, settle := "ack", m.Ack
	if rand.N(6) == 0 {
		op, settle = "nack", func(ctx context.Context) error {
			return m.Nack(ctx, errors.New("again"), WithDelay(rand.N(30*time.Millisecond)))
		}
	}
	call := h.now()
	err := settle(context.Background())
	end, out := h.now(), output("done")
	switch {
	case errors.Is(err, ErrOutcomeUnknown):
		out, end = "unknown", math.MaxInt64 // it may be done at any time, or never
	case errors.Is(err, ErrLost):
		out = "lost"
	case err != nil:
		panic(err)
	}
	h.add(client, input{op, m.Value, m.Attempt}, out, call, end)
}

// TestHistoriesOfAcknowledgements under outages that are longer than the lease are those
// that the model allows.
func TestHistoriesOfAcknowledgements(t *testing.T) {
	t.Parallel()
	onRealTogether(t, func(t *testing.T, server *redistest.Server) {
		r := rigOn(t, server.Client(t))
		n := redistest.Count(t, 30, 1500)
		for i := range n {
			r.adds(strconv.Itoa(i))
		}
		h := &history{began: time.Now(), count: map[output]int{}}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 3 {
			client, proxy := redistest.ThroughProxy(t, server)
			o := &rig{t: t, raw: r.raw, e: engineOn(t, client)}
			o.Queue = New[string](o.e, r.name, WithLease(700*time.Millisecond), WithMaxAttempts(1000),
				WithBackoff(func(int) time.Duration { return 5 * time.Millisecond }))
			for j := range 3 {
				all.Go(func() {
					for m, err := range o.Consume(ctx) {
						if err == nil {
							h.handle(3*i+j, m)
						} else if ctx.Err() == nil && !errors.Is(err, ErrOutcomeUnknown) { // an outage may be longer than a receive bears
							t.Errorf("%v", err)
						}
					}
				})
			}
			all.Go(func() { breaks(ctx, proxy) })
		}
		redistest.Eventually(t, func() bool { // and there is more to do until an outage was in the way
			if r.counter("acked") != int64(n) {
				return false
			}
			if h.struck() > 0 {
				return true
			}
			r.adds("further " + strconv.Itoa(n))
			n++
			return false
		}, 3*soon, 10*time.Millisecond)
		cancel()
		all.Wait()
		t.Logf("%d operations: %v", len(h.all), h.count)
		result, _ := porcupine.CheckOperationsVerbose(messages, h.all, time.Minute)
		require.Equal(t, porcupine.Ok, result)
		r.leaves()
	})
}

// breaks is what happens on the way to the server.
func breaks(ctx context.Context, proxy *redistest.Proxy) {
	defer proxy.Restore()
	for ctx.Err() == nil {
		switch rand.N(4) {
		case 0:
			proxy.CutAll()
		case 1:
			proxy.DropReply(redistest.AnyScript(), 1)
		case 2:
			proxy.BlackHole()
			time.Sleep(rand.N(1200 * time.Millisecond))
			proxy.Restore()
			proxy.CutAll()
		}
		time.Sleep(rand.N(300 * time.Millisecond))
	}
}

// TestTheModelOfHistoriesSeesWhatItIsThereFor: it would be worth nothing if it could not
// fail.
func TestTheModelOfHistoriesSeesWhatItIsThereFor(t *testing.T) {
	t.Parallel()
	op := func(op string, attempt int, out output, call, end int64) porcupine.Operation {
		return porcupine.Operation{Input: input{op, "a", attempt}, Output: out, Call: call, Return: end}
	}
	good := []porcupine.Operation{
		op("got", 1, "done", 0, 1), op("ack", 1, "lost", 9, 10), op("got", 2, "done", 0, 5), op("nack", 2, "done", 6, 7),
		op("got", 3, "done", 0, 8), op("ack", 3, "done", 11, 12),
	}
	require.True(t, porcupine.CheckOperations(messages, good))
	for what, bad := range map[string][]porcupine.Operation{
		"an ack behind the next attempt": {op("got", 1, "done", 0, 1), op("got", 2, "done", 0, 2), op("ack", 1, "done", 3, 4)},
		"an attempt of two":              {op("got", 1, "done", 0, 1), op("got", 1, "done", 0, 2)},
		"two acks":                       {op("got", 1, "done", 0, 1), op("ack", 1, "done", 2, 3), op("ack", 1, "done", 4, 5)},
		"one that comes again":           {op("got", 1, "done", 0, 1), op("ack", 1, "done", 2, 3), op("got", 2, "done", 4, 5)},
	} {
		require.False(t, porcupine.CheckOperations(messages, bad), what)
	}
}
