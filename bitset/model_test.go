package bitset

import (
	"context"
	"math/big"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// world is some bitsets of one goroutine, and the bits that they should have.
type world struct {
	ctx    context.Context
	t      *testing.T
	names  []string
	all    []*Set
	should []*big.Int // bit i of the number is that of offset i
	length []int64    // bits that there is room for
}

// TestAModel does random operations of several goroutines on bitsets of their own, and compares each answer with that of plain Go.
func TestAModel(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) { againstTheModel(t, raw) })
}

func againstTheModel(t *testing.T, raw rueidis.Client) {
	t.Helper()
	e := enginetest.On(t, raw)
	steps := redistest.Count(t, 200, 20_000)
	var all sync.WaitGroup
	for range 4 {
		tag := "{" + redistest.Name(t) + "}"
		w := &world{ctx: t.Context(), t: t, length: make([]int64, 3)}
		for i := range w.length {
			name := tag + strconv.Itoa(i)
			t.Cleanup(func() { e.Drop(name) })
			w.names = append(w.names, name)
			w.all = append(w.all, New(e, name))
			w.should = append(w.should, new(big.Int))
		}
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

// bits returns those of some offsets.
func (w *world) bits(i int, at []int64) (all []bool) {
	for _, one := range at {
		all = append(all, w.should[i].Bit(int(one)) == 1)
	}
	return all
}

// write writes a bit in the model. Room is made for those that are 1.
func (w *world) write(i int, at int64, bit uint) {
	w.should[i].SetBit(w.should[i], int(at), bit)
	if bit == 1 {
		w.length[i] = max(w.length[i], (at+8)/8*8)
	}
}

// number returns that of some bits, the highest one first.
func (w *world) number(i int, bits int, at int64) (v uint64) {
	for k := range int64(bits) {
		v = v<<1 | uint64(w.should[i].Bit(int(at+k)))
	}
	return v
}

// store writes a number, as the server does: also its zeros make room.
func (w *world) store(i int, bits int, at int64, v uint64) {
	for k := range int64(bits) {
		w.should[i].SetBit(w.should[i], int(at+k), uint(v>>(int64(bits)-1-k)&1))
	}
}

// offsets returns some that differ.
func offsets() (all []int64) {
	for _, at := range rand.Perm(200)[:1+rand.N(5)] {
		all = append(all, int64(at))
	}
	return all
}

// step does one operation, and reports whether all is as it should be.
func (w *world) step() bool {
	i, at := rand.N(len(w.all)), offsets()
	s, from := w.all[i], rand.Int64N(200)
	to := from + rand.Int64N(100)
	switch rand.N(12) {
	case 0:
		got, err := s.Get(w.ctx, at...)
		return w.same(w.bits(i, at), got, err, "get")
	case 1:
		want := w.bits(i, at)
		got, err := s.Set(w.ctx, at...)
		for _, one := range at {
			w.write(i, one, 1)
		}
		return w.same(want, got, err, "set")
	case 2:
		want := w.bits(i, at)
		got, err := s.Clear(w.ctx, at...)
		for _, one := range at {
			w.write(i, one, 0)
		}
		return w.same(want, got, err, "clear")
	case 3, 4:
		bit := uint(rand.N(2))
		for one := from; one < to; one++ {
			w.write(i, one, bit)
		}
		if bit == 1 {
			return assert.NoError(w.t, s.SetRange(w.ctx, from, to))
		}
		return assert.NoError(w.t, s.ClearRange(w.ctx, from, to))
	case 5:
		n := int64(0)
		for one := range 400 {
			n += int64(w.should[i].Bit(one))
		}
		got, err := s.Count(w.ctx)
		return w.same(n, got, err, "count")
	case 6:
		got, err := s.Len(w.ctx)
		return w.same(int64(w.should[i].BitLen()), got, err, "len")
	case 7, 8:
		return w.field(i, s, from)
	case 9:
		other := rand.N(len(w.all))
		a, b := w.should[i], w.should[other]
		w.length[i] = max(w.length[i], w.length[other])
		switch rand.N(3) {
		case 0:
			w.should[i] = new(big.Int).And(a, b)
			return assert.NoError(w.t, s.And(w.ctx, w.names[other]))
		case 1:
			w.should[i] = new(big.Int).Or(a, b)
			return assert.NoError(w.t, s.Or(w.ctx, w.names[other]))
		}
		w.should[i] = new(big.Int).Xor(a, b)
		return assert.NoError(w.t, s.Xor(w.ctx, w.names[other]))
	case 10:
		all, err := s.Bytes(w.ctx)
		for one := range int64(len(all)) {
			if byte(w.number(i, 8, 8*one)) != all[one] {
				return assert.Fail(w.t, "bytes", "byte %d", one)
			}
		}
		return assert.NoError(w.t, err) && assert.LessOrEqual(w.t, w.should[i].BitLen(), 8*len(all))
	}
	all, err := s.Bytes(w.ctx)
	if !assert.NoError(w.t, err) || !assert.NoError(w.t, s.Not(w.ctx)) {
		return false
	}
	for one := range 8 * len(all) {
		w.should[i].SetBit(w.should[i], one, w.should[i].Bit(one)^1)
	}
	return true
}

// field does an operation on a number.
func (w *world) field(i int, s *Set, at int64) bool {
	bits, v := 1+rand.N(63), rand.Int64()-rand.Int64()
	f := s.Int(bits, at)
	if rand.N(2) == 0 {
		f = s.Uint(bits, at)
	}
	was := f.cut(w.number(i, bits, at))
	switch rand.N(3) {
	case 0:
		got, err := f.Get(w.ctx)
		return w.same(was, got, err, "get a number")
	case 1:
		v = f.cut(uint64(v))
		got, err := f.Set(w.ctx, v)
		w.store(i, bits, at, uint64(v))
		return w.same(was, got, err, "set a number")
	}
	now := f.cut(uint64(was + v))
	got, err := f.Add(w.ctx, v)
	w.store(i, bits, at, uint64(now))
	return w.same(now, got, err, "add")
}
