package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/latch"
)

// meeting is how many parties pass a barrier together.
const meeting = 4

// arrive waits at a barrier. What is noted is 1 more than how many had arrived before.
func arrive(ctx context.Context, w *worker, _ context.Context, name string) {
	w.holds++
	_ = w.operation(name, "arrive", 0, func() (int64, error) {
		n, err := w.c.Barrier(name, meeting).Await(ctx)
		return int64(n) + 1, err
	})
}

// met checks the barrier's history, and that parties can meet when the faults are over. Some of the first ones may meet parties that have
// died, whose leases have not ended.
func met(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	found, chances = generations(operations(events, name, "arrive"))
	for {
		var all sync.WaitGroup
		var numbers [meeting]int
		var errs [meeting]error
		attempt, cancel := context.WithTimeout(ctx, 2*watchdog)
		for i := range meeting {
			all.Go(func() { numbers[i], errs[i] = c.Barrier(name, meeting).Await(attempt) })
		}
		all.Wait()
		cancel()
		slices.Sort(numbers[:])
		err := errors.Join(errs[:]...)
		switch {
		case err == nil && numbers == [meeting]int{0, 1, 2, 3}:
			return found, chances
		case err == nil:
			return append(found, fmt.Sprintf("the numbers of a generation are %v", numbers)), chances
		case !sleep(ctx, 10*time.Millisecond):
			return append(found, fmt.Sprintf("no generation passes: %v", err)), chances
		}
	}
}

// generations judges the arrivals at a barrier: each number is there once for each generation, and all parties of a generation are
// there at the same time. An arrival of unknown outcome may have any number. A chance is a party of a generation that broke, or that may have passed.
func generations(arrivals []event) (found []string, chances int) {
	var of [meeting][]event
	var doubtful []event
	for _, a := range arrivals {
		switch {
		case a.Outcome == done && (a.Value < 1 || a.Value > meeting):
			found = append(found, fmt.Sprintf("a party has the number %d, of %d", a.Value-1, meeting))
		case a.Outcome == done:
			of[a.Value-1] = append(of[a.Value-1], a)
		case a.Outcome == unknown:
			doubtful = append(doubtful, a)
			chances++
		case broke(a):
			chances++
		}
	}
	least, most := len(arrivals), 0
	for _, some := range of {
		least, most = min(least, len(some)), max(most, len(some))
	}
	if most-least > len(doubtful) {
		found = append(found, fmt.Sprintf("a number was given %d times, and another one %d times; %d outcomes are unknown", most, least, len(doubtful)))
	}
	for number, some := range of {
		for _, a := range some {
			meets := func(b event) bool { return b.Began < a.At && (b.Outcome == unknown || b.At > a.Began) }
			missing := 0
			for other := range of {
				if other != number && !slices.ContainsFunc(of[other], meets) {
					missing++
				}
			}
			perhaps := 0
			for _, d := range doubtful {
				if meets(d) {
					perhaps++
				}
			}
			if missing > perhaps {
				found = append(found, fmt.Sprintf("party %d of process %d passed, and %d others were not there", number, a.Proc, missing))
			}
		}
	}
	return found, chances
}

// broke reports whether a party was told that its generation broke.
func broke(arrival event) bool { return strings.Contains(arrival.Error, latch.ErrBroken.Error()) }

// phases is how many double barriers a name has: the parties go from one to the next.
const phases = 200

// phaseOf is the name of a double barrier that one worker of each process enters, once.
func phaseOf(name string, number int, phase int64) string {
	return fmt.Sprintf("%s #%d:%d", name, number, phase)
}

// enterAndLeave enters the next double barrier of this worker and those of the same number in the other processes, and leaves it. Its
// context bounds each of the two.
func enterAndLeave(ctx context.Context, w *worker, round context.Context, _ string) {
	if w.at == nil {
		w.at = map[string]int64{}
	}
	name := w.o.Names[w.number%len(w.o.Names)]
	phase := w.at[name]
	if phase == phases {
		return
	}
	w.at[name]++
	of := phaseOf(name, w.number, phase)
	var m *latch.Member
	w.holds++
	err := w.operation(of, "enter", 0, func() (_ int64, err error) {
		m, err = w.c.DoubleBarrier(of, processes).Enter(ctx)
		return 0, err
	})
	if err != nil {
		return
	}
	w.keep(round, held{names: []string{of}, err: m.Err}, watchdog)
	w.holds++
	_ = w.operation(of, "leave", 0, func() (int64, error) {
		leaving, cancel := context.WithTimeout(context.Background(), w.between(shortest, longest))
		defer cancel()
		return 0, m.Leave(leaving)
	})
}

// parted checks all double barriers of a name, and that parties can enter and leave one when the faults are over.
func parted(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	of := map[string][]event{}
	for _, e := range events {
		if e.Name != "" {
			of[e.Name] = append(of[e.Name], e)
		}
	}
	for phase, some := range of {
		wrong, n := membership(operations(some, phase, "enter"), operations(some, phase, "leave"), spansOf(some)[phase])
		for _, f := range wrong {
			found = append(found, phase+": "+f)
		}
		chances += n
	}
	var all sync.WaitGroup
	var errs [processes]error
	for i := range processes {
		all.Go(func() {
			m, err := c.DoubleBarrier(name+":after", processes).Enter(ctx)
			if err == nil {
				err = m.Leave(ctx)
			}
			errs[i] = err
		})
	}
	all.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		found = append(found, fmt.Sprintf("no parties enter and leave: %v", err))
	}
	return found, chances
}

