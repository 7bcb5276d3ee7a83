package bench

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
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
	{"set with times to live, Has of one, 256 goroutines, by ZSCORE", "calls/s", goal{atLeast: 2.8}, besideScript("set cache has", "set zscore", 256, asIs)},
	{"set with times to live, Has of one, 64 goroutines, by ZSCORE in a script", "calls/s", goal{atLeast: 2.2}, besideScript("set cache has", "set zscore script", 64, asIs)},
	{"set with times to live, Add, 1 goroutine, by ZADD", "us/call", goal{atMost: 1.3}, besideScript("set cache add", "set zadd", 1, microseconds)},
	{"set with times to live, Add, 1 goroutine, CPU of the server", "us/call", goal{atMost: 1.15}, mapCPU("set cache add", "set zadd", 1)},
	{"set with times to live, 1,000,000 members expire at once, CPU of the server", "us/member", goal{atMost: 0.6}, long(membersExpire)},
}

// KEYS[1] set; ARGV[1] the caller's clock, ms; ARGV[2] member. Returns 1 if it lives.
var livesFloor = rueidis.NewLuaScriptReadOnly(`
local ends = redis.call('zscore', KEYS[1], ARGV[2])
if ends and tonumber(ends) > tonumber(ARGV[1]) then return 1 end
return 0`)

// membersExpire counts what the server works from the moment at which all members expire until they are gone.
func membersExpire(t *testing.T, s *redistest.Server) sides {
	raw := s.Client(t)
	var most time.Duration
	ours := once(func(time.Duration) (float64, error) {
		ctx := t.Context()
		c, err := rueidisson.New(connection(s.Addr()))
		if err != nil {
			return 0, err
		}
		defer func() { _ = c.Close(context.Background()) }()
		all := set.NewCache[string](c, "all at once")
		ends := time.Now().Add(time.Duration(million())*4*time.Microsecond + time.Second)
		for i := 0; i < million(); i += 1000 {
			some := make([]string, 1000)
			for j := range some {
				some[j] = "member" + strconv.Itoa(i+j)
			}
			if _, err := all.AddMany(ctx, some, set.WithTTL(max(time.Until(ends), time.Millisecond))); err != nil {
				return 0, err
			}
		}
		if late := time.Until(ends) - 10*time.Millisecond; late > 0 {
			<-time.After(late)
		}
		before, err := usedCPU(raw)
		if err != nil {
			return 0, err
		}
		longest, err := longestCall(raw, func() error {
			for {
				switch n, err := raw.Do(ctx, raw.B().Zcard().Key("all at once").Build()).AsInt64(); {
				case err != nil || n == 0:
					return err
				}
				<-time.After(20 * time.Millisecond)
			}
		})
		most = longest
		after, bad := usedCPU(raw)
		return float64((after - before).Nanoseconds()) / 1e3 / float64(million()), errors.Join(err, bad)
	})
	return sides{ours: ours, note: func() string { return "the longest call of the server took " + most.String() }}
}

// longestCall returns for how long the server was kept by one command while do runs, at least 0.1 ms.
func longestCall(raw rueidis.Client, do func() error) (longest time.Duration, err error) {
	ctx := context.Background()
	for _, words := range [][]string{{"CONFIG", "SET", "slowlog-log-slower-than", "100"}, {"CONFIG", "SET", "slowlog-max-len", "100000"}, {"SLOWLOG", "RESET"}} {
		if err := raw.Do(ctx, raw.B().Arbitrary(words...).Build()).Error(); err != nil {
			return 0, err
		}
	}
	if err := do(); err != nil {
		return 0, err
	}
	lines, err := raw.Do(ctx, raw.B().Arbitrary("SLOWLOG", "GET", "-1").Build()).ToArray()
	for _, line := range lines {
		parts, bad := line.ToArray()
		if bad != nil || len(parts) < 3 {
			return 0, errors.Join(bad, errors.New("a line of the slow log has no time"))
		}
		took, bad := parts[2].AsInt64()
		longest, err = max(longest, time.Duration(took)*time.Microsecond), errors.Join(err, bad)
	}
	return longest, err
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
	impls["set zscore script"] = bare(func(c rueidis.Client, name string) call {
		return func(ctx context.Context, i int) error {
			return livesFloor.Exec(ctx, c, []string{name + ":z"}, []string{strconv.FormatInt(time.Now().UnixMilli(), 10), member(i)}).Error()
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
