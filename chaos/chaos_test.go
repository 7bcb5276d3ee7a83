package chaos

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

func seedOf(t *testing.T) uint64 {
	seed := *seeded
	for seed == 0 {
		seed = rand.Uint64N(1_000_000)
	}
	t.Logf("repeat with: go test ./chaos -run '^%s$' -args -seed %d", t.Name(), seed)
	return seed
}

// short is the length of a short round. An object that had no chance in its rounds has some again, so often at most.
var short = redistest.Scaled(time.Second)

const mostTries = 5

// versions are the servers of a run: the lanes of a short one have the first two.
var versions = redistest.Versions

// lanes is how many servers with processes of their own work at the same time.
const lanes = 2

// work has the objects of a short run that no lane has taken yet.
type work struct {
	mu   sync.Mutex
	left []object
}

// take returns the next object that the server of a lane has.
func (w *work) take(version string) (o object, is bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.left, func(o object) bool { return o.on(version) })
	if i < 0 {
		return object{}, false
	}
	o = w.left[i]
	w.left = slices.Delete(w.left, i, i+1)
	return o, true
}

// TestNobodyHoldsWhatAnotherHolds runs short rounds: for each hold one of each group of nemeses, for each other object one of one group.
// With -for it runs all objects under all nemeses.
func TestNobodyHoldsWhatAnotherHolds(t *testing.T) {
	t.Parallel()
	if *mutated > 0 {
		t.Skip("-mutants: see TestMutantsAreFound")
	}
	if *repeated > 0 {
		newArena(t, left(topologyNames)[0]).judged(t, objects[indexOf(left(objectNames)[0])], named(left(nemesisNames)[0]), cmp.Or(*total, short), *repeated)
		return
	}
	seed := seedOf(t)
	if *total > 0 {
		began := time.Now()
		t.Run("storm", func(t *testing.T) {
			for lane, version := range left(topologyNames) {
				t.Run(version, func(t *testing.T) {
					t.Parallel()
					a := newArena(t, version)
					a.storm(t, rand.New(rand.NewPCG(seed, uint64(lane))), *total)
					a.left(t)
				})
			}
		})
		if *pagePath != "" && *only == "" { // else most cells would be empty
			require.NoError(t, shown.write(*pagePath, time.Since(began), seed))
		}
		if *only == "" {
			require.Empty(t, shown.without(), "nothing could have shown")
		}
		return
	}
	all := &work{left: slices.DeleteFunc(slices.Clone(objects), func(o object) bool { return !chosen(o.name, objectNames) })}
	for lane := range lanes {
		t.Run(fmt.Sprint("lane ", lane), func(t *testing.T) {
			t.Parallel()
			some := left(topologyNames)
			a := newArena(t, some[lane%len(some)])
			for o, is := all.take(a.version); is; o, is = all.take(a.version) {
				a.short(t, o, rand.New(rand.NewPCG(seed, uint64(indexOf(o.name)))))
			}
		})
	}
}

// short runs rounds of an object until one had a chance.
func (a *arena) short(t *testing.T, o object, rnd *rand.Rand) {
	t.Helper()
	chances := 0
	for tries := 0; chances == 0; {
		require.Less(t, tries, mostTries, "%s had no chance to fail", o.name)
		tries++
		for _, n := range aimed(o, rnd, tries > 1) {
			v := a.judged(t, o, n, short, rnd.Uint64())
			if chances += v.chances; v.unjudged > 0 {
				tries = 0
			}
		}
	}
}

// quick are the groups of nemeses of a short run.
var quick = []string{"network", "clients", "refusals"}

// aimed returns a nemesis of each group, for holds one that is aimed at what it breaks. For what is no hold it is one of one group,
// unless -only has chosen something, lines of scripts are removed, or a round before had no chance.
func aimed(o object, rnd *rand.Rand, again bool) (some []nemesis) {
	of := quick
	switch {
	case *only != "":
		of = groups
	case o.do != nil && *mutated == 0 && !again:
		of = of[rnd.IntN(len(of)):][:1]
	}
	for _, group := range of {
		var of []nemesis
		for _, n := range nemeses {
			if n.group == group && n.quick() && n.concerns(o) && chosen(n.name, nemesisNames) && (n.holdOn || o.do != nil || *only != "") {
				of = append(of, n)
			}
		}
		if len(of) > 0 {
			some = append(some, of[rnd.IntN(len(of))])
		}
	}
	return some
}

// storm runs all objects under all nemeses, in any order, until the time is over.
func (a *arena) storm(t *testing.T, rnd *rand.Rand, d time.Duration) {
	t.Helper()
	end := time.Now().Add(d)
	a.each(t, rnd, end)
	for time.Now().Before(end) {
		for _, i := range rnd.Perm(len(objects) * len(nemeses)) {
			o, n := objects[i%len(objects)], nemeses[i/len(objects)]
			if !chosen(o.name, objectNames) || !chosen(n.name, nemesisNames) || !n.concerns(o) || !o.on(a.version) {
				continue
			}
			if !time.Now().Before(end) {
				return
			}
			a.judged(t, o, n, max(long, n.lasts), rnd.Uint64())
		}
	}
}

// each runs rounds until each object had a chance under each group of nemeses, or the time is over. The lanes share the work.
func (a *arena) each(t *testing.T, rnd *rand.Rand, end time.Time) {
	t.Helper()
	for _, i := range rnd.Perm(len(objects) * len(groups)) {
		o, g := objects[i%len(objects)], groups[i/len(objects)]
		var of []nemesis
		for _, n := range nemeses {
			if n.group == g && n.quick() && n.concerns(o) && chosen(n.name, nemesisNames) && (n.holdOn || o.do != nil) {
				of = append(of, n)
			}
		}
		for len(of) > 0 && o.on(a.version) && chosen(o.name, objectNames) && shown.chances(o, g) == 0 && time.Now().Before(end) {
			a.judged(t, o, of[rnd.IntN(len(of))], long, rnd.Uint64())
		}
	}
}

// judged runs a round, and fails the test if an oracle found something.
func (a *arena) judged(t *testing.T, o object, n nemesis, d time.Duration, seed uint64) verdict {
	t.Helper()
	v := a.round(o, n, d, seed)
	t.Logf("%-10s %-26s %5d calls, %5d done, %3d faults, %4d chances, slowest %v, ping %v, pause %v, told %v, still %v", o.name, n.name, v.calls, v.holds+v.done, v.faults, v.chances,
		v.slowest.Round(time.Millisecond), v.ping.Round(time.Millisecond), v.pause.Round(time.Millisecond), v.told.Round(time.Millisecond), v.still.Round(time.Millisecond))
	shown.add(a.version, o, n, v)
	for _, found := range v.violations {
		t.Error(failure{o.name, n.name, a.version, d, seed, found, v.events})
	}
	return v
}

// named returns the nemesis of that name.
func named(name string) nemesis {
	return nemeses[slices.IndexFunc(nemeses, func(n nemesis) bool { return n.name == name })]
}
