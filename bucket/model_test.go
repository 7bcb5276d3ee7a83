package bucket

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// modeled is a bucket as a plain Go program has it.
type modeled struct {
	there bool
	v     int
	ttl   time.Duration // about; 0: it has no end
}

// world is some buckets of one goroutine, and what they should be.
type world struct {
	ctx    context.Context
	t      *testing.T
	many   *Many[int]
	names  []string
	all    []*Bucket[int]
	should []modeled
}

// TestAModel does random operations of several goroutines, which share the exchanges of a client, on buckets of their own,
// and compares each answer with that of plain Go.
func TestAModel(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) { againstTheModel(t, raw) })
}

func againstTheModel(t *testing.T, raw rueidis.Client) {
	t.Helper()
	e := enginetest.On(t, raw)
	steps := redistest.Count(t, 150, 20_000)
	var all sync.WaitGroup
	for range 4 {
		tag := "{" + redistest.Name(t) + "}"
		w := &world{ctx: t.Context(), t: t, many: NewMany[int](e, WithCodec(codec.Text)), should: make([]modeled, 4)}
		for i := range w.should {
			name := tag + strconv.Itoa(i)
			t.Cleanup(func() { e.Drop(name) })
			w.names = append(w.names, name)
			w.all = append(w.all, New[int](e, name, WithCodec(codec.Text)))
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

// lives returns options of a write, and what they make of the time that a bucket has.
func lives(rest func(had time.Duration) time.Duration) ([]SetOption, func(had time.Duration) time.Duration) {
	switch rand.N(4) {
	case 0:
		return []SetOption{WithTTL(day)}, func(time.Duration) time.Duration { return day }
	case 1:
		return []SetOption{WithKeepTTL()}, func(had time.Duration) time.Duration { return had }
	case 2:
		return []SetOption{WithTTL(0)}, func(time.Duration) time.Duration { return 0 }
	}
	return nil, rest
}

func forever(time.Duration) time.Duration  { return 0 }
func kept(had time.Duration) time.Duration { return had }
func (w *world) same(want, got any, op string) bool {
	return assert.Equal(w.t, want, got, op)
}

// step does one operation, and reports whether all is as it should be.
func (w *world) step() bool {
	i, v := rand.N(len(w.all)), rand.N(4)
	b, is := w.all[i], &w.should[i]
	opts, ttl := lives(forever)
	ok := true
	value := func(op string) func(v int, had bool, err error) {
		want, there := is.v, is.there
		return func(v int, had bool, err error) {
			ok = assert.NoError(w.t, err, op) && w.same(want, v, op) && w.same(there, had, op)
		}
	}
	did := func(op string, want bool) func(did bool, err error) {
		return func(did bool, err error) { ok = assert.NoError(w.t, err, op) && w.same(want, did, op) }
	}
	writes := func() { *is = modeled{true, v, ttl(is.ttl)} }
	switch op := rand.N(17); op {
	case 0:
		value("get")(b.Get(w.ctx))
	case 1:
		ok = assert.NoError(w.t, b.Set(w.ctx, v, opts...))
		writes()
	case 2:
		did("set if absent", !is.there)(b.SetIfAbsent(w.ctx, v, opts...))
		if !is.there {
			writes()
		}
	case 3:
		did("set if exists", is.there)(b.SetIfExists(w.ctx, v, opts...))
		if is.there {
			writes()
		}
	case 4:
		value("swap")(b.Swap(w.ctx, v, opts...))
		writes()
	case 5:
		value("take")(b.Take(w.ctx))
		*is = modeled{}
	case 6:
		old := rand.N(4)
		same := is.there && is.v == old
		did("compare and swap", same)(b.CompareAndSwap(w.ctx, old, v, opts...))
		if same {
			writes()
		}
	case 7:
		same := is.there && is.v == v
		did("compare and delete", same)(b.CompareAndDelete(w.ctx, v))
		if same {
			*is = modeled{}
		}
	case 8, 9:
		opts, ttl = lives(kept)
		was, verdict, want := *is, Verdict(rand.N(3)), *is
		switch verdict {
		case Store:
			want = modeled{true, v, ttl(is.ttl)}
		case Delete:
			want = modeled{}
		}
		got, there, err := b.Update(w.ctx, func(old int, had bool) (int, Verdict, error) {
			if old != was.v || had != was.there {
				return 0, Keep, errors.New("it was called with something else")
			}
			return v, verdict, nil
		}, opts...)
		ok = assert.NoError(w.t, err) && w.same(want.v, got, "update") && w.same(want.there, there, "update")
		*is = want
	case 10:
		value("get and expire")(b.GetAndExpire(w.ctx, hour))
		if is.there {
			is.ttl = hour
		}
	case 11:
		value("get and persist")(b.GetAndPersist(w.ctx))
		is.ttl = 0
	case 12:
		did("expire", is.there)(b.Expire(w.ctx, hour))
		if is.there {
			is.ttl = hour
		}
	case 13:
		left, err := b.Remaining(w.ctx)
		ok = assert.NoError(w.t, err)
		switch {
		case !is.there:
			ok = ok && w.same(time.Duration(0), left, "remaining")
		case is.ttl == 0:
			ok = ok && w.same(time.Duration(-1), left, "remaining")
		default:
			ok = ok && assert.InDelta(w.t, is.ttl, left, float64(is.ttl)/2)
		}
	case 14:
		got, err := w.many.Get(w.ctx, w.names...)
		want := map[string]int{}
		for i, one := range w.should {
			if one.there {
				want[w.names[i]] = one.v
			}
		}
		ok = assert.NoError(w.t, err) && w.same(want, got, "get many")
	case 15:
		ok = assert.NoError(w.t, w.many.Set(w.ctx, map[string]int{w.names[0]: v, w.names[i]: v}, opts...))
		for _, i := range []int{0, i} {
			w.should[i] = modeled{true, v, ttl(w.should[i].ttl)}
		}
	case 16:
		none := !w.should[1].there && !w.should[2].there
		did("set all if absent", none)(w.many.SetAllIfAbsent(w.ctx, map[string]int{w.names[1]: v, w.names[2]: v}, opts...))
		for _, i := range []int{1, 2} {
			if none {
				w.should[i] = modeled{true, v, ttl(0)}
			}
		}
	}
	return ok
}
