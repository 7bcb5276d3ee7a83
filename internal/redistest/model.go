package redistest

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// EachSeed runs a model from four seeds at the same time, for 10,000 steps in all, and for 400,000 in a soak.
func EachSeed(t *testing.T, run func(t *testing.T, seed uint64, steps int)) {
	t.Helper()
	steps := Count(t, 10_000, 400_000) / 4
	for seed := range uint64(4) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			run(t, seed, steps)
		})
	}
}

// Mutation is something wrong in a script: its name, what stands there, and what would be wrong in the place of that.
type Mutation [3]string

// SeesMutations fails if a model finds nothing wrong with a script in which something is: its checks would be worth
// nothing if they could not fail. Run is one of ten tries with a seed each.
func SeesMutations(t *testing.T, bodies func() map[string]string, mutations map[string]Mutation,
	run func(t *testing.T, seed uint64, bodies map[string]string, steps int) error) {
	t.Helper()
	for name, m := range mutations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mutant := bodies()
			script, right, wrong := m[0], m[1], m[2]
			if !strings.Contains(mutant[script], right) {
				t.Fatalf("%q does not stand in %s", right, script)
			}
			mutant[script] = strings.Replace(mutant[script], right, wrong, 1)
			for seed := range uint64(10) {
				if run(t, seed, mutant, 3_000) != nil {
					return
				}
			}
			t.Fatal("the model sees nothing wrong")
		})
	}
}

// Lanes are the flights of a client as a model has them: which lane each goes on in, while a request of its own lane is
// to be settled.
type Lanes struct {
	Prefix string // of them all
	last   int64
	astray map[int]string
}

// Own returns what a flight's lane is called.
func (l *Lanes) Own(flight int) string { return l.Prefix + ":" + strconv.Itoa(flight) }

// Next numbers a request of a flight.
func (l *Lanes) Next(flight int) (lane string, number int64) {
	l.last++
	if lane, astray := l.astray[flight]; astray {
		return lane, l.last
	}
	return l.Own(flight), l.last
}

// Leave has a flight go on elsewhere, since a request of lane is to be settled. It returns the flight that comes back by
// that, -1 if none does.
func (l *Lanes) Leave(flight int, lane string) (back int) {
	l.last++
	if l.astray == nil {
		l.astray = make(map[int]string)
	}
	l.astray[flight] = l.Own(flight) + "." + strconv.FormatInt(l.last, 10)
	if lane == l.Own(flight) {
		return flight
	}
	return -1
}

// Back is for a flight whose request is settled.
func (l *Lanes) Back(flight int) { delete(l.astray, flight) }

// Late is sends that may arrive, or arrive again, at any time.
type Late[C any] []C

// mostLate is how many are on their way at a time: the oldest are lost.
const mostLate = 40

// Add puts a send on its way.
func (l *Late[C]) Add(c C) {
	*l = append(*l, c)
	*l = (*l)[max(len(*l)-mostLate, 0):]
}

// Arrives returns one of them, which may come once more.
func (l *Late[C]) Arrives(rnd *rand.Rand) C {
	i := rnd.IntN(len(*l))
	c := (*l)[i]
	if rnd.IntN(2) == 0 {
		*l = slices.Delete(*l, i, i+1)
	}
	return c
}
