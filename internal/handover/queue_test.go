package handover

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hold stands for what is handed over.
type hold int

// came returns a waiter's turn, if it has come.
func came(w *Waiter[hold]) (turn Turn[hold], ok bool) {
	select {
	case turn = <-w.Turn():
		return turn, true
	default:
		return turn, false
	}
}

// taken is a queue whose turn somebody has, and n waiters behind it.
func taken(t *testing.T, n int) (*Queue[hold], []*Waiter[hold]) {
	t.Helper()
	q := new(Queue[hold])
	require.True(t, q.TryEnter())
	var waiters []*Waiter[hold]
	for range n {
		w := NewWaiter[hold](true)
		require.False(t, q.Enter(w))
		waiters = append(waiters, w)
	}
	return q, waiters
}

func TestAnIdleQueueGivesTheTurnAtOnce(t *testing.T) {
	t.Parallel()
	var q Queue[hold]
	assert.True(t, q.TryEnter())
	assert.False(t, q.TryEnter(), "somebody has it")
	q.Pass()
	w := NewWaiter[hold](true)
	assert.True(t, q.Enter(w))
	assert.Zero(t, q.Waiting(), "whoever has the turn does not wait")
	_, ok := came(w)
	assert.False(t, ok, "Enter said so itself")
	q.Pass()
	assert.True(t, q.TryEnter())
}

func TestPassMakesTheLongestWaiterHead(t *testing.T) {
	t.Parallel()
	q, waiters := taken(t, 3)
	for i, w := range waiters {
		assert.Equal(t, 3-i, q.Waiting())
		q.Pass()
		turn, ok := came(w)
		assert.True(t, ok, "waiter %d", i)
		assert.Equal(t, Turn[hold]{}, turn)
		for _, behind := range waiters[i+1:] {
			_, ok := came(behind)
			assert.False(t, ok, "two have the turn")
		}
	}
	assert.False(t, q.TryEnter(), "the last one has it still")
	q.Pass()
	assert.True(t, q.TryEnter())
}

func TestHandGivesTheHoldToTheLongestWaiter(t *testing.T) {
	t.Parallel()
	q, waiters := taken(t, 2)
	for i, w := range waiters {
		assert.True(t, q.Hand(hold(i)))
		turn, ok := came(w)
		assert.True(t, ok)
		assert.Equal(t, Turn[hold]{Hold: hold(i), Handed: true}, turn)
	}
	assert.False(t, q.Hand(7), "nobody waits")
	assert.False(t, q.TryEnter(), "a refused Hand gives nothing on")
}

func TestHandNeverPassesOverAWaiterThatDoesNotTakeHolds(t *testing.T) {
	t.Parallel()
	q, _ := taken(t, 0)
	picky, willing := NewWaiter[hold](false), NewWaiter[hold](true)
	q.Enter(picky)
	q.Enter(willing)
	assert.False(t, q.Hand(7))
	for _, w := range []*Waiter[hold]{picky, willing} {
		_, ok := came(w)
		assert.False(t, ok)
	}
	assert.Equal(t, 2, q.Waiting())
	q.Pass()
	turn, ok := came(picky)
	assert.True(t, ok)
	assert.False(t, turn.Handed)
	assert.True(t, q.Hand(7), "and then it goes on")
	turn, _ = came(willing)
	assert.Equal(t, Turn[hold]{Hold: 7, Handed: true}, turn)
}

func TestTryEnterDoesNotOvertake(t *testing.T) {
	t.Parallel()
	q, waiters := taken(t, 1)
	assert.False(t, q.TryEnter())
	q.Pass()
	assert.False(t, q.TryEnter(), "the waiter has the turn now, whether or not it has looked")
	_, ok := came(waiters[0])
	assert.True(t, ok)
}

func TestWhoeverLeavesBeforeItsTurnIsSkipped(t *testing.T) {
	t.Parallel()
	for leaver := range 3 {
		t.Run(fmt.Sprint("waiter ", leaver), func(t *testing.T) {
			t.Parallel()
			q, waiters := taken(t, 3)
			turn, ok := q.Leave(waiters[leaver])
			assert.False(t, ok)
			assert.Zero(t, turn)
			assert.Equal(t, 2, q.Waiting())
			for i, w := range waiters {
				if i == leaver {
					continue
				}
				q.Pass()
				_, ok := came(w)
				assert.True(t, ok, "waiter %d", i)
			}
			q.Pass()
			assert.True(t, q.TryEnter())
		})
	}
}

func TestWhoeverLeavesTooLateHasTheTurn(t *testing.T) {
	t.Parallel()
	q, waiters := taken(t, 2)
	q.Hand(7)
	turn, ok := q.Leave(waiters[0])
	assert.True(t, ok)
	assert.Equal(t, Turn[hold]{Hold: 7, Handed: true}, turn)
	q.Pass()
	turn, ok = q.Leave(waiters[1])
	assert.True(t, ok)
	assert.Equal(t, Turn[hold]{}, turn)
	q.Pass()
	assert.True(t, q.TryEnter(), "it was given on")
}

func TestDismissRefusesAllWhoWaitAndLeavesTheTurn(t *testing.T) {
	t.Parallel()
	var q Queue[hold]
	require.True(t, q.TryEnter())
	var all []*Waiter[hold]
	for range 3 {
		all = append(all, NewWaiter[hold](true))
		require.False(t, q.Enter(all[len(all)-1]))
	}
	q.Dismiss()
	for _, w := range all {
		turn, came := q.Leave(w)
		assert.True(t, came)
		assert.Equal(t, Turn[hold]{Refused: true}, turn)
	}
	assert.Zero(t, q.Waiting())
	assert.False(t, q.TryEnter(), "whoever has the turn keeps it")
	q.Pass()
	assert.True(t, q.TryEnter())
}

