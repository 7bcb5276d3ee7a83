package bench

import (
	"context"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/set"
)

// setRows: members of a few bytes as text.
var setRows = []row{
	{"set, Add, 1 goroutine, by SADD", "us/call", goal{atMost: 1.05}, besideScript("set add", "sadd", 1, microseconds)},
	{"set, Has, 1 goroutine, by SISMEMBER", "us/call", goal{atMost: 1.05}, besideScript("set has", "sismember", 1, microseconds)},
	{"set, Has of one set, 64 goroutines, by SISMEMBER", "calls/s", goal{atLeast: 2}, besideScript("set has", "sismember", 64, asIs)},
	{"set, Has of one set, 256 goroutines, by SISMEMBER", "calls/s", goal{atLeast: 4}, besideScript("set has", "sismember", 256, asIs)},
	{"set, Has of one set, 64 goroutines, CPU of the server", "us/call", goal{}, mapCPU("set has", "sismember", 64)},
	{"set with times to live, Has of one, 64 goroutines, by ZSCORE", "calls/s", goal{atLeast: 2}, besideScript("set cache has", "set zscore", 64, asIs)},
	{"set with times to live, Add, 1 goroutine, by ZADD", "us/call", goal{}, besideScript("set cache add", "set zadd", 1, microseconds)},
}

func init() {
	ours := func(of func(s *set.Set[string], c *set.Cache[string]) call) func(addr string) (impl, error) {
		return func(addr string) (impl, error) {
			c, err := rueidisson.New(connection(addr))
			return setImpl{c, of}, err
		}
	}
	bare := func(of func(c rueidis.Client, name string) call) func(addr string) (impl, error) {
		return func(addr string) (impl, error) {
			c, err := rueidis.NewClient(connection(addr))
			return bareSet{c, of}, err
		}
	}
	impls["set add"] = ours(func(s *set.Set[string], _ *set.Cache[string]) call {
		return func(ctx context.Context, i int) error { _, err := s.Add(ctx, member(i)); return err }
	})
	impls["set has"] = ours(func(s *set.Set[string], _ *set.Cache[string]) call {
		return func(ctx context.Context, i int) error { _, err := s.Has(ctx, member(i)); return err }
	})
	impls["set cache has"] = ours(func(_ *set.Set[string], c *set.Cache[string]) call {
		return func(ctx context.Context, i int) error { _, err := c.Has(ctx, member(i)); return err }
	})
	impls["set cache add"] = ours(func(_ *set.Set[string], c *set.Cache[string]) call {
		return func(ctx context.Context, i int) error { _, err := c.Add(ctx, member(i)); return err }
	})
	impls["sadd"] = bare(func(c rueidis.Client, name string) call {
		return func(ctx context.Context, i int) error {
			return c.Do(ctx, c.B().Sadd().Key(name).Member(member(i)).Build()).Error()
		}
	})
	impls["sismember"] = bare(func(c rueidis.Client, name string) call {
		return func(ctx context.Context, i int) error {
			return c.Do(ctx, c.B().Sismember().Key(name).Member(member(i)).Build()).Error()
		}
	})
	impls["set zscore"] = bare(func(c rueidis.Client, name string) call {
		return func(ctx context.Context, i int) error {
			err := c.Do(ctx, c.B().Zscore().Key(name+":z").Member(member(i)).Build()).Error()
			if rueidis.IsRedisNil(err) {
				return nil
			}
			return err
		}
	})
	impls["set zadd"] = bare(func(c rueidis.Client, name string) call {
		return func(ctx context.Context, i int) error {
			return c.Do(ctx, c.B().Zadd().Key(name+":z").ScoreMember().ScoreMember(1e16, member(i)).Build()).Error()
		}
	})
}

// member returns one of a thousand members.
func member(i int) string { return "member" + strconv.Itoa(i%1000) }

type setImpl struct {
	c  *rueidisson.Client
	of func(s *set.Set[string], c *set.Cache[string]) call
}

func (i setImpl) locker(name string) locker {
	return i.of(set.New[string](i.c, "set:"+name), set.NewCache[string](i.c, "set-cache:"+name)).locker()
}

func (i setImpl) close() { _ = i.c.Close(context.Background()) }

type bareSet struct {
	c  rueidis.Client
	of func(c rueidis.Client, name string) call
}

func (i bareSet) locker(name string) locker { return i.of(i.c, "bare-set:"+name).locker() }

func (i bareSet) close() { i.c.Close() }
