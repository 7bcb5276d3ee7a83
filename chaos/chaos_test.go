package chaos

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
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

const mostTries = 10

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
// With -for it runs all objects under all nemeses, and with -mutants rounds with lines of scripts removed.
func TestNobodyHoldsWhatAnotherHolds(t *testing.T) {
	t.Parallel()
	if *mutated > 0 {
		mutates(t)
		return
	}
	if *repeated > 0 {
		l := shortLanes(*repeated)[0]
		newArenaOn(t, l.at, l.version, os.Args[0]).judged(t, objects[indexOf(left(objectNames)[0])], named(left(nemesisNames)[0]), cmp.Or(*total, short), *repeated)
		return
	}
	seed := seedOf(t)
	if *total > 0 {
		began := time.Now()
		t.Run("storm", func(t *testing.T) {
			all := stages(seed)
			for i, stage := range all {
				t.Run(fmt.Sprint("stage ", i+1), func(t *testing.T) {
					for j, l := range stage {
						t.Run(l.at.name+" "+l.version, func(t *testing.T) {
							t.Parallel()
							a := newArenaOn(t, l.at, l.version, os.Args[0])
							a.storm(t, rand.New(rand.NewPCG(seed, uint64(i*len(versions)+j))), *total/time.Duration(len(all)))
							a.left(t)
						})
					}
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
	of := map[string]*work{}
	for _, at := range topologies {
		of[at.name] = &work{left: slices.DeleteFunc(slices.Clone(objects), func(o object) bool { return !at.has(o) || !chosen(o.name, objectNames) })}
	}
	for i, l := range shortLanes(seed) {
		t.Run(fmt.Sprint("lane ", i), func(t *testing.T) {
			t.Parallel()
			a, all := newArenaOn(t, l.at, l.version, os.Args[0]), of[l.at.name]
			for o, is := all.take(a.version); is; o, is = all.take(a.version) {
				a.short(t, o, rand.New(rand.NewPCG(seed, uint64(indexOf(o.name)))))
			}
		})
	}
}

// short runs rounds of an object until one had a chance.
func (a *arena) short(t *testing.T, o object, rnd *rand.Rand) {
	t.Helper()
	if len(a.aimed(o, rnd, true)) == 0 {
		t.Logf("what -only names has no meaning for %s, %s", o.name, a.at.name)
		return
	}
	chances := 0
	for tries := 0; chances == 0; {
		require.Less(t, tries, mostTries, "%s had no chance to fail", o.name)
		tries++
		for _, n := range a.aimed(o, rnd, tries > 1) {
			v := a.judged(t, o, n, short, rnd.Uint64())
			if chances += v.chances; v.unjudged > 0 {
				tries = 0
			}
		}
	}
}

// quick are the groups of nemeses of a short run.
var quick = []string{"network", "clients", "refusals"}

// aimed returns a nemesis of each group of short rounds, for holds one that is aimed at what it breaks. For what is no hold it is one of
// one group, unless -only has chosen something, lines of scripts are removed, or a round before had no chance. With a nemesis or a
// topology of -only it may be of any group.
func (a *arena) aimed(o object, rnd *rand.Rand, again bool) (some []nemesis) {
	anyGroup := a.at.name != onSingle || len(left(nemesisNames)) < len(nemeses)
	from := quick
	switch {
	case anyGroup:
		from = groups
	case o.do != nil && *only == "" && *mutated == 0 && !again:
		from = from[rnd.IntN(len(from)):][:1]
	}
	for _, group := range from {
		var of []nemesis
		for _, n := range nemeses {
			if n.group == group && (n.quick() || anyGroup) && a.fits(o, n) && chosen(n.name, nemesisNames) && (n.holdOn || o.do != nil || *only != "") {
				of = append(of, n)
			}
		}
		if len(of) > 0 {
			some = append(some, of[rnd.IntN(len(of))])
		}
	}
	return some
}

// storm runs all objects under all nemeses that have a meaning here, in any order, until the time is over.
func (a *arena) storm(t *testing.T, rnd *rand.Rand, d time.Duration) {
	t.Helper()
	end := time.Now().Add(d)
	a.each(t, rnd, end)
	type pair struct {
		o object
		n nemesis
	}
	var all []pair
	for _, o := range objects {
		for _, n := range nemeses {
			if chosen(o.name, objectNames) && chosen(n.name, nemesisNames) && a.fits(o, n) {
				all = append(all, pair{o, n})
			}
		}
	}
	for len(all) > 0 && time.Now().Before(end) {
		for _, i := range rnd.Perm(len(all)) {
			if !time.Now().Before(end) {
				return
			}
			a.judged(t, all[i].o, all[i].n, max(long, all[i].n.lasts), rnd.Uint64())
			a.grows(all[i].o)
		}
	}
}

// each runs rounds until each object had a chance under each group of nemeses that needs one, or the time is over. The lanes of a
// topology share the work.
func (a *arena) each(t *testing.T, rnd *rand.Rand, end time.Time) {
	t.Helper()
	needs := a.at.needs
	for _, i := range rnd.Perm(len(objects) * len(needs)) {
		o, g := objects[i%len(objects)], needs[i/len(objects)]
		var of []nemesis
		for _, n := range nemeses {
			if n.group == g && n.quick() && a.fits(o, n) && chosen(n.name, nemesisNames) && (n.holdOn || o.do != nil) {
				of = append(of, n)
			}
		}
		for len(of) > 0 && chosen(o.name, objectNames) && shown.chances(a.at.placed(o), g) == 0 && time.Now().Before(end) {
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
	if len(v.counted) > 0 {
		first, _, _ := strings.Cut(v.counted[0], "\n")
		t.Logf("%s under %s: %d findings that are not promised, such as: %s", o.name, n.name, len(v.counted), first)
	}
	shown.add(a.at.name, a.at.placed(o), n, v)
	for _, found := range v.violations {
		t.Error(failure{o.name, n.name, a.at.name + "," + a.version, d, seed, found, v.events})
	}
	return v
}

// named returns the nemesis of that name.
func named(name string) nemesis {
	return nemeses[slices.IndexFunc(nemeses, func(n nemesis) bool { return n.name == name })]
}
