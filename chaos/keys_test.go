package chaos

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/bucket"
	"github.com/rueidisson/rueidisson/keyspace"
)

// Keys of a name have one of four classes, each in a slot of its own: those of the first are deleted by their pattern, those of the
// second by their names, and the others stay.
const (
	swept   = 0
	deleted = 1
	staying = 2
	classes = 4
)

func classOf(v int64) int64 { return v % classes }

// prefixOf returns how the keys of a class begin.
func prefixOf(name string, class int64) string { return fmt.Sprintf("%s:{%s:%d}:", name, name, class) }

func keyOf(name string, v int64) string {
	return prefixOf(name, classOf(v)) + strconv.FormatInt(v, 16)
}

// classKeys are keys in the slots of a name.
func classKeys(name string) (keys []string) {
	for class := range int64(classes) {
		keys = append(keys, prefixOf(name, class)+"0")
	}
	return keys
}

// madeKeys are the keys of each name that this process has made.
var madeKeys struct {
	sync.Mutex
	of map[string][]int64
}

// useKeys makes a key, deletes some, or looks for them.
func useKeys(ctx context.Context, w *worker, _ context.Context, name string) {
	k := keyspace.New(w.c)
	switch w.rnd.IntN(16) {
	case 0, 1:
		w.exchange(name, "walk", 0, func() ([]int64, error) { return listed(ctx, k, name) })
	case 2:
		w.exchange(name, "sweep", 0, func() ([]int64, error) {
			n, err := k.DeleteMatch(ctx, prefixOf(name, swept)+"*")
			return []int64{n}, err
		})
	case 3:
		w.exchange(name, "count", 0, func() ([]int64, error) {
			n, err := k.CountMatch(ctx, prefixOf(name, staying)+"*")
			return []int64{n}, err
		})
	case 4, 5:
		if v, is := made(w, name, deleted); is {
			w.exchange(name, "delete", v, func() ([]int64, error) {
				n, err := k.Delete(ctx, keyOf(name, v))
				return []int64{n}, err
			})
		}
	case 6, 7:
		if v, is := made(w, name, staying); is {
			w.exchange(name, "look", v, func() ([]int64, error) {
				n, err := k.Exists(ctx, keyOf(name, v), keyOf(name, classes+staying)) // the other one is never made
				return []int64{n}, err
			})
		}
	default:
		v := w.fresh(w.r.proc)
		w.exchange(name, "make", v, func() ([]int64, error) {
			err := bucket.New[int64](w.c, keyOf(name, v)).Set(ctx, v)
			if err == nil {
				madeKeys.Lock()
				defer madeKeys.Unlock()
				if madeKeys.of == nil {
					madeKeys.of = map[string][]int64{}
				}
				madeKeys.of[name] = append(madeKeys.of[name], v)
			}
			return nil, err
		})
	}
}

// made returns a key of a class that this process has made. One that is to be deleted is returned once.
func made(w *worker, name string, class int64) (int64, bool) {
	madeKeys.Lock()
	defer madeKeys.Unlock()
	all := madeKeys.of[name]
	if len(all) == 0 {
		return 0, false
	}
	i := w.rnd.IntN(len(all))
	v := all[i]
	if classOf(v) != class {
		return 0, false
	}
	if class == deleted {
		all[i] = all[len(all)-1]
		madeKeys.of[name] = all[:len(all)-1]
	}
	return v, true
}

