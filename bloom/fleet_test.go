package bloom

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// fleet are the processes of the tests.
var fleet = redistest.Children{"starter": startingProcess}

const clientsOfAProcess = 10

// startingProcess has several clients, all of which Init the filter when they are told to. Every third wants another n.
func startingProcess(p *redistest.Parent) {
	ctx := context.Background()
	var engines []*locking.Engine
	for range clientsOfAProcess {
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{os.Getenv("ADDR")}, DisableCache: true, ForceSingleClient: true})
		if err != nil {
			panic(err)
		}
		defer client.Close()
		e, err := locking.New(ctx, client, core.Config{ClientID: owner.NewClient(), WatchdogTimeout: 30 * time.Second})
		if err != nil {
			panic(err)
		}
		defer locking.Close(ctx, e)
		engines = append(engines, e)
	}
	p.Say("ready")
	for name, more := p.Hear(); more; name, more = p.Hear() {
		var all sync.WaitGroup
		said := make([]string, clientsOfAProcess)
		for i, e := range engines {
			all.Go(func() {
				n := int64(1000)
				if i%3 == 0 {
					n = 2000
				}
				made, err := New[string](e, name).Init(ctx, n, 0.01)
				switch {
				case errors.Is(err, ErrOtherShape):
					said[i] = fmt.Sprint(n, " other")
				case err != nil:
					panic(err)
				default:
					said[i] = fmt.Sprint(n, " ", made)
				}
			})
		}
		all.Wait()
		for _, what := range said {
			p.Say("%s", what)
		}
	}
}

// TestInitByManyMakesOneFilter: the others find it, or get ErrOtherShape.
func TestInitByManyMakesOneFilter(t *testing.T) {
	t.Parallel()
	const processes = 10
	server := redistest.Shared(t)
	raw := server.Client(t)
	var all []*redistest.Child
	for range processes {
		all = append(all, redistest.StartChild(t, "starter", "ADDR="+server.Addr()))
	}
	for _, child := range all {
		child.Await("ready")
	}
	for range redistest.Count(t, 5, 50) {
		name := named(t, raw)
		for _, child := range all {
			child.Send("%s", name)
		}
		said := map[string]int{}
		for _, child := range all {
			for range clientsOfAProcess {
				said[child.Next()]++
			}
		}
		s, err := New[string](engineOn(t, raw), name).Shape(t.Context())
		require.NoError(t, err)
		own, other, share := "1000", "2000", 6
		if s.Insertions == 2000 {
			own, other, share = other, own, 4
		}
		require.Equal(t, map[string]int{
			own + " true": 1, own + " false": share*processes - 1, other + " other": (clientsOfAProcess - share) * processes,
		}, said)
	}
	for _, child := range all {
		child.CloseInput()
		require.Zero(t, child.Wait())
	}
}

// TestAFilterMadeAnewWhileClientsAdd: nothing is written under the old shape, and no bitmap stays without a config.
func TestAFilterMadeAnewWhileClientsAdd(t *testing.T) {
	t.Parallel()
	redistest.OnReal(t, func(t *testing.T, raw rueidis.Client) {
		ctx, stop := context.WithCancel(t.Context())
		name, on := named(t, raw), make([]*Filter[string], 8)
		is(t, true)(New[string](engineOn(t, raw), name).Init(ctx, 10_000, 0.001))
		var adding sync.WaitGroup
		for c := range on {
			on[c] = New[string](engineOn(t, raw), name)
			adding.Go(func() { // until the test stops it
				for i := 0; ctx.Err() == nil; i++ {
					var err error
					switch vs := values(fmt.Sprint(c, " ", i, " "), 110); i % 3 {
					case 0:
						err = on[c].Add(context.Background(), vs...)
					case 1:
						_, err = on[c].AddNew(context.Background(), vs...)
					default:
						_, err = on[c].HasEach(context.Background(), vs...)
					}
					if err != nil && !errors.Is(err, ErrNotSet) && !errors.Is(err, ErrOtherShape) && !errors.Is(err, errDoubtful) {
						assert.NoError(t, err)
						return
					}
				}
			})
		}
		f := New[string](engineOn(t, raw), name)
		for i := range redistest.Count(t, 15, 2000) {
			is(t, true)(f.Delete(ctx))
			require.Zero(t, number(t, raw, "EXISTS", name, keys.BloomConfig(name)))
			m := []int64{50, 20_000, 300}[i%3]
			is(t, true)(f.Init(ctx, m, 0.001))
			s, err := f.Shape(ctx)
			require.NoError(t, err)
			require.EqualValues(t, (s.Bits+7)/8, number(t, raw, "STRLEN", name), "no bit of an older shape")
			require.NoError(t, f.Add(ctx, "mine"))
			is(t, true)(f.Has(ctx, "mine"))
		}
		is(t, true)(f.Delete(ctx))
		stop()
		adding.Wait()
		require.Zero(t, number(t, raw, "EXISTS", name, keys.BloomConfig(name)))
	})
}

// TestAFilterMadeAnewTooOften gets an error that says so.
func TestAFilterMadeAnewTooOften(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	f := made(t, engineOn(t, raw), named(t, raw))
	tries := 0
	err := f.shaped(t.Context(), func(s shape) error {
		tries++
		return f.Add(t.Context(), "a")
	})
	require.NoError(t, err)
	require.Equal(t, 1, tries)
	err = f.shaped(t.Context(), func(shape) error {
		tries++
		return &changedError{"718879", "10"}
	})
	require.ErrorIs(t, f.failed("add to", err), ErrOtherShape)
	require.EqualError(t, f.failed("add to", err), `add to bloom filter "`+f.Name()+`": the filter was made anew with m=718879 k=10: call again`)
	require.Equal(t, 1+1+rereads, tries)
}
