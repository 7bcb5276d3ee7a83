package sortedset

import (
	"context"
	"fmt"
	"math"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/paging"
)

// hub is what the sorted sets of one client have in common.
type hub struct {
	e      *locking.Engine
	scores *combine.Table[string, string, float64]
	sizes  *paging.Sizes // of members
}

type hubKey struct{}

const (
	// flights is how many reads of scores of one set may be under way at once.
	flights = 4
	// mostTogether bounds the calls that go out together.
	mostTogether = 256
)

// hubOf returns the hub of a client.
func hubOf(e *locking.Engine) *hub {
	return e.Shared(hubKey{}, func() any {
		h := &hub{e: e, sizes: paging.NewSizes()}
		h.scores = combine.New(combine.Config[string, string, float64]{
			Send: h.sendScores, Cut: cutScores, Sent: e.Sent("sorted set"), Spawn: e.Spawn, Closed: core.ErrClosed, Flights: flights,
		})
		return h
	}).(*hub)
}

type scoreCall = combine.Call[string, float64]

// cutScores returns how many waiting calls go out as one.
func cutScores(waiting []*scoreCall) int {
	return cut(len(waiting), mostTogether, func(i int) int { return len(waiting[i].Ask) })
}

// sendScores reads the scores of all calls.
func (h *hub) sendScores(key string, _ int, batch []*scoreCall) error {
	texts := make([]string, len(batch))
	for i, c := range batch {
		texts[i] = c.Ask
	}
	scores, err := h.scoresOf(context.Background(), key, texts)
	for i := range scores {
		batch[i].Answer = scores[i]
	}
	return err
}

// scoresOf returns the scores of members, NaN where there is none.
func (h *hub) scoresOf(ctx context.Context, key string, texts []string) ([]float64, error) {
	if err := h.e.Open(); err != nil {
		return nil, err
	}
	got, err := h.e.Run(ctx, zmscore, []string{key}, texts)
	if err != nil {
		return nil, err
	}
	all, err := got.ToArray()
	if err != nil {
		return nil, err
	}
	if len(all) != len(texts) {
		return nil, fmt.Errorf("%d scores of %d members", len(all), len(texts))
	}
	scores := make([]float64, len(all))
	for i := range all {
		if all[i].IsNil() {
			scores[i] = math.NaN()
		} else if scores[i], err = all[i].AsFloat64(); err != nil {
			return nil, err
		}
	}
	return scores, nil
}
