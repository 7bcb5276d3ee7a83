package latch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// childEngine is the engine of a process of its own.
func childEngine(p *redistest.Parent) *locking.Engine {
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{os.Getenv("LATCH_ADDR")}, DisableCache: true, ForceSingleClient: true})
	if err == nil {
		lease, _ := time.ParseDuration(os.Getenv("LATCH_LEASE"))
		var e *locking.Engine
		e, err = locking.New(context.Background(), c, core.Config{ClientID: owner.NewClient(), WatchdogTimeout: lease, Linger: time.Second})
		if err == nil {
			return e
		}
	}
	p.Say("failed: %v", err)
	os.Exit(1)
	return nil
}

// waiterChild waits at the latch for each line that it hears. It says "waits" when
// its first look is back, and "passed TIME".
func waiterChild(p *redistest.Parent) {
	e := childEngine(p)
	l := New(e, os.Getenv("LATCH_NAME"))
	for {
		if _, ok := p.Hear(); !ok {
			return
		}
		g := l.h.places.Get(l.of.key)
		w := newWaiter()
		done := make(chan error, 1)
		go func() { done <- g.await(context.Background(), w) }() // ends with the opening
		for looked := false; !looked; {
			g.Mu.Lock()
			looked = w.looked || len(done) > 0
			g.Mu.Unlock()
			time.Sleep(50 * time.Microsecond)
		}
		p.Say("waits")
		if err := <-done; err != nil {
			p.Say("failed: %v", err)
			return
		}
		p.Say("passed %d", time.Now().UnixNano())
		l.h.places.Put(l.of.key, g)
	}
}

// TestNobodyMissesItsRoundAndNobodyPassesEarly: the latch is counted down to zero
// and armed again at once, while four processes wait.
func TestNobodyMissesItsRoundAndNobodyPassesEarly(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	r := rigOn(t, server.Client(t), redistest.Name(t))
	var processes []*redistest.Child
	for range 4 {
		processes = append(processes, redistest.StartChild(t, "waiter at a latch",
			"LATCH_ADDR="+server.Addr(), "LATCH_NAME="+r.of.key, "LATCH_LEASE=30s"))
	}
	r.arm(1)
	for round := range redistest.Count(t, 300, 3_000) {
		for _, p := range processes {
			p.Send("wait")
		}
		for _, p := range processes {
			require.Equal(t, "waits", p.Next())
		}
		opened := time.Now().UnixNano()
		if round%2 == 0 {
			r.down(0)
		} else {
			_, err := r.Delete(t.Context())
			require.NoError(t, err)
		}
		r.arm(1)
		for i, p := range processes {
			line, ok := p.AwaitFor("passed ", soon)
			require.True(t, ok, "round %d: process %d waits still", round, i)
			at, err := strconv.ParseInt(strings.TrimPrefix(line, "passed "), 10, 64)
			require.NoError(t, err)
			require.Greater(t, at, opened, "round %d: process %d passed early", round, i)
		}
	}
}

// partyChild arrives again and again, until its input ends: then it gives its last
// arrival up. Of each it says "end GENERATION NUMBER opened|broken|unknown". Some
// are given up after a moment.
func partyChild(p *redistest.Parent) {
	e := childEngine(p)
	b := NewBarrier(e, os.Getenv("LATCH_NAME"), 4)
	over, stop := context.WithCancel(context.Background())
	go func() { // ends with the process
		p.Hear()
		stop()
	}()
	one := func() {
		ctx := over
		if rand.IntN(15) == 0 { // of four parties
			short, cancel := context.WithTimeout(over, rand.N(500*time.Microsecond))
			defer cancel()
			ctx = short
		}
		a := &participant{h: b.h, of: b.of, id: e.IDs.Private(), parties: 4}
		at, err := a.arrive(ctx)
		switch {
		case err != nil:
			_, _ = a.giveUp(ctx, err)
			return
		case at.state == opened:
		case at.state == broken:
			err = ErrBroken
		default:
			_, err = a.wait(ctx, at)
		}
		how := "unknown"
		switch {
		case err == nil:
			how = "opened"
		case errors.Is(err, ErrBroken):
			how = "broken"
		}
		p.Say("end %s %d %s", at.generation, at.arrived, how)
	}
	for over.Err() == nil {
		one()
	}
	_ = locking.Close(context.Background(), e)
	p.Say("over")
}

// generation is what is known of one.
type generation struct {
	opened map[string]bool // by which numbers
	broken int
}

// ends collects what processes say.
type ends struct {
	mu      sync.Mutex
	of      map[string]*generation
	opened  int
	broken  int
	unknown int
}

func (e *ends) note(line string) error {
	words := strings.Fields(line)
	e.mu.Lock()
	defer e.mu.Unlock()
	g := e.of[words[1]]
	if g == nil {
		g = &generation{opened: map[string]bool{}}
		e.of[words[1]] = g
	}
	switch words[3] {
	case "opened":
		if g.opened[words[2]] {
			return fmt.Errorf("two parties of generation %s came as number %s", words[1], words[2])
		}
		if g.opened[words[2]] = true; len(g.opened) == 1 {
			e.opened++
		}
	case "broken":
		if g.broken++; g.broken == 1 {
			e.broken++
		}
	default:
		e.unknown++
	}
	if len(g.opened) > 0 && g.broken > 0 {
		return fmt.Errorf("of generation %s %d have passed, and %d found it broken", words[1], len(g.opened), g.broken)
	}
	return nil
}

func (e *ends) counts() (opened, broken int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.opened, e.broken
}

// TestAllOfAGenerationEndAlike: four processes, of whose parties some give up, and
// which are killed now and then: for ten generations that open, one breaks at
// least.
func TestAllOfAGenerationEndAlike(t *testing.T) {
	t.Parallel()
	generations, kills := redistest.Count(t, 300, 1_000), redistest.Count(t, 3, 100)
	server := redistest.Shared(t)
	name := redistest.Name(t)
	all := &ends{of: map[string]*generation{}}
	var readers sync.WaitGroup
	wrong := make(chan error, 1000)
	start := func() *redistest.Child {
		c := redistest.StartChild(t, "party of a barrier", "LATCH_ADDR="+server.Addr(), "LATCH_NAME="+name, "LATCH_LEASE=1500ms")
		readers.Go(func() { // ends with the process
			for {
				line, ok := c.AwaitFor("end ", time.Hour)
				if !ok {
					return
				}
				if err := all.note(line); err != nil {
					wrong <- err
				}
			}
		})
		return c
	}
	var processes []*redistest.Child
	for range 4 {
		processes = append(processes, start())
	}
	reach := func(n int) {
		require.Eventually(t, func() bool {
			opened, broken := all.counts()
			return opened >= n && broken >= n/10
		}, 5*time.Minute, time.Millisecond)
	}
	for k := range kills {
		reach(generations * (k + 1) / (kills + 1))
		i := rand.IntN(len(processes))
		processes[i].Kill()
		processes[i] = start()
	}
	reach(generations)
	for _, p := range processes {
		p.CloseInput()
	}
	readers.Wait()
	close(wrong)
	for err := range wrong {
		t.Error(err)
	}
	opened, broken := all.counts()
	t.Logf("%d generations opened, %d broke, %d parties did not know", opened, broken, all.unknown)
	require.GreaterOrEqual(t, broken, generations/10)
	for of, g := range all.of {
		require.LessOrEqual(t, len(g.opened), 4, of)
	}
}
