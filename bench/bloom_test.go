package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/bloom"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

const (
	bloomN    = 1_000_000
	bloomP    = 0.001
	bloomSize = "14377587"
	bloomK    = 10
	bloomMany = 10_000 // values of one call
)

// bloomRows: the base does as Redisson's client, one script for all values of a call, which ends at the first bit that is not set.
var bloomRows = []row{
	{"bloom, HasEach of 10,000 values, by GETBIT in a script", "us/call", goal{atMost: 0.6}, long(besideScript("bloom has many", "getbit many", 1, microseconds))},
	{"bloom, HasEach of 10,000 values, CPU of the server", "us/call", goal{atMost: 0.5}, long(mapCPU("bloom has many", "getbit many", 1))},
	{"bloom, Add of 10,000 values, by SETBIT in a script", "us/call", goal{atMost: 1}, long(besideScript("bloom add many", "setbit many", 1, microseconds))},
	{"bloom, Add of 10,000 values, CPU of the server", "us/call", goal{}, long(mapCPU("bloom add many", "setbit many", 1))},
	{"bloom, HasEach of 10,000 values, the longest call of the server", "ms", goal{atMost: 2}, long(bloomStops("bloom has many", "getbit many"))},
	{"bloom, Add of 10,000 values, the longest call of the server", "ms", goal{atMost: 2}, long(bloomStops("bloom add many", "setbit many"))},
	{"bloom, Has, 1 goroutine, by GETBIT in a script", "calls/s", goal{atLeast: 1}, besideScript("bloom has", "getbit", 1, asIs)},
	{"bloom, Has, 64 goroutines, by GETBIT in a script", "calls/s", goal{atLeast: 1.3}, besideScript("bloom has", "getbit", 64, asIs)},
	{"bloom, Has, 256 goroutines, by GETBIT in a script", "calls/s", goal{atLeast: 2.2}, besideScript("bloom has", "getbit", 256, asIs)},
	{"bloom, Has, 64 goroutines, CPU of the server", "us/call", goal{}, mapCPU("bloom has", "getbit", 64)},
	{"bloom, Add, 1 goroutine, by SETBIT in a script", "calls/s", goal{}, besideScript("bloom add", "setbit", 1, asIs)},
	{"bloom, Add, 64 goroutines, by SETBIT in a script", "calls/s", goal{}, besideScript("bloom add", "setbit", 64, asIs)},
}

// long has the slices of a row long enough for some calls.
func long(prepare func(*testing.T, *redistest.Server) sides) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		two := prepare(t, s)
		two.long = true
		return two
	}
}

// bloomStops measures for how long one call keeps the server. The note has that of the script.
func bloomStops(ours, base string) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		raw := s.Client(t)
		side := func(name string) measure {
			w := onOneKey(connect(t, name, s.Addr()), "hot", 1)
			return func(d time.Duration) (float64, error) {
				longest, err := longestCall(raw, func() error { _, err := w.runFor(d); return err })
				return float64(longest.Microseconds()) / 1000, err
			}
		}
		one, other := side(ours), side(base)
		var theirs float64
		return sides{
			ours: func(d time.Duration) (x float64, err error) {
				if theirs, err = other(d); err == nil {
					x, err = one(d)
				}
				return x, err
			},
			note: func() string { return fmt.Sprintf("that of the script took %.3g ms", theirs) },
		}
	}
}

// KEYS[1] bitmap; KEYS[2] config; ARGV[1] size; ARGV[2] bits of a value; ARGV[3…] bits. Returns for each value 1 if all are set.
var hasBits = rueidis.NewLuaScript(`
local c = redis.call('hmget', KEYS[2], 'size', 'hashIterations')
if c[1] ~= ARGV[1] or c[2] ~= ARGV[2] then return redis.error_reply('CONFIG') end
local k, at, r = tonumber(ARGV[2]), 3, {}
while at <= #ARGV do
  local all = 1
  for i = at, at+k-1 do if redis.call('getbit', KEYS[1], ARGV[i]) == 0 then all = 0 break end end
  r[#r+1], at = all, at+k
end
return r`)

