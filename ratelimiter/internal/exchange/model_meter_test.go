package exchange

import (
	"cmp"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/bucket"
)

// kept is a world whose bucket the process keeps.
type kept struct {
	*world
	meters bucket.Meters
}

const keptState = "state"

func (w *kept) step() {
	w.tick()
	switch {
	case w.happens(12):
		if h, ok := w.release(); ok {
			w.cancel(h)
		}
	case w.happens(60):
		w.blockFor(1 + w.below(2*w.µs(w.rule.model, 1+w.below(w.rule.code.Burst))))
	case w.happens(80):
		w.note("reset")
		w.m = model{own: true}
		w.meters.Reset(keptState)
	case w.happens(160) && w.now > w.latest:
		w.anew(w.otherRate())
		w.note("anew %v", w.rule.code.Rate)
	case w.happens(40):
		w.change(w.otherRate(), w.happens(4))
		w.note("set rate %v, reset at %d", w.rule.code.Rate, w.resets)
	default:
		w.serve()
	}
	w.same()
}

// serve decides about some calls, one after the other.
func (w *kept) serve() {
	r := w.rule
	if w.happens(20) {
		r = w.own[w.rng.IntN(len(w.own))]
	}
	for _, c := range w.batch(r) {
		c.Ask.Extra = 0
		w.note("%v gen %d: %s", r.code.Rate, r.code.Generation, wish{batch{c}, w.mono()})
		b := batch{c}
		told, stale := w.play(r, b)
		require.False(w.t, stale)
		got, taken := w.meters.Answer(keptState, c.Ask.Want, w.mono())
		c.Answer = Answer{State: got, OK: taken > 0, Taken: taken}
		w.compare(r, b, told)
		w.same()
	}
}

func (w *kept) cancel(h held) {
	w.note("cancel %d of %v at %d", h.n, h.rule.Rate, h.t)
	w.gave(w.m.cancel(h, w.now))
	w.meters.Cancel(bucket.Cancellation{State: keptState, Ticks: h.got.Rule.Ticks(h.n), Left: h.got.State}, w.mono())
}

func (w *kept) blockFor(µs int64) {
	w.note("block %dµs", µs)
	_, stale := w.m.look(w.rule.model, w.now) // which makes the rule known
	require.False(w.t, stale)
	w.m.setBlock(w.rule.model, w.now, w.now+µs)
	w.meters.SetBlock(keptState, w.rule.code, w.mono(), time.Duration(µs)*time.Microsecond)
}

// same compares what is kept.
func (w *kept) same() {
	b, there := w.meters.At(keptState, w.mono())
	b.Rule = cmp.Or(b.Rule, w.rule.code)
	if w.m.there {
		now := view{modelRule: w.m.by, missing: w.m.missing, t: w.m.t}
		now.refill(w.m.by.floor(w.now))
		w.m.missing, w.m.t = now.missing, now.t
	}
	if !w.m.there || (w.m.missing.Sign() == 0 && w.m.block <= w.now) {
		require.True(w.t, !there || b.Missing == 0 && b.Block == 0, "full means absent, or as good as that\n%s", w)
		return
	}
	require.True(w.t, there, "something is missing, %v at %d\n%s", w.m.missing, w.m.t, w)
	missing := new(big.Rat).SetFrac64(b.Missing, b.Rule.PerToken)
	require.Zero(w.t, missing.Cmp(w.m.missing), "%v missing, not %v\n%s", missing, w.m.missing, w)
	require.Equal(w.t, w.m.gen, b.Rule.Generation, "%s", w)
	// A block is rounded up to the unit of each rule that it has met.
	require.InDelta(w.t, max(w.now, w.m.block), w.now+b.Block, 1_000_000, "%s", w)
	if w.m.missing.Sign() > 0 {
		require.Equal(w.t, w.m.t, b.AsOf, "%s", w)
	}
}

// What a process decides by itself is what the server would.
func TestMetersAgreeWithTheExactModel(t *testing.T) {
	const seed, worlds = 20261122, 52
	steps := modelSteps(t) / 2
	t.Logf("seed %d, %d steps", seed, steps)
	var n tally
	for i := range worlds {
		w := &kept{world: newWorld(t, seed, uint64(i), modelRates)}
		w.m.own = true
		for range steps/worlds + 1 {
			w.step()
		}
		n.add(w.tally)
	}
	t.Logf("%+v", n)
	for _, count := range []int{n.granted, n.refused, n.some * 5, n.blocked, n.cancelled * 50, n.changed} {
		require.Greater(t, count, steps/100)
	}
}
