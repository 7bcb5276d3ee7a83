package semaphore

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// step is one call about permits: a try, or a release.
type step struct{ give bool }

// permitsHeldAtOnce is the model: so many are held. Whether a try is refused for
// want of permits is checked only where no request can be late: one that took a
// permit for nobody holds it until it is given back.
func permitsHeldAtOnce(total int, strict bool) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return 0 },
		Step: func(state, in, out any) (bool, any) {
			held, did := state.(int), out.(bool)
			switch {
			case in.(step).give:
				return held > 0, held - 1
			case did:
				return held < total, held + 1
			}
			return !strict || held == total, held
		},
	}
}

// history is what eight goroutines of four clients saw of a fresh name. Mint has
// somebody make permits on the side.
func permitHistory(t *testing.T, through *chaos, total, calls int, mint bool) []porcupine.Operation {
	t.Helper()
	const clients = 8
	name := redistest.Name(t)
	raw := redistest.Shared(t).Client(t)
	rigs := make([]*permitRig, 4)
	for n := range rigs {
		rigs[n] = permitRigOn(t, through, name)
		rigs[n].Raw = raw
	}
	rigs[0].set(int64(total))
	began := time.Now()
	var mu sync.Mutex
	var all []porcupine.Operation
	var left []*Permit
	var group sync.WaitGroup
	for client := range clients {
		group.Go(func() {
			r := rigs[client%len(rigs)]
			var mine []*Permit
			for n := range calls {
				call := time.Since(began).Nanoseconds()
				op := porcupine.Operation{ClientId: client, Call: call, Output: true}
				switch {
				case len(mine) > 0 && rand.IntN(2) == 0:
					op.Input = step{give: true}
					err := mine[0].Release(context.Background())
					mine = mine[1:]
					if errors.Is(err, ErrOutcomeUnknown) {
						op.Return = math.MaxInt64 // nobody knows when it is done
					} else if !assert.NoError(t, err) {
						return
					}
				default:
					op.Input = step{}
					p, err := r.TryAcquire(context.Background())
					switch {
					case errors.Is(err, ErrOutcomeUnknown):
						continue // it may hold one until it is given back: as if it had not been
					case errors.Is(err, ErrNotAcquired):
						op.Output = false
					case !assert.NoError(t, err):
						return
					default:
						mine = append(mine, p)
					}
				}
				if op.Return == 0 {
					op.Return = time.Since(began).Nanoseconds()
				}
				mu.Lock()
				all = append(all, op)
				mu.Unlock()
				if mint && client == 0 && n == calls/2 {
					r.Ask("INCRBY", name, "3")
				}
				if rand.IntN(8) == 0 {
					through.deliver()
				}
			}
			mu.Lock()
			defer mu.Unlock()
			left = append(left, mine...)
		})
	}
	group.Wait()
	for _, p := range left {
		_ = p.Release(context.Background())
	}
	return all
}

func TestHistoriesOfPermitsAreLinearizable(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string]bool{"quiet": false, "with lost and late requests": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range redistest.Count(t, 4, 200) {
				through := &chaos{Client: redistest.Shared(t).Client(t)}
				through.on.Store(faults)
				history := permitHistory(t, through, 3, 60, false)
				through.on.Store(false)
				require.True(t, porcupine.CheckOperations(permitsHeldAtOnce(3, !faults), history))
			}
		})
	}
}

func TestAHistoryWithPermitsTooManyIsNone(t *testing.T) {
	t.Parallel()
	for range 20 {
		through := &chaos{Client: redistest.Shared(t).Client(t)}
		if !porcupine.CheckOperations(permitsHeldAtOnce(3, true), permitHistory(t, through, 3, 60, true)) {
			return
		}
	}
	t.Fatal("the check sees nothing wrong")
}

// TestTheSumOfPermitsStays: whatever happens between clients and server, those that
// are free and those that are held are as many as before, and those that are held
// are known.
func TestTheSumOfPermitsStays(t *testing.T) {
	t.Parallel()
	const total, workers = 12, 24
	rounds := redistest.Count(t, 40, 2_000)
	server := redistest.Shared(t)
	through := &chaos{Client: server.Client(t)}
	r := permitRigOn(t, through, redistest.Name(t)).set(total)
	r.Raw = server.Client(t)
	r.give(r.take()) // the scripts are known
	through.on.Store(true)
	var has atomic.Int64
	var mu sync.Mutex
	var kept []*Permit
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for range rounds {
				p, err := r.TryAcquire(context.Background(), WithWait(rand.N(2*time.Millisecond)))
				if rand.IntN(8) == 0 {
					through.deliver()
				}
				if err != nil {
					continue
				}
				if has.Add(1) > total/2 || rand.IntN(10) > 0 {
					_ = p.Release(context.Background()) // of unknown outcome, it goes on by itself
					has.Add(-1)
				} else {
					mu.Lock()
					kept = append(kept, p)
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	through.on.Store(false)
	// An exchange whose caller has gone may still take permits, which it gives back.
	// One that nobody gives back stays: no other script looks at its lease.
	for range 2 {
		through.deliver()
		r.awaitStands(total-has.Load(), has.Load())
	}
	for _, p := range kept {
		require.NoError(t, p.Release(context.Background()))
	}
	r.awaitStands(total, 0)
	require.NoError(t, locking.Close(context.Background(), r.E), "nothing is under way any more")
	through.deliver()
	r.stands(total, 0)
}