// membership judges one generation of a double barrier: all parties enter or none, and none leaves before the others have left, or are
// lost. A chance is a party that had to wait for another one, whose generation broke, or that may have entered.
func membership(enters, leaves []event, members []span) (found []string, chances int) {
	for _, e := range enters {
		if e.Outcome == unknown || broke(e) {
			chances++
		}
		if e.Outcome != done {
			continue
		}
		there := 0
		for _, o := range enters {
			perhaps := o.Outcome != not || strings.Contains(o.Error, latch.ErrLost.Error())
			if perhaps && o.Began < e.At {
				there++
			}
		}
		if there < processes {
			found = append(found, fmt.Sprintf("process %d has entered, and %d parties were there, of %d", e.Proc, there, processes))
		}
	}
	for _, l := range leaves {
		for _, m := range members {
			if m.proc == l.Proc || l.Outcome != done {
				continue
			}
			if m.to > l.Began {
				chances++
			}
			if m.to > l.At {
				found = append(found, fmt.Sprintf("process %d has left, and process %d was a member %v later", l.Proc, m.proc, time.Duration(m.to-l.At)))
			}
		}
	}
	return found, chances
}

func TestGenerationsThatCannotBeAreFound(t *testing.T) {
	t.Parallel()
	op := func(from, to, number int64, outcome string) event {
		e := event{Began: from, At: to, Value: number, Outcome: outcome}
		if outcome == not {
			e.Error = latch.ErrBroken.Error()
		}
		return e
	}
	for name, c := range map[string]struct {
		arrivals       []event
		found, chances int
	}{
		"one":                    {[]event{op(1, 9, 1, done), op(2, 8, 2, done), op(3, 7, 3, done), op(4, 5, 4, done)}, 0, 0},
		"two, one after another": {[]event{op(1, 9, 1, done), op(2, 8, 2, done), op(3, 7, 3, done), op(4, 5, 4, done), op(11, 19, 1, done), op(12, 18, 2, done), op(13, 17, 3, done), op(14, 15, 4, done)}, 0, 0},
		"a number is doubled":    {[]event{op(1, 9, 1, done), op(2, 8, 1, done), op(3, 7, 3, done), op(4, 5, 4, done)}, 5, 0},
		"one was told nothing":   {[]event{op(1, 9, 1, done), op(2, 8, 0, unknown), op(3, 7, 3, done), op(4, 5, 4, done)}, 0, 1},
		"one was told it broke":  {[]event{op(1, 9, 1, done), op(2, 8, 0, not), op(3, 7, 3, done), op(4, 5, 4, done)}, 4, 1},
		"all were":               {[]event{op(1, 9, 0, not), op(2, 8, 0, not)}, 0, 2},
		"one passed early":       {[]event{op(1, 3, 1, done), op(2, 8, 2, done), op(2, 7, 3, done), op(4, 5, 4, done)}, 2, 0},
		"a number of no party":   {[]event{op(1, 9, 1, done), op(2, 8, 2, done), op(3, 7, 3, done), op(4, 5, 4, done), op(4, 5, 5, done)}, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, chances := generations(c.arrivals)
			require.Len(t, found, c.found, strings.Join(found, "\n"))
			require.Equal(t, c.chances, chances)
		})
	}
}

func TestMembersThatAreNotWaitedForAreFound(t *testing.T) {
	t.Parallel()
	op := func(proc int, from, to int64, outcome, err string) event {
		return event{Proc: proc, Began: from, At: to, Outcome: outcome, Error: err}
	}
	enters := []event{op(1, 1, 9, done, ""), op(2, 2, 9, done, ""), op(3, 3, 9, done, ""), op(4, 4, 9, done, "")}
	for name, c := range map[string]struct {
		enters, leaves []event
		members        []span
		found, chances int
	}{
		"all leave":             {enters, []event{op(1, 20, 30, done, ""), op(2, 28, 30, done, "")}, []span{{proc: 1, from: 10, to: 19}, {proc: 2, from: 10, to: 27}}, 0, 1},
		"one is still there":    {enters, []event{op(1, 20, 30, done, "")}, []span{{proc: 2, from: 10, to: 31}}, 1, 1},
		"one gives up the wait": {enters, []event{op(1, 20, 30, not, "context")}, []span{{proc: 2, from: 10, to: 31}}, 0, 0},
		"one is lost before":    {enters, []event{op(1, 20, 30, done, "")}, []span{{proc: 2, from: 10, to: 15}}, 0, 0},
		"one never came":        {enters[:3], nil, nil, 3, 0},
		"one was refused":       {append(slices.Clone(enters[:3]), op(4, 4, 9, not, latch.ErrBroken.Error())), nil, nil, 3, 1},
		"one does not know":     {append(slices.Clone(enters[:3]), op(4, 4, 9, unknown, "")), nil, nil, 0, 1},
		"one was too late":      {append(slices.Clone(enters[:3]), op(4, 4, 9, not, latch.ErrLost.Error())), nil, nil, 0, 0},
		"none entered":          {[]event{op(1, 1, 2, not, latch.ErrBroken.Error()), op(2, 1, 2, not, "refused")}, nil, nil, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, chances := membership(c.enters, c.leaves, c.members)
			require.Len(t, found, c.found, strings.Join(found, "\n"))
			require.Equal(t, c.chances, chances)
		})
	}
}
