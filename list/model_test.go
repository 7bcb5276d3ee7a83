package list

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// world is a list of one goroutine, and what it should have.
type world struct {
	ctx    context.Context
	t      *testing.T
	l      *List[int]
	should []int
}

// TestAModel does random operations of several goroutines on lists of their own, and compares each answer with that of plain Go.
func TestAModel(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) { againstTheModel(t, raw) })
}

func againstTheModel(t *testing.T, raw rueidis.Client) {
	t.Helper()
	e := enginetest.On(t, raw)
	steps := redistest.Count(t, 250, 20_000)
	var all sync.WaitGroup
	for range 4 {
		name := redistest.Name(t)
		t.Cleanup(func() { e.Drop(name) })
		w := &world{ctx: t.Context(), t: t, l: New[int](e, name, WithCodec(codec.Text))}
		all.Go(func() {
			for range steps {
				if !w.step() {
					return
				}
			}
		})
	}
	all.Wait()
}

func (w *world) same(want, got any, err error, op string) bool {
	return assert.NoError(w.t, err, op) && assert.Equal(w.t, want, got, op)
}

// few returns up to three numbers, most of them equal to others.
func few() (vs []int) {
	for range 1 + rand.N(3) {
		vs = append(vs, rand.N(5))
	}
	return vs
}

// has returns the element of an index, and whether there is one; at is the index from the start.
func (w *world) has(i int64) (v, at int, there bool) {
	at = int(i)
	if i < 0 {
		at += len(w.should)
	}
	if at < 0 || at >= len(w.should) {
		return 0, 0, false
	}
	return w.should[at], at, true
}

// window returns the bounds of a range in the model, as a slice has them.
func (w *world) window(first, last int64) (from, to int) {
	n := int64(len(w.should))
	if first < 0 {
		first = max(first+n, 0)
	}
	if last < 0 {
		last += n
	}
	if last = min(last, n-1); first > last {
		return 0, 0
	}
	return int(first), int(last + 1)
}

// step does one operation, and reports whether all is as it should be.
func (w *world) step() bool {
	vs, v, i := few(), rand.N(5), int64(rand.N(12)-4)
	is, at, there := w.has(i)
	switch rand.N(13) {
	case 0:
		size, err := w.l.Append(w.ctx, vs...)
		w.should = append(w.should, vs...)
		return w.same(int64(len(w.should)), size, err, "append")
	case 1:
		size, err := w.l.Prepend(w.ctx, vs...)
		w.should = slices.Insert(w.should, 0, vs...)
		return w.same(int64(len(w.should)), size, err, "prepend")
	case 2, 3:
		i = int64(rand.N(12))
		did, err := w.l.Insert(w.ctx, i, vs...)
		want := int(i) <= len(w.should)
		if want {
			w.should = slices.Insert(w.should, int(i), vs...)
		}
		return w.same(want, did, err, "insert")
	case 4:
		got, ok, err := w.l.Get(w.ctx, i)
		return w.same(is, got, err, "get") && w.same(there, ok, err, "get")
	case 5:
		want := map[int64]int{}
		for _, k := range []int64{0, i, -1} {
			if v, _, there := w.has(k); there {
				want[k] = v
			}
		}
		got, err := w.l.GetMany(w.ctx, 0, i, -1)
		return w.same(want, got, err, "get many")
	case 6:
		old, had, err := w.l.Set(w.ctx, i, v)
		if there {
			w.should[at] = v
		}
		return w.same(is, old, err, "set") && w.same(there, had, err, "set")
	case 7, 8:
		old, had, err := w.l.RemoveAt(w.ctx, i)
		if there {
			w.should = slices.Delete(w.should, at, at+1)
		}
		return w.same(is, old, err, "remove at") && w.same(there, had, err, "remove at")
	case 9:
		return w.remove(v, rand.N(5)-2)
	case 10:
		want := slices.Index(w.should, v)
		got, there, err := w.l.Index(w.ctx, v)
		return w.same(want >= 0, there, err, "index") && w.same(int64(max(want, 0)), got, err, "index")
	case 11:
		from, to := w.window(i, i+4)
		got, err := w.l.Range(w.ctx, i, i+4)
		return w.same(append([]int(nil), w.should[from:to]...), got, err, "range")
	}
	from, to := w.window(i, -1)
	if rand.N(3) > 0 {
		all, err := walked(w.l.All(w.ctx))
		return w.same(append([]int(nil), w.should...), all, err, "all")
	}
	w.should = append([]int(nil), w.should[from:to]...)
	return assert.NoError(w.t, w.l.Trim(w.ctx, i, -1))
}

// remove removes up to n elements: all of them if n is 0, from the end if it is negative.
func (w *world) remove(v, n int) bool {
	got, err := w.l.Remove(w.ctx, v, int64(n))
	backwards := n < 0
	if backwards {
		n = -n
		slices.Reverse(w.should)
	}
	removed := 0
	w.should = slices.DeleteFunc(w.should, func(one int) bool {
		gone := one == v && (n == 0 || removed < n)
		if gone {
			removed++
		}
		return gone
	})
	if backwards {
		slices.Reverse(w.should)
	}
	return w.same(int64(removed), got, err, "remove")
}
