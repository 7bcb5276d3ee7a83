package bucket

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/turn"
)

// hub is what the buckets of one client have in common.
type hub struct {
	e       *locking.Engine
	gets    *combine.Table[string, struct{}, value]
	updates *turn.Turns[place, value]
	sizes   *paging.Sizes // of values
}

type hubKey struct{}

// hubOf returns the hub of a client.
func hubOf(e *locking.Engine) *hub {
	return e.Shared(hubKey{}, func() any { return newHub(e) }).(*hub)
}

// getFlights is how many reads of one bucket may be under way at once.
const getFlights = 4

func newHub(e *locking.Engine) *hub {
	h := &hub{e: e, sizes: paging.NewSizes()}
	h.gets = combine.New(combine.Config[string, struct{}, value]{
		Send: h.sendGets, Sent: e.Sent("bucket"), Spawn: e.Spawn, Closed: core.ErrClosed, Flights: getFlights,
	})
	h.updates = turn.New(turn.Config[place, value]{Engine: e, Unheard: h.unheard})
	return h
}

// value is what a bucket has, or that there is none.
type value struct {
	text  string
	there bool
}

// valueOf returns an answer that is a value.
func valueOf(got send.Answer, err error) (v value, _ error) {
	v.text, v.there, err = send.Text(got, err)
	return v, err
}

// sendGets reads a bucket once for all callers of a batch.
func (h *hub) sendGets(key string, _ int, batch []*combine.Call[struct{}, value]) error {
	if err := h.e.Open(); err != nil {
		return err
	}
	size := h.sizes.Of(key)
	v, err := valueOf(h.e.Run(context.Background(), send.Expect(readOne, size.Load()), []string{key}, nil))
	if err != nil {
		return err
	}
	if v.there {
		size.Saw(len(v.text), 1)
	}
	for _, c := range batch {
		c.Answer = v
	}
	return nil
}

// get reads a bucket, together with other callers.
func (h *hub) get(ctx context.Context, key string) (value, error) {
	return h.gets.Do(ctx, key, struct{}{})
}

// answering returns an operation whose answer has the value of a bucket.
func (h *hub) answering(op send.Operation, key string) send.Operation {
	return send.Expect(op, h.sizes.Of(key).Load())
}

// unheard logs a panic that no caller gets.
func (h *hub) unheard(at place, err error) {
	h.e.Logger.Error("a function of Update panicked when its caller had gone, or on a value that was not written", "name", at.key, "err", err)
}
