package bench

import (
	"context"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/bucket"
	"github.com/rueidisson/rueidisson/codec"
)

// gatheredRows: 125 functions of a batch, which set eight buckets each, one after the other.
var gatheredRows = []row{
	{"Batch, 1,000 Sets by 125 functions, by one DoMulti", "us/batch", goal{atMost: 2}, besideScript("batch of sets", "multi of sets", 1, microseconds)},
	{"Batch, 1,000 Sets by 125 functions, by eight DoMultis", "us/batch", goal{}, besideScript("batch of sets", "eight multis of sets", 1, microseconds)},
	{"Batch, 1,000 Sets by 1,000 functions, by one DoMulti", "us/batch", goal{}, besideScript("batch of functions", "multi of sets", 1, microseconds)},
}

func init() {
	of := func(functions int) func(addr string) (impl, error) {
		return func(addr string) (impl, error) {
			c, err := rueidisson.New(connection(addr), rueidisson.WithCodec(codec.Text))
			return gathered{c, functions}, err
		}
	}
	impls["batch of sets"] = of(125)
	impls["batch of functions"] = of(1000)
	in := func(parts int) func(addr string) (impl, error) {
		return func(addr string) (impl, error) {
			c, err := rueidis.NewClient(connection(addr))
			return pipelined{c, parts}, err
		}
	}
	impls["multi of sets"] = in(1)
	impls["eight multis of sets"] = in(8)
}

// gatheredNames returns the names of a thousand buckets.
func gatheredNames(name string) (names []string) {
	for i := range 1000 {
		names = append(names, name+":"+strconv.Itoa(i))
	}
	return names
}

// gathered calls that many functions by one batch.
type gathered struct {
	c         *rueidisson.Client
	functions int
}

func (i gathered) locker(name string) locker {
	all := make([]*bucket.Bucket[string], 0, 1000)
	for _, name := range gatheredNames("batch:" + name) {
		all = append(all, bucket.New[string](i.c, name))
	}
	each := len(all) / i.functions
	fns := make([]func(context.Context) error, i.functions)
	for n := range fns {
		own := all[n*each : (n+1)*each]
		fns[n] = func(ctx context.Context) error {
			for _, b := range own {
				if err := b.Set(ctx, text64); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return call(func(ctx context.Context, _ int) error { return i.c.Batch(ctx, fns...) }).locker()
}

func (i gathered) close() { _ = i.c.Close(context.Background()) }

// pipelined sends pipelines of so many parts, one after the other.
type pipelined struct {
	c     rueidis.Client
	parts int
}

func (i pipelined) locker(name string) locker {
	names := gatheredNames("multi:" + name)
	return call(func(ctx context.Context, _ int) error {
		for some := range slices.Chunk(names, len(names)/i.parts) {
			cmds := make(rueidis.Commands, 0, len(some))
			for _, name := range some {
				cmds = append(cmds, i.c.B().Set().Key(name).Value(text64).Build())
			}
			for _, res := range i.c.DoMulti(ctx, cmds...) {
				if err := res.Error(); err != nil {
					return err
				}
			}
		}
		return nil
	}).locker()
}

func (i pipelined) close() { i.c.Close() }
