package bench

import (
	"context"
	"testing"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/bitset"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// bitsetRows: a bit of a million, or all of them.
var bitsetRows = []row{
	{"bitset, Get of a bit, 1 goroutine, by GETBIT", "us/call", goal{atMost: 1.05}, besideScript("bitset get", "getbit", 1, microseconds)},
	{"bitset, Set of a bit, 1 goroutine, by SETBIT", "us/call", goal{atMost: 1.05}, besideScript("bitset set", "setbit", 1, microseconds)},
	{"bitset, SetRange of a million bits, by pipelined SETBITs", "us/call", goal{atMost: 0.01}, millionBits},
}

func millionBits(t *testing.T, s *redistest.Server) sides {
	two := besideScript("bitset range", "setbits", 1, microseconds)(t, s)
	two.long = true
	return two
}

// manyBits is how many bits a range has, and those of one pipeline.
const manyBits, together = 1_000_000, 10_000

func init() {
	ours := func(of func(s *bitset.Set) call) func(addr string) (impl, error) {
		return func(addr string) (impl, error) {
			c, err := rueidisson.New(connection(addr))
			return bitsetImpl{c, of}, err
		}
	}
	bare := func(of func(c rueidis.Client, name string) call) func(addr string) (impl, error) {
		return func(addr string) (impl, error) {
			c, err := rueidis.NewClient(connection(addr))
			return bareBucket{c, of}, err
		}
	}
	impls["bitset get"] = ours(func(s *bitset.Set) call {
		return func(ctx context.Context, _ int) error { _, err := s.Get(ctx, 77_777); return err }
	})
	impls["bitset set"] = ours(func(s *bitset.Set) call {
		return func(ctx context.Context, _ int) error { _, err := s.Set(ctx, 77_777); return err }
	})
	impls["bitset range"] = ours(func(s *bitset.Set) call {
		return func(ctx context.Context, _ int) error { return s.SetRange(ctx, 0, manyBits) }
	})
	impls["getbit"] = bare(func(c rueidis.Client, name string) call {
		return func(ctx context.Context, _ int) error {
			return c.Do(ctx, c.B().Getbit().Key(name).Offset(77_777).Build()).Error()
		}
	})
	impls["setbit"] = bare(func(c rueidis.Client, name string) call {
		return func(ctx context.Context, _ int) error {
			return c.Do(ctx, c.B().Setbit().Key(name).Offset(77_777).Value(1).Build()).Error()
		}
	})
	impls["setbits"] = bare(func(c rueidis.Client, name string) call {
		return func(ctx context.Context, _ int) error {
			for from := int64(0); from < manyBits; from += together {
				all := make(rueidis.Commands, 0, together)
				for i := range int64(together) {
					all = append(all, c.B().Setbit().Key(name).Offset(from+i).Value(1).Build())
				}
				for _, got := range c.DoMulti(ctx, all...) {
					if err := got.Error(); err != nil {
						return err
					}
				}
			}
			return nil
		}
	})
}

type bitsetImpl struct {
	c  *rueidisson.Client
	of func(s *bitset.Set) call
}

func (i bitsetImpl) locker(name string) locker { return i.of(bitset.New(i.c, "bitset:"+name)).locker() }

func (i bitsetImpl) close() { _ = i.c.Close(context.Background()) }