// listed walks the keys of a name.
func listed(ctx context.Context, k *keyspace.Keys, name string) (all []int64, err error) {
	for key, err := range k.All(ctx, keyspace.WithMatch(name+":{*")) {
		if err != nil {
			return all, err
		}
		v, err := strconv.ParseInt(key[strings.LastIndexByte(key, ':')+1:], 16, 64)
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
}

// checkKeys judges what was seen of the keys of a name.
func checkKeys(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	left, err := listed(ctx, keyspace.New(c), name)
	if err != nil {
		return []string{err.Error()}, 0
	}
	return keysHistory(operations(events, name, ""), left, slotMoves(events))
}

// slotMoves returns when a slot was on the move.
func slotMoves(events []event) (moves []event) {
	for _, e := range events {
		switch {
		case e.Outcome != "slot move":
		case e.Kind == breaks:
			moves = append(moves, event{Began: e.At, At: math.MaxInt64})
		case e.Kind == heals:
			moves[len(moves)-1].At = e.At
		}
	}
	return moves
}

// keysHistory judges walks, deletions, counts and looks. A walk yields each key that was made before it began and that nobody may
// have deleted before it ended, and no key that was deleted before it began. A deletion by a pattern that has succeeded has
// left nothing that was made before it began. No key that is of no deletion is gone. No deletion counts a key that another one has
// counted, and all together count those that are gone, unless the answer of one was lost.
//
// During a walk a slot may be given away once: to be taken back may hide keys, as the documents say.
func keysHistory(ops []event, left []int64, moves []event) (found []string, chances int) {
	makes := map[int64]event{}
	var deletions, walks []event
	counted, lost := map[int64]int64{}, map[int64]bool{}
	for _, o := range ops {
		switch o.Op {
		case "make":
			makes[o.Value] = o
		case "walk":
			if o.Outcome == done {
				walks = append(walks, o)
			}
		case "sweep", "delete":
			deletions = append(deletions, o)
			class := classOf(o.Value) // a sweep has the value 0
			lost[class] = lost[class] || o.Outcome == unknown
			for _, n := range o.Values {
				counted[class] += n
			}
		}
	}
	chances = int(count(ops, unknown)) + len(walks)
	walks = append(walks, event{Values: left, Began: math.MaxInt64, At: math.MaxInt64})
	of := func(d event, v int64) bool {
		return d.Op == "sweep" && classOf(v) == swept || d.Op == "delete" && d.Value == v
	}
	for _, w := range walks {
		seen := map[int64]bool{}
		for _, v := range w.Values {
			seen[v] = true
			if m, known := makes[v]; !known || m.Outcome == not {
				found = append(found, fmt.Sprintf("a walk yields %x, which was never made", v))
			}
		}
		for v, m := range makes {
			may, must := false, false
			for _, d := range deletions {
				if of(d, v) {
					may = may || d.Began < w.At
					must = must || d.Outcome == done && d.At < w.Began && m.Outcome == done && m.At < d.Began && overlapping(moves, d) < 2
				}
			}
			switch {
			case seen[v] && must:
				found = append(found, fmt.Sprintf("a walk yields %x, which was deleted before", v))
			case !seen[v] && !may && m.Outcome == done && m.At < w.Began && overlapping(moves, w) < 2:
				found = append(found, fmt.Sprintf("a walk passes over %x", v))
			}
		}
	}
	for _, o := range ops {
		there, most := int64(0), int64(0) // how many are there for sure, and how many a look may find
		for v, m := range makes {
			if m.Outcome == done && m.At < o.Began && (o.Op == "look" && v == o.Value || o.Op == "count" && classOf(v) == staying) {
				there++
			}
			if v == o.Value && m.Outcome != not && m.Began < o.At {
				most = 1
			}
		}
		switch {
		case o.Outcome != done || o.Op != "look" && o.Op != "count":
		case o.Op == "look" && (o.Values[0] > most || o.Values[0] < there), o.Values[0] < there && overlapping(moves, o) < 2:
			found = append(found, fmt.Sprintf("%d keys are there, and a %s says %d", there, o.Op, o.Values[0]))
		}
	}
	for _, class := range []int64{swept, deleted} {
		least, most := int64(0), int64(0)
		for v, m := range makes {
			if classOf(v) == class && m.Outcome != not {
				most++
				if m.Outcome == done {
					least++
				}
			}
		}
		sum := counted[class]
		for _, v := range slices.Compact(slices.Sorted(slices.Values(left))) { // which a walk may tell twice
			if classOf(v) == class {
				sum++
			}
		}
		if sum > most || sum < least && !lost[class] {
			found = append(found, fmt.Sprintf("%d keys were counted as deleted or are left, expected %d to %d", sum, least, most))
		}
	}
	return found, chances
}

// overlapping returns how many slots were on the move while an operation was under way.
func overlapping(moves []event, o event) (n int) {
	for _, m := range moves {
		if m.Began <= o.At && m.At >= o.Began {
			n++
		}
	}
	return n
}

func TestWrongKeysAreFound(t *testing.T) {
	t.Parallel()
	at := func(op string, value, began, ended int64, outcome string, values ...int64) event {
		return event{Op: op, Value: value, Began: began, At: ended, Outcome: outcome, Values: values}
	}
	const a, b, stays = classes + swept, classes + deleted, classes + staying
	move := func(from, to int64) event { return event{Began: from, At: to} }
	require.Equal(t, []event{move(1, 3), move(5, math.MaxInt64)}, slotMoves([]event{
		{Kind: breaks, Outcome: "slot move", At: 1}, {Kind: heals, Outcome: "slot move", At: 3}, {Kind: breaks, Outcome: "cut", At: 4},
		{Kind: breaks, Outcome: "slot move", At: 5},
	}))
	for name, c := range map[string]struct {
		ops            []event
		left           []int64
		moves          []event
		found, chances int
	}{
		"a walk yields all":                   {[]event{at("make", stays, 1, 2, done), at("walk", 0, 3, 4, done, stays)}, []int64{stays}, nil, 0, 1},
		"a walk passes over one":              {[]event{at("make", stays, 1, 2, done), at("walk", 0, 3, 4, done)}, []int64{stays}, nil, 1, 1},
		"one is made during a walk":           {[]event{at("make", stays, 1, 5, done), at("walk", 0, 3, 4, done)}, []int64{stays}, nil, 0, 1},
		"one slot moves":                      {[]event{at("make", stays, 1, 2, done), at("walk", 0, 3, 6, done)}, []int64{stays}, []event{move(2, 4)}, 1, 1},
		"a slot moves back":                   {[]event{at("make", stays, 1, 2, done), at("walk", 0, 3, 6, done)}, []int64{stays}, []event{move(2, 4), move(5, 9)}, 0, 1},
		"one is gone":                         {[]event{at("make", stays, 1, 2, done), at("sweep", 0, 3, 4, done, 0)}, nil, nil, 1, 0},
		"one may have been made":              {[]event{at("make", stays, 1, 2, unknown)}, nil, nil, 0, 1},
		"one was refused and is there":        {[]event{at("make", stays, 1, 2, not)}, []int64{stays}, nil, 1, 0},
		"one is swept":                        {[]event{at("make", a, 1, 2, done), at("sweep", 0, 3, 4, done, 1)}, nil, nil, 0, 0},
		"one that a walk tells twice":         {[]event{at("make", a, 1, 2, done), at("sweep", 0, 3, 4, unknown)}, []int64{a, a}, nil, 0, 1},
		"one is left by a sweep":              {[]event{at("make", a, 1, 2, done), at("sweep", 0, 3, 4, done, 0)}, []int64{a}, nil, 1, 0},
		"a sweep that failed":                 {[]event{at("make", a, 1, 2, done), at("sweep", 0, 3, 4, not, 0)}, []int64{a}, nil, 0, 0},
		"a sweep that counts too few":         {[]event{at("make", a, 1, 2, done), at("sweep", 0, 3, 4, done, 0)}, nil, nil, 1, 0},
		"a sweep whose answer is lost":        {[]event{at("make", a, 1, 2, done), at("sweep", 0, 3, 4, unknown, 0)}, nil, nil, 0, 1},
		"two count the same":                  {[]event{at("make", a, 1, 2, done), at("sweep", 0, 3, 4, done, 1), at("sweep", 0, 3, 4, done, 1)}, nil, nil, 1, 0},
		"one is deleted":                      {[]event{at("make", b, 1, 2, done), at("delete", b, 3, 4, done, 1), at("walk", 0, 5, 6, done)}, nil, nil, 0, 1},
		"one comes after its deletion":        {[]event{at("make", b, 1, 2, done), at("delete", b, 3, 4, done, 1), at("walk", 0, 5, 6, done, b)}, nil, nil, 1, 1},
		"a look finds it":                     {[]event{at("make", stays, 1, 2, done), at("look", stays, 3, 4, done, 1)}, []int64{stays}, nil, 0, 0},
		"a look finds what was not noted yet": {[]event{at("make", stays, 1, 5, done), at("look", stays, 2, 4, done, 1)}, []int64{stays}, nil, 0, 0},
		"a look finds nothing":                {[]event{at("make", stays, 1, 2, done), at("look", stays, 3, 4, done, 0)}, []int64{stays}, nil, 1, 0},
		"a look finds too much":               {[]event{at("make", stays, 1, 2, done), at("look", stays, 3, 4, done, 2)}, []int64{stays}, nil, 1, 0},
		"a count is too small":                {[]event{at("make", stays, 1, 2, done), at("count", 0, 3, 4, done, 0)}, []int64{stays}, nil, 1, 0},
		"a count of what stays":               {[]event{at("make", stays, 1, 2, done), at("count", 0, 3, 4, done, 1)}, []int64{stays}, nil, 0, 0},
		"a key that nobody made":              {nil, []int64{stays}, nil, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, chances := keysHistory(c.ops, c.left, c.moves)
			require.Len(t, found, c.found, found)
			require.Equal(t, c.chances, chances)
		})
	}
}
