package set

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/sweep"
)

// hub is what the sets of one client have in common.
type hub struct {
	e      *locking.Engine
	has    *combine.Table[string, string, bool]
	ends   *combine.Table[string, string, end]
	sizes  *paging.Sizes // of members
	latch  *sweep.Latch
	sweeps *sweep.Sweeper
}

type hubKey struct{}

// hubOf returns the hub of a client.
func hubOf(e *locking.Engine) *hub {
	return e.Shared(hubKey{}, func() any { return newHub(e) }).(*hub)
}

const (
	// flights is how many reads of one set may be under way at once.
	flights = 4
	// mostTogether bounds the calls that go out together.
	mostTogether = 256
)

func newHub(e *locking.Engine) *hub {
	h := &hub{e: e, sizes: paging.NewSizes(), latch: sweep.NewLatch(e, "sets"), sweeps: sweep.Of(e)}
	h.has = combine.New(combine.Config[string, string, bool]{
		Send: func(key string, _ int, batch []*combine.Call[string, bool]) error {
			return together(key, batch, h.areIn)
		},
		Cut: cutOf[bool], Sent: e.Sent("set"), Spawn: e.Spawn, Closed: core.ErrClosed, Flights: flights,
	})
	h.ends = combine.New(combine.Config[string, string, end]{
		Send: func(key string, _ int, batch []*combine.Call[string, end]) error {
			return together(key, batch, h.endsOf)
		},
		Cut: cutOf[end], Sent: e.Sent("set cache"), Spawn: e.Spawn, Closed: core.ErrClosed, Flights: flights,
	})
	return h
}

// cutOf returns how many waiting calls go out as one.
func cutOf[A any](waiting []*combine.Call[string, A]) int {
	bytes := 0
	for i, c := range waiting {
		if bytes += len(c.Ask); i > 0 && (i == mostTogether || bytes > paging.Bytes) {
			return i
		}
	}
	return len(waiting)
}

// together asks about the members of a batch.
func together[A any](key string, batch []*combine.Call[string, A], ask func(ctx context.Context, key string, texts []string) ([]A, error)) error {
	texts := make([]string, len(batch))
	for i, c := range batch {
		texts[i] = c.Ask
	}
	answers, err := ask(context.Background(), key, texts)
	for i := range answers {
		batch[i].Answer = answers[i]
	}
	return err
}

// areIn reports which texts are members of the set of a key.
func (h *hub) areIn(ctx context.Context, key string, texts []string) ([]bool, error) {
	all, err := h.each(ctx, smismember, key, texts)
	are := make([]bool, len(all))
	for i := 0; err == nil && i < len(all); i++ {
		var n int64
		n, err = all[i].AsInt64()
		are[i] = n == 1
	}
	return are, err
}

// endsOf returns when members of the set with times to live of a key end.
func (h *hub) endsOf(ctx context.Context, key string, texts []string) ([]end, error) {
	all, err := h.each(ctx, zmscore, key, texts)
	if err != nil {
		return nil, err
	}
	return endsIn(all)
}

// each sends a read about members, and returns its answer to each of them.
func (h *hub) each(ctx context.Context, op send.Operation, key string, texts []string) ([]rueidis.RedisMessage, error) {
	if err := h.e.Open(); err != nil {
		return nil, err
	}
	got, err := h.e.Run(ctx, op, []string{key}, texts)
	if err != nil {
		return nil, err
	}
	all, err := got.ToArray()
	if err == nil && len(all) != len(texts) {
		err = fmt.Errorf("%d answers about %d members", len(all), len(texts))
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}

// inEach asks about all texts, a part at a time, and appends the answers.
func inEach[A any](ctx context.Context, h *hub, key string, texts []string, ask func(ctx context.Context, key string, texts []string) ([]A, error)) ([]A, error) {
	answers := make([]A, 0, len(texts))
	_, err := inParts(texts, mostMembers, func(some []string) (int64, error) {
		got, err := send.Reading(h.e.Sender, ctx, func() ([]A, error) { return ask(ctx, key, some) })
		answers = append(answers, got...)
		return 0, err
	})
	if err != nil {
		return nil, err
	}
	return answers, nil
}