func TestAWaiterServesAgainAfterEachEnd(t *testing.T) {
	t.Parallel()
	q, _ := taken(t, 0)
	w := NewWaiter[hold](true)
	for i := range 3 {
		q.Enter(w)
		_, ok := q.Leave(w)
		require.False(t, ok)
		q.Enter(w)
		require.True(t, q.Hand(hold(i)))
		turn, ok := came(w)
		require.True(t, ok)
		require.Equal(t, hold(i), turn.Hold)
	}
}

// model is the queue as a reader would think of it.
type model struct {
	taken   bool
	waiting []*Waiter[hold]
	turns   map[*Waiter[hold]]Turn[hold] // delivered and not looked at
}

func (m *model) give(turn Turn[hold]) {
	m.turns[m.waiting[0]] = turn
	m.waiting = m.waiting[1:]
}

// TestRandomCallsFollowTheModel makes random calls, and compares each answer
// with the model's.
func TestRandomCallsFollowTheModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			p := &play{t: t, rng: rand.New(rand.NewPCG(seed, 3)), m: model{turns: map[*Waiter[hold]]Turn[hold]{}}}
			for p.step = range 400 {
				p.call()
				require.Equal(t, len(p.m.waiting), p.q.Waiting(), "step %d", p.step)
			}
		})
	}
}

type play struct {
	t    *testing.T
	rng  *rand.Rand
	q    Queue[hold]
	m    model
	free []*Waiter[hold] // to be used again
	step int
}

func (p *play) waiter() *Waiter[hold] {
	w := NewWaiter[hold](false)
	if n := len(p.free); n > 0 {
		w, p.free = p.free[n-1], p.free[:n-1]
	}
	w.Takes = p.rng.IntN(4) > 0
	return w
}

func (p *play) call() {
	switch p.rng.IntN(7) {
	case 0:
		require.Equal(p.t, !p.m.taken, p.q.TryEnter(), "step %d: TryEnter", p.step)
		p.m.taken = true
	case 1, 2:
		p.enter()
	case 3:
		p.hand()
	case 4:
		p.pass()
	case 5:
		p.leave()
	case 6:
		p.look()
	}
}

func (p *play) enter() {
	w := p.waiter()
	head := p.q.Enter(w)
	require.Equal(p.t, !p.m.taken, head, "step %d: Enter", p.step)
	if head {
		p.free = append(p.free, w)
	} else {
		p.m.waiting = append(p.m.waiting, w)
	}
	p.m.taken = true
}

// hand and pass are calls of the one that has the turn.
func (p *play) hand() {
	if !p.m.taken {
		return
	}
	willing := len(p.m.waiting) > 0 && p.m.waiting[0].Takes
	require.Equal(p.t, willing, p.q.Hand(hold(p.step)), "step %d: Hand", p.step)
	if willing {
		p.m.give(Turn[hold]{Hold: hold(p.step), Handed: true})
	}
}

func (p *play) pass() {
	if !p.m.taken {
		return
	}
	p.q.Pass()
	if len(p.m.waiting) == 0 {
		p.m.taken = false
		return
	}
	p.m.give(Turn[hold]{})
}

// leave lets somebody go that waits, or whose turn has come unseen.
func (p *play) leave() {
	if len(p.m.waiting) > 0 && p.rng.IntN(2) == 0 {
		i := p.rng.IntN(len(p.m.waiting))
		_, ok := p.q.Leave(p.m.waiting[i])
		require.False(p.t, ok, "step %d: Leave", p.step)
		p.free = append(p.free, p.m.waiting[i])
		p.m.waiting = slices.Delete(p.m.waiting, i, i+1)
		return
	}
	for w, want := range p.m.turns {
		turn, ok := p.q.Leave(w)
		require.True(p.t, ok, "step %d: Leave", p.step)
		require.Equal(p.t, want, turn)
		delete(p.m.turns, w)
		p.free = append(p.free, w)
		return
	}
}

// look compares every waiter's channel with the model.
func (p *play) look() {
	for _, w := range p.m.waiting {
		_, ok := came(w)
		require.False(p.t, ok, "step %d: a turn before its time", p.step)
	}
	for w, want := range p.m.turns {
		turn, ok := came(w)
		require.True(p.t, ok, "step %d: no turn", p.step)
		require.Equal(p.t, want, turn)
		delete(p.m.turns, w)
		p.free = append(p.free, w)
	}
}

// TestOneTurnAtATime lets goroutines enter, wait, leave in mid-wait, hand and
// pass as they like: no two ever have the turn at once, and none is forgotten.
func TestOneTurnAtATime(t *testing.T) {
	t.Parallel()
	const goroutines, each = 16, 500
	var (
		q      Queue[hold]
		inside atomic.Int32
		turns  atomic.Int64
		wg     sync.WaitGroup
	)
	use := func(rng *rand.Rand) {
		assert.EqualValues(t, 1, inside.Add(1), "two have the turn")
		turns.Add(1)
		inside.Add(-1)
		if rng.IntN(2) == 0 || !q.Hand(1) {
			q.Pass()
		}
	}
	for g := range uint64(goroutines) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(g, 11))
			for range each {
				w := NewWaiter[hold](rng.IntN(4) > 0)
				if q.Enter(w) {
					use(rng)
					continue
				}
				if rng.IntN(2) == 0 {
					if _, ok := q.Leave(w); ok {
						use(rng)
					}
					continue
				}
				<-w.Turn()
				use(rng)
			}
		})
	}
	wg.Wait()
	assert.Positive(t, turns.Load())
	assert.Zero(t, q.Waiting())
	assert.True(t, q.TryEnter(), "the turn was lost")
}