// As above. Returns for each value 1 if one of its bits was not set.
var addBits = rueidis.NewLuaScript(`
local c = redis.call('hmget', KEYS[2], 'size', 'hashIterations')
if c[1] ~= ARGV[1] or c[2] ~= ARGV[2] then return redis.error_reply('CONFIG') end
local k, at, r = tonumber(ARGV[2]), 3, {}
while at <= #ARGV do
  local new = 0
  for i = at, at+k-1 do if redis.call('setbit', KEYS[1], ARGV[i], 1) == 0 then new = 1 end end
  r[#r+1], at = new, at+k
end
return r`)

// bloomBits returns the bits of values, as text, after the shape.
func bloomBits(vs ...string) []string {
	size, _ := strconv.ParseUint(bloomSize, 10, 64)
	args := append(make([]string, 0, 2+bloomK*len(vs)), bloomSize, strconv.Itoa(bloomK))
	for _, v := range vs {
		h0, h1 := keys.HashWords(v)
		x := h0
		for i := range bloomK {
			args = append(args, strconv.FormatUint(x&math.MaxInt64%size, 10))
			if i%2 == 0 {
				x += h1
			} else {
				x += h0
			}
		}
	}
	return args
}

// bloomValues returns the values of the i-th call, all of which are in the filter.
func bloomValues(i, n int) []string {
	vs := make([]string, n)
	for j := range vs {
		vs[j] = "value:" + strconv.Itoa((i*n+j)%bloomMany)
	}
	return vs
}

func init() {
	// The filter is there for both sides, and has values.
	ready := func(addr string) error {
		c, err := rueidisson.New(connection(addr))
		if err != nil {
			return err
		}
		defer c.Close(context.Background())
		f := bloom.New[string](c, "hot")
		_, err = f.Init(context.Background(), bloomN, bloomP)
		return errors.Join(err, f.Add(context.Background(), bloomValues(0, bloomMany)...))
	}
	ours := func(name string, n int, do func(ctx context.Context, f *bloom.Filter[string], vs []string) error) {
		impls[name] = func(addr string) (impl, error) {
			if err := ready(addr); err != nil {
				return nil, err
			}
			c, err := rueidisson.New(connection(addr))
			return &filters{c: c, n: n, do: do}, err
		}
	}
	ours("bloom has", 1, func(ctx context.Context, f *bloom.Filter[string], vs []string) error {
		_, err := f.Has(ctx, vs[0])
		return err
	})
	ours("bloom has many", bloomMany, func(ctx context.Context, f *bloom.Filter[string], vs []string) error {
		_, err := f.HasEach(ctx, vs...)
		return err
	})
	add := func(ctx context.Context, f *bloom.Filter[string], vs []string) error { return f.Add(ctx, vs...) }
	ours("bloom add", 1, add)
	ours("bloom add many", bloomMany, add)
	for name, of := range map[string]struct {
		n      int
		script *rueidis.Lua
	}{"getbit": {1, hasBits}, "getbit many": {bloomMany, hasBits}, "setbit": {1, addBits}, "setbit many": {bloomMany, addBits}} {
		impls[name] = func(addr string) (impl, error) {
			if err := ready(addr); err != nil {
				return nil, err
			}
			c, err := rueidis.NewClient(connection(addr))
			return bitScript{c, of.script, of.n}, err
		}
	}
}

// filters calls a filter with n values.
type filters struct {
	c    *rueidisson.Client
	n    int
	do   func(ctx context.Context, f *bloom.Filter[string], vs []string) error
	once sync.Once
	f    *bloom.Filter[string]
}

func (i *filters) locker(name string) locker {
	i.once.Do(func() { i.f = bloom.New[string](i.c, name) })
	return call(func(ctx context.Context, n int) error { return i.do(ctx, i.f, bloomValues(n, i.n)) }).locker()
}

func (i *filters) close() { _ = i.c.Close(context.Background()) }

// bitScript runs a script about the bits of n values.
type bitScript struct {
	c      rueidis.Client
	script *rueidis.Lua
	n      int
}

func (i bitScript) locker(name string) locker {
	on := []string{name, keys.BloomConfig(name)}
	return call(func(ctx context.Context, n int) error {
		_, err := i.script.Exec(ctx, i.c, on, bloomBits(bloomValues(n, i.n)...)).AsIntSlice()
		return err
	}).locker()
}

func (i bitScript) close() { i.c.Close() }
