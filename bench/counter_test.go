package bench

import (
	"context"
	"strconv"
	"testing"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/counter"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// counterRows: all goroutines use one name. The base is the bare command on a client of the same settings.
var counterRows = []row{
	{"counter, Add, 1 goroutine, by INCRBY", "us/call", goal{atMost: 1.05}, besideScript("counter add", "incrby", 1, microseconds)},
	{"counter, Add, 4 goroutines, by INCRBY", "calls/s", goal{atLeast: 0.85}, besideScript("counter add", "incrby", 4, asIs)},
	{"counter, Add, 16 goroutines, by INCRBY", "calls/s", goal{atLeast: 1.25}, besideScript("counter add", "incrby", 16, asIs)},
	{"counter, Add, 64 goroutines, by INCRBY", "calls/s", goal{atLeast: 2.8}, besideScript("counter add", "incrby", 64, asIs)},
	{"counter, Add, 256 goroutines, by INCRBY", "calls/s", goal{atLeast: 4.8}, besideScript("counter add", "incrby", 256, asIs)},
	{"counter, Add, 64 goroutines, CPU of the server", "us/call", goal{atMost: 0.2}, mapCPU("counter add", "incrby", 64)},
	{"counter, Add with request ids, 1 goroutine, by INCRBY", "calls/s", goal{atLeast: 0.6}, besideScript("counter add counted", "incrby", 1, asIs)},
	{"counter, Add with request ids, 64 goroutines, by INCRBY", "calls/s", goal{atLeast: 2.3}, besideScript("counter add counted", "incrby", 64, asIs)},
	{"counter, Add with request ids, 256 goroutines, by INCRBY", "calls/s", goal{atLeast: 3.2}, besideScript("counter add counted", "incrby", 256, asIs)},
	{"counter, Get, 1 goroutine, by GET", "us/call", goal{atMost: 1.05}, besideScript("counter get", "counter get bare", 1, microseconds)},
	{"ids, Next, 64 goroutines, blocks of 5,000, by INCRBY", "calls/s", goal{atLeast: 80}, besideScript("ids next", "incrby", 64, asIs)},
	{"ids, Next, 64 goroutines, blocks of 5,000", "calls/s", goal{atLeast: 1e7}, withoutBase("ids next", 64)},
	{"ids, Next, allocations", "allocations", goal{}, idsAllocations},
	{"distinct, Add, 1 goroutine, by PFADD", "us/call", goal{}, besideScript("distinct add", "pfadd", 1, microseconds)},
	{"distinct, Add, 64 goroutines, by PFADD", "calls/s", goal{atLeast: 3}, besideScript("distinct add", "pfadd", 64, asIs)},
	{"distinct, Add, 256 goroutines, by PFADD", "calls/s", goal{atLeast: 3.8}, besideScript("distinct add", "pfadd", 256, asIs)},
	{"adder, Add, 64 goroutines, by INCRBY", "calls/s", goal{}, besideScript("adder add", "incrby", 64, asIs)},
}

func init() {
	ours := func(of func(c *rueidisson.Client, name string) call) func(addr string) (impl, error) {
		return func(addr string) (impl, error) {
			c, err := rueidisson.New(connection(addr))
			return countersOf{c, of}, err
		}
	}
	bare := func(of func(c rueidis.Client, ctx context.Context, name string, i int) error) func(addr string) (impl, error) {
		return func(addr string) (impl, error) {
			c, err := rueidis.NewClient(connection(addr))
			return bareCommand{c, of}, err
		}
	}
	impls["counter add"] = ours(func(c *rueidisson.Client, name string) call {
		n := counter.New(c, name)
		return func(ctx context.Context, _ int) error { _, err := n.Add(ctx, 1); return err }
	})
	impls["counter add counted"] = ours(func(c *rueidisson.Client, name string) call {
		n := counter.New(c, name+"counted", counter.WithRequestIDs())
		return func(ctx context.Context, _ int) error { _, err := n.Add(ctx, 1); return err }
	})
	impls["counter get"] = ours(func(c *rueidisson.Client, name string) call {
		n := counter.New(c, name)
		return func(ctx context.Context, _ int) error { _, err := n.Get(ctx); return err }
	})
	impls["ids next"] = ours(func(c *rueidisson.Client, name string) call {
		g := counter.NewIDs(c, name+"ids")
		return func(ctx context.Context, _ int) error { _, err := g.Next(ctx); return err }
	})
	impls["distinct add"] = ours(func(c *rueidisson.Client, name string) call {
		d := counter.NewDistinct[string](c, name+"distinct")
		return func(ctx context.Context, i int) error { return d.Add(ctx, strconv.Itoa(i)) }
	})
	impls["adder add"] = ours(func(c *rueidisson.Client, name string) call {
		a := counter.NewAdder(c, name+"adder")
		return func(ctx context.Context, _ int) error { return a.Add(ctx, 1) }
	})
	impls["incrby"] = bare(func(c rueidis.Client, ctx context.Context, name string, _ int) error {
		return c.Do(ctx, c.B().Incrby().Key(name).Increment(1).Build()).Error()
	})
	impls["counter get bare"] = bare(func(c rueidis.Client, ctx context.Context, name string, _ int) error {
		_, err := c.Do(ctx, c.B().Get().Key(name).Build()).ToString()
		if rueidis.IsRedisNil(err) {
			return nil
		}
		return err
	})
	impls["pfadd"] = bare(func(c rueidis.Client, ctx context.Context, name string, i int) error {
		return c.Do(ctx, c.B().Pfadd().Key(name+"pf").Element(strconv.Itoa(i)).Build()).Error()
	})
}

// countersOf calls an object of one client.
type countersOf struct {
	c  *rueidisson.Client
	of func(c *rueidisson.Client, name string) call
}

func (i countersOf) locker(name string) locker { return i.of(i.c, name).locker() }
func (i countersOf) close()                    { _ = i.c.Close(context.Background()) }

// bareCommand sends a command by rueidis.
type bareCommand struct {
	c  rueidis.Client
	of func(c rueidis.Client, ctx context.Context, name string, i int) error
}

func (i bareCommand) locker(name string) locker {
	return call(func(ctx context.Context, n int) error { return i.of(i.c, ctx, name, n) }).locker()
}

func (i bareCommand) close() { i.c.Close() }

// withoutBase measures ours without a base.
func withoutBase(name string, goroutines int) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		return sides{ours: onOneKey(connect(t, name, s.Addr()), "hot", goroutines).rate}
	}
}

func idsAllocations(t *testing.T, s *redistest.Server) sides {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return sides{ours: mallocs(ctx, connect(t, "ids next", s.Addr()).locker("allocations"))}
}
